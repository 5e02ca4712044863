//! What the transport tells a controller. For one arriving acknowledgement, these are the
//! [`Loss`]es it reveals, then the [`Ack`].

use narrows_signal::Reply;
use narrows_units::{Duration, Time};

/// The round-trip time as the transport knows it, brought up to date before each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// The newest sample.
    pub latest: Duration,
    /// The moving average of RFC 6298.
    pub smoothed: Duration,
    /// The smallest sample so far.
    pub minimum: Duration,
    /// The largest sample so far.
    pub maximum: Duration,
}

/// Packets have been acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When the acknowledgement arrived.
    pub now: Time,
    /// Packets newly acknowledged, cumulatively or selectively.
    pub packets: f64,
    /// Number of the newest transmission that has been answered.
    pub newest: u64,
    /// Number of the next transmission to leave.
    pub next: u64,
    /// The round-trip time; `None` until there is a sample.
    pub rtt: Option<Rtt>,
    /// True if this acknowledgement brought a fresh sample.
    pub rtt_is_fresh: bool,
    /// Packets in flight after this acknowledgement.
    pub in_flight: f64,
    /// True if the window, not the application or the receiver, held the sender back.
    pub window_limited: bool,
    /// True while a recovery epoch is under way, or data arrives out of order and one may begin.
    /// Laws then leave the window alone (RFC 5681 §3.1 lets it grow for acknowledgements that
    /// advance).
    pub recovering: bool,
    /// How many of these packets arrived with a mark, if the controller asks for ECN.
    pub marked: f64,
    /// What routers said, if the controller asks them.
    pub reply: Reply,
    /// How fast packets were delivered, if the controller asks for it.
    pub rate: Option<RateSample>,
}

/// What one acknowledgement says about the rate of delivery (draft-ietf-ccwg-bbr-06, §4.1.2), in
/// packets and seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Packets delivered since the connection began, these included (C.delivered).
    pub total_delivered: f64,
    /// Packets delivered when the newest of these left (RS.prior_delivered).
    pub prior_delivered: f64,
    /// Packets per second between the two; `None` if the interval is shorter than the minimum RTT
    /// and so tells nothing (RS.delivery_rate).
    pub delivery_rate: Option<f64>,
    /// Time since the newest of these left (RS.rtt); `None` if it was sent more than once, as
    /// nobody knows which transmission has arrived (Karn).
    pub rtt: Option<Duration>,
    /// Packets in flight when the newest had left (RS.tx_in_flight).
    pub tx_in_flight: f64,
    /// Packets found lost since the newest left (RS.lost).
    pub lost: f64,
    /// True if the newest left when the application had too little to send (RS.is_app_limited).
    pub app_limited: bool,
    /// Packets that this acknowledgement shows to be lost (RS.newly_lost; `losses` in Linux's
    /// `struct rate_sample`).
    pub newly_lost: f64,
    /// Packets in flight before this acknowledgement (`prior_in_flight` in Linux).
    pub prior_in_flight: f64,
    /// True while losses are being repaired, by a recovery or after a timeout (TCP_CA_Recovery and
    /// TCP_CA_Loss in Linux).
    pub repairing: bool,
    /// Time until the pacer lets the next packet leave (`tcp_wstamp_ns` in Linux's `struct
    /// tcp_sock`).
    pub departs_in: Duration,
}

impl RateSample {
    /// Packets delivered since the newest left (RS.delivered).
    pub fn delivered(&self) -> f64 {
        self.total_delivered - self.prior_delivered
    }
}

/// One packet has been lost. Losses are reported in order of transmission, but for one that is
/// reported `again`.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When the loss was noticed.
    pub now: Time,
    /// Number of the transmission that was lost.
    pub transmission: u64,
    /// Number of the next transmission to leave.
    pub next: u64,
    /// True for the first loss of a recovery epoch.
    pub opens_epoch: bool,
    /// It was reported in an epoch that is over, had not been repaired by then, and opens the next
    /// (`lost_out` in Linux's `tcp_time_to_recover`): who answers each packet has answered it.
    pub again: bool,
    /// Packets in flight when the lost one left, itself included.
    pub in_flight: f64,
    /// The round-trip time; `None` until there is a sample.
    pub rtt: Option<Rtt>,
    /// What delivery-rate sampling knows of this packet, if the controller asks for rate samples.
    pub rate: Option<LossSample>,
}

/// What delivery-rate sampling knows of a lost packet (draft-ietf-ccwg-bbr-06, §4.1.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSample {
    /// Packets delivered since the connection began (C.delivered).
    pub total_delivered: f64,
    /// Packets found lost since this one left, itself included (C.lost − P.lost).
    pub lost: f64,
    /// True if it left when the application had too little to send (P.is_app_limited).
    pub app_limited: bool,
}

/// The time of a law's timer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The time.
    pub now: Time,
    /// Data packets sent so far, retransmissions included.
    pub sent: u64,
    /// For how long the window or the pacer has kept packets from leaving so far.
    pub held: Duration,
}

/// Packets have arrived with a mark (RFC 3168). Reported before the [`Ack`] of the same
/// acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// When the acknowledgement arrived.
    pub now: Time,
    /// Number of packets.
    pub packets: f64,
    /// True for the first mark of a round trip, outside of recovery: there is one response per
    /// window of data (RFC 3168 §6.1.2).
    pub opens_epoch: bool,
}

/// The retransmission timer has expired.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    /// When it expired.
    pub now: Time,
    /// True if the threshold is to be reduced: not if the same packet has timed out before (RFC
    /// 5681 §3.1), and in Linux not if a recovery of the same window of data has reduced it
    /// (`tcp_enter_loss` in net/ipv4/tcp_input.c).
    pub opens_epoch: bool,
    /// Packets still thought to be in flight, as they left too recently to be lost (RFC 8985
    /// §6.3); 0 if everything outstanding counts as lost.
    pub in_flight: f64,
}

/// A packet is about to leave while nothing is in flight.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// When it leaves.
    pub now: Time,
    /// How long ago the latest packet left.
    pub length: Duration,
    /// The retransmission timeout.
    pub timeout: Duration,
    /// What becomes of the window if `length` exceeds `timeout`.
    pub restart: Restart,
    /// True if the application had too little to send (C.app_limited of draft-ietf-ccwg-bbr-06),
    /// not if the pacer let nothing leave. Known only if the controller asks for rate samples.
    pub app_limited: bool,
}

impl Idle {
    /// True if the sender was silent for longer than a retransmission timeout.
    pub fn is_long(&self) -> bool {
        self.length > self.timeout
    }
}

/// What becomes of the window after a silence longer than a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It stays (Linux with `net.ipv4.tcp_slow_start_after_idle = 0`).
    Never,
    /// It falls to the initial window; the threshold stays (RFC 5681 §4.1).
    Initial,
    /// It is halved for each timeout of silence, down to the initial window, and the threshold
    /// becomes at least three quarters of what it was (RFC 2861; `tcp_cwnd_restart` in Linux's
    /// net/ipv4/tcp_output.c).
    Halving,
}

impl Restart {
    /// Window and threshold in packets after `idle`, given the window before it.
    pub fn after(self, idle: &Idle, window: f64, ssthresh: f64, initial: f64) -> (f64, f64) {
        let least = window.min(initial);
        match self {
            _ if !idle.is_long() => (window, ssthresh),
            Self::Never => (window, ssthresh),
            Self::Initial => (least, ssthresh),
            Self::Halving => {
                let timeouts = idle.length.picos() / idle.timeout.picos().max(1);
                let halved = window * 0.5_f64.powi(timeouts.min(64) as i32);
                (halved.max(least), ssthresh.max(0.75 * window))
            }
        }
    }
}
