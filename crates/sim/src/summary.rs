//! What a flow or a link did within the measured window, exactly, whoever looks.

use crate::delays::PacketDelays;
use crate::histogram::Histogram;
use narrows_transport::Counters;
use narrows_units::Time;

/// What one flow did within the measured window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSummary {
    /// The sender's counters; zero for a datagram source but for `sent`.
    pub sender: Counters,
    /// Packets that reached the receiver for the first time.
    pub arrived: u64,
    /// Packets that reached the receiver again.
    pub duplicates: u64,
    /// When data first left, in the whole run.
    pub started: Option<Time>,
    /// When the last packet of finite data had arrived, in the whole run.
    pub finished: Option<Time>,
    /// How long packets took, where the application offers them one at a time.
    pub delays: Option<PacketDelays>,
}

/// What one link did within the measured window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSummary {
    /// Packets that came to the queue.
    pub arrivals: u64,
    /// Packets that found no room, or were dropped by the queue.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
    /// Packets whose last bit left.
    pub departures: u64,
    /// Their bytes.
    pub departed_bytes: u64,
    /// Bytes departed over bytes that the rate allows.
    pub utilisation: f64,
    /// Packets in the queue, the one in transmission included: mean over time.
    pub mean_queue: f64,
    /// The most packets at any time, where the link is watched.
    pub max_queue: Option<u64>,
    /// The most bytes at any time, where the link is watched.
    pub max_queue_bytes: Option<u64>,
    /// Packets found by arrivals, where the link is watched.
    pub queue_found: Option<Histogram>,
    /// Nanoseconds from arrival to the last bit's departure, where the link is watched.
    pub delay: Option<Histogram>,
}
