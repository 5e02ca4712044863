//! Every law by name: the parser, `narrows list`, Python's names, the documentation and the tests
//! iterate over this.

use crate::laws::reno::Reno;
use crate::{Advertised, Bound, Controller, OncePerEpoch, SlowStart, Unconfined, WindowLaw, laws};
use narrows_settings::{Given, Listed, SettingError, Settings, unknown};
use std::sync::Arc;

/// Every law, by name.
pub static LAWS: &[Entry] = laws::ALL;

/// A law's line in the registry.
pub struct Entry {
    /// Linux's name, or the paper's if Linux has none.
    pub name: &'static str,
    /// Other names people use: ns-2's, ns-3's.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// What moves its window.
    pub moved_by: MovedBy,
    /// How it starts.
    pub start: Start,
    pub(crate) settings: fn() -> Vec<Listed>,
    pub(crate) construct: fn(&Birth) -> Result<Recipe, SettingError>,
}

impl Entry {
    /// Its settings, with their defaults.
    pub fn settings(&self) -> Vec<Listed> {
        (self.settings)()
    }

    /// Reads the settings given and returns the recipe for controllers with these settings. Fails
    /// if the law has no such setting, or a value is out of bounds.
    pub fn read(&self, birth: &Birth) -> Result<Recipe, SettingError> {
        birth.given.known_to(self.name, &self.settings())?;
        (self.construct)(birth)
    }
}

/// What moves the window of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedBy {
    /// Acknowledgements up, the first loss of a recovery epoch down.
    Epochs,
    /// Acknowledgements up, each lost packet down: needs E-TCP's signalling.
    EachLoss,
    /// Round-trip times, both ways.
    Delay,
    /// Samples of the delivery rate, both ways: needs selective acknowledgements.
    DeliveryRate,
    /// Feedback of routers, both ways.
    Routers,
}

/// How a law starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// By a slow start that the user may choose, up to a threshold. With Linux's habits it is this
    /// one.
    Chosen(SlowStartKind),
    /// By its own rule, up to a threshold.
    ToThreshold,
    /// By its own rule; a threshold counts only if the initial window has reached it.
    UnlessAtThreshold,
    /// By its own rule, without a threshold.
    Own,
}

/// A slow start by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartKind {
    /// RFC 5681.
    Standard,
    /// Linux's, of net/ipv4/tcp_cubic.c.
    HyStart,
}

/// Makes identical controllers, whose settings have been read and can no longer be wrong.
#[derive(Clone)]
pub struct Recipe(Arc<dyn Fn(u64) -> Box<dyn Controller> + Send + Sync>);

impl Recipe {
    /// A recipe that clones `prototype`.
    pub fn clones(prototype: impl Controller + Clone + Sync + 'static) -> Self {
        Self::seeded(move |_| Box::new(prototype.clone()))
    }

    /// A recipe that calls `make` with a seed, the only source of randomness.
    pub fn seeded(make: impl Fn(u64) -> Box<dyn Controller> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// A new controller whose randomness comes from `seed`.
    pub fn make(&self, seed: u64) -> Box<dyn Controller> {
        (self.0)(seed)
    }
}

/// What a controller is born with.
#[derive(Clone, Debug)]
pub struct Birth {
    /// Settings given by the user.
    pub given: Given,
    /// The slow start to compose with.
    pub slow_start: SlowStart,
    /// Packets.
    pub initial_window: f64,
    /// Packets; infinite if there is no threshold yet.
    pub initial_ssthresh: f64,
    /// Bytes of a packet on the wire.
    pub packet_bytes: u32,
    /// The receiver's own window in packets; infinite if it sets no limit.
    pub receive_window: f64,
    /// True if a setting that is not given is as in today's Linux, where its law differs from the
    /// published one; false for the published one.
    pub as_linux: bool,
    /// Packets that leave together; `None` if they are a millisecond at the flow's rate.
    pub quantum: Option<f64>,
}

impl Default for Birth {
    /// Starts as Linux does, without settings, threshold or limit.
    fn default() -> Self {
        Self {
            given: Given::default(),
            slow_start: SlowStart::Standard,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            packet_bytes: 1500,
            receive_window: f64::INFINITY,
            as_linux: true,
            quantum: Some(1.0),
        }
    }
}

impl Birth {
    pub(crate) fn settings<S: Settings>(&self) -> Result<S, SettingError> {
        S::read(&self.given)
    }

    /// `law` with the slow start and the threshold asked for.
    pub(crate) fn once_per_epoch<L: WindowLaw + Sync + 'static>(&self, law: L) -> Recipe {
        Recipe::clones(self.composed(law))
    }

    /// Reno's law below `bound`; the bound alone if there is to be no congestion window.
    pub(crate) fn bounded<B>(&self, bound: B, congestion_window: bool) -> Recipe
    where
        B: Bound + Clone + Sync + 'static,
    {
        if congestion_window {
            Recipe::clones(Advertised::new(bound, self.composed(Reno)))
        } else {
            Recipe::clones(Unconfined::new(bound, self.initial_window))
        }
    }

    fn composed<L: WindowLaw>(&self, law: L) -> OncePerEpoch<L> {
        OncePerEpoch::new(self.slow_start.clone(), law, self.initial_window)
            .with_ssthresh(self.initial_ssthresh)
    }
}

/// Splits a law as people write it, `cubic:beta=0.8`, into its name and its settings. Fails if one
/// is not `name=value`.
pub fn split(text: &str) -> Result<(&str, Given), SettingError> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default().trim();
    let given = Given::parse(parts)
        .map_err(|error| SettingError::new(format!("{error}, like cubic:beta=0.8")))?;
    Ok((name, given))
}

/// The law whose name or alias is `name`. The error suggests a similar name.
pub fn find(name: &str) -> Result<&'static Entry, SettingError> {
    LAWS.iter()
        .find(|law| law.name == name || law.aliases.contains(&name))
        .ok_or_else(|| SettingError::new(unknown("controller", name, names())))
}

/// The name of each law.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    LAWS.iter().map(|law| law.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(law: &str, parts: &[&str]) -> String {
        let given = Given::parse(parts.iter().copied()).unwrap();
        let built = find(law).unwrap().read(&Birth { given, ..Birth::default() });
        built.err().unwrap().to_string()
    }

    #[test]
    fn an_unknown_law_is_guessed() {
        let said = |name| find(name).err().unwrap().to_string();
        let known = names().collect::<Vec<_>>().join(", ");
        assert_eq!(
            said("cubik"),
            format!("unknown controller \"cubik\"; did you mean \"cubic\"? known: {known}")
        );
        assert_eq!(said("bananas"), format!("unknown controller \"bananas\"; known: {known}"));
    }

    #[test]
    fn laws_are_listed_by_name() {
        assert!(names().is_sorted());
    }

    #[test]
    fn settings_are_checked() {
        assert!(error("cubic", &["betta=0.5"]).starts_with(
            "unknown setting of cubic \"betta\"; did you mean \"beta\"? known: beta, beta_ecn, c, "
        ));
        assert_eq!(error("cubic", &["beta=1.5"]), "beta: 1.5 is not above 0 and below 1; try 0.7");
        assert_eq!(error("cubic", &["beta=true"]), "beta: \"true\" is not a number; try 0.7");
        assert_eq!(
            error("westwood", &["beta=0.5"]),
            "westwood has no settings; leave out \"beta\""
        );
        assert_eq!(error("htcp", &["beta=0.9"]), "beta: 0.9 is above beta_max, 0.8");
        assert_eq!(
            error("ltcp", &["alpha=3"]),
            "alpha: has no effect without geometric=true; write that, or leave alpha out"
        );
        assert_eq!(
            error("htcp", &["adaptive=false", "reset=0.1"]),
            "reset: has no effect without adaptive=true; write that, or leave reset out"
        );
    }
}
