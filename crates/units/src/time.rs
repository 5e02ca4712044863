//! Instants and spans in picoseconds. A bit at 1 Tbit/s takes one picosecond, and 2⁶⁴ picoseconds
//! are 213 days.

use crate::parse::{UnitError, number_and_unit, serde_as_text, short};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

const PER_SECOND: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `picos` picoseconds after the start.
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// The instant `seconds` after the start, to the nearest picosecond; a negative number counts
    /// as zero.
    pub fn from_secs(seconds: f64) -> Self {
        Self::ZERO + Duration::from_secs(seconds)
    }

    /// Picoseconds since the start.
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[inline]
    pub fn seconds(self) -> f64 {
        number(self.0) / PER_SECOND as f64
    }

    /// The span from `earlier` to here; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `picos` picoseconds.
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000_000)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000_000)
    }

    /// A span of `seconds`, to the nearest picosecond; a negative number counts as zero, and one
    /// that does not fit as [`Self::MAX`].
    pub fn from_secs(seconds: f64) -> Self {
        Self(nearest(seconds * PER_SECOND as f64))
    }

    /// Picoseconds.
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        number(self.0) / PER_SECOND as f64
    }

    /// The span `factor` times as long, to the nearest picosecond.
    pub fn scale(self, factor: f64) -> Self {
        Self(nearest(number(self.0) * factor))
    }

    /// This span minus `other`; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The whole number nearest to `value`, the higher of two; as `round` has it, which many processors
/// leave to the C library.
#[inline]
fn nearest(value: f64) -> u64 {
    let whole = value as u64;
    whole.saturating_add(u64::from(value - number(whole) >= 0.5))
}

/// `picos` as the nearest number; in one instruction of most processors up to 2⁶³.
#[inline]
fn number(picos: u64) -> f64 {
    i64::try_from(picos).map_or(picos as f64, |picos| picos as f64)
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    /// Panics if `other` is longer: a span is never negative.
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a span is never negative"))
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let seconds = seconds(text).ok_or_else(|| {
            UnitError::new(text, "time", "\"100ms\", \"350us\", \"1.5s\" or \"10min\"")
        })?;
        if seconds > Self::MAX.seconds() {
            let remedy = "at most \"5124h\" (2^64 ps)";
            return Err(UnitError::new(text, "time that can be counted", remedy));
        }
        Ok(Self::from_secs(seconds))
    }
}

/// The seconds of a time like `100ms`; `None` if it is not one.
fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(text)?;
    let unit = match unit {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" | "seconds" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "" if number == 0.0 => 0.0,
        _ => return None,
    };
    Some(number * unit)
}

/// Seconds of an age like `30d`, however long, with its unit.
///
/// # Errors
/// If it is not one.
pub fn age(text: &str) -> Result<f64, UnitError> {
    let has_unit = text.ends_with(|sign: char| sign.is_alphabetic());
    let seconds = seconds(text).filter(|_| has_unit);
    seconds.ok_or_else(|| UnitError::new(text, "span of time", "\"30d\" or \"12h\""))
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let picos = self.0 as f64;
        let (value, unit) = match self.0 {
            0 => (0.0, "s"),
            1..1_000 => (picos, "ps"),
            1_000..1_000_000 => (picos / 1e3, "ns"),
            1_000_000..1_000_000_000 => (picos / 1e6, "us"),
            1_000_000_000..PER_SECOND => (picos / 1e9, "ms"),
            _ => (picos / 1e12, "s"),
        };
        write!(f, "{}{unit}", short(value))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.seconds())
    }
}

serde_as_text!(Duration, "time", "\"100ms\"");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_times_in_many_units() {
        for (text, picos) in [
            ("100ms", 100_000_000_000),
            ("350us", 350_000_000),
            ("1.5s", 1_500_000_000_000),
            ("2min", 120 * PER_SECOND),
            ("30d", 30 * 24 * 3600 * PER_SECOND),
            ("0", 0),
            ("1e-3 s", 1_000_000_000),
        ] {
            assert_eq!(text.parse::<Duration>().unwrap().picos(), picos, "{text}");
        }
    }

    #[test]
    fn an_age_has_a_unit_and_may_be_long() {
        assert_eq!(age("365d").unwrap(), 365.0 * 86_400.0);
        for text in ["3", "0", "1w", "3x", ""] {
            let error = age(text).unwrap_err().to_string();
            assert!(error.contains("is not a span of time; try \"30d\""), "{error}");
        }
    }

    #[test]
    fn a_time_that_cannot_be_counted_is_refused() {
        assert!("5124h".parse::<Duration>().is_ok());
        assert_eq!(
            "5125h".parse::<Duration>().unwrap_err().to_string(),
            "\"5125h\" is not a time that can be counted; try at most \"5124h\" (2^64 ps)"
        );
    }

    #[test]
    fn a_wrong_time_says_what_would_be_right() {
        for text in ["100", "ms", "-1s", "1 fortnight", "nan s", "1e999s", ""] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains("try \"100ms\""), "{error}");
        }
    }

    proptest! {
        #[test]
        fn the_nearest_number_is_that_of_round(
            bits in any::<u64>(),
            whole in 0u64..1 << 54,
            part in prop::sample::select(vec![0.0, 0.25, 0.49999999999999994, 0.5, 0.75]),
        ) {
            let near = |whole: u64| whole as f64 + part;
            for value in [f64::from_bits(bits), near(whole), near(whole >> 20), near(0)] {
                prop_assert_eq!(nearest(value), value.round() as u64, "{}", value);
            }
        }

        #[test]
        fn a_printed_time_reads_back_to_a_millionth(picos in 0u64..100_000 * PER_SECOND) {
            let span = Duration::from_picos(picos);
            let back: Duration = span.to_string().parse().unwrap();
            prop_assert!(back.picos().abs_diff(picos) as f64 <= 1e-6 * picos as f64 + 0.5);
        }
    }
}
