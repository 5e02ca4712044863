//! A slow start for large buffers that ends with the RTT's rise. E-TCP, §VIII-A: "the increasing
//! round trip time may serve as an indication to help determine the correct time to finish the slow
//! start phase. We leave this as one of our future work." The rule is our own.
//!
//! A sender that doubles its rate each round trip learns a round trip too late that it was too
//! fast: by then it is at twice the capacity. So a short train goes ahead. Once in a round trip a
//! sixteenth of the window leaves at twice the rate, with even gaps. If the train comes through as
//! fast as it was sent, the whole rate doubles. If not, its RTT rose from the first packet to the
//! last, by the time that the bottleneck needed longer than the sender: sent within s, it arrived
//! within s + rise, and the rate becomes twice the old one times s/(s + rise), which is what the
//! bottleneck passed on.
//!
//! Slow start also ends, at the rate reached, if a train finds a standing queue: an RTT above the
//! least by an eighth (the share of RFC 9406, §4.3). Windows too small for a train grow by one for
//! each packet acknowledged.

use crate::Ack;
use narrows_units::{Duration, Time};

/// The smallest train in packets; windows below twice this have none.
const LEAST_TRAIN: f64 = 16.0;
/// Trains are this share of the window.
const TRAIN_SHARE: f64 = 1.0 / 16.0;
/// A train has come through if it arrived this much slower than it was sent at the most.
const TOLERANCE: f64 = 0.05;
/// By what share of the least RTT a standing queue has raised it.
const STANDING: f64 = 0.125;

/// The trains so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DelayStart {
    train: Train,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Train {
    /// None is under way.
    #[default]
    None,
    /// Packets from `first` on leave at twice the rate.
    Leaves { first: u64 },
    /// It consists of the packets from `first` to before `end`; `seen` are the first and the last
    /// that have been answered.
    Comes { first: u64, end: u64, seen: Option<[Seen; 2]> },
}

/// When a packet left, and its RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    left: Time,
    rtt: Duration,
}

/// What an acknowledgement calls for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// No change.
    Wait,
    /// Up by one for each packet acknowledged.
    Grow,
    /// A train came through: twice as much.
    Double,
    /// The RTT rose: this many times as much, and slow start is over.
    End { times: f64 },
}

impl DelayStart {
    /// True while a train leaves.
    pub fn sends_train(&self) -> bool {
        matches!(self.train, Train::Leaves { .. })
    }

    /// What `ack` calls for, at a window of `window` packets; a train that is `held_back` by the
    /// application says nothing.
    pub fn on_ack(&mut self, ack: &Ack, window: f64, held_back: bool) -> Step {
        let Some(rtt) = ack.rtt else { return Step::Wait };
        if held_back {
            self.train = Train::None;
            return Step::Wait;
        }
        match &mut self.train {
            Train::None if window < 2.0 * LEAST_TRAIN => {
                if is_standing(rtt.latest, rtt.minimum) {
                    return Step::End { times: 1.0 };
                }
                return Step::Grow;
            }
            Train::None => self.train = Train::Leaves { first: ack.next },
            Train::Leaves { first } => {
                let first = *first;
                if ack.next.saturating_sub(first) as f64 >= (window * TRAIN_SHARE).max(LEAST_TRAIN)
                {
                    self.train = Train::Comes { first, end: ack.next, seen: None };
                }
            }
            Train::Comes { first, end, seen } => {
                let now = Seen { left: before(ack.now, rtt.latest), rtt: rtt.latest };
                if ack.newest >= *first && ack.newest < *end {
                    *seen = Some([seen.map_or(now, |[opened, _]| opened), now]);
                }
                if ack.newest + 1 >= *end {
                    let seen = *seen;
                    self.train = Train::Leaves { first: ack.next };
                    return seen.map_or(Step::Wait, |seen| judge(seen, rtt.minimum));
                }
            }
        }
        Step::Wait
    }
}

/// What a train calls for whose first and last packet have been `seen`.
fn judge([first, last]: [Seen; 2], least: Duration) -> Step {
    if is_standing(first.rtt, least) {
        return Step::End { times: 1.0 };
    }
    let sent = last.left.since(first.left).seconds();
    let rise = last.rtt.saturating_sub(first.rtt).seconds();
    let passed = sent / (sent + rise);
    if sent <= 0.0 || passed >= 1.0 - TOLERANCE {
        return Step::Double;
    }
    // The rate itself came through a round trip ago.
    Step::End { times: (2.0 * passed).max(1.0) }
}

fn is_standing(rtt: Duration, least: Duration) -> bool {
    rtt > least + least.scale(STANDING)
}

fn before(time: Time, by: Duration) -> Time {
    Time::from_picos(time.picos().saturating_sub(by.picos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rtt;
    use crate::fixtures::ack;

    /// An acknowledgement at `at` milliseconds that answers `newest`; the least RTT is 100 ms.
    fn answer(at: u64, newest: u64, rtt: u64) -> Ack {
        let [latest, least] = [rtt, 100].map(Duration::from_millis);
        let rtt = Rtt { latest, smoothed: latest, minimum: least, maximum: latest };
        let now = Time::ZERO + Duration::from_millis(at);
        Ack { now, rtt: Some(rtt), newest, next: newest + 100, ..ack(0.0, 1.0) }
    }

    /// The steps while packets 100 to 116 leave as a train and are answered with these RTTs.
    fn train(first: u64, last: u64) -> Vec<Step> {
        let mut start = DelayStart::default();
        [(1000, 0, 100), (1010, 16, 100), (1000 + first, 100, first), (1010 + last, 115, last)]
            .map(|(at, newest, rtt)| start.on_ack(&answer(at, newest, rtt), 200.0, false))
            .to_vec()
    }

    #[test]
    fn a_train_leaves_and_comes_through() {
        let mut start = DelayStart::default();
        assert!(!start.sends_train());
        start.on_ack(&answer(1000, 0, 100), 200.0, false);
        assert!(start.sends_train(), "from the packet 100 on");
        start.on_ack(&answer(1010, 15, 100), 200.0, false);
        assert!(start.sends_train(), "115 is the sixteenth, and has yet to leave");
        start.on_ack(&answer(1010, 16, 100), 200.0, false);
        assert!(!start.sends_train());
        assert_eq!(train(100, 100), [Step::Wait, Step::Wait, Step::Wait, Step::Double]);
    }

    #[test]
    fn a_standing_queue_ends_it_where_it_is() {
        assert_eq!(train(113, 113)[3], Step::End { times: 1.0 });
        assert_eq!(train(112, 112)[3], Step::Double, "12.5 ms are an eighth of 100");
        let mut small = DelayStart::default();
        assert_eq!(small.on_ack(&answer(1000, 0, 112), 31.0, false), Step::Grow);
        assert_eq!(small.on_ack(&answer(1000, 0, 113), 31.0, false), Step::End { times: 1.0 });
    }

    #[test]
    fn a_train_that_the_application_held_back_says_nothing() {
        let mut start = DelayStart::default();
        start.on_ack(&answer(1000, 0, 100), 200.0, false);
        assert_eq!(start.on_ack(&answer(1001, 1, 100), 200.0, true), Step::Wait);
        assert!(!start.sends_train());
    }
}
