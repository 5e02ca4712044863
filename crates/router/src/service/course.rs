//! A rate that changes at given times. Bits in transmission continue at the new rate.

use super::{HELD, Service, Steps};
use narrows_units::{Duration, Rate, Time};

/// A rate that changes at given times; `None` stands for no bits at all.
///
/// A packet of b bits that begins at s is done when the rate has let b bits pass, to the picosecond
/// and rounded up in its last step. ns-3 and netem keep the rate with which a packet begins.
#[derive(Clone, Debug)]
pub struct Course {
    rates: Steps<Option<Rate>>,
    /// The step that the last packet was sent in, and when that step began.
    place: usize,
    began: Time,
}

/// Picoseconds in a second: bits per second times picoseconds are so many times too many bits.
const PICOS: u128 = 1_000_000_000_000;

impl Course {
    /// The course of `rates`. Panics if none of them lets bits pass.
    pub fn new(rates: Steps<Option<Rate>>) -> Self {
        assert!(rates.values().any(|rate| rate.is_some()), "some bits pass");
        Self { rates, place: 0, began: Time::ZERO }
    }

    /// When the current step ends.
    fn ends(&self) -> Time {
        self.began + self.rates.step(self.place).1
    }

    /// Moves on to the step that holds at `at`, which is not before the current one.
    fn advance(&mut self, at: Time) {
        if at < self.ends() {
            return;
        }
        let phase = self.rates.phase(at);
        self.place = self.rates.place(phase);
        self.began =
            Time::from_picos(at.picos() - phase.since(self.rates.begins(self.place)).picos());
    }
}

/// How long `need` bits, each in as many parts as a second has picoseconds, take at `rate`.
fn time_for(need: u128, rate: Rate) -> Duration {
    let bits = rate.bits_per_second();
    // Nearly always: the other division takes ten times as long.
    let picos = match u64::try_from(need) {
        Ok(need) => need.div_ceil(bits),
        Err(_) => u64::try_from(need.div_ceil(u128::from(bits))).unwrap_or(u64::MAX),
    };
    Duration::from_picos(picos)
}

impl Service for Course {
    fn send(&mut self, _came: Time, from: Time, bytes: u32) -> Time {
        self.advance(from);
        let (mut at, mut need) = (from, u128::from(bytes) * 8 * PICOS);
        loop {
            let (rate, length) = self.rates.step(self.place);
            let end = self.began + length;
            if let Some(rate) = rate {
                let takes = time_for(need, rate);
                if takes <= end.since(at) {
                    return at + takes;
                }
                need -= u128::from(rate.bits_per_second()) * u128::from(end.since(at).picos());
            }
            if length == Duration::MAX || end >= HELD {
                return HELD;
            }
            (at, self.began, self.place) = (end, end, self.rates.after(self.place));
        }
    }

    fn rate(&self, at: Time) -> Rate {
        let phase = self.rates.phase(at);
        let last = self.rates.place(phase);
        let known = (0..=last).rev().find_map(|place| self.rates.step(place).0);
        // Before the first: the last of the period before, or the first that there will be.
        let known = known.or_else(|| {
            let mut values = self.rates.values().flatten();
            if self.rates.period().is_some() { values.last() } else { values.next() }
        });
        known.expect("some bits pass")
    }

    fn offered(&self, from: Time, to: Time, most: Option<Rate>) -> f64 {
        let span = to.since(from);
        // Whole periods are alike.
        if let Some(period) = self.rates.period().filter(|period| span > *period) {
            let whole = span.picos() / period.picos();
            let rest = from + period * whole;
            let each = self.offered(from, from + period, most);
            return each * whole as f64 + self.offered(rest, to, most);
        }
        let mut steps = self.rates.between(from, to).peekable();
        let mut bits = 0.0;
        while let Some((begins, rate)) = steps.next() {
            let ends = steps.peek().map_or(to, |(next, _)| *next);
            let span = ends.min(to).since(begins.max(from)).seconds();
            let rate = rate.map(|rate| most.map_or(rate, |most| most.min(rate)));
            bits += rate.map_or(0.0, |rate| rate.bits_per_second() as f64) * span;
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn mbps(megabits: u64) -> Option<Rate> {
        Rate::from_bits_per_second(megabits * 1_000_000)
    }

    fn send_all(course: &mut Course, packets: usize, bytes: u32) -> Vec<Time> {
        let mut busy = Time::ZERO;
        let next = |_| {
            busy = course.send(Time::ZERO, busy, bytes);
            busy
        };
        (0..packets).map(next).collect()
    }

    /// 8 Mbps, 2 from 2.5 ms on, nothing from 6 to 10 ms, then 8: by hand. A packet of 1000 bytes
    /// takes 1 or 4 ms. ns-3's rule would give 1, 2, 3, 7, 11, 12.
    #[test]
    fn bits_in_transmission_continue_at_the_new_rate() {
        let changes = [(at(2500), mbps(2)), (at(6000), None), (at(10_000), mbps(8))];
        let mut course = Course::new(Steps::new(mbps(8), changes, None));
        let found = send_all(&mut course, 6, 1000);
        assert_eq!(found, [1000, 2000, 4500, 10_625, 11_625, 12_625].map(at));
        // 2.5 ms of 8 Mbps, 3.5 of 2 and 2 of 8 are 20, 7 and 16 kbit.
        assert_eq!(course.offered(at(0), at(12_000), None), 43_000.0);
        assert_eq!(course.offered(at(2000), at(7000), None), 11_000.0);
        let known = [0, 3000, 7000, 10_000].map(|micros| course.rate(at(micros)));
        assert_eq!(known.map(Some), [8, 2, 2, 8].map(mbps));
    }

    #[test]
    fn what_waits_for_a_rate_that_never_comes_is_held() {
        let mut course = Course::new(Steps::new(mbps(8), [(at(1500), None)], None));
        assert_eq!(send_all(&mut course, 3, 1000), [at(1000), HELD, HELD]);
    }

    #[test]
    fn a_course_begins_anew_after_its_period() {
        let period = Some(Duration::from_millis(2));
        let mut course = Course::new(Steps::new(mbps(8), [(at(1000), None)], period));
        assert_eq!(send_all(&mut course, 3, 1000), [1000, 3000, 5000].map(at));
        assert_eq!(course.send(at(8500), at(8500), 1000), at(10_500));
        assert_eq!(course.rate(at(11_500)), Rate::from_megabits(8));
        assert_eq!(course.offered(at(500), at(4500), None), 8000.0 * 2.0);
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((1u64..3_000_000, 0u64..30_000_000), 1..20)
    }

    fn course_of(steps: &[(u64, u64)], picos_a_unit: u64, scale: u64) -> Course {
        let mut now = 0;
        let changes: Vec<_> = steps
            .iter()
            .map(|(gap, rate)| {
                now += gap;
                (Time::from_picos(now * picos_a_unit), Rate::from_bits_per_second(rate * scale))
            })
            .collect();
        Course::new(Steps::new(Rate::from_bits_per_second(7_000_000 * scale), changes, None))
    }

    proptest! {
        #[test]
        fn packets_leave_when_their_sum_would(
            (steps, sizes) in (steps(), prop::collection::vec(40u32..9000, 1..30)),
        ) {
            let (mut course, mut busy) = (course_of(&steps, 1_000_000, 1), Time::ZERO);
            let mut sum = 0;
            for bytes in sizes {
                sum += bytes;
                busy = course.send(Time::ZERO, busy, bytes);
                let whole = course_of(&steps, 1_000_000, 1).send(Time::ZERO, Time::ZERO, sum);
                // Each packet is rounded up to a picosecond, in which less than a bit passes.
                prop_assert!(busy >= whole && (busy == HELD || whole == HELD
                    || busy.since(whole).picos() < 4_000_000));
            }
        }

        #[test]
        fn rates_doubled_and_times_halved_halve_departures(steps in steps(), bytes in 40u32..9000) {
            let slow = course_of(&steps, 2_000_000, 1).send(Time::ZERO, Time::ZERO, bytes);
            let fast = course_of(&steps, 1_000_000, 2).send(Time::ZERO, Time::ZERO, bytes);
            prop_assert!(slow == HELD && fast == HELD || slow.picos().div_ceil(2) == fast.picos());
        }

        #[test]
        fn changes_that_change_nothing_are_nothing(
            (gaps, rate) in (prop::collection::vec(1u64..3000, 1..20), 1_000_000u64..1_000_000_000),
            packets in prop::collection::vec((0u64..4000, 40u32..9000), 1..40),
        ) {
            let mut now = Time::ZERO;
            let rate = Rate::from_bits_per_second(rate);
            let changes: Vec<_> = gaps.iter().map(|gap| {
                now += Duration::from_micros(*gap);
                (now, rate)
            }).collect();
            let mut course = Course::new(Steps::new(rate, changes, None));
            let mut steady = rate.expect("above 0");
            let (mut came, mut busy) = (Time::ZERO, Time::ZERO);
            for (gap, bytes) in packets {
                came += Duration::from_micros(gap);
                let from = busy.max(came);
                busy = steady.send(came, from, bytes);
                let found = course.send(came, from, bytes);
                // Where a packet crosses a change, the bits before it are whole numbers of
                // bit-picoseconds, so nothing is lost by rounding.
                prop_assert_eq!(found, busy);
            }
        }
    }
}
