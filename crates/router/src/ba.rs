//! BA's routers, which advertise the bandwidth that a flow may have (GWA, §5, "Bandwidth Aware Routers").
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5 | v ← min(v, what is available) in each packet | [`BaQueue::stamp`] |
//! | here | v ← v + κ(C − y − q/τ)/n_f, once every τ, between C/n_f and C | [`BaQueue::measure`] |
//! | eq. 9 | n_f | [`FlowCount`](crate::FlowCount) |
//!
//! The paper says that routers measure the available bandwidth, and refers to its \[19, 20\] for how; those were not to be had. C/n_f alone would
//! leave idle what flows that ask for little, like Telnet's, leave over. This rule hands out what is spare (y: bytes a second that come;
//! q: what waits) in equal parts, so that flows held back elsewhere keep less and the others share the rest alike. κ = 1/2: with a feedback
//! delay of up to τ the roots of z² − (1 − κ(1 − r))z + κr = 0, r being the delay over τ, have modulus at most √κ = 0.71.

use crate::{Backlog, FlowCount, FlowCountSettings, Packet};
use narrows_signal::Request;
use narrows_units::Time;

/// How a BA router is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ba {
    /// How n_f is measured, and τ.
    pub flows: FlowCountSettings,
    /// κ, a ratio.
    pub gain: f64,
}

/// BA's measurement at work.
#[derive(Clone, Debug)]
pub struct BaQueue {
    gain: f64,
    capacity: f64,
    count: FlowCount,
    /// Bytes of this interval.
    came: f64,
    /// v, bytes a second; `None` until something has been measured.
    rate: Option<f64>,
}

impl BaQueue {
    /// In front of a transmitter of `bytes_per_second`.
    pub fn new(ba: Ba, bytes_per_second: f64) -> Self {
        Self { gain: ba.gain, capacity: bytes_per_second, count: FlowCount::new(ba.flows), came: 0.0, rate: None }
    }

    /// A packet arrives at `now` and finds `backlog`.
    pub fn stamp(&mut self, now: Time, backlog: Backlog, packet: &mut impl Packet) {
        loop {
            let flows = self.count.flows();
            if !self.count.ends(now) {
                break;
            }
            self.measure(flows, backlog.bytes as f64);
        }
        self.came += f64::from(packet.bytes());
        let flow = packet.flow();
        let capacity = self.capacity;
        let Some(request) = packet.request() else { return };
        self.count.see(flow);
        if let Request::Rate(rate) = request {
            let available = self.rate.unwrap_or(capacity / self.count.flows());
            *rate = rate.min(available as f32);
        }
    }

    fn measure(&mut self, flows: f64, queue: f64) {
        let tau = self.count.tau().seconds();
        let spare = self.capacity - (self.came + queue) / tau;
        let fair = self.capacity / flows;
        let rate = self.rate.unwrap_or(fair) + self.gain * spare / flows;
        self.rate = Some(rate.clamp(fair, self.capacity));
        self.came = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;

    fn queue(known: f64) -> BaQueue {
        let flows = FlowCountSettings { alpha: 0.9, tau: Duration::from_millis(100), known: Some(known) };
        BaQueue::new(Ba { flows, gain: 0.5 }, 1e6)
    }

    #[test]
    fn what_is_spare_is_handed_out_in_equal_parts_and_a_queue_taken_back() {
        let mut ba = queue(10.0);
        ba.came = 60_000.0; // 600 kB a second of 1000
        ba.measure(10.0, 0.0);
        assert_eq!(ba.rate, Some(100_000.0 + 0.5 * 400_000.0 / 10.0));
        ba.came = 100_000.0;
        ba.measure(10.0, 10_000.0);
        assert_eq!(ba.rate, Some(120_000.0 - 0.5 * 100_000.0 / 10.0));
        ba.came = 200_000.0;
        (0..40).for_each(|_| ba.measure(10.0, 20_000.0));
        assert_eq!(ba.rate, Some(1e6), "nobody comes any more: all of it is spare");
    }

    #[test]
    fn five_greedy_flows_beside_five_small_ones_get_what_those_leave() {
        let mut ba = queue(10.0);
        let mut rate = 1e5;
        for _ in 0..60 {
            ba.came = (5.0 * rate + 5.0 * 20_000.0) * 0.1;
            ba.measure(10.0, 0.0);
            rate = ba.rate.unwrap();
        }
        assert!((rate / 180_000.0 - 1.0).abs() < 1e-3, "{rate}");
    }
}
