//! What the results of a run should be read with: too few events for a mean, limits that are not
//! the network's, packets that wait elsewhere. The thresholds are ours.

use crate::connection::Connection;
use crate::flow::{Carrier, CheckedFlow};
use crate::network::Attachment;
use crate::results::{FlowResult, LinkResult};
use crate::warnings::Warning;
use crate::{Checked, CheckedLink};
use narrows_control::Gaps;
use narrows_router::Discipline;
use narrows_sim::{Application, HostSettings, Jitter};
use narrows_transport::SendLimit;
use narrows_transport::congestion::Spacing;
use narrows_units::{Duration, Time};

/// A GWA router needs so many times what its path holds to fill it; less of the rate than this is
/// remarked on.
const FILLS: f64 = 2.0;
const USED: f64 = 0.9;
/// Fewer recovery epochs than these, of all flows of a group together, are too few for a mean.
const FEW_EPOCHS: u32 = 5;
/// The receiver's window is worth a word from this share of the time on.
const RECEIVERS: f64 = 0.05;
/// Repairs are from this one on.
const REPAIRS: f64 = 0.5;
/// A flow may miss this share of the measured time without a word.
const PART: f64 = 0.05;
/// Packets wait elsewhere if they wait this many times as long there, and for longer than one takes
/// to leave.
const ELSEWHERE: f64 = 1.5;
/// Phase effects are looked for among at most this many flows: without anything random, 5 flows
/// paced evenly over 100 Mbps, 50 ms and 0.2 BDP have Jain's index at 0.992 ± 0.007, and 0.925 ±
/// 0.067 if senders wait up to 100 us; 50 flows have 0.996 either way.
const IN_PHASE: usize = 20;

/// A group of flows and what each of them showed.
struct Group<'a> {
    number: usize,
    settings: &'a CheckedFlow,
    flows: &'a [FlowResult],
}

/// What results are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The measured part of a run.
    Whole,
    /// A run that goes on, as far as it has come: what somebody sees there is of less.
    SoFar,
}

/// Everything that the results should be read with.
pub(crate) fn find(
    checked: &Checked,
    flows: &[FlowResult],
    links: &[LinkResult],
    bottleneck: usize,
    of: Of,
) -> Vec<Warning> {
    let mut rest = flows;
    let groups = checked.flows.iter().enumerate().map(|(number, settings)| {
        let (flows, others) = rest.split_at(settings.count as usize);
        rest = others;
        Group { number, settings, flows }
    });
    let groups: Vec<_> = groups.collect();
    let mut found = Vec::new();
    for group in &groups {
        let silent = group.silent();
        let looks = if silent.is_some() {
            [silent, None, None]
        } else {
            let part = (of == Of::Whole).then(|| group.part_of_the_time(checked)).flatten();
            [group.receivers_window(), group.repairs(), part]
        };
        let looks = looks.into_iter().chain([group.ended()]);
        let place = format!("flows[{}]", group.number);
        let looks = looks.flatten();
        found.extend(looks.map(|message| Warning { place: place.clone(), message }));
    }
    found.extend(never_full(checked, &groups, &links[bottleneck]).or_else(|| {
        // A mark is answered without an epoch.
        let nobody_marks = links.iter().all(|link| link.summary.marks == 0);
        (nobody_marks && of == Of::Whole).then(|| few_epochs(checked, &groups)).flatten()
    }));
    found.extend(waits_elsewhere(links, bottleneck));
    found.extend(waits_at_hosts(&groups, links));
    found.extend(in_phase(checked, &groups, bottleneck));
    found.extend(links.iter().filter_map(|link| grants_little(checked, link)));
    found.extend(links.iter().flat_map(idle_lines));
    found
}

impl Group<'_> {
    fn connection(&self) -> Option<&Connection> {
        match &self.settings.over {
            Carrier::Connection(connection) => Some(connection),
            Carrier::Datagrams(_) | Carrier::Hosted(_) => None,
        }
    }

    /// Whether all flows always have something to send, over connections whose law lives by
    /// recovery epochs.
    fn lives_by_epochs(&self) -> bool {
        let is_so = |it: &Connection| it.moves_by_epochs && it.application == Application::Endless;
        self.connection().is_some_and(is_so)
    }

    fn silent(&self) -> Option<String> {
        let sends = |flow: &FlowResult| flow.summary.sender.sent > 0 || flow.goodput > 0.0;
        if self.flows.iter().any(sends) {
            return None;
        }
        let over = |(index, flow): (usize, &FlowResult)| {
            let ended = flow.summary.finished.filter(|_| self.settings.is_finite());
            let stop = self.settings.stops_at(index);
            flow.summary.started.is_some() && ended.unwrap_or(stop) < Time::NEVER
        };
        let why =
            if self.flows.iter().enumerate().any(over) { ": it was over before that" } else { "" };
        Some(format!("nothing was sent in the measured time{why}"))
    }

    /// A stack that others wrote has given up its connection, or nothing of it arrives.
    fn ended(&self) -> Option<String> {
        let ends = |flow: &FlowResult| {
            let hosted = flow.summary.hosted.as_deref()?;
            hosted.near.ended.clone().or_else(|| hosted.far.ended.clone())
        };
        let mut ended = self.flows.iter().filter_map(ends);
        let Some(why) = ended.next() else { return self.nothing_arrives() };
        let of = match (ended.count() + 1, self.flows.len()) {
            (_, 1) => String::new(),
            (some, all) => format!(" of {some} of {all} flows"),
        };
        Some(format!("the connection{of} ended: {why}"))
    }

    /// Nothing of what the stack sends arrives.
    fn nothing_arrives(&self) -> Option<String> {
        let arrives = |flow: &FlowResult| {
            let hosted = flow.summary.hosted.as_deref();
            hosted.is_none_or(|ends| ends.near.datagrams.sent == 0 || ends.far.delivered > 0)
        };
        let message = "nothing that was sent has arrived; a link's mtu may be too small";
        (!self.flows.iter().any(arrives)).then(|| message.to_owned())
    }

    /// The recovery epochs of its flows, if they are too few.
    fn few_epochs(&self) -> Option<u32> {
        let epochs = self.flows.iter().map(|flow| flow.summary.sender.epochs).sum();
        (self.lives_by_epochs() && epochs < FEW_EPOCHS).then_some(epochs)
    }

    /// The largest share of the time that a flow of the group spent under `limit`.
    fn most(&self, limit: SendLimit) -> f64 {
        self.flows.iter().map(|flow| flow.limited(limit)).fold(0.0, f64::max)
    }

    /// The receiver's window was the limit, which says nothing of the network.
    fn receivers_window(&self) -> Option<String> {
        let share = self.most(SendLimit::Receiver);
        let of = if self.flows.len() == 1 { "" } else { " of a flow" };
        (share >= RECEIVERS).then(|| {
            format!(
                "the window{of} was the receiver's for {:.0} % of the time; a larger max_window \
                 lets the network decide",
                100.0 * share
            )
        })
    }

    fn repairs(&self) -> Option<String> {
        let share = self.most(SendLimit::Recovery);
        let of = if self.flows.len() == 1 { "" } else { ", for one of the flows" };
        (share >= REPAIRS && !self.settings.is_finite()).then(|| {
            format!("losses were being repaired for {:.0} % of the time{of}", 100.0 * share)
        })
    }

    /// Some flows were there for a part of the measured time only.
    fn part_of_the_time(&self, checked: &Checked) -> Option<String> {
        let begins = Time::ZERO + checked.warmup;
        let ends = Time::ZERO + checked.duration;
        let slack = (checked.duration - checked.warmup).scale(PART);
        let of_part = |(index, flow): &(usize, &FlowResult)| {
            let is_late = flow.summary.started.is_none_or(|started| started > begins + slack);
            let end = flow.summary.finished.filter(|_| self.settings.is_finite());
            is_late || end.unwrap_or(ends).min(self.settings.stops_at(*index)) + slack < ends
        };
        let part = self.flows.iter().enumerate().filter(of_part).count();
        (part > 0 && !self.serves()).then(|| {
            let who = if self.flows.len() == 1 {
                "it was".to_owned()
            } else {
                format!("{part} of {} flows were", self.flows.len())
            };
            let instead = if self.settings.is_finite() { "; look at completion_time" } else { "" };
            format!(
                "{who} there for a part of the measured time only, and goodput and Jain's index \
                 are over all of it{instead}"
            )
        })
    }

    /// Whether its flows answer requests, with silences between them.
    fn serves(&self) -> bool {
        let is_so = |it: &Connection| matches!(it.application, Application::Requests(..));
        self.connection().is_some_and(is_so)
    }
}

/// Groups of flows that went through few recovery epochs each.
fn few_epochs(checked: &Checked, groups: &[Group]) -> Option<Warning> {
    let measured = checked.duration - checked.warmup;
    let sending = groups
        .iter()
        .filter(|group| group.silent().is_none() && group.part_of_the_time(checked).is_none());
    let few = sending.filter_map(|group| Some((group.number, group.few_epochs()?)));
    let few: Vec<(usize, u32)> = few.collect();
    let place = few.iter().map(|(number, _)| format!("flows[{number}]")).collect::<Vec<_>>();
    let (least, most) = (few.iter().map(|it| it.1).min()?, few.iter().map(|it| it.1).max()?);
    let epochs = match (least, most) {
        (0, 0) => "no recovery epoch".to_owned(),
        (1, 1) => "1 recovery epoch".to_owned(),
        _ if least == most => format!("{most} recovery epochs"),
        _ => format!("{least} to {most} recovery epochs"),
    };
    let each = if few.len() > 1 { " each" } else { "" };
    Some(Warning {
        place: place.join(", "),
        message: format!(
            "{epochs}{each} in the measured {measured}: means over so few depend on when they \
             fall; take a longer duration"
        ),
    })
}

/// Lines of scripts that did nothing.
fn idle_lines(link: &LinkResult) -> impl Iterator<Item = Warning> {
    link.summary.idle_lines.iter().map(|line| Warning {
        place: format!("links \"{}\"", link.name),
        message: format!("script[{line}] did nothing: too few packets came that it counts"),
    })
}

fn is_never_full(link: &LinkResult) -> bool {
    let seen = &link.summary;
    let dropped = seen.drops + seen.scripted + seen.policed;
    seen.arrivals > 0 && dropped + seen.marks + seen.wire_losses == 0
}

/// Nothing was lost or marked, so no window was cut.
fn never_full(checked: &Checked, groups: &[Group], link: &LinkResult) -> Option<Warning> {
    let is_cut = |group: &Group| group.flows.iter().any(|flow| flow.summary.sender.epochs > 0);
    let lives = groups.iter().any(Group::lives_by_epochs);
    if !is_never_full(link) || !lives || groups.iter().any(is_cut) {
        return None;
    }
    let holds = match &checked.links[link.number as usize].buffer {
        Some(_) => {
            let (most, room) = (link.max_queue(), checked.buffer_packets(link.number as usize));
            format!("its buffer of {room} packets held {most} at most")
        }
        None => "its buffer is unlimited".to_owned(),
    };
    Some(Warning {
        place: format!("links \"{}\"", link.name),
        message: format!("nothing was lost or marked in the measured time: {holds}"),
    })
}

/// Packets wait longer at another link than at the one that the summary is about.
fn waits_elsewhere(links: &[LinkResult], bottleneck: usize) -> Option<Warning> {
    let wait = |link: &LinkResult| {
        let packets = link.summary.departures.max(1) as f64;
        let sending = link.summary.departed_bytes as f64 * 8.0 / packets / link.rate;
        (link.mean_delay() - sending, sending)
    };
    let longest = links.iter().max_by(|one, other| wait(one).0.total_cmp(&wait(other).0))?;
    let (here, sending) = wait(&links[bottleneck]);
    let (there, _) = wait(longest);
    (there > ELSEWHERE * here + sending).then(|| Warning {
        place: format!("links \"{}\"", longest.name),
        message: format!(
            "packets wait here, {:.3} ms, not at \"{}\", {:.3} ms, which is used most and which \
             the summary is about",
            1e3 * there,
            links[bottleneck].name,
            1e3 * here.max(0.0)
        ),
    })
}

/// Packets wait at their hosts' own links, which are in no table: the RTTs are longer than the path
/// and all waits at routers together, by more than these.
fn waits_at_hosts(groups: &[Group], links: &[LinkResult]) -> Option<Warning> {
    let routers: f64 = links.iter().map(LinkResult::mean_delay).filter(|it| it.is_finite()).sum();
    let slowest = links.iter().map(|link| link.rate).fold(f64::INFINITY, f64::min);
    let mut slow = groups.iter().filter_map(|group| {
        let attachment = group.settings.attachments.first()?;
        // Faster links than the routers' keep no packet for long.
        attachment.access.filter(|access| access.rate.bits_per_second() as f64 <= slowest)?;
        let base = attachment.base_rtt.seconds();
        let rtts = group.flows.iter().map(|flow| flow.mean_rtt).filter(|rtt| rtt.is_finite());
        let rtt = rtts.fold(0.0, f64::max);
        let wait = rtt - base - routers;
        (wait > base.max(routers)).then_some((group.number, wait))
    });
    let (number, wait) = slow.next()?;
    Some(Warning {
        place: format!("flows[{number}]"),
        message: format!(
            "packets wait at its hosts' own links, {:.0} ms, not at routers: access_rate is what \
             limits it",
            1e3 * wait
        ),
    })
}

/// GWA's windows are what is free of a buffer, so that a small one holds no window that fills a
/// path.
fn grants_little(checked: &Checked, result: &LinkResult) -> Option<Warning> {
    let number = result.number as usize;
    let link: &CheckedLink = &checked.links[number];
    let room = checked.buffer_packets(number);
    let packet = checked.packet().count() as f64;
    let bdp = link.rate.bytes_per_second() * link.base_rtt.seconds() / packet;
    let little = matches!(link.queue, Discipline::Gwa(_))
        && link.buffer.is_some()
        && (room as f64) < FILLS * bdp
        && result.summary.utilisation < USED;
    little.then(|| Warning {
        place: format!("links \"{}\"", link.name),
        message: format!(
            "its windows are parts of the buffer's {room} packets, and its path holds {bdp:.0}: try \
             buffer = \"2bdp\""
        ),
    })
}

/// Few flows with equal RTTs over drop-tail, and nothing random on their way.
fn in_phase(checked: &Checked, groups: &[Group], bottleneck: usize) -> Option<Warning> {
    let link: &CheckedLink = &checked.links[bottleneck];
    let flows: usize = groups.iter().map(|group| group.flows.len()).sum();
    let mut ways = groups.iter().flat_map(|group| &group.settings.attachments);
    let way = |it: &Attachment| (it.from, it.to, it.base_rtt);
    let first = way(ways.next()?);
    let regular = |group: &Group| {
        group.settings.host == HostSettings::default()
            && group.connection().is_some_and(|it| {
                let gaps = it.transport.pacing().is_none_or(|it| {
                    let even = matches!(it, Spacing::Window(Gaps::Even | Gaps::Fq));
                    even || matches!(it, Spacing::Fq | Spacing::Recommended(_))
                });
                let endless = it.application == Application::Endless;
                it.overhead == Duration::ZERO && endless && it.moves_by_epochs && gaps
            })
    };
    let in_phase = (2..=IN_PHASE).contains(&flows)
        && ways.all(|other| way(other) == first)
        && groups.iter().all(regular)
        && matches!(link.queue, Discipline::DropTail)
        && checked.links.iter().all(|link| link.jitter == Jitter::default())
        && !checked.links.iter().any(|link| link.loses() || link.varies());
    in_phase.then(|| Warning {
        place: "flows".to_owned(),
        message: "equal RTTs and nothing random on the way: phase effects may decide which flow \
                  loses; compare with overhead = \"100us\", jitter, or other RTTs"
            .to_owned(),
    })
}
