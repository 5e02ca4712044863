//! Makes a controller from two formulas: up for each acknowledgement, down once per recovery epoch.

use crate::parts::slow_start::Step;
use crate::{Ack, Controller, Loss, Mark, Needs, SlowStart};
use narrows_units::{Duration, Time};

/// A law that moves the window up per acknowledgement and down once per recovery epoch.
pub trait WindowLaw: Clone + Send {
    /// Called for every acknowledgement before the window moves, for laws that measure.
    fn observe(&mut self, _ack: &Ack) {}

    /// The window, in packets, after `ack` in congestion avoidance.
    fn increase(&mut self, window: f64, ack: &Ack) -> f64;

    /// The window, in packets, after a recovery epoch opened at `window`.
    fn decrease(&mut self, window: f64, now: Time) -> f64;

    /// The window, in packets, after a mark at `window` that opens an epoch (RFC 3168 §6.1.2: as
    /// after a loss).
    fn marked(&mut self, window: f64, now: Time) -> f64 {
        self.decrease(window, now)
    }

    /// What the law asks of the transport.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The slow-start threshold after a retransmission timeout at `window`.
    fn timeout(&mut self, window: f64, now: Time) -> f64 {
        self.decrease(window, now)
    }

    /// The sender was silent for `idle`, and that time does not count.
    fn resume(&mut self, _idle: Duration) {}

    /// Shows the law's own quantities, by name.
    fn probe(&self, _show: &mut dyn FnMut(&'static str, f64)) {}
}

/// A window law with slow start, the slow-start threshold, restart after silence, and undo.
#[derive(Clone)]
pub struct OncePerEpoch<L> {
    slow_start: SlowStart,
    law: L,
    window: f64,
    ssthresh: f64,
    initial_window: f64,
    timed_out: bool,
    before_epoch: Option<Before<L>>,
}

/// What is restored if an epoch proves spurious.
#[derive(Clone)]
struct Before<L> {
    law: L,
    window: f64,
    ssthresh: f64,
}

/// RFC 5681 §3.1, eq. 4: the threshold is at least two packets.
const LEAST_SSTHRESH: f64 = 2.0;

impl<L: WindowLaw> OncePerEpoch<L> {
    /// Starts in slow start with `initial_window` packets and no threshold.
    pub fn new(slow_start: SlowStart, law: L, initial_window: f64) -> Self {
        Self {
            slow_start,
            law,
            window: initial_window,
            ssthresh: f64::INFINITY,
            initial_window,
            timed_out: false,
            before_epoch: None,
        }
    }

    /// Starts with a threshold of `ssthresh` packets instead.
    pub fn with_ssthresh(mut self, ssthresh: f64) -> Self {
        self.ssthresh = ssthresh;
        self
    }

    fn remember(&mut self) {
        self.before_epoch =
            Some(Before { law: self.law.clone(), window: self.window, ssthresh: self.ssthresh });
    }

    fn grow(&mut self, ack: &Ack) {
        if self.window < self.ssthresh {
            match self.slow_start.increase(self.window, ack) {
                Step::Grow(window) => {
                    self.window = window.min(self.ssthresh.max(self.window));
                    return;
                }
                Step::Leave => self.ssthresh = self.window,
            }
        }
        self.window = self.law.increase(self.window, ack);
    }
}

impl<L: WindowLaw> Controller for OncePerEpoch<L> {
    fn on_ack(&mut self, ack: &Ack) {
        self.timed_out = false;
        self.law.observe(ack);
        if ack.window_limited && !ack.recovering {
            self.grow(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch {
            self.remember();
            self.ssthresh = self.law.decrease(self.window, loss.now).max(LEAST_SSTHRESH);
            self.window = self.ssthresh;
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        if mark.opens_epoch {
            self.before_epoch = None;
            self.ssthresh = self.law.marked(self.window, mark.now).max(LEAST_SSTHRESH);
            self.window = self.ssthresh;
        }
    }

    /// The threshold stays where it is when the same packet times out again (RFC 5681 §3.1).
    fn on_timeout(&mut self, now: Time) {
        if !self.timed_out {
            self.remember();
            self.ssthresh = self.law.timeout(self.window, now).max(LEAST_SSTHRESH);
        }
        self.timed_out = true;
        self.window = 1.0;
        self.slow_start.restart();
    }

    /// Back to the initial window, with the threshold unchanged (RFC 5681 §4.1).
    fn on_resume(&mut self, _now: Time, idle: Duration) {
        self.window = self.window.min(self.initial_window);
        self.law.resume(idle);
    }

    /// The window before the epoch, or what it has grown to since, whichever is larger (RFC 4015
    /// §3.2, without its burst limit).
    fn on_spurious(&mut self) {
        if let Some(before) = self.before_epoch.take() {
            self.law = before.law;
            self.window = self.window.max(before.window);
            self.ssthresh = before.ssthresh;
        }
    }

    fn on_moderation(&mut self, window: f64) {
        self.window = self.window.min(window.max(1.0));
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn needs(&self) -> Needs {
        self.law.needs()
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(show);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;
    use crate::laws::reno::Reno;

    fn loss(opens_epoch: bool) -> Loss {
        Loss {
            now: Time::ZERO,
            transmission: 0,
            next: 1,
            opens_epoch,
            in_flight: 10.0,
            rtt: None,
            rate: None,
        }
    }

    fn reno(window: f64) -> OncePerEpoch<Reno> {
        OncePerEpoch::new(SlowStart::Standard, Reno, window)
    }

    #[test]
    fn the_window_goes_down_once_an_epoch() {
        let mut controller = reno(100.0);
        controller.on_loss(&loss(true));
        controller.on_loss(&loss(false));
        assert_eq!((controller.window(), controller.ssthresh()), (50.0, 50.0));
    }

    #[test]
    fn it_keeps_still_while_recovering_or_limited_by_the_application() {
        let mut controller = reno(10.0);
        controller.on_ack(&Ack { recovering: true, ..ack(0.0, 1.0) });
        controller.on_ack(&Ack { window_limited: false, ..ack(0.0, 1.0) });
        assert_eq!(controller.window(), 10.0);
    }

    #[test]
    fn a_second_timeout_of_the_same_packet_leaves_the_threshold() {
        let mut controller = reno(100.0);
        controller.on_timeout(Time::ZERO);
        controller.on_timeout(Time::ZERO);
        assert_eq!((controller.window(), controller.ssthresh()), (1.0, 50.0));
        controller.on_ack(&ack(0.0, 1.0));
        controller.on_timeout(Time::ZERO);
        assert_eq!(controller.ssthresh(), 2.0);
    }

    #[test]
    fn a_spurious_epoch_gives_everything_back() {
        let mut controller = reno(100.0).with_ssthresh(80.0);
        controller.on_loss(&loss(true));
        controller.on_spurious();
        assert_eq!((controller.window(), controller.ssthresh()), (100.0, 80.0));
    }

    #[test]
    fn silence_brings_back_the_initial_window_and_slow_start() {
        let mut controller = OncePerEpoch::new(SlowStart::Standard, Reno, 10.0);
        (0..90).for_each(|_| controller.on_ack(&ack(0.0, 1.0)));
        assert_eq!(controller.window(), 100.0);
        controller.on_resume(Time::ZERO, Duration::from_millis(2000));
        assert_eq!(controller.window(), 10.0);
    }
}
