//! What an agent sees of intervals, and what its number means: as papers have it, and a plain one.

mod aurora;
mod history;
mod orca;
mod plain;

pub use aurora::Aurora;
pub use orca::Orca;
pub use plain::Plain;

use crate::episode::Below;
use crate::interval::Interval;
use crate::wanted::Wanted;
use history::History;

/// An agent's window if it only paces: in packets, and never the limit.
pub(crate) const UNLIMITED: f64 = 1e6;

/// What one agent sees and does. It has one number to say.
pub trait Preset: Send {
    /// What it begins with, at `rate` packets per second over a path with this base RTT in seconds.
    fn begin(&mut self, rate: f64, base_rtt: f64) -> Wanted;

    /// Intervals of [`begin`](Self::begin) before it is first asked.
    fn warm_ups(&self) -> usize {
        1
    }

    /// Takes the last of those in, of which nothing is seen.
    fn warmed_up(&mut self, _interval: &Interval) {}

    /// Takes an interval in.
    fn observe(&mut self, interval: &Interval);

    /// What it sees: as many numbers as [`Description::observed`].
    fn seen(&self) -> &[f32];

    /// What is done if it says `action`, which is brought into bounds.
    fn act(&mut self, action: f32) -> Wanted;
}

/// What is the same for all agents of a preset.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// Names and bounds of what is seen of one interval.
    pub features: &'static [(&'static str, f32, f32)],
    /// How many intervals are seen, the oldest first.
    pub history: usize,
    /// The largest number that it may say; the smallest is the same below 0.
    pub most: f32,
    /// The name of the law below, if it steers one.
    pub law: Option<&'static str>,
    /// Decisions of an episode, unless it is said.
    pub steps: usize,
    make: fn() -> Box<dyn Preset>,
}

impl Description {
    /// How many numbers are seen.
    pub fn observed(&self) -> usize {
        self.features.len() * self.history
    }

    /// The law below, if it steers one.
    pub fn below(&self) -> Option<Below> {
        self.law.map(|below| Below::new(below).expect("a preset's law can be set"))
    }

    /// One agent.
    pub fn agent(&self) -> Box<dyn Preset> {
        (self.make)()
    }
}

/// Every preset, by name.
pub static PRESETS: &[Description] = &[aurora::DESCRIPTION, orca::DESCRIPTION, plain::DESCRIPTION];

/// The preset called `name`.
pub fn preset(name: &str) -> Option<&'static Description> {
    PRESETS.iter().find(|preset| preset.name == name)
}
