//! Laws that are told of events as numbers, and answer a window, a rate and a threshold.

use crate::interval::{COLUMNS, Tally};
use crate::wanted::{RATES, WAITS, WINDOWS, after};
use narrows_control::registry::Birth;
use narrows_control::{Ack, Controller, Gaps, Loss, Needs, Pacing, Tick, Timeout};
use narrows_units::{Duration, Time};
use std::sync::Arc;

/// What an acknowledgement says: numbers, and truths as 0 and 1.
pub(crate) const OF_ACK: [&str; 11] = [
    "now",
    "packets",
    "rtt",
    "srtt",
    "min_rtt",
    "in_flight",
    "window_limited",
    "recovering",
    "marked",
    "delivery_rate",
    "delivered",
];
/// What a loss says; that of a timeout comes alone.
pub(crate) const OF_LOSS: [&str; 4] = ["now", "opens_epoch", "timeout", "in_flight"];
/// What every law answers: packets, packets per second (0 for none), packets.
pub(crate) const ANSWERS: [&str; 3] = ["window", "rate", "ssthresh"];

/// What an interval says: its columns but for what the law has answered itself.
pub(crate) fn of_interval() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().copied().filter(|name| !ANSWERS.contains(name))
}

/// What a law is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Ack,
    /// A loss, or a timeout.
    Loss,
    /// An RTT has passed.
    Interval,
}

/// Answers in the order of [`ANSWERS`], or what the law did that it may not do.
pub(crate) type Answered = Result<[f64; 3], String>;

/// One connection's law.
pub(crate) trait Told: Send {
    /// Whether it wants to hear of such events.
    fn hears(&self, event: Event) -> bool;

    /// Is told of one.
    fn tell(&mut self, event: Event, numbers: &[f64]) -> Answered;

    /// Whether its window decides in a recovery, too.
    fn own_recovery(&self) -> bool;
}

/// Hears what a law did that it may not do.
pub type Complain = Arc<dyn Fn(String) + Send + Sync>;

/// A law as a controller, which keeps its answers in bounds; one that fails hears nothing more.
pub(crate) struct Seated<T> {
    law: T,
    /// By which complaints call it.
    name: String,
    complain: Complain,
    tally: Tally,
    /// Window and rate that it has answered last, in bounds.
    steer: (f64, f64),
    ssthresh: f64,
    has_failed: bool,
    wakes_at: Time,
}

impl<T: Told> Seated<T> {
    /// A `law` of `birth` that has answered `first`.
    pub fn new(law: T, name: &str, complain: &Complain, birth: &Birth, first: Answered) -> Self {
        let decides = law.hears(Event::Interval);
        let mut seated = Self {
            law,
            name: name.to_owned(),
            complain: Arc::clone(complain),
            tally: Tally::default(),
            steer: (birth.initial_window, 0.0),
            ssthresh: f64::INFINITY,
            has_failed: false,
            wakes_at: if decides { after(Time::ZERO, WAITS) } else { Time::NEVER },
        };
        seated.heed(first);
        seated
    }

    fn tell(&mut self, event: Event, numbers: &[f64]) {
        if self.law.hears(event) && !self.has_failed {
            let answered = self.law.tell(event, numbers);
            self.heed(answered);
        }
    }

    /// Takes answers over if they are in bounds.
    fn heed(&mut self, answered: Answered) {
        match answered.and_then(bounded) {
            Ok((window, rate, ssthresh)) => {
                self.steer = (window, rate);
                self.ssthresh = ssthresh;
            }
            Err(message) => {
                self.has_failed = true;
                (self.complain)(format!("{}: {message}", self.name));
            }
        }
    }
}

/// What was answered. Fails if it cannot be.
fn bounded([window, rate, ssthresh]: [f64; 3]) -> Result<(f64, f64, f64), String> {
    if !WINDOWS.contains(&window) {
        let right = "from 1 to 1e7 packets; max(…, 1) keeps it there";
        return Err(format!("window became {window}, which is not {right}"));
    }
    if rate != 0.0 && !RATES.contains(&rate) {
        let right = "0, or from 1e-3 to 1e12 packets/s";
        return Err(format!("rate became {rate}, which is not {right}"));
    }
    Ok((window, rate, if ssthresh.is_nan() { f64::INFINITY } else { ssthresh }))
}

fn seconds(span: Option<Duration>) -> f64 {
    span.map_or(0.0, Duration::seconds)
}

fn truth(it: bool) -> f64 {
    f64::from(u8::from(it))
}

impl<T: Told> Controller for Seated<T> {
    fn on_ack(&mut self, ack: &Ack) {
        self.tally.on_ack(ack);
        let rate = ack.rate;
        let said: [f64; OF_ACK.len()] = [
            ack.now.seconds(),
            ack.packets,
            seconds(ack.rtt.map(|rtt| rtt.latest)),
            seconds(ack.rtt.map(|rtt| rtt.smoothed)),
            seconds(ack.rtt.map(|rtt| rtt.minimum)),
            ack.in_flight,
            truth(ack.window_limited),
            truth(ack.recovering),
            ack.marked,
            rate.and_then(|rate| rate.delivery_rate).unwrap_or(0.0),
            rate.map_or(0.0, |rate| rate.total_delivered),
        ];
        self.tell(Event::Ack, &said);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.tally.on_loss(loss);
        let said: [f64; OF_LOSS.len()] =
            [loss.now.seconds(), truth(loss.opens_epoch), 0.0, loss.in_flight];
        self.tell(Event::Loss, &said);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.tally.on_timeout();
        let said = [timeout.now.seconds(), truth(timeout.opens_epoch), 1.0, timeout.in_flight];
        self.tell(Event::Loss, &said);
    }

    fn on_timer(&mut self, tick: &Tick) {
        let interval = self.tally.close(tick, self.steer.0, self.steer.1);
        let columns = COLUMNS.iter().zip(interval.row());
        let said: Vec<f64> =
            columns.filter(|(name, _)| !ANSWERS.contains(name)).map(|(_, value)| value).collect();
        self.tell(Event::Interval, &said);
        let span = if interval.srtt > 0.0 { interval.srtt } else { WAITS };
        self.wakes_at = after(tick.now, span);
    }

    fn wakes_at(&self) -> Time {
        self.wakes_at
    }

    fn window(&self) -> f64 {
        self.steer.0
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing(&self) -> Pacing {
        match self.steer.1 {
            0.0 => Pacing::Unpaced,
            packets_per_second => Pacing::Rate { packets_per_second, gaps: Gaps::Even },
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            rate_samples: true,
            timer: self.law.hears(Event::Interval),
            own_recovery: self.law.own_recovery(),
            ..Needs::default()
        }
    }
}
