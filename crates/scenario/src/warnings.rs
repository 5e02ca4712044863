//! What runs, but hardly as it was meant: laws over queues that cannot serve them, and an RTT that
//! is not the network's.

use crate::arrivals::Arriving;
use crate::connection::Connection;
use crate::flow::{Carrier, CheckedFlow};
use crate::link::CheckedLink;
use crate::scenario::Scenario;
use narrows_signal::{Ecn, Request};
use narrows_sim::{Application, Usage};
use narrows_transport::etcp::EtcpSettings;
use narrows_transport::{Payload, Transport};
use narrows_units::{Bytes, Duration};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// Bytes of a packet that is as large as most links let it be.
const LARGEST_PACKET: f64 = 1500.0;
/// Bytes above which a few transfers make most of a load.
const LARGE: f64 = 1e6;
/// Transfers below which a 99th percentile has fewer than ten values beyond it.
const FEW_TRANSFERS: f64 = 1000.0;

/// Something that runs, but hardly as it was meant. Prints as `flows[0].cc: "xcp" asks routers …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The field, a path like `flows[0].cc`.
    pub place: String,
    /// What is odd, and what to do.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// All warnings about a scenario whose links and flows have been checked.
pub(crate) fn find(
    scenario: &Scenario,
    links: &[CheckedLink],
    flows: &[CheckedFlow],
) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = short_rtt(scenario, flows).into_iter().collect();
    for (number, flow) in flows.iter().enumerate() {
        warnings.extend(flow.arriving.iter().flat_map(|it| chance(it, number)));
        let Carrier::Connection(connection) = &flow.over else { continue };
        let way = way(flow, links, Direction::Out);
        let found = unserved(flow, connection, &way).into_iter();
        let found = found.chain(untold(flow, connection, &way));
        let found = found.chain(undamaged(connection, &way));
        let found = found.chain(connection.oddity.clone().map(|it| ("cc", it)));
        warnings.extend(found.map(|(field, message)| Warning {
            place: format!("flows[{number}].{field}"),
            message,
        }));
    }
    warnings.extend(links.iter().filter_map(|link| overload(link, links, flows)));
    warnings.extend(passed_by(links, flows));
    warnings.extend(unused_devices(links, flows));
    warnings.extend(links.iter().filter_map(piles_up));
    warnings
}

/// Transfers that are too many for a link, or too few for a percentile.
fn chance(arriving: &Arriving, number: usize) -> impl Iterator<Item = Warning> {
    let Arriving { load, expected, sizes, .. } = arriving;
    let too_many = (*load >= 1.0)
        .then(|| format!("a load of {load:.2} has no steady state: more and more are under way"));
    let mean = Bytes::new(sizes.mean() as u64);
    let short = sizes.clone().at_most(LARGE).filter(|short| short.mean() < 0.5 * sizes.mean());
    let or = if short.is_some() { ", or leave the largest out with \":max=1MB\"" } else { "" };
    let too_few = (*expected < FEW_TRANSFERS).then(|| {
        format!(
            "about {expected:.0} transfers are expected in the measured time, of {mean} each on \
             average: percentiles want {FEW_TRANSFERS} and more; take a longer run{or}"
        )
    });
    let place = move |message| Warning { place: format!("flows[{number}].arrivals"), message };
    [too_many, too_few].into_iter().flatten().map(place)
}

/// Arrivals, answers and datagrams that together are more than a link carries, where none is alone.
fn overload(link: &CheckedLink, links: &[CheckedLink], flows: &[CheckedFlow]) -> Option<Warning> {
    let rate = link.rate.bits_per_second() as f64;
    let crosses = |flow: &CheckedFlow| {
        way(flow, links, Direction::Out).iter().any(|other| std::ptr::eq(*other, link))
    };
    let loads = flows.iter().filter(|flow| crosses(flow)).filter_map(|flow| {
        let bits = 8.0 * flow.packet.bytes.count() as f64 * f64::from(flow.count);
        if let Some(arriving) = &flow.arriving {
            return (arriving.link == link.name).then_some(arriving.load);
        }
        match (&flow.over, flow.application()) {
            (Carrier::Datagrams(source), _) => Some(bits * source.packets_per_second() / rate),
            (_, Some(Application::Requests(Usage::Queries(it), ()))) => {
                let packets = it.bytes.div_ceil(it.payload) as f64;
                Some(bits * packets / it.every.seconds() / rate)
            }
            _ => None,
        }
    });
    let loads: Vec<f64> = loads.collect();
    let sum: f64 = loads.iter().sum();
    let told = flows.iter().any(|flow| flow.arriving.as_ref().is_some_and(|it| it.load >= 1.0));
    let chance = flows.iter().any(|flow| {
        let answers = matches!(
            flow.application(),
            Some(Application::Requests(Usage::Queries(_) | Usage::Arrivals(_), ()))
        );
        answers && crosses(flow)
    });
    (sum >= 1.0 && chance && !told).then(|| Warning {
        place: format!("links \"{}\"", link.name),
        message: format!(
            "arrivals, answers and datagrams bring {sum:.2} times what it carries: more and more \
             wait"
        ),
    })
}

/// A delay that is told to routers of which none counts with it.
fn untold(
    flow: &CheckedFlow,
    connection: &Connection,
    way: &[&CheckedLink],
) -> Option<(&'static str, String)> {
    let request = connection.request;
    let is_told = matches!(request, Request::WindowOver(..));
    let answers = |link: &&CheckedLink| link.queue.answers(&request);
    if !is_told || !way.iter().any(answers) || way.iter().any(|link| link.queue.needs_delays()) {
        return None;
    }
    let cc = &flow.cc;
    let message = format!(
        "\"{cc}\" tells its delay, which only queue = \"ba\" counts with, and none is on its way"
    );
    Some(("cc", message))
}

/// A checksum of headers where no wire damages data.
fn undamaged(connection: &Connection, way: &[&CheckedLink]) -> Option<(&'static str, String)> {
    let checks = |it: &EtcpSettings| it.payload == Payload::Apart;
    if !matches!(&connection.transport, Transport::Etcp(settings) if checks(settings)) {
        return None;
    }
    (!way.iter().any(|link| link.loses())).then(|| {
        let message = "no wire on its data's way damages anything, so it changes nothing; add \
                       loss = \"0.1%\" to one of those links";
        ("header_checksum", message.to_owned())
    })
}

/// A wire that lets fewer packets pass than may leave.
fn piles_up(link: &CheckedLink) -> Option<Warning> {
    let (packets, every) = link.lets_go()?;
    let passes = packets as f64 * LARGEST_PACKET * 8.0 / every.seconds();
    let rate = link.rate.bits_per_second() as f64;
    (passes < rate).then(|| Warning {
        place: format!("links \"{}\"", link.name),
        message: format!(
            "hold lets {packets} pass at once, each {every}, which is less than {}: packets pile up \
             where no buffer bounds them; give more",
            link.rate
        ),
    })
}

/// Routers that answer in acknowledgements, of which none passes them.
fn passed_by<'a>(
    links: &'a [CheckedLink],
    flows: &'a [CheckedFlow],
) -> impl Iterator<Item = Warning> + 'a {
    let hears = |link: &CheckedLink| {
        flows.iter().any(|flow| {
            let out = way(flow, links, Direction::Out);
            let back = way(flow, links, Direction::Back);
            out.iter().any(|other| std::ptr::eq(*other, link))
                && back.iter().any(|other| other.to == link.from)
        })
    };
    let deaf = move |link: &&CheckedLink| link.queue.answers_backward() && !hears(link);
    links.iter().filter(deaf).map(|link| Warning {
        place: format!("links \"{}\"", link.name),
        message: format!(
            "{}=true has no effect, as no flow's acknowledgements come back to this router; leave \
             it out",
            if link.queue.rewrites_windows() { "rewrite" } else { "backward" }
        ),
    })
}

/// Devices into which no host sends that would be told.
fn unused_devices<'a>(
    links: &'a [CheckedLink],
    flows: &'a [CheckedFlow],
) -> impl Iterator<Item = Warning> + 'a {
    let tells = |flow: &CheckedFlow, link: &CheckedLink| {
        let is_tcp = matches!(
            &flow.over,
            Carrier::Connection(Connection { transport: Transport::Tcp(_), .. })
        );
        let first = way(flow, links, Direction::Out).pop();
        is_tcp && first.is_some_and(|first| std::ptr::eq(first, link))
    };
    let idle =
        move |link: &&CheckedLink| link.is_device && !flows.iter().any(|flow| tells(flow, link));
    links.iter().filter(idle).map(|link| Warning {
        place: format!("links \"{}\"", link.name),
        message:
            "device=true has no effect, as no TCP of narrows begins at its node and goes this \
                  way; leave it out"
                .to_owned(),
    })
}

/// An `rtt` at the top that is below that of every flow.
fn short_rtt(scenario: &Scenario, flows: &[CheckedFlow]) -> Option<Warning> {
    let rtt = scenario.rtt?;
    let least = flows.iter().flat_map(|flow| &flow.attachments).map(|at| at.base_rtt).min()?;
    (rtt < least).then(|| Warning {
        place: "rtt".to_owned(),
        message: format!(
            "{rtt} is shorter than the shortest round trip of any flow, {least}, and buffers in \
             bdp are counted with it; write rtt = \"{least}\""
        ),
    })
}

/// The field of a law that none of the links on its way serves, and what to do.
fn unserved(
    flow: &CheckedFlow,
    connection: &Connection,
    path: &[&CheckedLink],
) -> Option<(&'static str, String)> {
    let Connection { needs, request, .. } = *connection;
    let cc = &flow.cc;
    if let Some(queue) = answered_by(&request)
        && needs.routers
        && !path.iter().any(|link| link.queue.answers(&request))
    {
        let message = format!(
            "\"{cc}\" asks routers, and none of the links on its way answers; give one of them \
             queue = \"{queue}\""
        );
        return Some(("cc", message));
    }
    if path.iter().any(|link| link.marks()) {
        return None;
    }
    let marking = match needs.ecn {
        Ecn::Scalable => "give a link on its way queue = \"dualpi2\"",
        _ => "give a link on its way queue = \"codel\", or mark = \"20p\" over drop-tail",
    };
    if needs.ecn.is_capable() {
        let message = format!("\"{cc}\" needs marks, and no queue on its way marks; {marking}");
        return Some(("cc", message));
    }
    if connection.transport.ecn().asked {
        let message = format!("no queue on its way marks, so nothing is marked; {marking}");
        return Some(("ecn", message));
    }
    None
}

/// The queue that answers what packets ask with `request`; `None` if they ask nothing.
fn answered_by(request: &Request) -> Option<&'static str> {
    match request {
        Request::Nothing => None,
        Request::Feedback(_) => Some("xcp"),
        Request::Window(_) => Some("gwa-rr"),
        Request::Rate(_) | Request::WindowOver(..) => Some("ba"),
    }
}

/// What goes along a way.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// Data.
    Out,
    /// Acknowledgements.
    Back,
}

/// The links between routers that a flow's data or its acknowledgements take, the last one first:
/// the way of the least delay, then of the fewest links, then of those that come first, as in the
/// simulator (crates/sim/src/wiring.rs).
pub(crate) fn way<'a>(
    flow: &CheckedFlow,
    links: &'a [CheckedLink],
    direction: Direction,
) -> Vec<&'a CheckedLink> {
    let Some(ends) = flow.attachments.first() else { return Vec::new() };
    let (from, to) = match direction {
        Direction::Out => (ends.from, ends.to),
        Direction::Back => (ends.to, ends.from),
    };
    let nodes = links.iter().flat_map(|link| [link.from, link.to]).max();
    let nodes = nodes.map_or(0, |node| node as usize + 1);
    let mut came_by: Vec<Option<&CheckedLink>> = vec![None; nodes];
    let mut best = vec![(Duration::MAX, u32::MAX); nodes];
    best[from as usize] = (Duration::ZERO, 0);
    let mut open = BinaryHeap::from([Reverse((Duration::ZERO, 0, from))]);
    while let Some(Reverse((delay, hops, node))) = open.pop() {
        if best[node as usize] < (delay, hops) {
            continue;
        }
        for link in links.iter().filter(|link| link.from == node) {
            let cost = (delay + link.delay, hops + 1);
            if cost < best[link.to as usize] {
                best[link.to as usize] = cost;
                came_by[link.to as usize] = Some(link);
                open.push(Reverse((cost.0, cost.1, link.to)));
            }
        }
    }
    let mut path = Vec::new();
    let mut node = to;
    while node != from
        && let Some(link) = came_by[node as usize]
    {
        path.push(link);
        node = link.from;
    }
    path
}
