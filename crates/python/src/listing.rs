//! Everything that can be chosen by name, for `narrows list` and the docs.

use crate::error::{Error, Failed};
use narrows_control::registry::LAWS;
use narrows_control::slow_start::SlowStart;
use narrows_router::registry::QUEUES;
use narrows_scenario::{PRESETS, Scenario};
use narrows_settings::Listed;
use narrows_transport::Recovery;
use pyo3::prelude::*;

type Line = (&'static str, &'static str, &'static str);
type Setting = (&'static str, String, String, String);
type Named = (&'static str, &'static str, &'static str, Vec<&'static str>, Vec<Setting>);
type MetricLine =
    (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// Name, default, bounds and meaning of each setting.
fn settings(listed: Vec<Listed>) -> Vec<Setting> {
    listed.into_iter().map(|s| (s.name, s.default, s.bounds, s.meaning)).collect()
}

/// Return each law: name, summary, source, aliases, and settings as (name, default, bounds,
/// meaning).
#[pyfunction]
pub(crate) fn controllers() -> Vec<Named> {
    LAWS.iter()
        .map(|law| {
            (law.name, law.summary, law.source, law.aliases.to_vec(), settings(law.settings()))
        })
        .collect()
}

/// Return each recovery: name, summary, source.
#[pyfunction]
pub(crate) fn recoveries() -> Vec<Line> {
    Recovery::all().map(|(name, _, summary, source)| (name, summary, source)).collect()
}

/// Return each slow start: name, summary, source.
#[pyfunction]
pub(crate) fn slow_starts() -> Vec<Line> {
    SlowStart::NAMES.to_vec()
}

/// Return each queue: name, summary, source, aliases, and settings as (name, default, bounds,
/// meaning).
#[pyfunction]
pub(crate) fn queues() -> Vec<Named> {
    QUEUES
        .iter()
        .map(|queue| {
            (
                queue.name,
                queue.summary,
                queue.source,
                queue.aliases.to_vec(),
                settings(queue.settings()),
            )
        })
        .collect()
}

/// Return each preset: name, summary, source.
#[pyfunction]
pub(crate) fn presets() -> Vec<Line> {
    PRESETS.to_vec()
}

/// Return the fields of a flow that the law with this `cc` decides by itself.
#[pyfunction]
pub(crate) fn decided_by(cc: &str) -> PyResult<Vec<String>> {
    Ok(narrows_scenario::decided_by(cc).map_err(Failed::from)?)
}

/// Return the stacks of others that this build has: name, controllers, version.
#[pyfunction]
pub(crate) fn stacks() -> Vec<(String, String, String)> {
    let all = crate::scenario::built_in();
    let line = |stack: &std::sync::Arc<dyn narrows_scenario::Stack>| {
        let named = stack.controllers().iter().map(|it| format!("{}:{it}", stack.name()));
        let named = named.collect::<Vec<_>>().join(", ");
        (stack.name().to_owned(), named, stack.source().to_owned())
    };
    all.iter().map(line).collect()
}

/// Return each metric: table, name, kind, unit, definition, source.
#[pyfunction]
pub(crate) fn metrics() -> Vec<MetricLine> {
    let line = |m: narrows_scenario::Metric| {
        (m.table, m.name, m.kind.as_str(), m.kind.unit(), m.definition, m.source)
    };
    narrows_scenario::metrics().into_iter().map(line).collect()
}

/// Return the version of everything that determines the results of a run.
#[pyfunction]
pub(crate) fn engine() -> String {
    narrows_scenario::engine()
}

/// Return a time like ``100ms`` in seconds; an error begins with `place`.
#[pyfunction]
pub(crate) fn seconds(place: &str, text: &str) -> PyResult<f64> {
    let time = text.parse::<narrows_units::Duration>();
    Ok(time.map_err(|error| Error::new_err(format!("{place}: {error}")))?.seconds())
}

/// Return an age like ``30d`` in seconds; an error begins with `place`.
#[pyfunction]
pub(crate) fn age(place: &str, text: &str) -> PyResult<f64> {
    let age = narrows_units::age(text);
    age.map_err(|error| Error::new_err(format!("{place}: {error}")))
}

/// Return the bytes of memory that runs may still take; None if the system does not say.
#[pyfunction]
pub(crate) fn available_memory() -> Option<f64> {
    narrows_scenario::available_memory()
}

/// Return the JSON schema of a scenario.
#[pyfunction]
pub(crate) fn schema() -> String {
    Scenario::schema()
}
