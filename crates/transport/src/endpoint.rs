//! A connection's two ends, of whichever transport.

use crate::etcp::{self, EtcpSettings};
use crate::tcp::{self, TcpSettings};
use crate::{Counters, Segment};
use narrows_control::{Controller, Rtt};
use narrows_units::Time;

/// Which transport, and how its sender is set up.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP.
    Tcp(TcpSettings),
    /// E-TCP.
    Etcp(EtcpSettings),
}

/// A sender.
///
/// Feed it with [`on_ack`](Self::on_ack) and [`on_wakeup`](Self::on_wakeup); after each, and after
/// [`offer`](Self::offer), take what [`poll_transmit`](Self::poll_transmit) gives until it gives
/// nothing; then wake it at [`pace_at`](Self::pace_at) and [`retransmit_at`](Self::retransmit_at).
pub enum Sender {
    /// TCP's.
    Tcp(tcp::Sender),
    /// E-TCP's.
    Etcp(etcp::Sender),
}

/// A receiver.
pub enum Receiver {
    /// TCP's.
    Tcp(tcp::Receiver),
    /// E-TCP's.
    Etcp(etcp::Receiver),
}

/// Calls one method of whichever end it is.
macro_rules! either {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            Self::Tcp($end) => $call,
            Self::Etcp($end) => $call,
        }
    };
}

impl Transport {
    /// The two ends, with `controller` at the sender's and acknowledgements of `ack_bytes` from the
    /// receiver's.
    pub fn ends(self, controller: Box<dyn Controller>, ack_bytes: u32) -> (Sender, Receiver) {
        match self {
            Self::Tcp(settings) => {
                // As bytes, what is infinite is the largest number.
                let buffer = settings.window_limit * f64::from(settings.packet_bytes);
                let receiver = tcp::Receiver::new(settings.habits.acks, ack_bytes, buffer as u64);
                (Sender::Tcp(tcp::Sender::new(settings, controller)), Receiver::Tcp(receiver))
            }
            Self::Etcp(settings) => {
                let receiver = etcp::Receiver::new(settings.reliable, ack_bytes);
                (Sender::Etcp(etcp::Sender::new(settings, controller)), Receiver::Etcp(receiver))
            }
        }
    }
}

impl Sender {
    /// The application has `packets` more packets to send.
    pub fn offer(&mut self, packets: u64) {
        either!(self, end => end.offer(packets));
    }

    /// The application has nothing more to send than what has been sent.
    pub fn stop(&mut self) {
        either!(self, end => end.stop());
    }

    /// A new connection begins where the old one ended: nothing is known of the path, numbers go
    /// on.
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        either!(self, end => end.renew(controller));
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        either!(self, end => end.on_ack(now, ack));
    }

    /// One of the wake-ups has come.
    pub fn on_wakeup(&mut self, now: Time) {
        either!(self, end => end.on_wakeup(now));
    }

    /// True where something may go at `now`.
    pub fn may_transmit(&mut self, now: Time) -> bool {
        either!(self, end => end.may_transmit(now))
    }

    /// The next segment to leave at `now`, if one may.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        either!(self, end => end.poll_transmit(now))
    }

    /// When the pacer lets the next packet go; never where the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        either!(self, end => end.pace_at())
    }

    /// When the earliest of its timers goes off; never where none runs.
    pub fn retransmit_at(&self) -> Time {
        either!(self, end => end.retransmit_at())
    }

    /// The congestion controller.
    pub fn controller(&self) -> &dyn Controller {
        either!(self, end => end.controller())
    }

    /// What is known of the RTT; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        either!(self, end => end.rtt())
    }

    /// Packets thought to be in flight.
    pub fn in_flight(&self) -> u64 {
        either!(self, end => end.in_flight())
    }

    /// What it has done so far.
    pub fn counters(&self) -> &Counters {
        either!(self, end => end.counters())
    }
}

impl Receiver {
    /// Data arrived: the acknowledgement to send now, if one is due.
    pub fn on_data(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        either!(self, end => end.on_data(now, data))
    }

    /// When the receiver must be woken to acknowledge; never where nothing waits.
    pub fn wakeup(&self) -> Time {
        match self {
            Self::Tcp(end) => end.wakeup(),
            Self::Etcp(_) => Time::NEVER,
        }
    }

    /// The wake-up has come: the acknowledgement that was due by `now`, if any.
    pub fn on_wakeup(&mut self, now: Time) -> Option<Segment> {
        match self {
            Self::Tcp(end) => end.on_wakeup(now),
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
