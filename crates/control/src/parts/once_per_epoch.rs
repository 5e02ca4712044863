//! Makes a controller from two formulas: up for each acknowledgement, down once per recovery epoch.

use crate::parts::slow_start::Step;
use crate::{Ack, CongestionWindow, Controller, Idle, Loss, Mark, Needs, SlowStart, Timeout};
use narrows_units::Time;

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

    /// The slow-start threshold after a retransmission timeout at `window` that opens an epoch.
    fn timeout(&mut self, window: f64, now: Time) -> f64 {
        self.decrease(window, now)
    }

    /// The retransmission timer has expired, whether that opens an epoch or not (Linux's
    /// `set_state` with `TCP_CA_Loss`): what was known of the path may be old. Called last.
    fn forget(&mut self) {}

    /// A packet is about to leave while nothing is in flight.
    fn restart(&mut self, _idle: &Idle) {}

    /// Somebody else has set the window.
    fn moved(&mut self) {}

    /// Shows the law's own quantities, by name.
    fn probe(&self, _show: &mut dyn FnMut(&'static str, f64)) {}
}

/// A window law with slow start, the slow-start threshold, restart after silence, and undo.
#[derive(Clone)]
pub struct OncePerEpoch<L> {
    slow_start: SlowStart,
    law: L,
    cwnd: CongestionWindow,
    /// The law to which a spurious epoch goes back.
    law_before: Option<Box<L>>,
    /// The slow start to which it goes back, if the epoch has made it another.
    slow_start_before: Option<Box<SlowStart>>,
}

/// RFC 5681 §3.1, eq. 4: the threshold is at least two packets.
const LEAST_SSTHRESH: f64 = 2.0;

impl<L: WindowLaw> OncePerEpoch<L> {
    /// Starts in slow start with `initial_window` packets and no threshold.
    pub fn new(slow_start: SlowStart, law: L, initial_window: f64) -> Self {
        let cwnd = CongestionWindow::new(initial_window);
        Self { slow_start, law, cwnd, law_before: None, slow_start_before: None }
    }

    /// Starts with a threshold of `ssthresh` packets instead.
    pub fn with_ssthresh(mut self, ssthresh: f64) -> Self {
        self.cwnd.ssthresh = ssthresh;
        self
    }

    fn remember(&mut self) {
        match &mut self.law_before {
            Some(known) => (**known).clone_from(&self.law),
            None => self.law_before = Some(Box::new(self.law.clone())),
        }
        self.slow_start_before =
            self.slow_start.is_initial().then(|| Box::new(self.slow_start.clone()));
        self.cwnd.remember();
    }

    /// Window and threshold become `packets`, and a threshold is known.
    fn reduce(&mut self, packets: f64) {
        self.cwnd.reduce(packets.max(LEAST_SSTHRESH));
        self.slow_start.has_threshold();
    }

    fn grow(&mut self, ack: &Ack) {
        if self.cwnd.is_below_threshold() {
            let window = self.cwnd.window;
            match self.slow_start.increase(window, ack) {
                Step::Grow(larger) => {
                    self.cwnd.window = larger.min(self.cwnd.ssthresh);
                    return;
                }
                Step::Leave => self.reduce(window),
            }
        }
        self.cwnd.window = self.law.increase(self.cwnd.window, ack);
        // What a law gives up for a delay is not slow start's to give back.
        self.cwnd.ssthresh = self.cwnd.ssthresh.min(self.cwnd.window);
    }
}

impl<L: WindowLaw> Controller for OncePerEpoch<L> {
    fn on_ack(&mut self, ack: &Ack) {
        self.law.observe(ack);
        let window = self.cwnd.window;
        if self.slow_start.ends(window, self.cwnd.is_below_threshold(), ack) {
            self.reduce(window);
        }
        if ack.window_limited && !ack.recovering {
            self.grow(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch {
            self.remember();
            let window = self.law.decrease(self.cwnd.window, loss.now);
            self.reduce(window);
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        if mark.opens_epoch {
            (self.law_before, self.slow_start_before) = (None, None);
            self.cwnd.settle();
            let window = self.law.marked(self.cwnd.window, mark.now);
            self.reduce(window);
            if self.law.needs().mark_stops {
                self.cwnd.window = window.max(1.0);
            }
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.opens_epoch {
            self.remember();
            let ssthresh = self.law.timeout(self.cwnd.window, timeout.now);
            self.reduce(ssthresh);
        }
        self.law.forget();
        self.slow_start.timeout();
        self.cwnd.timeout(timeout);
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
        self.law.restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used);
    }

    fn on_spurious(&mut self) {
        if let Some(law) = self.law_before.take() {
            self.law = *law;
        }
        if let Some(slow_start) = self.slow_start_before.take() {
            self.slow_start = *slow_start;
        }
        self.cwnd.undo();
    }

    fn on_moderation(&mut self, window: f64) {
        self.cwnd.moderate(window);
    }

    fn set_window(&mut self, packets: f64) -> bool {
        self.cwnd.window = packets;
        self.law.moved();
        true
    }

    fn window(&self) -> f64 {
        self.cwnd.window
    }

    fn ssthresh(&self) -> f64 {
        self.cwnd.ssthresh
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
    use crate::slow_start::{HyStart, HyStartPlusPlus};
    use crate::{Restart, Rtt};
    use narrows_units::Duration;

    fn loss(opens_epoch: bool) -> Loss {
        Loss {
            now: Time::ZERO,
            transmission: 0,
            next: 1,
            opens_epoch,
            again: false,
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
    fn a_timeout_leaves_the_threshold_unless_it_opens_an_epoch() {
        let mut controller = reno(100.0);
        let timeout = Timeout { now: Time::ZERO, opens_epoch: true, in_flight: 0.0 };
        controller.on_timeout(&timeout);
        controller.on_timeout(&Timeout { opens_epoch: false, in_flight: 3.0, ..timeout });
        assert_eq!((controller.window(), controller.ssthresh()), (4.0, 50.0));
        controller.on_timeout(&timeout);
        assert_eq!(controller.ssthresh(), 2.0);
    }

    #[test]
    fn a_spurious_epoch_gives_everything_back() {
        let mut controller = reno(100.0).with_ssthresh(80.0);
        controller.on_loss(&loss(true));
        controller.on_spurious();
        assert_eq!((controller.window(), controller.ssthresh()), (100.0, 80.0));
    }

    /// Two rounds of ten acknowledgements below the threshold, the second with a longer RTT, as
    /// when a queue builds up. Returns what the window gains.
    fn gain_as_a_queue_builds_up(controller: &mut OncePerEpoch<Reno>) -> f64 {
        let before = controller.window();
        for newest in 0..20 {
            let latest = Duration::from_millis(if newest < 10 { 80 } else { 120 });
            let rtt = Some(Rtt { latest, smoothed: latest, minimum: latest, maximum: latest });
            controller.on_ack(&Ack { rtt, newest, next: newest + 10, ..ack(0.0, 1.0) });
        }
        controller.window() - before
    }

    /// RFC 9406 §4.3: HyStart++ is for the initial slow start, without a threshold.
    #[test]
    fn hystart_plus_plus_guards_the_first_slow_start_only() {
        let gain = |told: &dyn Fn(&mut OncePerEpoch<Reno>)| {
            let hystart = SlowStart::HyStartPlusPlus(HyStartPlusPlus::new(false));
            let mut controller = OncePerEpoch::new(hystart, Reno, 100.0);
            told(&mut controller);
            // As a restart leaves it: below the threshold, which is far away.
            controller.cwnd.window = 10.0;
            controller.cwnd.ssthresh = 1000.0;
            gain_as_a_queue_builds_up(&mut controller)
        };
        let now = Time::ZERO;
        let mark = Mark { now, packets: 1.0, opens_epoch: true };
        let timeout = Timeout { now, opens_epoch: true, in_flight: 0.0 };
        assert_eq!(gain(&|_| ()), 17.75, "from the eighth longer RTT on a quarter of a packet");
        assert_eq!(gain(&|controller| controller.on_loss(&loss(true))), 20.0);
        assert_eq!(gain(&|controller| controller.on_mark(&mark)), 20.0);
        assert_eq!(gain(&|controller| controller.on_timeout(&timeout)), 20.0);
        let undone_after = |tell: &dyn Fn(&mut OncePerEpoch<Reno>)| {
            gain(&|controller| {
                controller.on_loss(&loss(true));
                tell(controller);
                controller.on_spurious();
            })
        };
        assert_eq!(undone_after(&|_| ()), 17.75, "the threshold was never there");
        let again = |controller: &mut OncePerEpoch<Reno>| controller.on_loss(&loss(true));
        assert_eq!(undone_after(&again), 20.0, "the first epoch stays");
        assert_eq!(undone_after(&|controller| controller.on_mark(&mark)), 20.0, "so does a mark");
    }

    /// Linux's HyStart makes the window the threshold, and after a timeout does so again.
    #[test]
    fn hystart_ends_each_slow_start_that_a_timeout_began() {
        let hystart = SlowStart::HyStart(HyStart::new(false, 1500));
        let mut controller = OncePerEpoch::new(hystart, Reno, 100.0);
        let gain = gain_as_a_queue_builds_up(&mut controller);
        assert_eq!(controller.ssthresh(), 118.0, "at the ninth longer RTT");
        assert!(gain > 18.0 && gain < 18.1, "then Reno's: {gain}");
        let timeout = Timeout { now: Time::ZERO, opens_epoch: true, in_flight: 0.0 };
        controller.on_timeout(&timeout);
        controller.cwnd.window = 20.0;
        gain_as_a_queue_builds_up(&mut controller);
        assert_eq!(controller.ssthresh(), 38.0);
    }

    #[test]
    fn after_a_silence_the_window_restarts_as_the_habit_says() {
        let after = |restart, millis| {
            let mut controller = OncePerEpoch::new(SlowStart::Standard, Reno, 10.0);
            (controller.cwnd.window, controller.cwnd.ssthresh) = (1000.0, 70.0);
            let timeout = Duration::from_millis(300);
            let length = Duration::from_millis(millis);
            controller.on_restart(&Idle {
                now: Time::ZERO,
                length,
                timeout,
                restart,
                app_limited: true,
            });
            (controller.cwnd.window, controller.cwnd.ssthresh)
        };
        assert_eq!(after(Restart::Initial, 299), (1000.0, 70.0));
        assert_eq!(after(Restart::Initial, 301), (10.0, 70.0), "RFC 5681 §4.1");
        assert_eq!(after(Restart::Never, 90_000), (1000.0, 70.0));
        assert_eq!(after(Restart::Halving, 301), (500.0, 750.0), "a timeout, then ¾ of 1000");
        assert_eq!(after(Restart::Halving, 1000), (125.0, 750.0), "three timeouts");
        assert_eq!(after(Restart::Halving, 90_000), (10.0, 750.0));
    }

    #[test]
    fn a_window_that_was_not_used_goes_halfway_to_what_was() {
        let mut controller = OncePerEpoch::new(SlowStart::Standard, Reno, 10.0);
        (controller.cwnd.window, controller.cwnd.ssthresh) = (100.0, 40.0);
        controller.on_unused(60.0);
        assert_eq!((controller.cwnd.window, controller.cwnd.ssthresh), (80.0, 75.0));
        controller.on_unused(2.0);
        assert_eq!(
            (controller.cwnd.window, controller.cwnd.ssthresh),
            (45.0, 75.0),
            "at least 10 count"
        );
    }
}
