//! Probabilities and other ratios between 0 and 1.

use crate::parse::{UnitError, number_and_unit, serde_as_text};
use std::fmt;
use std::str::FromStr;

/// A ratio between 0 and 1, such as the share of packets lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// The ratio `value`; `None` outside 0..=1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The ratio in 0..=1 nearest to `value`, which must not be NaN.
    pub const fn clamped(value: f64) -> Self {
        Self(value.clamp(0.0, 1.0))
    }

    /// The ratio, between 0 and 1.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, "probability", "\"0.1%\" or \"1e-3\"");
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let value = match unit {
            "%" => number / 100.0,
            "" => number,
            _ => return Err(wrong()),
        };
        Self::new(value).ok_or_else(wrong)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e}", self.0)
    }
}

serde_as_text!(Probability, "probability", "\"0.1%\" or \"1e-3\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_probabilities_as_ratios_and_percentages() {
        assert_eq!("0.1%".parse::<Probability>().unwrap().value(), 0.001);
        assert_eq!("1e-3".parse::<Probability>().unwrap().value(), 0.001);
        for text in ["1.5", "200%", "-1%", "1%%", "half"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
    }
}
