//! A law as somebody asks for it, with its settings as fixed-point numbers.

use crate::ported::{LAWS, PORTED};
use narrows_control::registry::{self, Birth, MovedBy};
use narrows_settings::{Given, SettingError};

/// How the kernel's names of our laws begin.
pub const PREFIX: &str = "nw_";
/// A law with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLaw {
    /// One of [`LAWS`].
    pub law: &'static str,
    /// What was given, as `name=value`.
    pub given: Vec<String>,
    /// The fields of the law's `struct …_settings`, in order.
    pub settings: Vec<u64>,
}

impl KernelLaw {
    /// Reads `law:name=value:…`. Fails if there is no such law for the kernel, or if a setting is
    /// not one that the kernel's law can do.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let (law, given) = registry::split(text)?;
        Self::new(law, &given)
    }

    /// The law of that name with the settings `given`; fails as [`parse`](Self::parse) does.
    pub fn new(law: &str, given: &Given) -> Result<Self, SettingError> {
        // Its name in the kernel is as good.
        let plain = law.strip_prefix(PREFIX).map(|symbol| symbol.replace('_', "-"));
        let entry = registry::find(plain.as_deref().unwrap_or(law)).ok();
        let found = entry.and_then(|entry| {
            PORTED.iter().find(|ported| ported.name == entry.name).map(|ported| (entry, ported))
        });
        let Some((entry, ported)) = found else {
            let known = LAWS.join(", ");
            let message =
                format!("\"{law}\" is not a law that narrows has for the kernel; known: {known}");
            return Err(SettingError::new(message));
        };
        entry.read(&Birth { given: given.clone(), ..Birth::default() })?;
        let settings = (ported.settings)(given)?;
        let given = given.pairs().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(Self { law: ported.name, given, settings })
    }

    /// Its name in the kernel if no other is asked for: `nw_etcp_rate`.
    pub fn kernel_name(&self) -> String {
        format!("{PREFIX}{}", self.symbol())
    }

    /// Its name in C: `etcp_rate`.
    pub fn symbol(&self) -> String {
        self.law.replace('-', "_")
    }

    /// True if each loss counts and gaps are exponential: segments should then leave one by one.
    pub fn is_paced(&self) -> bool {
        registry::find(self.law).is_ok_and(|entry| entry.moved_by == MovedBy::EachLoss)
    }
}
