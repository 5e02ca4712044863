//! What a sender has done so far.

/// A sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Packets sent again.
    pub retransmitted: u32,
    /// Packets found lost.
    pub lost: u32,
    /// Recovery epochs opened.
    pub epochs: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Epochs that turned out to be needless.
    pub spurious: u32,
    /// RTT samples.
    pub rtt_samples: u64,
    /// Their sum in seconds.
    pub rtt_sum: f64,
}
