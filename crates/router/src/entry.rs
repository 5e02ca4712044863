//! A queue's line in the registry, and where a queue stands.

use crate::{Discipline, Limit};
use narrows_settings::{Given, Listed, SettingError};

/// A queue's line in the registry.
pub struct Entry {
    /// `tc`'s name, or the paper's if `tc` has none.
    pub name: &'static str,
    /// Other names people use.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    pub(crate) settings: fn() -> Vec<Listed>,
    pub(crate) construct: fn(&Given, &Placement) -> Result<Discipline, SettingError>,
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// Its limit.
    pub limit: Limit,
    /// Bytes of a packet, to convert a limit between bytes and packets.
    pub packet: u64,
}

impl Placement {
    /// The buffer in packets, which `queue` needs. Fails if there is no limit.
    pub(crate) fn buffer(&self, queue: &str) -> Result<f64, SettingError> {
        match self.limit {
            Limit::Packets(packets) => Ok(packets as f64),
            Limit::Bytes(bytes) => Ok(bytes as f64 / self.packet as f64),
            Limit::Unlimited => {
                Err(SettingError::new(format!("{queue} needs a buffer, like \"100p\"")))
            }
        }
    }
}

impl Entry {
    /// Its settings, with their defaults.
    pub fn settings(&self) -> Vec<Listed> {
        (self.settings)()
    }

    /// The discipline at `placement`. Fails if the queue has no such setting, a value is out of
    /// bounds, or the placement does not suit it.
    pub fn build(&self, given: &Given, placement: &Placement) -> Result<Discipline, SettingError> {
        given.known_to(self.name, &self.settings())?;
        (self.construct)(given, placement)
    }
}
