//! The law of a flow: one of the registry's, or the user's own.

use narrows_control::Controller;
use narrows_control::registry::{Birth, Entry, MovedBy, ParameterError};
use std::sync::Arc;

/// A law that is written elsewhere, in Python for one: it goes over SACK, as per-acknowledgement
/// laws do.
pub trait OwnLaw: Send + Sync {
    /// By which a flow's `cc` calls it.
    fn name(&self) -> &str;

    /// A controller for one connection.
    fn build(&self, birth: &Birth) -> Box<dyn Controller>;
}

/// A flow's law.
#[derive(Clone)]
pub enum Law {
    /// One of the registry's.
    Registered(&'static Entry),
    /// The user's own.
    Own(Arc<dyn OwnLaw>),
}

impl Law {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Registered(entry) => entry.name,
            Self::Own(law) => law.name(),
        }
    }

    /// What moves it: acknowledgements and epochs, where nothing else is known.
    pub fn moved_by(&self) -> MovedBy {
        match self {
            Self::Registered(entry) => entry.moved_by,
            Self::Own(_) => MovedBy::Epochs,
        }
    }

    /// Checks the settings and builds the controller.
    pub fn build(&self, birth: &Birth) -> Result<Box<dyn Controller>, ParameterError> {
        match self {
            Self::Registered(entry) => entry.build(birth),
            Self::Own(law) => Ok(law.build(birth)),
        }
    }
}
