//! A law by name, for stacks that others wrote.

use narrows_control::registry::{self, Birth, MovedBy, Recipe};
use narrows_control::{Controller, Need};

/// A law with its settings, as a scenario writes it: `etcp`, `cubic:beta=0.8`.
#[derive(Clone)]
pub struct StackLaw {
    recipe: Recipe,
    name: String,
    each_loss: bool,
}

/// Why a stack's controllers cannot do what a law needs; `None` if they can.
fn why_not(need: Need) -> Option<&'static str> {
    match need {
        Need::RateSamples => None,
        Need::Marks => Some("a stack's controllers do not hear how many"),
        Need::Echo => Some("QUIC counts marks"),
        Need::Timer => Some("a stack wakes no controller"),
        Need::Routers | Need::RoutersFromSyn => Some("QUIC carries no such header"),
        Need::MarkStops => Some("a stack decides by itself when it sends"),
        Need::Burst => Some("a stack decides by itself how many packets leave together"),
    }
}

/// Settings that nothing in a stack reaches, and why: law, setting, reason.
const IDLE: [(&str, &str, &str); 1] =
    [("cubic", "unknown_growth", "in a stack slow start ends with a loss, which is known then")];

/// Packets of the first window (RFC 9002, §7.2).
const INITIAL_WINDOW: f64 = 10.0;

impl StackLaw {
    /// The law that `text` names.
    ///
    /// # Errors
    /// If there is no such law, if a setting is wrong, or if the law needs what a stack's
    /// controllers cannot do: replies of routers, marks counted one by one, a timer, bursts of its
    /// own length. Also if nothing in a stack reaches a setting.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, given) = registry::split(text).map_err(|error| error.to_string())?;
        let entry = registry::find(name).map_err(|error| error.to_string())?;
        let idle = |(law, setting, _): &&(&str, &str, &str)| {
            *law == entry.name && given.pairs().any(|(name, _)| name == *setting)
        };
        if let Some((law, setting, why)) = IDLE.iter().find(idle) {
            return Err(format!("{law}: {setting} would do nothing: {why}; leave it out"));
        }
        let birth = Birth { given, initial_window: INITIAL_WINDOW, ..Birth::default() };
        let recipe = entry.read(&birth).map_err(|error| error.to_string())?;
        let needs = recipe.make(0).needs();
        if let Some((need, why)) = needs.each().find_map(|need| Some((need, why_not(need)?))) {
            return Err(format!("{name} {need}, and {why}"));
        }
        let each_loss = entry.moved_by == MovedBy::EachLoss;
        Ok(Self { recipe, name: name.to_owned(), each_loss })
    }

    /// The laws that can be used, by name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        registry::names().filter(|name| Self::parse(name).is_ok())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it answers each lost packet, so that no recovery keeps its window still.
    pub fn each_loss(&self) -> bool {
        self.each_loss
    }

    /// A controller for one connection, with randomness from `seed`.
    pub fn controller(&self, seed: u64) -> Box<dyn Controller> {
        self.recipe.make(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_that_need_what_quic_has_not_are_refused() {
        let names: Vec<_> = StackLaw::names().collect();
        assert!(["cubic", "bbr", "etcp", "fast"].iter().all(|name| names.contains(name)));
        for (name, why) in [
            ("xcp", "xcp asks routers, and QUIC carries no such header"),
            (
                "dctcp",
                "dctcp counts marks one by one, and a stack's controllers do not hear how many",
            ),
        ] {
            assert_eq!(StackLaw::parse(name).err().as_deref(), Some(why));
        }
        assert!(StackLaw::parse("cubic:beta=2").is_err() && StackLaw::parse("vegass").is_err());
    }
}
