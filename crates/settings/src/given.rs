//! `beta=0.8`, `c=0.4`: settings as a user gives them.

use crate::{Listed, SettingError, unknown_setting};

/// Settings given by name, in order; each at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(Vec<(String, String)>);

impl Given {
    /// Reads each of `parts` as `name=value`. Fails if a part has no `=`, or a name is given twice.
    pub fn parse<'a>(parts: impl IntoIterator<Item = &'a str>) -> Result<Self, SettingError> {
        let mut given = Self::default();
        for part in parts {
            let Some((name, value)) = part.split_once('=') else {
                let message = format!("\"{part}\" is not a setting; write name=value");
                return Err(SettingError::new(message));
            };
            given = given.with(name.trim(), value.trim())?;
        }
        Ok(given)
    }

    /// Adds one more setting. Fails if its name is given already.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, SettingError> {
        if self.0.iter().any(|(known, _)| known == name) {
            return Err(SettingError::new(format!("{name} is given twice; leave one out")));
        }
        self.0.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// Fails if a name is not among the settings of `owner`.
    pub fn known_to(&self, owner: &str, settings: &[Listed]) -> Result<(), SettingError> {
        let known = |name: &str| settings.iter().any(|known| known.name == name);
        match self.pairs().find(|(name, _)| !known(name)) {
            None => Ok(()),
            Some((name, _)) if settings.is_empty() => {
                Err(SettingError::new(format!("{owner} has no settings; leave out \"{name}\"")))
            }
            Some((name, _)) => Err(unknown_setting(&format!("setting of {owner}"), name, settings)),
        }
    }

    /// Fails if `name` is given but has no effect, because `counts` is false; `remedy` is the
    /// setting that would change that.
    pub fn counts_if(&self, name: &str, counts: bool, remedy: &str) -> Result<(), SettingError> {
        if counts || !self.pairs().any(|(given, _)| given == name) {
            return Ok(());
        }
        let message =
            format!("{name}: has no effect without {remedy}; write that, or leave {name} out");
        Err(SettingError::new(message))
    }

    /// Fails if one of `names` is given: it has no effect beside `other`, which is given too.
    pub fn only_without(&self, names: &[&str], other: &str) -> Result<(), SettingError> {
        match self.pairs().find(|(given, _)| names.contains(given)) {
            None => Ok(()),
            Some((name, _)) => {
                let message =
                    format!("{name}: has no effect beside {other}; leave one of them out");
                Err(SettingError::new(message))
            }
        }
    }

    /// Name and value of each setting.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
