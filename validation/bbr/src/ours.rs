//! Our BBR, with rate samples taken as draft-ietf-ccwg-bbr-06, §4.1.2, says.

use crate::law::{Arrival, Law, STATES, Sent, Shown};
use narrows_control::registry::{Birth, LAWS};
use narrows_control::{Ack, Controller, Idle, Loss, LossSample, Pacing, RateSample, Restart, Rtt};
use narrows_signal::Reply;
use narrows_units::{Duration, Time};
use std::collections::BTreeMap;

/// Per-packet state (§4.1.2.1.2).
#[derive(Clone, Copy, Debug)]
struct Departure {
    delivered: f64,
    delivered_time: Time,
    first_send_time: Time,
    lost: f64,
    tx_in_flight: f64,
    app_limited: bool,
}

pub struct Ours {
    bbr: Box<dyn Controller>,
    departures: BTreeMap<u64, Departure>,
    delivered: f64,
    delivered_time: Time,
    first_send_time: Time,
    lost: f64,
    app_limited: f64,
    last_sent: Time,
    rtt: Option<Rtt>,
}

impl Ours {
    /// The law `bbr` of the registry, with its defaults.
    pub fn new(seed: u64) -> Self {
        let entry = LAWS.iter().find(|entry| entry.name == "bbr").expect("bbr is registered");
        let recipe = entry.read(&Birth::default()).expect("no settings are given");
        Self {
            bbr: recipe.make(seed),
            departures: BTreeMap::new(),
            delivered: 0.0,
            delivered_time: Time::ZERO,
            first_send_time: Time::ZERO,
            lost: 0.0,
            app_limited: 0.0,
            last_sent: Time::ZERO,
            rtt: None,
        }
    }

    fn measure(&mut self, sample: Duration) -> Rtt {
        let rtt = match self.rtt {
            None => Rtt { latest: sample, smoothed: sample, minimum: sample, maximum: sample },
            Some(before) => Rtt {
                latest: sample,
                smoothed: before.smoothed.scale(0.875) + sample.scale(0.125),
                minimum: before.minimum.min(sample),
                maximum: before.maximum.max(sample),
            },
        };
        self.rtt = Some(rtt);
        rtt
    }

    /// §4.1.2.3, UpdateRateSample and GenerateRateSample, without the losses that the
    /// acknowledgement reveals.
    fn sample(&mut self, arrival: &Arrival, newest: Sent, least: Duration) -> RateSample {
        self.delivered += arrival.acked.len() as f64;
        self.delivered_time = arrival.now;
        if self.delivered > self.app_limited {
            self.app_limited = 0.0;
        }
        let left = self.departures[&newest.number];
        let send_elapsed = newest.at.since(left.first_send_time);
        let interval = send_elapsed.max(arrival.now.since(left.delivered_time));
        self.first_send_time = newest.at;
        let delivered = self.delivered - left.delivered;
        RateSample {
            total_delivered: self.delivered,
            prior_delivered: left.delivered,
            delivery_rate: (interval >= least && interval > Duration::ZERO)
                .then(|| delivered / interval.seconds()),
            rtt: Some(arrival.now.since(newest.at)),
            tx_in_flight: left.tx_in_flight,
            lost: self.lost - left.lost,
            app_limited: left.app_limited,
            ..RateSample::default()
        }
    }

    fn lose(&mut self, packet: Sent, arrival: &Arrival, opens_epoch: bool) {
        self.lost += 1.0;
        let left = self.departures[&packet.number];
        self.bbr.on_loss(&Loss {
            now: arrival.now,
            transmission: packet.number,
            next: arrival.next,
            opens_epoch,
            again: false,
            in_flight: left.tx_in_flight,
            rtt: self.rtt,
            rate: Some(LossSample {
                total_delivered: self.delivered,
                lost: self.lost - left.lost,
                app_limited: left.app_limited,
            }),
        });
    }
}

impl Law for Ours {
    fn departs(&mut self, packet: Sent, in_flight: usize) {
        if in_flight == 1 {
            if packet.number > 0 {
                self.bbr.on_restart(&Idle {
                    now: packet.at,
                    length: packet.at.since(self.last_sent),
                    timeout: Duration::from_millis(200),
                    restart: Restart::Never,
                    app_limited: self.app_limited > 0.0,
                });
            }
            (self.first_send_time, self.delivered_time) = (packet.at, packet.at);
        }
        self.last_sent = packet.at;
        self.departures.insert(
            packet.number,
            Departure {
                delivered: self.delivered,
                delivered_time: self.delivered_time,
                first_send_time: self.first_send_time,
                lost: self.lost,
                tx_in_flight: in_flight as f64,
                app_limited: self.app_limited > 0.0,
            },
        );
    }

    fn arrives(&mut self, arrival: &Arrival) {
        let newest = *arrival.acked.last().expect("an arrival acknowledges something");
        let rtt = self.measure(arrival.now.since(newest.at));
        let mut rate = self.sample(arrival, newest, rtt.minimum);
        for (place, packet) in arrival.lost.iter().enumerate() {
            self.lose(*packet, arrival, arrival.opens_recovery && place == 0);
        }
        rate.lost += arrival.lost.len() as f64;
        let gone = arrival.acked.len() + arrival.lost.len();
        self.bbr.on_ack(&Ack {
            now: arrival.now,
            packets: arrival.acked.len() as f64,
            newest: newest.number,
            next: arrival.next,
            rtt: Some(rtt),
            rtt_is_fresh: true,
            in_flight: (arrival.in_flight - gone) as f64,
            window_limited: true,
            recovering: arrival.recovering,
            marked: 0.0,
            reply: Reply::Nothing,
            rate: Some(rate),
        });
        for packet in arrival.acked.iter().chain(arrival.lost) {
            self.departures.remove(&packet.number);
        }
    }

    fn is_full(&mut self) {}

    fn has_nothing(&mut self, in_flight: usize) {
        self.app_limited = (self.delivered + in_flight as f64).max(1.0);
    }

    fn was_spurious(&mut self) {
        self.bbr.on_spurious();
    }

    fn window(&self) -> f64 {
        self.bbr.window()
    }

    fn rate(&self) -> f64 {
        let Pacing::Rate { packets_per_second, .. } = self.bbr.pacing() else {
            unreachable!("BBR paces at a rate")
        };
        packets_per_second
    }

    fn shows(&self) -> Shown {
        let mut seen = BTreeMap::new();
        self.bbr.probe(&mut |name, value| {
            seen.insert(name, value);
        });
        Shown {
            state: STATES[seen["state"] as usize],
            pacing_gain: seen["pacing_gain"],
            max_bw: seen["max_bw"],
            bw: seen["bw"],
            min_rtt: seen["min_rtt"] * 1000.0,
            inflight_longterm: seen["inflight_longterm"],
            inflight_shortterm: seen["inflight_shortterm"],
            window: self.bbr.window(),
        }
    }
}
