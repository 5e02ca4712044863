//! Every law by name: the parser, `narrows list`, Python's names, the documentation and the tests
//! iterate over this.

pub use crate::entry::{Birth, Entry, MovedBy, Recipe, SlowStartKind, Start};

use crate::laws;
use narrows_settings::{Given, SettingError, unknown};

/// Every law, by name.
pub static LAWS: &[Entry] = laws::ALL;

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
