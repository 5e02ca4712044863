//! The shared grammar: a number, then a unit; and the error that says what would have been right.

use std::fmt;

/// A text that is not a quantity of the wanted kind.
///
/// Prints as `"20 pkts" is not a buffer; try "20p" (packets), "30kB", "5ms" or "0.5bdp"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    kind: &'static str,
    remedy: &'static str,
}

impl UnitError {
    /// An error for `text`, which should have been a `kind`; `remedy` gives examples.
    pub(crate) fn new(text: &str, kind: &'static str, remedy: &'static str) -> Self {
        Self { text: text.to_owned(), kind, remedy }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not a {}; try {}", self.text, self.kind, self.remedy)
    }
}

impl std::error::Error for UnitError {}

/// Splits `text` into a finite, non-negative number and the unit after it; `None` if `text` does
/// not begin with such a number.
pub(crate) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = number_length(text);
    let number: f64 = text[..end].parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, text[end..].trim()))
}

/// Length in bytes of the decimal number at the start of `text`, exponent included.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = bytes.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = bytes[end + 1 + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    end
}

/// `value` to one part in a million, without trailing zeros: `1`, `622.08`, `0.5`.
pub(crate) fn short(value: f64) -> String {
    let digits = if value == 0.0 {
        0
    } else {
        (6 - value.abs().log10().floor() as i32).clamp(0, 12) as usize
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Implements `Deserialize` and `Serialize` through `FromStr` and `Display`; a bare number is
/// refused with an example.
macro_rules! serde_as_text {
    ($type:ty, $kind:literal, $remedy:literal) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, concat!("a ", $kind, " in quotes with its unit, like ", $remedy))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }
    };
}
pub(crate) use serde_as_text;
