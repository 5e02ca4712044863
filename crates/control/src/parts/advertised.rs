//! Bounds a law by what routers advertise: the window of data in the network is the smaller of the
//! two (GWA, eq. 1).

use crate::{Ack, Controller, Idle, Loss, Mark, Needs, Pacing, Timeout};
use narrows_signal::Request;

/// What routers allow.
pub trait Bound: Send {
    /// Called for every acknowledgement, before the law below is told.
    fn observe(&mut self, ack: &Ack);

    /// The most packets that may be outstanding; infinite until something is known.
    fn packets(&self) -> f64;

    /// What a departing packet asks of routers.
    fn request(&self) -> Request;
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

    /// The bound in packets, at least one: that packet probes a closed window, so no timer is
    /// needed to open it again.
    fn limit(&self) -> f64 {
        self.bound.packets().max(1.0)
    }
}

impl<B: Bound, C: Controller> Controller for Advertised<B, C> {
    fn on_ack(&mut self, ack: &Ack) {
        let law_limits = self.law.window() <= self.limit();
        self.bound.observe(ack);
        self.law.on_ack(&Ack { window_limited: ack.window_limited && law_limits, ..*ack });
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
        Needs { routers: true, ..self.law.needs() }
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
