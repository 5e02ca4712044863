//! Rate halving, as ns-2's Agent/TCP/Linux has it (tcp-linux.cc, after Linux 2.6.22): one packet
//! leaves for two that arrive.

/// The state of one recovery episode, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateHalving {
    /// The window's share until the recovery is over, a ratio.
    share: f64,
    /// Packets in flight are brought down to this, one below what they were at the last departure.
    target: f64,
    /// Or by what is lost, and no more.
    stalls: bool,
    begins: bool,
}

/// Packets of a burst at the end of a recovery (tcp_max_burst).
const MOST_BURST: f64 = 3.0;

impl RateHalving {
    /// A recovery begins with a window of `window` packets.
    pub fn new(share: f64, stalls: bool, window: f64) -> Self {
        Self { share, stalls, begins: true, target: window }
    }

    /// An acknowledgement left `pipe` packets in flight, and showed that `lost` were not.
    pub fn on_ack(&mut self, pipe: f64, lost: f64) {
        self.target = if self.begins || !self.stalls {
            self.target.min(pipe + 1.0)
        } else {
            self.target - lost
        };
        self.begins = false;
    }

    /// Whether another may leave, with `pipe` in flight and a threshold of `ssthresh`.
    pub fn may_send(&self, pipe: f64, ssthresh: f64) -> bool {
        pipe < (self.share * ssthresh).floor().max(self.target)
    }

    /// One has left, and `pipe` are in flight.
    pub fn on_sent(&mut self, pipe: f64) {
        if !self.stalls {
            self.target = self.target.min((pipe - 1.0).max(1.0));
        }
    }

    /// The window that the recovery ends with, below the threshold of `ssthresh`; `None` where it
    /// ends with all of that.
    pub fn left_with(&self, pipe: f64, ssthresh: f64) -> Option<f64> {
        (self.share < 1.0).then(|| ssthresh.min(pipe + MOST_BURST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty packets in flight, the first lost, a threshold of ten: one leaves for every second
    /// that arrives.
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
