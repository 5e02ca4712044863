//! Checks what a flow says of its hosts.

use crate::ScenarioError;
use crate::fields::Fields;
use crate::network::positive;
use crate::scenario::{Flow, Host, HostField, HostName};
use narrows_sim::{Cpu, HostSettings, Stalls};
use narrows_units::Duration;

/// The shortest mean time between two stalls: stalls are drawn as far ahead as a timer is set.
const SHORTEST_EVERY: Duration = Duration::from_micros(100);
/// A program on tokio's runtime, whose timers have whole milliseconds. Batch and the time of the
/// processor are taken from a machine under load; docs/hosts.md has what was measured since.
const TOKIO: HostSettings = HostSettings {
    tick: Duration::from_micros(1000),
    batch: Duration::from_micros(50),
    wait: Duration::ZERO,
    stalls: None,
    cpu: Some(Cpu { datagram: Duration::from_micros(2), train: TRAIN }),
};
/// A host that waits longer than this is no host that answers, and its run would show nothing.
const LONGEST: Duration = Duration::from_millis(10_000);

/// Datagrams of a train, unless given: quinn's and noq's.
const TRAIN: u32 = 10;
/// The longest train: more segments than Linux lets UDP's segmentation offload have.
const LONGEST_TRAIN: u32 = 128;

/// The stack that a flow's `host` names.
pub(crate) fn stack(flow: &Flow) -> Option<&str> {
    match flow.host.as_ref()? {
        HostField::Stack(name) => Some(name),
        HostField::Host(host) => host.stack.as_deref(),
    }
}

/// The hosts of a flow; ideal unless given. Fails if a time is out of bounds, if a batch or
/// a wait is asked of datagrams, which nobody answers, or processor time of ends that are not
/// `hosted`.
pub(crate) fn take(given: &mut Fields, hosted: bool) -> Result<HostSettings, ScenarioError> {
    let datagrams = given.field(|flow| flow.datagrams.is_some());
    let host = match given.take(|flow| &mut flow.host) {
        None | Some(HostField::Stack(_)) => return Ok(HostSettings::default()),
        Some(HostField::Host(host)) => host,
    };
    let like = match host.like {
        Some(HostName::Tokio) => TOKIO,
        Some(HostName::Ideal) | None => HostSettings::default(),
    };
    let tick = host.tick.unwrap_or(like.tick);
    let batch = host.batch.unwrap_or(if datagrams { Duration::ZERO } else { like.batch });
    let wait = host.wait.unwrap_or_default();
    for (field, value) in [("host.batch", batch), ("host.wait", wait)] {
        no_longer(given, field, value, "50us")?;
        if value > Duration::ZERO && datagrams {
            let message = "has no effect for datagrams, which nobody answers; leave it out";
            return Err(given.error(field, message));
        }
    }
    no_longer(given, "host.tick", tick, "4ms")?;
    let stalls = host.stall.as_ref();
    let stalls = stalls.map(|stall| Stalls { every: stall.every, length: stall.length });
    if let Some(Stalls { every, length }) = stalls {
        positive(&given.at("host.stall.length"), length, "1ms")?;
        no_longer(given, "host.stall.length", length, "1ms")?;
        if every < SHORTEST_EVERY {
            let message = format!("{every} is below {SHORTEST_EVERY}; try \"100ms\"");
            return Err(given.error("host.stall.every", message));
        }
    }
    let cpu = cpu(given, &host, if hosted { like.cpu } else { None }, hosted)?;
    Ok(HostSettings { tick, batch, wait, stalls, cpu })
}

/// What datagrams cost the processor.
fn cpu(
    given: &Fields,
    host: &Host,
    usual: Option<Cpu>,
    hosted: bool,
) -> Result<Option<Cpu>, ScenarioError> {
    let field = if host.cpu.is_some() { "host.cpu" } else { "host.train" };
    if !hosted && (host.cpu.is_some() || host.train.is_some()) {
        let message = "is for a stack that others wrote, like cc = \"quinn:cubic\"; our own ends \
                       take no time; leave it out";
        return Err(given.error(field, message));
    }
    if let Some(datagram) = host.cpu {
        no_longer(given, "host.cpu", datagram, "2us")?;
    }
    let datagram = host.cpu.or(usual.map(|cpu| cpu.datagram)).unwrap_or_default();
    if datagram == Duration::ZERO {
        return match host.train {
            Some(_) => {
                let message = "has no effect without cpu; add cpu = \"2us\", or leave it out";
                Err(given.error("host.train", message))
            }
            None => Ok(None),
        };
    }
    let train = host.train.or(usual.map(|cpu| cpu.train)).unwrap_or(TRAIN);
    if !(1..=LONGEST_TRAIN).contains(&train) {
        let message = format!("{train} is not from 1 to {LONGEST_TRAIN} datagrams; try {TRAIN}");
        return Err(given.error("host.train", message));
    }
    Ok(Some(Cpu { datagram, train }))
}

fn no_longer(
    given: &Fields,
    field: &str,
    value: Duration,
    example: &str,
) -> Result<(), ScenarioError> {
    if value <= LONGEST {
        return Ok(());
    }
    Err(given.error(field, format!("{value} is above {LONGEST}; try \"{example}\"")))
}
