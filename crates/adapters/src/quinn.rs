//! Our laws as quinn's controllers (quinn-proto 0.11.19), as far as its trait allows.
//!
//! quinn tells of each packet that is acknowledged, by the time that it left, and of losses by
//! their bytes, all that are noticed at a time together: a law hears of them one by one, the oldest
//! first.
//! It paces by itself, 1.25 windows a round trip in bursts of ten datagrams, whatever a law says: a
//! law that is paced otherwise, like E-TCP, is not what it is elsewhere. It says neither how many
//! packets came with a mark, nor when the window was the limit: it counts as that if two packets
//! more would not have had room.

use crate::heard::Heard;
use crate::scale::Scale;
use crate::stack_law::StackLaw;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Makes quinn's controllers of a law.
pub struct Factory {
    law: StackLaw,
    seed: u64,
}

impl Factory {
    /// Controllers of `law`.
    pub fn new(law: StackLaw) -> Self {
        Self { law, seed: 0 }
    }

    /// With randomness from `seed`.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// As quinn's configuration takes it.
    pub fn shared(self) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::new(self)
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let heard = Heard::new(&self.law, self.seed);
        let state = State { heard, scale: Scale { mtu: current_mtu, begun: now }, packets: 0 };
        Box::new(OfQuinn(Arc::new(Mutex::new(state))))
    }
}

/// A controller's state.
struct State {
    heard: Heard,
    scale: Scale,
    /// Packets that left.
    packets: u64,
}

/// A law as quinn sees it.
struct OfQuinn(Arc<Mutex<State>>);

impl OfQuinn {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no thread panics while it holds a controller")
    }
}

impl Controller for OfQuinn {
    /// A train of datagrams leaves. What is shorter than half of one only acknowledges.
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let mut state = self.state();
        let now = state.scale.time(now);
        let mtu = u64::from(state.scale.mtu);
        for _ in 0..(bytes + mtu / 2) / mtu {
            let number = state.packets;
            state.packets += 1;
            state.heard.sent(now, number);
        }
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        _bytes: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let mut state = self.state();
        let (now, sent) = (state.scale.time(now), state.scale.time(sent));
        state.heard.acknowledged_of(now, sent);
    }

    fn on_end_acks(&mut self, _: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let mut state = self.state();
        if !app_limited {
            state.heard.full_if_nearly();
        }
        if in_flight == 0 {
            state.heard.settle_all();
        }
        state.heard.counted();
        if app_limited {
            state.heard.application_limits();
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let mut state = self.state();
        let (now, sent) = (state.scale.time(now), state.scale.time(sent));
        let mtu = u64::from(state.scale.mtu);
        if lost_bytes == 0 {
            state.heard.marked(now, sent);
        } else {
            state.heard.lost_until(now, sent, (lost_bytes + mtu / 2).div_euclid(mtu).max(1));
        }
        if is_persistent_congestion {
            state.heard.collapsed(now);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.state().scale.mtu = new_mtu;
    }

    fn window(&self) -> u64 {
        let mut state = self.state();
        state.heard.conclude();
        state.scale.bytes(state.heard.flight_limit())
    }

    fn metrics(&self) -> ControllerMetrics {
        let window = self.window();
        let state = self.state();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = window;
        metrics.ssthresh = Some(state.heard.ssthresh())
            .filter(|packets| packets.is_finite())
            .map(|packets| state.scale.bytes(packets));
        // In bits a second, unlike noq's.
        metrics.pacing_rate = state.heard.rate().map(|rate| 8 * state.scale.bytes(rate));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(Arc::clone(&self.0)))
    }

    fn initial_window(&self) -> u64 {
        self.state().scale.bytes(10.0)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
