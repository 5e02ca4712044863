//! Our laws as noq's controllers (noq-proto 1.4.0).
//!
//! noq tells of each packet that leaves, is acknowledged, or is lost. It does not tell how many
//! packets came with a mark, nor of a receiver's delay. It paces by a law's rate, in bursts of at
//! least ten datagrams or two milliseconds; a send loop of one's own spaces packets one by one with
//! a [`Pace`].

use crate::heard::{Counts, Heard};
use crate::scale::Scale;
use crate::stack_law::StackLaw;
use narrows_control::Pacing;
use narrows_transport::Pacer;
use narrows_units::{Stream, Time};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// A rate in bytes a second that makes noq's own pacer let everything go.
const UNPACED: u64 = 1 << 40;
/// The random stream of gaps.
const GAP_STREAMS: u64 = 1;

/// Makes noq's controllers of a law.
pub struct Factory {
    law: StackLaw,
    seed: u64,
    pace: Option<Pace>,
}

impl Factory {
    /// Controllers of `law`, paced by noq.
    pub fn new(law: StackLaw) -> Self {
        Self { law, seed: 0, pace: None }
    }

    /// With randomness from `seed`.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A controller of one connection whose packets a send loop spaces, and what that loop asks.
    #[must_use]
    pub fn paced(mut self) -> (Self, Pace) {
        let pace = Pace(Arc::new(Mutex::new(None)));
        self.pace = Some(pace.clone());
        (self, pace)
    }

    /// As noq's configuration takes it.
    pub fn shared(self) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::new(self)
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let pacer = self.pace.as_ref().map(|_| {
            let stream = Stream::new(self.seed, GAP_STREAMS, 0);
            Pacer::new(stream)
        });
        let state = Arc::new(Mutex::new(State {
            heard: Heard::new(&self.law, self.seed),
            scale: Scale { mtu: current_mtu, begun: now },
            pacer,
            now: Time::ZERO,
            is_held: false,
        }));
        if let Some(Pace(shared)) = &self.pace {
            *shared.lock().expect(UNPOISONED) = Some(Arc::clone(&state));
        }
        Box::new(OfNoq { state, name: self.law.name().to_owned() })
    }
}

const UNPOISONED: &str = "no thread panics while it holds a controller";

/// Spaces the packets of one connection. A send loop says the time with [`at`](Self::at) before it
/// asks noq for one datagram at a time, until it has none, and wakes at
/// [`opens_at`](Self::opens_at), too. What acknowledges alone leaves at any time.
#[derive(Clone)]
pub struct Pace(Arc<Mutex<Option<Arc<Mutex<State>>>>>);

impl Pace {
    fn with<T>(&self, what: impl FnOnce(&mut State) -> T) -> Option<T> {
        let shared = self.0.lock().expect(UNPOISONED);
        let state = shared.as_ref()?;
        let mut state = state.lock().expect(UNPOISONED);
        Some(what(&mut state))
    }

    /// It is `now`.
    pub fn at(&self, now: Instant) {
        self.with(|state| {
            state.now = state.scale.time(now);
            state.is_held = false;
        });
    }

    /// When the next packet may leave; `None` if none waits for that.
    pub fn opens_at(&self) -> Option<Instant> {
        self.with(|state| {
            let pacer = state.pacer.as_ref()?;
            let wait = pacer.ready_at().since(Time::ZERO).picos().div_ceil(1000);
            state.is_held.then(|| state.scale.begun + std::time::Duration::from_nanos(wait))
        })?
    }

    /// The packets that the law has heard of.
    pub fn counts(&self) -> Counts {
        self.with(|state| state.heard.counts()).unwrap_or_default()
    }

    /// The law's window in packets; 0 before there is a connection.
    pub fn window(&self) -> f64 {
        self.with(|state| state.heard.window()).unwrap_or_default()
    }
}

/// A controller's state.
struct State {
    heard: Heard,
    scale: Scale,
    /// Who spaces packets if noq does not.
    pacer: Option<Pacer>,
    /// The time that the send loop has said.
    now: Time,
    /// Something would have left, had it been time.
    is_held: bool,
}

impl State {
    /// True if the pacer lets nothing go.
    fn is_closed(&self) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.ready_at() > self.now)
    }

    /// True if the send loop spaces packets. A law that is not paced noq paces as RFC 9002
    /// recommends.
    fn spaces(&self) -> bool {
        self.pacer.is_some() && self.heard.pacing() != Pacing::Unpaced
    }

    fn left(&mut self, now: Time) {
        let (pacing, window, rtt) = (self.heard.pacing(), self.heard.window(), self.heard.rtt());
        let Some(pacer) = &mut self.pacer else { return };
        pacer.sent(now, 1, pacing, window, rtt.as_ref());
    }
}

/// A law as noq sees it.
struct OfNoq {
    state: Arc<Mutex<State>>,
    name: String,
}

impl OfNoq {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }
}

impl fmt::Debug for OfNoq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "narrows' {}", self.name)
    }
}

impl Controller for OfNoq {
    fn on_packet_sent(&mut self, now: Instant, _bytes: u16, number: u64) {
        let mut state = self.state();
        let now = state.scale.time(now);
        state.heard.sent(now, number);
        state.left(now);
    }

    fn on_cwnd_limited(&mut self) {
        let mut state = self.state();
        state.is_held = state.is_closed();
        // RFC 9002, §7.8: without the pacer's delay the window would have been used.
        state.heard.full();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        _sent: Instant,
        _bytes: u64,
        number: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let mut state = self.state();
        let now = state.scale.time(now);
        state.heard.acknowledged(now, number);
    }

    fn on_end_acks(&mut self, _: Instant, _: u64, app_limited: bool, _: Option<u64>) {
        let mut state = self.state();
        state.heard.counted();
        if app_limited {
            state.heard.application_limits();
        }
    }

    fn on_packet_lost(&mut self, _bytes: u16, number: u64, now: Instant) {
        let mut state = self.state();
        let now = state.scale.time(now);
        state.heard.lost(now, number);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost: u64,
    ) {
        let mut state = self.state();
        let (now, sent) = (state.scale.time(now), state.scale.time(sent));
        if is_ecn {
            state.heard.marked(now, sent);
        }
        if is_persistent_congestion {
            state.heard.collapsed(now);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.state().heard.spurious();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.state().scale.mtu = new_mtu;
    }

    fn window(&self) -> u64 {
        let mut state = self.state();
        state.heard.conclude();
        if state.is_closed() { 0 } else { state.scale.bytes(state.heard.flight_limit()) }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut state = self.state();
        state.heard.conclude();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = state.scale.bytes(state.heard.flight_limit());
        metrics.ssthresh = Some(state.heard.ssthresh())
            .filter(|packets| packets.is_finite())
            .map(|packets| state.scale.bytes(packets));
        let rate = state.heard.rate().map(|rate| state.scale.bytes(rate));
        metrics.pacing_rate = if state.spaces() { Some(UNPACED) } else { rate };
        metrics.send_quantum = metrics.pacing_rate.map(|_| u64::from(state.scale.mtu));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { state: Arc::clone(&self.state), name: self.name.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.state().scale.bytes(10.0)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
