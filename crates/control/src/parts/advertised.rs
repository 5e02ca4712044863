//! Bounds a law by what routers advertise: the window of data in the network is the smaller of the
//! two (GWA, eq. 1); or takes what they advertise alone (GWA, note 4).

use crate::{Ack, Controller, Idle, Loss, Mark, Needs, Pacing, Rtt, Timeout};
use narrows_signal::{Reply, Request};

/// What routers allow.
pub trait Bound: Send {
    /// Called for every acknowledgement, before the law below is told, with what routers said and
    /// the round-trip time as far as it is known.
    fn observe(&mut self, reply: Reply, rtt: Option<Rtt>);

    /// The most packets that may be outstanding; infinite until something is known.
    fn packets(&self) -> f64;

    /// What a departing packet asks of routers.
    fn request(&self) -> Request;

    /// Whether the SYN asks, too.
    fn asks_from_syn(&self) -> bool;
}

/// The bound in packets, at least one: that packet probes a closed window, so no timer is needed
/// to open it again.
fn limit(bound: &impl Bound) -> f64 {
    bound.packets().max(1.0)
}

/// A law below a [`Bound`].
#[derive(Clone)]
pub struct Advertised<B, C> {
    bound: B,
    law: C,
}

impl<B: Bound, C: Controller> Advertised<B, C> {
    /// `law` bounded by `bound`.
    pub fn new(bound: B, law: C) -> Self {
        Self { bound, law }
    }

    fn limit(&self) -> f64 {
        limit(&self.bound)
    }
}

impl<B: Bound, C: Controller> Controller for Advertised<B, C> {
    fn on_ack(&mut self, ack: &Ack) {
        let law_limits = self.law.window() <= self.limit();
        self.bound.observe(ack.reply, ack.rtt);
        self.law.on_ack(&Ack { window_limited: ack.window_limited && law_limits, ..*ack });
    }

    fn on_accepted(&mut self, reply: Reply, rtt: Option<Rtt>) {
        self.bound.observe(reply, rtt);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.law.on_loss(loss);
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.law.on_mark(mark);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.law.on_timeout(timeout);
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.law.on_restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.law.on_unused(used);
    }

    fn on_spurious(&mut self) {
        self.law.on_spurious();
    }

    fn on_moderation(&mut self, window: f64) {
        self.law.on_moderation(window);
    }

    fn window(&self) -> f64 {
        self.law.window().min(self.limit())
    }

    fn ssthresh(&self) -> f64 {
        self.law.ssthresh()
    }

    fn needs(&self) -> Needs {
        let routers_from_syn = self.bound.asks_from_syn();
        Needs { routers: true, routers_from_syn, ..self.law.needs() }
    }

    fn request(&self) -> Request {
        self.bound.request()
    }

    fn pacing(&self) -> Pacing {
        self.law.pacing()
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(show);
        show("advertised", self.limit());
    }
}

/// What routers allow, without a law: neither slow start nor congestion avoidance, so losses do not
/// move the window (GWA, note 4).
#[derive(Clone)]
pub struct Unconfined<B> {
    bound: B,
    /// The window in packets until routers have said something.
    initial: f64,
}

impl<B: Bound> Unconfined<B> {
    /// The window of `bound`, `initial` packets at first.
    pub fn new(bound: B, initial: f64) -> Self {
        Self { bound, initial }
    }
}

impl<B: Bound> Controller for Unconfined<B> {
    fn on_ack(&mut self, ack: &Ack) {
        self.bound.observe(ack.reply, ack.rtt);
    }

    fn on_accepted(&mut self, reply: Reply, rtt: Option<Rtt>) {
        self.bound.observe(reply, rtt);
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> f64 {
        if self.bound.packets().is_finite() { limit(&self.bound) } else { self.initial }
    }

    fn needs(&self) -> Needs {
        Needs {
            routers: true,
            routers_from_syn: self.bound.asks_from_syn(),
            own_recovery: true,
            ignores_marks: true,
            ..Needs::default()
        }
    }

    fn request(&self) -> Request {
        self.bound.request()
    }
}
