//! `red:min=5:gentle=true`: a queue and its settings.

use narrows_router::Discipline;
use narrows_router::registry::{self, Entry, Placement};
use narrows_settings::{Given, SettingError, unknown};

/// A link's `queue`, parsed.
#[derive(Clone)]
pub struct QueueSpec {
    entry: &'static Entry,
    given: Given,
}

impl QueueSpec {
    /// Parses a link's `queue`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default().trim();
        let entry =
            registry::find(name).ok_or_else(|| unknown("queue", name, registry::names()))?;
        let given = Given::parse(parts).map_err(|error| format!("{error}, like red:min=5"))?;
        Ok(Self { entry, given })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The discipline for its link. Fails if a setting is not its own or out of bounds.
    pub fn build(&self, placement: &Placement) -> Result<Discipline, SettingError> {
        self.entry.build(&self.given, placement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| QueueSpec::parse(text).err().unwrap();
        assert!(
            error("codle").starts_with(
                "unknown queue \"codle\"; did you mean \"codel\"? known: ba, cnq-codel-af, "
            ),
            "{}",
            error("codle")
        );
        assert_eq!(error("red:min"), "\"min\" is not a setting; write name=value, like red:min=5");
        assert_eq!(QueueSpec::parse("fq_codel:target=1ms").unwrap().name(), "fq-codel");
    }
}
