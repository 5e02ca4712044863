//! The networks that checks use, and what happens in them.

use crate::subject::Subject;
use serde_json::{Map, Value, json};

/// A path: the sender's link, a bottleneck, the receiver's link, and the same back without a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Network {
    /// Bits per second of the bottleneck.
    pub rate: f64,
    /// Base RTT in seconds.
    pub rtt: f64,
    /// The bottleneck's buffer, as a scenario has it; without a limit if `None`.
    pub buffer: Option<&'static str>,
}

/// The rate of the hosts' links, bit/s.
pub(crate) const ACCESS: f64 = 1e9;
/// The one-way delay of each, in seconds.
pub(crate) const ACCESS_DELAY: f64 = 1e-3;

impl Network {
    /// All of the flight is on the wire: the RTT is constant, and the flight is the window.
    pub const F: Self = Self { rate: 200e6, rtt: 0.05, buffer: None };
    /// The same for windows of thousands of packets.
    pub const L: Self = Self { rate: 1e9, rtt: 0.1, buffer: None };
    /// A slow path with a deep buffer, for timeouts.
    pub const D: Self = Self { rate: 20e6, rtt: 0.04, buffer: Some("4bdp") };
    /// A usual path, for a start.
    pub const M: Self = Self { rate: 50e6, rtt: 0.04, buffer: Some("1bdp") };
    /// A path with a deep buffer, for BBR.
    pub const Q: Self = Self { rate: 50e6, rtt: 0.04, buffer: Some("4bdp") };
    /// A path that holds less than a packet.
    pub const T: Self = Self { rate: 64e3, rtt: 0.04, buffer: Some("10p") };
    /// A path that becomes ten times as fast, and one that becomes a tenth, both with 4 BDP of what
    /// they become.
    pub const SLOW: Self = Self { rate: 10e6, rtt: 0.04, buffer: Some("1333p") };
    pub const FAST: Self = Self { rate: 100e6, rtt: 0.04, buffer: Some("133p") };
    /// A short path on which CUBIC is in its Reno-friendly region.
    pub const FRIENDLY: Self = Self { rate: 20e6, rtt: 0.01, buffer: None };
    /// A usual path with one bandwidth-delay product, for acknowledgements that are lost.
    pub const THIN: Self = Self { rate: 20e6, rtt: 0.04, buffer: Some("1bdp") };

    /// Bandwidth-delay product in packets of `bytes`.
    pub fn bdp(self, bytes: f64) -> f64 {
        self.rate * self.rtt / 8.0 / bytes
    }
}

/// One flow over one network, and what it meets there.
#[derive(Clone, Debug)]
pub(crate) struct Stimulus {
    pub network: Network,
    /// Seconds.
    pub until: f64,
    forward: Vec<Value>,
    back: Vec<Value>,
    /// What else is said of the bottleneck and of the way back.
    of_links: [Map<String, Value>; 2],
    /// When the base RTT is another, and which, in seconds.
    rtt_later: Option<(f64, f64)>,
    offers: Vec<Value>,
    pub ecn: bool,
    size: Option<String>,
}

/// The links whose fields a stimulus may say.
const BOTTLENECK: usize = 0;
const BACK: usize = 1;

/// Bytes that make a packet one of data.
pub(crate) const LEAST: u32 = 400;

impl Stimulus {
    /// Nothing happens until `until` seconds.
    pub fn on(network: Network, until: f64) -> Self {
        Self {
            network,
            until,
            forward: Vec::new(),
            back: Vec::new(),
            of_links: Default::default(),
            rtt_later: None,
            offers: Vec::new(),
            ecn: false,
            size: None,
        }
    }

    /// Data packets with these numbers, of those that come to the bottleneck from `from` seconds
    /// on, meet `act`.
    fn act(mut self, act: &str, from: f64, numbers: &[u64]) -> Self {
        self.forward.push(json!({ "from": time(from), "least": bytes(LEAST), act: numbers }));
        self
    }

    /// They are lost.
    pub fn lose(self, from: f64, numbers: &[u64]) -> Self {
        self.act("drop", from, numbers)
    }

    /// They are marked, and the flow may be marked.
    pub fn mark(mut self, from: f64, numbers: &[u64]) -> Self {
        self.ecn = true;
        self.act("mark", from, numbers)
    }

    /// Data packet number `number` is lost in slow start, so that the flow soon is in congestion
    /// avoidance.
    pub fn avoidance(self, number: u64) -> Self {
        self.lose(0.0, &[number])
    }

    /// The marks that packets may bear are taken off.
    pub fn clear(mut self) -> Self {
        self.forward.push(json!({ "each": 1, "clear": 1 }));
        self
    }

    /// The first data packet from `from` on comes late by `by` seconds.
    pub fn late(mut self, from: f64, by: f64) -> Self {
        let least = bytes(LEAST);
        self.forward
            .push(json!({ "from": time(from), "least": least, "late": time(by), "packets": 1 }));
        self
    }

    /// Of each `each` data packets within these seconds the last meets `act`.
    pub fn each(mut self, act: &str, (from, until): (f64, f64), each: u64) -> Self {
        self.forward.push(json!({
            "from": time(from), "until": time(until), "least": bytes(LEAST), "each": each, act: each,
        }));
        self
    }

    /// All packets within these seconds come late by `by` seconds.
    pub fn all_late(mut self, (from, until): (f64, f64), by: f64) -> Self {
        self.forward.push(json!({
            "from": time(from), "until": time(until), "late": time(by), "packets": "1-1000000000",
        }));
        self
    }

    /// No acknowledgement leaves the bottleneck of the way back within these seconds; then all do.
    pub fn hold_acks(self, from: f64, until: f64) -> Self {
        self.out(BACK, (from, until), "hold")
    }

    /// Within these seconds a link `does` what an outage does.
    fn out(self, link: usize, (from, until): (f64, f64), does: &str) -> Self {
        let outage = json!({ "at": time(from), "for": time(until - from), "does": does });
        self.with_link(link, "outages", json!([outage]))
    }

    /// A field of the bottleneck or of the way back.
    fn with_link(mut self, link: usize, field: &str, value: Value) -> Self {
        self.of_links[link].insert(field.to_owned(), value);
        self
    }

    /// From `at` on a field of a link is another.
    fn change(self, link: usize, at: f64, field: &str, value: String) -> Self {
        self.with_link(link, "changes", json!([{ "at": time(at), field: value }]))
    }

    /// All acknowledgements within these seconds come late by `by` seconds.
    pub fn late_acks(mut self, (from, until): (f64, f64), by: f64) -> Self {
        self.back.push(json!({
            "from": time(from), "until": time(until), "late": time(by), "packets": "1-1000000000",
        }));
        self
    }

    /// Acknowledgements advertise `bytes` at most until `until` seconds, and then nearly all there
    /// is.
    pub fn window_until(mut self, until: f64, bytes: u32) -> Self {
        let all = "1-1000000000";
        let open = format!("{}B", u32::MAX);
        self.back.push(json!({
            "until": time(until), "window": format!("{bytes}B"), "packets": all,
        }));
        self.back.push(json!({ "from": time(until), "window": open, "packets": all }));
        self
    }

    /// Of each ten data packets within these seconds the last comes late by `by` seconds.
    pub fn tenth_late(mut self, (from, until): (f64, f64), by: f64) -> Self {
        self.forward.push(json!({
            "from": time(from), "until": time(until), "least": bytes(LEAST), "each": 10,
            "late": time(by), "packets": 10,
        }));
        self
    }

    /// All acknowledgements within these seconds come twice.
    pub fn twice_acks(mut self, (from, until): (f64, f64)) -> Self {
        self.back.push(json!({ "from": time(from), "until": time(until), "each": 1, "twice": 1 }));
        self
    }

    /// Acknowledgements reach the sender each `every` seconds only.
    pub fn gathered_acks(self, every: f64) -> Self {
        self.with_link(BACK, "hold", json!({ "every": time(every) }))
    }

    /// From `at` on the bottleneck has another rate, in bit/s.
    pub fn rate_from(self, at: f64, rate: f64) -> Self {
        self.change(BOTTLENECK, at, "rate", format!("{rate}bps"))
    }

    /// From `at` on the base RTT is `rtt` seconds, half of what is more each way.
    pub fn rtt_from(self, at: f64, rtt: f64) -> Self {
        Self { rtt_later: Some((at, rtt)), ..self }
    }

    /// From `at` on larger packets than `most` bytes are dropped.
    pub fn mtu_from(self, at: f64, most: u32) -> Self {
        self.change(BOTTLENECK, at, "mtu", bytes(most))
    }

    /// A policer of `rate` bit/s and `burst` bytes stands before the bottleneck.
    pub fn policed(self, rate: f64, burst: u32) -> Self {
        let policer = json!({ "rate": format!("{rate}bps"), "burst": bytes(burst) });
        self.with_link(BOTTLENECK, "policer", policer)
    }

    /// The application offers so many bytes at `at` seconds.
    pub fn offered(mut self, at: f64, payload: u64) -> Self {
        self.offers.push(json!({ "at": time(at), "bytes": format!("{payload}B") }));
        self
    }

    /// It offers so many each `every` seconds of these.
    pub fn offered_each(mut self, (from, until): (f64, f64), every: f64, payload: u64) -> Self {
        self.offers.push(json!({
            "at": time(from), "until": time(until), "every": time(every),
            "bytes": format!("{payload}B"),
        }));
        self
    }

    /// It offers without end from `at` seconds on.
    pub fn endless_from(mut self, at: f64) -> Self {
        self.offers.push(json!({ "at": time(at) }));
        self
    }

    /// The fields of the flow that not every subject has, as messages name them, and what it then
    /// is like.
    pub fn asks(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let asks = [
            (self.ecn, "ecn", "its flows cannot be marked"),
            (!self.offers.is_empty(), "offers", "its application sends all at once"),
        ];
        asks.into_iter().filter_map(|(asks, field, why)| asks.then_some((field, why)))
    }

    /// Every second acknowledgement within these seconds is lost.
    pub fn thin_acks(mut self, (from, until): (f64, f64)) -> Self {
        self.back.push(json!({ "from": time(from), "until": time(until), "each": 2, "drop": 2 }));
        self
    }

    /// All packets of data within these seconds are lost.
    pub fn outage(self, from: f64, until: f64) -> Self {
        self.out(BOTTLENECK, (from, until), "lose")
    }

    /// It ends at `until` seconds instead.
    pub fn till(self, until: f64) -> Self {
        Self { until, ..self }
    }

    /// The flow may be marked.
    pub fn with_ecn(mut self) -> Self {
        self.ecn = true;
        self
    }

    /// The flow sends so many bytes.
    pub fn sized(mut self, bytes: u64) -> Self {
        self.size = Some(format!("{bytes}B"));
        self
    }

    /// The scenario of `subject` that meets it, as JSON.
    pub fn scenario(&self, subject: &Subject) -> String {
        let Network { rate, rtt, buffer } = self.network;
        let middle = middle(rtt);
        let link = |name: &str, from: &str, to: &str, rate: f64, delay: f64| {
            json!({
                "name": name, "from": from, "to": to, "duplex": false, "delay": time(delay),
                "rate": format!("{rate}bps"),
            })
        };
        let mut bottleneck = link("bottleneck", "a", "b", rate, middle);
        let mut back = link("back", "b", "a", rate, middle);
        bottleneck["buffer"] = json!(buffer);
        self.ways(&mut bottleneck, &mut back);
        if let Some((at, rtt)) = self.rtt_later {
            for way in [&mut bottleneck, &mut back] {
                add_change(way, json!({ "at": time(at), "delay": time(self::middle(rtt)) }));
            }
        }
        let flow = self.offered_by(subject.flow());
        let links = json!([
            link("sender", "sender", "a", ACCESS, ACCESS_DELAY),
            bottleneck,
            link("receiver", "b", "receiver", ACCESS, ACCESS_DELAY),
            link("receiver-back", "receiver", "b", ACCESS, ACCESS_DELAY),
            back,
            link("sender-back", "a", "sender", ACCESS, ACCESS_DELAY),
        ]);
        json!({
            "duration": time(self.until), "warmup": "0s", "sample": "0s", "rtt": time(rtt),
            "links": links, "flows": [flow],
        })
        .to_string()
    }

    /// Says of the ways there and back what happens on them.
    fn ways(&self, there: &mut Value, back: &mut Value) {
        for (way, script) in [(&mut *there, &self.forward), (&mut *back, &self.back)] {
            if !script.is_empty() {
                way["script"] = json!(script);
            }
        }
        for (way, others) in [there, back].into_iter().zip(&self.of_links) {
            for (field, value) in others {
                way[field] = value.clone();
            }
        }
    }

    /// The flow with what it is offered.
    fn offered_by(&self, mut flow: Value) -> Value {
        if !self.offers.is_empty() {
            flow["offers"] = json!(self.offers);
        }
        flow["size"] = json!(self.size);
        if self.ecn {
            flow["ecn"] = json!(true);
        }
        flow
    }

    /// The scenario in which a kernel's congestion control meets it over a real path, as JSON: a
    /// dumbbell, whose hosts have no links of their own, and segments that leave one by one.
    pub fn dumbbell(&self, subject: &Subject) -> String {
        let Network { rate, rtt, buffer } = self.network;
        let mut there = json!({
            "rate": format!("{rate}bps"), "rtt": time(rtt), "buffer": buffer.unwrap_or(ENDLESS),
        });
        let mut back = json!({});
        self.ways(&mut there, &mut back);
        if let Some((at, rtt)) = self.rtt_later {
            add_change(&mut there, json!({ "at": time(at), "rtt": time(rtt) }));
        }
        if back != json!({}) {
            there["reverse"] = back;
        }
        json!({
            "duration": time(self.until), "warmup": "0s", "sample": "0s", "dumbbell": there,
            "flows": [self.offered_by(subject.real_flow())],
        })
        .to_string()
    }
}

/// A buffer that never overflows.
const ENDLESS: &str = "1000000p";

/// The one-way delay of the links between those of the hosts, in seconds.
fn middle(rtt: f64) -> f64 {
    rtt / 2.0 - 2.0 * ACCESS_DELAY
}

/// One more time at which a way becomes another.
fn add_change(way: &mut Value, change: Value) {
    match way["changes"].as_array_mut() {
        Some(changes) => changes.push(change),
        None => way["changes"] = json!([change]),
    }
}

fn time(seconds: f64) -> String {
    format!("{}us", (seconds * 1e6).round())
}

fn bytes(number: u32) -> String {
    format!("{number}B")
}
