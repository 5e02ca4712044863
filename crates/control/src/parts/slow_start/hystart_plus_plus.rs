//! HyStart++ (RFC 9406): slow start that ends when the round-trip time grows.

use super::Step;
use crate::{Ack, Rounds};
use narrows_units::Duration;

// RFC 9406 §4.3 recommends all of these.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: f64 = 8.0;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
const L: f64 = 8.0;

/// The state of §4.2: rounds, the smallest RTT of this round and of the last one, and the
/// conservative phase.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    paced: bool,
    rounds: Rounds,
    last_round_min: Duration,
    this_round_min: Duration,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start (§4.2): the rounds so far, and the RTT below which it was a false alarm.
#[derive(Clone, Debug)]
struct Conservative {
    rounds: u32,
    baseline_min: Duration,
}

impl HyStartPlusPlus {
    /// HyStart++ for a sender that is `paced` or not. L, the most packets that an
    /// acknowledgement counts for, is infinite if it is paced, else 8 (§4.3).
    pub fn new(paced: bool) -> Self {
        Self {
            paced,
            rounds: Rounds::default(),
            last_round_min: Duration::MAX,
            this_round_min: Duration::MAX,
            samples: 0,
            conservative: None,
        }
    }

    pub(super) fn increase(&mut self, window: f64, ack: &Ack) -> Step {
        if self.rounds.ends_with(ack) && self.next_round() {
            return Step::Leave;
        }
        self.sample(ack);
        let counted = if self.paced { ack.packets } else { ack.packets.min(L) };
        match self.conservative {
            None => Step::Grow(window + counted),
            Some(_) => Step::Grow(window + counted / CSS_GROWTH_DIVISOR),
        }
    }

    /// Begins a new round; true if the conservative phase has lasted its full number of rounds.
    fn next_round(&mut self) -> bool {
        self.last_round_min = self.this_round_min;
        self.this_round_min = Duration::MAX;
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds > CSS_ROUNDS
    }

    /// Enters the conservative phase if the RTT has grown by an eighth, but at least 4 and at most
    /// 16 ms; leaves it if the RTT falls below that at its start.
    fn sample(&mut self, ack: &Ack) {
        let (Some(rtt), true) = (ack.rtt, ack.rtt_is_fresh) else { return };
        self.this_round_min = self.this_round_min.min(rtt.latest);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE || self.last_round_min == Duration::MAX {
            return;
        }
        match &self.conservative {
            None => {
                let threshold = self
                    .last_round_min
                    .scale(1.0 / MIN_RTT_DIVISOR)
                    .clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.this_round_min >= self.last_round_min + threshold {
                    self.conservative =
                        Some(Conservative { rounds: 1, baseline_min: self.this_round_min });
                }
            }
            Some(conservative) if self.this_round_min < conservative.baseline_min => {
                self.conservative = None
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rtt;
    use crate::fixtures::ack;

    /// Plays rounds of ten acknowledgements each, with the given RTTs in ms. Returns the window
    /// after each round, `None` once slow start has ended.
    fn windows(rtts: &[u64]) -> Vec<Option<f64>> {
        let mut hystart = HyStartPlusPlus::new(false);
        let (mut window, mut newest, mut left) = (10.0, 0, false);
        let mut after = Vec::new();
        for rtt in rtts {
            for _ in 0..10 {
                let latest = Duration::from_millis(*rtt);
                let rtt = Some(Rtt { latest, smoothed: latest, minimum: latest, maximum: latest });
                match hystart
                    .increase(window, &Ack { rtt, newest, next: newest + 10, ..ack(0.0, 1.0) })
                {
                    Step::Grow(larger) => window = larger,
                    Step::Leave => left = true,
                }
                newest += 1;
            }
            after.push((!left).then_some(window));
        }
        after
    }

    #[test]
    fn a_steady_rtt_is_left_alone() {
        assert_eq!(windows(&[100; 8]).last(), Some(&Some(90.0)));
    }

    #[test]
    fn a_longer_rtt_slows_growth_at_the_eighth_sample_and_ends_it_after_five_rounds() {
        // In round 2 the RTT is longer by an eighth: seven acknowledgements add 1 and three add
        // 1/4; then four rounds add 10/4 each; then slow start ends.
        let after = windows(&[80, 90, 90, 90, 90, 90, 90]);
        assert_eq!(
            after,
            [Some(20.0), Some(27.75), Some(30.25), Some(32.75), Some(35.25), Some(37.75), None]
                .map(|w| w)
        );
    }

    #[test]
    fn a_false_alarm_goes_back_to_slow_start() {
        // The RTT of round 3 is short again: growth is full from its eighth sample on, 7/4 + 3.
        let after = windows(&[80, 90, 80]);
        assert_eq!(after[2], Some(27.75 + 7.0 / 4.0 + 3.0));
    }
}
