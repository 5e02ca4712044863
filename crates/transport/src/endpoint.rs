//! The two ends of a connection, for any transport.

use crate::congestion::{Congestion, EcnOfUser, Path, Quantum, Spacing};
use crate::etcp::{self, EtcpSettings};
use crate::quic::{self, QuicSettings};
use crate::tcp::{self, Cumulative, RecoveryKind, Selective, TcpSettings};
use crate::{Counters, Limited, Segment, Ticks};
use narrows_control::{Controller, Need, Rtt};
use narrows_units::{Duration, Stream, Time};
use std::ops::RangeInclusive;

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
pub struct Sender(ByTransport);

/// A sender, compiled for its transport; TCP's also for its recovery, which it asks a dozen things
/// per packet.
// Nearly every sender is TCP's; a box would cost each packet a cache miss.
#[repr(u8)]
enum ByTransport {
    Cumulative(tcp::Sender<Cumulative>),
    Selective(tcp::Sender<Selective>),
    Etcp(etcp::Sender),
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

/// Calls a method of the sender, whatever it is over.
macro_rules! over {
    ($sender:expr, $end:ident => $call:expr) => {
        match $sender {
            ByTransport::Cumulative($end) => $call,
            ByTransport::Selective($end) => $call,
            ByTransport::Etcp($end) => $call,
            ByTransport::Quic($end) => $call,
        }
    };
}

/// Calls a method of the receiver that it is.
macro_rules! either {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            Self::Tcp($end) => $call,
            Self::Etcp($end) => $call,
            Self::Quic($end) => $call,
        }
    };
}

impl From<TcpSettings> for Transport {
    fn from(settings: TcpSettings) -> Self {
        Self::Tcp(settings)
    }
}

impl From<EtcpSettings> for Transport {
    fn from(settings: EtcpSettings) -> Self {
        Self::Etcp(settings)
    }
}

impl From<QuicSettings> for Transport {
    fn from(settings: QuicSettings) -> Self {
        Self::Quic(settings)
    }
}

impl Transport {
    /// True if data that is lost is gone for good.
    pub fn loses_data(&self) -> bool {
        matches!(self, Self::Etcp(settings) if settings.delivery == etcp::Delivery::Unreliable)
    }

    /// True if each connection begins with a handshake.
    pub fn shakes_hands(&self) -> bool {
        match self {
            Self::Tcp(settings) => settings.habits.handshake,
            Self::Quic(settings) => settings.handshake,
            Self::Etcp(_) => false,
        }
    }

    /// Bytes on the wire of the smallest and the largest packet that its sender sends, but for the
    /// last of the data; `None` if they are not known.
    pub fn packet_bytes(&self) -> Option<RangeInclusive<u32>> {
        match self {
            Self::Tcp(settings) => Some(self.with_syn(settings.packet_bytes)),
            Self::Etcp(settings) => Some(settings.packet_bytes..=settings.packet_bytes),
            Self::Quic(_) => None,
        }
    }

    /// Those of the smallest and the largest packet that its receiver answers, if acknowledgements
    /// have `ack_bytes`; `None` if they are not known.
    pub fn answer_bytes(&self, ack_bytes: u32) -> Option<RangeInclusive<u32>> {
        match self {
            Self::Tcp(_) => Some(self.with_syn(ack_bytes)),
            Self::Etcp(_) => Some(ack_bytes..=ack_bytes),
            Self::Quic(_) => None,
        }
    }

    /// Packets of `bytes`, and those of TCP's handshake, which is answered by as many bytes as it
    /// asks with.
    fn with_syn(&self, bytes: u32) -> RangeInclusive<u32> {
        if self.shakes_hands() {
            bytes.min(tcp::SYN_BYTES)..=bytes.max(tcp::SYN_BYTES)
        } else {
            bytes..=bytes
        }
    }

    /// The least time after which a timer of its receiver acknowledges what it has not acknowledged
    /// when it arrived, `MAX` if no timer does; `None` if acknowledgements may also wait for others
    /// to leave.
    pub fn answers_after(&self) -> Option<Duration> {
        match self {
            Self::Tcp(settings) if settings.habits.paces_acks => None,
            Self::Tcp(settings) => settings.habits.acks.answers_after(),
            Self::Etcp(_) => Some(Duration::MAX),
            // As many bytes as its ranges take, which is known when it leaves.
            Self::Quic(_) => None,
        }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp(settings) => match settings.recovery {
                RecoveryKind::Reno => "TCP with Reno's recovery",
                RecoveryKind::NewReno => "TCP with NewReno's recovery",
                RecoveryKind::Sack => "TCP",
            },
            Self::Etcp(_) => "E-TCP",
            Self::Quic(_) => "QUIC",
        }
    }

    /// Whether its sender can do for a law what it needs.
    pub fn serves(&self, need: Need) -> bool {
        match (self, need) {
            (Self::Tcp(settings), Need::RateSamples) => settings.recovery == RecoveryKind::Sack,
            (Self::Tcp(settings), Need::RoutersFromSyn) => settings.habits.handshake,
            (
                Self::Tcp(_),
                Need::Marks
                | Need::Echo
                | Need::Timer
                | Need::Routers
                | Need::MarkStops
                | Need::Burst,
            ) => true,
            (Self::Etcp(_), Need::Timer) => true,
            (
                Self::Etcp(_),
                Need::Marks
                | Need::Echo
                | Need::RateSamples
                | Need::Routers
                | Need::RoutersFromSyn
                | Need::MarkStops
                | Need::Burst,
            ) => false,
            (
                Self::Quic(_),
                Need::Marks | Need::RateSamples | Need::Timer | Need::Routers | Need::Burst,
            ) => true,
            (Self::Quic(_), Need::Echo | Need::RoutersFromSyn | Need::MarkStops) => false,
        }
    }

    /// How packets are spaced.
    pub fn pacing(&self) -> Option<Spacing> {
        match self {
            Self::Tcp(settings) => settings.pacing,
            Self::Etcp(settings) => settings.pacing,
            Self::Quic(settings) => settings.pacing,
        }
    }

    /// What the user asks of ECN.
    pub fn ecn(&self) -> EcnOfUser {
        match self {
            Self::Tcp(settings) => settings.ecn,
            Self::Etcp(_) => EcnOfUser::default(),
            Self::Quic(settings) => settings.ecn,
        }
    }

    /// The receiver's window in packets; infinite if it does not limit the sender.
    pub fn window_limit(&self) -> f64 {
        match self {
            Self::Tcp(settings) => settings.window_limit,
            Self::Etcp(_) => f64::INFINITY,
            Self::Quic(settings) => settings.window_limit,
        }
    }

    /// Packets that leave together; `None` if their number is not fixed.
    pub fn quantum(&self) -> Option<u32> {
        match self {
            Self::Tcp(TcpSettings { quantum: Quantum::Packets(packets), .. }) => Some(*packets),
            Self::Tcp(TcpSettings { quantum: Quantum::Auto, .. }) => None,
            Self::Etcp(_) => Some(1),
            Self::Quic(settings) => Some(settings.quantum),
        }
    }

    /// Builds the two ends of a connection at `place`: a sender with `controller`, and a receiver
    /// whose acknowledgements have `ack_bytes` bytes; QUIC's are as long as their ranges.
    pub fn ends(
        self,
        controller: Box<dyn Controller>,
        ack_bytes: u32,
        path: Path,
    ) -> (Sender, Receiver) {
        let receiver = match &self {
            Self::Tcp(settings) => {
                let buffer = buffer(settings.window_limit, settings.packet_bytes);
                let receiver = tcp::Receiver::new(settings.habits.acks, ack_bytes, buffer);
                Receiver::Tcp(if settings.habits.paces_acks { receiver.paced() } else { receiver })
            }
            Self::Etcp(settings) => {
                // A stream of its own, so that gaps are the same with and without a code.
                let stream = Stream::new(path.stream.clone().bits(), 0, 0);
                Receiver::Etcp(etcp::Receiver::new(settings.delivery, ack_bytes, stream))
            }
            Self::Quic(settings) => {
                let buffer = buffer(settings.window_limit, settings.packet_bytes);
                Receiver::Quic(Box::new(quic::Receiver::new(settings.acks, buffer)))
            }
        };
        (Sender::new(self, controller, path), receiver)
    }
}

/// The receiver's buffer in bytes; an infinite window saturates to the largest number.
fn buffer(window_limit: f64, packet_bytes: u32) -> u64 {
    (window_limit * f64::from(packet_bytes)) as u64
}

impl Sender {
    /// Creates a sender at `place` that has no data to send.
    pub fn new(
        transport: impl Into<Transport>,
        controller: Box<dyn Controller>,
        path: Path,
    ) -> Self {
        Self(match transport.into() {
            Transport::Tcp(settings) => match settings.recovery {
                RecoveryKind::Sack => {
                    ByTransport::Selective(tcp::Sender::new(settings, controller, path))
                }
                RecoveryKind::Reno | RecoveryKind::NewReno => {
                    ByTransport::Cumulative(tcp::Sender::new(settings, controller, path))
                }
            },
            Transport::Etcp(settings) => {
                ByTransport::Etcp(etcp::Sender::new(settings, controller, path))
            }
            Transport::Quic(settings) => {
                ByTransport::Quic(Box::new(quic::Sender::new(settings, controller, path)))
            }
        })
    }

    /// The application has `packets` more packets to send.
    pub fn offer(&mut self, packets: u64) {
        over!(&mut self.0, end => end.offer(packets));
    }

    /// The application withdraws everything that has not been sent yet.
    pub fn stop(&mut self) {
        over!(&mut self.0, end => end.stop());
    }

    /// Begins a new connection where the old one ended: nothing is known of the path any more, but
    /// sequence numbers continue.
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        over!(&mut self.0, end => end.renew(controller));
    }

    /// An acknowledgement arrived.
    ///
    /// Panics if the segment is not an acknowledgement of this transport.
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        over!(&mut self.0, end => end.on_ack(now, ack));
    }

    /// One of the wake-up times has come.
    pub fn on_wakeup(&mut self, now: Time) {
        over!(&mut self.0, end => end.on_wakeup(now));
    }

    /// True if the window and the pacer let a packet go at `now`.
    pub fn may_transmit(&mut self, now: Time) -> bool {
        over!(&mut self.0, end => end.may_transmit(now))
    }

    /// What would leave at `now` finds no room in the host's own device, and has not left. TCP is
    /// told; datagrams are lost there.
    pub fn on_local_congestion(&mut self, now: Time) {
        match &mut self.0 {
            ByTransport::Cumulative(end) => end.on_local_congestion(now),
            ByTransport::Selective(end) => end.on_local_congestion(now),
            ByTransport::Etcp(_) | ByTransport::Quic(_) => {}
        }
    }

    /// Whether something would leave at `now` that a device without room sends back: not a probe,
    /// and not if nothing is in flight, so that something always comes after which it tries again.
    pub fn may_be_refused(&mut self, now: Time) -> bool {
        match &mut self.0 {
            ByTransport::Cumulative(end) => end.may_be_refused(now),
            ByTransport::Selective(end) => end.may_be_refused(now),
            ByTransport::Etcp(_) | ByTransport::Quic(_) => false,
        }
    }

    /// The retransmission timer of a TCP sender runs by `ticks`; it is exact unless told so, and
    /// the others' always are.
    pub fn set_ticks(&mut self, ticks: Ticks) {
        match &mut self.0 {
            ByTransport::Cumulative(end) => end.set_ticks(ticks),
            ByTransport::Selective(end) => end.set_ticks(ticks),
            ByTransport::Etcp(_) | ByTransport::Quic(_) => {}
        }
    }

    /// The next segment to leave at `now`, if one may.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        Segment::written(|segment| self.transmit_into(now, segment))
    }

    /// The same without its plain way, which must change nothing: tests hold both side by side.
    #[must_use]
    pub fn without_plain_way(mut self) -> Self {
        match &mut self.0 {
            ByTransport::Cumulative(sender) => sender.go_general(),
            ByTransport::Selective(sender) => sender.go_general(),
            ByTransport::Etcp(_) | ByTransport::Quic(_) => {}
        }
        self
    }

    /// Puts the next segment to leave at `now` into `segment` and returns true, if one may. Written
    /// where it stays, it need not be copied: a load that spans two stores before it waits until
    /// both have reached the cache, since a processor forwards only one.
    #[inline]
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        over!(&mut self.0, end => end.transmit_into(now, segment))
    }

    /// When the pacer lets the next packet go; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        over!(&self.0, end => end.pace_at())
    }

    /// When the earliest of its other timers expires, the law's among them; never if none is
    /// running, as nothing is outstanding, not even a request for a connection.
    pub fn retransmit_at(&self) -> Time {
        over!(&self.0, end => end.retransmit_at())
    }

    fn congestion(&self) -> &Congestion {
        over!(&self.0, end => end.congestion())
    }

    /// The congestion controller.
    pub fn controller(&self) -> &dyn Controller {
        self.congestion().law()
    }

    /// The sender's counters so far.
    pub fn counters(&self) -> &Counters {
        self.congestion().counters()
    }

    /// The time that the sender has spent under each limit up to `now`.
    pub fn limited(&self, now: Time) -> Limited {
        self.congestion().limited(now)
    }

    /// Where the records of the oldest and the newest packet outstanding lie, which the next
    /// acknowledgement touches, so that they can be fetched ahead; `None` if nothing is
    /// outstanding, or if the sender is not TCP's.
    pub fn places(&self) -> [Option<*const ()>; 2] {
        match &self.0 {
            ByTransport::Cumulative(sender) => sender.places(),
            ByTransport::Selective(sender) => sender.places(),
            ByTransport::Etcp(_) | ByTransport::Quic(_) => [None; 2],
        }
    }

    /// The current RTT estimate; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        over!(&self.0, end => end.rtt())
    }

    /// Estimated number of packets in flight.
    pub fn in_flight(&self) -> u64 {
        over!(&self.0, end => end.in_flight())
    }

    /// The lowest number of data that is not known to have arrived; if delivery is not reliable,
    /// that has never left.
    pub fn first(&self) -> u64 {
        over!(&self.0, end => end.first())
    }

    /// True while losses are being repaired; never of E-TCP, whose law answers each.
    pub fn recovering(&self) -> bool {
        over!(&self.0, end => end.recovering())
    }

    /// True if all data offered is known to have arrived; always false if delivery is not reliable.
    pub fn is_done(&self) -> bool {
        over!(&self.0, end => end.is_done())
    }
}

impl Receiver {
    /// Answers data in its own place, if that is all that there is to do; returns false if it is
    /// not, and does nothing.
    #[inline]
    pub fn answer_plain(&mut self, now: Time, data: &mut Segment) -> bool {
        if let Self::Tcp(end) = self { end.answer_plain(now, data) } else { false }
    }

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

    /// Bytes on the wire of each acknowledgement that a timer may send; `None` if they are not
    /// known before, or if no timer is there.
    pub fn delayed_bytes(&self) -> Option<u32> {
        if let Self::Tcp(end) = self { Some(end.ack_bytes()) } else { None }
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
