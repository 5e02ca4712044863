//! Refuses what would not fit into memory, before it starts.

use crate::link::{CheckedLink, Load};
use crate::{Checked, ScenarioError};
use narrows_units::Duration;

/// Bytes for a flow, with its links and machines; for a packet in flight, with its records; for a
/// sample of a flow.
const FLOW: f64 = 2000.0;
const PACKET: f64 = 160.0;
const SAMPLE: f64 = 64.0;

/// Bytes that a run may need: flows, packets in flight and queued, samples.
fn estimate(links: &[CheckedLink], load: &Load, duration: Duration, samples: f64) -> f64 {
    let flows = load.flows as f64;
    let packet = load.packet.count() as f64;
    let in_flight = links.iter().map(|link| {
        let buffer = link.buffer_packets(load) as f64;
        let wire = link.rate.bytes_per_second() * link.base_rtt.seconds() / packet;
        let most_sent = link.rate.bytes_per_second() * duration.seconds() / packet;
        (buffer + wire).min(most_sent)
    });
    let sampled = flows.min(Checked::MOST_SAMPLED as f64) + links.len() as f64;
    flows * FLOW + in_flight.sum::<f64>() * PACKET + samples * SAMPLE * sampled
}

/// Bytes that the machine has to give; `None` if unknown.
fn available() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// Fails if a run would need more memory than there is.
pub(crate) fn check(
    links: &[CheckedLink],
    load: &Load,
    duration: Duration,
    sample: Option<Duration>,
) -> Result<(), ScenarioError> {
    let samples = sample.map_or(0.0, |interval| duration.seconds() / interval.seconds());
    let needed = estimate(links, load, duration, samples);
    match available() {
        Some(available) if needed > available => {
            let gigabytes = |bytes: f64| bytes / 1e9;
            let message = format!(
                "this run may need {:.1} GB of memory and the machine has {:.1} GB free; take fewer flows, a smaller buffer, or sample = \"0s\"",
                gigabytes(needed),
                gigabytes(available)
            );
            Err(ScenarioError::new("", message))
        }
        _ => Ok(()),
    }
}
