//! A checked scenario -> the network that the simulator runs.

use crate::check::{Checked, CheckedFlow, CheckedLink};
use crate::run::RunError;
use crate::scenario::{Datagrams, Flow, PeriodsName};
use crate::topology::{self, Place, Places, Topology};
use crate::traces::Traces;
use narrows_control::registry::MovedBy;
use narrows_router::DropTail;
use narrows_sim::{Application, ControllerMaker, Endpoints, FlowSettings, Gap, Jitter, LinkSettings, Loss, Network, Periods, WebSettings};
use narrows_transport::{Transport, etcp, tcp};
use narrows_units::{Duration, Rate, Stream, Time};
use std::sync::Arc;

/// Families of random streams, apart from the simulator's own.
const START_STREAMS: u64 = 101;
const PACING_STREAMS: u64 = 102;

/// The network of `checked` under `seed`: the links between routers come first, in their order. Controllers are seen by `traces`.
pub(crate) fn network(checked: &Checked, seed: u64, traces: &mut Traces) -> Result<Network, RunError> {
    let mut network = Network::default();
    for link in &checked.links {
        network.links.push((link.from, link.to, settings(checked, link)));
    }
    let mut next_host = checked.links.iter().flat_map(|link| [link.from, link.to]).max().map_or(0, |node| node + 1);
    let mut number = 0;
    for (group_number, group) in checked.flows.iter().enumerate() {
        let places = topology::place(&checked.topology, group_number, number, &group.flow).expect("places have been checked");
        for (index, place) in places.into_iter().enumerate() {
            let (from, to) = attach(&mut network, &checked.topology, place, &mut next_host);
            let endpoints = endpoints(checked, group, seed, number, traces)?;
            let settings = flow(checked, group, endpoints, seed, number, index, (from, to));
            network.flows.push(FlowSettings { web: web(group, seed, base_rtt(checked, place)), ..settings });
            number += 1;
        }
    }
    Ok(network)
}

fn settings(checked: &Checked, link: &CheckedLink) -> LinkSettings {
    let (flows, packet) = (checked.flow_count(), checked.packet());
    let limit = match link.buffer {
        None => DropTail::Unlimited,
        Some(buffer) if buffer.counts_bytes() => DropTail::Bytes(buffer.bytes(link.rate, link.base_rtt, flows, packet).count()),
        Some(buffer) => DropTail::Packets(buffer.packets(link.rate, link.base_rtt, flows, packet)),
    };
    let watched = Some(checked.sample);
    let mark_from = link.mark.map(|mark| mark.packets(link.rate, link.base_rtt, flows, packet));
    LinkSettings { rate: link.rate, delay: link.delay, limit, mark_from, loss: link.loss, jitter: link.jitter, watched }
}

/// Gives a flow hosts of its own at its routers; in a general network its ends are the nodes themselves.
fn attach(network: &mut Network, topology: &Topology, place: Place, next_host: &mut u32) -> (u32, u32) {
    let (Topology::Hosts { access_rate, .. }, Some(delay)) = (topology, place.access_delay) else { return (place.from, place.to) };
    let access = access_link(*access_rate, delay);
    let (sender, receiver) = (*next_host, *next_host + 1);
    *next_host += 2;
    for (from, to) in [(sender, place.from), (place.from, sender), (place.to, receiver), (receiver, place.to)] {
        network.links.push((from, to, access.clone()));
    }
    (sender, receiver)
}

/// The base round-trip time of a flow: what a web user's requests take.
fn base_rtt(checked: &Checked, place: Place) -> Duration {
    match (&checked.topology, place.access_delay) {
        (Topology::Hosts { places: Places::Dumbbell { middle, .. }, .. }, Some(access)) => (*middle + access * 2) * 2,
        _ => checked.links[0].base_rtt,
    }
}

fn access_link(rate: Rate, delay: Duration) -> LinkSettings {
    let (limit, loss, jitter) = (DropTail::Unlimited, Loss::None, Jitter::default());
    LinkSettings { rate, delay, limit, mark_from: None, loss, jitter, watched: None }
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
        application: if group.flow.datagrams.is_some() { Application::Endless } else { group.application },
        web: None,
        start: group.start(index, random),
        stop: group.flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
        overhead: group.flow.overhead,
        sampled,
    }
}

/// A web user, where the group has them, at a distance of `rtt`.
fn web(group: &CheckedFlow, seed: u64, rtt: Duration) -> Option<(WebSettings, ControllerMaker)> {
    let web = group.flow.web.as_ref()?;
    let (think, size_factor, persistent) = (web.think, web.size_factor, web.persistent.value());
    let settings = WebSettings { think, size_factor, persistent, payload: group.payload(), rtt };
    let (law, birth) = (group.spec.law.clone(), group.birth(seed));
    Some((settings, Box::new(move || law.build(&birth).expect("settings have been checked"))))
}

fn endpoints(checked: &Checked, group: &CheckedFlow, seed: u64, number: u64, traces: &mut Traces) -> Result<Endpoints, RunError> {
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
    let controller = group.spec.law.build(&group.birth(controller_seed)).expect("settings have been checked");
    let controller = traces.wrap(number, controller, u64::from(bytes))?;
    let stream = Stream::new(seed, PACING_STREAMS, 2 * number + 1);
    let transport = match group.spec.law.moved_by() {
        MovedBy::EachLoss => Transport::Etcp(etcp_settings(group, bytes, stream)),
        MovedBy::Epochs | MovedBy::Delay | MovedBy::DeliveryRate => Transport::Tcp(tcp_settings(checked, group, bytes, stream)),
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
    etcp::Settings { habits: Arc::clone(&group.habits), reliable: group.flow.reliable, packet_bytes, gaps: group.pacing(), stream }
}

fn tcp_settings(checked: &Checked, group: &CheckedFlow, packet_bytes: u32, stream: Stream) -> tcp::Settings {
    let link = &checked.links[0];
    let window = |buffer: narrows_units::Buffer| buffer.packets(link.rate, link.base_rtt, checked.flow_count(), group.packet) as f64;
    tcp::Settings {
        recovery: group.spec.recovery,
        habits: Arc::clone(&group.habits),
        packet_bytes,
        window_limit: group.flow.max_window.map_or(f64::INFINITY, window),
        pacing: group.pacing(),
        quantum: group.flow.quantum,
        stream,
    }
}
