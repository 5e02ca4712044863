//! Bits per second.

use crate::parse::{UnitError, number_and_unit, serde_as_text, short};
use crate::{Bytes, Duration};
use std::fmt;
use std::str::FromStr;

/// A rate in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// Picoseconds per second times 8 bits per byte. Divided by bits per second, this gives
    /// picoseconds per byte.
    const PICOS_TIMES_BITS: u64 = 8_000_000_000_000;

    /// A rate of `bits` bits per second; `None` for zero.
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// A rate of `megabits` · 10⁶ bits per second. Panics for zero, so it is meant for constants in
    /// code and tests.
    pub const fn from_megabits(megabits: u64) -> Self {
        Self::from_bits_per_second(megabits * 1_000_000).expect("a rate is never zero")
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Bytes per second.
    pub fn bytes_per_second(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Time on the wire for `bytes`, rounded up to a picosecond.
    pub const fn time_to_send(self, bytes: Bytes) -> Duration {
        let picos =
            (bytes.count() as u128 * Self::PICOS_TIMES_BITS as u128).div_ceil(self.0 as u128);
        Duration::from_picos(if picos > u64::MAX as u128 { u64::MAX } else { picos as u64 })
    }

    /// Picoseconds per byte; `None` if that is not a whole number.
    pub const fn whole_picos_per_byte(self) -> Option<u64> {
        if Self::PICOS_TIMES_BITS % self.0 == 0 {
            Some(Self::PICOS_TIMES_BITS / self.0)
        } else {
            None
        }
    }

    /// The rate at which a byte takes `picos` picoseconds; `None` if that divides by zero, or is no
    /// whole number of bits per second.
    pub const fn from_picos_per_byte(picos: u64) -> Option<Self> {
        match Self::PICOS_TIMES_BITS.checked_rem(picos) {
            Some(0) => Self::from_bits_per_second(Self::PICOS_TIMES_BITS / picos),
            _ => None,
        }
    }

    /// Bytes sent in `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = self.0 as u128 * span.picos() as u128 / Self::PICOS_TIMES_BITS as u128;
        Bytes::new(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, "rate", "\"1Gbps\", \"622.08Mbit/s\" or \"125MB/s\"");
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let mut letters = unit.chars();
        let prefix = match letters.next() {
            Some('k' | 'K') => 1e3,
            Some('M') => 1e6,
            Some('G' | 'g') => 1e9,
            Some('T' | 't') => 1e12,
            Some('m') => {
                let remedy = "\"10Mbps\" for megabits or \"10MB/s\" for megabytes per second \
                              (tc reads mbps as megabytes, so a lower-case m is refused)";
                return Err(UnitError::new(text, "rate", remedy));
            }
            _ => 1.0,
        };
        let rest = if prefix == 1.0 { unit } else { letters.as_str() };
        let bits = match rest {
            "bps" | "bit/s" | "bit" | "b/s" => 1.0,
            "B/s" | "Bps" => 8.0,
            _ => return Err(wrong()),
        };
        let bits = (number * prefix * bits).round();
        if !(1.0..1e18).contains(&bits) {
            return Err(UnitError::new(
                text,
                "rate of at least 1bps and less than 1e18bps",
                "\"1Gbps\"",
            ));
        }
        Ok(Self(bits as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => (bits, "bps"),
            1_000..1_000_000 => (bits / 1e3, "kbps"),
            1_000_000..1_000_000_000 => (bits / 1e6, "Mbps"),
            1_000_000_000..1_000_000_000_000 => (bits / 1e9, "Gbps"),
            _ => (bits / 1e12, "Tbps"),
        };
        write!(f, "{}{unit}", short(value))
    }
}

serde_as_text!(Rate, "rate", "\"1Gbps\"");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_rates_in_many_units() {
        for (text, bits) in [
            ("1Gbps", 1_000_000_000),
            ("622.08Mbit/s", 622_080_000),
            ("2.4Gbit", 2_400_000_000),
            ("125MB/s", 1_000_000_000),
            ("100 kbps", 100_000),
            ("9600bps", 9600),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().bits_per_second(), bits, "{text}");
        }
    }

    #[test]
    fn a_small_m_is_refused_because_tc_means_megabytes_by_it() {
        let error = "10mbps".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(
            error,
            "\"10mbps\" is not a rate; try \"10Mbps\" for megabits or \"10MB/s\" for megabytes per \
             second (tc reads mbps as megabytes, so a lower-case m is refused)"
        );
    }

    #[test]
    fn zero_negative_and_unitless_rates_are_errors() {
        for text in ["0Gbps", "-1Gbps", "1", "1G", "Gbps", "1e30Gbps"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_thousand_bytes_at_a_gigabit_take_eight_microseconds() {
        assert_eq!(
            Rate::from_megabits(1000).time_to_send(Bytes::new(1000)),
            Duration::from_micros(8)
        );
        assert_eq!(Rate::from_megabits(622).whole_picos_per_byte(), None);
    }

    proptest! {
        #[test]
        fn sending_time_rounds_up_and_never_by_more_than_a_picosecond(
            bits in 1u64..1_000_000_000_000_000,
            bytes in 0u64..100_000,
        ) {
            let picos = Rate(bits).time_to_send(Bytes::new(bytes)).picos() as u128;
            let work = bytes as u128 * 8_000_000_000_000;
            if picos < u64::MAX as u128 {
                prop_assert!(picos * bits as u128 >= work);
                prop_assert!(picos * (bits as u128) < work + bits as u128);
            }
        }

        #[test]
        fn a_printed_rate_reads_back_to_a_millionth(bits in 1u64..1_000_000_000_000_000) {
            let back: Rate = Rate(bits).to_string().parse().unwrap();
            prop_assert!(back.0.abs_diff(bits) as f64 <= 1e-6 * bits as f64);
        }
    }
}
