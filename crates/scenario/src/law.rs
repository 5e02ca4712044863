//! The law of a flow: one of the registry's, or the user's own.

use narrows_control::Controller;
use narrows_control::registry::{Birth, Entry, MovedBy, Recipe, Start};
use narrows_settings::SettingError;
use std::sync::Arc;

/// A law that is written elsewhere, for example in Python. It goes over SACK, starts by itself and
/// takes no settings.
pub trait OwnLaw: Send + Sync {
    /// The name by which a flow's `cc` calls it.
    fn name(&self) -> &str;

    /// Whether its controllers hear of marks; if not, a flow that can be marked would not answer,
    /// and is refused.
    fn hears_marks(&self) -> bool {
        false
    }

    /// What is odd about a run of it, and what to do; it is a warning of such runs.
    fn oddity(&self) -> Option<&str> {
        None
    }

    /// A controller for one connection.
    fn make(&self, birth: &Birth) -> Box<dyn Controller>;
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

    /// What moves it; the user's own hears of acknowledgements and epochs.
    pub fn moved_by(&self) -> MovedBy {
        match self {
            Self::Registered(entry) => entry.moved_by,
            Self::Own(_) => MovedBy::Epochs,
        }
    }

    /// How it starts.
    pub fn start(&self) -> Start {
        match self {
            Self::Registered(entry) => entry.start,
            Self::Own(_) => Start::Own,
        }
    }

    /// Whether it hears of marks.
    pub fn hears_marks(&self) -> bool {
        match self {
            Self::Registered(_) => true,
            Self::Own(law) => law.hears_marks(),
        }
    }

    /// What is odd about a run of it, and what to do.
    pub fn oddity(&self) -> Option<&str> {
        match self {
            Self::Registered(_) => None,
            Self::Own(law) => law.oddity(),
        }
    }

    /// Reads the settings: what makes its controllers. Fails if one is unknown or out of bounds.
    pub fn read(&self, birth: &Birth) -> Result<Recipe, SettingError> {
        match self {
            Self::Registered(entry) => entry.read(birth),
            Self::Own(law) => {
                birth.given.known_to(law.name(), &[])?;
                let (law, birth) = (Arc::clone(law), birth.clone());
                Ok(Recipe::seeded(move |_| law.make(&birth)))
            }
        }
    }
}
