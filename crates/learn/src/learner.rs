//! A law whose decisions are made elsewhere, at times that are agreed on.

use crate::interval::{Interval, Tally};
use narrows_control::registry::Birth;
use narrows_control::{Ack, Controller, Gaps, Idle, Loss, Mark, Needs, Pacing, Tick, Timeout};
use narrows_units::{Duration, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// What is decided for the interval to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Action {
    /// The window in packets; NaN leaves it to the law below.
    pub window: f64,
    /// The pacing rate in packets per second; 0 for none.
    pub rate: f64,
    /// When the next decision is due.
    pub until: Time,
}

/// Who decides for a [`Learner`]. Between the two calls the run may stand still.
pub trait Decides: Send {
    /// An interval has ended.
    fn ended(&mut self, interval: &Interval);

    /// How to go on at `now`, until later than that.
    fn go_on(&mut self, now: Time) -> Action;
}

/// Where a law and those who decide for it leave what they have for each other.
#[derive(Debug)]
struct Left {
    interval: Interval,
    action: Action,
}

/// The one place that both know. It is looked at twice an interval.
#[derive(Clone, Debug)]
pub struct Desk(Arc<Mutex<Left>>);

impl Desk {
    /// A desk on which the first action lies.
    pub fn new(action: Action) -> Self {
        Self(Arc::new(Mutex::new(Left { interval: Interval::default(), action })))
    }

    fn with<R>(&self, does: impl FnOnce(&mut Left) -> R) -> R {
        // Numbers that a panic left behind are still numbers.
        does(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The newest interval.
    pub fn interval(&self) -> Interval {
        self.with(|left| left.interval)
    }

    /// What is decided.
    pub fn decide(&self, action: Action) {
        self.with(|left| left.action = action);
    }
}

impl Decides for Desk {
    fn ended(&mut self, interval: &Interval) {
        self.with(|left| left.interval = *interval);
    }

    fn go_on(&mut self, _now: Time) -> Action {
        self.with(|left| left.action)
    }
}

/// What has been decided before.
#[derive(Clone, Debug)]
pub struct Script {
    actions: Arc<[Action]>,
    next: usize,
}

impl Script {
    /// Decisions in order, of which the first is what a flow begins with; after the last nothing
    /// changes.
    pub fn new(actions: Arc<[Action]>) -> Self {
        Self { actions, next: 0 }
    }
}

impl Decides for Script {
    fn ended(&mut self, _interval: &Interval) {}

    fn go_on(&mut self, now: Time) -> Action {
        // Those of a time before the flow's start are over.
        while self.next + 1 < self.actions.len() && self.actions[self.next].until <= now {
            self.next += 1;
        }
        let action = self.actions[self.next];
        let until = if action.until > now { action.until } else { Time::NEVER };
        Action { until, ..action }
    }
}

/// Between the end of an interval and the beginning of the next the run stands still.
const PAUSE: Duration = Duration::from_picos(1);

/// A law that ends an interval when it is due, and is told a moment later how to go on: by a
/// window, by a rate, or by setting the window of a law below that goes on in between (Orca).
pub struct Learner {
    decides: Box<dyn Decides>,
    tally: Tally,
    action: Action,
    below: Option<Box<dyn Controller>>,
    wakes_at: Time,
    /// Whether it has ended an interval, and is to be told how to go on.
    asks: bool,
}

impl Learner {
    /// A law that begins with `first`, and for which then somebody `decides`, above the law `below`
    /// if there is one.
    pub fn new(
        first: Action,
        decides: Box<dyn Decides>,
        below: Option<Box<dyn Controller>>,
    ) -> Self {
        let (tally, wakes_at) = (Tally::default(), first.until);
        let mut learner = Self { decides, tally, action: first, below, wakes_at, asks: false };
        learner.apply();
        learner
    }

    /// What a flow begins with until a first decision: `birth`'s window.
    pub fn resting(birth: &Birth) -> Action {
        Action { window: birth.initial_window, rate: 0.0, until: Time::NEVER }
    }

    fn apply(&mut self) {
        let window = self.action.window;
        if let (Some(below), false) = (&mut self.below, window.is_nan()) {
            below.set_window(window);
        }
    }
}

impl Controller for Learner {
    fn on_ack(&mut self, ack: &Ack) {
        self.tally.on_ack(ack);
        if let Some(below) = &mut self.below {
            below.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.tally.on_loss(loss);
        if let Some(below) = &mut self.below {
            below.on_loss(loss);
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        if let Some(below) = &mut self.below {
            below.on_mark(mark);
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.tally.on_timeout();
        if let Some(below) = &mut self.below {
            below.on_timeout(timeout);
        }
    }

    fn on_restart(&mut self, idle: &Idle) {
        if let Some(below) = &mut self.below {
            below.on_restart(idle);
        }
    }

    fn on_unused(&mut self, used: f64) {
        if let Some(below) = &mut self.below {
            below.on_unused(used);
        }
    }

    fn on_spurious(&mut self) {
        if let Some(below) = &mut self.below {
            below.on_spurious();
        }
    }

    fn on_moderation(&mut self, window: f64) {
        if let Some(below) = &mut self.below {
            below.on_moderation(window);
        }
    }

    fn on_timer(&mut self, tick: &Tick) {
        if self.asks {
            self.action = self.decides.go_on(tick.now);
            assert!(self.action.until > tick.now, "nothing was decided by {}", tick.now);
            self.wakes_at = self.action.until;
            self.apply();
        } else {
            let interval = self.tally.close(tick, self.window(), self.action.rate);
            // Before its first packet a flow has nothing to decide.
            if tick.sent > 0 {
                self.decides.ended(&interval);
            }
            self.wakes_at = tick.now + PAUSE;
        }
        self.asks = !self.asks;
    }

    fn wakes_at(&self) -> Time {
        self.wakes_at
    }

    fn window(&self) -> f64 {
        self.below.as_ref().map_or(self.action.window, |below| below.window())
    }

    fn ssthresh(&self) -> f64 {
        self.below.as_ref().map_or(f64::INFINITY, |below| below.ssthresh())
    }

    fn pacing(&self) -> Pacing {
        match &self.below {
            Some(below) => below.pacing(),
            None if self.action.rate > 0.0 => {
                Pacing::Rate { packets_per_second: self.action.rate, gaps: Gaps::Even }
            }
            None => Pacing::Unpaced,
        }
    }

    fn needs(&self) -> Needs {
        let below = self.below.as_ref().map(|below| below.needs());
        let own = Needs { own_recovery: true, ..Needs::default() };
        Needs { timer: true, rate_samples: true, ..below.unwrap_or(own) }
    }
}
