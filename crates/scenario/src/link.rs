//! Checks a link: its queue, its losses, its jitter.

use crate::ScenarioError;
use crate::memories::{self, Part};
use crate::queue_spec::QueueSpec;
use crate::scenario::{LinkFields, LinkOptions};
use crate::varying::{self, Amounts, CheckedVarying};
use narrows_router::registry::Placement;
use narrows_router::service::Steps;
use narrows_router::{Discipline, Limit};
use narrows_sim::{Jitter, LinkSettings, Loss, Watch};
use narrows_units::{Buffer, Bytes, Duration, Probability, Rate, Stream, Time};
use std::sync::Arc;

/// A link between routers, checked; one direction.
#[derive(Clone)]
pub struct CheckedLink {
    /// By which results and traces call it.
    pub name: String,
    /// From this router …
    pub from: u32,
    /// … to this one.
    pub to: u32,
    /// The transmitter's rate.
    pub rate: Rate,
    /// One-way delay.
    pub delay: Duration,
    /// `None` if unlimited.
    pub buffer: Option<Buffer>,
    /// The RTT that "bdp" means.
    pub base_rtt: Duration,
    /// What its queue does.
    pub queue: Discipline,
    /// How much its queue holds.
    pub limit: Limit,
    /// Losses on the wire.
    pub loss: Loss,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// The largest packet in bytes; `None` for no limit.
    pub mtu: Option<u32>,
    /// Whether it is the device of the host from which it leads.
    pub is_device: bool,
    /// Whether bursts are queued, dropped and sent as one.
    pub super_packets: bool,
    /// What of it varies; `None` if nothing does.
    pub(crate) varying: Option<Arc<CheckedVarying>>,
    /// Its part in a memory that it shares with others.
    pub(crate) part: Option<Part>,
}

impl CheckedLink {
    /// The settings of the simulator's link; what of it is drawn is drawn from `stream`.
    pub fn settings(&self, perturbation: u64, watch: Watch, stream: Stream) -> LinkSettings {
        let Self { rate, delay, limit, queue, loss, jitter, mtu, is_device, .. } = *self;
        let varying = self.varying.as_ref().map(|varying| Arc::new(varying.drawn(stream)));
        let drops =
            LinkSettings { limit, queue, mtu, is_device, ..LinkSettings::plain(rate, delay) };
        let super_packets = self.super_packets;
        LinkSettings { perturbation, loss, jitter, super_packets, watch, varying, ..drops }
    }

    /// Its rate at `now`, without what is drawn.
    pub fn rate_at(&self, now: Time) -> Rate {
        self.varying.as_ref().map_or(self.rate, |varying| varying.rate(now))
    }

    /// How much its queue holds at `now`.
    pub fn limit_at(&self, now: Time) -> Limit {
        self.varying.as_ref().map_or(self.limit, |varying| varying.limit(now))
    }

    /// The probability that its wire loses a packet, if that does not vary and has no memory; else
    /// NaN.
    pub fn wire_loss(&self) -> f64 {
        match self.loss {
            Loss::None if self.varying.as_ref().is_none_or(|varying| !varying.loses()) => 0.0,
            Loss::Bernoulli(probability) if self.varying.is_none() => probability,
            _ => f64::NAN,
        }
    }

    /// Its rates, if they change at given times.
    pub(crate) fn changing_rates(&self) -> Option<&Steps<Rate>> {
        self.varying.as_ref()?.changing_rates()
    }

    /// Whether its wire ever loses packets by chance.
    pub(crate) fn loses(&self) -> bool {
        self.loss != Loss::None || self.varying.as_ref().is_some_and(|varying| varying.loses())
    }

    /// How many packets its wire lets go at once, and how often, if that is bounded.
    pub(crate) fn lets_go(&self) -> Option<(u64, Duration)> {
        self.varying.as_ref()?.lets_go()
    }

    /// The same as the device of the host from which it leads. Fails if its queue decides by
    /// something else than room.
    pub(crate) fn into_device(self, place: &str) -> Result<Self, ScenarioError> {
        let wrong = |message: &str| ScenarioError::new(format!("{place}.device"), message);
        if self.limit == Limit::Unlimited {
            return Err(wrong("has no effect on a buffer without limit; give it a buffer"));
        }
        if self.queue != Discipline::DropTail {
            return Err(wrong("is for drop-tail, as a network card's queue is; leave one out"));
        }
        if self.super_packets {
            return Err(wrong("takes packets one by one; leave it or super_packets out"));
        }
        Ok(Self { is_device: true, ..self })
    }

    /// Whether something of it varies.
    pub fn varies(&self) -> bool {
        self.varying.is_some()
    }
}

/// What links are checked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The length of the run.
    pub duration: Duration,
    /// Flows in all.
    pub all: u64,
    /// Those that are there for the whole time, at least 1: buffers in `bdp/sqrt(n)` count them.
    pub flows: u64,
    /// The packet that buffers are counted in: that of the first group of flows.
    pub packet: Bytes,
}

/// Where a link stands.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub from: u32,
    pub to: u32,
    pub delay: Duration,
    /// The RTT that "bdp" means.
    pub base_rtt: Duration,
    /// Where it is described, for errors.
    pub place: &'a str,
}

impl CheckedLink {
    /// The buffer in all four units, of packets of `packet` bytes and `flows` flows:
    /// `20p = 20kB = 160us = 0.0016bdp`.
    pub fn describe_buffer(&self, flows: u64, packet: Bytes) -> String {
        let Some(buffer) = self.buffer else {
            let shared = self.part.as_ref().map(|part| format!("of {}", part.memory));
            return shared.unwrap_or_else(|| "unlimited".to_owned());
        };
        let bytes = buffer.bytes(self.rate, self.base_rtt, flows, packet);
        let packets = buffer.packets(self.rate, self.base_rtt, flows, packet);
        let bdp = self.rate.bytes_per_second() * self.base_rtt.seconds();
        let time = self.rate.time_to_send(bytes);
        let share = Buffer::Bdp(bytes.count() as f64 / bdp);
        format!("{packets}p = {bytes} = {time} = {share}")
    }

    /// What of it no lab can have: the field, and what to do.
    pub fn only_simulated(&self) -> Option<(&'static str, &'static str)> {
        if self.part.is_some() {
            return Some((
                "memory",
                "a lab's path has one port, which shares with none; leave it out",
            ));
        }
        if self.super_packets {
            let why = "a lab's packets are as its kernel cuts them; leave it out";
            return Some(("super_packets", why));
        }
        let varying = self.varying.as_ref()?;
        if varying.lowers_windows() {
            return Some(("script", "a lab leaves a kernel's windows alone; leave out window"));
        }
        varying.doubles().then_some(("script", "a lab sends no packet twice; leave out twice"))
    }

    /// Whether anything there marks packets.
    pub(crate) fn marks(&self) -> bool {
        self.queue.marks() || self.varying.as_ref().is_some_and(|varying| varying.marks())
    }

    /// Packets that its buffer holds; 0 if that is unlimited.
    pub(crate) fn buffer_packets(&self, load: &Load) -> u64 {
        let packets = |buffer: Buffer| self.packets(buffer, load);
        self.buffer.map_or(0, packets)
    }

    /// `buffer` in packets, at this link.
    pub(crate) fn packets(&self, buffer: Buffer, load: &Load) -> u64 {
        buffer.packets(self.rate, self.base_rtt, load.flows, load.packet)
    }
}

/// The link called `name`. Fails if its queue, its losses or its jitter are not as they should be.
pub(crate) fn check(
    name: String,
    placed: Placed,
    fields: LinkFields,
    load: &Load,
) -> Result<CheckedLink, ScenarioError> {
    let Placed { from, to, delay, base_rtt, place } = placed;
    let LinkFields { rate, buffer, options } = &fields;
    let trace = varying::trace(place, options)?;
    let rate = rate_of(place, *rate, trace.as_ref().map(|trace| trace.mean_rate()))?;
    let packets = |buffer: Buffer| buffer.packets(rate, base_rtt, load.flows, load.packet);
    let limit = |buffer: Buffer| {
        if buffer.counts_bytes() {
            Limit::Bytes(buffer.bytes(rate, base_rtt, load.flows, load.packet).count())
        } else {
            Limit::Packets(packets(buffer))
        }
    };
    let held = buffer.map_or(Limit::Unlimited, limit);
    let mark = options.mark.map(packets);
    let queue = queue(place, options.queue.as_deref(), mark, held, load)?;
    let loss = loss(place, options.loss, options.loss_burst)?;
    let jitter = jitter(place, options)?;
    let mtu = mtu(place, options.mtu)?;
    let plain = LinkSettings::plain(rate, delay);
    let steady = LinkSettings { limit: held, queue, loss, jitter, mtu, ..plain };
    let of_text = |text: &str| discipline(text, held, load);
    let amounts = Amounts { limit: &limit, packets: &packets, queue: &of_text };
    let varying = varying::check(&placed, options, &steady, trace, load, &amounts)?;
    let part = memories::part(place, options, &queue)?;
    let varies = varying.is_some() || part.is_some();
    let super_packets = super_packets(place, options, &queue, varies)?;
    Ok(CheckedLink {
        name,
        from,
        to,
        rate,
        delay,
        buffer: *buffer,
        base_rtt,
        queue,
        limit: held,
        loss,
        jitter,
        mtu,
        is_device: false,
        super_packets,
        varying: varying.map(Arc::new),
        part,
    })
}

/// The rate of a link: its own, or that of its trace.
fn rate_of(place: &str, own: Option<Rate>, traced: Option<Rate>) -> Result<Rate, ScenarioError> {
    match (own, traced) {
        (Some(rate), None) | (None, Some(rate)) => Ok(rate),
        (None, None) => Err(ScenarioError::new(place, "missing field \"rate\"; add it")),
        (Some(rate), Some(_)) => {
            let message = format!("{rate} is not asked for: the trace has the rate; leave it out");
            Err(ScenarioError::new(format!("{place}.rate"), message))
        }
    }
}

/// The queue that `text` describes, with room for so much.
fn discipline(text: &str, limit: Limit, load: &Load) -> Result<Discipline, String> {
    let placement = Placement { limit, packet: load.packet.count() };
    QueueSpec::parse(text)?.build(&placement).map_err(|error| error.to_string())
}

fn queue(
    place: &str,
    text: Option<&str>,
    mark: Option<u64>,
    limit: Limit,
    load: &Load,
) -> Result<Discipline, ScenarioError> {
    let wrong = |error: String| ScenarioError::new(format!("{place}.queue"), error);
    let spec = text.map(QueueSpec::parse).transpose().map_err(wrong)?;
    let placement = Placement { limit, packet: load.packet.count() };
    let built = spec.as_ref().map(|spec| spec.build(&placement)).transpose();
    let queue = built.map_err(|error| wrong(error.to_string()))?.unwrap_or(Discipline::DropTail);
    match (mark, queue) {
        (None, queue) => Ok(queue),
        (Some(packets), Discipline::DropTail) => Ok(Discipline::MarkFrom(packets)),
        (Some(_), _) => {
            let name = spec.map_or("drop-tail", |spec| spec.name());
            let message = format!("is for drop-tail; {name} has rules of its own, leave it out");
            Err(ScenarioError::new(format!("{place}.mark"), message))
        }
    }
}

/// Independent losses, or Gilbert and Elliott's chain with the same mean and bursts of the given
/// mean length.
pub(crate) fn loss(
    place: &str,
    loss: Option<Probability>,
    burst: Option<f64>,
) -> Result<Loss, ScenarioError> {
    let at_burst = |message: String| ScenarioError::new(format!("{place}.loss_burst"), message);
    let ratio = loss.unwrap_or_default().value();
    if ratio >= 1.0 {
        let message = "everything would be lost; try \"0.1%\"";
        return Err(ScenarioError::new(format!("{place}.loss"), message));
    }
    let burst = burst.unwrap_or(1.0);
    if !(burst >= 1.0 && burst.is_finite()) {
        return Err(at_burst(format!("{burst} is not at least 1 packet; try 3")));
    }
    if burst > 1.0 && loss.is_none() {
        return Err(at_burst(
            "has no effect without loss; add loss = \"0.1%\", or leave it out".into(),
        ));
    }
    if ratio == 0.0 {
        return Ok(Loss::None);
    }
    if burst == 1.0 {
        return Ok(Loss::Bernoulli(ratio));
    }
    let leave = 1.0 / burst;
    let enter = leave * ratio / (1.0 - ratio);
    if enter > 1.0 {
        let message = format!(
            "bursts of {burst} packets cannot make up {ratio} of all packets; try longer ones"
        );
        return Err(at_burst(message));
    }
    Ok(Loss::GilbertElliott { enter, leave, good: 0.0, bad: 1.0 })
}

/// The largest packet; below 68 bytes a link carries no IPv4 (RFC 791).
pub(crate) fn mtu(place: &str, mtu: Option<Bytes>) -> Result<Option<u32>, ScenarioError> {
    let Some(bytes) = mtu else { return Ok(None) };
    if !(68..=65_535).contains(&bytes.count()) {
        let message = format!("{bytes} is not from 68 to 65535 bytes; try \"1500B\"");
        return Err(ScenarioError::new(format!("{place}.mtu"), message));
    }
    Ok(Some(bytes.count() as u32))
}

/// Whether bursts are queued, dropped and sent as one.
fn super_packets(
    place: &str,
    options: &LinkOptions,
    queue: &Discipline,
    varies: bool,
) -> Result<bool, ScenarioError> {
    let are_whole = options.super_packets == Some(true);
    if are_whole && (varies || *queue != Discipline::DropTail) {
        let message = "is for drop-tail queues of links that do not vary and share no memory; \
                       leave it out";
        return Err(ScenarioError::new(format!("{place}.super_packets"), message));
    }
    Ok(are_whole)
}

fn jitter(place: &str, options: &LinkOptions) -> Result<Jitter, ScenarioError> {
    let reorders = options.reorder == Some(true);
    let changes = options
        .changes
        .iter()
        .any(|change| change.delay.is_some() || change.rtt.is_some() || change.jitter.is_some());
    let varies = changes || options.handovers.is_some();
    if reorders && !varies && options.jitter.unwrap_or_default() == Duration::ZERO {
        let message = "has no effect without jitter; add jitter = \"1ms\", or leave it out";
        return Err(ScenarioError::new(format!("{place}.reorder"), message));
    }
    Ok(Jitter { most: options.jitter.unwrap_or_default(), reorders })
}
