//! BA's routers, which advertise the bandwidth that a flow may have (GWA, §5, "Bandwidth Aware
//! Routers").
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5 | v ← min(v, what is available) in each packet | [`Ba::stamp`] |
//! | eq. 10 | B_n ← min(B_n, v·d − q/n_f), for `gwa` senders that tell their delay | [`Ba::room`] |
//! | here | v ← r + κ(C − y − q/τ)/n_f, once every τ, between C/n_f and C | [`Ba::measure`] |
//! | eq. 9 | n_f | [`FlowCount`] |
//!
//! The paper says that routers measure the available bandwidth, and refers to its \[19, 20\] for
//! the method; we could not obtain those. C/n_f alone would leave idle the bandwidth that flows
//! with little to send, such as Telnet's, do not use. Our rule gives each flow the rate that the
//! largest one took (r), plus an equal part of what is spare; y is the bytes per second that
//! arrived, q the bytes that wait. Flows held back elsewhere keep less, and the others share the
//! rest equally. The rule starts from the rate that was taken, not from the one that was allowed;
//! otherwise v would grow without bound while all flows are in slow start or in recovery. With κ =
//! 1 and n of n_f flows greedy, v ← C/n_f + (1 − n/n_f)v, which is a contraction, whatever the
//! feedback delay.

use crate::entry::Entry;
use crate::{Backlog, Discipline, FlowCount, FlowCountSettings, Packet};
use narrows_settings::{Settings, settings};
use narrows_signal::Request;
use narrows_units::Time;

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "ba",
    aliases: &[],
    summary: "drop-tail; advertises the bandwidth that a flow may have, for `ba` senders",
    source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
    settings: BaSettings::list,
    construct: |given, _| {
        let settings = BaSettings::read(given)?;
        if settings.count.flows.is_some() {
            given.only_without(&["alpha"], "flows")?;
        }
        Ok(Discipline::Ba(settings))
    },
};

settings! {
    /// How a BA router is set up.
    pub struct BaSettings {
        ..count: FlowCountSettings;
        /// κ, the share of the spare bandwidth handed out per τ (ratio).
        gain: f64 = 1.0, at_least(0.0).at_most(1.0);
    }
}

/// BA's measurement at work.
#[derive(Clone, Debug)]
pub struct Ba {
    gain: f64,
    capacity: f64,
    count: FlowCount,
    /// Bytes that arrived in this interval, of all flows and of the flow with the most.
    came: f64,
    most: f64,
    /// For each flow: the interval in which it was last seen, and its bytes in that interval.
    flows: Vec<(u32, f64)>,
    interval: u32,
    /// v, in bytes per second; `None` until something has been measured.
    rate: Option<f64>,
}

impl Ba {
    /// BA's measurement in front of a transmitter of `bytes_per_second`.
    pub fn new(settings: BaSettings, bytes_per_second: f64) -> Self {
        Self {
            gain: settings.gain,
            capacity: bytes_per_second,
            count: FlowCount::new(settings.count),
            came: 0.0,
            most: 0.0,
            flows: Vec::new(),
            interval: 1,
            rate: None,
        }
    }

    /// The transmitter has `bytes_per_second` from now on.
    pub fn follow(&mut self, bytes_per_second: f64) {
        self.capacity = bytes_per_second;
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
        let (flow, bytes) = (packet.flow(), f64::from(packet.bytes()));
        self.came += bytes;
        if packet.request().is_none() {
            return;
        }
        self.count.see(flow);
        let bytes = self.take(flow, bytes);
        self.most = self.most.max(bytes);
        let Some(request) = packet.request() else { return };
        match request {
            Request::Rate(rate) => *rate = rate.min(self.available() as f32),
            Request::WindowOver(window, delay) => {
                window.lower(self.room(f64::from(*delay), backlog.bytes as f64));
            }
            _ => {}
        }
    }

    /// v, in bytes per second.
    fn available(&self) -> f64 {
        self.rate.unwrap_or(self.capacity / self.count.flows())
    }

    /// v·d − q/n_f in bytes (eq. 10), for a flow whose round trip takes `delay` seconds.
    fn room(&self, delay: f64, queue: f64) -> u64 {
        (self.available() * delay - queue / self.count.flows()).max(0.0) as u64
    }

    /// Bytes of a flow in this interval, with `bytes` more.
    fn take(&mut self, flow: u32, bytes: f64) -> f64 {
        let place = flow as usize;
        if place >= self.flows.len() {
            self.flows.resize(place + 1, (0, 0.0));
        }
        let (interval, taken) = &mut self.flows[place];
        *taken = if *interval == self.interval { *taken + bytes } else { bytes };
        *interval = self.interval;
        *taken
    }

    fn measure(&mut self, flows: f64, queue: f64) {
        let tau = self.count.tau().seconds();
        let spare = self.capacity - (self.came + queue) / tau;
        let rate = self.most / tau + self.gain * spare / flows;
        self.rate = Some(rate.clamp(self.capacity / flows, self.capacity));
        (self.came, self.most) = (0.0, 0.0);
        self.interval += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(known: f64) -> Ba {
        let count = FlowCountSettings { flows: Some(known), ..FlowCountSettings::default() };
        Ba::new(BaSettings { count, ..BaSettings::default() }, 1e6)
    }

    #[test]
    fn what_is_spare_is_handed_out_in_equal_parts_and_a_queue_taken_back() {
        let mut ba = queue(10.0);
        (ba.came, ba.most) = (60_000.0, 8000.0); // 600 of 1000 kB per second, 80 from one flow
        ba.measure(10.0, 0.0);
        assert_eq!(ba.rate, Some(80_000.0 + 400_000.0 / 10.0));
        (ba.came, ba.most) = (100_000.0, 15_000.0);
        ba.measure(10.0, 10_000.0);
        assert_eq!(ba.rate, Some(150_000.0 - 100_000.0 / 10.0));
        (ba.came, ba.most) = (200_000.0, 25_000.0);
        ba.measure(10.0, 20_000.0);
        assert_eq!(ba.rate, Some(130_000.0), "250 less 120 kB per second");
        (ba.came, ba.most) = (0.0, 0.0);
        ba.measure(10.0, 0.0);
        assert_eq!(ba.rate, Some(1e5), "if nobody takes anything, each flow gets an equal part");
    }

    #[test]
    fn a_window_is_what_the_path_holds_less_a_part_of_the_queue() {
        let mut ba = queue(10.0);
        // v is a tenth of 1 MB/s until something has been measured: 40 ms of it are 4 kB.
        assert_eq!(ba.room(0.04, 0.0), 4000);
        assert_eq!(ba.room(0.04, 15_000.0), 2500, "less 15 kB/10");
        assert_eq!(ba.room(0.04, 60_000.0), 0, "never negative");
        ba.rate = Some(200_000.0);
        assert_eq!(ba.room(0.04, 15_000.0), 6500);
    }

    #[test]
    fn five_greedy_flows_beside_five_small_ones_get_what_those_leave() {
        let mut ba = queue(10.0);
        let mut rate = 1e5;
        for _ in 0..20 {
            (ba.came, ba.most) = ((5.0 * rate + 5.0 * 20_000.0) * 0.1, 0.1 * rate);
            ba.measure(10.0, 0.0);
            rate = ba.rate.unwrap();
        }
        assert!((rate / 180_000.0 - 1.0).abs() < 1e-3, "{rate}");
    }
}
