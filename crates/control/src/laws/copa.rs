//! Copa (Arun, Balakrishnan: "Copa: practical delay-based congestion control for the Internet",
//! NSDI 2018).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §2.1 | RTTstanding, the smallest RTT of the last srtt/2; RTTmin, of the last 10 s; dq = RTTstanding − RTTmin | [`Copa::measure`] |
//! | eq. 1, §2.1 | λt = 1/(δ·dq), the target; λ = cwnd/RTTstanding | [`Copa::is_below_target`] |
//! | §2.1, step 3 | cwnd ← cwnd + v/(δ·cwnd) per acknowledgement if λ ≤ λt, cwnd − v/(δ·cwnd) otherwise | [`Copa::approach`] |
//! | §2.1, step 4 | v doubles once per round trip that goes where the last ones went, after three of them; 1 after a turn | [`Velocity::end_round`] |
//! | §2.1 | slow start: cwnd doubles per round trip until λ exceeds λt | [`Copa::on_ack`] |
//! | §2.1 | pacing at 2·cwnd/RTTstanding packets per second | [`Copa::pacing`] |
//! | §2.2 | competitive unless dq < 0.1(RTTmax − RTTmin) at some time in the last five round trips; RTTmax over four | [`Copa::judge`] |
//! | §2.2 | competitive: 1/δ ← 1/δ + 1 per round trip, 1/δ ← 1/(2δ) at a loss, δ at most that of the default mode | [`Copa::end_round`], [`Copa::on_loss`] |
//!
//! In the default mode a loss moves nothing. What the paper leaves open is as in the authors' code
//! (github.com/venkatarun95/genericCC, markoviancc.cc, 25fa626): cwnd is at least two packets, and
//! v at most δ·cwnd, so that a round trip at most doubles the window.
//!
//! Departures: if the window turns while v is above one, v is one at once, not at the end of the
//! round trip (mvfst, quic/congestion_control/Copa.cpp, `changeDirection`); docs/laws/copa.md shows
//! what happens otherwise. A queue counts as nearly empty if dq ≤ 0.1(RTTmax − RTTmin), so that a
//! path which has never had a queue counts, too. 1/δ is halved once per recovery epoch. As in the
//! authors' code (`ReduceOnLoss` in estimators.cc), the window shrinks to 0.7 of itself once per
//! two round trips in which more than 0.3 of all packets are lost; v then begins anew, which it
//! does not there. A window that is not the limit does not grow. After a timeout and after a
//! silence slow start begins anew. The paper says nothing of marks; here they have no answer.

use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::parts::RecentMin;
use crate::{Ack, CongestionWindow, Controller, Gaps, Idle, Loss, Needs, Pacing, Rounds, Timeout};
use narrows_settings::{Settings, settings};
use narrows_units::{Duration, Time};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "copa",
    aliases: &["TcpCopa"],
    summary: "moves towards the rate 1/(delta·queueing delay), and competes with laws that fill \
              queues when they never let the queue empty",
    source: "Arun, Balakrishnan, NSDI 2018",
    moved_by: MovedBy::Delay,
    start: Start::Own,
    settings: Params::list,
    construct: |birth| Ok(Recipe::clones(Copa::new(birth.settings()?, birth.initial_window))),
};

settings! {
    /// Settings of Copa.
    pub struct Params {
        /// δ of the default mode: one flow keeps about 1/δ of its own packets in queues (1/packets;
        /// §2.2).
        delta: f64 = 0.5, at_least(1e-6).at_most(100.0);
        /// Whether δ shrinks beside laws that fill queues (§2.2).
        competitive: bool = true;
        /// Whether many losses reduce the window: to 0.7 once per two round trips in which more
        /// than 0.3 of the packets are lost (the authors' code, `reduce_on_loss`).
        reduce_on_loss: bool = true;
    }
}

/// How much is lost (`ReduceOnLoss` of the authors' code).
#[derive(Clone, Copy, Debug)]
struct Losses {
    lost: f64,
    /// Lost and acknowledged.
    packets: f64,
    since: Time,
}

impl Losses {
    const MANY: f64 = 0.3;
    /// Packets below which a share tells nothing.
    const FEW: f64 = 20.0;
    /// What is left of the window.
    const LEAVE: f64 = 0.7;

    /// True once per two round trips of `rtt`, if many packets of these were lost.
    fn are_many(&mut self, now: Time, rtt: Duration) -> bool {
        if now.since(self.since) <= rtt * 2 || self.packets <= Self::FEW {
            return false;
        }
        let many = self.lost > Self::MANY * self.packets;
        *self = Self { lost: 0.0, packets: 0.0, since: now };
        many
    }
}

/// §2.1: how long RTTmin is remembered.
const MINIMUM_LASTS: Duration = Duration::from_millis(10_000);
/// §2.2: the share of RTTmax − RTTmin below which a queue is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// §2.2: the round trips in which the queue of a path without other laws is empty once.
const EMPTIES_EVERY: f64 = 5.0;
/// §2.1, step 4: round trips in one direction before the velocity doubles.
const STEADY: u32 = 3;
/// genericCC: the least window, in packets.
const LEAST: f64 = 2.0;

/// Slots of a filter's memory: it is exact to a sixteenth of its length.
const SLOTS: usize = 16;

/// The round-trip times that the law looks at, in seconds.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// RTTstanding.
    standing: f64,
    /// RTTmin.
    minimum: f64,
    /// RTTmax of four round trips.
    maximum: f64,
}

impl Path {
    /// dq, the queueing delay in seconds (§2.1).
    fn queueing(&self) -> f64 {
        (self.standing - self.minimum).max(0.0)
    }
}

/// How fast the window moves, and where to (§2.1, step 4).
#[derive(Clone, Copy, Debug)]
struct Velocity {
    /// v.
    v: f64,
    /// True if the window grew in the last round trip.
    up: bool,
    /// Round trips in that direction.
    rounds: u32,
    /// Packets when this round trip began.
    window: f64,
}

impl Velocity {
    fn new(window: f64) -> Self {
        Self { v: 1.0, up: true, rounds: 0, window }
    }

    /// The window is about to go `up` or down from `window` packets, within a round trip. A speed
    /// that was meant for the other direction is forgotten (mvfst's `changeDirection`).
    fn turn(&mut self, up: bool, window: f64) {
        if up != self.up && self.v > 1.0 {
            *self = Self { up, ..Self::new(window) };
        }
    }

    /// A round trip ends with `window` packets (§2.1, step 4).
    fn end_round(&mut self, window: f64) {
        let up = window > self.window;
        self.rounds = if up == self.up { self.rounds + 1 } else { 1 };
        self.v = if self.rounds > STEADY { 2.0 * self.v } else { 1.0 };
        (self.up, self.window) = (up, window);
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct Copa {
    params: Params,
    cwnd: CongestionWindow,
    slow_start: bool,
    rounds: Rounds,
    velocity: Velocity,
    /// 1/δ in packets.
    inverse_delta: f64,
    standing: RecentMin<SLOTS>,
    minimum: RecentMin<SLOTS>,
    /// Of the negative RTTs, so that its minimum is the largest RTT.
    maximum: RecentMin<SLOTS>,
    /// `None` until there is a sample.
    path: Option<Path>,
    /// When the queue was nearly empty for the last time; `None` until there is a sample.
    empty_at: Option<Time>,
    competes: bool,
    losses: Losses,
    /// 1/δ, and whether this was slow start, before the epoch under way.
    before: Option<(f64, bool)>,
}

impl Copa {
    /// The law with `params`, which have been checked; starts with `initial_window` packets.
    pub fn new(params: Params, initial_window: f64) -> Self {
        Self {
            params,
            cwnd: CongestionWindow::new(initial_window),
            slow_start: true,
            rounds: Rounds::default(),
            velocity: Velocity::new(initial_window),
            inverse_delta: 1.0 / params.delta,
            standing: RecentMin::default(),
            minimum: RecentMin::default(),
            maximum: RecentMin::default(),
            path: None,
            empty_at: None,
            competes: false,
            losses: Losses { lost: 0.0, packets: 0.0, since: Time::ZERO },
            before: None,
        }
    }

    /// Takes a sample into RTTstanding and RTTmin (§2.1), and RTTmax (§2.2).
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.filter(|_| ack.rtt_is_fresh) else { return };
        let (now, latest) = (ack.now, rtt.latest.seconds());
        let path = Path {
            standing: self.standing.update(now, latest, rtt.smoothed.scale(0.5)),
            minimum: self.minimum.update(now, latest, MINIMUM_LASTS),
            maximum: -self.maximum.update(now, -latest, rtt.smoothed * 4),
        };
        self.path = Some(path);
        self.judge(&path, now, rtt.smoothed);
    }

    /// Which mode it is (§2.2). The default mode's δ is back as soon as that mode is.
    fn judge(&mut self, path: &Path, now: Time, smoothed: Duration) {
        if path.queueing() <= NEARLY_EMPTY * (path.maximum - path.minimum) {
            self.empty_at = Some(now);
        }
        let empty_at = *self.empty_at.get_or_insert(now);
        let is_full = now.since(empty_at) > smoothed.scale(EMPTIES_EVERY);
        self.competes = self.params.competitive && is_full;
        if !self.competes {
            self.inverse_delta = 1.0 / self.params.delta;
        }
    }

    /// λ ≤ λt (eq. 1, §2.1), multiplied out so that a queueing delay of 0 asks for more.
    fn is_below_target(&self, path: &Path) -> bool {
        self.cwnd.window * path.queueing() <= self.inverse_delta * path.standing
    }

    /// Moves the window by nv/(δ·cwnd) for n packets acknowledged (§2.1, step 3).
    fn approach(&mut self, below: bool, ack: &Ack) {
        let window = self.cwnd.window;
        self.velocity.turn(below, window);
        let most = (window / self.inverse_delta).max(1.0);
        self.velocity.v = self.velocity.v.min(most);
        let step = ack.packets * self.velocity.v * self.inverse_delta / window;
        if !below {
            self.cwnd.window = (window - step).max(LEAST.min(window));
        } else if ack.window_limited {
            self.cwnd.window = window + step;
        }
    }

    /// A round trip ends: 1/δ grows by one in the competitive mode (§2.2).
    fn end_round(&mut self, ack: &Ack) {
        self.velocity.end_round(self.cwnd.window);
        if self.competes && !ack.recovering {
            self.inverse_delta += 1.0;
        }
    }

    /// 1/δ ← 1/(2δ), at least that of the default mode (§2.2).
    fn halve(&mut self) {
        self.before = Some((self.inverse_delta, self.slow_start));
        if self.competes {
            self.inverse_delta = (self.inverse_delta / 2.0).max(1.0 / self.params.delta);
        }
    }

    /// W ← 0.7·W where many packets are lost.
    fn heed_losses(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.filter(|_| self.params.reduce_on_loss) else { return };
        self.losses.packets += ack.packets;
        if self.losses.are_many(ack.now, rtt.latest) {
            let window = self.cwnd.window;
            self.cwnd.window = (Losses::LEAVE * window).max(LEAST.min(window));
            self.slow_start = false;
            self.velocity = Velocity::new(self.cwnd.window);
        }
    }

    fn start_again(&mut self) {
        self.slow_start = true;
        self.velocity = Velocity::new(self.cwnd.window);
    }
}

impl Controller for Copa {
    /// Slow start, then §2.1 for each acknowledgement.
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.heed_losses(ack);
        let Some(path) = self.path else { return };
        if self.rounds.ends_with(ack) && !self.slow_start {
            self.end_round(ack);
        }
        let below = self.is_below_target(&path);
        if self.slow_start && below {
            if ack.window_limited {
                self.cwnd.window += ack.packets;
            }
            return;
        }
        if self.slow_start {
            self.slow_start = false;
            self.velocity = Velocity::new(self.cwnd.window);
        }
        self.approach(below, ack);
    }

    /// 1/δ ← 1/(2δ) in the competitive mode, once per recovery epoch (§2.2). In the default mode a
    /// loss says nothing.
    fn on_loss(&mut self, loss: &Loss) {
        self.losses.lost += 1.0;
        self.losses.packets += 1.0;
        if loss.opens_epoch {
            self.cwnd.settle();
            self.halve();
        }
    }

    /// The paper has no timeouts. A packet more than what is still in flight may leave, and slow
    /// start begins anew.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.opens_epoch {
            self.cwnd.remember();
            self.halve();
        }
        self.cwnd.timeout(timeout);
        self.start_again();
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
        if idle.is_long() {
            self.start_again();
        }
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used);
    }

    fn on_spurious(&mut self) {
        self.cwnd.undo();
        if let Some((inverse_delta, slow_start)) = self.before.take() {
            (self.inverse_delta, self.slow_start) = (inverse_delta, slow_start);
        }
    }

    fn window(&self) -> f64 {
        self.cwnd.window
    }

    /// A loss does not move the window, so that nothing else may meter packets in a recovery.
    fn needs(&self) -> Needs {
        Needs { own_recovery: true, ignores_marks: true, ..Needs::default() }
    }

    /// 2·cwnd/RTTstanding (§2.1); there is no RTTstanding before the first sample.
    fn pacing(&self) -> Pacing {
        let gaps = Gaps::Even;
        match self.path {
            None => Pacing::Window { gain: 2.0, gaps },
            Some(path) => {
                Pacing::Rate { packets_per_second: 2.0 * self.cwnd.window / path.standing, gaps }
            }
        }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("inverse_delta", self.inverse_delta);
        show("velocity", self.velocity.v);
        show("competes", f64::from(u8::from(self.competes)));
        show("queueing", self.path.map_or(f64::NAN, |path| path.queueing()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    /// Three round trips in one direction leave v at one, the fourth doubles it, a turn resets it
    /// (§2.1, step 4).
    #[test]
    fn the_velocity_doubles_from_the_fourth_round_trip_in_one_direction() {
        let mut velocity = Velocity::new(10.0);
        let mut of = |window| {
            velocity.end_round(window);
            velocity.v
        };
        assert_eq!([12.0, 14.0, 16.0, 18.0, 22.0].map(&mut of), [1.0, 1.0, 1.0, 2.0, 4.0]);
        assert_eq!([21.0, 20.0, 19.0, 18.0].map(&mut of), [1.0, 1.0, 1.0, 2.0]);
    }

    /// The path of a flow with RTTs of 100 ms at the least, at `at` seconds, `queueing` ms longer.
    fn told(copa: &mut Copa, at: f64, queueing: u64, number: u64) {
        let latest = Duration::from_millis(100 + queueing);
        let mut ack = Ack { newest: number, next: number + 1, ..ack(at, 1.0) };
        ack.rtt = ack.rtt.map(|rtt| crate::Rtt { latest, smoothed: latest, ..rtt });
        copa.on_ack(&ack);
    }

    /// §2.2: five round trips of 200 ms without an empty queue, in which RTTmax − RTTmin is 100 ms,
    /// and then a queueing delay of 10 ms.
    #[test]
    fn a_queue_that_is_never_empty_brings_the_competitive_mode() {
        let mut copa = Copa::new(Params::default(), 10.0);
        told(&mut copa, 1.0, 0, 0);
        told(&mut copa, 1.5, 100, 1);
        told(&mut copa, 2.0, 100, 2);
        assert!(!copa.competes, "five round trips, not more");
        told(&mut copa, 2.1, 100, 3);
        told(&mut copa, 2.3, 100, 4);
        assert!(copa.competes);
        assert_eq!(copa.inverse_delta, 4.0, "two and one for each round trip");
        told(&mut copa, 2.5, 10, 5);
        assert!(!copa.competes);
        assert_eq!(copa.inverse_delta, 2.0);
    }

    /// A window of 40 packets with δ of 1/2 moves by at most 40 packets per round trip: v = 20.
    #[test]
    fn a_round_trip_at_most_doubles_the_window() {
        let mut copa = Copa::new(Params::default(), 40.0);
        copa.velocity.v = 64.0;
        copa.approach(true, &ack(1.0, 1.0));
        assert_eq!(copa.cwnd.window, 41.0);
    }

    /// §2.1 ends slow start by the rate alone: a loss says nothing, nor does the recovery after it.
    #[test]
    fn slow_start_goes_on_in_a_recovery() {
        let mut copa = Copa::new(Params::default(), 10.0);
        copa.on_ack(&Ack { window_limited: true, recovering: true, ..ack(1.0, 4.0) });
        assert_eq!(copa.cwnd.window, 14.0);
    }

    /// mvfst's `changeDirection`: a speed gained on the way up is not that of the way down.
    #[test]
    fn a_turn_within_a_round_trip_ends_the_speed() {
        let mut velocity = Velocity { v: 8.0, up: true, rounds: 6, window: 40.0 };
        velocity.turn(true, 60.0);
        assert_eq!(velocity.v, 8.0);
        velocity.turn(false, 60.0);
        assert_eq!(
            (velocity.v, velocity.up, velocity.rounds, velocity.window),
            (1.0, false, 0, 60.0)
        );
    }

    /// `ReduceOnLoss`: 30 of 100 in two round trips are not many, 31 are; 20 packets tell nothing.
    #[test]
    fn many_losses_reduce_the_window() {
        let after = |lost: u32, acknowledged: f64| {
            let mut copa = Copa::new(Params::default(), 100.0);
            told(&mut copa, 1.0, 0, 0);
            (copa.losses.lost, copa.losses.packets) = (f64::from(lost), acknowledged - 1.0);
            (copa.losses.since, copa.cwnd.window) = (Time::from_secs(1.0), 100.0);
            copa.losses.packets += f64::from(lost);
            copa.heed_losses(&ack(1.201, 1.0));
            copa.cwnd.window / 100.0
        };
        assert_eq!(after(30, 70.0), 1.0);
        assert_eq!(after(31, 69.0), 0.7);
        assert_eq!(after(10, 10.0), 1.0);
    }

    #[test]
    fn packets_leave_at_twice_the_window_per_standing_rtt() {
        let mut copa = Copa::new(Params::default(), 9.0);
        told(&mut copa, 1.0, 0, 0);
        let rate = Pacing::Rate { packets_per_second: 200.0, gaps: Gaps::Even };
        assert_eq!(copa.pacing(), rate);
    }
}
