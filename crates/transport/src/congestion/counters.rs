//! Counters of what a sender has done so far.

/// A sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Packets retransmitted.
    pub retransmitted: u32,
    /// Packets detected as lost.
    pub lost: u32,
    /// Recovery epochs opened.
    pub epochs: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Epochs that turned out to be needless.
    pub spurious: u32,
    /// RTT samples.
    pub rtt_samples: u64,
    /// Sum of the RTT samples in seconds.
    pub rtt_sum: f64,
}

impl Counters {
    /// The difference to the counters at an `earlier` time.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            sent: self.sent - earlier.sent,
            retransmitted: self.retransmitted - earlier.retransmitted,
            lost: self.lost - earlier.lost,
            epochs: self.epochs - earlier.epochs,
            timeouts: self.timeouts - earlier.timeouts,
            spurious: self.spurious - earlier.spurious,
            rtt_samples: self.rtt_samples - earlier.rtt_samples,
            rtt_sum: self.rtt_sum - earlier.rtt_sum,
        }
    }
}
