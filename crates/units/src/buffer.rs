//! A queue's limit as people give it: packets, bytes, time at the link's rate, or a share of the
//! bandwidth-delay product.

use crate::parse::{UnitError, number_and_unit, serde_as_text, short};
use crate::{Bytes, Duration, Rate};
use std::fmt;
use std::str::FromStr;

/// A queue's limit, in the unit it was given in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// `20p`: packets, the one in transmission included.
    Packets(u64),
    /// `30kB`: bytes, the packet in transmission included.
    Bytes(Bytes),
    /// `5ms`: what the link sends in that time.
    Time(Duration),
    /// `0.5bdp`: a multiple of the bandwidth-delay product, taken with the base RTT.
    Bdp(f64),
    /// `bdp/sqrt(n)`: a multiple of the bandwidth-delay product, divided by the square root of the
    /// number of flows (Appenzeller et al., 2004).
    BdpOverRootFlows(f64),
}

impl Buffer {
    /// The limit in bytes on a link of `rate` with a base RTT of `rtt`, shared by `flows` flows
    /// that send packets of `packet` bytes.
    pub fn bytes(self, rate: Rate, rtt: Duration, flows: u64, packet: Bytes) -> Bytes {
        let bdp = rate.bytes_per_second() * rtt.seconds();
        Bytes::new(match self {
            Self::Packets(packets) => packets.saturating_mul(packet.count()),
            Self::Bytes(bytes) => bytes.count(),
            Self::Time(time) => rate.bytes_in(time).count(),
            Self::Bdp(share) => (share * bdp).round() as u64,
            Self::BdpOverRootFlows(share) => {
                (share * bdp / (flows.max(1) as f64).sqrt()).round() as u64
            }
        })
    }

    /// The limit in packets of `packet` bytes, rounded to the nearest whole number, at least one.
    pub fn packets(self, rate: Rate, rtt: Duration, flows: u64, packet: Bytes) -> u64 {
        if let Self::Packets(packets) = self {
            return packets;
        }
        let bytes = self.bytes(rate, rtt, flows, packet).count() as f64;
        ((bytes / packet.count() as f64).round() as u64).max(1)
    }

    /// True if the limit is counted in bytes (`30kB`), not in packets.
    pub const fn counts_bytes(self) -> bool {
        matches!(self, Self::Bytes(_))
    }
}

impl FromStr for Buffer {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong =
            || UnitError::new(text, "buffer", "\"20p\" (packets), \"30kB\", \"5ms\" or \"0.5bdp\"");
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let with_number = if compact.starts_with("bdp") { format!("1{compact}") } else { compact };
        let (number, unit) = number_and_unit(&with_number).ok_or_else(wrong)?;
        let buffer = match unit {
            "p" | "packets" | "packet" if number.fract() == 0.0 && number <= 1e12 => {
                Self::Packets(number as u64)
            }
            "p" | "packets" | "packet" => return Err(wrong()),
            "bdp" => Self::Bdp(number),
            "bdp/sqrt(n)" => Self::BdpOverRootFlows(number),
            _ => {
                let bytes = with_number.parse().map(Self::Bytes);
                bytes.or_else(|_| with_number.parse().map(Self::Time)).map_err(|_| wrong())?
            }
        };
        if number == 0.0 {
            Err(UnitError::new(text, "buffer (the smallest is one packet)", "\"1p\""))
        } else {
            Ok(buffer)
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets}p"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Bdp(share) => write!(f, "{}bdp", short(*share)),
            Self::BdpOverRootFlows(share) => write!(f, "{}bdp/sqrt(n)", short(*share)),
        }
    }
}

serde_as_text!(Buffer, "buffer", "\"20p\", \"30kB\", \"5ms\" or \"0.5bdp\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_means_the_same_in_all_four_units() {
        let (rate, rtt, packet) =
            (Rate::from_megabits(1000), Duration::from_millis(100), Bytes::new(1000));
        for text in ["6250p", "6250 packets", "6.25MB", "50ms", "0.5bdp", "bdp/sqrt(n)"] {
            let buffer: Buffer = text.parse().unwrap();
            assert_eq!(buffer.packets(rate, rtt, 4, packet), 6250, "{text}");
            assert_eq!(buffer.bytes(rate, rtt, 4, packet).count(), 6_250_000, "{text}");
            assert_eq!(buffer.to_string().parse::<Buffer>().unwrap(), buffer);
        }
    }

    #[test]
    fn a_wrong_buffer_says_what_would_be_right() {
        let error = "20 pkts".parse::<Buffer>().unwrap_err().to_string();
        assert_eq!(
            error,
            "\"20 pkts\" is not a buffer; try \"20p\" (packets), \"30kB\", \"5ms\" or \"0.5bdp\""
        );
        for text in ["0p", "0bdp", "-1p", "1.5p", "20", "p", "0ms"] {
            assert!(text.parse::<Buffer>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_bare_number_in_a_file_is_refused_with_an_example() {
        #[derive(serde::Deserialize, Debug)]
        struct Link {
            #[expect(dead_code, reason = "only parsed")]
            buffer: Buffer,
        }
        let error = toml::from_str::<Link>("buffer = 20").unwrap_err().to_string();
        assert!(
            error.contains("expected a buffer in quotes with its unit, like \"20p\""),
            "{error}"
        );
    }
}
