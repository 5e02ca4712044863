//! The sender's view of a recovery, which detects losses and decides what may leave next.

use super::scoreboard::LostPacket;
use super::{Habits, Metering, RecoveryKind};
use crate::congestion::{Congestion, Delivered, Lost};
use crate::{RttEstimator, Segment};
use narrows_units::Time;

/// A recovery, between the window and the wire.
pub(crate) trait Recovery {
    /// Whether it tells a rate sampler what is delivered.
    const TELLS_DELIVERIES: bool;

    /// The recovery of `kind` with these habits; one with SACK lets packets go by `metering`.
    fn new(kind: RecoveryKind, metering: Metering, habits: &Habits) -> Self;

    /// The lowest number that is not acknowledged.
    fn first(&self) -> u64;

    /// One past the highest number sent.
    fn end(&self) -> u64;

    /// Estimated number of packets in flight.
    fn in_flight(&self) -> u64;

    /// Packets that are known to have arrived above the cumulative acknowledgement.
    fn sacked(&self) -> u64 {
        0
    }

    /// True while a recovery is under way.
    fn recovering(&self) -> bool;

    /// True while, after a recovery, the window is still below what the controller allows.
    fn regrowing(&self) -> bool {
        false
    }

    /// Handles an acknowledgement that says nothing but that everything below its number has
    /// arrived, if that reveals nothing; `None` leaves it to [`on_ack`](Self::on_ack). No rate
    /// sampler is told: with one, call that. With `timestamps`, stamps may take back a recovery.
    fn advance(&mut self, _ack: &Segment, _timestamps: bool) -> Option<Answer> {
        None
    }

    /// True if losses are found by time, and nothing is repaired, probed for, waited for or out of
    /// order, so that only new data may leave.
    fn is_calm(&self) -> bool {
        false
    }

    /// Handles an acknowledgement of something new and of nothing else where all is calm and stays
    /// so; returns what it delivers. `None` leaves it to [`on_ack`](Self::on_ack).
    fn advance_calmly(&mut self, _ack: &Segment, _now: Time) -> Option<Delivered> {
        None
    }

    /// Handles an acknowledgement; the losses that it reveals are reported to `ears`.
    fn on_ack(&mut self, ack: &Segment, ears: &mut Ears) -> Answer;

    /// Handles an expiry of the retransmission timer, the second or a later one without an
    /// acknowledgement of something new if `again`; the losses are reported to `ears`.
    fn on_timeout(&mut self, again: bool, ears: &mut Ears) -> TimedOut;

    /// Handles an expiry of the timer that [`Answer::reordering_at`] asked for; returns true if a
    /// recovery begins.
    fn on_reordering_timer(&mut self, _ears: &mut Ears) -> bool {
        false
    }

    /// A mark has reduced the window, and the flight follows.
    fn reduces_for_mark(&mut self) {}

    /// After a silence the window has become `window` packets, whatever a reduction that waits for
    /// its end would let leave (Linux's `tcp_cwnd_restart` sets the window, which is then the
    /// limit).
    fn restarted(&mut self, _window: f64) {}

    /// Congestion is proven: what has been reduced stays so.
    fn forbid_undo(&mut self) {}

    /// True if losses are being repaired, by a recovery or after a timeout.
    fn repairing(&self) -> bool {
        self.recovering()
    }

    /// When the lowest packet outstanding left for the last time; `None` if nothing is outstanding.
    fn first_sent(&self) -> Option<Time>;

    /// True if a probe may find out whether the last packets were lost (RFC 8985 §7.2).
    fn may_probe(&self) -> bool {
        false
    }

    /// The next packet to leave is a probe.
    fn probe(&mut self) {}

    /// True if a probe is to leave next.
    fn probing(&self) -> bool {
        false
    }

    /// Where the records of the oldest and the newest packet outstanding lie.
    fn places(&self) -> [Option<*const ()>; 2];

    /// A new connection begins where the old one ended.
    fn renew(&mut self);

    /// Decides what may leave next, with a window of `window` packets and `offered` packets of
    /// data.
    fn next(&mut self, window: f64, offered: u64) -> Next;

    /// Records that packet `number` leaves as transmission number `transmission`.
    fn sent(&mut self, number: u64, transmission: u64, now: Time);
}

/// What a recovery lets leave next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next packet of new data.
    New,
    /// A retransmission of this packet.
    Again(u64),
    /// The window is full.
    WaitForWindow,
    /// The application has nothing to send.
    WaitForData,
}

/// What an acknowledgement did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    /// Packets delivered, and the newest transmission among them.
    pub packets: u64,
    pub newest: u64,
    /// If losses are found by time, when the earliest of those that were sent once had left.
    pub original_sent: Option<Time>,
    pub restarts_timer: bool,
    /// When packets that may be late only count as lost (RFC 8985 §6.2, step 5).
    pub reordering_at: Option<Time>,
}

impl Answer {
    pub fn of(delivered: &Delivered, restarts_timer: bool) -> Self {
        let Delivered { packets, newest, original_sent, .. } = *delivered;
        Self { packets, newest, original_sent, restarts_timer, reordering_at: None }
    }
}

/// What an expiry of the retransmission timer did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedOut {
    /// Whether the threshold is to be reduced.
    pub opens_epoch: bool,
    /// Packets that left too recently to be lost.
    pub in_flight: f64,
}

/// The way in which a recovery reports to the controller and the counters, in the order that the
/// contract of [`Controller`](narrows_control::Controller) prescribes.
pub(crate) struct Ears<'a> {
    pub congestion: &'a mut Congestion,
    pub now: Time,
    pub next: u64,
    pub rtt: &'a RttEstimator,
    pub timestamps: bool,
    /// A loss of an earlier transmission opens no epoch: a mark of its window has.
    pub answered_to: u64,
}

impl Ears<'_> {
    /// Reports what an acknowledgement delivered, before the losses that it reveals.
    #[inline]
    pub fn arrived(&mut self, delivered: &Delivered) {
        self.congestion.delivered(delivered, self.now, || self.rtt.estimate());
    }

    pub fn lost(&mut self, packet: &LostPacket, opens_epoch: bool) {
        let opens_epoch = opens_epoch && packet.transmission >= self.answered_to;
        self.congestion.lost(&self.described(packet, opens_epoch));
    }

    /// A packet of which [`lost`](Self::lost) has told opens another epoch.
    pub fn still_lost(&mut self, packet: &LostPacket) {
        self.congestion.still_lost(&self.described(packet, true));
    }

    fn described(&self, packet: &LostPacket, opens_epoch: bool) -> Lost {
        Lost {
            now: self.now,
            number: packet.number,
            transmission: packet.transmission,
            next: self.next,
            opens_epoch,
            in_flight: f64::from(packet.in_flight),
            rtt: self.rtt.estimate(),
        }
    }

    pub fn spurious(&mut self) {
        self.congestion.spurious();
    }

    /// True if timestamps prove that an acknowledgement answers a segment that left before the
    /// retransmission at `resent_at` (RFC 3522 §3.2).
    pub fn is_older(&self, echoed_stamp: Time, resent_at: Option<Time>) -> bool {
        self.timestamps && resent_at.is_some_and(|resent_at| echoed_stamp < resent_at)
    }
}

/// What a recovery needs to report; borrows of the sender whatever else it does not use.
macro_rules! ears {
    ($sender:ident, $now:expr) => {
        $crate::tcp::recovery::Ears {
            next: $sender.congestion.counters.sent,
            answered_to: $sender.congestion.marks.map_or(0, |marks| marks.answers_losses_to()),
            congestion: &mut $sender.congestion,
            now: $now,
            rtt: &$sender.rtt,
            timestamps: $sender.habits.timestamps,
        }
    };
}

pub(super) use ears;
