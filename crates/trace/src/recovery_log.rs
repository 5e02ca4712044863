//! A flow's recovery as qlog (draft-ietf-quic-qlog-main-schema, -quic-events): a controller that
//! logs what it is told.

use narrows_control::{Ack, Controller, Idle, Loss, Mark, Needs, Pacing, Rtt, Timeout};
use narrows_signal::{Reply, Request};
use narrows_units::{Duration, Time};
use qlog::events::quic::{
    CongestionStateUpdated, PacketHeader, PacketLost, PacketLostTrigger, PacketType,
    RecoveryMetricsUpdated,
};
use qlog::events::{EventData, EventImportance, QUIC_URI};
use qlog::streamer::{EventTimePrecision, QlogStreamer};
use qlog::{TraceSeq, VantagePoint, VantagePointType};
use std::io::Write;

#[expect(
    clippy::disallowed_types,
    reason = "qlog takes times as instants; this one is only the zero for simulated times"
)]
type Origin = std::time::Instant;

/// Wraps a controller: passes every call on, and logs metrics, losses and changes of state as
/// JSON-SEQ.
///
/// A log cannot report an error to its caller: if the writer fails, the log ends there and lacks
/// its tail.
pub struct RecoveryLog {
    controller: Box<dyn Controller>,
    origin: Origin,
    log: Option<QlogStreamer>,
    packet_bytes: f64,
    state: &'static str,
}

impl RecoveryLog {
    /// Creates a log, titled `title`, that writes what `controller` is told to `writer`; windows
    /// are converted to bytes with packets of `packet_bytes` bytes.
    pub fn new(
        controller: Box<dyn Controller>,
        writer: Box<dyn Write + Send + Sync>,
        title: &str,
        packet_bytes: u64,
    ) -> Self {
        let vantage_point = VantagePoint { name: None, ty: VantagePointType::Server, flow: None };
        let trace = TraceSeq::new(
            Some(title.to_owned()),
            None,
            None,
            Some(vantage_point),
            vec![QUIC_URI.to_owned()],
        );
        let origin = Origin::now();
        let precision = EventTimePrecision::NanoSeconds;
        let mut log = QlogStreamer::new(
            Some(title.to_owned()),
            None,
            origin,
            trace,
            EventImportance::Base,
            precision,
            writer,
        );
        let log = log.start_log().is_ok().then_some(log);
        Self { controller, origin, log, packet_bytes: packet_bytes as f64, state: "slow_start" }
    }

    fn write(&mut self, now: Time, event: EventData) {
        let at = self.origin + std::time::Duration::from_nanos(now.picos() / 1000);
        let written = self.log.as_mut().map(|log| log.add_event_data_with_instant(event, at));
        if matches!(written, Some(Err(_))) {
            self.log = None;
        }
    }

    fn metrics(&mut self, now: Time, ack: Option<&Ack>) {
        let millis = |span: Duration| (span.seconds() * 1e3) as f32;
        let rtt = ack.and_then(|ack| ack.rtt);
        let bytes =
            |packets: f64| packets.is_finite().then_some((packets * self.packet_bytes) as u64);
        let metrics = RecoveryMetricsUpdated {
            min_rtt: rtt.map(|rtt| millis(rtt.minimum)),
            smoothed_rtt: rtt.map(|rtt| millis(rtt.smoothed)),
            latest_rtt: rtt.map(|rtt| millis(rtt.latest)),
            congestion_window: bytes(self.controller.window()),
            bytes_in_flight: ack.and_then(|ack| bytes(ack.in_flight)),
            packets_in_flight: ack.map(|ack| ack.in_flight as u64),
            ssthresh: bytes(self.controller.ssthresh()),
            ..RecoveryMetricsUpdated::default()
        };
        self.write(now, EventData::QuicMetricsUpdated(metrics));
    }

    fn enter(&mut self, now: Time, state: &'static str) {
        if state != self.state {
            let update = CongestionStateUpdated {
                old: Some(self.state.to_owned()),
                new: state.to_owned(),
                trigger: None,
            };
            self.state = state;
            self.write(now, EventData::QuicCongestionStateUpdated(update));
        }
    }
}

impl Controller for RecoveryLog {
    fn on_ack(&mut self, ack: &Ack) {
        self.controller.on_ack(ack);
        let slow_start = self.controller.window() < self.controller.ssthresh();
        if !ack.recovering {
            self.enter(ack.now, if slow_start { "slow_start" } else { "congestion_avoidance" });
        }
        self.metrics(ack.now, Some(ack));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.controller.on_loss(loss);
        let header = PacketHeader::new(
            PacketType::OneRtt,
            Some(loss.transmission),
            None,
            None,
            None,
            None,
            None,
        );
        let trigger = Some(PacketLostTrigger::ReorderingThreshold);
        self.write(
            loss.now,
            EventData::QuicPacketLost(PacketLost {
                header: Some(header),
                trigger,
                ..PacketLost::default()
            }),
        );
        if loss.opens_epoch {
            self.enter(loss.now, "recovery");
            self.metrics(loss.now, None);
        }
    }

    fn on_accepted(&mut self, reply: Reply, rtt: Option<Rtt>) {
        self.controller.on_accepted(reply, rtt);
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.controller.on_mark(mark);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.controller.on_timeout(timeout);
        self.enter(timeout.now, "slow_start");
        self.metrics(timeout.now, None);
    }

    fn on_timer(&mut self, now: Time) {
        self.controller.on_timer(now);
        self.metrics(now, None);
    }

    fn wakes_at(&self) -> Time {
        self.controller.wakes_at()
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

    fn pacing(&self) -> Pacing {
        self.controller.pacing()
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.controller.probe(show);
    }
}

impl Drop for RecoveryLog {
    fn drop(&mut self) {
        if let Some(log) = &mut self.log {
            // No caller is left to report an error to; if this fails, the file lacks its tail.
            let _ = log.finish_log();
        }
    }
}
