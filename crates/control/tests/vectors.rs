//! The known answers of `vectors/`, one file per law; every law of the registry is checked against
//! its own.

use narrows_control::registry::{self, Birth};
use narrows_control::{Ack, Controller, Loss, Mark, Rtt, Timeout};
use narrows_settings::Given;
use narrows_signal::Reply;
use narrows_units::{Duration, Time};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    law: BTreeMap<String, toml::Value>,
    start: Start,
    events: Vec<Event>,
    window: f64,
    ssthresh: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    window: f64,
    ssthresh: Option<f64>,
}

/// Exactly one of `ack` (packets, `marked` of them, `newest` the number of the newest; with a reply
/// of routers: `feedback` or `room` in bytes, or `bandwidth` in bytes per second), `loss`, `mark`
/// (do they open an epoch?) and `timeout`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    at: Duration,
    rtt: Option<Duration>,
    ack: Option<f64>,
    loss: Option<bool>,
    mark: Option<bool>,
    timeout: Option<bool>,
    #[serde(default)]
    marked: f64,
    #[serde(default)]
    newest: u64,
    feedback: Option<f32>,
    room: Option<u32>,
    bandwidth: Option<f32>,
}

impl Event {
    fn reply(&self) -> Reply {
        let replies = [
            self.feedback.map(Reply::Feedback),
            self.room.map(Reply::Window),
            self.bandwidth.map(Reply::Rate),
        ];
        replies.into_iter().flatten().next().unwrap_or_default()
    }

    fn tell(&self, controller: &mut dyn Controller) {
        let now = Time::ZERO + self.at;
        let rtt =
            self.rtt.map(|rtt| Rtt { latest: rtt, smoothed: rtt, minimum: rtt, maximum: rtt });
        if let Some(packets) = self.ack {
            let in_flight = controller.window();
            let (window_limited, recovering, rtt_is_fresh) = (true, false, true);
            let (newest, next) = (self.newest, self.newest + 1);
            let marked = self.marked;
            controller.on_ack(&Ack {
                now,
                packets,
                newest,
                next,
                rtt,
                rtt_is_fresh,
                in_flight,
                window_limited,
                recovering,
                marked,
                reply: self.reply(),
                rate: None,
            });
        }
        if let Some(opens_epoch) = self.loss {
            let in_flight = controller.window();
            controller.on_loss(&Loss {
                now,
                transmission: 0,
                next: 1,
                opens_epoch,
                in_flight,
                rtt,
                rate: None,
            });
        }
        if let Some(opens_epoch) = self.mark {
            controller.on_mark(&Mark { now, packets: 1.0, opens_epoch });
        }
        if self.timeout == Some(true) {
            controller.on_timeout(&Timeout { now, opens_epoch: true, in_flight: 0.0 });
        }
    }
}

fn run(entry: &registry::Entry, case: &Case) -> Box<dyn Controller> {
    let written = |value: &toml::Value| value.as_str().map_or(value.to_string(), String::from);
    let parts = case.law.iter().map(|(name, value)| format!("{name}={}", written(value)));
    let parts: Vec<String> = parts.collect();
    let given = Given::parse(parts.iter().map(String::as_str)).expect("they are name=value");
    let initial_ssthresh = case.start.ssthresh.unwrap_or(f64::INFINITY);
    // Packets of 1000 bytes are easy by hand.
    let birth = Birth {
        given,
        initial_window: case.start.window,
        initial_ssthresh,
        packet_bytes: 1000,
        ..Birth::default()
    };
    let recipe = entry.read(&birth).expect("a vector's settings are the law's");
    let mut controller = recipe.make(1);
    case.events.iter().for_each(|event| event.tell(&mut *controller));
    controller
}

#[test]
fn every_law_gives_its_known_answers() {
    for entry in registry::LAWS {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../vectors")
            .join(format!("{}.toml", entry.name));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let vectors: Vectors =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (number, case) in vectors.case.iter().enumerate() {
            let controller = run(entry, case);
            let place = format!("{}, case {number}", path.display());
            assert!(
                (controller.window() / case.window - 1.0).abs() < 1e-12,
                "{place}: window {} not {}",
                controller.window(),
                case.window
            );
            if let Some(ssthresh) = case.ssthresh {
                assert_eq!(controller.ssthresh(), ssthresh, "{place}");
            }
        }
    }
}
