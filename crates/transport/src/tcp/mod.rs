//! TCP that counts packets instead of bytes: a [`Sender`] with one of three loss recoveries, and a
//! [`Receiver`].

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

use crate::{Least, Timeouts};
use narrows_units::Duration;

/// How a sender detects losses and retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// Fast retransmit and fast recovery; any new acknowledgement ends the recovery (RFC 5681).
    Reno,
    /// Stays in recovery until everything that was outstanding when it began has arrived
    /// (RFC 6582).
    NewReno,
    /// Selective acknowledgements with an estimate of the packets in flight, the pipe (RFC 6675).
    Sack,
}

impl RecoveryKind {
    /// Each recovery: its name, a one-line summary and its source.
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
            "one retransmission per round trip until everything outstanding has arrived",
            "RFC 6582",
        ),
        (
            "sack",
            Self::Sack,
            "selective acknowledgements and an estimate of the packets in flight",
            "RFC 6675",
        ),
    ];
}

/// How a SACK recovery releases packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metering {
    /// As the window allows, which is reduced at once (RFC 6675).
    ByPipe,
    /// Proportional rate reduction (RFC 9937).
    Prr,
    /// Linux 2.6.22's rate halving, as implemented by ns-2's Agent/TCP/Linux.
    RateHalving {
        /// The window during the recovery, as a share of the threshold; afterwards slow start makes
        /// up the rest. 0.5 for laws with Reno's min_cwnd, 1 for those without.
        share: f64,
        /// If set, the number of packets in flight is not reduced until the recovery is over. This
        /// happens in ns-2 whenever `overhead_` delays a departure, because its timer restores what
        /// the departure has subtracted (TcpAgent::timeout between save_from_linux and
        /// load_to_linux).
        stalls: bool,
    },
}

/// The habits of a TCP implementation: everything that is not the congestion controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Packets sent before the first acknowledgement.
    pub initial_window: f64,
    /// The bounds of the retransmission timer.
    pub timeouts: Timeouts,
    /// With RFC 7323's timestamps, each acknowledgement gives an RTT sample, and a spurious
    /// recovery is recognised (RFC 3522). Otherwise there is one sample per round trip, by Karn's
    /// rule.
    pub timestamps: bool,
    /// If true, window growth counts packets acknowledged (RFC 3465); otherwise acknowledgements
    /// (RFC 5681 §3.1).
    pub counts_packets: bool,
    /// Sends a new packet for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// How a SACK recovery releases packets.
    pub metering: Metering,
    /// If true, a retransmission counts as lost when enough packets that left after it have
    /// arrived; RFC 8985 decides this by time, we by count. Otherwise its loss is left to the timer
    /// (RFC 6675).
    pub lost_retransmissions: bool,
    /// When the receiver acknowledges.
    pub acks: AckPolicy,
}

impl Habits {
    /// What the five papers ran: ns-2's TCP with one acknowledgement per packet, as `dumbbell.tcl`
    /// sets it up.
    pub const NS2: Self = Self {
        initial_window: 2.0,
        timeouts: Timeouts {
            initial: Duration::from_millis(3000),
            least: Duration::from_millis(200),
            least_is: Least::OfTimeout,
            granularity: Duration::from_millis(10),
        },
        timestamps: false,
        counts_packets: false,
        limited_transmit: true,
        metering: Metering::ByPipe,
        lost_retransmissions: false,
        acks: AckPolicy { every: 1, delay: Duration::ZERO, quick: 0 },
    };

    /// Today's Linux: initial window 10 (RFC 6928), delayed acknowledgements after quick
    /// acknowledgements at the start, a smallest timeout of 200 ms, PRR.
    pub const LINUX: Self = Self {
        initial_window: 10.0,
        timeouts: Timeouts {
            initial: Duration::from_millis(1000),
            least: Duration::from_millis(200),
            least_is: Least::OfVariation,
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
