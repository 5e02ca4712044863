//! Refuses what would not fit into memory, before it starts.

use crate::link::{CheckedLink, Load};
use crate::{Checked, ScenarioError};
use narrows_units::Duration;
use std::path::Path;

/// Bytes for a flow, with its links and machines; for a packet in flight, with its records; for a
/// sample of a flow.
const FLOW: f64 = 2000.0;
const PACKET: f64 = 160.0;
const SAMPLE: f64 = 64.0;

/// Bytes that a run may need: flows, packets in flight and queued, samples.
fn estimate(links: &[CheckedLink], load: &Load, duration: Duration, samples: f64) -> f64 {
    let flows = load.all as f64;
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

/// Bytes that this process can still have: those of the machine, or what its container is allowed
/// if that is less; `None` if unknown.
pub fn available() -> Option<f64> {
    let machine = of_machine();
    let container = of_groups(Path::new("/sys/fs/cgroup"), &own_group());
    machine.into_iter().chain(container).reduce(f64::min)
}

fn of_machine() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// The path of this process's control group (cgroup v2, `0::/path`; v1's memory controller).
fn own_group() -> String {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_line = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let counts = controllers.is_empty() || controllers.split(',').any(|name| name == "memory");
        counts.then(|| path.trim_start_matches('/').to_owned())
    };
    text.lines().find_map(of_line).unwrap_or_default()
}

/// The least that a group or one above it has left below `root`, in v2's files or v1's.
fn of_groups(root: &Path, group: &str) -> Option<f64> {
    let names = [
        ("", "memory.max", "memory.current"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ];
    let left = |(controller, limit, usage): (&str, &str, &str)| {
        let top = root.join(controller);
        let number = |folder: &Path, name: &str| -> Option<f64> {
            std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
        };
        let mut folder = top.join(group);
        let mut least = None;
        loop {
            if let (Some(limit), Some(used)) = (number(&folder, limit), number(&folder, usage)) {
                let left = (limit - used).max(0.0);
                least = Some(least.map_or(left, |least: f64| least.min(left)));
            }
            if folder == top || !folder.pop() {
                return least;
            }
        }
    };
    names.into_iter().filter_map(left).reduce(f64::min)
}

/// Bytes that a run may need. Fails if that is more than there is.
pub(crate) fn check(
    links: &[CheckedLink],
    load: &Load,
    duration: Duration,
    sample: Option<Duration>,
) -> Result<f64, ScenarioError> {
    let samples = sample.map_or(0.0, |interval| duration.seconds() / interval.seconds());
    let needed = estimate(links, load, duration, samples);
    match available() {
        Some(available) if needed > available => {
            let gigabytes = |bytes: f64| bytes / 1e9;
            let message = format!(
                "this run may need {:.1} GB of memory and there are {:.1} GB free; take fewer \
                 flows, a smaller buffer, or sample = \"0s\"",
                gigabytes(needed),
                gigabytes(available)
            );
            Err(ScenarioError::new("", message))
        }
        _ => Ok(needed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_group_on_the_way_up_counts() {
        let root = std::env::temp_dir().join(format!("narrows-groups-{}", std::process::id()));
        let inner = root.join("pod/container");
        std::fs::create_dir_all(&inner).expect("a folder");
        let write = |folder: &Path, limit: &str, used: &str| {
            std::fs::write(folder.join("memory.max"), limit).expect("written");
            std::fs::write(folder.join("memory.current"), used).expect("written");
        };
        write(&inner, "max\n", "1000\n");
        write(&root.join("pod"), "5000\n", "2000\n");
        assert_eq!(of_groups(&root, "pod/container"), Some(3000.0));
        write(&inner, "1500\n", "1000\n");
        assert_eq!(of_groups(&root, "pod/container"), Some(500.0));
        assert_eq!(of_groups(&root, "elsewhere"), None);
        let v1 = root.join("memory/pod");
        std::fs::create_dir_all(&v1).expect("a folder");
        std::fs::write(v1.join("memory.limit_in_bytes"), "900").expect("written");
        std::fs::write(v1.join("memory.usage_in_bytes"), "1000").expect("written");
        assert_eq!(of_groups(&root, "pod"), Some(0.0));
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
