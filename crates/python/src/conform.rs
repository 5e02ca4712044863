//! Conformance: whether a controller does what its RFC says.

use crate::error::Failed;
use crate::failure;
use crate::scenario::{Own, own_of};
use narrows_conform::{
    self as conform, Check, NotRun, Packet, RealPackets, Row, Subject, Transport,
};
#[cfg(target_os = "linux")]
use narrows_emulator::{Crossed, LabError};
#[cfg(target_os = "linux")]
use narrows_scenario::{Checked, ScenarioError};
#[cfg(target_os = "linux")]
use narrows_units::Time;
use pyo3::prelude::*;
#[cfg(target_os = "linux")]
use std::ops::ControlFlow;

/// Id, name, group, word, source, its words, what is asked.
type CheckLine = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// Id, verdict, number, the number for people, bound, scenarios as JSON.
type RowLine = (&'static str, &'static str, f64, String, String, Vec<String>);

/// The times and the packets of flight, then when each packet was sent, arrived and was known of,
/// in seconds, and whether it was lost and marked.
type WireLine = (Vec<(f64, f64)>, Vec<(f64, f64, f64, bool, bool)>);

fn wrong(message: String) -> PyErr {
    Failed::Input(message).into()
}

/// Return all checks: id, name, group, word, source, its words, what is asked.
#[pyfunction]
pub(crate) fn conform_checks() -> Vec<CheckLine> {
    let line = |check: &'static Check| {
        let (group, word) = (check.group.as_str(), check.word.as_str());
        (check.id, check.name, group, word, check.source, check.quote, check.asks)
    };
    conform::all().map(line).collect()
}

/// Return the ids of the checks that `names` means, of the option called `place`.
#[pyfunction]
pub(crate) fn conform_chosen(place: &str, names: &str) -> PyResult<Vec<&'static str>> {
    let chosen = conform::chosen(names).map_err(|error| wrong(format!("{place}: {error}")))?;
    Ok(chosen.iter().map(|check| check.id).collect())
}

/// Return the profile as which a controller is judged unless another is named, and its transport.
#[pyfunction]
#[pyo3(signature = (cc, profile=None))]
pub(crate) fn conform_subject(
    cc: &str,
    profile: Option<&str>,
) -> PyResult<(&'static str, &'static str)> {
    let subject = Subject::new(cc, profile).map_err(wrong)?;
    Ok((subject.profile.as_str(), subject.transport.as_str()))
}

/// Judge a controller by the checks that `only` names: id, verdict, number, the number for people,
/// bound and the scenarios that were run, of each. `fields` are others of its flow, as JSON.
#[pyfunction]
#[pyo3(signature = (cc, profile=None, only="all", fields="{}", transport=None, own=None))]
pub(crate) fn conform_rows(
    py: Python<'_>,
    cc: &str,
    profile: Option<&str>,
    only: &str,
    fields: &str,
    transport: Option<&str>,
    own: Option<Own>,
) -> PyResult<Vec<RowLine>> {
    let mut subject = Subject::new(cc, profile).map_err(wrong)?;
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(fields).map_err(|error| wrong(error.to_string()))?;
    subject.fields.extend(fields);
    if let Some(name) = transport {
        subject = subject.over(Transport::named(name).map_err(wrong)?);
    }
    let checks = conform::chosen(only).map_err(|error| wrong(format!("--only: {error}")))?;
    let own = own_of(own);
    failure::forget();
    let rows = py.detach(|| match subject.of_kernel() {
        Some(_) => conform::conform_real(&subject, &real_packets, &checks),
        None => conform::conform(&subject, &own, &checks),
    });
    if let Some(error) = failure::take() {
        return Err(error);
    }
    let line = |row: Row| {
        (row.check.id, row.verdict.as_str(), row.number, row.seen, row.bound, row.scenarios)
    };
    Ok(rows.map_err(wrong)?.into_iter().map(line).collect())
}

/// How often a run that is not to be believed is done again.
#[cfg(target_os = "linux")]
const TRIES: usize = 3;

/// What a real path saw of this machine's kernel in a scenario of a check.
#[cfg(target_os = "linux")]
fn real_packets(scenario: &str) -> Result<RealPackets, NotRun> {
    let refused = |error: ScenarioError| {
        let said = error.to_string();
        // That there is no such congestion control is of all checks.
        if error.place().ends_with(".cc") { NotRun::Failed(said) } else { NotRun::Refused(said) }
    };
    let parsed = narrows_scenario::Scenario::from_json(scenario).map_err(refused)?;
    let checked = Checked::new(parsed.clone()).map_err(refused)?;
    let mut doubt = String::new();
    // Ctrl-C ends the run that it comes in, and those that would follow.
    let watch = |_| match Python::attach(|py| py.check_signals()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failure::keep(error);
            ControlFlow::Break(())
        }
    };
    for _ in 0..TRIES {
        if failure::is_there() {
            return Err(NotRun::Failed("stopped".to_owned()));
        }
        let measured = narrows_emulator::lab_logged(&parsed, &checked, conform::SEED, watch);
        let measured = measured.map_err(|error| match error {
            LabError::Scenario(error) => refused(error),
            other => NotRun::Failed(other.to_string()),
        })?;
        match measured.doubt {
            None => {
                let [there, back] = measured.crossed.map(|way| way.iter().map(real).collect());
                return Ok(RealPackets { there, back });
            }
            Some(why) => doubt = why,
        }
    }
    Err(NotRun::Failed(format!("not valid, {TRIES} times: {doubt}")))
}

#[cfg(target_os = "linux")]
fn real(crossed: &Crossed) -> Packet {
    let is_lost = crossed.arrived == Time::NEVER;
    Packet {
        sent: crossed.came.seconds(),
        bytes: crossed.bytes,
        ecn: crossed.ecn,
        repeats: crossed.repeats,
        arrived: if is_lost { f64::INFINITY } else { crossed.arrived.seconds() },
        marked: crossed.marked,
        lost: is_lost,
        settled: f64::INFINITY,
    }
}

#[cfg(not(target_os = "linux"))]
fn real_packets(_: &str) -> Result<RealPackets, NotRun> {
    Err(NotRun::Failed("a kernel is judged on Linux only".to_owned()))
}

/// Run a scenario of a check again, and return what is on the wire.
#[pyfunction]
#[pyo3(signature = (scenario, rtt, own=None))]
pub(crate) fn conform_wire(
    py: Python<'_>,
    scenario: &str,
    rtt: f64,
    own: Option<Own>,
) -> PyResult<WireLine> {
    let own = own_of(own);
    let wire = py.detach(|| conform::observe(scenario, rtt, &own)).map_err(wrong)?;
    let packet =
        |packet: &Packet| (packet.sent, packet.arrived, packet.settled, packet.lost, packet.marked);
    Ok((wire.flight(), wire.packets.iter().map(packet).collect()))
}
