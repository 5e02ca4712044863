//! Checks what a flow says of its hosts.

use crate::ScenarioError;
use crate::given::Given;
use crate::network::positive;
use crate::scenario::Flow;
use narrows_sim::{HostSettings, Stalls};
use narrows_units::Duration;

/// The shortest mean time between two stalls: stalls are drawn as far ahead as a timer is set.
const SHORTEST_EVERY: Duration = Duration::from_micros(100);
/// A host that waits longer than this is no host that answers, and its run would show nothing.
const LONGEST: Duration = Duration::from_millis(10_000);

/// The hosts of a flow; ideal unless given. Fails if a time is out of bounds, or if a batch is
/// asked of `datagrams`, which nobody answers.
pub(crate) fn take(
    given: &mut Given<Flow>,
    datagrams: bool,
) -> Result<HostSettings, ScenarioError> {
    let Some(host) = given.take(|flow| &mut flow.host) else { return Ok(HostSettings::default()) };
    let (tick, batch) = (host.tick.unwrap_or_default(), host.batch.unwrap_or_default());
    if batch > Duration::ZERO && datagrams {
        let message = "has no effect for datagrams, which nobody answers; leave it out";
        return Err(given.error("host.batch", message));
    }
    for (field, value, example) in [("host.tick", tick, "4ms"), ("host.batch", batch, "50us")] {
        no_longer(given, field, value, example)?;
    }
    let stalls = host.stall.map(|stall| Stalls { every: stall.every, length: stall.length });
    if let Some(Stalls { every, length }) = stalls {
        positive(&given.at("host.stall.length"), length, "1ms")?;
        no_longer(given, "host.stall.length", length, "1ms")?;
        if every < SHORTEST_EVERY {
            let message = format!("{every} is below {SHORTEST_EVERY}; try \"100ms\"");
            return Err(given.error("host.stall.every", message));
        }
    }
    Ok(HostSettings { tick, batch, stalls })
}

fn no_longer(
    given: &Given<Flow>,
    field: &str,
    value: Duration,
    example: &str,
) -> Result<(), ScenarioError> {
    if value <= LONGEST {
        return Ok(());
    }
    Err(given.error(field, format!("{value} is above {LONGEST}; try \"{example}\"")))
}
