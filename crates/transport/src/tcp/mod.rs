//! TCP, counting packets: a [`Sender`] with one of three recoveries, and a [`Receiver`].

mod cumulative;
mod outstanding;
mod prr;
mod rate_halving;
mod rate_sampler;
mod receiver;
mod recovery;
mod scoreboard;
mod selective;
mod sender;

pub use receiver::{AckPolicy, Receiver};
pub use scoreboard::Scoreboard;
pub use sender::{Sender, TcpSettings};

use crate::Timeouts;
use narrows_units::Duration;

/// How a sender finds out what was lost and sends it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// Fast retransmit and fast recovery, which any new acknowledgement ends (RFC 5681).
    Reno,
    /// Stays in recovery until all that was outstanding has arrived (RFC 6582).
    NewReno,
    /// Selective acknowledgements, pipe (RFC 6675).
    Sack,
}

impl RecoveryKind {
    /// Each recovery by name, with one line and its source.
    pub const NAMES: [(&str, Self, &str, &str); 3] = [
        (
            "reno",
            Self::Reno,
            "fast retransmit; any new acknowledgement ends fast recovery",
            "RFC 5681",
        ),
        (
            "newreno",
            Self::NewReno,
            "one retransmission a round trip until all that was outstanding has arrived",
            "RFC 6582",
        ),
        (
            "sack",
            Self::Sack,
            "selective acknowledgements and an estimate of the packets in the pipe",
            "RFC 6675",
        ),
    ];
}

/// How a SACK recovery lets packets go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metering {
    /// As the new window allows, which falls at once (RFC 6675).
    ByPipe,
    /// Proportional rate reduction (RFC 9937).
    Prr,
    /// Linux 2.6.22's rate halving, as ns-2's Agent/TCP/Linux has it.
    RateHalving {
        /// The window until the recovery is over, as a share of the threshold; slow start makes up
        /// the rest. 0.5 for laws with Reno's min_cwnd, 1 for those without.
        share: f64,
        /// The packets in flight stay as many as before until the recovery is over. ns-2's do
        /// whenever `overhead_` delays a departure, because its timer restores what the departure
        /// has taken off (TcpAgent::timeout between save_from_linux and load_to_linux).
        stalls: bool,
    },
}

/// The habits of a TCP implementation: everything that is not the congestion controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Packets sent before the first acknowledgement.
    pub initial_window: f64,
    /// The retransmission timer's.
    pub timeouts: Timeouts,
    /// RFC 7323: each acknowledgement gives an RTT sample, and a spurious recovery is recognised
    /// (RFC 3522). Else one sample a round trip, by Karn's rule.
    pub timestamps: bool,
    /// Growth counts packets acknowledged (RFC 3465); else acknowledgements (RFC 5681 §3.1).
    pub counts_packets: bool,
    /// A new packet for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// How a SACK recovery lets packets go.
    pub metering: Metering,
    /// A retransmission is found lost when packets that left after it arrive, as RFC 8985 does by
    /// time and we by count; else the timer finds out (RFC 6675).
    pub lost_retransmissions: bool,
    /// When the receiver acknowledges.
    pub acks: AckPolicy,
}

impl Habits {
    /// What the five papers ran: ns-2's TCP with an acknowledgement a packet, as `dumbbell.tcl`
    /// sets it up.
    pub const NS2: Self = Self {
        initial_window: 2.0,
        timeouts: Timeouts {
            initial: Duration::from_millis(3000),
            least: Duration::from_millis(200),
            granularity: Duration::from_millis(10),
        },
        timestamps: false,
        counts_packets: false,
        limited_transmit: true,
        metering: Metering::ByPipe,
        lost_retransmissions: false,
        acks: AckPolicy { every: 1, delay: Duration::ZERO, quick: 0 },
    };

    /// Today's Linux: initial window 10 (RFC 6928), delayed acknowledgements after a quick start,
    /// 200 ms least timeout, PRR.
    pub const LINUX: Self = Self {
        initial_window: 10.0,
        timeouts: Timeouts {
            initial: Duration::from_millis(1000),
            least: Duration::from_millis(200),
            granularity: Duration::from_millis(1),
        },
        timestamps: true,
        counts_packets: true,
        limited_transmit: true,
        metering: Metering::Prr,
        lost_retransmissions: true,
        acks: AckPolicy { every: 2, delay: Duration::from_millis(40), quick: 16 },
    };
}
