//! Rate halving as implemented by ns-2's Agent/TCP/Linux (tcp-linux.cc, after Linux 2.6.22): one
//! packet leaves for every two that arrive.

/// The state of one recovery episode, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateHalving {
    /// The window during the recovery, as a share of the threshold (a ratio).
    share: f64,
    /// The number of packets in flight is brought down to this: one below what it was at the last
    /// departure.
    target: f64,
    /// If set, `target` falls only by the packets lost, as ns-2's does when `overhead_` delays
    /// departures.
    stalls: bool,
    begins: bool,
}

/// Largest burst at the end of a recovery, in packets (tcp_max_burst).
const MOST_BURST: f64 = 3.0;

impl RateHalving {
    /// Begins a recovery with a window of `window` packets.
    pub fn new(share: f64, stalls: bool, window: f64) -> Self {
        Self { share, stalls, begins: true, target: window }
    }

    /// Takes an acknowledgement that left `pipe` packets in flight and revealed `lost` losses.
    pub fn on_ack(&mut self, pipe: f64, lost: f64) {
        self.target = if self.begins || !self.stalls {
            self.target.min(pipe + 1.0)
        } else {
            self.target - lost
        };
        self.begins = false;
    }

    /// Whether another packet may leave, with `pipe` packets in flight and a threshold of
    /// `ssthresh`.
    pub fn may_send(&self, pipe: f64, ssthresh: f64) -> bool {
        pipe < (self.share * ssthresh).floor().max(self.target)
    }

    /// Records that a packet has left, and that `pipe` packets are now in flight.
    pub fn on_sent(&mut self, pipe: f64) {
        if !self.stalls {
            self.target = self.target.min((pipe - 1.0).max(1.0));
        }
    }

    /// The window to which the end of the recovery is moderated, at most the threshold `ssthresh`;
    /// `None` if the recovery ends at the threshold.
    pub fn left_with(&self, pipe: f64, ssthresh: f64) -> Option<f64> {
        (self.share < 1.0).then(|| ssthresh.min(pipe + MOST_BURST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a window of twenty, 17 packets in flight and a threshold of eight, one packet leaves
    /// for every second arrival.
    #[test]
    fn one_leaves_for_two_that_arrive() {
        let mut halving = RateHalving::new(1.0, false, 20.0);
        let (mut pipe, mut sent) = (17.0, Vec::new());
        for arrival in 0..10 {
            halving.on_ack(pipe, 0.0);
            while halving.may_send(pipe, 8.0) {
                pipe += 1.0;
                halving.on_sent(pipe);
                sent.push(arrival);
            }
            pipe -= 1.0;
        }
        assert_eq!(sent, [0, 2, 4, 6, 8]);
    }

    #[test]
    fn half_of_the_threshold_and_a_burst_are_left_at_the_end() {
        assert_eq!(RateHalving::new(0.5, false, 20.0).left_with(6.0, 14.0), Some(9.0));
        assert_eq!(RateHalving::new(1.0, false, 20.0).left_with(6.0, 14.0), None);
    }
}
