//! Everything that can be chosen by name, for `narrows list` and the docs.

use narrows_control::registry::LAWS;
use narrows_control::slow_start::SlowStart;
use narrows_router::registry::QUEUES;
use narrows_scenario::{PRESETS, Scenario};
use narrows_transport::tcp::RecoveryKind;
use pyo3::prelude::*;

type Line = (&'static str, &'static str, &'static str);
type Named = (&'static str, &'static str, &'static str, Vec<&'static str>, Vec<Line>);

/// Return each law: name, summary, source, aliases, and settings as (name, default, meaning).
#[pyfunction]
pub(crate) fn controllers() -> Vec<Named> {
    let settings = |law: &narrows_control::registry::Entry| {
        law.parameters.iter().map(|p| (p.name, p.default, p.meaning)).collect()
    };
    LAWS.iter()
        .map(|law| (law.name, law.summary, law.source, law.aliases.to_vec(), settings(law)))
        .collect()
}

/// Return each recovery: name, summary, source.
#[pyfunction]
pub(crate) fn recoveries() -> Vec<Line> {
    RecoveryKind::NAMES
        .iter()
        .map(|(name, _, summary, source)| (*name, *summary, *source))
        .collect()
}

/// Return each slow start: name, summary, source.
#[pyfunction]
pub(crate) fn slow_starts() -> Vec<Line> {
    SlowStart::NAMES.to_vec()
}

/// Return each queue: name, summary, source, aliases, and settings as (name, default, meaning).
#[pyfunction]
pub(crate) fn queues() -> Vec<Named> {
    let settings = |queue: &narrows_router::registry::Entry| {
        queue.parameters.iter().map(|p| (p.name, p.default, p.meaning)).collect()
    };
    QUEUES
        .iter()
        .map(|queue| {
            (queue.name, queue.summary, queue.source, queue.aliases.to_vec(), settings(queue))
        })
        .collect()
}

/// Return each preset: name, summary, source.
#[pyfunction]
pub(crate) fn presets() -> Vec<Line> {
    PRESETS.to_vec()
}

/// Return the version of everything that determines the results of a run.
#[pyfunction]
pub(crate) fn engine() -> String {
    narrows_scenario::engine()
}

/// Return the JSON schema of a scenario.
#[pyfunction]
pub(crate) fn schema() -> String {
    Scenario::schema()
}
