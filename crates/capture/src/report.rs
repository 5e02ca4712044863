//! What a capture tells of each connection.

use crate::causes::{Cause, Shares, Timeline};
use crate::course::extent;
use crate::losses::LossKind;
use crate::path::{Path, Rate};
use crate::sender::{Counts, Sender};
use crate::survey::{Place, Survey};
use serde::Serialize;

/// A value in whatever unit, and between what it lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Between {
    /// The most likely value.
    pub value: f64,
    /// It is hardly less.
    pub low: f64,
    /// It is hardly more.
    pub high: f64,
}

/// What a capture shows.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Frames.
    pub frames: u64,
    /// Frames that hold no TCP.
    pub others: u64,
    /// Segments that were seen before, on another interface or on the same.
    pub doubled: u64,
    /// Segments of connections beyond the number that is kept.
    pub beyond: u64,
    /// Why the file ended before its end, if it did.
    pub broken: Option<String>,
    /// Connections that are in it.
    pub connections: u64,
    /// Each way with payload, the largest first.
    pub flows: Vec<Flow>,
}

/// One way of a connection.
#[derive(Debug, Default, Serialize)]
pub struct Flow {
    /// Address and port of the sender.
    pub sender: String,
    /// Address and port of the receiver.
    pub receiver: String,
    /// Seconds since the first frame of the capture.
    pub begins: f64,
    /// Seconds from its first segment, or from the handshake, to its last.
    pub seconds: f64,
    /// Bytes of payload that arrived.
    pub bytes: u64,
    /// The same per second, in bit/s.
    pub goodput: f64,
    /// Where the capture was made.
    pub place: Place,
    /// What it was held back by for the longest, unless that cannot be told.
    pub cause: Cause,
    /// Shares of its time, in the order of [`Cause::ALL`].
    pub shares: Shares,
    /// The least round-trip time in seconds.
    pub base_rtt: Option<Between>,
    /// The bottleneck's rate in bit/s, headers up to IP's included.
    pub rate: Option<Between>,
    /// If that rate changed: from which second of the flow on it was which, in bit/s.
    pub rates: Option<Vec<(f64, f64)>>,
    /// The bottleneck's buffer in bytes, where congestion has filled it.
    pub buffer: Option<Between>,
    /// The median round-trip time in seconds.
    pub rtt_p50: Option<f64>,
    /// The 99th percentile of round-trip times in seconds.
    pub rtt_p99: Option<f64>,
    /// The share of its time for which the path had a queue.
    pub busy: Option<f64>,
    /// What lost packets.
    pub loss: LossKind,
    /// Segments with payload, as captured.
    pub segments: u64,
    /// Those that were sent again.
    pub again: u64,
    /// Segments that were lost.
    pub lost: u64,
    /// Segments that were sent again and had arrived.
    pub needless: u64,
    /// Losses that were found apart from each other, one repair each.
    pub episodes: u64,
    /// Timers that expired.
    pub timeouts: u64,
    /// Full segments for each acknowledgement of new data.
    pub per_acknowledgement: Option<f64>,
    /// The share of acknowledgements that came in a tenth of the time that their bytes took.
    pub compressed: Option<f64>,
    /// Segments that a network card has put together or was to cut.
    pub offloaded: u64,
    /// The largest payload captured, in bytes.
    pub largest_payload: u32,
    /// The payload of a full segment on the wire, in bytes.
    pub segment_size: u32,
    /// Silences longer than a timeout after which it went on.
    pub restarts: u64,
    /// The largest window of the receiver in bytes; not known without the handshake.
    pub receive_window: Option<u64>,
    /// Times at which the receiver closed its window.
    pub zero_windows: u64,
    /// Seconds for which it was closed.
    pub zero_seconds: f64,
    /// Bytes that arrived and that the capture does not have.
    pub unseen: u64,
    /// Segments that a queue had marked (CE).
    pub marked: u64,
    /// What held it back when, if it is among the largest.
    pub timeline: Option<Timeline>,
}

/// A path that had a queue for a larger share of the time may not have shown itself without.
const ALWAYS: f64 = 0.8;
/// Losses apart from each other from which a buffer is told.
const ENOUGH: u64 = 3;
/// By how much more than a full queue one may seem to be.
const LONGER: f64 = 1.25;
/// Shares below this are no reason.
const LEAST_SHARE: f64 = 0.01;
/// From this share of time on a receiver whose window was the limit may have given the pace.
const HELD_BACK: f64 = 0.3;
/// A window above this many bandwidth-delay products fills a path; a flow of a smaller one that
/// gets this close to a rate shows its window's.
const FILLS: f64 = 1.1;
/// BBR behind a small window was seen to pace at 2.0 times its mean.
const PACED: f64 = 2.2;
/// Segments for each acknowledgement: more is of a receiver that acknowledges when it reads.
const READ: f64 = 8.0;

impl Flow {
    /// What a finished reading of one way tells; `None` if nothing was sent.
    pub fn of(sender: Sender, ends: [String; 2]) -> Option<Self> {
        let Sender { survey, account, losses, path, counts, .. } = sender;
        let account = account?;
        let (first, last) = (counts.first?, counts.last?);
        let whole: f64 = account.shares.iter().sum();
        let shares = account.shares.map(|seconds| if whole > 0.0 { seconds / whole } else { 0.0 });
        let seconds = last.since(first).seconds().max(whole);
        let is_held = shares[Cause::Receiver as usize] >= HELD_BACK;
        let own = |rate: f64| is_held && is_receivers(rate, seconds, &path, &survey, &counts);
        // Without SACK blocks what arrived is told late and at once.
        let rate = path.rate().filter(|rate| !survey.is_cut && !own(rate.value));
        let base = base(&survey, rate);
        let loss = losses.kind(&path.rtts, base.unwrap_or(0.0), path.noise());
        let [sender, receiver] = ends;
        let has_rtt = path.rtts.total() > 0.0;
        let flow = Self {
            sender,
            receiver,
            begins: first.seconds(),
            seconds,
            bytes: counts.delivered,
            goodput: if seconds > 0.0 { 8.0 * counts.delivered as f64 / seconds } else { 0.0 },
            place: survey.place(),
            cause: main_cause(&shares),
            shares,
            base_rtt: base.map(|base| base_between(base, &path, survey.there_first.is_some())),
            rate: rate.map(Between::bits),
            rates: None,
            buffer: None,
            rtt_p50: has_rtt.then(|| path.rtts.quantile(0.5)),
            rtt_p99: has_rtt.then(|| path.rtts.quantile(0.99)),
            busy: path.busy_share(),
            loss,
            lost: losses.lost(),
            needless: losses.needless,
            episodes: losses.episodes.len() as u64 + losses.further,
            timeouts: losses.timeouts,
            segment_size: survey.segment(),
            timeline: account.line,
            ..Self::counted(&counts, survey.segment())
        };
        // A link carries what a flow got.
        let rate = flow.rate.filter(|rate| rate.value > 0.98 * flow.goodput);
        let flow = Self { rate, ..flow };
        if let Some(rates) = path.course.steps().filter(|_| flow.rate.is_some()) {
            return Some(flow.with_changes(rates));
        }
        if let Some((low, high)) = path.course.spread().filter(|_| flow.rate.is_some()) {
            // It changed too quickly for its times to be told.
            return Some(flow.between(8.0 * low, 8.0 * high));
        }
        let base = base.unwrap_or(0.0);
        // A queue that was longer at other times was not full.
        let longest = path.rtts.quantile(0.999) - base;
        let full = losses.full_queue(base).filter(|full| longest < LONGER * full);
        Some(Self { buffer: buffer(&flow, full, survey.packet()), ..flow })
    }

    /// The same over a bottleneck that changed: its rate lies between those that it had, and a
    /// buffer of so many seconds is none of so many bytes.
    fn with_changes(self, steps: Vec<(f64, f64)>) -> Self {
        let rates: Vec<(f64, f64)> = steps.into_iter().map(|(at, rate)| (at, 8.0 * rate)).collect();
        let (low, high) = extent(rates.iter().map(|(_, rate)| *rate));
        Self { rates: Some(rates), ..self.between(low, high) }
    }

    /// The same with a rate that was between these; a policer is what such a link looks like.
    fn between(self, low: f64, high: f64) -> Self {
        let rate = self.rate.map(|Between { value, .. }| Between {
            value,
            low: low.min(value),
            high: high.max(value),
        });
        let loss = if self.loss == LossKind::Policer { LossKind::Untold } else { self.loss };
        Self { rate, loss, ..self }
    }

    fn counted(counts: &Counts, largest: u32) -> Self {
        let ratio = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
        let segments = counts.delivered as f64 / f64::from(largest.max(1));
        Self {
            segments: counts.segments,
            again: counts.again,
            per_acknowledgement: ratio(segments, counts.advancing),
            compressed: ratio(counts.compressed as f64, counts.advancing),
            offloaded: counts.offloaded,
            largest_payload: counts.largest,
            restarts: counts.restarts,
            receive_window: counts.receive_window,
            zero_windows: counts.zero_windows,
            zero_seconds: counts.zero_seconds,
            unseen: counts.unseen,
            marked: counts.marked,
            ..Self::default()
        }
    }
}

/// Takes back the rates that can be no link's, as flows that had as long a queue got more than that
/// together. A buffer goes with its rate.
pub(crate) fn withdraw_shares(flows: &mut [Flow]) {
    let queue_of = |flow: &Flow| {
        let queue = flow.rtt_p50? - flow.base_rtt?.value;
        flow.busy.is_some_and(|busy| busy > 0.3).then_some(queue)
    };
    let full = flows.iter().filter_map(|flow| Some((queue_of(flow)?, flow.goodput)));
    let mut full: Vec<(f64, f64)> = full.collect();
    full.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sums = vec![0.0];
    for (_, goodput) in &full {
        sums.push(sums[sums.len() - 1] + goodput);
    }
    for flow in flows {
        let (Some(rate), Some(queue)) = (flow.rate, queue_of(flow)) else { continue };
        let below = |limit: f64| sums[full.partition_point(|(queue, _)| *queue < limit)];
        let together = below(1.2 * queue) - below(0.8 * queue);
        if together > 1.1 * flow.goodput {
            // What one flow gets may change because of the others.
            flow.rates = None;
        }
        if rate.value < 0.9 * together {
            (flow.rate, flow.rates, flow.buffer) = (None, None, None);
        }
    }
}

/// Doubts the least round trips of flows that always had a queue, and began while another flow was
/// under way: it may have been that one's.
pub(crate) fn doubt_bases(flows: &mut [Flow]) {
    flows.sort_by(|a, b| a.begins.total_cmp(&b.begins));
    let mut ends = f64::NEG_INFINITY;
    for flow in flows {
        let never_empty = flow.busy.is_some_and(|busy| busy > ALWAYS);
        if let Some(base) = flow.base_rtt.as_mut().filter(|_| never_empty && flow.begins < ends) {
            (base.low, flow.buffer) = (0.0, None);
        }
        ends = ends.max(flow.begins + flow.seconds);
    }
}

fn main_cause(shares: &Shares) -> Cause {
    let largest =
        Cause::ALL.into_iter().max_by(|a, b| shares[*a as usize].total_cmp(&shares[*b as usize]));
    largest.filter(|cause| shares[*cause as usize] >= LEAST_SHARE).unwrap_or(Cause::Untold)
}

impl Between {
    /// A rate in bits per second.
    fn bits(rate: Rate) -> Self {
        let [value, low, high] = [rate.value, rate.low, rate.high].map(|bytes| 8.0 * bytes);
        Self { value, low, high }
    }
}

/// Whether a rate in bytes per second may be the receiver's own: its window does not fill a path of
/// that rate, and lets about as much through in `seconds`; or it acknowledges as it reads, much at
/// once.
fn is_receivers(rate: f64, seconds: f64, path: &Path, survey: &Survey, counts: &Counts) -> bool {
    let fills = survey.base().map_or(0.0, |base| FILLS * rate * base.seconds());
    let is_small = counts.receive_window.is_some_and(|window| (window as f64) < fills);
    let mean = counts.delivered as f64 / seconds;
    // A wait for a pacer looks like one in a queue to who sees only when data arrives.
    let most = if path.is_behind() { PACED * mean } else { FILLS * mean };
    let at_once = counts.delivered as f64 / counts.advancing.max(1) as f64;
    (is_small && rate < most) || at_once > READ * f64::from(survey.segment())
}

/// The least round-trip time of a full segment in seconds: the least that was seen, or that of the
/// handshake with the time that a full segment takes longer.
fn base(survey: &Survey, rate: Option<Rate>) -> Option<f64> {
    let (Some(first), Some(back)) = (survey.there_first, survey.back) else {
        return survey.base().map(|base| base.seconds());
    };
    let first = (first + back).seconds();
    let seen = survey.there.map(|there| (there + back).seconds());
    let longer = (survey.packet() - f64::from(survey.headers)) / rate.map_or(0.0, |it| it.value);
    let least = if longer.is_finite() { first + longer } else { first };
    // Without a rate a little more is the time that a full segment takes.
    let is_longer = |seen: f64| !longer.is_finite() && seen < 1.15 * first;
    Some(seen.map_or(least, |seen| if is_longer(seen) { seen } else { seen.min(least) }))
}

/// The least that was ever seen may be more than the path's by a little, as the next above it tell.
fn base_between(base: f64, path: &Path, from_handshake: bool) -> Between {
    // In the middle of a connection a queue may stand all the time.
    if !from_handshake && base > 0.8 * path.rtts.quantile(0.5) {
        return Between { value: base, low: 0.0, high: base };
    }
    let next = path.rtts.quantile(0.01);
    let doubt = if next > 0.0 { (next - base).clamp(0.0, 0.02 * base) } else { 0.02 * base };
    Between { value: base, low: base - 0.5 * doubt, high: 1.002 * base }
}

/// A full queue in bytes, where congestion has filled it.
fn buffer(flow: &Flow, queue: Option<f64>, packet: f64) -> Option<Between> {
    let (rate, queue) = (flow.rate?, queue?);
    let is_known = flow.base_rtt.is_some_and(|base| base.low > 0.0);
    if flow.loss != LossKind::Congestion || flow.episodes < ENOUGH || queue <= 0.0 || !is_known {
        return None;
    }
    // The packet in service counts, and its time is part of the least round trip.
    let bytes = |rate: f64| rate / 8.0 * queue + packet;
    Some(Between {
        value: bytes(rate.value),
        low: bytes(0.9 * rate.low),
        high: bytes(1.1 * rate.high),
    })
}
