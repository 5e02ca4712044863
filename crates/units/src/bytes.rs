//! Amounts of data.

use crate::parse::{UnitError, number_and_unit, serde_as_text, short};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(u64);

impl Bytes {
    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// How many bytes.
    pub const fn count(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, "size", "\"1500B\", \"30kB\" or \"1.5MB\"");
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let bytes = match unit {
            "B" | "bytes" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "TB" => 1e12,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        Ok(Self((number * bytes).round() as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => (bytes, "B"),
            1_000..1_000_000 => (bytes / 1e3, "kB"),
            1_000_000..1_000_000_000 => (bytes / 1e6, "MB"),
            _ => (bytes / 1e9, "GB"),
        };
        write!(f, "{}{unit}", short(value))
    }
}

serde_as_text!(Bytes, "size", "\"1500B\" or \"1.5MB\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_sizes_in_many_units() {
        for (text, bytes) in [
            ("1500B", 1500),
            ("30kB", 30_000),
            ("30KiB", 30_720),
            ("1.5MB", 1_500_000),
            ("1 GB", 1_000_000_000),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap().count(), bytes, "{text}");
        }
        assert!("1500".parse::<Bytes>().unwrap_err().to_string().contains("try \"1500B\""));
    }
}
