//! E-TCP's window law driven by marks in place of losses: ours, not the paper's.
//!
//! A queue that marks packets long before it is full lets the law keep a constant rate of marks
//! where it would keep one of losses, with the same equilibrium (Gu, Towsley, Hollot, Zhang,
//! §III-A), and fewer packets are lost.
//!
//! | source | equation | here |
//! |---|---|---|
//! | eq. 8 | W ← W + 1/b, for each packet acknowledged | [`EtcpEcn::on_ack`] |
//! | eq. 9 | W ← W − W/(b(2 + p0·W)), for each packet that arrived with a mark | [`EtcpEcn::on_mark`] |
//! | eq. 5 | W* = 2/(p − p0), with p the marks per acknowledged packet | tests |
//! | §V-A | slow start: W ← W + 1 per ACK, W ← W/2 at the first mark or loss, then hold for a round trip | [`EtcpEcn::on_ack`] |
//! | RFC 8257 §3.5 | W ← W/2 at a loss, once per recovery epoch | [`EtcpEcn::on_loss`] |
//! | §III-C | gaps between packets are exponential with mean RTT/W; the window limits nothing below twice its size | [`EtcpEcn::pacing`] |
//!
//! It runs over TCP or QUIC, as marks that are counted one by one (RFC 9768, RFC 9000 §13.4) need
//! no signalling of its own, and what TCP asks of a law besides is TCP's. Without marks it is left
//! with W/2 at each loss.

use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::{Ack, CongestionWindow, Controller, Gaps, Idle, Loss, Mark, Needs, Pacing, Timeout};
use narrows_settings::{Settings, settings};
use narrows_signal::Ecn;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "etcp-ecn",
    aliases: &[],
    summary: "etcp by marks in place of losses; needs queues that mark",
    source: "ours, after E-TCP, §III",
    moved_by: MovedBy::Epochs,
    start: Start::UnlessAtThreshold,
    settings: Params::list,
    construct: |birth| {
        let (window, ssthresh) = (birth.initial_window, birth.initial_ssthresh);
        Ok(Recipe::clones(EtcpEcn::new(birth.settings()?, window, ssthresh)))
    },
};

settings! {
    /// Settings of E-TCP by marks.
    pub struct Params {
        /// Rate of marks above which the bottleneck is kept (ratio; §III-A).
        p0: f64 = 0.01, at_least(0.0).below(1.0);
        /// Packets acknowledged per packet of window gained (§III-A).
        b: f64 = 25.0, at_least(1.0);
        /// Whether packets leave as ECT(1) (RFC 9331 §4.1).
        l4s: bool = false;
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct EtcpEcn {
    params: Params,
    cwnd: CongestionWindow,
    /// What left before this number has had its answer: the end of slow start (§V-A). 0 otherwise,
    /// and `u64::MAX` until the next acknowledgement tells the number.
    answered_to: u64,
}

/// RFC 5681 §3.1, eq. 4: the threshold is at least two packets.
const LEAST_SSTHRESH: f64 = 2.0;

impl EtcpEcn {
    /// The law with `params`, which have been checked; starts with `initial_window` packets, in
    /// congestion avoidance if that has already reached a threshold of `ssthresh` packets.
    pub fn new(params: Params, initial_window: f64, ssthresh: f64) -> Self {
        let mut cwnd = CongestionWindow::new(initial_window);
        cwnd.ssthresh = ssthresh;
        Self { params, cwnd, answered_to: 0 }
    }

    /// W ← W/2, and the end of slow start.
    fn halve(&mut self) {
        if self.cwnd.is_below_threshold() {
            self.answered_to = u64::MAX;
        }
        self.cwnd.reduce((self.cwnd.window / 2.0).max(LEAST_SSTHRESH));
    }

    /// True while what is answered left before slow start had ended.
    fn holds(&mut self, ack: &Ack) -> bool {
        if self.answered_to == u64::MAX {
            self.answered_to = ack.next;
        } else if ack.newest >= self.answered_to {
            self.answered_to = 0;
        }
        self.answered_to > 0
    }
}

impl Controller for EtcpEcn {
    /// W ← W + n/b for n packets acknowledged (§III-A, eq. 8), W + n in slow start (§V-A).
    fn on_ack(&mut self, ack: &Ack) {
        if self.holds(ack) || !ack.window_limited || ack.recovering {
            return;
        }
        if self.cwnd.is_below_threshold() {
            self.cwnd.window = (self.cwnd.window + ack.packets).min(self.cwnd.ssthresh);
        } else {
            self.cwnd.window += ack.packets / self.params.b;
        }
    }

    /// W ← W/2 when an epoch opens (RFC 8257 §3.5), not for what left before slow start had ended
    /// (§V-A).
    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch && loss.transmission >= self.answered_to {
            self.cwnd.remember();
            self.halve();
        }
    }

    /// W ← W/2 at the end of slow start (§V-A); W ← W − nW/(b(2 + p0·W)) for n packets that arrived
    /// with a mark (§III-A, eq. 9).
    fn on_mark(&mut self, mark: &Mark) {
        if self.cwnd.is_below_threshold() {
            self.cwnd.settle();
            self.halve();
        } else if self.answered_to == 0 {
            let Params { p0, b, .. } = self.params;
            let window = self.cwnd.window;
            let left = (window - mark.packets * window / (b * (2.0 + p0 * window))).max(1.0);
            (self.cwnd.window, self.cwnd.ssthresh) = (left, self.cwnd.ssthresh.min(left));
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.opens_epoch {
            self.cwnd.remember();
            self.cwnd.reduce((self.cwnd.window / 2.0).max(LEAST_SSTHRESH));
        }
        self.answered_to = 0;
        self.cwnd.timeout(timeout);
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used);
    }

    fn on_spurious(&mut self) {
        self.cwnd.undo();
    }

    fn on_moderation(&mut self, window: f64) {
        self.cwnd.moderate(window);
    }

    fn set_window(&mut self, packets: f64) -> bool {
        self.cwnd.window = packets;
        true
    }

    fn needs(&self) -> Needs {
        let ecn = if self.params.l4s { Ecn::Scalable } else { Ecn::Capable };
        Needs { ecn, own_recovery: true, ..Needs::default() }
    }

    fn window(&self) -> f64 {
        self.cwnd.window
    }

    fn ssthresh(&self) -> f64 {
        self.cwnd.ssthresh
    }

    /// Twice the window, which is in flight on average; in slow start the window.
    fn flight_limit(&self) -> f64 {
        self.cwnd.window * if self.cwnd.is_below_threshold() { 1.0 } else { 2.0 }
    }

    /// Exponential gaps of mean RTT/W (§III-C).
    fn pacing(&self) -> Pacing {
        Pacing::Window { gain: 1.0, gaps: Gaps::Exponential }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{ack, loss};
    use narrows_units::Time;

    fn avoiding(window: f64) -> EtcpEcn {
        EtcpEcn::new(Params::default(), window, 1.0)
    }

    fn mark(packets: f64) -> Mark {
        Mark { now: Time::ZERO, packets, opens_epoch: true }
    }

    /// At W = 2/(p − p0) with p marks per acknowledged packet, what 1/p acknowledgements add is
    /// what one mark takes (eq. 5).
    #[test]
    fn the_equilibrium_is_the_papers() {
        for window in [10.0, 240.0, 12_020.0] {
            let p = 0.01 + 2.0 / window;
            let mut etcp = avoiding(window);
            etcp.on_mark(&mark(1.0));
            let taken = window - etcp.window();
            assert!((taken * 25.0 * p - 1.0).abs() < 1e-9, "W = {window}: a mark takes {taken}");
        }
    }

    #[test]
    fn slow_start_ends_with_half_at_a_mark_and_a_pause() {
        let mut etcp = EtcpEcn::new(Params::default(), 100.0, f64::INFINITY);
        etcp.on_mark(&mark(1.0));
        etcp.on_ack(&Ack { newest: 3, next: 200, ..ack(0.0, 1.0) });
        assert_eq!(etcp.window(), 50.0);
        etcp.on_mark(&mark(5.0));
        etcp.on_ack(&Ack { newest: 199, next: 260, ..ack(0.0, 1.0) });
        assert_eq!(etcp.window(), 50.0, "it left before the answer");
        etcp.on_ack(&Ack { newest: 200, ..ack(0.0, 1.0) });
        assert_eq!(etcp.window(), 50.04);
        etcp.on_mark(&mark(1.0));
        assert!(etcp.window() < 50.0);
    }

    #[test]
    fn losses_of_slow_start_are_answered_by_its_first_mark() {
        let mut etcp = EtcpEcn::new(Params::default(), 100.0, f64::INFINITY);
        etcp.on_mark(&mark(1.0));
        let opens_epoch = true;
        etcp.on_loss(&Loss { opens_epoch, ..loss(3, 200) });
        etcp.on_ack(&Ack { newest: 4, next: 200, ..ack(0.0, 1.0) });
        etcp.on_loss(&Loss { opens_epoch, ..loss(199, 200) });
        assert_eq!(etcp.window(), 50.0);
        etcp.on_loss(&Loss { opens_epoch, ..loss(200, 300) });
        assert_eq!(etcp.window(), 25.0);
    }

    #[test]
    fn a_loss_halves_once_per_epoch() {
        let mut etcp = avoiding(100.0);
        etcp.on_loss(&Loss { opens_epoch: true, ..loss(3, 200) });
        etcp.on_loss(&Loss { opens_epoch: false, ..loss(4, 200) });
        assert_eq!(etcp.window(), 50.0);
    }
}
