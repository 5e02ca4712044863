//! The shape of every congestion controller.

use crate::{Ack, Idle, Loss, Mark, Rtt, Tick, Timeout};
use narrows_signal::{Ecn, Reply, Request};
use narrows_units::{Duration, Time};
use std::fmt;

/// A congestion controller: told what happened, it answers with a window in packets.
///
/// The transport decides whether an epoch opens, whether the window was the limit, and what the RTT
/// is. Window inflation and the metering of packets during a recovery belong to the transport, too.
pub trait Controller: Send {
    /// Packets were acknowledged.
    fn on_ack(&mut self, ack: &Ack);

    /// The connection was accepted, and routers have replied to what its SYN asked. Called only if
    /// [`needs`](Self::needs) says so, before any data leaves; there is no RTT yet if the SYN was
    /// sent more than once and has no timestamp.
    fn on_accepted(&mut self, _reply: Reply, _rtt: Option<Rtt>) {}

    /// A packet was lost.
    fn on_loss(&mut self, loss: &Loss);

    /// Packets arrived with a mark. Called only if [`needs`](Self::needs) or the user asks for ECN.
    fn on_mark(&mut self, _mark: &Mark) {}

    /// The retransmission timer went off.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// The time of [`wakes_at`](Self::wakes_at) has come. Called only if [`needs`](Self::needs)
    /// says so.
    fn on_timer(&mut self, _tick: &Tick) {}

    /// When to call [`on_timer`](Self::on_timer) next; `Time::NEVER` if not at all. After each call
    /// it must lie in the future.
    fn wakes_at(&self) -> Time {
        Time::NEVER
    }

    /// A packet is about to leave while nothing is in flight, and it is not the connection's first.
    fn on_restart(&mut self, _idle: &Idle) {}

    /// For longer than a retransmission timeout no more than `used` packets of the window were in
    /// flight, because the application or the receiver was the limit (RFC 7661 §4.4;
    /// `tcp_cwnd_application_limited` in Linux's net/ipv4/tcp_output.c). TCP tells of it; RFC 9002
    /// has no such rule.
    fn on_unused(&mut self, _used: f64) {}

    /// All packets thought lost in this epoch have arrived after all. TCP tells of it, and noq; RFC
    /// 9002 does not ask QUIC to find out.
    fn on_spurious(&mut self) {}

    /// The congestion window in packets: finite, at least [`least_window`](Self::least_window).
    fn window(&self) -> f64;

    /// The smallest window that the law allows itself at present, in packets, above 0. A law that
    /// paces may go below 1: one packet then leaves in more than a round-trip time (RFC 9331 §4.3).
    fn least_window(&self) -> f64 {
        1.0
    }

    /// The slow-start threshold in packets; infinite if there is none.
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    /// Packets that may be in flight; infinite for a controller that only paces. The transport lets
    /// one packet go even if it is below 1.
    fn flight_limit(&self) -> f64 {
        self.window()
    }

    /// A recovery ends with few packets in flight, and the transport limits the burst that would
    /// follow: the window becomes at most `window` packets, and slow start brings it back to the
    /// threshold (Linux's tcp_moderate_cwnd). TCP alone does that.
    fn on_moderation(&mut self, _window: f64) {}

    /// Somebody who steers the law sets its window to `packets`, from which it goes on; returns
    /// false if it has no window of its own that could be set.
    fn set_window(&mut self, _packets: f64) -> bool {
        false
    }

    /// What the transport must do for the controller, apart from sending. Asked once, at birth.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What a departing packet asks of the routers on its way. Called only if
    /// [`needs`](Self::needs) says so.
    fn request(&self) -> Request {
        Request::Nothing
    }

    /// The fewest packets that leave together with segmentation offload (Linux's `min_tso_segs`).
    fn least_burst(&self) -> f64 {
        2.0
    }

    /// How departing packets are to be spaced.
    fn pacing(&self) -> Pacing {
        Pacing::Unpaced
    }

    /// Writes into `steer` how the law steers its sender: window, flight limit and pacing at once.
    // Returned, it would be copied by loads that span two of the stores before them, which wait
    // until those have reached the cache.
    fn steer(&self, steer: &mut Steer) {
        steer.window = self.window();
        steer.flight_limit = self.flight_limit();
        steer.pacing = self.pacing();
    }

    /// Shows the law's own quantities by name, in addition to window and threshold. They become the
    /// table `law_series`.
    fn probe(&self, _show: &mut dyn FnMut(&'static str, f64)) {}
}

/// What a controller answers after each event. Its sender asks once and keeps the answer until the
/// next event, so nothing else may change it, and each number is a number, not NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steer {
    /// [`Controller::window`].
    pub window: f64,
    /// [`Controller::flight_limit`].
    pub flight_limit: f64,
    /// [`Controller::pacing`].
    pub pacing: Pacing,
}

impl Steer {
    /// What `law` answers now.
    pub fn of(law: &dyn Controller) -> Self {
        let mut steer = Self { window: 0.0, flight_limit: 0.0, pacing: Pacing::Unpaced };
        law.steer(&mut steer);
        steer
    }
}

/// What a controller asks of the transport; what nobody asks for costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Packets leave with these bits, and marks are counted one by one (RFC 9768). If they say not
    /// capable, neither happens.
    pub ecn: Ecn,
    /// The receiver does not count marks but echoes them until it hears that they have been
    /// answered (RFC 3168 §6.1), and every packet that an acknowledgement with the echo delivers is
    /// taken for marked (`tcp_newly_delivered` in Linux's net/ipv4/tcp_input.c).
    pub echoed: bool,
    /// Acknowledgements and losses come with samples of the delivery rate; needs selective
    /// acknowledgements.
    pub rate_samples: bool,
    /// The law has a timer of its own.
    pub timer: bool,
    /// Packets carry a [`request`](Controller::request) to routers.
    pub routers: bool,
    /// The SYN carries one, too, if the connection begins with a handshake.
    pub routers_from_syn: bool,
    /// The law decides in a recovery, too, how much may be in flight: neither proportional rate
    /// reduction nor rate halving stands between its window and the wire, as in Linux for laws with
    /// a `cong_control` (`tcp_cong_control` in net/ipv4/tcp_input.c).
    pub own_recovery: bool,
    /// A mark that comes back at a window of one packet stops the sender until its retransmission
    /// timer goes off, which backs off while marks go on (RFC 3168 §6.1.2).
    pub mark_stops: bool,
    /// The law has no answer to marks as of RFC 3168, so packets must not leave ECN-capable at the
    /// user's wish: queues would mark where they should drop.
    pub ignores_marks: bool,
    /// The longest time that packets leaving together may take at the pacing rate, however many the
    /// user asks for; `None` for the transport's own rule (Linux's `tso_segs` of
    /// `tcp_congestion_ops`).
    pub burst: Option<Duration>,
}

impl Needs {
    /// Each need that not every transport can serve.
    pub fn each(self) -> impl Iterator<Item = Need> {
        let Self {
            ecn,
            echoed,
            rate_samples,
            timer,
            routers,
            routers_from_syn,
            // Every transport serves it.
            own_recovery: _,
            mark_stops,
            // The user is told, and packets leave unmarked.
            ignores_marks: _,
            burst,
        } = self;
        [
            (ecn.is_capable(), Need::Marks),
            (echoed, Need::Echo),
            (rate_samples, Need::RateSamples),
            (timer, Need::Timer),
            (routers, Need::Routers),
            (routers_from_syn, Need::RoutersFromSyn),
            (mark_stops, Need::MarkStops),
            (burst.is_some(), Need::Burst),
        ]
        .into_iter()
        .filter_map(|(needed, need)| needed.then_some(need))
    }
}

/// A need of [`Needs`] that not every transport can serve, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Marks that are counted one by one.
    Marks,
    /// Marks that are echoed until they have been answered.
    Echo,
    /// Samples of the delivery rate.
    RateSamples,
    /// A timer of the law's own.
    Timer,
    /// Packets that carry requests to routers.
    Routers,
    /// A request for a connection that carries one.
    RoutersFromSyn,
    /// A mark that stops the sender.
    MarkStops,
    /// Bursts no longer than the law says.
    Burst,
}

impl fmt::Display for Need {
    /// What the law does, after its name: `counts marks one by one`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Marks => "counts marks one by one",
            Self::Echo => "hears an echo of marks",
            Self::RateSamples => "samples the delivery rate",
            Self::Timer => "has a timer of its own",
            Self::Routers => "asks routers",
            Self::RoutersFromSyn => "asks routers from the first packet on",
            Self::MarkStops => "stops at a mark",
            Self::Burst => "limits bursts",
        })
    }
}

/// How departing packets are spaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// As soon as the window allows.
    Unpaced,
    /// One window per round-trip time: the mean gap is RTT / (gain · window).
    Window {
        /// Multiple of the window that leaves per round-trip time.
        gain: f64,
        /// Constant or exponential gaps.
        gaps: Gaps,
    },
    /// At a rate that the controller sets.
    Rate {
        /// Packets per second.
        packets_per_second: f64,
        /// Constant or exponential gaps.
        gaps: Gaps,
    },
}

/// The distribution of the gaps between paced packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// All gaps have the mean length.
    Even,
    /// Even, as Linux makes them (`tcp_update_skb_after_send` in net/ipv4/tcp_output.c): the first
    /// ten packets leave at once, and a burst that leaves late shortens the next gap by up to half.
    Fq,
    /// Exponentially distributed (E-TCP, §V-B).
    Exponential,
    /// Uniform from 0 to twice the mean (Chandrayana and others, "On randomizing the sending times
    /// in TCP and other window based algorithms", 2001: RTT(1 + x)/cwnd with x in U[−1, 1]).
    Uniform,
}
