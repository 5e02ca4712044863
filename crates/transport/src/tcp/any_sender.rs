//! A TCP sender, whatever its recovery.

use super::cumulative::Cumulative;
use super::selective::Selective;
use super::sender::SenderOver;
use super::{RecoveryKind, TcpSettings};
use crate::{Counters, Limited, Segment, Ticks};
use narrows_control::{Controller, Rtt};
use narrows_units::Time;

/// A TCP sender.
///
/// Feed it with [`on_ack`](Self::on_ack) and [`on_wakeup`](Self::on_wakeup). After each of these
/// calls, and after [`offer`](Self::offer), call [`poll_transmit`](Self::poll_transmit) until it
/// returns `None`; then wake the sender at [`pace_at`](Self::pace_at) and
/// [`retransmit_at`](Self::retransmit_at).
pub struct Sender(Over);

/// The recovery of a sender, and the sender that was compiled for it.
enum Over {
    Cumulative(SenderOver<Cumulative>),
    Selective(SenderOver<Selective>),
}

/// Calls a method of the sender, whatever its recovery.
macro_rules! either {
    ($over:expr, $sender:ident => $call:expr) => {
        match $over {
            Over::Cumulative($sender) => $call,
            Over::Selective($sender) => $call,
        }
    };
}

impl Sender {
    /// Creates a sender that has no data to send.
    pub fn new(settings: TcpSettings, controller: Box<dyn Controller>) -> Self {
        Self(match settings.recovery {
            RecoveryKind::Sack => Over::Selective(SenderOver::new(settings, controller)),
            RecoveryKind::Reno | RecoveryKind::NewReno => {
                Over::Cumulative(SenderOver::new(settings, controller))
            }
        })
    }

    /// The retransmission timer runs by `ticks`; it is exact unless told so.
    pub fn set_ticks(&mut self, ticks: Ticks) {
        either!(&mut self.0, sender => sender.set_ticks(ticks));
    }

    /// The application has `packets` more packets to send.
    pub fn offer(&mut self, packets: u64) {
        either!(&mut self.0, sender => sender.offer(packets));
    }

    /// The application withdraws everything that has not been sent yet.
    pub fn stop(&mut self) {
        either!(&mut self.0, sender => sender.stop());
    }

    /// Begins a new connection where the old one ended: nothing is known of the path any more, but
    /// sequence numbers continue.
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        either!(&mut self.0, sender => sender.renew(controller));
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        either!(&mut self.0, sender => sender.on_ack(now, ack));
    }

    /// One of the wake-up times has come.
    pub fn on_wakeup(&mut self, now: Time) {
        either!(&mut self.0, sender => sender.on_wakeup(now));
    }

    /// True if the window and the pacer let a packet go at `now`.
    pub fn may_transmit(&mut self, now: Time) -> bool {
        either!(&mut self.0, sender => sender.may_transmit(now))
    }

    /// The next segment to leave at `now`, if one may.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        Segment::written(|segment| self.transmit_into(now, segment))
    }

    /// Puts the next segment to leave at `now` into `segment` and returns true, if one may.
    #[inline]
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        either!(&mut self.0, sender => sender.transmit_into(now, segment))
    }

    /// When the pacer lets the next packet go; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        either!(&self.0, sender => sender.pace_at())
    }

    /// When the retransmission timer expires, or the controller's; never if there is none, as
    /// nothing is outstanding, not even a request for a connection.
    pub fn retransmit_at(&self) -> Time {
        either!(&self.0, sender => sender.retransmit_at())
    }

    /// The congestion controller.
    pub fn controller(&self) -> &dyn Controller {
        either!(&self.0, sender => sender.controller())
    }

    /// The current RTT estimate; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        either!(&self.0, sender => sender.rtt())
    }

    /// Estimated number of packets in flight.
    pub fn in_flight(&self) -> u64 {
        either!(&self.0, sender => sender.in_flight())
    }

    /// The lowest number that is not acknowledged, which is also the number of packets delivered in
    /// order, as far as the sender knows.
    pub fn first(&self) -> u64 {
        either!(&self.0, sender => sender.first())
    }

    /// Where the records of the oldest and the newest packet outstanding lie.
    pub(crate) fn places(&self) -> [Option<*const ()>; 2] {
        either!(&self.0, sender => sender.places())
    }

    /// True while a recovery is under way.
    pub fn recovering(&self) -> bool {
        either!(&self.0, sender => sender.recovering())
    }

    /// True if all data offered has been acknowledged.
    pub fn is_done(&self) -> bool {
        either!(&self.0, sender => sender.is_done())
    }

    /// The sender's counters so far.
    pub fn counters(&self) -> &Counters {
        either!(&self.0, sender => sender.counters())
    }

    /// The time spent under each limit up to `now`.
    pub fn limited(&self, now: Time) -> Limited {
        either!(&self.0, sender => sender.limited(now))
    }
}
