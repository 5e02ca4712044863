//! TCP that counts packets instead of bytes: a sender with one of three loss recoveries, and a
//! [`Receiver`].

mod ack_pacer;
mod bursts;
mod cumulative;
mod cwnd_down;
mod habits;
mod hearing;
mod lost_again;
mod outstanding;
mod plain;
mod probe;
mod prr;
mod rack;
mod rate_halving;
mod receive_window;
mod receiver;
mod recovery;
mod scoreboard;
mod selective;
mod send_buffer;
mod sender;
mod timer;
mod undo;
mod usage;
mod waiting;

use crate::congestion::{Deferral, Quantum};
pub(crate) use cumulative::Cumulative;
pub use receiver::{AckPolicy, Receiver};
pub use scoreboard::{Arrival, LostPacket, Scoreboard};
pub(crate) use selective::Selective;
pub use send_buffer::SendBufferSettings;
pub use sender::TcpSettings;
pub(crate) use sender::{SYN_BYTES, Sender};

use crate::Timeouts;
use narrows_control::Restart;

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
    /// As the window allows, by a law that decides in a recovery, too
    /// ([`Needs::own_recovery`](narrows_control::Needs)).
    ByLaw,
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
    /// Linux 2.4's rate halving, in which one packet at most leaves for an acknowledgement.
    CwndDown,
}

/// How a SACK recovery finds losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// A packet is lost when three above it have arrived; the loss of a retransmission is left to
    /// the timer (RFC 6675).
    ByCount,
    /// A packet is lost when one that left later has arrived, and none that left as early or
    /// earlier is expected any more (RACK, RFC 8985), retransmissions included.
    ByTime,
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
    /// If true, a timeout's back-off ends only when a packet that was sent once and timed is
    /// acknowledged, even with timestamps (ns-2's `ts_resetRTO_ false`); otherwise each sample ends
    /// it (RFC 6298 §5.7).
    pub keeps_back_off: bool,
    /// If true, window growth counts packets acknowledged (RFC 3465); otherwise acknowledgements
    /// (RFC 5681 §3.1).
    pub counts_packets: bool,
    /// Sends a new packet for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// How a SACK recovery releases packets.
    pub metering: Metering,
    /// How a SACK recovery finds losses.
    pub detection: Detection,
    /// If losses are found by time, whether a probe finds out about the last packets when nothing
    /// comes back for two round trips (RFC 8985 §7).
    pub probes: bool,
    /// If losses are found by time, whether new data leaves after a timeout to find out if it was
    /// needless (F-RTO, RFC 5682).
    pub frto: bool,
    /// Packets that leave together, unless the flow says otherwise.
    pub quantum: Quantum,
    /// Bytes of a send buffer that what leaves as one takes beside its payload: Linux's `sk_buff`
    /// (256), and a head for headers and the list of pages (`tcp_stream_alloc_skb`); none of a TCP
    /// without segmentation offload, whose send buffers are others.
    pub burst_memory: u32,
    /// When a burst that is too small waits.
    pub deferral: Deferral,
    /// If true, a connection begins with a handshake, which gives the first RTT sample.
    pub handshake: bool,
    /// If true, only a window that is used grows, and one that is not used shrinks (RFC 7661).
    pub validates_window: bool,
    /// What becomes of the window after a silence.
    pub restart: Restart,
    /// When the receiver acknowledges.
    pub acks: AckPolicy,
    /// If true, the receiver spaces acknowledgements over a round trip, and data echoes their
    /// stamps.
    pub paces_acks: bool,
}
