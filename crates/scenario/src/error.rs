//! What is wrong with a scenario: the place, the value, what would have been right. And why a run
//! has no results.

use std::fmt;
use std::path::PathBuf;

/// A scenario that cannot be run, and why. Prints as `flows[2].cc: unknown controller "vegass"; …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    place: String,
    message: String,
}

impl ScenarioError {
    /// At `place`, a path like `flows[2].cc`, `message` is wrong.
    pub fn new(place: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { place: place.into(), message: message.to_string() }
    }

    /// Where, as a path like `flows[2].cc`; empty if it is no one place.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong, and what would be right.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.place, self.message)
        }
    }
}

/// Why there are no results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run was stopped by whoever watched it.
    #[error("the run was stopped at {seconds:.3} s of simulated time")]
    Stopped {
        /// Simulated seconds reached.
        seconds: f64,
    },
    /// More transfers were under way than a group of flows can carry.
    #[error(
        "flows[{group}]: at {seconds:.3} s a transfer arrives, and all {most} flows are busy; give \
         a lower load, or a larger count"
    )]
    Overrun {
        /// The group.
        group: usize,
        /// When that was, in simulated seconds.
        seconds: f64,
        /// Flows of the group.
        most: u32,
    },
    /// The network cannot be simulated.
    #[error(transparent)]
    Wiring(#[from] narrows_sim::WiringError),
    /// A stack could not make its ends.
    #[error("{0}")]
    Stack(String),
    /// A trace could not be written.
    #[error("{}: {cause}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
}
