//! Reads the known answers of `vectors/`, one file per law, for the tests of whoever has laws.

use narrows_control::{Ack, Controller, Loss, Mark, Rtt, Timeout};
use narrows_settings::Given;
use narrows_signal::Reply;
use narrows_units::{Duration, Time};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    pub case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    #[serde(default)]
    pub law: BTreeMap<String, toml::Value>,
    pub start: Start,
    pub events: Vec<Event>,
    pub window: f64,
    pub ssthresh: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    pub window: f64,
    pub ssthresh: Option<f64>,
}

/// Exactly one of `ack` (packets, `marked` of them, `newest` the number of the newest; with a reply
/// of routers: `feedback` or `room` in bytes, or `bandwidth` in bytes per second), `loss`, `mark`
/// (do they open an epoch?) and `timeout`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub at: Duration,
    pub rtt: Option<Duration>,
    pub ack: Option<f64>,
    pub loss: Option<bool>,
    pub mark: Option<bool>,
    pub timeout: Option<bool>,
    #[serde(default)]
    pub marked: f64,
    #[serde(default)]
    pub newest: u64,
    pub feedback: Option<f32>,
    pub room: Option<u32>,
    pub bandwidth: Option<f32>,
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

    pub fn tell(&self, controller: &mut dyn Controller) {
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
                again: false,
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

impl Vectors {
    /// The known answers of `law`, and where they are.
    pub fn of(law: &str) -> (Self, String) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../vectors")
            .join(format!("{law}.toml"));
        let place = path.display().to_string();
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{place}: {error}"));
        let vectors = toml::from_str(&text).unwrap_or_else(|error| panic!("{place}: {error}"));
        (vectors, place)
    }
}

impl Case {
    /// The settings of the law.
    pub fn given(&self) -> Given {
        let written = |value: &toml::Value| value.as_str().map_or(value.to_string(), String::from);
        let parts = self.law.iter().map(|(name, value)| format!("{name}={}", written(value)));
        let parts: Vec<String> = parts.collect();
        Given::parse(parts.iter().map(String::as_str)).expect("they are name=value")
    }

    /// The threshold at first, infinite if there is none.
    pub fn initial_ssthresh(&self) -> f64 {
        self.start.ssthresh.unwrap_or(f64::INFINITY)
    }
}
