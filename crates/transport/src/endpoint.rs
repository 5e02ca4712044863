//! The two ends of a connection, for any transport.

use crate::etcp::{self, EtcpSettings};
use crate::quic::{self, QuicSettings};
use crate::tcp::{self, RecoveryKind, TcpSettings};
use crate::{Counters, Limited, Segment, Ticks};
use narrows_control::{Controller, Rtt};
use narrows_units::{Stream, Time};

/// The choice of transport, with the settings of its sender.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP.
    Tcp(TcpSettings),
    /// E-TCP.
    Etcp(EtcpSettings),
    /// QUIC.
    Quic(QuicSettings),
}

/// How losses are found and repaired, where that is a choice: one of TCP's ways, or QUIC's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// TCP's.
    Tcp(RecoveryKind),
    /// QUIC's.
    Quic,
}

impl Recovery {
    /// Each recovery: its name, a one-line summary and its source.
    pub fn all() -> impl Iterator<Item = (&'static str, Self, &'static str, &'static str)> {
        let tcp = RecoveryKind::NAMES.into_iter();
        let tcp = tcp.map(|(name, kind, summary, source)| (name, Self::Tcp(kind), summary, source));
        tcp.chain([(
            "quic",
            Self::Quic,
            "QUIC: packet numbers that are never used again, ranges of them acknowledged",
            "RFC 9002",
        )])
    }
}

/// A sender.
///
/// Feed it with [`on_ack`](Self::on_ack) and [`on_wakeup`](Self::on_wakeup). After each of these
/// calls, and after [`offer`](Self::offer), call [`poll_transmit`](Self::poll_transmit) until it
/// returns `None`; then wake the sender at [`pace_at`](Self::pace_at) and
/// [`retransmit_at`](Self::retransmit_at).
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every sender is TCP's; a box would cost each packet a cache miss"
)]
#[repr(u8)]
pub enum Sender {
    /// A TCP sender.
    Tcp(tcp::Sender),
    /// An E-TCP sender.
    Etcp(etcp::Sender),
    /// A QUIC sender.
    Quic(Box<quic::Sender>),
}

/// A receiver.
#[repr(u8)]
pub enum Receiver {
    /// A TCP receiver.
    Tcp(tcp::Receiver),
    /// An E-TCP receiver.
    Etcp(etcp::Receiver),
    /// A QUIC receiver.
    Quic(Box<quic::Receiver>),
}

/// Calls a method of the end that it is.
macro_rules! either {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            Self::Tcp($end) => $call,
            Self::Etcp($end) => $call,
            Self::Quic($end) => $call,
        }
    };
}

impl Transport {
    /// True if data that is lost is gone for good.
    pub fn loses_data(&self) -> bool {
        matches!(self, Self::Etcp(settings) if settings.delivery == etcp::Delivery::Unreliable)
    }

    /// Builds the two ends: a sender with `controller`, and a receiver whose acknowledgements have
    /// `ack_bytes` bytes; QUIC's are as long as their ranges.
    pub fn ends(self, controller: Box<dyn Controller>, ack_bytes: u32) -> (Sender, Receiver) {
        match self {
            Self::Tcp(settings) => {
                let buffer = buffer(settings.window_limit, settings.packet_bytes);
                let habits = &settings.habits;
                let receiver = tcp::Receiver::new(habits.acks, ack_bytes, buffer);
                let receiver = if habits.paces_acks { receiver.paced() } else { receiver };
                (Sender::Tcp(tcp::Sender::new(settings, controller)), Receiver::Tcp(receiver))
            }
            Self::Etcp(settings) => {
                // A stream of its own, so that gaps are the same with and without a code.
                let stream = Stream::new(settings.stream.clone().bits(), 0, 0);
                let receiver = etcp::Receiver::new(settings.delivery, ack_bytes, stream);
                (Sender::Etcp(etcp::Sender::new(settings, controller)), Receiver::Etcp(receiver))
            }
            Self::Quic(settings) => {
                let buffer = buffer(settings.window_limit, settings.packet_bytes);
                let receiver = quic::Receiver::new(settings.acks, buffer);
                let sender = Box::new(quic::Sender::new(settings, controller));
                (Sender::Quic(sender), Receiver::Quic(Box::new(receiver)))
            }
        }
    }
}

/// The receiver's buffer in bytes; an infinite window saturates to the largest number.
fn buffer(window_limit: f64, packet_bytes: u32) -> u64 {
    (window_limit * f64::from(packet_bytes)) as u64
}

impl Sender {
    /// The application has `packets` more packets to send.
    pub fn offer(&mut self, packets: u64) {
        either!(self, end => end.offer(packets));
    }

    /// The application withdraws everything that has not been sent yet.
    pub fn stop(&mut self) {
        either!(self, end => end.stop());
    }

    /// Begins a new connection where the old one ended: nothing is known of the path any more, but
    /// sequence numbers continue.
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        either!(self, end => end.renew(controller));
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        either!(self, end => end.on_ack(now, ack));
    }

    /// One of the wake-up times has come.
    pub fn on_wakeup(&mut self, now: Time) {
        either!(self, end => end.on_wakeup(now));
    }

    /// True if a packet may leave at `now`.
    pub fn may_transmit(&mut self, now: Time) -> bool {
        either!(self, end => end.may_transmit(now))
    }

    /// The retransmission timer of a TCP sender runs by `ticks`; the others' are exact.
    pub fn set_ticks(&mut self, ticks: Ticks) {
        if let Self::Tcp(end) = self {
            end.set_ticks(ticks);
        }
    }

    /// The next segment to leave at `now`, if one may.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        Segment::written(|segment| self.transmit_into(now, segment))
    }

    /// Puts the next segment to leave at `now` into `segment` and returns true, if one may. Written
    /// where it stays, it need not be copied: a load that spans two stores before it waits until
    /// both have reached the cache, since a processor forwards only one.
    #[inline]
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        either!(self, end => end.transmit_into(now, segment))
    }

    /// When the pacer lets the next packet go; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        either!(self, end => end.pace_at())
    }

    /// When the earliest of its timers expires; never if none is running.
    pub fn retransmit_at(&self) -> Time {
        either!(self, end => end.retransmit_at())
    }

    /// The congestion controller.
    pub fn controller(&self) -> &dyn Controller {
        either!(self, end => end.controller())
    }

    /// Where the records of the oldest and the newest packet outstanding lie, which the next
    /// acknowledgement touches, so that they can be fetched ahead; `None` if nothing is
    /// outstanding, or if the sender is not TCP's.
    pub fn places(&self) -> [Option<*const ()>; 2] {
        match self {
            Self::Tcp(sender) => sender.places(),
            Self::Etcp(_) | Self::Quic(_) => [None; 2],
        }
    }

    /// The current RTT estimate; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        either!(self, end => end.rtt())
    }

    /// Estimated number of packets in flight.
    pub fn in_flight(&self) -> u64 {
        either!(self, end => end.in_flight())
    }

    /// The sender's counters so far.
    pub fn counters(&self) -> &Counters {
        either!(self, end => end.counters())
    }

    /// The time that the sender has spent under each limit up to `now`.
    pub fn limited(&self, now: Time) -> Limited {
        either!(self, end => end.limited(now))
    }
}

impl Receiver {
    /// Takes the data that arrived; returns the acknowledgement to send now, if one is due.
    pub fn on_data(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        either!(self, end => end.on_data(now, data))
    }

    /// When the receiver must be woken to send an acknowledgement; never if none is pending.
    pub fn wakeup(&self) -> Time {
        match self {
            Self::Tcp(end) => end.wakeup(),
            Self::Quic(end) => end.wakeup(),
            Self::Etcp(_) => Time::NEVER,
        }
    }

    /// Returns the acknowledgement that is due by `now`, if any; to be called at the wake-up time.
    pub fn on_wakeup(&mut self, now: Time) -> Option<Segment> {
        match self {
            Self::Tcp(end) => end.on_wakeup(now),
            Self::Quic(end) => end.on_wakeup(now),
            Self::Etcp(_) => None,
        }
    }

    /// Packets that arrived for the first time.
    pub fn arrived(&self) -> u64 {
        either!(self, end => end.arrived())
    }

    /// Packets that had arrived before.
    pub fn duplicates(&self) -> u64 {
        either!(self, end => end.duplicates())
    }

    /// The lowest number that has not arrived.
    pub fn next(&self) -> u64 {
        either!(self, end => end.next())
    }
}
