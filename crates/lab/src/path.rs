//! A path as one line of text.

use narrows_units::{Buffer, Duration, Rate};
use std::fmt;
use std::str::FromStr;

/// One bottleneck between two hosts: `100Mbps 40ms 0.2bdp`, and after these what else the link has,
/// like `queue=codel`, `loss=0.1%`, `mtu=1400B`, by the names of a scenario's fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its rate.
    pub rate: Rate,
    /// Its round-trip time without queues.
    pub rtt: Duration,
    /// Its buffer.
    pub buffer: Buffer,
    /// Other fields of the link with their values.
    pub fields: Vec<(String, String)>,
}

impl Path {
    /// A drop-tail path with a buffer of `buffer` times its bandwidth-delay product.
    ///
    /// # Panics
    /// If `rate` or `rtt` cannot be read.
    pub fn new(rate: &str, rtt: &str, buffer: f64) -> Self {
        let text = format!("{rate} {rtt} {buffer}bdp");
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same in numbers: Mbit/s, milliseconds, and bandwidth-delay products.
    pub fn of(mbps: u64, rtt: u64, buffer: f64) -> Self {
        Self {
            rate: Rate::from_megabits(mbps),
            rtt: Duration::from_millis(rtt),
            buffer: Buffer::Bdp(buffer),
            fields: Vec::new(),
        }
    }
}

impl FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str, error: &dyn fmt::Display| {
            format!("path \"{text}\": {what}: {error}; write it like \"100Mbps 40ms 0.2bdp\"")
        };
        let mut words = text.split_whitespace();
        let (Some(rate), Some(rtt), Some(buffer)) = (words.next(), words.next(), words.next())
        else {
            return Err(wrong("it is", &"not a rate, a round-trip time and a buffer"));
        };
        let field = |word: &str| match word.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(wrong(word, &"not a field, like queue=codel")),
        };
        Ok(Self {
            rate: rate.parse().map_err(|error| wrong("rate", &error))?,
            rtt: rtt.parse().map_err(|error| wrong("rtt", &error))?,
            buffer: buffer.parse().map_err(|error| wrong("buffer", &error))?,
            fields: words.map(field).collect::<Result<_, _>>()?,
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.rate, self.rtt, self.buffer)?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_line_of_text() {
        let path = Path::new("100Mbps", "40ms", 0.2);
        assert_eq!(path, Path::of(100, 40, 0.2));
        assert_eq!(path.to_string(), "100Mbps 40ms 0.2bdp");
        let text = "1Gbps 100ms 20p queue=red:min=5 loss=0.1%";
        assert_eq!(text.parse::<Path>().map(|path| path.to_string()), Ok(text.to_owned()));
        for (wrong, what) in [
            ("100Mbps", "path \"100Mbps\": it is: not a rate, a round-trip time and a buffer"),
            ("fast 40ms 20p", "path \"fast 40ms 20p\": rate: "),
            ("1Gbps 40ms 20p codel", "path \"1Gbps 40ms 20p codel\": codel: not a field"),
        ] {
            let error = wrong.parse::<Path>().expect_err("it is wrong");
            assert!(error.starts_with(what), "{error}");
        }
    }
}
