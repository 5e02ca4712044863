//! Checks a network: its links, and for each flow where its ends are attached.

use crate::fields::Fields;
use crate::flow::count;
use crate::link::{CheckedLink, Load, Placed};
use crate::scenario::{
    Chain, ChainLink, Change, Dumbbell, Flow, Link, LinkFields, LinkOptions, ParkingLot, Scenario,
    WayBack,
};
use crate::{ScenarioError, link};
use narrows_settings::unknown;
use narrows_units::{Buffer, Duration, Rate, text};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A network of links, and how flows are attached to it.
pub(crate) struct Network {
    pub links: Vec<CheckedLink>,
    sites: Sites,
}

/// Where flows are put.
enum Sites {
    /// Each flow has hosts of its own at both routers.
    Dumbbell { rtt: Duration, steps: Steps, middle: Duration, access_rate: Rate },
    /// Each flow has hosts of its own at two routers of a row.
    Row { delays: Vec<Duration>, access_delay: Duration, access_rate: Rate },
    /// Flows begin and end at the nodes themselves.
    Nodes(Vec<String>),
}

/// By how much the RTT of each flow of a dumbbell is longer than the first's.
struct Steps {
    step: Duration,
    /// The place of each flow among all RTTs; as it is numbered if there is none.
    places: Vec<u64>,
}

impl Steps {
    /// Steps of `step`, which are dealt to groups in turn, by the share that each has of all
    /// flows: a mixture's laws have short and long RTTs alike.
    fn new(step: Duration, flows: &[Flow]) -> Self {
        let counts: Vec<u64> = flows.iter().map(|flow| u64::from(count(flow))).collect();
        let single = counts.len() == 1 || counts.iter().all(|count| *count == 1);
        if step == Duration::ZERO || single {
            return Self { step, places: Vec::new() };
        }
        let mut turns: Vec<(u64, u64, usize)> = Vec::new();
        for (group, count) in counts.iter().enumerate() {
            turns.extend((0..*count).map(|index| (2 * index + 1, *count, group)));
        }
        let numbers = 0..turns.len();
        let mut order: Vec<usize> = numbers.collect();
        // (2i + 1)/n of one group beside those of others, compared as whole numbers.
        order.sort_by(|a, b| {
            let ((i, n, one), (j, m, other)) = (turns[*a], turns[*b]);
            (u128::from(i) * u128::from(m))
                .cmp(&(u128::from(j) * u128::from(n)))
                .then(one.cmp(&other))
        });
        let mut places = vec![0; turns.len()];
        for (place, flow) in order.into_iter().enumerate() {
            places[flow] = place as u64;
        }
        Self { step, places }
    }

    /// That of flow `number` of all.
    fn of(&self, number: u64) -> Duration {
        self.step * self.places.get(number as usize).copied().unwrap_or(number)
    }
}

/// Where one flow's ends are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub from: u32,
    pub to: u32,
    /// The hosts' own links; `None` if the ends are the nodes themselves.
    pub access: Option<Access>,
    /// Round-trip time without queues and transmission.
    pub base_rtt: Duration,
    /// Links from the sender to the receiver.
    pub hops: u32,
}

/// The links between a flow's hosts and routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub rate: Rate,
    pub delay: Duration,
}

/// What is wrong with an amount in bdp in a network of links without `rtt`.
pub(crate) const NO_RTT: &str =
    "a bdp needs an RTT; give rtt = \"100ms\" at the top, or write \"20p\"";
/// Why an RTT is no change of a link.
const OF_A_DUMBBELL: &str = "is for a dumbbell; give the link's one-way delay";
/// Each access link of a dumbbell takes this share of the RTT, one way.
const ACCESS_SHARE: f64 = 0.05;
/// Access links are faster than any bottleneck unless the scenario says otherwise.
const ACCESS_RATE: Rate = Rate::from_megabits(100_000);

impl Network {
    /// The network of `scenario`, under `load`. Fails if there is none, or several, or one of them
    /// does not hold together.
    pub fn lay(scenario: &Scenario, load: &Load) -> Result<Self, ScenarioError> {
        let Scenario { dumbbell, parking_lot, chain, links, rtt, .. } = scenario;
        let given = [
            (dumbbell.is_some(), "dumbbell"),
            (parking_lot.is_some(), "parking_lot"),
            (chain.is_some(), "chain"),
            (!links.is_empty(), "links"),
        ];
        let mut given = given.into_iter().filter_map(|(given, name)| given.then_some(name));
        if let (Some(first), Some(second)) = (given.next(), given.next()) {
            let message = format!("there is a {first} already; give one network");
            return Err(ScenarioError::new(second, message));
        }
        if rtt.is_some() && links.is_empty() {
            let message = "is for a network of [[links]]; a preset knows its own";
            return Err(ScenarioError::new("rtt", message));
        }
        match (dumbbell, parking_lot, chain) {
            (Some(dumbbell), ..) => Self::dumbbell(dumbbell, &scenario.flows, load),
            (_, Some(lot), _) => Self::parking_lot(lot, load),
            (.., Some(chain)) => Self::chain(chain, load),
            _ if !links.is_empty() => Self::nodes(links, *rtt, load),
            _ => {
                let message = "no network: add [dumbbell], [parking_lot], [chain] or [[links]]";
                Err(ScenarioError::new("", message))
            }
        }
    }

    /// The rate of hosts' own links, where a preset lays them.
    pub fn access_rate(&self) -> Option<Rate> {
        match &self.sites {
            Sites::Dumbbell { access_rate, .. } | Sites::Row { access_rate, .. } => {
                Some(*access_rate)
            }
            Sites::Nodes(_) => None,
        }
    }

    fn dumbbell(dumbbell: &Dumbbell, flows: &[Flow], load: &Load) -> Result<Self, ScenarioError> {
        let missing = |field| {
            let message = format!("missing field \"{field}\"; add it");
            ScenarioError::new("dumbbell", message)
        };
        let rtt = dumbbell.rtt.ok_or_else(|| missing("rtt"))?;
        if dumbbell.memory.is_none() {
            dumbbell.buffer.ok_or_else(|| missing("buffer"))?;
        }
        positive("dumbbell.rtt", rtt, "100ms")?;
        let has_own = |flow: &Flow| flow.rtt.is_some() || flow.rtt_spread.is_some();
        let is_step = dumbbell.rtt_step.is_some_and(|step| step > Duration::ZERO);
        if is_step && flows.iter().all(has_own) {
            let message =
                "has no effect, as every group of flows has an rtt of its own; leave it out";
            return Err(ScenarioError::new("dumbbell.rtt_step", message));
        }
        let middle = Duration::from_picos(rtt.picos() / 2 - 2 * rtt.scale(ACCESS_SHARE).picos());
        let mut fields = dumbbell.link();
        let there = Placed { from: 0, to: 1, delay: middle, base_rtt: rtt, place: "dumbbell" };
        let delays = delays_of(&mut fields.options.changes, rtt, middle)?;
        let repeat = fields.options.repeat;
        let (queue, buffer) = (fields.options.queue.clone(), fields.buffer);
        let (mark, mtu) = (fields.options.mark, fields.options.mtu);
        let bottleneck = link::check("bottleneck".to_owned(), there, fields, load)?;
        // The way back is as the way there if data flows back, else a plain link.
        let back = flows.iter().any(|flow| flow.reverse == Some(true));
        let given = dumbbell.reverse.as_ref().map(WayBack::link);
        let place = if given.is_some() { "dumbbell.reverse" } else { "dumbbell" };
        let LinkFields { rate, buffer: own, mut options } = given.unwrap_or_default();
        refuse_rtts("dumbbell.reverse", &options.changes, "goes both ways; give it there")?;
        if !delays.is_empty() {
            if !options.changes.is_empty() {
                let message = "has changes of its own, and rtt changes both ways; leave one out";
                return Err(ScenarioError::new("dumbbell.reverse.changes", message));
            }
            (options.changes, options.repeat) = (delays, repeat);
        }
        let has_trace = options.trace.is_some();
        let reverse = LinkFields {
            rate: rate.or((!has_trace).then_some(bottleneck.rate)),
            buffer: own.or(buffer.filter(|_| back)),
            options: LinkOptions {
                queue: options.queue.or(queue.filter(|_| back)),
                mark: options.mark.or(mark.filter(|_| back)),
                mtu: options.mtu.or(mtu),
                ..options
            },
        };
        let back = Placed { from: 1, to: 0, place, ..there };
        let reverse = link::check("reverse".to_owned(), back, reverse, load)?;
        let links = vec![bottleneck, reverse];
        let steps = Steps::new(dumbbell.rtt_step.unwrap_or_default(), flows);
        let access_rate = dumbbell.access_rate.unwrap_or(ACCESS_RATE);
        Ok(Self { links, sites: Sites::Dumbbell { rtt, steps, middle, access_rate } })
    }

    fn parking_lot(lot: &ParkingLot, load: &Load) -> Result<Self, ScenarioError> {
        if lot.hops == 0 || lot.hops > 1000 {
            let message = format!("{} is not from 1 to 1000 links; try 3", lot.hops);
            return Err(ScenarioError::new("parking_lot.hops", message));
        }
        let hops = (0..lot.hops).map(|_| ("parking_lot".to_owned(), lot.delay, lot.link()));
        Self::row("parking_lot", hops.collect(), lot.access_delay, lot.access_rate, load)
    }

    fn chain(chain: &Chain, load: &Load) -> Result<Self, ScenarioError> {
        if chain.hops.is_empty() {
            return Err(ScenarioError::new("chain.hops", "no links; give at least one"));
        }
        let hop = |(number, hop): (usize, &ChainLink)| {
            (format!("chain.hops[{number}]"), hop.delay, hop.link())
        };
        let hops = chain.hops.iter().enumerate().map(hop).collect();
        Self::row("chain", hops, chain.access_delay, chain.access_rate, load)
    }

    /// Links in a row, the same in both directions: where each is described, its delay, and the
    /// rest.
    fn row(
        preset: &str,
        hops: Vec<(String, Duration, LinkFields)>,
        access_delay: Option<Duration>,
        access_rate: Option<Rate>,
        load: &Load,
    ) -> Result<Self, ScenarioError> {
        let access_delay = access_delay.unwrap_or_default();
        let delays: Vec<Duration> = hops.iter().map(|(_, delay, _)| *delay).collect();
        let one_way = delays.iter().fold(access_delay * 2, |sum, delay| sum + *delay);
        let place = if preset == "chain" { "chain.hops[0].delay" } else { "parking_lot.delay" };
        positive(place, one_way, "10ms")?;
        let mut links = Vec::new();
        for (number, (place, delay, fields)) in (0..).zip(hops) {
            let (from, to, base_rtt) = (number, number + 1, one_way * 2);
            let there = Placed { from, to, delay, base_rtt, place: &place };
            refuse_rtts(&place, &fields.options.changes, OF_A_DUMBBELL)?;
            let name = format!("link{}", number + 1);
            links.push(link::check(name.clone(), there, fields.clone(), load)?);
            let back = Placed { from: to, to: from, ..there };
            links.push(link::check(format!("{name}-back"), back, fields.without_memory(), load)?);
        }
        let access_rate = access_rate.unwrap_or(ACCESS_RATE);
        Ok(Self { links, sites: Sites::Row { delays, access_delay, access_rate } })
    }

    fn nodes(written: &[Link], rtt: Option<Duration>, load: &Load) -> Result<Self, ScenarioError> {
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        for (number, written) in written.iter().enumerate() {
            let place = format!("links[{number}]");
            let Link { from, to, delay, name, .. } = written;
            let texts = [("from", Some(from)), ("to", Some(to)), ("name", name.as_ref())];
            let wrong = |(field, text): (&'static str, Option<&String>)| {
                Some((field, text::wrong_name(text?)?))
            };
            if let Some((field, message)) = texts.into_iter().find_map(wrong) {
                return Err(ScenarioError::new(format!("{place}.{field}"), message));
            }
            if from == to {
                let message = format!("\"{to}\" is also where the link begins; name another node");
                return Err(ScenarioError::new(format!("{place}.to"), message));
            }
            let fields = written.link();
            refuse_rtts(&place, &fields.options.changes, OF_A_DUMBBELL)?;
            let in_bdp = [("buffer", fields.buffer), ("mark", fields.options.mark)];
            let in_bdp = in_bdp.into_iter().find(|(_, amount)| amount.is_some_and(is_of_bdp));
            if let (Some((field, _)), None) = (in_bdp, rtt) {
                return Err(ScenarioError::new(format!("{place}.{field}"), NO_RTT));
            }
            let base_rtt = rtt.unwrap_or(*delay * 2);
            let (start, end) = (number_of(&mut nodes, from), number_of(&mut nodes, to));
            let there = Placed { from: start, to: end, delay: *delay, base_rtt, place: &place };
            if written.duplex != Some(false) {
                let back = Placed { from: end, to: start, ..there };
                let name = name.as_ref().map(|name| format!("{name}-back"));
                let name = name.unwrap_or_else(|| format!("{to}-{from}"));
                links.push(link::check(name, back, fields.clone().without_memory(), load)?);
            }
            let name = name.clone().unwrap_or_else(|| format!("{from}-{to}"));
            let link = link::check(name, there, fields, load)?;
            let is_device = written.device == Some(true);
            links.push(if is_device { link.into_device(&place)? } else { link });
        }
        no_name_twice(&links)?;
        Ok(Self { links, sites: Sites::Nodes(nodes) })
    }

    /// Whether flows go from node to node.
    pub fn has_nodes(&self) -> bool {
        matches!(self.sites, Sites::Nodes(_))
    }

    /// Where the ends of `count` identical flows are attached, the first of them being flow `first`
    /// of all; takes the fields that say so from `given`.
    pub fn attach(
        &self,
        given: &mut Fields,
        first: u64,
        count: u32,
    ) -> Result<Vec<Attachment>, ScenarioError> {
        let reverse = given.take(|flow| &mut flow.reverse).is_some();
        match &self.sites {
            Sites::Dumbbell { rtt, steps, middle, access_rate } => {
                let own = given.take(|flow| &mut flow.rtt);
                let spread = given.take(|flow| &mut flow.rtt_spread);
                let base = own.unwrap_or(*rtt);
                let message = "the bottleneck's; lower dumbbell.rtt";
                at_least(given, base, *middle * 2, message)?;
                let has_own = own.is_some() || spread.is_some();
                let (from, to) = if reverse { (1, 0) } else { (0, 1) };
                let attach = |index| {
                    let step = if has_own { Duration::ZERO } else { steps.of(first + index) };
                    let extra = step + spread_of(spread, index, count);
                    with_hosts(from, to, base + extra, *middle, *access_rate)
                };
                Ok((0..u64::from(count)).map(attach).collect())
            }
            Sites::Row { delays, access_delay, access_rate } => {
                let (first, last) = part(given, delays.len() as u32)?;
                let own = given.take(|flow| &mut flow.rtt);
                let spread = given.take(|flow| &mut flow.rtt_spread);
                let links = &delays[first as usize - 1..last as usize];
                let middle = links.iter().fold(Duration::ZERO, |sum, delay| sum + *delay);
                let base = own.unwrap_or((middle + *access_delay * 2) * 2);
                at_least(given, base, middle * 2, "its links'; give more")?;
                let (from, to) = if reverse { (last, first - 1) } else { (first - 1, last) };
                let attach = |index| {
                    let rtt = base + spread_of(spread, index, count);
                    with_hosts(from, to, rtt, middle, *access_rate)
                };
                Ok((0..u64::from(count)).map(attach).collect())
            }
            Sites::Nodes(nodes) => {
                let from = given.take(|flow| &mut flow.from);
                let to = given.take(|flow| &mut flow.to);
                let from = find(given, nodes, "from", from)?;
                let to = find(given, nodes, "to", to)?;
                if from == to {
                    return Err(given.error("to", "is also the sender's node; name another"));
                }
                let (from, to) = if reverse { (to, from) } else { (from, to) };
                let (there, hops) = self.path(given, nodes, from, to)?;
                let (back, _) = self.path(given, nodes, to, from)?;
                let base_rtt = there + back;
                let attachment = Attachment { from, to, access: None, base_rtt, hops };
                Ok(vec![attachment; count as usize])
            }
        }
    }

    /// Why a field that says where a flow goes does not count in this network.
    pub fn why_not(&self, field: &str) -> Option<&'static str> {
        match (&self.sites, field) {
            (Sites::Dumbbell { .. }, "over") => {
                Some("only a flow in a parking_lot or a chain has one")
            }
            (Sites::Dumbbell { .. } | Sites::Row { .. }, "from" | "to") => {
                Some("only a flow in a network of [[links]] has one")
            }
            (Sites::Nodes(_), "rtt" | "rtt_spread" | "over") => {
                Some("only a flow in a preset has one")
            }
            _ => None,
        }
    }

    /// The delay of the shortest path between two nodes, and its links. Fails if there is none.
    fn path(
        &self,
        given: &Fields,
        nodes: &[String],
        from: u32,
        to: u32,
    ) -> Result<(Duration, u32), ScenarioError> {
        let mut best = vec![Duration::MAX; nodes.len()];
        let mut open = BinaryHeap::from([Reverse((Duration::ZERO, 0, from))]);
        while let Some(Reverse((delay, hops, node))) = open.pop() {
            if node == to {
                return Ok((delay, hops));
            }
            for link in self.links.iter().filter(|link| link.from == node) {
                let delay = delay + link.delay;
                if delay < best[link.to as usize] {
                    best[link.to as usize] = delay;
                    open.push(Reverse((delay, hops + 1, link.to)));
                }
            }
        }
        let (from, to) = (&nodes[from as usize], &nodes[to as usize]);
        Err(given.error_here(format!("no path from \"{from}\" to \"{to}\"; add a link")))
    }
}

/// Makes each RTT of a dumbbell's `changes` a delay of its bottleneck, of which `middle` is the
/// first; returns the same changes of the way back.
fn delays_of(
    changes: &mut [Change],
    rtt: Duration,
    middle: Duration,
) -> Result<Vec<Change>, ScenarioError> {
    let hosts = rtt.saturating_sub(middle * 2);
    let mut back = Vec::new();
    for (number, change) in changes.iter_mut().enumerate() {
        let place = |field: &str| format!("dumbbell.changes[{number}].{field}");
        if change.delay.is_some() {
            let message = "a dumbbell has an rtt, there and back, not a one-way delay; give rtt";
            return Err(ScenarioError::new(place("delay"), message));
        }
        let Some(rtt) = change.rtt.take() else { continue };
        if rtt < hosts {
            let message = format!("{rtt} is below the round trip of {hosts} to the bottleneck");
            return Err(ScenarioError::new(place("rtt"), message));
        }
        change.delay = Some(rtt.saturating_sub(hosts).scale(0.5));
        back.push(Change { delay: change.delay, ..Change::nothing(change.at) });
    }
    Ok(back)
}

/// Fails if a change gives an RTT, and says `why` that is wrong.
fn refuse_rtts(place: &str, changes: &[Change], why: &str) -> Result<(), ScenarioError> {
    match changes.iter().position(|change| change.rtt.is_some()) {
        None => Ok(()),
        Some(number) => Err(ScenarioError::new(format!("{place}.changes[{number}].rtt"), why)),
    }
}

/// The first and the last link of a flow in a row of `hops`, from 1.
fn part(given: &mut Fields, hops: u32) -> Result<(u32, u32), ScenarioError> {
    let (first, last) = given.take(|flow| &mut flow.over).unwrap_or((1, hops));
    if first > last {
        let message = format!(
            "[{first}, {last}] is not in order; write [{last}, {first}], with reverse = true for \
             the other direction"
        );
        return Err(given.error("over", message));
    }
    if first == 0 || last > hops {
        let message = format!("[{first}, {last}]; the links are numbered from 1 to {hops}");
        return Err(given.error("over", message));
    }
    Ok((first, last))
}

/// Fails if a flow's base RTT is below the delay of the links it shares.
fn at_least(
    given: &Fields,
    base: Duration,
    least: Duration,
    whose: &str,
) -> Result<(), ScenarioError> {
    if base >= least {
        return Ok(());
    }
    let (whose, remedy) = whose.split_once(';').unwrap_or((whose, ""));
    let message = format!("{base} is below {whose} round trip of {least};{remedy}");
    Err(given.error("rtt", message))
}

/// A flow with hosts of its own, whose links make its base RTT `rtt`.
fn with_hosts(from: u32, to: u32, rtt: Duration, middle: Duration, rate: Rate) -> Attachment {
    let delay = Duration::from_picos(rtt.saturating_sub(middle * 2).picos() / 4);
    let base_rtt = (middle + delay * 2) * 2;
    let hops = from.abs_diff(to) + 2;
    Attachment { from, to, access: Some(Access { rate, delay }), base_rtt, hops }
}

/// By how much the base RTT of a group's flow `index` exceeds the first's.
fn spread_of(spread: Option<Duration>, index: u64, count: u32) -> Duration {
    let (Some(spread), true) = (spread, count > 1) else { return Duration::ZERO };
    let picos = u128::from(spread.picos()) * u128::from(index) / u128::from(count - 1);
    Duration::from_picos(picos as u64)
}

/// Whether an amount is a part of a bandwidth-delay product.
pub(crate) fn is_of_bdp(amount: Buffer) -> bool {
    matches!(amount, Buffer::Bdp(_) | Buffer::BdpOverRootFlows(_))
}

/// Fails if two links have one name, by which results and traces call them.
fn no_name_twice(links: &[CheckedLink]) -> Result<(), ScenarioError> {
    let mut names = BTreeSet::new();
    match links.iter().find(|link| !names.insert(&link.name)) {
        None => Ok(()),
        Some(CheckedLink { name, .. }) => {
            let message = format!("two links are called \"{name}\"; give one of them another name");
            Err(ScenarioError::new("links", message))
        }
    }
}

fn number_of(nodes: &mut Vec<String>, name: &str) -> u32 {
    let number = nodes.iter().position(|known| known == name).unwrap_or_else(|| {
        nodes.push(name.to_owned());
        nodes.len() - 1
    });
    number as u32
}

fn find(
    given: &Fields,
    nodes: &[String],
    field: &str,
    name: Option<String>,
) -> Result<u32, ScenarioError> {
    let name = name.ok_or_else(|| given.error(field, "missing; name a node"))?;
    let number = nodes.iter().position(|node| *node == name);
    let known = nodes.iter().map(String::as_str);
    let number = number.ok_or_else(|| given.error(field, unknown("node", &name, known)))?;
    Ok(number as u32)
}

/// Fails unless `value` is above 0.
pub(crate) fn positive(place: &str, value: Duration, example: &str) -> Result<(), ScenarioError> {
    if value > Duration::ZERO {
        return Ok(());
    }
    Err(ScenarioError::new(place, format!("must be above 0; try \"{example}\"")))
}
