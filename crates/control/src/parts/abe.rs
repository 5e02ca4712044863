//! Alternative backoff with ECN (RFC 8511): a mark takes less of the window than a loss, because a
//! queue that marks is a short one.

use crate::{Ack, Idle, Needs, WindowLaw};
use narrows_units::Time;

/// A law that keeps the share beta_ecn of the window after a mark. §3 changes the reaction in
/// congestion avoidance; here, as there is one threshold, slow start ends in the same way.
#[derive(Clone, Debug)]
pub struct Abe<L> {
    law: L,
    beta_ecn: Option<f64>,
    mark_stops: bool,
}

impl<L: WindowLaw> Abe<L> {
    /// `law` with `beta_ecn`, a ratio; if it is `None`, a mark is answered as a loss is (RFC 3168
    /// §6.1.2; Linux, which has no ABE: `tcp_enter_cwr` in net/ipv4/tcp_input.c asks the law for
    /// the threshold as a loss does).
    pub fn new(law: L, beta_ecn: Option<f64>) -> Self {
        Self { law, beta_ecn, mark_stops: false }
    }

    /// A mark at a window of one packet stops the sender until its retransmission timer goes off
    /// (RFC 3168 §6.1.2, RFC 2481), if `mark_stops`.
    #[must_use]
    pub fn stopping(mut self, mark_stops: bool) -> Self {
        self.mark_stops = mark_stops;
        self
    }
}

impl<L: WindowLaw> WindowLaw for Abe<L> {
    fn observe(&mut self, ack: &Ack) {
        self.law.observe(ack);
    }

    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        self.law.increase(window, ack)
    }

    fn decrease(&mut self, window: f64, now: Time) -> f64 {
        self.law.decrease(window, now)
    }

    /// W ← beta_ecn·W (§3); what else the law does at a mark, it does.
    fn marked(&mut self, window: f64, now: Time) -> f64 {
        let as_after_a_loss = self.law.marked(window, now);
        self.beta_ecn.map_or(as_after_a_loss, |beta_ecn| beta_ecn * window)
    }

    fn needs(&self) -> Needs {
        Needs { mark_stops: self.mark_stops, ..self.law.needs() }
    }

    fn timeout(&mut self, window: f64, now: Time) -> f64 {
        self.law.timeout(window, now)
    }

    fn forget(&mut self) {
        self.law.forget();
    }

    fn restart(&mut self, idle: &Idle) {
        self.law.restart(idle);
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(show);
    }
}
