//! Refuses what would not fit into memory, before it starts.

use crate::{Checked, ScenarioError};

/// Bytes for a flow, with its links and machines; for a packet in flight, with its records; for a
/// sample of a flow.
const FLOW: f64 = 2000.0;
const PACKET: f64 = 160.0;
const SAMPLE: f64 = 64.0;

/// Bytes that a run may need: flows, packets in flight and queued, samples.
fn estimate(checked: &Checked) -> f64 {
    let flows = checked.flow_count() as f64;
    let packet = checked.packet();
    let in_flight: f64 = checked
        .links
        .iter()
        .map(|link| {
            let buffer = link
                .buffer
                .map_or(0, |buffer| buffer.packets(link.rate, link.base_rtt, flows as u64, packet))
                as f64;
            let wire =
                link.rate.bytes_per_second() * link.base_rtt.seconds() / packet.count() as f64;
            let most_sent = link.rate.bytes_per_second() * checked.scenario.duration.seconds()
                / packet.count() as f64;
            (buffer + wire).min(most_sent)
        })
        .sum();
    let samples = checked
        .sample
        .map_or(0.0, |interval| checked.scenario.duration.seconds() / interval.seconds());
    flows * FLOW
        + in_flight * PACKET
        + samples * SAMPLE * (flows.min(Checked::MOST_SAMPLED as f64) + checked.links.len() as f64)
}

/// Bytes that the machine has to give; `None` where it does not say.
fn available() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// Fails where a run would need more memory than there is.
pub(crate) fn check(checked: &Checked) -> Result<(), ScenarioError> {
    let needed = estimate(checked);
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
