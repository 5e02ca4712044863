//! What a run shows, each column said once: its name, its unit, what it means and where that comes
//! from. The tables, Python's tables for people and `docs/metrics.md` are made from this.

use crate::groups::{GroupResult, Queries, SizeClass};
use crate::results::{FlowResult, FlowSeries, LawSeries, LinkResult, LinkSeries, Results};
use crate::transfers::Transfers;
use narrows_sim::PacketDelays;
use narrows_transport::SendLimit;

/// A column of a table of results, or a number that its user derives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The table that has it; "record" for what a front adds to a run.
    pub table: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What kind of quantity it is.
    pub kind: Kind,
    /// What it means.
    pub definition: &'static str,
    /// The document that defines it; empty if that is this page.
    pub source: &'static str,
}

/// A kind of quantity: the unit of the values, and how people want to see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name.
    Name,
    /// The number by which a flow or a link is called.
    Number,
    /// Yes or no.
    Switch,
    /// Bits per second.
    Rate,
    /// A ratio near 1.
    Ratio,
    /// A small ratio, which people read in percent.
    Share,
    /// A part of the time, which people read in percent.
    Part,
    /// Seconds, which people read as they are.
    Time,
    /// Seconds, which people read in milliseconds.
    Delay,
    /// Packets, a mean.
    Packets,
    /// A number of packets, or of events.
    Count,
    /// Bytes.
    Bytes,
    /// Packets per second.
    Speed,
}

impl Kind {
    /// Each kind by name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Number => "number",
            Self::Switch => "switch",
            Self::Rate => "rate",
            Self::Ratio => "ratio",
            Self::Share => "share",
            Self::Part => "part",
            Self::Time => "time",
            Self::Delay => "delay",
            Self::Packets => "packets",
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Speed => "speed",
        }
    }

    /// The unit of the values in the tables.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Name | Self::Number | Self::Switch => "",
            Self::Rate => "bit/s",
            Self::Ratio | Self::Share | Self::Part => "ratio",
            Self::Time | Self::Delay => "s",
            Self::Packets => "packets",
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Speed => "packets/s",
        }
    }
}

/// A column with what it shows of a row `R`, or of a whole table `R` of columns.
pub(crate) struct Column<R: 'static> {
    pub name: &'static str,
    pub kind: Kind,
    pub definition: &'static str,
    pub source: &'static str,
    pub values: Values<R>,
}

impl<R> Column<R> {
    /// What more of it is worth to who is measured.
    pub fn worth(&self) -> Worth {
        const GOOD: [&str; 8] = [
            "goodput",
            "throughput",
            "utilisation",
            "share",
            "jain",
            "power",
            "efficiency",
            "finished_transfers",
        ];
        const BAD: [&str; 10] = [
            "drops",
            "wire_losses",
            "lost",
            "retransmitted",
            "timeouts",
            "unfinished",
            "unfinished_transfers",
            "starvation",
            "variation",
            "mean_rtt",
        ];
        let holds = |words: &[&str]| words.iter().any(|word| self.name.contains(word));
        if GOOD.contains(&self.name) {
            Worth::Gain
        } else if BAD.contains(&self.name)
            || holds(&["delay", "loss", "queue", "slowdown", "completion_time", "late_frames"])
        {
            Worth::Cost
        } else {
            Worth::None
        }
    }
}

/// What more of a quantity is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// More is better.
    Gain,
    /// Less is better.
    Cost,
    /// Neither.
    None,
}

/// What a column shows.
#[cfg_attr(not(feature = "tables"), expect(dead_code, reason = "tables show it"))]
pub(crate) enum Values<R: 'static> {
    /// A number of a row; a NaN is shown as none.
    Number(fn(&R) -> f64),
    /// The same, from samples.
    Sampled(fn(&R) -> f64),
    Count(fn(&R) -> u64),
    Small(fn(&R) -> u32),
    Text(fn(&R) -> &str),
    Switch(fn(&R) -> bool),
    /// All numbers of a table.
    Numbers(fn(&R) -> &[f64]),
    Counts(fn(&R) -> &[u64]),
    Smalls(fn(&R) -> &[u32]),
    Texts(fn(&R) -> &[&'static str]),
}

/// The metrics of all tables, in the order in which the documentation shows them.
pub fn metrics() -> Vec<Metric> {
    let mut metrics = of("summary", SUMMARY);
    metrics.extend(of("flows", FLOWS));
    metrics.extend(of("links", LINKS));
    metrics.extend(of("groups", GROUPS));
    metrics.extend(of("transfers", TRANSFERS));
    metrics.extend(of("size_classes", SIZE_CLASSES));
    metrics.extend(of("queries", QUERIES));
    metrics.extend(of("flow_series", FLOW_SERIES));
    metrics.extend(of("law_series", LAW_SERIES));
    metrics.extend(of("link_series", LINK_SERIES));
    metrics.extend(RECORD);
    metrics
}

fn of<R>(table: &'static str, columns: &[Column<R>]) -> Vec<Metric> {
    let metric = |column: &Column<R>| {
        let Column { name, kind, definition, source, .. } = *column;
        let definition = definition.trim_ascii();
        Metric { table, name, kind, definition, source }
    };
    columns.iter().map(metric).collect()
}

/// Declares the columns of a table: what each means, its name, its kind, the document that defines
/// it, and what it shows of a row or of the table.
macro_rules! columns {
    (
        $(#[$meta:meta])*
        $NAME:ident: $Row:ty;
        $(
            $(#[doc = $doc:literal])+
            $name:ident: $Kind:ident $(, $source:literal)? = $Values:ident($show:expr);
        )+
    ) => {
        $(#[$meta])*
        pub(crate) static $NAME: &[Column<$Row>] = &[$(Column {
            name: stringify!($name),
            kind: Kind::$Kind,
            definition: concat!($($doc),+),
            source: concat!($($source)?),
            values: Values::$Values($show),
        }),+];
    };
}

columns! {
    /// One row per run.
    SUMMARY: Results;

    /// The `cc` of each group of flows, joined by +.
    cc: Name = Text(|run| &run.cc);
    /// The pacing of each group of flows, joined by +; "own" if the law or its transport paces by
    /// itself.
    pacing: Name = Text(|run| &run.pacing);
    /// The seed of the run.
    seed: Number = Count(|run| run.seed);
    /// The link between routers with the highest utilisation, the first of equals.
    bottleneck: Name = Text(|run| &run.bottleneck().name);
    /// Of the bottleneck: bits that departed over bits that its rate allows.
    utilisation: Ratio, "RFC 5166 §2.1.1" = Number(|run| run.bottleneck().summary.utilisation);
    /// Payload that reached receivers for the first time, of the flows in the first flow's
    /// direction.
    goodput: Rate, "RFC 5166 §2.1.1" = Number(|run| run.goodput);
    /// Of the bottleneck: drops and wire losses over arrivals.
    loss_rate: Share, "RFC 5166 §2.1.3" = Number(|run| run.bottleneck().loss_rate);
    /// Jain's index, (Σx)²/(nΣx²), over the goodput of the flows in the first flow's direction.
    jain: Ratio, "RFC 5166 §2.3.1" = Number(|run| run.jain);
    /// Time from the last start of a flow, or the end of the warm-up if that is later, until each
    /// flow that has data to the end of the run is within 25 % of their mean goodput for 20 bins of
    /// ten base RTTs, 0.1 s at the least; empty if that never happens, or without samples.
    convergence_time: Time, "RFC 5166 §2.3.3" = Sampled(|run| run.convergence_time);
    /// How much the windows of these flows move together, their mean correlation if their variances
    /// are alike: (Var ΣW / Σ Var W − 1)/(n − 1), 0 if they are independent, 1 if they are in step;
    /// from samples. RFC 7928's ratio (§2.4) is another: the share of flows that lose in an event.
    synchronisation: Ratio = Sampled(|run| run.synchronisation);
    /// Utilisation of the bottleneck times the mean over flows of base RTT over mean RTT:
    /// Kleinrock's power as a share of the most there could be.
    power: Ratio, "RFC 5166 §2.2" =
        Number(|run| run.bottleneck().summary.utilisation * run.rtt_ratio);
    /// Of the bottleneck: packets, the one in transmission included, mean over time.
    mean_queue: Packets = Number(|run| run.bottleneck().summary.mean_queue);
    /// Of the bottleneck: the most packets at any time.
    max_queue: Count = Number(|run| run.bottleneck().max_queue());
    /// Of the bottleneck: median of the packets that arrivals found; exact below 64, then to 1.6 %.
    queue_p50: Count = Number(|run| run.bottleneck().queue_quantile(0.5));
    /// Of the bottleneck: 95th percentile of the packets that arrivals found.
    queue_p95: Count = Number(|run| run.bottleneck().queue_quantile(0.95));
    /// Of the bottleneck: 99th percentile of the packets that arrivals found.
    queue_p99: Count = Number(|run| run.bottleneck().queue_quantile(0.99));
    /// Of the bottleneck: median time from arrival at the queue to the departure of the last bit,
    /// to 1.6 %.
    delay_p50: Delay, "RFC 5166 §2.1.2" = Number(|run| run.bottleneck().delay_quantile(0.5));
    /// Of the bottleneck: 99th percentile of that time.
    delay_p99: Delay, "RFC 5166 §2.1.2" = Number(|run| run.bottleneck().delay_quantile(0.99));
    /// Of the bottleneck: packets that the queue marked and took.
    marks: Count, "RFC 3168" = Count(|run| run.bottleneck().summary.marks);
    /// Mean of the senders' RTT samples, of the flows in the first flow's direction; one per round
    /// trip with `ns2` habits.
    mean_rtt: Delay = Number(|run| run.mean_rtt);
    /// Data packets that reached their receivers, in the whole run.
    delivered: Count = Count(|run| run.delivered);
    /// Transfers of all groups that were asked for in the measured window and ended.
    finished_transfers: Count = Count(|run| run.taken.finished);
    /// Transfers that were asked for in it and had not ended when the run did.
    unfinished_transfers: Count = Count(|run| run.taken.unfinished);
    /// Mean time from a request to the arrival of its last packet, of those that ended.
    mean_completion_time: Time, "RFC 7928" = Number(|run| run.taken.completion_time.mean);
    /// Its 99th percentile; empty unless ten values lie beyond it.
    completion_time_p99: Time = Number(|run| run.taken.completion_time.p99);
    /// Mean slowdown of those that ended.
    mean_slowdown: Ratio = Number(|run| run.taken.slowdown.mean);
    /// Its 99th percentile; empty unless ten values lie beyond it.
    slowdown_p99: Ratio = Number(|run| run.taken.slowdown.p99);
    /// What the numbers should be read with, one warning a line; empty if there is none.
    warnings: Name = Text(|run| &run.warnings);
}

columns! {
    /// One row per flow.
    FLOWS: FlowResult;

    /// Its number, from 0.
    flow: Number = Small(|flow| flow.number);
    /// Its group's name; empty if it was given none.
    name: Name = Text(|flow| &flow.name);
    /// Its `cc` as written, or "datagrams".
    cc: Name = Text(|flow| &flow.cc);
    /// Its pacing as written; "own" if the law or its transport paces by itself.
    pacing: Name = Text(|flow| flow.pacing);
    /// Whether it goes from right to left.
    reverse: Switch = Switch(|flow| flow.reverse);
    /// Payload that reached the receiver for the first time.
    goodput: Rate, "RFC 5166 §2.1.1" = Number(|flow| flow.goodput);
    /// Data sent, on the wire, headers and retransmissions included.
    throughput: Rate = Number(|flow| flow.throughput);
    /// Packets found lost over packets sent, or 1 if more were found lost, which had left before
    /// the measured time; E-TCP's p is per *acknowledged* packet. Of datagrams: those that links
    /// dropped or lost over those sent.
    loss_rate: Share, "RFC 5166 §2.1.3" = Number(|flow| flow.loss_rate);
    /// Mean of its RTT samples; one per round trip with `ns2` habits.
    mean_rtt: Delay = Number(|flow| flow.mean_rtt);
    /// When its first packet left, in the whole run: the request for a connection, if there is a
    /// handshake.
    start: Time = Number(FlowResult::started);
    /// Arrival of the last packet in order minus `start`, in the whole run, so with the handshake;
    /// only for data of a given `size`. Requests are in `transfers`.
    completion_time: Time, "RFC 7928" = Number(|flow| flow.completion_time.unwrap_or(f64::NAN));
    /// Data packets sent, retransmissions included.
    sent: Count = Count(|flow| flow.summary.sender.sent);
    /// Data packets sent again.
    retransmitted: Count = Count(|flow| flow.summary.sender.retransmitted.into());
    /// Packets that the sender found lost; of datagrams, those that links dropped or lost, as
    /// nobody tells their sender.
    lost: Count = Count(|flow| flow.summary.sender.lost.into());
    /// Recovery epochs opened.
    epochs: Count = Count(|flow| flow.summary.sender.epochs.into());
    /// Expiries of the retransmission timer.
    timeouts: Count = Count(|flow| flow.summary.sender.timeouts.into());
    /// Recovery epochs that proved spurious.
    spurious: Count, "RFC 3522" = Count(|flow| flow.summary.sender.spurious.into());
    /// Share of its connected time in which the congestion window kept the next packet from
    /// leaving; the five shares sum to 1.
    limited_by_window: Part, "RFC 4898" = Number(|flow| flow.limited(SendLimit::Window));
    /// Share in which the pacer did.
    limited_by_pacing: Part = Number(|flow| flow.limited(SendLimit::Pacing));
    /// Share in which the application had nothing to send, or waited for room in the send buffer;
    /// without the time after its end.
    limited_by_application: Part, "RFC 4898" =
        Number(|flow| flow.limited(SendLimit::Application));
    /// Share in which the receiver's window was full.
    limited_by_receiver: Part, "RFC 4898" = Number(|flow| flow.limited(SendLimit::Receiver));
    /// Share in which losses were being repaired, whatever else was missing, or a timeout was
    /// waited for. Of laws that decide in a recovery themselves, like BBR, Copa and E-TCP, timeouts
    /// only.
    limited_by_recovery: Part = Number(|flow| flow.limited(SendLimit::Recovery));
    /// Packets that reached the receiver for the first time.
    arrived: Count = Count(|flow| flow.summary.arrived);
    /// Packets that reached the receiver again.
    duplicates: Count = Count(|flow| flow.summary.duplicates);
    /// If the application makes its data at a rate of its own (`telnet`, `app`): mean time from the
    /// offer of a packet to its delivery in order, retransmissions included.
    mean_packet_delay: Delay, "RFC 5166 §2.1.2" =
        Number(|flow| flow.packet_delay(PacketDelays::mean));
    /// The longest such time.
    max_packet_delay: Delay, "RFC 5166 §2.1.2" =
        Number(|flow| flow.packet_delay(PacketDelays::longest));
    /// If it makes frames: those whose last packet arrived, or whose deadline passed without.
    frames: Count = Count(|flow| flow.summary.delays.as_ref().map_or(0, PacketDelays::frames));
    /// The share of them that missed their deadline.
    late_frames: Share, "RFC 8867 §4.1" = Number(|flow| flow.packet_delay(PacketDelays::late));
}

columns! {
    /// One row per group of flows, `[[flows]]` of the scenario.
    GROUPS: GroupResult;

    /// Its number, from 0.
    group: Number = Small(|group| group.number);
    /// Its name; empty if it was given none.
    name: Name = Text(|group| &group.name);
    /// Its `cc` as written, or "datagrams".
    cc: Name = Text(|group| &group.cc);
    /// Its flows.
    flows: Count = Small(|group| group.flows);
    /// The number of the first of them.
    first: Number = Small(|group| group.first);
    /// The number of the last of them.
    last: Number = Small(GroupResult::last);
    /// Whether it goes from right to left.
    reverse: Switch = Switch(|group| group.reverse);
    /// Payload that reached its receivers for the first time.
    goodput: Rate, "RFC 5166 §2.1.1" = Number(|group| group.goodput);
    /// Its goodput over that of all groups that go its way.
    share: Ratio = Number(|group| group.share);
    /// Data sent, on the wire, headers and retransmissions included.
    throughput: Rate = Number(|group| group.throughput);
    /// Packets found lost over packets sent, or 1 if more were found lost.
    loss_rate: Share, "RFC 5166 §2.1.3" = Number(|group| group.loss_rate);
    /// Mean of its flows' mean RTTs.
    mean_rtt: Delay = Number(|group| group.mean_rtt);
    /// Recovery epochs opened, of all its flows.
    epochs: Count = Count(|group| group.epochs);
    /// Expiries of retransmission timers, of all its flows.
    timeouts: Count = Count(|group| group.timeouts);
    /// Median of its flows' completion times, if they have a `size`.
    completion_time: Time, "RFC 7928" = Number(|group| group.completion_time);
    /// Mean over its flows of the share of time that each was limited by its window.
    limited_by_window: Part, "RFC 4898" = Number(|group| group.limited(SendLimit::Window));
    /// The same by its pacer.
    limited_by_pacing: Part = Number(|group| group.limited(SendLimit::Pacing));
    /// The same by its application.
    limited_by_application: Part, "RFC 4898" =
        Number(|group| group.limited(SendLimit::Application));
    /// The same by the receiver's window.
    limited_by_receiver: Part, "RFC 4898" = Number(|group| group.limited(SendLimit::Receiver));
    /// The same by repairs of losses.
    limited_by_recovery: Part = Number(|group| group.limited(SendLimit::Recovery));
    /// Jain's index over the goodput of its flows; empty if transfers come to them at random.
    jain: Ratio, "RFC 5166 §2.3.1" = Number(|group| group.jain);
    /// Payload that reached its receivers for the first time over data sent with headers.
    efficiency: Ratio, "RFC 5166 §2.4" = Number(|group| group.goodput / group.throughput);
    /// The longest time for which one of its flows, though it had data, had less than a tenth of
    /// the mean goodput of the flows that had, in bins of ten base RTTs, 1 s at the least; from
    /// samples. The tenth and the bins are ours.
    starvation: Time, "after Arun et al., SIGCOMM 2022" = Sampled(|group| group.starvation);
    /// Mean over its flows of the coefficient of variation of goodput in the same bins.
    variation: Ratio, "RFC 5166 §2.2" = Sampled(|group| group.variation);
    /// The share of its frames that missed their deadline, if it makes frames.
    late_frames: Share, "RFC 8867 §4.1" = Number(|group| group.late_frames);
    /// Transfers that were asked for in the measured window and ended.
    transfers: Count = Count(|group| group.transfers.finished);
    /// Transfers that were asked for in the measured window and had not ended when the run did;
    /// those of web users and files are not counted.
    unfinished: Count = Count(|group| group.transfers.unfinished);
    /// Mean time from a request to the arrival of its last packet, of those that ended.
    mean_completion_time: Time, "RFC 7928" =
        Number(|group| group.transfers.completion_time.mean);
    /// Its 99th percentile; empty unless ten values lie beyond it.
    completion_time_p99: Time = Number(|group| group.transfers.completion_time.p99);
    /// Mean slowdown.
    mean_slowdown: Ratio = Number(|group| group.transfers.slowdown.mean);
    /// Its 99th percentile; empty unless ten values lie beyond it.
    slowdown_p99: Ratio = Number(|group| group.transfers.slowdown.p99);
}

columns! {
    /// One row per group of flows and class of sizes, of the transfers that were asked for in the
    /// measured window.
    SIZE_CLASSES: SizeClass;

    /// The group.
    group: Number = Small(|class| class.group);
    /// Its name; empty if it was given none.
    name: Name = Text(|class| &class.name);
    /// The sizes.
    class: Name = Text(|class| class.class);
    /// Transfers that ended.
    transfers: Count = Count(|class| class.transfers.finished);
    /// Transfers that had not ended when the run did.
    unfinished: Count = Count(|class| class.transfers.unfinished);
    /// Mean time from the request to the arrival of the last packet, of those that ended.
    mean_completion_time: Time, "RFC 7928" =
        Number(|class| class.transfers.completion_time.mean);
    /// Its median.
    completion_time_p50: Time = Number(|class| class.transfers.completion_time.p50);
    /// Its 95th percentile; a percentile above the median is empty unless ten values lie beyond it.
    completion_time_p95: Time = Number(|class| class.transfers.completion_time.p95);
    /// Its 99th percentile.
    completion_time_p99: Time = Number(|class| class.transfers.completion_time.p99);
    /// Its 99.9th percentile.
    completion_time_p999: Time = Number(|class| class.transfers.completion_time.p999);
    /// Mean slowdown.
    mean_slowdown: Ratio = Number(|class| class.transfers.slowdown.mean);
    /// Its median.
    slowdown_p50: Ratio = Number(|class| class.transfers.slowdown.p50);
    /// Its 95th percentile.
    slowdown_p95: Ratio = Number(|class| class.transfers.slowdown.p95);
    /// Its 99th percentile.
    slowdown_p99: Ratio = Number(|class| class.transfers.slowdown.p99);
    /// Its 99.9th percentile.
    slowdown_p999: Ratio = Number(|class| class.transfers.slowdown.p999);
}

columns! {
    /// One row per query that a group of flows answers (`incast`), in the whole run.
    QUERIES: Queries;

    /// The group.
    group: Number = Smalls(|all| &all.group);
    /// When it was asked.
    asked: Time = Numbers(|all| &all.asked);
    /// Time from then to the arrival of the last answer; empty if the run ended first.
    completion_time: Time = Numbers(|all| &all.completion_time);
    /// Answers that were complete at the end of the run.
    answers: Count = Smalls(|all| &all.answers);
}

columns! {
    /// One row per link between routers.
    LINKS: LinkResult;

    /// Its number, from 0.
    link: Number = Small(|link| link.number);
    /// Its name.
    name: Name = Text(|link| &link.name);
    /// The rate of its transmitter.
    rate: Rate = Number(|link| link.rate);
    /// Bits that departed over bits that could have, at the rates that there were.
    utilisation: Ratio, "RFC 5166 §2.1.1" = Number(|link| link.summary.utilisation);
    /// Packets dropped, by whatever, and lost on the wire, over arrivals.
    loss_rate: Share, "RFC 5166 §2.1.3" = Number(|link| link.loss_rate);
    /// Packets that came to the queue.
    arrivals: Count = Count(|link| link.summary.arrivals);
    /// Packets that found no room, or that the queue dropped.
    drops: Count = Count(|link| link.summary.drops);
    /// Packets that the link's script dropped before the queue.
    scripted: Count = Count(|link| link.summary.scripted);
    /// Packets that the link's policer dropped before the queue.
    policed: Count = Count(|link| link.summary.policed);
    /// Bursts of drops, single ones included: between two drops of one burst fewer than 16 packets
    /// were taken, which is Gmin.
    loss_bursts: Count, "RFC 3611 §4.7.2" = Count(|link| link.summary.loss_bursts);
    /// Drops of the longest of them.
    longest_loss_burst: Count = Count(|link| link.summary.longest_loss_burst);
    /// Variance over mean of the arrivals in the interval of `sample`, which decides it and should
    /// be given: 1 for Poisson's, less if they come more evenly.
    burstiness: Ratio, "Gusella 1991" = Sampled(|link| link.burstiness);
    /// Packets that the queue marked and took.
    marks: Count, "RFC 3168" = Count(|link| link.summary.marks);
    /// Packets lost or damaged on the wire.
    wire_losses: Count = Count(|link| link.summary.wire_losses);
    /// Packets whose last bit left.
    departures: Count = Count(|link| link.summary.departures);
    /// Their bytes.
    departed_bytes: Bytes = Count(|link| link.summary.departed_bytes);
    /// Packets, the one in transmission included, mean over time.
    mean_queue: Packets = Number(|link| link.summary.mean_queue);
    /// The most packets at any time.
    max_queue: Count = Number(LinkResult::max_queue);
    /// The most bytes at any time.
    max_queue_bytes: Bytes = Number(LinkResult::max_queue_bytes);
    /// Median of the packets that arrivals found; exact below 64, then to 1.6 %.
    queue_p50: Count = Number(|link| link.queue_quantile(0.5));
    /// 95th percentile of the packets that arrivals found.
    queue_p95: Count = Number(|link| link.queue_quantile(0.95));
    /// 99th percentile of the packets that arrivals found.
    queue_p99: Count = Number(|link| link.queue_quantile(0.99));
    /// Mean time from arrival at the queue to the departure of the last bit, of the packets that
    /// arrived in the measured window; of those still queued at its end, too, if the queue decides
    /// on arrival.
    mean_delay: Delay, "RFC 5166 §2.1.2" = Number(LinkResult::mean_delay);
    /// Median of that time, to 1.6 %, as the other percentiles.
    delay_p50: Delay, "RFC 5166 §2.1.2" = Number(|link| link.delay_quantile(0.5));
    /// 95th percentile of that time.
    delay_p95: Delay, "RFC 5166 §2.1.2" = Number(|link| link.delay_quantile(0.95));
    /// 99th percentile of that time.
    delay_p99: Delay, "RFC 5166 §2.1.2" = Number(|link| link.delay_quantile(0.99));
    /// 99.9th percentile of that time.
    delay_p999: Delay, "RFC 5166 §2.1.2" = Number(|link| link.delay_quantile(0.999));
}

columns! {
    /// One row per object that was requested or arrived at random, in the whole run.
    TRANSFERS: Transfers;

    /// The flow that carried the object.
    flow: Number = Smalls(|all| &all.flow);
    /// When it was requested, or arrived.
    requested: Time = Numbers(|all| &all.requested);
    /// Time from the request to the arrival of its last packet; empty if the run ended first, of
    /// transfers that arrive at random and of answers to queries.
    completion_time: Time, "RFC 7928" = Numbers(|all| &all.completion_time);
    /// Payload of the object.
    bytes: Bytes = Counts(|all| &all.bytes);
    /// The group of that flow.
    group: Number = Smalls(|all| &all.group);
    /// Completion time over the least that it could be: the request's time, a handshake if the
    /// connection is new and there is one, half a base RTT, and the bits on the wire at the rate
    /// that the slowest link was given first.
    slowdown: Ratio, "after pFabric, SIGCOMM 2013" = Numbers(|all| &all.slowdown);
}

columns! {
    /// One row per flow and sample.
    FLOW_SERIES: FlowSeries;

    /// When the sample was taken.
    time: Time = Numbers(|all| &all.time);
    /// The flow.
    flow: Number = Smalls(|all| &all.flow);
    /// Congestion window.
    window: Packets = Numbers(|all| &all.window);
    /// Slow-start threshold; infinite if there is none.
    ssthresh: Packets = Numbers(|all| &all.ssthresh);
    /// Smoothed RTT.
    rtt: Delay, "RFC 6298" = Numbers(|all| &all.rtt);
    /// Packets thought to be in flight.
    in_flight: Packets = Numbers(|all| &all.in_flight);
    /// Data sent over the interval that ends here, on the wire.
    throughput: Rate = Numbers(|all| &all.throughput);
    /// New payload at the receiver over the interval that ends here.
    goodput: Rate, "RFC 5166 §2.1.1" = Numbers(|all| &all.goodput);
    /// Payload that the application got over the interval that ends here: in order, or on arrival
    /// if the flow keeps no order.
    in_order: Rate = Numbers(|all| &all.in_order);
}

columns! {
    /// One row per flow, sample and quantity.
    LAW_SERIES: LawSeries;

    /// When the sample was taken.
    time: Time = Numbers(|all| &all.time);
    /// The flow.
    flow: Number = Smalls(|all| &all.flow);
    /// The quantity, by the law's own name for it, like `w_max`.
    name: Name = Texts(|all| &all.name);
    /// Its value, in the law's own unit: packets, seconds, bit/s or a ratio.
    value: Number = Numbers(|all| &all.value);
}

columns! {
    /// One row per link and sample.
    LINK_SERIES: LinkSeries;

    /// The end of the interval.
    time: Time = Numbers(|all| &all.time);
    /// The link.
    link: Number = Smalls(|all| &all.link);
    /// Packets in the queue at the end of the interval.
    queue: Packets = Numbers(|all| &all.queue);
    /// Drops over arrivals of the interval.
    loss_rate: Share, "RFC 5166 §2.1.3" = Numbers(|all| &all.loss_rate);
    /// Bits that could have departed in the interval, per second.
    capacity: Rate = Numbers(|all| &all.capacity);
    /// Bits that departed in the interval over bits that could have; 0 if none could.
    utilisation: Ratio, "RFC 5166 §2.1.1" = Numbers(|all| &all.utilisation);
    /// Packets that came to the queue in the interval.
    arrivals: Count = Counts(|all| &all.arrivals);
    /// Packets dropped in the interval.
    drops: Count = Counts(|all| &all.drops);
    /// Packets marked in the interval.
    marks: Count, "RFC 3168" = Counts(|all| &all.marks);
}

/// What fronts add to a run: the simulator's own speed.
const RECORD: [Metric; 2] = [
    Metric {
        table: "record",
        name: "wall",
        kind: Kind::Time,
        definition: "Wall-clock time of the run.",
        source: "",
    },
    Metric {
        table: "record",
        name: "packets_per_second",
        kind: Kind::Speed,
        definition: "Data packets delivered per second of wall-clock time.",
        source: "",
    },
];
