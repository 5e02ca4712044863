//! What was requested or arrived at random, and how long each took.

use crate::flow::{Carrier, CheckedFlow};
use crate::network::Attachment;
use crate::warnings::{Direction, way};
use crate::{Checked, CheckedLink};
use narrows_sim::{Simulation, Transfer};
use narrows_units::Time;

/// What was requested or arrived in the whole run, one row per object.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// Number of the group of flows.
    pub group: Vec<u32>,
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// When it was asked for, in seconds.
    pub requested: Vec<f64>,
    /// From then to the last packet's arrival, in seconds; NaN if the run ended first.
    pub completion_time: Vec<f64>,
    /// That over the least that it could have been (a ratio); NaN if the run ended first.
    pub slowdown: Vec<f64>,
    /// Payload in bytes.
    pub bytes: Vec<u64>,
}

pub(crate) fn gather(checked: &Checked, simulation: &Simulation) -> Transfers {
    let mut columns = Transfers::default();
    let mut number = 0;
    for (index, group) in checked.flows.iter().enumerate() {
        let rate = slowest(group, &checked.links);
        for attachment in &group.attachments {
            let least = Least { group, attachment, rate };
            let last = simulation.unfinished(number);
            for transfer in simulation.transfers(number).iter().chain(&last) {
                columns.group.push(index as u32);
                columns.push(number as u32, transfer, &least);
            }
            number += 1;
        }
    }
    columns
}

impl Transfers {
    fn push(&mut self, flow: u32, transfer: &Transfer, least: &Least) {
        let ended = transfer.finished < Time::NEVER;
        let taken = transfer.finished.since(transfer.requested).seconds();
        let taken = if ended { taken } else { f64::NAN };
        self.flow.push(flow);
        self.requested.push(transfer.requested.seconds());
        self.completion_time.push(taken);
        self.slowdown.push(taken / least.seconds(transfer));
        self.bytes.push(transfer.bytes);
    }
}

/// The rate in bit/s of the slowest link that a group's data crosses, hosts' own links included.
fn slowest(group: &CheckedFlow, links: &[CheckedLink]) -> f64 {
    let way = way(group, links, Direction::Out);
    let access = group.attachments.first().and_then(|it| it.access);
    let rates = way.into_iter().map(|link| link.rate).chain(access.map(|access| access.rate));
    rates.map(|rate| rate.bits_per_second() as f64).fold(f64::INFINITY, f64::min)
}

/// What the least time of a flow's transfers depends on.
struct Least<'a> {
    group: &'a CheckedFlow,
    attachment: &'a Attachment,
    rate: f64,
}

impl Least<'_> {
    /// The least time in seconds: what the request takes, a handshake if the connection is a new
    /// one, half a base RTT, and the bits on the wire at the slowest link's rate.
    fn seconds(&self, transfer: &Transfer) -> f64 {
        let Carrier::Connection(connection) = &self.group.over else { return f64::NAN };
        let shakes = transfer.fresh && connection.transport.shakes_hands();
        let rtts = if shakes { 1.5 } else { 0.5 };
        let headers = transfer.packets * u64::from(self.group.packet.headers());
        let bits = (transfer.bytes + headers) as f64 * 8.0;
        transfer.arrived.since(transfer.requested).seconds()
            + rtts * self.attachment.base_rtt.seconds()
            + bits / self.rate
    }
}
