//! What the kernel says of its connections over time, in the shape of the simulator's tables.

use crate::clock::Span;
use crate::connection::Connection;
use crate::laws::CongestionControl;
use crate::sys::TcpInfo;
use crate::wire::Seen;
use narrows_scenario::{
    Checked, FlowSeries, LawSeries, LinkSeries, Observed, RealFlow, RealSends, Transfers,
};
use narrows_sim::FlowSummary;
use narrows_transport::{Counters, Limited};
use narrows_units::{Duration, Time};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

/// Without samples the connections are looked at so often.
const USUAL: Duration = Duration::from_millis(20);
/// `TCP_CA_Recovery` and `TCP_CA_Loss` of net/tcp.h.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// What has been seen of the connections.
pub(crate) struct Samples {
    interval: Duration,
    warmup: Time,
    keeps: bool,
    packet: u64,
    flows: Vec<OfFlow>,
}

/// What has been seen of one.
#[derive(Clone, Default)]
struct OfFlow {
    /// Rows of the series: what the kernel says, and payload received.
    rows: Vec<(TcpInfo, u64)>,
    at_warmup: (TcpInfo, u64),
    latest: (TcpInfo, u64),
    /// Recoveries and timeouts in the measured time, as far as looks show them.
    epochs: u32,
    timeouts: u32,
    rtt: (u64, f64),
    started: Option<Time>,
    finished: Option<Time>,
    /// Whether the law shows its window as the threshold.
    is_paced: bool,
    /// Bytes of payload in a packet.
    payload: u64,
}

impl Samples {
    /// Nothing has been seen yet of `flows`, which have `laws`.
    pub fn new(checked: &Checked, flows: &[RealFlow], laws: &[CongestionControl]) -> Self {
        let packet = checked.flows.first().map(|group| group.packet);
        let of_flow = |flow: &RealFlow, law: &CongestionControl| OfFlow {
            is_paced: law.is_paced,
            payload: match flow.sends {
                RealSends::Bytes(..) => packet.map_or(1, |packet| packet.payload()),
                RealSends::Datagrams(_, payload) => payload as u64,
            },
            ..OfFlow::default()
        };
        Self {
            interval: checked.sample.unwrap_or(USUAL),
            warmup: Time::ZERO + checked.warmup,
            keeps: checked.sample.is_some(),
            packet: packet.map_or(1, |packet| packet.bytes.count()),
            flows: flows.iter().zip(laws).map(|(flow, law)| of_flow(flow, law)).collect(),
        }
    }

    /// Looks at the connections until the span is over; returns whether `watch` stopped it.
    pub fn take(
        &mut self,
        connections: &[Connection],
        span: Span<'_>,
        watch: &mut impl FnMut(f64) -> ControlFlow<()>,
    ) -> bool {
        let mut next = Time::ZERO;
        let mut is_warm = false;
        while !span.is_over() {
            let now = span.clock.now();
            if now >= next {
                self.look(connections, now);
                self.keep();
                next += self.interval;
            }
            if !is_warm && now >= self.warmup {
                is_warm = true;
                self.look(connections, now);
                self.flows.iter_mut().for_each(|flow| flow.at_warmup = flow.latest);
            }
            if watch(now.seconds() / span.end.seconds()).is_break() {
                span.stop.store(true, Ordering::Relaxed);
                return true;
            }
            let sooner = if is_warm { span.end } else { self.warmup };
            span.clock.sleep_until(next.min(sooner));
        }
        self.look(connections, span.end);
        if next <= span.end {
            self.keep();
        }
        for (flow, connection) in self.flows.iter_mut().zip(connections) {
            flow.started = *connection.started.lock().expect("nobody panics");
            flow.finished = *connection.finished.lock().expect("nobody panics");
        }
        false
    }

    fn look(&mut self, connections: &[Connection], now: Time) {
        let measured = now >= self.warmup;
        for (flow, connection) in self.flows.iter_mut().zip(connections) {
            let before = flow.latest.0.ca_state;
            let info = connection.info().unwrap_or(flow.latest.0);
            flow.latest = (info, connection.received.load(Ordering::Relaxed));
            if info.rtt == 0 {
                // Of datagrams the kernel knows nothing.
                flow.latest.0.data_segs_out = connection.sent.load(Ordering::Relaxed) as u32;
            }
            if measured && info.rtt > 0 {
                flow.epochs += u32::from(info.ca_state >= RECOVERY && before < RECOVERY);
                flow.timeouts += u32::from(info.ca_state == LOSS && before != LOSS);
                flow.rtt = (flow.rtt.0 + 1, flow.rtt.1 + f64::from(info.rtt) * 1e-6);
            }
        }
    }

    /// Keeps what was seen as a row of the series, if somebody wants one.
    fn keep(&mut self) {
        if self.keeps {
            self.flows.iter_mut().for_each(|flow| flow.rows.push(flow.latest));
        }
    }

    /// All that was seen, with what the path saw there and back.
    pub fn observed(&self, seen: &[Seen]) -> Observed {
        let of_flow = |(number, flow): (usize, &OfFlow)| self.summary(flow, number, seen);
        let summaries: Vec<FlowSummary> = self.flows.iter().enumerate().map(of_flow).collect();
        let delivered = self.flows.iter().map(|flow| flow.latest.1 / flow.payload).sum();
        Observed {
            links: seen.iter().map(|way| way.link.clone()).collect(),
            flows: summaries,
            delivered,
            transfers: Transfers::default(),
            flow_series: self.flow_series(),
            law_series: LawSeries::default(),
            link_series: self.link_series(seen),
        }
    }

    fn summary(&self, flow: &OfFlow, number: usize, seen: &[Seen]) -> FlowSummary {
        let ((before, received), (after, all)) = (flow.at_warmup, flow.latest);
        let lost = seen.first().and_then(|way| way.drops.get(number)).copied().unwrap_or(0);
        FlowSummary {
            sender: Counters {
                sent: u64::from(after.data_segs_out.saturating_sub(before.data_segs_out)),
                retransmitted: after.total_retrans.saturating_sub(before.total_retrans),
                lost: lost as u32,
                epochs: flow.epochs,
                timeouts: flow.timeouts,
                spurious: 0,
                rtt_samples: flow.rtt.0,
                rtt_sum: flow.rtt.1,
            },
            arrived: (all - received) / flow.payload,
            duplicates: 0,
            limited: Limited::default(),
            started: flow.started,
            finished: flow.finished,
            hosted: None,
            delays: None,
            shortage: 0,
        }
    }

    fn flow_series(&self) -> FlowSeries {
        let mut columns = FlowSeries::default();
        let seconds = self.interval.seconds();
        for (number, flow) in self.flows.iter().enumerate() {
            let mut before = (TcpInfo::default(), 0);
            for (row, (info, received)) in flow.rows.iter().enumerate() {
                let (window, threshold) = info.window(flow.is_paced);
                let sent = info.data_segs_out.saturating_sub(before.0.data_segs_out);
                let goodput = ((received - before.1) * 8) as f64 / seconds;
                columns.time.push(row as f64 * seconds);
                columns.flow.push(number as u32);
                columns.window.push(window);
                columns.ssthresh.push(threshold);
                columns.rtt.push(f64::from(info.rtt) * 1e-6);
                columns.in_flight.push(f64::from(info.in_flight()));
                columns.throughput.push((u64::from(sent) * self.packet * 8) as f64 / seconds);
                columns.goodput.push(goodput);
                columns.in_order.push(goodput);
                before = (*info, *received);
            }
        }
        columns
    }

    fn link_series(&self, seen: &[Seen]) -> LinkSeries {
        let mut columns = LinkSeries::default();
        for (number, way) in seen.iter().enumerate() {
            for (row, sample) in way.samples.windows(2).enumerate() {
                let [before, after] = sample else { continue };
                let arrivals = after.arrivals - before.arrivals;
                let drops = after.drops - before.drops;
                let offered = after.offered - before.offered;
                let bits = 8.0 * (after.bytes - before.bytes) as f64;
                columns.time.push((row + 1) as f64 * self.interval.seconds());
                columns.link.push(number as u32);
                columns.queue.push(after.queue as f64);
                columns.loss_rate.push(drops as f64 / arrivals.max(1) as f64);
                columns.capacity.push(offered / self.interval.seconds());
                columns.utilisation.push(if offered > 0.0 { bits / offered } else { 0.0 });
                columns.arrivals.push(arrivals);
                columns.drops.push(drops);
                columns.marks.push(after.marks - before.marks);
            }
        }
        columns
    }
}
