//! Each setting is written once. From that, [`settings!`] makes the field of a struct, its default
//! and bounds, the code that reads `name=value`, and the line that `narrows list` and the
//! documentation show.
//!
//! ```
//! use narrows_settings::{Given, Settings, settings};
//!
//! settings! {
//!     /// Settings of AIMD.
//!     pub struct Aimd {
//!         /// Packets gained per round trip.
//!         alpha: f64 = 1.0, above(0.0);
//!         /// Share of the window kept in an epoch (ratio).
//!         beta: f64 = 0.5, above(0.0).below(1.0);
//!         /// Marks instead of dropping.
//!         ecn: bool = true;
//!     }
//! }
//!
//! let given = Given::parse(["beta=0.8"]).unwrap();
//! assert_eq!(Aimd::read(&given).unwrap(), Aimd { beta: 0.8, ..Aimd::default() });
//!
//! let given = Given::parse(["beta=1.5"]).unwrap();
//! assert_eq!(
//!     Aimd::read(&given).unwrap_err().to_string(),
//!     "beta: 1.5 is not above 0 and below 1; try 0.5"
//! );
//! ```

mod bounds;
mod given;
mod names;
mod value;

pub use bounds::{Bounds, above, at_least, at_most};
pub use given::Given;
pub use names::unknown;
pub use value::Value;

use std::fmt;

/// A setting as lists and documentation show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its name, as in the source's equations.
    pub name: &'static str,
    /// The default as a user would write it, or in words if it is not a fixed value.
    pub default: String,
    /// The values it may take, in words; empty if any value of its kind will do.
    pub bounds: String,
    /// What it is, and its unit.
    pub meaning: String,
}

/// A struct of settings, made by [`settings!`].
pub trait Settings: Default {
    /// Every setting, in the order of the struct.
    fn list() -> Vec<Listed>;

    /// Sets the setting `name` to the value in `text`; `None` if there is no setting of that name.
    fn set(&mut self, name: &str, text: &str) -> Option<Result<(), SettingError>>;

    /// The defaults, overridden by what is `given`. Fails if a name is unknown, or a value is of
    /// the wrong kind or out of bounds.
    fn read(given: &Given) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        for (name, text) in given.pairs() {
            let known = settings.set(name, text);
            known.unwrap_or_else(|| Err(unknown_setting("setting", name, &Self::list())))?;
        }
        Ok(settings)
    }
}

/// The empty list, for an owner without settings.
pub fn none() -> Vec<Listed> {
    Vec::new()
}

/// What is wrong with a setting: its name, the value, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError(String);

impl SettingError {
    /// `message` names the setting, the value and the remedy.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for SettingError {}

fn unknown_setting(kind: &str, name: &str, known: &[Listed]) -> SettingError {
    SettingError(unknown(kind, name, known.iter().map(|known| known.name)))
}

/// Reads `text` as a value of the setting `name`; for [`settings!`].
#[doc(hidden)]
pub fn read_value<V: Value>(
    name: &str,
    text: &str,
    bounds: Bounds,
    remedy: &str,
) -> Result<V, SettingError> {
    let Some(value) = V::parse(text) else {
        return Err(SettingError(format!("{name}: \"{text}\" is not a {}; {remedy}", V::NOUN)));
    };
    if value.number().is_some_and(|number| !bounds.contain(number)) {
        return Err(SettingError(format!("{name}: {text} is not {bounds}; {remedy}")));
    }
    Ok(value)
}

/// A doc comment as one line without its final full stop; for [`settings!`].
#[doc(hidden)]
pub fn meaning(doc: &str) -> String {
    doc.trim().trim_end_matches('.').to_owned()
}

/// A setting's name as people write it: without Rust's mark of a word that it keeps for itself.
#[doc(hidden)]
pub fn plain(identifier: &'static str) -> &'static str {
    identifier.trim_start_matches("r#")
}

/// Makes a struct of settings. Each setting has its meaning (the doc comment), name, type, default
/// and bounds.
///
/// A setting whose name is a word of Rust is written `r#as` and called `as`.
///
/// A default that is not a fixed value is `None`, followed by `=> "in words"`. `..name: Struct;`,
/// at the top and without a comment, includes the settings of another struct.
#[macro_export]
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $Name:ident {
            $(..$base:ident: $Base:ty;)?
            $(
                $(#[doc = $doc:literal])+
                $name:ident: $Type:ty = $default:expr $(=> $words:literal)? $(, $bounds:expr)?;
            )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visibility struct $Name {
            $(#[doc = concat!("The settings of [`", stringify!($Base), "`].")] pub $base: $Base,)?
            $($(#[doc = $doc])+ pub $name: $Type,)+
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($base: <$Base>::default(),)? $($name: $default),+ }
            }
        }

        impl $crate::Settings for $Name {
            fn list() -> Vec<$crate::Listed> {
                let default = Self::default();
                let base: [Vec<$crate::Listed>; _] = [$(<$Base as $crate::Settings>::list())?];
                let own = [$($crate::Listed {
                    name: $crate::plain(stringify!($name)),
                    default: $crate::settings!(@shown default.$name $(, $words)?),
                    bounds: $crate::settings!(@bounds $($bounds)?).to_string(),
                    meaning: $crate::meaning(concat!($($doc),+)),
                }),+];
                base.into_iter().flatten().chain(own).collect()
            }

            fn set(&mut self, name: &str, text: &str) -> Option<Result<(), $crate::SettingError>> {
                match name {
                    $(name if name == $crate::plain(stringify!($name)) => {
                        let remedy = $crate::settings!(@remedy Self::default().$name $(, $words)?);
                        let bounds = $crate::settings!(@bounds $($bounds)?);
                        let read = $crate::read_value(name, text, bounds, &remedy);
                        Some(read.map(|value| self.$name = value))
                    })+
                    _ => $crate::settings!(@base self, name, text $(, $base)?),
                }
            }
        }
    };
    (@base $self:ident, $given:ident, $text:ident) => { None };
    (@base $self:ident, $given:ident, $text:ident, $base:ident) => {
        $crate::Settings::set(&mut $self.$base, $given, $text)
    };
    (@remedy $default:expr) => { format!("try {}", $crate::Value::write(&$default)) };
    (@remedy $default:expr, $words:literal) => { concat!("leave it out for ", $words) };
    (@shown $default:expr) => { $crate::Value::write(&$default) };
    (@shown $default:expr, $words:literal) => { String::from($words) };
    (@bounds) => { $crate::Bounds::ANY };
    (@bounds $bounds:expr) => {{

        use $crate::{above, at_least, at_most};
        $bounds
    }};
}
