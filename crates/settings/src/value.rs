//! The kinds of values that settings have.

use narrows_units::{Duration, Probability};

/// A value as people write it.
pub trait Value: Sized {
    /// What it is called in a message: `"5" is not a time`.
    const NOUN: &'static str;

    /// Reads a value; `None` if `text` is not of this kind.
    fn parse(text: &str) -> Option<Self>;

    /// Writes it so that [`parse`](Self::parse) reads the same value.
    fn write(&self) -> String;

    /// The number that bounds apply to: seconds for a time; `None` if this kind has no bounds.
    fn number(&self) -> Option<f64>;
}

/// A number without needless digits: `83000`, `1e-7`, `inf`.
pub(crate) fn number_text(number: f64) -> String {
    if number != 0.0 && number.abs() < 1e-4 { format!("{number:e}") } else { number.to_string() }
}

impl Value for f64 {
    const NOUN: &'static str = "number";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self) -> String {
        number_text(*self)
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Value for u32 {
    const NOUN: &'static str = "whole number";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn number(&self) -> Option<f64> {
        Some(f64::from(*self))
    }
}

impl Value for bool {
    const NOUN: &'static str = "switch";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "true" | "on" | "yes" => Some(true),
            "false" | "off" | "no" => Some(false),
            _ => None,
        }
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn number(&self) -> Option<f64> {
        None
    }
}

impl Value for Duration {
    const NOUN: &'static str = "time";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn number(&self) -> Option<f64> {
        Some(self.seconds())
    }
}

impl Value for Probability {
    const NOUN: &'static str = "ratio between 0 and 1";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self) -> String {
        number_text(self.value())
    }

    fn number(&self) -> Option<f64> {
        Some(self.value())
    }
}

/// Makes an enum of a setting's values from their names.
///
/// ```
/// use narrows_settings::{Value, choice};
///
/// choice! {
///     /// What a router does with a full buffer.
///     pub enum Overflow("choice among tail and front") {
///         /// The packet that arrives is dropped.
///         Tail = "tail",
///         /// The packet that has waited longest is dropped.
///         Front = "front",
///     }
/// }
///
/// assert_eq!(Overflow::parse("front"), Some(Overflow::Front));
/// assert_eq!((Overflow::Tail.write().as_str(), Overflow::parse("middle")), ("tail", None));
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $Name:ident($noun:literal) {
            $($(#[$inner:meta])* $Variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name {
            $($(#[$inner])* $Variant,)+
        }

        impl $crate::Value for $Name {
            const NOUN: &'static str = $noun;

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($name => Some(Self::$Variant),)+
                    _ => None,
                }
            }

            fn write(&self) -> String {
                match self {
                    $(Self::$Variant => String::from($name),)+
                }
            }

            fn number(&self) -> Option<f64> {
                None
            }
        }
    };
}

/// A setting whose default is not a fixed value.
impl<V: Value> Value for Option<V> {
    const NOUN: &'static str = V::NOUN;

    fn parse(text: &str) -> Option<Self> {
        V::parse(text).map(Some)
    }

    fn write(&self) -> String {
        self.as_ref().map(V::write).unwrap_or_default()
    }

    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(V::number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for number in [0.7, 1e-7, 83_000.0, f64::INFINITY, 0.0, 819.0 / 1024.0] {
            assert_eq!(f64::parse(&number.write()), Some(number));
        }
        assert_eq!(1e-7.write(), "1e-7");
        assert_eq!(Duration::from_micros(800).write(), "800us");
        assert_eq!(Duration::parse("5"), None);
        assert_eq!(Probability::parse("5%").map(|p| p.value()), Some(0.05));
        assert_eq!(bool::parse("on"), Some(true));
        assert_eq!(Option::<f64>::parse("none"), None);
    }
}
