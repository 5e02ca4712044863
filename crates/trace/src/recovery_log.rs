//! A flow's recovery as qlog: a controller that logs what it is told, and a tap at the sender that
//! logs what leaves and what comes back.

use crate::qlog::Qlog;
use narrows_control::{Ack, Controller, Idle, Loss, Mark, Needs, Pacing, Rtt, Tick, Timeout};
use narrows_signal::{Range, Reply, Request};
use narrows_sim::EndTap;
use narrows_transport::{DataHeader, Header, Segment};
use narrows_units::{Duration, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

/// The log of one flow, which its controller and the tap at its sender write.
///
/// Packets are numbered by transmission, from 0, as QUIC's are; TCP's acknowledgements are
/// translated, each sequence number into its latest transmission.
#[derive(Clone)]
pub struct RecoveryLog(Arc<Mutex<Inner>>);

struct Inner {
    log: Qlog,
    packet_bytes: f64,
    state: &'static str,
    /// Transmissions so far.
    sent: u64,
    /// The latest transmission of each sequence number that is not acknowledged.
    outstanding: BTreeMap<u64, u64>,
    /// The metrics written last.
    metrics: Value,
}

/// The type of a packet with data or an acknowledgement.
const SHORT: &str = "1RTT";

impl RecoveryLog {
    /// Begins a log that is written to `writer`; `title` and `description` say what of. Windows are
    /// converted to bytes with packets of `packet_bytes` bytes.
    pub fn new(
        writer: Box<dyn Write + Send>,
        title: &str,
        description: &str,
        packet_bytes: u64,
    ) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            log: Qlog::new(writer, title, description),
            packet_bytes: packet_bytes as f64,
            state: "slow_start",
            sent: 0,
            outstanding: BTreeMap::new(),
            metrics: Value::Null,
        })))
    }

    /// A controller that does what `controller` does, and is logged.
    pub fn wrap(&self, controller: Box<dyn Controller>) -> Box<dyn Controller> {
        Box::new(Logged { controller, log: self.clone() })
    }

    /// Writes what is buffered. Fails if any write failed.
    pub fn finish(&self) -> io::Result<()> {
        self.inner().log.finish()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no writer panics")
    }
}

impl EndTap for RecoveryLog {
    fn sent(&mut self, _flow: u32, at: Time, segment: &Segment) {
        self.inner().sent(at, segment);
    }

    fn received(&mut self, _flow: u32, at: Time, segment: &Segment) {
        self.inner().received(at, segment);
    }
}

impl Inner {
    fn sent(&mut self, at: Time, segment: &Segment) {
        let (kind, number) = match segment.header {
            Header::Syn(_) | Header::QuicInitial => ("initial", 0),
            Header::Data(DataHeader { quic: Some(_), .. }) => (SHORT, segment.number),
            _ => {
                self.outstanding.insert(segment.number, self.sent);
                self.sent += 1;
                (SHORT, self.sent - 1)
            }
        };
        let data = json!({
            "header": { "packet_type": kind, "packet_number": number },
            "raw": { "length": segment.bytes },
        });
        self.log.event(at, "packet_sent", data);
    }

    fn received(&mut self, at: Time, segment: &Segment) {
        let kind = match segment.header {
            Header::SynAck(_) | Header::QuicAccept => "initial",
            _ => SHORT,
        };
        let (ranges, delay) = match segment.header {
            Header::Ack(_) => (self.transmissions(segment), None),
            Header::QuicAck(fields) => {
                let ranges = fields.ranges.iter(segment.number);
                let ranges = ranges.map(|range| (range.start, range.end - 1)).collect();
                (ranges, Some(segment.stamp.since(segment.echoed_stamp)))
            }
            _ => (Vec::new(), None),
        };
        let ranges: Vec<Value> = ranges
            .into_iter()
            .map(
                |(first, last): (u64, u64)| {
                    if first == last { json!([first]) } else { json!([first, last]) }
                },
            )
            .collect();
        let frames = (!ranges.is_empty()).then(|| {
            let mut frame = json!({ "frame_type": "ack", "acked_ranges": ranges });
            if let Some(delay) = delay {
                frame["ack_delay"] = millis(delay);
            }
            json!([frame])
        });
        let data = json!({
            "header": { "packet_type": kind },
            "frames": frames,
            "raw": { "length": segment.bytes },
        });
        self.log.event(at, "packet_received", data);
    }

    /// The transmissions that a TCP acknowledgement newly acknowledges, as ranges with both ends.
    fn transmissions(&mut self, ack: &Segment) -> Vec<(u64, u64)> {
        let sack = ack.sack();
        let below = Range { start: 0, end: ack.number };
        let mut found = Vec::new();
        for range in [below].into_iter().chain(sack.iter(ack.number)) {
            let arrived = self.outstanding.extract_if(range.start..range.end, |_, _| true);
            found.extend(arrived.map(|(_, transmission)| transmission));
        }
        found.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in found {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        ranges
    }

    /// Metrics of the controller, those that have changed.
    fn metrics(&mut self, now: Time, controller: &dyn Controller, ack: Option<&Ack>) {
        let rtt = ack.and_then(|ack| ack.rtt);
        let bytes =
            |packets: f64| packets.is_finite().then_some((packets * self.packet_bytes) as u64);
        let rate = match controller.pacing() {
            Pacing::Unpaced => None,
            Pacing::Rate { packets_per_second, .. } => Some(packets_per_second),
            Pacing::Window { gain, .. } => {
                rtt.map(|rtt| gain * controller.window() / rtt.smoothed.seconds())
            }
        };
        let all = json!({
            "min_rtt": rtt.map(|rtt| millis(rtt.minimum)),
            "smoothed_rtt": rtt.map(|rtt| millis(rtt.smoothed)),
            "latest_rtt": rtt.map(|rtt| millis(rtt.latest)),
            "congestion_window": bytes(controller.window()),
            "bytes_in_flight": ack.and_then(|ack| bytes(ack.in_flight)),
            "packets_in_flight": ack.map(|ack| ack.in_flight as u64),
            "ssthresh": bytes(controller.ssthresh()),
            "pacing_rate": rate.and_then(bytes).map(|bytes| 8 * bytes),
        });
        let mut changed = all.clone();
        if let (Value::Object(fields), Value::Object(before)) = (&mut changed, &self.metrics) {
            fields.retain(|name, value| before.get(name) != Some(value));
        }
        let news = changed.as_object().is_some_and(|it| it.values().any(|value| !value.is_null()));
        self.metrics = all;
        if news {
            self.log.event(now, "recovery_metrics_updated", changed);
        }
    }

    fn enter(&mut self, now: Time, state: &'static str, trigger: Option<&str>) {
        if state == self.state {
            return;
        }
        let data = json!({ "old": self.state, "new": state, "trigger": trigger });
        self.state = state;
        self.log.event(now, "congestion_state_updated", data);
    }
}

/// A time as qlog has it: milliseconds in 32 bits.
fn millis(span: Duration) -> Value {
    json!((span.seconds() * 1e3) as f32)
}

/// A controller that is logged.
struct Logged {
    controller: Box<dyn Controller>,
    log: RecoveryLog,
}

impl Logged {
    fn metrics(&self, now: Time, ack: Option<&Ack>) {
        self.log.inner().metrics(now, &*self.controller, ack);
    }
}

impl Controller for Logged {
    fn on_ack(&mut self, ack: &Ack) {
        self.controller.on_ack(ack);
        let slow_start = self.controller.window() < self.controller.ssthresh();
        if !ack.recovering {
            let state = if slow_start { "slow_start" } else { "congestion_avoidance" };
            self.log.inner().enter(ack.now, state, None);
        }
        self.metrics(ack.now, Some(ack));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.controller.on_loss(loss);
        let data =
            json!({ "header": { "packet_type": SHORT, "packet_number": loss.transmission } });
        self.log.inner().log.event(loss.now, "packet_lost", data);
        if loss.opens_epoch {
            self.log.inner().enter(loss.now, "recovery", Some("loss"));
            self.metrics(loss.now, None);
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.controller.on_mark(mark);
        if mark.opens_epoch {
            self.log.inner().enter(mark.now, "recovery", Some("ecn"));
            self.metrics(mark.now, None);
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.controller.on_timeout(timeout);
        self.log.inner().enter(timeout.now, "slow_start", Some("timeout"));
        self.metrics(timeout.now, None);
    }

    fn on_timer(&mut self, tick: &Tick) {
        self.controller.on_timer(tick);
        self.metrics(tick.now, None);
    }

    fn on_accepted(&mut self, reply: Reply, rtt: Option<Rtt>) {
        self.controller.on_accepted(reply, rtt);
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.controller.on_restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.controller.on_unused(used);
    }

    fn on_moderation(&mut self, window: f64) {
        self.controller.on_moderation(window);
    }

    fn on_spurious(&mut self) {
        self.controller.on_spurious();
    }

    fn wakes_at(&self) -> Time {
        self.controller.wakes_at()
    }

    fn window(&self) -> f64 {
        self.controller.window()
    }

    fn least_window(&self) -> f64 {
        self.controller.least_window()
    }

    fn ssthresh(&self) -> f64 {
        self.controller.ssthresh()
    }

    fn flight_limit(&self) -> f64 {
        self.controller.flight_limit()
    }

    fn needs(&self) -> Needs {
        self.controller.needs()
    }

    fn request(&self) -> Request {
        self.controller.request()
    }

    fn least_burst(&self) -> f64 {
        self.controller.least_burst()
    }

    fn pacing(&self) -> Pacing {
        self.controller.pacing()
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.controller.probe(show);
    }
}
