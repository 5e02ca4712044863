//! The fields of a flow as given. Each is taken once; a field that nobody takes has no effect, and
//! is an error.

use crate::ScenarioError;
use crate::scenario::Flow;
use std::fmt;

/// Fields as written, each to be taken by what it counts for.
pub(crate) struct Fields {
    left: Flow,
    place: String,
}

impl Fields {
    /// All that was `written` at `place`, a path like `flows[2]`.
    pub fn new(written: Flow, place: impl Into<String>) -> Self {
        Self { left: written, place: place.into() }
    }

    /// Takes a field; `None` if it was not given.
    pub fn take<V>(&mut self, field: impl FnOnce(&mut Flow) -> &mut Option<V>) -> Option<V> {
        field(&mut self.left).take()
    }

    /// What `field` says of what has not been taken yet.
    pub fn field<V>(&self, field: impl FnOnce(&Flow) -> V) -> V {
        field(&self.left)
    }

    /// Drops a field that has no effect but says the `default`, as files of before do.
    pub fn drop_default<V: PartialEq>(
        &mut self,
        field: impl FnOnce(&mut Flow) -> &mut Option<V>,
        default: V,
    ) {
        field(&mut self.left).take_if(|value| *value == default);
    }

    /// The place of the field called `name`.
    pub fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.place)
    }

    /// An error with `message` at the field called `name`.
    pub fn error(&self, name: &str, message: impl fmt::Display) -> ScenarioError {
        ScenarioError::new(self.at(name), message)
    }

    /// An error with `message` at the place itself.
    pub fn error_here(&self, message: impl fmt::Display) -> ScenarioError {
        ScenarioError::new(&self.place, message)
    }

    /// Fails if something is left; `why` says of a field's name why it does not count, and what to
    /// do about it.
    pub fn nothing_left(&self, why: impl FnOnce(&str) -> String) -> Result<(), ScenarioError> {
        match self.left.given().next() {
            None => Ok(()),
            Some(name) => Err(self.error(name, why(name))),
        }
    }
}
