//! noq-proto 1.4.0's `Bbr3` (src/congestion/bbr3/mod.rs), told what noq's connection tells it, in
//! the same order (src/connection/mod.rs, `on_ack_received` and `handle_lost_packets`). Its state
//! is private, but printed by its `Debug`.
#![expect(clippy::disallowed_types, reason = "noq-proto counts time by `Instant`")]

use crate::law::{Arrival, Law, PACKET, STATES, Sent, Shown};
use narrows_units::Time;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Theirs {
    bbr: Box<dyn Controller>,
    base: Instant,
    rtt: Duration,
}

/// What noq-proto takes for the system's randomness.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Fills `length` bytes at `bytes` from the seed (the custom backend of getrandom, in
/// .cargo/config.toml).
///
/// # Safety
/// getrandom gives a valid range.
#[expect(unsafe_code, reason = "getrandom calls this by its name")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    bytes: *mut u8,
    length: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: getrandom says that the range is valid for writes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, length) };
    let seed = SEED.load(Ordering::Relaxed).to_le_bytes();
    bytes.iter_mut().zip(seed.iter().cycle()).for_each(|(byte, seed)| *byte = *seed);
    Ok(())
}

impl Theirs {
    /// With its defaults. `rand` seeds its generator once per thread, so each run needs a thread of
    /// its own.
    pub fn new(seed: u64) -> Self {
        SEED.store(seed, Ordering::Relaxed);
        let base = Instant::now() + Duration::from_secs(86_400);
        let bbr = Arc::new(Bbr3Config::default()).build(base, PACKET as u16);
        Self { bbr, base, rtt: Duration::from_millis(333) }
    }

    fn instant(&self, time: Time) -> Instant {
        self.base + Duration::from_nanos(time.picos() / 1000)
    }
}

/// noq's estimator with `rtt` as its only sample. Nobody but noq's connection can make one.
#[expect(unsafe_code, reason = "noq-proto has no public constructor")]
fn estimator(rtt: Duration) -> RttEstimator {
    // SAFETY: in 1.4.0, which Cargo.toml pins, it has four fields, each a `Duration` or an
    // `Option<Duration>`; an `Option<Duration>` that is `Some` has the bits of its `Duration`, as
    // it is not larger. So all orders of the fields are the same.
    let made: RttEstimator = unsafe { std::mem::transmute([rtt; 4]) };
    assert!(made.get() == rtt && made.min() == rtt && made.conservative() == rtt);
    made
}

impl Law for Theirs {
    fn departs(&mut self, packet: Sent, _in_flight: usize) {
        let at = self.instant(packet.at);
        self.bbr.on_packet_sent(at, PACKET as u16, packet.number);
        self.bbr.on_sent(at, PACKET, packet.number);
    }

    fn arrives(&mut self, arrival: &Arrival) {
        let now = self.instant(arrival.now);
        let newest = *arrival.acked.last().expect("an arrival acknowledges something");
        if self.rtt == Duration::from_millis(333) {
            self.rtt = now - self.instant(newest.at);
        }
        let rtt = estimator(self.rtt);
        for packet in arrival.acked {
            let sent = self.instant(packet.at);
            self.bbr.on_ack(now, sent, PACKET, packet.number, arrival.app_limited, &rtt);
        }
        let in_flight = (arrival.in_flight - arrival.acked.len()) as u64 * PACKET;
        let largest = Some(newest.number);
        self.bbr.on_end_acks(now, in_flight, arrival.app_limited, largest);
        for packet in arrival.lost {
            self.bbr.on_packet_lost(PACKET as u16, packet.number, now);
        }
        if let Some(last) = arrival.lost.last() {
            let bytes = arrival.lost.len() as u64 * PACKET;
            let sent = self.instant(last.at);
            self.bbr.on_congestion_event(now, sent, false, false, bytes, last.number);
        }
    }

    fn is_full(&mut self) {
        self.bbr.on_cwnd_limited();
    }

    fn has_nothing(&mut self, _in_flight: usize) {}

    fn was_spurious(&mut self) {
        self.bbr.on_spurious_congestion_event();
    }

    fn window(&self) -> f64 {
        self.bbr.window() as f64 / PACKET as f64
    }

    fn rate(&self) -> f64 {
        let rate = self.bbr.metrics().pacing_rate.expect("BBR paces at a rate");
        rate.max(1) as f64 / PACKET as f64
    }

    fn shows(&self) -> Shown {
        let text = format!("{:?}", self.bbr);
        let field = |name: &str| field(&text, name);
        let number = |name: &str| field(name).parse::<f64>().expect("a number");
        let packets = |name: &str| match field(name) {
            unlimited if unlimited == u64::MAX.to_string() => f64::INFINITY,
            bytes => bytes.parse::<f64>().expect("bytes") / PACKET as f64,
        };
        Shown {
            state: state(field("state")),
            pacing_gain: number("pacing_gain"),
            max_bw: number("max_bw") / PACKET as f64,
            bw: number("bw") / PACKET as f64,
            min_rtt: milliseconds(field("min_rtt")),
            inflight_longterm: packets("inflight_longterm"),
            inflight_shortterm: packets("inflight_shortterm"),
            window: self.window(),
        }
    }
}

/// The value of the field `name` of a struct that `Debug` has printed.
fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let key = format!(", {name}: ");
    let from = text.find(&key).expect("a field of Bbr3") + key.len();
    let length = text[from..].find(", ").expect("another field");
    &text[from..from + length]
}

fn state(name: &str) -> &'static str {
    let ours = match name {
        "ProbeBw(Down)" => "DOWN",
        "ProbeBw(Cruise)" => "CRUISE",
        "ProbeBw(Refill)" => "REFILL",
        "ProbeBw(Up)" => "UP",
        "ProbeRtt" => "ProbeRTT",
        other => other,
    };
    STATES.into_iter().find(|state| *state == ours).expect("a state of Bbr3")
}

fn milliseconds(duration: &str) -> f64 {
    let units = [("ms", 1.0), ("µs", 1e-3), ("ns", 1e-6), ("s", 1e3)];
    let (unit, scale) =
        units.into_iter().find(|(unit, _)| duration.ends_with(unit)).expect("a unit");
    let number: f64 = duration[..duration.len() - unit.len()].parse().expect("a duration");
    if number > 1e18 { f64::INFINITY } else { number * scale }
}
