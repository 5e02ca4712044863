//! A run that a page looks at and changes while it goes.

use crate::rows::{self, Rows};
use crate::told::{placed, read, told};
use crate::wrong;
use narrows_scenario::{Running, Scenario, ScenarioError};
use narrows_units::{Duration, Time};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A run under way. What it was seen to do since it was last asked is in arrays with a row for each
/// interval.
#[wasm_bindgen]
pub struct Run {
    running: Running,
    rows: Rows,
}

/// `seconds` of simulated time, to the picosecond.
fn span(seconds: f64) -> Duration {
    Duration::from_picos((seconds.max(0.0) * 1e12).round() as u64)
}

#[wasm_bindgen]
impl Run {
    /// Begins a run of the scenario in `text`, TOML or JSON, with a row every `row` seconds. Fails
    /// with JSON of place and message.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, row: f64) -> Result<Self, JsValue> {
        let running = Running::new(read(text).map_err(wrong)?, span(row)).map_err(wrong)?;
        Ok(Self { running, rows: Rows::default() })
    }

    /// Goes on for so many seconds of simulated time, or to the end; returns how many data packets
    /// have arrived in them. Fails with JSON of place and message.
    pub fn advance(&mut self, seconds: f64) -> Result<f64, JsValue> {
        let before = self.running.delivered();
        let ran = self.running.run_until(self.running.now() + span(seconds));
        ran.map_err(|error| wrong(ScenarioError::new("", error)))?;
        self.rows = Rows::of(&self.running.take_moments());
        Ok((self.running.delivered() - before) as f64)
    }

    /// Simulated seconds reached.
    pub fn now(&self) -> f64 {
        self.running.now().since(Time::ZERO).seconds()
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.running.now() >= Time::ZERO + self.running.checked().duration
    }

    /// When each row of the last advance was, in seconds.
    pub fn times(&self) -> Vec<f64> {
        self.rows.times.clone()
    }

    /// Rows times sampled flows: windows in packets.
    pub fn windows(&self) -> Vec<f32> {
        self.rows.windows.clone()
    }

    /// Rows times sampled flows: smoothed RTTs in seconds.
    pub fn rtts(&self) -> Vec<f32> {
        self.rows.rtts.clone()
    }

    /// Rows times sampled flows: packets that have arrived in the interval.
    pub fn arrivals(&self) -> Vec<f32> {
        self.rows.arrivals.clone()
    }

    /// Rows times groups times [`rows::GROUP`] columns.
    pub fn groups(&self) -> Vec<f32> {
        self.rows.groups.clone()
    }

    /// Rows times links times [`rows::LINK`] columns.
    pub fn links(&self) -> Vec<f32> {
        self.rows.links.clone()
    }

    /// The names of the columns of groups and of links, and of the watched law's quantities: JSON.
    pub fn columns(&self) -> String {
        let columns = serde_json::json!({
            "groups": rows::GROUP, "links": rows::LINK, "law": self.rows.law_names,
        });
        columns.to_string()
    }

    /// Rows times the quantities of the watched flow's law.
    pub fn law(&self) -> Vec<f32> {
        self.rows.law.clone()
    }

    /// Asks the law of this flow for its own quantities from now on.
    pub fn watch(&mut self, flow: usize) {
        self.running.watch(flow);
    }

    /// Changes a link as the JSON says, like `{"buffer": "5p"}`; returns from when on. Fails with
    /// JSON of place and message.
    pub fn change(&mut self, link: &str, fields: &str) -> Result<String, JsValue> {
        let body = fields.trim_start().strip_prefix('{').unwrap_or(fields);
        let change = format!("{{\"at\": \"0s\", {body}");
        let change = Scenario::change_from_json(&change).map_err(wrong)?;
        self.running.change(link, change).map(|at| at.to_string()).map_err(wrong)
    }

    /// Lets a group of flows join that the JSON describes; returns from when on. Fails with JSON of
    /// place and message.
    pub fn join(&mut self, group: &str) -> Result<String, JsValue> {
        let group = Scenario::group_from_json(group).map_err(wrong)?;
        self.running.join(group).map(|at| at.to_string()).map_err(wrong)
    }

    /// Lets the last `count` flows of a group leave; returns from when on. Fails with JSON of place
    /// and message.
    pub fn leave(&mut self, group: usize, count: u32) -> Result<String, JsValue> {
        self.running.leave(group, count).map(|at| at.to_string()).map_err(wrong)
    }

    /// What numbers of the run so far should be read with, as JSON: a list of place and message.
    pub fn remarks(&mut self) -> String {
        placed(&self.running.remarks()).to_string()
    }

    /// What the scenario is that makes this run, as [`crate::check`] says it.
    pub fn told(&self) -> String {
        told(self.running.scenario(), self.running.checked()).to_string()
    }

    /// That scenario as TOML.
    pub fn toml(&self) -> String {
        self.running.scenario().to_toml()
    }

    /// Counts everything that crosses a link between routers; before it has begun.
    pub fn hash(&mut self) -> crate::fingerprint::Hashing {
        crate::fingerprint::Hashing::of(&mut self.running)
    }
}
