//! What is wrong with a scenario: the place, the value, what would have been right.

use std::fmt;

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
