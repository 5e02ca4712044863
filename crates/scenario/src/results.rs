//! What a run showed, in the units that people compare: bits per second, ratios, seconds, packets.
//! The definitions are those of `docs/metrics.md`.

use crate::courses::{self, Courses};
use crate::groups::{self, GroupResult, Queries, SizeClass, Taken};
use crate::transfers::{self, Transfers};
use crate::{Checked, CheckedFlow, CheckedLink, Warning, remarks};
use narrows_sim::{FlowSummary, Histogram, LinkSummary, PacketDelays, Simulation};
use narrows_transport::SendLimit;
use narrows_units::Time;

/// Everything a run showed.
pub struct Results {
    /// The seed it ran under.
    pub seed: u64,
    /// The scenario's `cc`s, joined.
    pub cc: String,
    /// The scenario's pacings, joined.
    pub pacing: String,
    bottleneck: usize,
    /// What ran, but hardly as it was meant, and what the numbers should be read with; one a line.
    pub warnings: String,
    /// Each flow.
    pub flows: Vec<FlowResult>,
    /// Each link between routers.
    pub links: Vec<LinkResult>,
    /// Jain's index over the goodput of flows that go the way of the first.
    pub jain: f64,
    /// From the last start of a flow until they shared the goodput fairly and stayed so, in
    /// seconds; NaN if that never happened or nothing was sampled.
    pub convergence_time: f64,
    /// How much windows moved together; NaN if nothing was sampled.
    pub synchronisation: f64,
    /// Mean over those flows of base RTT over mean RTT (a ratio).
    pub rtt_ratio: f64,
    /// Mean RTT over those flows' samples, in seconds; NaN without samples.
    pub mean_rtt: f64,
    /// Sum of all flows' goodput over that way, bit/s.
    pub goodput: f64,
    /// Data packets delivered in the whole run.
    pub delivered: u64,
    /// What was requested or arrived at random, a column each.
    pub transfers: Transfers,
    /// How long those of the measured window took.
    pub taken: Taken,
    /// Each group of flows.
    pub groups: Vec<GroupResult>,
    /// Its transfers by size.
    pub size_classes: Vec<SizeClass>,
    /// Queries that many answered, a column each.
    pub queries: Queries,
    /// Samples of flows, a column each.
    pub flow_series: FlowSeries,
    /// Samples of what laws show of themselves, a column each.
    pub law_series: LawSeries,
    /// Samples of links, a column each.
    pub link_series: LinkSeries,
}

/// What one flow showed within the measured window.
#[derive(Clone, Debug)]
pub struct FlowResult {
    /// Its number, from 0.
    pub number: u32,
    /// Its group's name; empty if it has none.
    pub name: String,
    /// Its `cc`, as written.
    pub cc: String,
    /// Its pacing.
    pub pacing: &'static str,
    /// True from right to left.
    pub reverse: bool,
    /// New payload at the receiver, bit/s.
    pub goodput: f64,
    /// Data sent on the wire, bit/s.
    pub throughput: f64,
    /// Packets found lost over packets sent.
    pub loss_rate: f64,
    /// Mean of its RTT samples in seconds; NaN if there are none.
    pub mean_rtt: f64,
    /// Arrival of the last packet in order minus first departure, in seconds, in the whole run;
    /// `None` for data without an end, for requests, and if the run ended first.
    pub completion_time: Option<f64>,
    /// Counters.
    pub summary: FlowSummary,
}

/// What one link showed within the measured window.
#[derive(Clone, Debug)]
pub struct LinkResult {
    /// Its number, from 0.
    pub number: u32,
    /// As in the scenario.
    pub name: String,
    /// Its rate in bit/s.
    pub rate: f64,
    /// Drops and wire losses over arrivals.
    pub loss_rate: f64,
    /// Index of dispersion of its arrivals; NaN if nothing was sampled.
    pub burstiness: f64,
    /// Counters.
    pub summary: LinkSummary,
}

impl FlowResult {
    /// When data first left, in seconds; NaN if none has.
    pub fn started(&self) -> f64 {
        self.summary.started.map_or(f64::NAN, |time| time.seconds())
    }

    /// Share of the connected time that it spent under `limit`; NaN if it was never connected.
    pub(crate) fn limited(&self, limit: SendLimit) -> f64 {
        let limited = &self.summary.limited;
        limited.by(limit).seconds() / limited.whole().seconds()
    }

    /// What `read` shows of the delays of single packets; NaN if the application does not offer
    /// them one by one.
    pub(crate) fn packet_delay(&self, read: fn(&PacketDelays) -> f64) -> f64 {
        self.summary.delays.as_ref().map_or(f64::NAN, read)
    }
}

impl Results {
    /// The link that the summary speaks of: the most used of those that data crosses.
    pub fn bottleneck(&self) -> &LinkResult {
        &self.links[self.bottleneck]
    }
}

impl LinkResult {
    /// The most packets at any time; NaN if nobody watched.
    pub fn max_queue(&self) -> f64 {
        self.summary.max_queue.map_or(f64::NAN, |packets| packets as f64)
    }

    /// The most bytes at any time; NaN if nobody watched.
    pub fn max_queue_bytes(&self) -> f64 {
        self.summary.max_queue_bytes.map_or(f64::NAN, |bytes| bytes as f64)
    }

    /// A quantile of the queue that arrivals found, in packets.
    pub fn queue_quantile(&self, share: f64) -> f64 {
        self.summary
            .queue_found
            .as_ref()
            .map_or(f64::NAN, |histogram| histogram.quantile(share) as f64)
            // The middle of a slot may lie above all that was there.
            .min(self.max_queue())
    }

    /// A quantile of the delay in queue and transmitter, in seconds.
    pub fn delay_quantile(&self, share: f64) -> f64 {
        self.summary
            .delay
            .as_ref()
            .map_or(f64::NAN, |histogram| histogram.quantile(share) as f64 * 1e-9)
    }

    /// Mean delay in queue and transmitter, in seconds.
    pub fn mean_delay(&self) -> f64 {
        self.summary.delay.as_ref().map_or(f64::NAN, |histogram| Histogram::mean(histogram) * 1e-9)
    }
}

/// Samples of flows, one row per flow and sample.
#[derive(Clone, Debug, Default)]
pub struct FlowSeries {
    /// Seconds.
    pub time: Vec<f64>,
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// Packets.
    pub window: Vec<f64>,
    /// Packets.
    pub ssthresh: Vec<f64>,
    /// Seconds.
    pub rtt: Vec<f64>,
    /// Packets.
    pub in_flight: Vec<f64>,
    /// Sent over the interval that ends here, bit/s on the wire.
    pub throughput: Vec<f64>,
    /// New payload over the interval that ends here, bit/s.
    pub goodput: Vec<f64>,
    /// Payload that the application got in order over the interval that ends here, bit/s.
    pub in_order: Vec<f64>,
}

/// Samples of the laws' own quantities, one row per flow, quantity and sample.
#[derive(Clone, Debug, Default)]
pub struct LawSeries {
    /// Seconds.
    pub time: Vec<f64>,
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// Name of the quantity.
    pub name: Vec<&'static str>,
    /// Its value, in the law's own unit.
    pub value: Vec<f64>,
}

/// Samples of links, one row per link and sample.
#[derive(Clone, Debug, Default)]
pub struct LinkSeries {
    /// Seconds: the end of the interval.
    pub time: Vec<f64>,
    /// Number of the link.
    pub link: Vec<u32>,
    /// Packets at that time.
    pub queue: Vec<f64>,
    /// Drops over arrivals of the interval.
    pub loss_rate: Vec<f64>,
    /// Bits that could have departed in the interval, per second.
    pub capacity: Vec<f64>,
    /// Bits departed over those that could have; 0 if none could.
    pub utilisation: Vec<f64>,
    /// Packets that came to the queue in the interval.
    pub arrivals: Vec<u64>,
    /// Packets that found no room in the interval.
    pub drops: Vec<u64>,
    /// Packets that the queue marked in the interval.
    pub marks: Vec<u64>,
}

/// What was seen of a run, simulated or real, in the order of its flows and of its links.
pub struct Observed<Flows = Vec<FlowSummary>> {
    /// Each flow; one is asked for after the other, so that a hundred thousand need not be there
    /// twice.
    pub flows: Flows,
    /// Each link between routers.
    pub links: Vec<LinkSummary>,
    /// Data packets delivered in the whole run.
    pub delivered: u64,
    /// What was requested or arrived at random.
    pub transfers: Transfers,
    /// Samples of flows.
    pub flow_series: FlowSeries,
    /// Samples of what laws show of themselves.
    pub law_series: LawSeries,
    /// Samples of links.
    pub link_series: LinkSeries,
}

pub(crate) fn gather(checked: &Checked, simulation: &Simulation, seed: u64) -> Results {
    let flows = (0..checked.flow_count() as usize).map(|flow| simulation.flow(flow));
    let links = (0..checked.links.len()).map(|link| simulation.link(link));
    let observed = Observed {
        flows,
        links: links.collect(),
        delivered: simulation.delivered(),
        transfers: transfers::gather(checked, simulation),
        flow_series: flow_series(checked, simulation),
        law_series: law_series(checked, simulation),
        link_series: link_series(checked, simulation),
    };
    assemble(checked, seed, observed)
}

/// What numbers of a run that is under way should be read with; `checked` is of what has been seen.
pub(crate) fn remarks(checked: &Checked, simulation: &Simulation) -> Vec<Warning> {
    let flows = (0..checked.flow_count() as usize).map(|flow| simulation.flow(flow));
    let flows = flow_results(checked, flows);
    let links = checked.links.iter().enumerate();
    let links = links.map(|(number, link)| link_result(number, link, simulation.link(number)));
    let links: Vec<LinkResult> = links.collect();
    remarks::find(checked, &flows, &links, bottleneck(&links), remarks::Of::SoFar)
}

/// What `observed` says of a run of `checked` under `seed`.
pub fn assemble(
    checked: &Checked,
    seed: u64,
    observed: Observed<impl IntoIterator<Item = FlowSummary>>,
) -> Results {
    let flows = flow_results(checked, observed.flows);
    let described = checked.links.iter().zip(observed.links).enumerate();
    let mut links: Vec<LinkResult> =
        described.map(|(number, (link, summary))| link_result(number, link, summary)).collect();
    add_burstiness(&mut links, &observed.link_series, checked);
    let courses = Courses::new(checked, &flows, &observed.flow_series);
    let forward: Vec<&FlowResult> =
        flows.iter().filter(|flow| flow.reverse == flows[0].reverse).collect();
    // A flow of a pool has as much to do as chance gives it.
    let stay = checked
        .groups()
        .zip(&flows)
        .filter(|(group, flow)| group.arriving.is_none() && flow.reverse == flows[0].reverse);
    let shares: Vec<f64> = stay.map(|(_, flow)| flow.goodput).collect();
    let goodput = forward.iter().map(|flow| flow.goodput).sum();
    let rtt_sum: f64 = forward.iter().map(|flow| flow.summary.sender.rtt_sum).sum();
    let rtt_samples: u64 = forward.iter().map(|flow| flow.summary.sender.rtt_samples).sum();
    let bottleneck = bottleneck(&links);
    let transfers = observed.transfers;
    let taken = groups::of_all(checked, &transfers);
    let groups = groups::gather(checked, &flows, &transfers, &courses);
    let size_classes = groups::by_size(checked, &transfers);
    let queries = groups::queries(checked, &transfers);
    let remarks = remarks::find(checked, &flows, &links, bottleneck, remarks::Of::Whole);
    let warnings: Vec<_> =
        checked.warnings.iter().chain(&remarks).map(Warning::to_string).collect();
    Results {
        seed,
        warnings: warnings.join("\n"),
        cc: joined(checked.flows.iter().map(|group| group.cc.as_str()).collect()),
        pacing: joined(checked.flows.iter().map(|group| group.pacing).collect()),
        bottleneck,
        jain: if shares.is_empty() { f64::NAN } else { jain(&shares) },
        convergence_time: courses.convergence_time,
        synchronisation: courses.synchronisation,
        rtt_ratio: rtt_ratio(checked, &flows),
        mean_rtt: rtt_sum / rtt_samples as f64,
        goodput,
        delivered: observed.delivered,
        transfers,
        taken,
        groups,
        size_classes,
        queries,
        flow_series: observed.flow_series,
        law_series: observed.law_series,
        link_series: observed.link_series,
        flows,
        links,
    }
}

/// (Σx)²/(nΣx²); 1 if all are 0 (RFC 5166 §2.3.1).
pub(crate) fn jain(values: &[f64]) -> f64 {
    let (sum, squares) =
        values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares == 0.0 { 1.0 } else { sum * sum / (values.len() as f64 * squares) }
}

/// Mean of base RTT over mean RTT of the flows that go the first's way and have RTTs.
fn rtt_ratio(checked: &Checked, flows: &[FlowResult]) -> f64 {
    let attached = checked.flows.iter().flat_map(|group| &group.attachments);
    let ratios = attached.zip(flows).filter(|(_, flow)| flow.reverse == flows[0].reverse);
    let ratios = ratios.map(|(it, flow)| it.base_rtt.seconds() / flow.mean_rtt);
    let ratios = ratios.filter(|ratio| ratio.is_finite());
    let (count, sum) = ratios.fold((0.0, 0.0), |(count, sum), ratio| (count + 1.0, sum + ratio));
    sum / count
}

/// What share of `sent` packets were found lost; all, if more were, which had left before.
fn share_lost(sent: u64, lost: u64) -> f64 {
    if lost == 0 { 0.0 } else { lost as f64 / sent.max(lost) as f64 }
}

/// The link with the highest utilisation, the first of equals.
fn bottleneck(links: &[LinkResult]) -> usize {
    let most = |best: usize, number: usize| {
        if links[number].summary.utilisation > links[best].summary.utilisation {
            number
        } else {
            best
        }
    };
    (0..links.len()).reduce(most).unwrap_or(0)
}

fn flow_results(
    checked: &Checked,
    summaries: impl IntoIterator<Item = FlowSummary>,
) -> Vec<FlowResult> {
    let seconds = (checked.duration - checked.warmup).seconds();
    let groups = checked.groups().zip(summaries);
    let result = |(number, (group, summary)): (usize, (&CheckedFlow, FlowSummary))| {
        let sent = summary.sender.sent;
        let completion_time = summary
            .finished
            .zip(summary.started)
            .filter(|_| group.is_finite())
            .map(|(finished, started)| finished.since(started).seconds());
        // The last packet, which may be short, is the one that ends the flow.
        let warmed_up = narrows_units::Time::ZERO + checked.warmup;
        let ended_here = summary.finished.is_some_and(|finished| finished >= warmed_up);
        let hosted = summary.hosted.as_deref();
        let shortage = if ended_here && summary.arrived > 0 { group.shortage() } else { 0 };
        let new_bytes = match hosted {
            Some(hosted) => hosted.far.delivered,
            None => {
                let full = summary.arrived * group.packet.payload();
                full.saturating_sub(shortage + summary.shortage)
            }
        };
        let bytes = group.packet.bytes.count();
        let sent_bytes = match hosted {
            Some(hosted) => hosted.near.wire_bytes.sent,
            // What is short is sent about as often as it arrives.
            None => (sent * bytes).saturating_sub(shortage + summary.shortage),
        };
        FlowResult {
            number: number as u32,
            name: group.name.clone(),
            cc: group.cc.clone(),
            pacing: group.pacing,
            reverse: group.reverse,
            goodput: (new_bytes * 8) as f64 / seconds,
            throughput: (sent_bytes * 8) as f64 / seconds,
            loss_rate: share_lost(sent, summary.sender.lost.into()),
            mean_rtt: summary.sender.rtt_sum / summary.sender.rtt_samples as f64,
            completion_time,
            summary,
        }
    };
    groups.enumerate().map(result).collect()
}

/// Texts joined by +, without those that repeat the one before.
fn joined(mut texts: Vec<&str>) -> String {
    texts.dedup();
    texts.join("+")
}

fn add_burstiness(links: &mut [LinkResult], series: &LinkSeries, checked: &Checked) {
    for link in links {
        link.burstiness = courses::burstiness(series, link.number, checked.warmup.seconds());
    }
}

fn link_result(number: usize, link: &CheckedLink, summary: LinkSummary) -> LinkResult {
    let dropped = summary.drops + summary.scripted + summary.policed;
    let lost = (dropped + summary.wire_losses) as f64;
    let loss_rate = if summary.arrivals == 0 { 0.0 } else { lost / summary.arrivals as f64 };
    LinkResult {
        number: number as u32,
        name: link.name.clone(),
        rate: link.rate.bits_per_second() as f64,
        loss_rate,
        burstiness: f64::NAN,
        summary,
    }
}

fn flow_series(checked: &Checked, simulation: &Simulation) -> FlowSeries {
    let mut columns = FlowSeries::default();
    let Some(interval) = checked.sample.map(|interval| interval.seconds()) else { return columns };
    let groups = checked.groups();
    for (number, group) in groups.enumerate() {
        let Some((sender, receiver)) = simulation.flow_series(number) else { continue };
        let rows = sender.window.len();
        let rate = |column: &[u64], row: usize, bytes: u64| {
            let before = if row == 0 { 0 } else { column[row - 1] };
            ((column[row] - before) * bytes * 8) as f64 / interval
        };
        columns.time.extend((0..rows).map(|row| row as f64 * interval));
        columns.flow.extend(std::iter::repeat_n(number as u32, rows));
        columns.window.extend(&sender.window);
        columns.ssthresh.extend(&sender.ssthresh);
        columns.rtt.extend(&sender.rtt);
        columns.in_flight.extend(&sender.in_flight);
        columns
            .throughput
            .extend((0..rows).map(|row| rate(&sender.sent, row, group.packet.bytes.count())));
        // A hosted end counts bytes.
        let unit = if group.stack().is_some() { 1 } else { group.packet.payload() };
        columns.goodput.extend((0..rows).map(|row| rate(&receiver.arrived, row, unit)));
        columns.in_order.extend((0..rows).map(|row| rate(&receiver.in_order, row, unit)));
    }
    columns
}

fn law_series(checked: &Checked, simulation: &Simulation) -> LawSeries {
    let mut columns = LawSeries::default();
    let Some(interval) = checked.sample.map(|interval| interval.seconds()) else { return columns };
    for flow in 0..checked.flow_count() as usize {
        let Some((sender, _)) = simulation.flow_series(flow) else { continue };
        for (name, values) in &sender.law {
            columns.time.extend((0..values.len()).map(|row| row as f64 * interval));
            columns.flow.extend(std::iter::repeat_n(flow as u32, values.len()));
            columns.name.extend(std::iter::repeat_n(*name, values.len()));
            columns.value.extend(values);
        }
    }
    columns
}

fn link_series(checked: &Checked, simulation: &Simulation) -> LinkSeries {
    let mut columns = LinkSeries::default();
    for number in 0..checked.links.len() {
        let Some((interval, series)) = simulation.link_series(number) else { continue };
        for (row, queue) in series.queue.iter().enumerate() {
            let at = |column: &[u64]| column.get(row).copied().unwrap_or(0) as f64;
            columns.time.push((row + 1) as f64 * interval.seconds());
            columns.link.push(number as u32);
            columns.queue.push(*queue as f64);
            columns.loss_rate.push(at(&series.drops) / at(&series.arrivals).max(1.0));
            let [from, to] = [row as u64, row as u64 + 1].map(|row| Time::ZERO + interval * row);
            let offered = simulation.offered(number, from, to);
            let used = if offered > 0.0 { at(&series.departed_bytes) * 8.0 / offered } else { 0.0 };
            columns.capacity.push(offered / interval.seconds());
            columns.utilisation.push(used);
            columns.arrivals.push(at(&series.arrivals) as u64);
            columns.drops.push(at(&series.drops) as u64);
            columns.marks.push(at(&series.marks) as u64);
        }
    }
    columns
}
