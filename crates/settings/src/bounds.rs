//! The values that a setting may take.

use crate::value::number_text;
use std::fmt;

/// An interval of numbers, each end open, closed or free. Prints as `above 0 and at most 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    low: End,
    high: End,
    infinity: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Free,
    Open(f64),
    Closed(f64),
}

/// Numbers above `low`.
pub const fn above(low: f64) -> Bounds {
    Bounds { low: End::Open(low), ..Bounds::ANY }
}

/// Numbers of at least `low`.
pub const fn at_least(low: f64) -> Bounds {
    Bounds { low: End::Closed(low), ..Bounds::ANY }
}

/// Numbers of at most `high`.
pub const fn at_most(high: f64) -> Bounds {
    Bounds { high: End::Closed(high), ..Bounds::ANY }
}

impl Bounds {
    /// Any finite number.
    pub const ANY: Self = Self { low: End::Free, high: End::Free, infinity: false };

    /// Adds the condition: below `high`.
    #[must_use]
    pub const fn below(self, high: f64) -> Self {
        Self { high: End::Open(high), ..self }
    }

    /// Adds the condition: at most `high`.
    #[must_use]
    pub const fn at_most(self, high: f64) -> Self {
        Self { high: End::Closed(high), ..self }
    }

    /// Allows infinity, too, which means no limit.
    #[must_use]
    pub const fn or_infinite(self) -> Self {
        Self { infinity: true, ..self }
    }

    /// True if `number` lies within these bounds.
    pub fn contain(self, number: f64) -> bool {
        let low = match self.low {
            End::Free => true,
            End::Open(low) => number > low,
            End::Closed(low) => number >= low,
        };
        let high = match self.high {
            End::Free => true,
            End::Open(high) => number < high,
            End::Closed(high) => number <= high,
        };
        low && high && (number.is_finite() || (self.infinity && number > 0.0))
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let low = match self.low {
            End::Free => None,
            End::Open(low) => Some(format!("above {}", number_text(low))),
            End::Closed(low) => Some(format!("at least {}", number_text(low))),
        };
        let high = match self.high {
            End::Free => None,
            End::Open(high) => Some(format!("below {}", number_text(high))),
            End::Closed(high) => Some(format!("at most {}", number_text(high))),
        };
        f.write_str(&low.into_iter().chain(high).collect::<Vec<_>>().join(" and "))?;
        if self.infinity { f.write_str(", or inf") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_open_or_closed_as_they_say() {
        let ratio = above(0.0).at_most(1.0);
        assert_eq!([0.0, 1e-300, 1.0, 1.1].map(|x| ratio.contain(x)), [false, true, true, false]);
        let ratio = at_least(0.0).below(1.0);
        assert_eq!([-0.1, 0.0, 1.0].map(|x| ratio.contain(x)), [false, true, false]);
        assert!(
            !above(0.0).contain(f64::INFINITY) && above(0.0).or_infinite().contain(f64::INFINITY)
        );
        assert!(!Bounds::ANY.contain(f64::NAN) && !above(0.0).or_infinite().contain(f64::NAN));
    }

    #[test]
    fn they_are_said_in_words() {
        assert_eq!(above(0.0).below(1.0).to_string(), "above 0 and below 1");
        assert_eq!(above(0.0).or_infinite().to_string(), "above 0, or inf");
        assert_eq!(Bounds::ANY.to_string(), "");
    }
}
