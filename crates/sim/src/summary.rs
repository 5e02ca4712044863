//! Exact summaries of what a flow or a link did in the measured part of a run; watching it does not
//! change them.

use crate::delays::PacketDelays;
use crate::histogram::Histogram;
use crate::hosted::EndSummary;
use narrows_transport::{Counters, Limited};
use narrows_units::Time;

/// What one flow did in the measured part of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSummary {
    /// The sender's counters. For a datagram source all but `sent` and `lost` are zero, and `lost`
    /// is what links dropped or lost.
    pub sender: Counters,
    /// Packets that reached the receiver for the first time.
    pub arrived: u64,
    /// Packets that reached the receiver again.
    pub duplicates: u64,
    /// Time that the sender spent under each limit; nothing of a datagram source.
    pub limited: Limited,
    /// When data first left; over the whole run.
    pub started: Option<Time>,
    /// When the last packet of finite data had arrived; over the whole run.
    pub finished: Option<Time>,
    /// Delays of packets, if the application offers them one at a time.
    pub delays: Option<PacketDelays>,
    /// By how many bytes of payload what has arrived of requests is less than as many full packets.
    pub shortage: u64,
    /// What the ends did, if they are hosted; `sender` and `arrived` count datagrams then.
    pub hosted: Option<Box<HostedSummary>>,
}

/// What the ends of a hosted flow did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostedSummary {
    /// The end that data comes from.
    pub near: EndSummary,
    /// The end that data goes to.
    pub far: EndSummary,
}

/// What one link did in the measured part of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSummary {
    /// Packets that arrived at the queue.
    pub arrivals: u64,
    /// Packets dropped by the queue, because it was full or by its discipline.
    pub drops: u64,
    /// Packets dropped by the link's script.
    pub scripted: u64,
    /// The lines of that which did nothing in the whole run, numbered from 0.
    pub idle_lines: Vec<usize>,
    /// Packets dropped by the link's policer.
    pub policed: u64,
    /// Bursts of drops: between two of one burst fewer than 16 packets were taken.
    pub loss_bursts: u64,
    /// Drops of the longest of them.
    pub longest_loss_burst: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
    /// Packets whose last bit left.
    pub departures: u64,
    /// Bytes of the packets whose last bit left.
    pub departed_bytes: u64,
    /// Bytes departed divided by those that could have (a ratio); 0 if none could.
    pub utilisation: f64,
    /// Mean number of packets in the queue over time, the one in transmission included.
    pub mean_queue: f64,
    /// Largest number of packets in the queue at any time, if the link is watched.
    pub max_queue: Option<u64>,
    /// Largest number of bytes in the queue at any time, if the link is watched.
    pub max_queue_bytes: Option<u64>,
    /// Packets in the queue as found by arrivals, if the link is watched.
    pub queue_found: Option<Histogram>,
    /// Nanoseconds from arrival to the last bit's departure, if the link is watched.
    pub delay: Option<Histogram>,
}
