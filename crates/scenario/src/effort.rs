//! Refuses what would run for days, before it starts.

use crate::ScenarioError;
use crate::flow::{Carrier, CheckedFlow};
use crate::link::CheckedLink;
use crate::warnings::{Direction, way};
use narrows_sim::Application;
use narrows_units::Duration;

/// Packets that one core carries in a second, about (docs/speed.md).
const SPEED: f64 = 1e6;
/// The longest run, in seconds of a core.
const LONGEST: f64 = 48.0 * 3600.0;

/// Fails if the flows may send more packets in `duration` than a core carries in two days.
pub(crate) fn check(
    links: &[CheckedLink],
    flows: &[CheckedFlow],
    duration: Duration,
) -> Result<(), ScenarioError> {
    let packets = packets(links, flows) * duration.seconds();
    if packets <= SPEED * LONGEST {
        return Ok(());
    }
    let days = packets / SPEED / 86_400.0;
    let message = format!(
        "{duration} may take {packets:.1e} packets, which is {days:.0} days of a core; take a \
         shorter duration, a lower rate or larger packets"
    );
    Err(ScenarioError::new("duration", message))
}

/// Packets per second that the flows can send at most: what the slowest links of endless flows
/// carry, and what the others offer.
fn packets(links: &[CheckedLink], flows: &[CheckedFlow]) -> f64 {
    let mut slowest: Vec<(&CheckedLink, f64)> = Vec::new();
    let mut offered = 0.0;
    for flow in flows {
        if let Some(arriving) = &flow.arriving {
            let packets = arriving.sizes.mean_packets(flow.packet.payload() as f64);
            offered += packets / arriving.gap.seconds();
            continue;
        }
        let offers = match &flow.over {
            Carrier::Datagrams(source) => Some(source.packets_per_second()),
            Carrier::Hosted(hosted) if hosted.is_finite() => continue,
            Carrier::Hosted(_) => None,
            Carrier::Connection(connection) => match &connection.application {
                Application::Made(making) => Some(making.packets_per_second()),
                Application::Endless => None,
                Application::Offered(_) if !flow.is_finite() => None,
                _ => continue,
            },
        };
        let Some(packets) = offers else {
            let way = way(flow, links, Direction::Out);
            let link = way.into_iter().min_by_key(|link| link.rate.bits_per_second());
            let bytes = flow.packet.bytes.count() as f64;
            slowest.extend(link.map(|link| (link, link.rate.bytes_per_second() / bytes)));
            continue;
        };
        offered += f64::from(flow.count) * packets;
    }
    slowest.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut seen: Vec<&CheckedLink> = Vec::new();
    for (link, packets) in slowest {
        if !seen.iter().any(|other| std::ptr::eq(*other, link)) {
            seen.push(link);
            offered += packets;
        }
    }
    offered
}
