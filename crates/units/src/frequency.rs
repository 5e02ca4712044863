//! How often something happens.

use crate::parse::{UnitError, number_and_unit, serde_as_text, short};
use std::fmt;
use std::str::FromStr;

/// Times per second, above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Frequency(f64);

impl Frequency {
    /// So many times per second; `None` unless above 0 and finite.
    pub fn per_second(times: f64) -> Option<Self> {
        (times > 0.0 && times.is_finite()).then_some(Self(times))
    }

    /// Times per second.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl FromStr for Frequency {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, "frequency", "\"31/s\", \"2/ms\" or \"5/min\"");
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let times = match unit {
            "/s" => number,
            "/ms" => number * 1e3,
            "/min" => number / 60.0,
            _ => return Err(wrong()),
        };
        Self::per_second(times).ok_or_else(wrong)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", short(self.0))
    }
}

serde_as_text!(Frequency, "frequency", "\"31/s\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_how_often_per_time() {
        for (text, times, again) in
            [("31/s", 31.0, "31/s"), ("2/ms", 2000.0, "2000/s"), ("30/min", 0.5, "0.5/s")]
        {
            let frequency: Frequency = text.parse().unwrap();
            assert_eq!((frequency.value(), frequency.to_string().as_str()), (times, again));
        }
        for text in ["31", "0/s", "-1/s", "31/h", "often", "inf/s"] {
            assert!(text.parse::<Frequency>().is_err(), "{text}");
        }
    }
}
