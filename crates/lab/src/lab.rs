//! A network for one test.

use crate::path::Path;
use crate::report::Report;
use crate::reports::Reports;
use narrows_hosts::deterministic;
use narrows_scenario::{Checked, Own, Scenario, Stack, StackEnds, Transfer, Wish, run};
use narrows_sim::Endpoint;
use serde_json::{Value, json};
use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Seconds that are simulated unless said otherwise; the first quarter is not measured.
const SECONDS: f64 = 20.0;

/// A network under construction.
///
/// What cannot be so ends the test when it is run, with a message that names the place.
#[derive(Clone)]
pub struct Lab {
    scenario: Value,
    pub(crate) title: String,
    pub(crate) own: Own,
    /// True if the flows stand in a file.
    from_file: bool,
    /// What the hosts of all flows are like, if that is said.
    like: Option<String>,
}

/// A stack that a test brings along.
pub(crate) struct Mine<F> {
    pub name: String,
    pub ends: F,
}

impl<F, E> Stack for Mine<F>
where
    F: Fn(&Transfer) -> Result<(Box<E>, Box<E>), String> + Send + Sync,
    E: Endpoint,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn logs(&self) -> bool {
        true
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        let (near, far) = (self.ends)(&wish.transfer)?;
        Ok((near, far))
    }

    fn prepare(&self, seed: u64) {
        deterministic::begin(seed);
    }
}

impl Lab {
    /// One bottleneck that all flows go over.
    pub fn on(path: &Path) -> Self {
        let Path { rate, rtt, buffer, fields } = path;
        let mut link = json!({
            "rate": rate.to_string(), "rtt": rtt.to_string(), "buffer": buffer.to_string(),
        });
        for (name, value) in fields {
            link[name] = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        }
        let lab = Self {
            scenario: json!({ "dumbbell": link, "flows": [] }),
            title: path.to_string(),
            own: Own::default(),
            from_file: false,
            like: None,
        };
        lab.span(SECONDS / 4.0, SECONDS)
    }

    /// The scenario of a TOML file, whose flows may say `host = "mine"`.
    ///
    /// # Errors
    /// If the file cannot be read or is no scenario.
    pub fn file(path: impl AsRef<std::path::Path>) -> Result<Self, String> {
        let path = path.as_ref();
        let wrong = |error: &dyn Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let scenario = Scenario::from_toml(&text).map_err(|error| wrong(&error))?;
        Ok(Self {
            scenario: serde_json::from_str(&scenario.to_json()).map_err(|error| wrong(&error))?,
            title: path.display().to_string(),
            own: Own::default(),
            from_file: true,
            like: None,
        })
    }

    /// Simulates until `to` and measures from `from` on, in seconds.
    #[must_use]
    pub fn span(mut self, from: f64, to: f64) -> Self {
        self.scenario["warmup"] = json!(format!("{from}s"));
        self.scenario["duration"] = json!(format!("{to}s"));
        self
    }

    /// A flow of the stack whose ends `ends` makes, under the name `name`; in a scenario of a file,
    /// what its flows call `name`. If the transfer names a file for qlog, an end may write it.
    #[must_use]
    pub fn host<E: Endpoint>(
        mut self,
        name: &str,
        ends: impl Fn(&Transfer) -> Result<(Box<E>, Box<E>), String> + Send + Sync + 'static,
    ) -> Self {
        self.own.stacks.push(Arc::new(Mine { name: name.to_owned(), ends }));
        if self.from_file { self } else { self.flow(json!({ "host": name })) }
    }

    /// A stack by name, like those of `narrows-hosts`; flows call it `quinn:cubic`.
    #[must_use]
    pub fn stack(mut self, stack: Arc<dyn Stack>) -> Self {
        self.own.stacks.push(stack);
        self
    }

    /// A flow of a law or a stack by name: `cubic`, `bbr`, `quinn:cubic`.
    #[must_use]
    pub fn native(self, cc: &str) -> Self {
        self.flow(json!({ "cc": cc }))
    }

    /// A flow with the fields of a scenario's flow.
    #[must_use]
    pub fn flow(mut self, fields: Value) -> Self {
        if let Some(flows) = self.scenario["flows"].as_array_mut() {
            flows.push(fields);
        }
        self
    }

    /// Makes the hosts of all flows, ours too, as `host = { like = "tokio" }` would.
    #[must_use]
    pub fn hosts_like(mut self, like: &str) -> Self {
        self.like = Some(like.to_owned());
        self
    }

    /// Sets any field of the scenario by its path, like `dumbbell.queue` or `flows[0].start`.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        let (place, name) = field.rsplit_once('.').unwrap_or(("", field));
        let pointer = place.replace(['.', '['], "/").replace(']', "");
        let pointer = if pointer.is_empty() { pointer } else { format!("/{pointer}") };
        if let Some(place) = self.scenario.pointer_mut(&pointer) {
            place[name] = value.into();
        } else {
            panic!("{field}: there is no {place} in this scenario");
        }
        self
    }

    /// The scenario, with the fields in `more`.
    pub(crate) fn scenario(&self, more: &[(&str, Value)]) -> Result<Scenario, String> {
        let mut scenario = self.scenario.clone();
        for flow in scenario["flows"].as_array_mut().into_iter().flatten() {
            let Some(like) = &self.like else { break };
            if let Some(stack) = flow["host"].as_str() {
                flow["host"] = json!({ "stack": stack });
            }
            flow["host"]["like"] = json!(like);
        }
        more.iter().for_each(|(name, value)| scenario[*name] = value.clone());
        Scenario::from_json(&scenario.to_string()).map_err(|error| error.to_string())
    }

    /// Runs it under the seed in the environment variable `NARROWS_SEED`, or 1.
    ///
    /// # Panics
    /// If it cannot be run; the message says why.
    pub fn run(&self) -> Report {
        self.run_under(chosen().unwrap_or(1))
    }

    /// Runs it under the seeds 1 to `count`, as many at a time as there are cores; under the one in
    /// `NARROWS_SEED` alone, if that is set.
    ///
    /// # Panics
    /// If it cannot be run, or there are none; the message says why.
    pub fn run_seeds(&self, count: u64) -> Reports {
        assert!(count > 0, "{}: no seeds to run under", self.title);
        let seeds: Vec<u64> = chosen().map_or_else(|| (1..=count).collect(), |seed| vec![seed]);
        Reports::run(self, &seeds)
    }

    /// Runs it under `seed`.
    pub(crate) fn run_under(&self, seed: u64) -> Report {
        let outcome = self.scenario(&[]).and_then(|scenario| {
            let checked = Checked::with_own(scenario, &self.own);
            let checked = checked.map_err(|error| error.to_string())?;
            run(&checked, seed, None, |_| ControlFlow::Continue(()))
                .map_err(|error| error.to_string())
        });
        match outcome {
            Ok(results) => Report::new(self.clone(), seed, results),
            Err(error) => panic!("{}: {error}", self.title),
        }
    }
}

/// The seed that the environment asks for.
fn chosen() -> Option<u64> {
    let text = std::env::var("NARROWS_SEED").ok()?;
    let seed = text.parse();
    Some(seed.unwrap_or_else(|_| panic!("NARROWS_SEED is \"{text}\"; it must be a whole number")))
}
