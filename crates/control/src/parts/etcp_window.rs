//! The window of E-TCP's laws: all that a law adds is what an acknowledgement and a loss do to it
//! in congestion avoidance (E-TCP, §III-A, §V-A).

use crate::parts::etcp_start::{Answer, EtcpStart, Growth, SlowStartEnd};
use crate::{Ack, Loss, Timeout};

/// A window in packets, never below one, and its slow start.
#[derive(Clone, Debug)]
pub(crate) struct EtcpWindow {
    packets: f64,
    start: EtcpStart,
}

impl EtcpWindow {
    /// Starts with `initial` packets and a slow start that ends with `end`; in congestion avoidance
    /// if it has already reached a threshold of `ssthresh` packets.
    pub fn new(initial: f64, ssthresh: f64, end: SlowStartEnd) -> Self {
        let start = if initial >= ssthresh {
            EtcpStart::CongestionAvoidance
        } else {
            EtcpStart::until(end)
        };
        Self { packets: initial, start }
    }

    /// Packets.
    pub fn packets(&self) -> f64 {
        self.packets
    }

    /// W + n in slow start (§V-A); in congestion avoidance more by the law's `increase`, of W and
    /// n, for n packets acknowledged.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, increase: impl FnOnce(f64, f64) -> f64) {
        match self.start.growth(ack, self.packets) {
            Growth::SlowStart => self.packets += ack.packets,
            Growth::Times(times) => self.packets *= times,
            Growth::Nothing => {}
            Growth::Law => self.packets += increase(self.packets, ack.packets),
        }
    }

    /// Half at the first loss, nothing for those that follow slow start (§V-A), then the law's
    /// `decrease` of W for each.
    #[inline]
    pub fn on_loss(&mut self, loss: &Loss, decrease: impl FnOnce(f64) -> f64) {
        let fall = match self.start.answer(loss) {
            Answer::Halve => self.packets / 2.0,
            Answer::Nothing => return,
            Answer::SlowDown => decrease(self.packets),
        };
        self.packets = (self.packets - fall).max(1.0);
    }

    /// Half, once per epoch. What is still in flight does not matter: nothing waits for a window.
    pub fn on_timeout(&mut self, timeout: &Timeout) {
        self.start = EtcpStart::CongestionAvoidance;
        if timeout.opens_epoch {
            self.packets = (self.packets / 2.0).max(1.0);
        }
    }

    /// True while a train leaves, at twice the rate and with even gaps.
    #[inline]
    pub fn sends_train(&self) -> bool {
        self.start.sends_train()
    }
}
