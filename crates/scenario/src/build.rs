//! Builds the network that the simulator runs from a checked scenario.

use crate::Checked;
use crate::arrivals::Arriving;
use crate::connection::Connection;
use crate::error::RunError;
use crate::flow::{Carrier, CheckedFlow};
use crate::memories::CheckedMemory;
use crate::network::Attachment;
use crate::traces::Traces;
use narrows_sim::{
    Application, Arrivals, Browsing, Endpoints, FlowSettings, LinkSettings, Memory, MemoryPort,
    Network, Served, Varying, Watch,
};
use narrows_transport::congestion::Path;
use narrows_units::{Duration, Stream, Time};
use std::sync::Arc;

/// Families of random streams, apart from the simulator's own.
pub(crate) const START_STREAMS: u64 = 101;
const PACING_STREAMS: u64 = 102;
const HASH_STREAMS: u64 = 103;
const STACK_STREAMS: u64 = 104;
const LINK_STREAMS: u64 = 105;

/// The network of `checked` under `seed`: the links between routers come first, in their order.
/// Controllers are seen by `traces`.
pub(crate) fn network(
    checked: &Checked,
    seed: u64,
    traces: &mut Traces,
) -> Result<Network, RunError> {
    let flows = checked.flows.iter().map(|group| group.attachments.len()).sum();
    let mut network = Network { flows: Vec::with_capacity(flows), ..Network::default() };
    for (link, settings) in checked.links.iter().zip(links(checked, seed)) {
        network.links.push((link.from, link.to, settings.into()));
    }
    let routers = checked.links.iter().flat_map(|link| [link.from, link.to]).max();
    let mut next_host = routers.map_or(0, |router| router + 1);
    let mut number = 0;
    for (group, sampled) in checked.flows.iter().zip(checked.sampled()) {
        network.pools.extend(pool(group, number as u32));
        network.browsers.extend(browsers(group, number as u32, seed));
        for (index, attachment) in group.attachments.iter().enumerate() {
            let (from, to) = attach(&mut network, attachment, &mut next_host);
            let flow = Member { group, attachment, seed, number };
            network.flows.push(FlowSettings {
                from,
                to,
                endpoints: flow.endpoints(traces)?,
                start: start(group, index, (seed, number)),
                // What has arrived is carried to its end.
                stop: if group.arriving.is_some() { Time::NEVER } else { group.stops_at(index) },
                overhead: flow.overhead(),
                host: group.host,
                sampled: checked.sample.filter(|_| index < sampled),
            });
            number += 1;
        }
    }
    Ok(network)
}

/// The links between routers of `checked` under `seed`.
pub(crate) fn links(checked: &Checked, seed: u64) -> impl Iterator<Item = LinkSettings> {
    let watch = checked.sample.map_or(Watch::Histograms, Watch::Samples);
    let links = checked.links.iter().zip(ports(checked)).enumerate();
    links.map(move |(number, (link, port))| {
        let perturbation = Stream::new(seed, HASH_STREAMS, number as u64).bits();
        let draws = Stream::new(seed, LINK_STREAMS, number as u64);
        let mut settings = link.settings(perturbation, watch, draws);
        share(&mut settings, port);
        settings
    })
}

/// The port that each link has in a memory that it shares, if it does.
fn ports(checked: &Checked) -> Vec<Option<MemoryPort>> {
    let mut ports = vec![None; checked.links.len()];
    for CheckedMemory { name, settings } in &checked.memories {
        let parts = checked.links.iter().enumerate().filter_map(|(number, link)| {
            let part = link.part.as_ref().filter(|part| part.memory == *name)?;
            Some((number, part.reserved))
        });
        let parts: Vec<(usize, u64)> = parts.collect();
        let memory = Memory::new(settings.clone(), parts.iter().map(|(_, reserved)| *reserved));
        let memory = memory.expect("what is reserved has been checked");
        for (port, (number, _)) in parts.into_iter().enumerate() {
            ports[number] = Some(memory.port(port));
        }
    }
    ports
}

/// Lets a link's queue have its part in a memory.
fn share(settings: &mut LinkSettings, port: Option<MemoryPort>) {
    if port.is_some() {
        let varying = settings.varying.as_deref().cloned();
        let varying = varying.unwrap_or_else(|| Varying::of(settings));
        settings.varying = Some(Arc::new(Varying { memory: port, ..varying }));
    }
}

/// What arrives at `group`, of which `first` is the first flow.
fn pool(group: &CheckedFlow, first: u32) -> Option<Arrivals> {
    let Arriving { gap, sizes, .. } = group.arriving.clone()?;
    Some(Arrivals {
        gap,
        sizes,
        from: group.start(0, 0.0),
        until: group.stop,
        flows: first..first + group.count,
        payload: group.packet.payload(),
    })
}

/// The users of `group` with several connections each, of which `first` is the first flow. A user
/// begins with the first of them.
fn browsers(group: &CheckedFlow, first: u32, seed: u64) -> Vec<Browsing> {
    let Some((page, connections)) = group.browses() else { return Vec::new() };
    let users = group.attachments.chunks(connections as usize).enumerate();
    let user = |(user, attachments): (usize, &[Attachment])| {
        let own = user as u32 * connections;
        Browsing {
            page,
            start: start(group, own as usize, (seed, u64::from(first + own))),
            flows: first + own..first + own + connections,
            rtts: attachments.iter().map(|attachment| attachment.base_rtt).collect(),
        }
    };
    users.map(user).collect()
}

/// When the flow at place `index` of `group` starts, which is flow `number` under `seed`.
fn start(group: &CheckedFlow, index: usize, (seed, number): (u64, u64)) -> Time {
    group.start(index, Stream::new(seed, START_STREAMS, number).uniform())
}

/// Gives a flow hosts of its own at its routers; in a general network its ends are the nodes
/// themselves.
fn attach(network: &mut Network, attachment: &Attachment, next_host: &mut u32) -> (u32, u32) {
    let Attachment { from, to, access, .. } = *attachment;
    let Some(access) = access else { return (from, to) };
    let (sender, receiver) = (*next_host, *next_host + 1);
    *next_host += 2;
    let plain = Arc::new(LinkSettings::plain(access.rate, access.delay));
    for (from, to) in [(sender, from), (from, sender), (to, receiver), (receiver, to)] {
        network.links.push((from, to, Arc::clone(&plain)));
    }
    (sender, receiver)
}

/// One flow of a group.
struct Member<'a> {
    group: &'a CheckedFlow,
    attachment: &'a Attachment,
    seed: u64,
    /// Its number among all flows.
    number: u64,
}

impl Member<'_> {
    fn overhead(&self) -> Duration {
        match &self.group.over {
            Carrier::Connection(connection) => connection.overhead,
            Carrier::Datagrams(_) | Carrier::Hosted(_) => Duration::ZERO,
        }
    }

    fn endpoints(&self, traces: &mut Traces) -> Result<Endpoints, RunError> {
        let connection = match &self.group.over {
            Carrier::Connection(connection) => connection,
            Carrier::Datagrams(source) => return Ok(Endpoints::Datagrams(source.clone())),
            Carrier::Hosted(hosted) => {
                let seed = Stream::new(self.seed, STACK_STREAMS, self.number).bits();
                let log = traces.log(self.number)?;
                let ends = hosted.ends((seed, self.number), self.group.packet, log);
                return ends.map(Endpoints::Hosted).map_err(RunError::Stack);
            }
        };
        let seed = Stream::new(self.seed, PACING_STREAMS, 2 * self.number).bits();
        let controller = connection.recipe.make(seed);
        Ok(Endpoints::Connection {
            transport: connection.transport.clone(),
            controller: traces.wrap(self.number, controller, self.group)?,
            ack_bytes: self.group.packet.ack_bytes,
            application: self.application(connection),
            path: Path {
                hops: self.attachment.hops,
                stream: Stream::new(self.seed, PACING_STREAMS, 2 * self.number + 1),
            },
        })
    }

    fn application(&self, connection: &Connection) -> Application {
        connection.application.served_by(|| {
            let (recipe, seed) = (connection.recipe.clone(), self.seed);
            Served {
                rtt: self.attachment.base_rtt,
                packet_bytes: self.group.packet.bytes.count() as u32,
                make: Box::new(move || recipe.make(seed)),
            }
        })
    }
}
