//! Checks transfers that arrive at random: how many, how large, over which flows.

use crate::fields::Fields;
use crate::flow::{CheckedFlow, Surroundings};
use crate::link::CheckedLink;
use crate::scenario::Arrivals;
use crate::warnings::{Direction, way};
use crate::{ScenarioError, sizes};
use narrows_settings::unknown;
use narrows_sim::Sizes;
use narrows_units::{Duration, Time};

/// Transfers that arrive at a group of flows, checked.
#[derive(Clone, Debug)]
pub(crate) struct Arriving {
    /// Mean time between one and the next.
    pub gap: Duration,
    pub sizes: Sizes,
    /// Bits that they bring over bits that the link can carry (a ratio).
    pub load: f64,
    /// How many are expected in the measured window.
    pub expected: f64,
    /// The name of that link.
    pub link: String,
}

/// The most transfers of a run, whose records are kept.
const MOST: f64 = 5e7;

/// Fails if flows that all have one process, of arrivals or of queries, are told when each begins.
pub(crate) fn refuse_starts(given: &Fields) -> Result<(), ScenarioError> {
    let why = if given.field(|flow| flow.arrivals.is_some()) {
        "transfers arrive at random from start on; leave it out"
    } else {
        "all flows answer the same queries, from start on; leave it out"
    };
    if given.field(|flow| flow.starts.is_some()) {
        return Err(given.error("starts", why));
    }
    if given.field(|flow| flow.start_spread.is_some()) {
        return Err(given.error("start_spread", why));
    }
    Ok(())
}

/// The transfers that arrive at `group`, which is `number` of the scenario's.
pub(crate) fn check(
    group: &CheckedFlow,
    written: &Arrivals,
    number: usize,
    around: &Surroundings,
) -> Result<Arriving, ScenarioError> {
    let place = |field: &str| format!("flows[{number}].arrivals.{field}");
    let sizes = sizes::parse(&written.sizes);
    let sizes = sizes.map_err(|message| ScenarioError::new(place("sizes"), message))?;
    let packet = group.packet;
    let headers = f64::from(packet.headers()) * sizes.mean_packets(packet.payload() as f64);
    // Bits on the wire of a mean transfer, if nothing is sent twice.
    let bits = 8.0 * (sizes.mean() + headers);
    let link = link(group, written, &place("of"), around)?;
    let rate = link.rate.bits_per_second() as f64;
    let frequency = match (written.load, written.rate) {
        (Some(load), None) if load > 0.0 && load <= 100.0 => load * rate / bits,
        (Some(load), None) => {
            let message = format!("{load} is not above 0 and at most 100; try 0.3");
            return Err(ScenarioError::new(place("load"), message));
        }
        (None, Some(frequency)) => frequency.value(),
        (Some(_), Some(_)) => {
            let message = "load says it already; leave one of them out";
            return Err(ScenarioError::new(place("rate"), message));
        }
        (None, None) => {
            let message = "how many? add load = 0.3, or rate = \"31/s\"";
            return Err(ScenarioError::new(format!("flows[{number}].arrivals"), message));
        }
    };
    let end = (Time::ZERO + around.duration).min(group.stop);
    let begins = group.start(0, 0.0);
    let all = frequency * end.since(begins).seconds();
    let expected = frequency * end.since(begins.max(Time::ZERO + around.warmup)).seconds();
    if all > MOST {
        let message = format!(
            "{all:.1e} transfers are expected, and {MOST:.0e} are the most; take fewer, or a \
             shorter run"
        );
        return Err(ScenarioError::new(format!("flows[{number}].arrivals"), message));
    }
    let gap = Duration::from_secs(1.0 / frequency);
    let (load, link) = (frequency * bits / rate, link.name.clone());
    Ok(Arriving { gap, sizes, load, expected, link })
}

/// The link that a load is of: the one that is named, or the slowest on the way.
fn link<'a>(
    group: &CheckedFlow,
    written: &Arrivals,
    place: &str,
    around: &'a Surroundings,
) -> Result<&'a CheckedLink, ScenarioError> {
    let way = way(group, &around.network.links, Direction::Out);
    let Some(name) = &written.of else {
        let slowest = way.into_iter().min_by_key(|link| link.rate.bits_per_second());
        return slowest.ok_or_else(|| ScenarioError::new(place, "its flows cross no link"));
    };
    if written.load.is_none() {
        let message = "is for load; leave it out, or write load = 0.3";
        return Err(ScenarioError::new(place, message));
    }
    let known: Vec<&str> = way.iter().map(|link| link.name.as_str()).collect();
    let wrong = || ScenarioError::new(place, unknown("link on their way", name, known.into_iter()));
    way.into_iter().find(|link| link.name == *name).ok_or_else(wrong)
}
