//! A scenario as Python holds it: parsed once, patched by path, written as what was given.

use crate::controller::PythonLaw;
use crate::error::Failed;
use crate::failure;
use crate::learn::{FormulaCode, PolicyNet, WasmCode, complain};
use crate::run::Run;
use crate::stack::PythonStack;
use narrows_learn::{FormulaLaw, Policy, WasmLaw, is_learner, resting};
use narrows_scenario::{self as scenario, CheckedLink};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What makes controllers written in Python, by the name that flows call them by.
pub(crate) type Own = BTreeMap<String, Py<PyAny>>;

/// The fields of an experiment, as they were given.
#[pyclass(module = "narrows._core", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct Scenario(pub scenario::Scenario);

#[pymethods]
impl Scenario {
    /// Reads the text of a TOML file.
    #[new]
    fn from_toml(text: &str) -> PyResult<Self> {
        Ok(Self(scenario::Scenario::from_toml(text).map_err(Failed::from)?))
    }

    /// Reads JSON text.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(scenario::Scenario::from_json(text).map_err(Failed::from)?))
    }

    /// Returns the same with other values, each a path like `flows[0].cc` with JSON text.
    fn patched(&self, values: Vec<(String, String)>) -> PyResult<Self> {
        Ok(Self(self.0.patched(&values).map_err(Failed::from)?))
    }

    /// Returns what was given, as JSON.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Returns what was given, as TOML.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Returns the same in a form in which equal runs are equal texts: without seed and traces, and
    /// without samples unless `series` are kept.
    fn canonical(&self, series: bool) -> Self {
        Self(self.0.canonical(series))
    }

    /// Checks it once; its flows may use the controllers and stacks `own` by name.
    #[pyo3(signature = (own=None))]
    fn check(&self, own: Option<Own>) -> PyResult<Checked> {
        Ok(Checked(checked(self, own)?))
    }

    /// The laws that its flows name.
    #[getter]
    fn laws(&self) -> Vec<&str> {
        self.0.flows.iter().filter_map(|flow| flow.cc.as_deref()).collect()
    }

    /// The seed that it is run with.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed.unwrap_or(1)
    }

    /// Pickles the text of a TOML file, from which it is made anew.
    fn __getnewargs__(&self) -> (String,) {
        (self.to_toml(),)
    }
}

/// Name, bound, whether that is more than a number, side, kind of quantity, reason, source.
type ExpectationLine =
    (String, String, bool, &'static str, &'static str, String, String, Option<[f64; 2]>);

/// A scenario that has been checked.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct Checked(pub scenario::Checked);

#[pymethods]
impl Checked {
    /// Returns each link between routers with its buffer in all four units.
    fn buffers(&self) -> Vec<(String, String)> {
        let Self(checked) = self;
        let describe = |link: &CheckedLink| {
            (link.name.clone(), link.describe_buffer(checked.flow_count(), checked.packet()))
        };
        checked.links.iter().map(describe).collect()
    }

    /// Returns the bytes that a run may need; fails if it would run for days.
    fn weight(&self) -> PyResult<f64> {
        self.0.ends_soon().map_err(Failed::from)?;
        Ok(self.0.memory())
    }

    /// Returns what runs, but hardly as it was meant, each with its place and a remedy.
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.iter().map(ToString::to_string).collect()
    }

    /// Returns what runs are expected to show: name, bound, whether that is more than a number,
    /// side, kind of quantity, reason, source and part of the run of each.
    fn expectations(&self) -> Vec<ExpectationLine> {
        let line = |it: &scenario::Expectation| {
            let (side, kind) = (it.side().as_str(), it.kind().as_str());
            let [name, bound, why, source] = [&it.name, &it.written, &it.why, &it.source];
            let [name, bound, why, source] = [name, bound, why, source].map(String::clone);
            (name, bound, it.is_relative(), side, kind, why, source, it.during)
        };
        self.0.expectations.all.iter().map(line).collect()
    }

    /// Returns the other runs that numbers are of, each with its name and with a text that is the
    /// same where the run is.
    fn references(&self) -> Vec<(String, String, Self)> {
        let other =
            |it: &scenario::Other| (it.name.clone(), it.text.clone(), Self(it.checked.clone()));
        self.0.expectations.references.iter().map(other).collect()
    }

    /// Returns whether a number that is expected is from samples.
    fn needs_samples(&self) -> bool {
        self.0.expectations.needs_samples()
    }

    /// Returns the number of seeds under which expectations are tried, and the confidence.
    fn seeds(&self) -> (u32, f64) {
        (self.0.expectations.seeds, self.0.expectations.confidence)
    }

    /// Returns each expectation's number and what its bound amounts to, in the scenario's own run
    /// and those of its references, all under one seed; NaN for what such a run does not show.
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands lists")]
    fn expected(&self, runs: Vec<Bound<'_, Run>>) -> Vec<[f64; 2]> {
        let runs: Vec<&scenario::Results> = runs.iter().map(|run| run.get().results()).collect();
        self.0.expectations.all.iter().map(|it| it.read(&runs)).collect()
    }

    /// Returns when the run ends and from when on it is measured, in seconds.
    fn times(&self) -> (f64, f64) {
        (self.0.duration.seconds(), self.0.warmup.seconds())
    }
}

/// The stacks of others that this build has.
pub(crate) fn built_in() -> Vec<Arc<dyn scenario::Stack>> {
    #[cfg(feature = "hosts")]
    return narrows_hosts::stacks();
    #[cfg(not(feature = "hosts"))]
    Vec::new()
}

/// `scenario`, checked.
pub(crate) fn checked(scenario: &Scenario, own: Option<Own>) -> Result<scenario::Checked, Failed> {
    let mut all = own_of(own);
    // A flow may name the learner; nobody else hears of it.
    if scenario.0.flows.iter().any(|flow| flow.cc.as_deref().is_some_and(is_learner)) {
        all.laws.push(resting());
    }
    failure::forget();
    let checked = scenario::Checked::with_own(scenario.0.clone(), &all);
    // What Python raised says more than that it did.
    failure::take().map_or_else(|| Ok(checked?), |error| Err(Failed::Python(error)))
}

/// The policy called `name`, if `object` has a net.
fn policy(py: Python<'_>, name: &str, object: &Py<PyAny>) -> Option<Policy> {
    let net = object.bind(py).getattr_opt("net").ok()??;
    let net = net.cast::<PolicyNet>().ok()?.get();
    Some(Policy::new(name.to_owned(), net.net.clone(), net.preset, complain()))
}

/// The law called `name`, if `object` is written as expressions or is a module.
fn coded(py: Python<'_>, name: &str, object: &Py<PyAny>) -> Option<Arc<dyn scenario::OwnLaw>> {
    let (name, code) = (name.to_owned(), object.bind(py).getattr_opt("code").ok()??);
    if let Ok(code) = code.cast::<FormulaCode>() {
        return Some(Arc::new(FormulaLaw::new(name, code.get().0.clone(), complain())));
    }
    let code = code.cast::<WasmCode>().ok()?.get();
    Some(Arc::new(WasmLaw::new(name, code.0.clone(), complain())))
}

/// The built-in stacks, and what Python brings along.
pub(crate) fn own_of(own: Option<Own>) -> scenario::Own {
    let mut all = scenario::Own { laws: Vec::new(), stacks: built_in() };
    for (name, object) in own.unwrap_or_default() {
        let has = |what| Python::attach(|py| object.bind(py).hasattr(what)).unwrap_or(false);
        if let Some(policy) = Python::attach(|py| policy(py, &name, &object)) {
            all.laws.push(Arc::new(policy));
        } else if let Some(law) = Python::attach(|py| coded(py, &name, &object)) {
            all.laws.push(law);
        } else if has("ends") {
            all.stacks.push(Arc::new(PythonStack::new(name, object)));
        } else {
            all.laws.push(Arc::new(PythonLaw::new(name, object)));
        }
    }
    all
}
