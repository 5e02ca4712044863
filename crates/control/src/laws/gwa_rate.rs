//! GWA's controller before it becomes a window: a rate, by the Smith predictor (Gerla, Lo Cigno,
//! Mascolo, Weng, §3).
//!
//! | source | equation | here |
//! |---|---|---|
//! | eq. 7 | r(t) = k(W_a − ∫ r(τ) dτ over the last d), W_a = q* − q(t − d″) | [`GwaRate::steer_by`] |
//! | §3 | k = 1/d: settled after four round trips | [`Params::gain`] |
//! | §3 | d, the connection's round-trip time, without queues, which are q | [`Params::delay`]; the smallest RTT so far unless given |
//! | eq. 2 | W_a = min(B_r, B_n), by the receiver | [`Bound::observe`] of [`Gwa`] |
//!
//! In balance r(d + 1/k) = q* − q: with k = 1/d a full link takes two bandwidth-delay products of
//! q*, where the window of eqs. 1 and 2 takes one.
//!
//! r is in packets per second, and W_a in packets. It is worked out at each acknowledgement, and 64
//! times in a round trip in between, as what was sent leaves the integral. Departures: W_a comes
//! back with acknowledgements only, and eq. 7, whose q comes back whatever happens, would send on
//! at W_a/(d + 1/k) if none came, so no more than W_a is ever outstanding (eq. 1), of which half
//! may then be queue; a rate is at least a packet in a round trip, which probes a closed window; a
//! flow that has less to send than its rate counts as if it had sent it.

use super::gwa::{self, Gwa};
use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::{Ack, Bound, Controller, Gaps, Loss, Needs, Pacing, Rtt, Tick, Timeout};
use narrows_settings::{Settings, settings};
use narrows_signal::{Reply, Request};
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "gwa-rate",
    aliases: &[],
    summary: "like gwa, but moves a rate by the Smith predictor instead of a window; needs \
              `gwa-rr` or `gwa-fcfs` queues",
    source: "Gerla, Lo Cigno, Mascolo, Weng, §3",
    moved_by: MovedBy::Routers,
    start: Start::Own,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        let asks = gwa::Params { syn: params.syn, ..gwa::Params::default() };
        let room = Gwa::new(asks, birth.packet_bytes, birth.receive_window);
        Ok(Recipe::clones(GwaRate::new(params, room, birth.initial_window)))
    },
};

settings! {
    /// Settings of the rate law.
    pub struct Params {
        /// k·d: how much of what is wanted is made up for in a round trip (§3).
        gain: f64 = 1.0, at_least(0.01).at_most(10.0);
        /// Whether the SYN asks routers, too, so that W_a is known before any data leaves (§2);
        /// needs a handshake.
        syn: bool = false;
        /// d, the round-trip time without queues, if it is known.
        delay: Option<Duration> = None => "the smallest RTT", above(0.0);
    }
}

/// In how many steps of a round trip the integral is kept.
const STEPS: u64 = 64;

/// The rate law's state.
#[derive(Clone)]
pub struct GwaRate {
    params: Params,
    /// What routers allow, W_a.
    room: Gwa,
    /// Packets.
    initial_window: f64,
    /// r in packets per second; `None` until routers and an RTT are known.
    rate: Option<f64>,
    /// d.
    delay: Duration,
    /// Until when `sent` counts.
    now: Time,
    /// ∫ r dτ since the beginning, in packets.
    sent: f64,
    /// The integral at times of the last round trip and one before, oldest first.
    history: VecDeque<(Time, f64)>,
}

impl GwaRate {
    /// The law with `params` below what `room` says; `initial_window` packets leave at once.
    pub fn new(params: Params, room: Gwa, initial_window: f64) -> Self {
        Self {
            params,
            room,
            initial_window,
            rate: None,
            delay: Duration::ZERO,
            now: Time::ZERO,
            sent: 0.0,
            history: VecDeque::new(),
        }
    }

    /// Takes what routers said, and the RTT that the law goes by.
    fn hear(&mut self, reply: Reply, rtt: Option<Rtt>) {
        self.room.observe(reply, rtt);
        if let Some(delay) = self.params.delay.or(rtt.map(|rtt| rtt.minimum)) {
            self.delay = delay;
        }
    }

    /// r(t) = k(W_a − ∫ r(τ) dτ over the last d) at t = `now` (eq. 7).
    fn steer_by(&mut self, now: Time) {
        if self.delay == Duration::ZERO || !self.room.packets().is_finite() {
            return;
        }
        if let Some(rate) = self.rate {
            self.sent += rate * now.since(self.now).seconds();
        }
        self.now = now;
        let sent_in_a_round = self.sent - self.sent_until(now);
        self.remember();
        let wanted = self.room.packets() - sent_in_a_round;
        self.rate = Some((self.params.gain * wanted).max(1.0) / self.delay.seconds());
    }

    /// The integral a round trip before `now`; forgets what lies before that.
    fn sent_until(&mut self, now: Time) -> f64 {
        let before = Time::from_picos(now.picos().saturating_sub(self.delay.picos()));
        while self.history.get(1).is_some_and(|(time, _)| *time <= before) {
            self.history.pop_front();
        }
        let Some(&(first, sent)) = self.history.front() else { return self.sent };
        let (next, then) = self.history.get(1).copied().unwrap_or((self.now, self.sent));
        let length = next.since(first).seconds();
        if before <= first || length == 0.0 {
            return sent;
        }
        sent + (then - sent) * before.since(first).seconds() / length
    }

    /// Keeps the integral, once in a step.
    fn remember(&mut self) {
        let step = self.step();
        if self.history.back().is_none_or(|(time, _)| self.now.since(*time) >= step) {
            self.history.push_back((self.now, self.sent));
        }
    }

    /// The time from one step to the next.
    fn step(&self) -> Duration {
        Duration::from_picos((self.delay.picos() / STEPS).max(1))
    }
}

impl Controller for GwaRate {
    fn on_ack(&mut self, ack: &Ack) {
        self.hear(ack.reply, ack.rtt);
        self.steer_by(ack.now);
    }

    fn on_accepted(&mut self, reply: Reply, rtt: Option<Rtt>) {
        self.hear(reply, rtt);
    }

    /// Nothing is lost in queues, eq. 4; what the wire loses is only sent again (§4, note 4).
    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn on_timer(&mut self, tick: &Tick) {
        self.steer_by(tick.now);
    }

    fn wakes_at(&self) -> Time {
        match self.rate {
            Some(_) => self.now + self.step(),
            None => Time::NEVER,
        }
    }

    /// The rate times d.
    fn window(&self) -> f64 {
        self.rate.map_or(self.initial_window, |rate| (rate * self.delay.seconds()).max(1.0))
    }

    /// W_a (eq. 1).
    fn flight_limit(&self) -> f64 {
        if self.rate.is_some() { self.room.packets().max(1.0) } else { self.initial_window }
    }

    fn needs(&self) -> Needs {
        Needs {
            routers: true,
            routers_from_syn: self.room.asks_from_syn(),
            timer: true,
            own_recovery: true,
            ignores_marks: true,
            ..Needs::default()
        }
    }

    fn request(&self) -> Request {
        self.room.request()
    }

    /// The rate; until it is known the initial window leaves at once.
    fn pacing(&self) -> Pacing {
        let packets_per_second = self.rate.unwrap_or(f64::INFINITY);
        Pacing::Rate { packets_per_second, gaps: Gaps::Even }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("rate", self.rate.unwrap_or(f64::NAN));
        show("advertised", self.room.packets());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    /// A flow of 1000 bytes a packet, told of room for 100, an RTT of 100 ms after its start.
    fn told() -> GwaRate {
        let mut law = registered();
        hear(&mut law, 1.0);
        law
    }

    fn registered() -> GwaRate {
        let room = Gwa::new(gwa::Params::default(), 1000, f64::INFINITY);
        GwaRate::new(Params::default(), room, 2.0)
    }

    fn hear(law: &mut GwaRate, at: f64) {
        let now = Time::from_secs(at);
        law.on_ack(&Ack { now, reply: Reply::Window(100_000), ..ack(at, 1.0) });
    }

    /// While the room stays as it is, eq. 7 is r' = −k(r(t) − r(t − d)), so that r falls by
    /// e^(−t/d) in the first round trip.
    #[test]
    fn what_was_sent_is_taken_off_until_it_is_a_round_trip_old() {
        let mut law = told();
        let first = law.rate.expect("a rate");
        assert!((first - 1000.0).abs() < 1e-9, "k·W_a is 100 packets in 100 ms: {first}");
        while law.now < Time::from_secs(1.1) {
            let at = law.wakes_at();
            law.on_timer(&Tick { now: at, sent: 0, held: Duration::ZERO });
        }
        let after = law.rate.expect("a rate");
        let expected = 1000.0 * libm::exp(-1.0);
        assert!((after / expected - 1.0).abs() < 0.02, "{after} after d, not {expected}");
    }

    /// In balance r = W_a/(d + 1/k): half a window of room for each of the two.
    #[test]
    fn the_balance_needs_twice_the_product() {
        for gain in [0.5, 1.0, 2.0] {
            let mut law = GwaRate { params: Params { gain, ..Params::default() }, ..registered() };
            hear(&mut law, 1.0);
            while law.now < Time::from_secs(4.0) {
                let at = law.wakes_at();
                law.on_timer(&Tick { now: at, sent: 0, held: Duration::ZERO });
            }
            let rate = law.rate.expect("a rate");
            let expected = 100.0 / (0.1 + 0.1 / gain);
            assert!((rate / expected - 1.0).abs() < 0.01, "k·d = {gain}: {rate} for {expected}");
        }
    }

    #[test]
    fn no_more_than_the_room_is_outstanding_and_the_initial_window_before_it_is_known() {
        assert_eq!(registered().flight_limit(), 2.0);
        assert_eq!(told().flight_limit(), 100.0, "eq. 1");
    }
}
