//! Links that keep bursts whole: whether bursts come to them, and come whole.

use crate::ScenarioError;
use crate::flow::{Carrier, CheckedFlow};
use crate::link::CheckedLink;
use crate::network::Network;
use crate::warnings::{Direction, way};
use narrows_sim::{Jitter, Loss};
use narrows_units::Rate;

/// Fails if a link is to keep bursts whole of which none comes there, or that something before it
/// has taken apart: a link that queues or loses packets singly, or one of a host that is slower.
pub(crate) fn check(network: &Network, flows: &[CheckedFlow]) -> Result<(), ScenarioError> {
    network.links.iter().filter(|link| link.super_packets).try_for_each(|link| {
        bursts_come_whole(link, &network.links, flows)?;
        hosts_are_fast(link, network.access_rate())
    })
}

fn bursts_come_whole(
    link: &CheckedLink,
    links: &[CheckedLink],
    flows: &[CheckedFlow],
) -> Result<(), ScenarioError> {
    let mut has_bursts = false;
    for flow in flows.iter().filter(|flow| sends_bursts(flow)) {
        let way = way(flow, links, Direction::Out);
        let mut from_there = way.iter().skip_while(|other| !std::ptr::eq(**other, link));
        has_bursts |= from_there.next().is_some();
        if let Some(before) = from_there.find(|before| takes_apart(before)) {
            let message = format!(
                "bursts come there singly, as \"{}\" before it sends, loses or delays packets one by \
                 one; give that super_packets too, without loss and jitter, or leave it out",
                before.name
            );
            return Err(wrong(link, message));
        }
    }
    if has_bursts {
        return Ok(());
    }
    let message = "has no effect, as no bursts of data come there; give flows quantum = \"auto\", or \
                   leave it out";
    Err(wrong(link, message.to_owned()))
}

fn hosts_are_fast(link: &CheckedLink, access: Option<Rate>) -> Result<(), ScenarioError> {
    match access {
        Some(access) if access < link.rate => {
            let message = format!(
                "bursts come there singly over hosts' links of {access}; give an access_rate of {} \
                 and more, or leave it out",
                link.rate
            );
            Err(wrong(link, message))
        }
        _ => Ok(()),
    }
}

fn wrong(link: &CheckedLink, message: String) -> ScenarioError {
    ScenarioError::new(format!("links \"{}\".super_packets", link.name), message)
}

fn sends_bursts(flow: &CheckedFlow) -> bool {
    match &flow.over {
        Carrier::Connection(connection) => connection.transport.quantum() != Some(1),
        Carrier::Datagrams(_) | Carrier::Hosted(_) => false,
    }
}

fn takes_apart(link: &CheckedLink) -> bool {
    !link.super_packets || link.loss != Loss::None || link.jitter != Jitter::default()
}
