//! Moments as flat arrays, a row each.

use narrows_scenario::{GroupMoment, LinkMoment, Moment};
use narrows_units::Time;

/// What each row says of each group of flows: packets delivered, new ones among them, sent, and
/// taken for lost in the interval; mean, least and largest window in packets; mean RTT in seconds;
/// flows that have not stopped.
pub(crate) const GROUP: [&str; 9] =
    ["delivered", "fresh", "sent", "lost", "window", "least", "largest", "rtt", "there"];

/// What each row says of each link: packets queued, and packets that arrived, were dropped and were
/// marked in the interval; bytes that left; its rate in bit/s, and packets that its queue holds.
pub(crate) const LINK: [&str; 7] =
    ["queue", "arrivals", "drops", "marks", "departed", "rate", "limit"];

/// Moments, as many rows of each.
#[derive(Default)]
pub(crate) struct Rows {
    pub times: Vec<f64>,
    pub windows: Vec<f32>,
    pub rtts: Vec<f32>,
    pub arrivals: Vec<f32>,
    pub groups: Vec<f32>,
    pub links: Vec<f32>,
    pub law_names: Vec<&'static str>,
    pub law: Vec<f32>,
}

impl Rows {
    /// The rows of `moments`.
    pub fn of(moments: &[Moment]) -> Self {
        let mut rows = Self::default();
        for moment in moments {
            rows.times.push(moment.at.since(Time::ZERO).seconds());
            rows.windows.extend(moment.flows.iter().map(|flow| flow.window as f32));
            rows.rtts.extend(moment.flows.iter().map(|flow| flow.rtt as f32));
            rows.arrivals.extend(moment.flows.iter().map(|flow| flow.delivered as f32));
            rows.groups.extend(moment.groups.iter().flat_map(group));
            rows.links.extend(moment.links.iter().flat_map(link));
            for (name, _) in &moment.law {
                if !rows.law_names.contains(name) {
                    rows.law_names.push(name);
                }
            }
        }
        for moment in moments {
            let of = |name: &&str| moment.law.iter().find(|(other, _)| other == name);
            let values =
                rows.law_names.iter().map(|name| of(name).map_or(f32::NAN, |it| it.1 as f32));
            rows.law.extend(values);
        }
        rows
    }
}

fn group(group: &GroupMoment) -> [f32; GROUP.len()] {
    let [mean, least, largest] = group.window;
    let counts = [group.delivered, group.fresh, group.sent, group.lost].map(|count| count as f32);
    let [delivered, fresh, sent, lost] = counts;
    let [mean, least, largest, rtt] = [mean, least, largest, group.rtt].map(|value| value as f32);
    [delivered, fresh, sent, lost, mean, least, largest, rtt, group.there as f32]
}

fn link(link: &LinkMoment) -> [f32; LINK.len()] {
    let LinkMoment { queue, arrivals, drops, marks, departed, rate, limit } = *link;
    let [queue, arrivals, drops, marks, departed, rate] =
        [queue, arrivals, drops, marks, departed, rate].map(|count| count as f32);
    let limit = limit.map_or(f32::NAN, |packets| packets as f32);
    [queue, arrivals, drops, marks, departed, rate, limit]
}
