//! Proportional rate reduction (RFC 9937): how much may be sent for each acknowledgement during a
//! recovery.

/// The state of one recovery episode, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// Packets in flight when the recovery began; Linux takes the window instead.
    recover_fs: f64,
    delivered: f64,
    /// Packets that safe acknowledgements have added.
    added: f64,
    sent: f64,
    /// Packets that may still be sent in response to the last acknowledgement.
    allowance: f64,
}

impl Prr {
    /// Begins a recovery with `flight` packets in flight; the fast retransmission may leave at
    /// once.
    pub fn new(flight: f64) -> Self {
        Self { recover_fs: flight.max(1.0), delivered: 0.0, added: 0.0, sent: 0.0, allowance: 1.0 }
    }

    /// Takes an acknowledgement of `delivered` packets that leaves `pipe` packets in flight, with a
    /// target of `ssthresh`. `safe` is true if the cumulative acknowledgement advanced and no
    /// further loss was detected (RFC 9937 §6.2, SafeACK).
    pub fn on_ack(&mut self, delivered: f64, pipe: f64, ssthresh: f64, safe: bool) {
        if delivered == 0.0 {
            return;
        }
        self.delivered += delivered;
        self.allowance = if pipe > ssthresh {
            // The pipe of a recovery that was undone counts packets twice, and `recover_fs` once:
            // even then no more leaves than arrives.
            let recover_fs = self.recover_fs.max(ssthresh);
            (self.delivered * ssthresh / recover_fs).ceil() - self.sent
        } else {
            // The RFC gives the packet that a safe acknowledgement adds away if it has not left
            // before the next acknowledgement, as with a pacer; we keep it.
            let added = if safe { 1.0 } else { 0.0 };
            self.added += added;
            let owed = self.delivered + self.added - self.sent;
            owed.max(delivered + added).min(ssthresh - pipe)
        };
        if self.sent == 0.0 {
            self.allowance = self.allowance.max(1.0);
        }
    }

    /// `packets` more have left the pipe without an acknowledgement, since a timer found them lost.
    pub fn lost(&mut self, packets: f64) {
        self.allowance += packets;
    }

    /// After a silence no more than `window` packets leave together.
    pub fn restarted(&mut self, window: f64) {
        self.allowance = self.allowance.min(window.max(1.0));
    }

    pub fn may_send(&self) -> bool {
        self.allowance >= 1.0
    }

    pub fn on_sent(&mut self) {
        self.sent += 1.0;
        self.allowance -= 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937's example: 20 packets are in flight, the first is lost, and the window is to be
    /// halved. After the fast retransmission one packet leaves for every second acknowledgement, so
    /// that ten have left at the end.
    #[test]
    fn half_a_window_leaves_evenly() {
        let mut prr = Prr::new(20.0);
        let mut pipe = 20.0 - 1.0; // one is lost
        let mut sent = 0;
        for _ in 0..19 {
            pipe -= 1.0;
            prr.on_ack(1.0, pipe, 10.0, false);
            while prr.may_send() {
                prr.on_sent();
                pipe += 1.0;
                sent += 1;
            }
        }
        assert_eq!(sent, 10);
        assert_eq!(pipe, 10.0);
    }

    #[test]
    fn after_heavy_loss_it_sends_what_arrives_and_one_more_where_that_is_safe() {
        let mut prr = Prr::new(20.0);
        prr.on_ack(1.0, 3.0, 10.0, true);
        assert_eq!(prr.allowance, 2.0);
        let mut unsafe_prr = Prr::new(20.0);
        unsafe_prr.on_ack(1.0, 3.0, 10.0, false);
        assert_eq!(unsafe_prr.allowance, 1.0);
    }

    /// 22 of 55 packets in the pipe are there twice. A target above the 33 that there are lets no
    /// more leave than arrives: 1.6 would for each, and the pipe would grow.
    #[test]
    fn a_pipe_that_counts_packets_twice_does_not_grow() {
        let mut prr = Prr::new(33.0);
        let mut pipe = 55.0;
        for _ in 0..20 {
            pipe -= 1.0;
            prr.on_ack(1.0, pipe, 52.0, false);
            while prr.may_send() {
                prr.on_sent();
                pipe += 1.0;
            }
            assert!(pipe <= 55.0, "{pipe}");
        }
    }
}
