//! Networks: the presets and the general one, as links between routers and places for flows.

use crate::ScenarioError;
use crate::check::{CheckedLink, positive};
use crate::queue_spec::QueueSpec;
use crate::scenario::{Chain, ChainLink, Dumbbell, Flow, Link, ParkingLot, Scenario};
use narrows_sim::{Jitter, Loss};
use narrows_units::{Duration, Probability, Rate};

/// Where flows are put.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    /// Each flow has hosts of its own at two routers.
    Hosts { places: Places, access_rate: Rate },
    /// Flows begin and end at the nodes themselves.
    Nodes(Vec<String>),
}

/// How a flow's hosts are attached to routers.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    Dumbbell { rtt: Duration, rtt_step: Duration, middle: Duration },
    Row { delays: Vec<Duration>, access_delay: Duration },
}

/// Where one flow's ends are attached, and the one-way delay of its access links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub from: u32,
    pub to: u32,
    /// `None` where the ends are the nodes themselves.
    pub access_delay: Option<Duration>,
}

/// The links between routers, and where flows go.
pub(crate) fn lay(scenario: &Scenario) -> Result<(Vec<CheckedLink>, Topology), ScenarioError> {
    let given = [
        scenario.dumbbell.as_ref().map(|_| "dumbbell"),
        scenario.parking_lot.as_ref().map(|_| "parking_lot"),
        scenario.chain.as_ref().map(|_| "chain"),
        (!scenario.links.is_empty()).then_some("links"),
    ];
    let given: Vec<&str> = given.into_iter().flatten().collect();
    match (given.as_slice(), scenario) {
        (["dumbbell"], Scenario { dumbbell: Some(dumbbell), .. }) => {
            lay_dumbbell(dumbbell, scenario)
        }
        (["parking_lot"], Scenario { parking_lot: Some(lot), .. }) => {
            lay_row("parking_lot", &equal_hops(lot)?)
        }
        (["chain"], Scenario { chain: Some(chain), .. }) => lay_row("chain", chain),
        (["links"], _) => lay_links(scenario),
        ([], _) => Err(ScenarioError::new(
            "",
            "no network: add [dumbbell], [parking_lot], [chain] or [[links]]",
        )),
        (several, _) => Err(ScenarioError::new(
            several[1],
            format!("there is a {} already; give one network", several[0]),
        )),
    }
}

fn lay_dumbbell(
    dumbbell: &Dumbbell,
    scenario: &Scenario,
) -> Result<(Vec<CheckedLink>, Topology), ScenarioError> {
    positive("dumbbell.rtt", dumbbell.rtt, "100ms")?;
    let loss = loss("dumbbell", dumbbell.loss, dumbbell.loss_burst)?;
    let queue = queue("dumbbell", &dumbbell.queue, dumbbell.mark.is_some())?;
    let access = dumbbell.rtt.scale(0.05);
    let middle = Duration::from_picos(dumbbell.rtt.picos() / 2 - 2 * access.picos());
    let there = CheckedLink {
        name: "bottleneck".to_owned(),
        from: 0,
        to: 1,
        rate: dumbbell.rate,
        delay: middle,
        buffer: Some(dumbbell.buffer),
        base_rtt: dumbbell.rtt,
        place: "dumbbell".to_owned(),
        queue,
        mark: dumbbell.mark,
        loss,
        jitter: Jitter { most: dumbbell.jitter, reorders: dumbbell.reorder },
    };
    let data_flows_back = scenario.flows.iter().any(|flow| flow.reverse);
    let buffer = dumbbell.reverse_buffer.or(data_flows_back.then_some(dumbbell.buffer));
    let queue = if data_flows_back { there.queue.clone() } else { QueueSpec::drop_tail() };
    let (loss, jitter) = (Loss::None, Jitter::default());
    let back = CheckedLink {
        name: "reverse".to_owned(),
        from: 1,
        to: 0,
        buffer,
        queue,
        loss,
        jitter,
        ..there.clone()
    };
    let places = Places::Dumbbell { rtt: dumbbell.rtt, rtt_step: dumbbell.rtt_step, middle };
    Ok((vec![there, back], Topology::Hosts { places, access_rate: dumbbell.access_rate }))
}

fn equal_hops(lot: &ParkingLot) -> Result<Chain, ScenarioError> {
    if lot.hops == 0 || lot.hops > 1000 {
        return Err(ScenarioError::new("parking_lot.hops", format!("{} links; try 3", lot.hops)));
    }
    let hop = ChainLink {
        rate: lot.rate,
        delay: lot.delay,
        buffer: lot.buffer,
        queue: lot.queue.clone(),
    };
    Ok(Chain {
        hops: vec![hop; lot.hops as usize],
        access_delay: lot.access_delay,
        access_rate: lot.access_rate,
    })
}

fn lay_row(preset: &str, chain: &Chain) -> Result<(Vec<CheckedLink>, Topology), ScenarioError> {
    if chain.hops.is_empty() {
        return Err(ScenarioError::new(format!("{preset}.hops"), "no links; give one at least"));
    }
    let one_way = chain.hops.iter().fold(chain.access_delay * 2, |sum, hop| sum + hop.delay);
    positive(&format!("{preset}.delay"), one_way, "10ms")?;
    let mut links = Vec::new();
    for (number, hop) in (0..).zip(&chain.hops) {
        let place =
            if preset == "chain" { format!("chain.hops[{number}]") } else { preset.to_owned() };
        let queue = queue(&place, &hop.queue, false)?;
        for (name, from, to) in [
            (format!("link{}", number + 1), number, number + 1),
            (format!("link{}-back", number + 1), number + 1, number),
        ] {
            let (buffer, base_rtt) = (Some(hop.buffer), one_way * 2);
            let (place, queue) = (place.clone(), queue.clone());
            let (mark, loss, jitter) = (None, Loss::None, Jitter::default());
            links.push(CheckedLink {
                name,
                from,
                to,
                rate: hop.rate,
                delay: hop.delay,
                buffer,
                base_rtt,
                place,
                queue,
                mark,
                loss,
                jitter,
            });
        }
    }
    let places = Places::Row {
        delays: chain.hops.iter().map(|hop| hop.delay).collect(),
        access_delay: chain.access_delay,
    };
    Ok((links, Topology::Hosts { places, access_rate: chain.access_rate }))
}

fn lay_links(scenario: &Scenario) -> Result<(Vec<CheckedLink>, Topology), ScenarioError> {
    let mut nodes: Vec<String> = Vec::new();
    let mut links = Vec::new();
    for (number, link) in scenario.links.iter().enumerate() {
        let at = |field: &str| format!("links[{number}].{field}");
        if link.from == link.to {
            return Err(ScenarioError::new(
                at("to"),
                format!("\"{}\" is where the link begins", link.to),
            ));
        }
        let base_rtt = base_rtt(scenario, link, &at("buffer"))?;
        let loss = loss(&format!("links[{number}]"), link.loss, link.loss_burst)?;
        let queue = queue(&format!("links[{number}]"), &link.queue, link.mark.is_some())?;
        let (from, to) = (node(&mut nodes, &link.from), node(&mut nodes, &link.to));
        let name = link.name.clone().unwrap_or_else(|| format!("{}-{}", link.from, link.to));
        let jitter = Jitter { most: link.jitter, reorders: link.reorder };
        let there = CheckedLink {
            name,
            from,
            to,
            rate: link.rate,
            delay: link.delay,
            buffer: link.buffer,
            base_rtt,
            place: format!("links[{number}]"),
            queue,
            mark: link.mark,
            loss,
            jitter,
        };
        if link.duplex {
            let name = link.name.as_ref().map_or_else(
                || format!("{}-{}", link.to, link.from),
                |name| format!("{name}-back"),
            );
            links.push(CheckedLink { name, from: to, to: from, ..there.clone() });
        }
        links.push(there);
    }
    Ok((links, Topology::Nodes(nodes)))
}

fn base_rtt(scenario: &Scenario, link: &Link, place: &str) -> Result<Duration, ScenarioError> {
    let needs_rtt = matches!(
        link.buffer,
        Some(narrows_units::Buffer::Bdp(_) | narrows_units::Buffer::BdpOverRootFlows(_))
    );
    match scenario.rtt {
        None if needs_rtt => Err(ScenarioError::new(
            place,
            "a bdp of which RTT? give rtt = \"100ms\" at the top, or the buffer as \"20p\"",
        )),
        rtt => Ok(rtt.unwrap_or(link.delay * 2)),
    }
}

fn node(nodes: &mut Vec<String>, name: &str) -> u32 {
    let place = nodes.iter().position(|known| known == name).unwrap_or_else(|| {
        nodes.push(name.to_owned());
        nodes.len() - 1
    });
    place as u32
}

fn queue(place: &str, text: &str, marks: bool) -> Result<QueueSpec, ScenarioError> {
    let queue = QueueSpec::parse(text)
        .map_err(|error| ScenarioError::new(format!("{place}.queue"), error))?;
    if marks && queue.name() != "drop-tail" {
        return Err(ScenarioError::new(
            format!("{place}.mark"),
            format!("is for drop-tail; {} has rules of its own", queue.name()),
        ));
    }
    Ok(queue)
}

/// Independent losses, or Gilbert and Elliott's chain with the same mean and bursts of the given
/// mean length.
fn loss(place: &str, ratio: Probability, burst: f64) -> Result<Loss, ScenarioError> {
    let ratio = ratio.value();
    if ratio >= 1.0 {
        return Err(ScenarioError::new(
            format!("{place}.loss"),
            "everything would be lost; try \"0.1%\"",
        ));
    }
    if !(burst >= 1.0 && burst.is_finite()) {
        return Err(ScenarioError::new(
            format!("{place}.loss_burst"),
            format!("{burst} packets; a burst has at least 1"),
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
        return Err(ScenarioError::new(
            format!("{place}.loss_burst"),
            format!("bursts of {burst} cannot make up {ratio} of all packets"),
        ));
    }
    Ok(Loss::GilbertElliott { enter, leave, good: 0.0, bad: 1.0 })
}

/// Where the ends of the flows of the group `number` are attached, the first of them being flow
/// `first` of all; checks that its fields fit the network.
pub(crate) fn place(
    topology: &Topology,
    number: usize,
    first: u64,
    flow: &Flow,
) -> Result<Vec<Place>, ScenarioError> {
    let at = |field: &str| format!("flows[{number}].{field}");
    let only = |field: &str, wanted: &str| {
        Err(ScenarioError::new(at(field), format!("only a flow in {wanted} has one")))
    };
    let hosts = matches!(topology, Topology::Hosts { .. });
    if hosts && (flow.from.is_some() || flow.to.is_some()) {
        return only("from", "a network of [[links]]");
    }
    match topology {
        Topology::Hosts { places: Places::Dumbbell { rtt, rtt_step, middle }, .. } => {
            if flow.over.is_some() {
                return only("over", "a parking_lot or a chain");
            }
            let base = flow.rtt.unwrap_or(*rtt);
            if base < *middle * 2 {
                let message = format!(
                    "{base} is less than the bottleneck's own {} there and back; lower dumbbell.rtt",
                    *middle * 2
                );
                return Err(ScenarioError::new(at("rtt"), message));
            }
            let (from, to) = if flow.reverse { (1, 0) } else { (0, 1) };
            let own = flow.rtt.is_some() || flow.rtt_spread.is_some();
            let rtt = |index| {
                if own { base + spread(flow, index) } else { base + *rtt_step * (first + index) }
            };
            let access = |index| {
                Some(Duration::from_picos(rtt(index).saturating_sub(*middle * 2).picos() / 4))
            };
            Ok((0..u64::from(flow.count))
                .map(|index| Place { from, to, access_delay: access(index) })
                .collect())
        }
        Topology::Hosts { places: Places::Row { delays, access_delay }, .. } => {
            let hops = delays.len() as u32;
            let (first, last) = flow.over.unwrap_or((1, hops));
            if first == 0 || last > hops || first > last {
                return Err(ScenarioError::new(
                    at("over"),
                    format!("[{first}, {last}]; the links are numbered from 1 to {hops}"),
                ));
            }
            let (from, to) = if flow.reverse { (last, first - 1) } else { (first - 1, last) };
            let middle = delays[first as usize - 1..last as usize]
                .iter()
                .fold(Duration::ZERO, |sum, delay| sum + *delay);
            let base = flow.rtt.unwrap_or((middle + *access_delay * 2) * 2);
            if base < middle * 2 {
                let message =
                    format!("{base} is less than the {} of its links there and back", middle * 2);
                return Err(ScenarioError::new(at("rtt"), message));
            }
            let access = |index| {
                Some(Duration::from_picos(
                    (base + spread(flow, index)).saturating_sub(middle * 2).picos() / 4,
                ))
            };
            Ok((0..u64::from(flow.count))
                .map(|index| Place { from, to, access_delay: access(index) })
                .collect())
        }
        Topology::Nodes(nodes) => {
            let given = [
                ("rtt", flow.rtt.is_some()),
                ("rtt_spread", flow.rtt_spread.is_some()),
                ("over", flow.over.is_some()),
            ];
            if let Some((field, _)) = given.iter().find(|(_, given)| *given) {
                return only(field, "a preset");
            }
            let find = |field: &str, name: &Option<String>| {
                let name = name
                    .as_deref()
                    .ok_or_else(|| ScenarioError::new(at(field), "missing; name a node"))?;
                let place = nodes.iter().position(|node| node == name);
                let known = nodes.iter().map(String::as_str);
                place.ok_or_else(|| {
                    ScenarioError::new(
                        at(field),
                        narrows_control::registry::unknown("node", name, known),
                    )
                })
            };
            let (from, to) = (find("from", &flow.from)? as u32, find("to", &flow.to)? as u32);
            let (from, to) = if flow.reverse { (to, from) } else { (from, to) };
            if from == to {
                return Err(ScenarioError::new(at("to"), "is where the flow begins"));
            }
            Ok(vec![Place { from, to, access_delay: None }; flow.count as usize])
        }
    }
}

/// How much longer the base RTT of the group's flow `index` is than the first's.
fn spread(flow: &Flow, index: u64) -> Duration {
    let (Some(spread), true) = (flow.rtt_spread, flow.count > 1) else { return Duration::ZERO };
    Duration::from_picos(
        (u128::from(spread.picos()) * u128::from(index) / u128::from(flow.count - 1)) as u64,
    )
}

/// The nodes that links lead to from `from`, itself included.
pub(crate) fn reachable(links: &[CheckedLink], from: u32) -> Vec<u32> {
    let mut seen = vec![from];
    let mut next = 0;
    while let Some(node) = seen.get(next).copied() {
        for link in links.iter().filter(|link| link.from == node) {
            if !seen.contains(&link.to) {
                seen.push(link.to);
            }
        }
        next += 1;
    }
    seen
}
