//! Opportunities to send, as mahimahi records them of cellular links (src/frontend/link_queue.cc
//! and traces/README there, commit ae477d4).

use super::{HELD, Service};
use narrows_units::{Duration, Rate, Time};
use std::fmt;
use std::sync::Arc;

/// A link that lets packets go at recorded instants.
///
/// At each opportunity 1504 bytes may leave: a packet takes its own and four more, which mahimahi
/// counts because its device adds them, so one of 1500 bytes fills it, and smaller ones share. What
/// is left is for packets that have come before that instant; it is lost if there are none. A
/// packet leaves with its last byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    /// Milliseconds of each in a period, which the last ends.
    millis: Arc<[u32]>,
    repeats: bool,
    /// Those before this one, counted over all periods, are gone; `left` bytes are left of it.
    number: u64,
    left: u64,
    /// When the last packet left.
    last: Time,
}

/// Bytes of an opportunity …
const WHOLE: u64 = 1504;
/// … and those that a packet takes besides its own.
const EXTRA: u64 = 4;
/// A router knows a rate by what it could send in such a time.
const KNOWN_BY: Duration = Duration::from_millis(100);

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TraceError {}

impl Opportunities {
    /// The largest packet that an opportunity holds, in bytes.
    pub const LARGEST: u32 = (WHOLE - EXTRA) as u32;

    /// Reads a trace: a line for each opportunity, its whole milliseconds since the start, none
    /// before the one above it. Fails with the line that is something else, or if the last is 0.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut millis: Vec<u32> = Vec::new();
        for (number, line) in text.split_terminator('\n').enumerate() {
            let wrong = |message| TraceError { line: number + 1, message };
            let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
            let stamp = is_number.then(|| line.parse().ok()).flatten().ok_or_else(|| {
                let shown: String = line.chars().take(40).collect();
                wrong(format!("{shown:?} is no whole number of milliseconds; write one, like 17"))
            })?;
            let before = millis.last().copied().unwrap_or(0);
            if stamp < before {
                return Err(wrong(format!("{stamp} comes after {before}; sort the lines")));
            }
            millis.push(stamp);
        }
        if millis.last().is_none_or(|last| *last == 0) {
            let message = "the last opportunity must be after 0 ms, as it ends a period";
            return Err(TraceError { line: millis.len().max(1), message: message.to_owned() });
        }
        let lines = millis.len();
        let millis = millis.into();
        let trace = Self { millis, repeats: true, number: 0, left: 0, last: Time::ZERO };
        if trace.rate_of(lines as u64, Duration::from_millis(trace.period())).is_none() {
            let message = "so late that less than a bit passes a second; end the period sooner";
            return Err(TraceError { line: lines, message: message.to_owned() });
        }
        Ok(trace)
    }

    /// Without a second period: nothing leaves after the first.
    pub fn once(mut self) -> Self {
        self.repeats = false;
        self
    }

    fn period(&self) -> u64 {
        self.millis.last().copied().map_or(1, u64::from)
    }

    /// When opportunity `number` of all is; `None` if there is none.
    fn at(&self, number: u64) -> Option<Time> {
        let each = self.millis.len() as u64;
        let cycle = number / each;
        if cycle > 0 && !self.repeats {
            return None;
        }
        let millis = u64::from(self.millis[(number % each) as usize]) + cycle * self.period();
        Some(Time::ZERO + Duration::from_millis(millis))
    }

    /// Opportunities up to `at`, that instant included.
    fn up_to(&self, at: Time) -> u64 {
        let millis = at.picos() / 1_000_000_000;
        let (cycle, each) = (millis / self.period(), self.millis.len() as u64);
        if cycle > 0 && !self.repeats {
            return each;
        }
        let phase = millis % self.period();
        cycle * each + self.millis.partition_point(|stamp| u64::from(*stamp) <= phase) as u64
    }

    /// Bits per second over a whole period.
    pub fn mean_rate(&self) -> Rate {
        self.rate_of(self.millis.len() as u64, Duration::from_millis(self.period()))
            .expect("a trace has opportunities")
    }

    fn rate_of(&self, opportunities: u64, span: Duration) -> Option<Rate> {
        let bits = opportunities as f64 * f64::from(Self::LARGEST) * 8.0;
        Rate::from_bits_per_second((bits / span.seconds()).round() as u64)
    }
}

impl Service for Opportunities {
    fn send(&mut self, came: Time, from: Time, bytes: u32) -> Time {
        if came >= self.last {
            // Nothing waited: what is left of the last opportunity is lost.
            (self.number, self.left) = (self.up_to(from), WHOLE);
        }
        let mut need = u64::from(bytes) + EXTRA;
        while need > self.left {
            need -= self.left;
            (self.number, self.left) = (self.number + 1, WHOLE);
        }
        self.left -= need;
        self.last = self.at(self.number).unwrap_or(HELD);
        self.last
    }

    fn rate(&self, at: Time) -> Rate {
        let number = self.up_to(at);
        let last = number.checked_sub(1).and_then(|last| self.at(last));
        // At the start nothing has been seen yet; in a silence, what passed before it counts.
        let Some(last) = last.filter(|_| at >= Time::ZERO + KNOWN_BY) else {
            return self.mean_rate();
        };
        let begins = Time::ZERO + last.min(at).since(Time::ZERO + KNOWN_BY);
        self.rate_of(number - self.up_to(begins), KNOWN_BY).unwrap_or_else(|| self.mean_rate())
    }

    /// A trace has no rate to bound.
    fn offered(&self, from: Time, to: Time, _most: Option<Rate>) -> f64 {
        let before = |at: Time| Time::from_picos(at.picos().saturating_sub(1));
        let [first, last] = [from, to].map(|at| self.up_to(before(at)));
        (last - first) as f64 * f64::from(Self::LARGEST) * 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> Opportunities {
        Opportunities::parse(text).expect("a trace")
    }

    /// Sends packets of (tenths of a millisecond, bytes); returns the milliseconds at which they
    /// leave.
    fn send(trace: &mut Opportunities, packets: &[(u64, u32)]) -> Vec<u64> {
        let mut busy = Time::ZERO;
        let send = |(tenths, bytes): &(u64, u32)| {
            let came = Time::ZERO + Duration::from_micros(100 * tenths);
            busy = trace.send(came, came.max(busy), *bytes);
            busy.picos() / 1_000_000_000
        };
        packets.iter().map(send).collect()
    }

    /// By hand: 1, 3, 3 and 7 ms, and again from 7 ms on.
    #[test]
    fn packets_leave_at_the_opportunity_of_their_last_byte() {
        let mut whole = trace("1\n3\n3\n7\n");
        assert_eq!(send(&mut whole, &[(0, 1500); 6]), [1, 3, 3, 7, 8, 10]);
        // Two of 504 bytes leave 496; the third takes 8 of the second opportunity.
        let mut small = trace("1\n3\n3\n7\n");
        assert_eq!(send(&mut small, &[(0, 500); 7]), [1, 1, 3, 3, 3, 3, 3]);
    }

    #[test]
    fn an_opportunity_that_nobody_waits_for_is_lost() {
        let mut trace = trace("1\n3\n3\n7\n");
        let packets = [(0, 1500), (0, 40), (25, 1500), (30, 1500), (99, 1500)];
        assert_eq!(send(&mut trace, &packets), [1, 3, 3, 7, 10]);
    }

    #[test]
    fn one_opportunity_a_millisecond_is_12_mbps() {
        let mut trace = trace("1\n");
        assert_eq!(trace.mean_rate(), Rate::from_megabits(12));
        assert_eq!(trace.rate(Time::from_secs(3.0)), Rate::from_megabits(12));
        assert_eq!(trace.offered(Time::from_secs(1.0), Time::from_secs(3.5), None), 30e6);
        let left = send(&mut trace, &[(0, 1500); 500]);
        assert_eq!(left, (1..=500).collect::<Vec<_>>());
    }

    #[test]
    fn a_trace_that_does_not_repeat_ends() {
        let mut trace = trace("1\n3\n").once();
        assert_eq!(send(&mut trace, &[(0, 1500); 3])[..2], [1, 3]);
        assert_eq!(trace.send(Time::ZERO, Time::from_secs(1.0), 1500), HELD);
        assert_eq!(trace.offered(Time::ZERO, Time::from_secs(9.0), None), 24_000.0);
    }

    #[test]
    fn what_is_no_trace_is_told_with_its_line() {
        for (text, line, part) in [
            ("", 1, "after 0 ms"),
            ("0\n0\n", 2, "after 0 ms"),
            ("1\n\n3\n", 2, "\"\" is no whole number"),
            ("1\r\n3\r\n", 1, "\"1\\r\" is no whole number"),
            ("5\n4\n", 2, "4 comes after 5; sort"),
            ("1\n-4\n", 2, "\"-4\""),
            ("1\n# noon\n", 2, "\"# noon\""),
            ("1\n99999999999\n", 2, "\"99999999999\""),
            ("1\n4000000000\n", 2, "less than a bit passes a second"),
        ] {
            let error = Opportunities::parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text:?}");
            assert!(error.message.contains(part), "{error}");
        }
        assert_eq!(*trace("1\n2").millis, [1, 2], "the last line may have no end");
    }
}
