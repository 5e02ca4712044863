//! `red:min=5:gentle=true`: a queue and its settings.

use narrows_control::registry::unknown;
use narrows_router::Discipline;
use narrows_router::registry::{self, Entry, Place};

/// A link's `queue`, parsed.
#[derive(Clone)]
pub struct QueueSpec {
    entry: &'static Entry,
    settings: Vec<(String, String)>,
}

impl QueueSpec {
    /// Parses a link's `queue`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default().trim();
        let entry = registry::find(name).ok_or_else(|| {
            unknown("queue", name, registry::QUEUES.iter().map(|queue| queue.name))
        })?;
        let settings = parts.map(|part| {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                format!("\"{part}\" is no setting; write name=value, like red:min=5")
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        Ok(Self { entry, settings: settings.collect::<Result<_, String>>()? })
    }

    /// What drops the tail and nothing else.
    pub fn drop_tail() -> Self {
        Self {
            entry: registry::find("drop-tail").expect("it is in the registry"),
            settings: Vec::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The discipline where it stands. Fails where a setting is not its own or out of bounds.
    pub fn build(&self, place: Place) -> Result<Discipline, String> {
        self.entry.build(&self.settings, place)
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
                "unknown queue \"codle\"; did you mean \"codel\"? known: ba, codel, drop-tail, "
            ),
            "{}",
            error("codle")
        );
        assert_eq!(error("red:min"), "\"min\" is no setting; write name=value, like red:min=5");
        assert_eq!(QueueSpec::parse("fq_codel:target=1ms").unwrap().name(), "fq-codel");
    }
}
