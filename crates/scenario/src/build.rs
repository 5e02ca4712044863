//! A checked scenario -> the network that the simulator runs.

use crate::check::{Checked, CheckedFlow, CheckedLink};
use crate::run::RunError;
use crate::scenario::{Datagrams, Flow, PeriodsName};
use crate::topology::{self, Place, Places, Topology};
use crate::traces::Traces;
use narrows_control::registry::MovedBy;
use narrows_sim::{
    Application, ControllerMaker, Endpoints, FileSettings, FlowSettings, Gap, LinkSettings,
    Network, Periods, Usage, WebSettings,
};
use narrows_transport::{Transport, etcp, tcp};
use narrows_units::{Duration, Stream, Time};
use std::sync::Arc;

/// Families of random streams, apart from the simulator's own.
const START_STREAMS: u64 = 101;
const PACING_STREAMS: u64 = 102;
const HASH_STREAMS: u64 = 103;

/// The network of `checked` under `seed`: the links between routers come first, in their order.
/// Controllers are seen by `traces`.
pub(crate) fn network(
    checked: &Checked,
    seed: u64,
    traces: &mut Traces,
) -> Result<Network, RunError> {
    let mut network = Network::default();
    for (number, link) in checked.links.iter().enumerate() {
        network.links.push((
            link.from,
            link.to,
            settings(checked, link, Stream::new(seed, HASH_STREAMS, number as u64).bits()),
        ));
    }
    let mut next_host =
        checked.links.iter().flat_map(|link| [link.from, link.to]).max().map_or(0, |node| node + 1);
    let mut number = 0;
    for (group_number, group) in checked.flows.iter().enumerate() {
        let places = topology::place(&checked.topology, group_number, number, &group.flow)
            .expect("places have been checked");
        for (index, place) in places.into_iter().enumerate() {
            let (from, to) = attach(&mut network, &checked.topology, place, &mut next_host);
            let endpoints = endpoints(group, seed, number, traces)?;
            let settings = flow(checked, group, endpoints, seed, number, index, (from, to));
            network
                .flows
                .push(FlowSettings { web: web(group, seed, base_rtt(checked, place)), ..settings });
            number += 1;
        }
    }
    Ok(network)
}

fn settings(checked: &Checked, link: &CheckedLink, seed: u64) -> LinkSettings {
    let (limit, queue) = checked.queue(link, seed).expect("queues have been checked");
    LinkSettings {
        rate: link.rate,
        delay: link.delay,
        limit,
        queue,
        loss: link.loss,
        jitter: link.jitter,
        watched: Some(checked.sample),
    }
}

/// Gives a flow hosts of its own at its routers; in a general network its ends are the nodes
/// themselves.
fn attach(
    network: &mut Network,
    topology: &Topology,
    place: Place,
    next_host: &mut u32,
) -> (u32, u32) {
    let (Topology::Hosts { access_rate, .. }, Some(delay)) = (topology, place.access_delay) else {
        return (place.from, place.to);
    };
    let access = LinkSettings::plain(*access_rate, delay);
    let (sender, receiver) = (*next_host, *next_host + 1);
    *next_host += 2;
    for (from, to) in
        [(sender, place.from), (place.from, sender), (place.to, receiver), (receiver, place.to)]
    {
        network.links.push((from, to, access.clone()));
    }
    (sender, receiver)
}

/// The base round-trip time of a flow: what a web user's requests take.
fn base_rtt(checked: &Checked, place: Place) -> Duration {
    match (&checked.topology, place.access_delay) {
        (Topology::Hosts { places: Places::Dumbbell { middle, .. }, .. }, Some(access)) => {
            (*middle + access * 2) * 2
        }
        _ => checked.links[0].base_rtt,
    }
}

fn flow(
    checked: &Checked,
    group: &CheckedFlow,
    endpoints: Endpoints,
    seed: u64,
    number: u64,
    index: usize,
    ends: (u32, u32),
) -> FlowSettings {
    let random = Stream::new(seed, START_STREAMS, number).uniform();
    let sampled = checked.sample.filter(|_| number < Checked::MOST_SAMPLED as u64);
    FlowSettings {
        from: ends.0,
        to: ends.1,
        endpoints,
        application: if group.flow.datagrams.is_some() {
            Application::Endless
        } else {
            group.application
        },
        web: None,
        start: group.start(index, random),
        stop: group.flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
        overhead: group.flow.overhead,
        sampled,
    }
}

/// A web user or a source of files, where the group has them, at a distance of `rtt`.
fn web(group: &CheckedFlow, seed: u64, rtt: Duration) -> Option<(Usage, ControllerMaker)> {
    let usage = match (&group.flow.web, &group.flow.files) {
        (Some(web), _) => {
            let (think, size_factor, persistent) =
                (web.think, web.size_factor, web.persistent.value());
            Usage::Pages(WebSettings {
                think,
                size_factor,
                persistent,
                payload: group.payload(),
                rtt,
            })
        }
        (None, Some(files)) => {
            Usage::Files(FileSettings { mean: files.mean, shape: files.shape, off: files.off, rtt })
        }
        (None, None) => return None,
    };
    let (law, birth) = (group.spec.law.clone(), group.birth(seed));
    Some((usage, Box::new(move || law.build(&birth).expect("settings have been checked"))))
}

fn endpoints(
    group: &CheckedFlow,
    seed: u64,
    number: u64,
    traces: &mut Traces,
) -> Result<Endpoints, RunError> {
    let bytes = group.packet.count() as u32;
    if let (Some(gaps), Some(rate)) = (group.flow.datagrams, group.flow.app_rate) {
        let mean = rate.time_to_send(group.packet);
        let gap = match gaps {
            Datagrams::Constant => Gap::Constant(mean),
            Datagrams::Poisson => Gap::Exponential(mean),
        };
        return Ok(Endpoints::Datagrams { gap, bytes, periods: periods(&group.flow) });
    }
    let controller_seed = Stream::new(seed, PACING_STREAMS, 2 * number).bits();
    let controller =
        group.spec.law.build(&group.birth(controller_seed)).expect("settings have been checked");
    let controller = traces.wrap(number, controller, u64::from(bytes))?;
    let stream = Stream::new(seed, PACING_STREAMS, 2 * number + 1);
    let transport = match group.spec.law.moved_by() {
        MovedBy::EachLoss => Transport::Etcp(etcp_settings(group, bytes, stream)),
        MovedBy::Epochs | MovedBy::Delay | MovedBy::DeliveryRate | MovedBy::Routers => {
            Transport::Tcp(tcp_settings(group, bytes, stream))
        }
    };
    Ok(Endpoints::Connection { transport, controller, ack_bytes: group.headers })
}

/// The periods of a datagram source that has some.
fn periods(flow: &Flow) -> Option<Periods> {
    let period = |length| match flow.periods {
        PeriodsName::Fixed => Gap::Constant(length),
        PeriodsName::Exponential => Gap::Exponential(length),
    };
    Some(Periods { on: period(flow.on?), off: period(flow.off?) })
}

fn etcp_settings(group: &CheckedFlow, packet_bytes: u32, stream: Stream) -> etcp::Settings {
    etcp::Settings {
        habits: Arc::clone(&group.habits),
        reliable: group.flow.reliable,
        packet_bytes,
        gaps: group.pacing(),
        stream,
    }
}

fn tcp_settings(group: &CheckedFlow, packet_bytes: u32, stream: Stream) -> tcp::Settings {
    tcp::Settings {
        recovery: group.spec.recovery,
        habits: Arc::clone(&group.habits),
        packet_bytes,
        window_limit: group.receive_window,
        pacing: group.pacing(),
        quantum: group.flow.quantum,
        ecn: group.flow.ecn,
        stream,
    }
}
