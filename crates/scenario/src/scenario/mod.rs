//! A scenario as people write it: the types behind TOML files, Python's keywords and the JSON
//! schema. Fields that were not given stay `None`.

mod background;
mod expect;
mod flow;
mod names;
mod network;
mod numbers;
mod plain;
mod presets;
mod text;
mod varying;
mod written;

pub use background::Background;
pub use expect::{Expect, Expected, Reference, Seeds};
pub(crate) use flow::Of;
pub use flow::{
    AckEvery, App, Arrivals, Datagrams, Files, Flow, Host, HostField, HostName, Incast, Offer,
    PacingName, PeriodsName, QuantumField, SlowStartName, Stall, TcpName, Web,
};
pub use network::{Chain, ChainLink, Dumbbell, Link, Memory, ParkingLot, WayBack};
pub(crate) use network::{LinkFields, LinkOptions};
pub use numbers::Numbers;
pub use presets::LinkName;
pub use varying::{Change, Does, Every, Handovers, Hold, Outage, Policer, ScriptLine, Shaper};

use crate::ScenarioError;
use narrows_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One experiment. Exactly one of `dumbbell`, `parking_lot`, `chain` and `links` says what the
/// network is.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where all randomness comes from; 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Simulated time, like "60s", which it is unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The measured window begins here; at a quarter of the duration unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Duration>,
    /// The TCP's habits: "linux" (the default), "linux5" (5 to 6.5), "l4steam" (L4STeam's 5.15),
    /// "linux24" (2.4, of 2004), "ns2" (2.35), "ns2-2005" (2.28) or "ns2-2000" (2.1b6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpName>,
    /// A data packet on the wire, headers included; "1500B" unless given, "1000B" with ns2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Bytes>,
    /// The interval between samples of windows and queues; a thousandth of the duration unless
    /// given; "0s" for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Duration>,
    /// The base RTT that "bdp" means, for a network of `links`; the presets know theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// One bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<Dumbbell>,
    /// Equal bottlenecks in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parking_lot: Option<ParkingLot>,
    /// Different links in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// Any network: its nodes are those that the links name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Memories that queues of links share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Memory>,
    /// The flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// What to write down packet by packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// What runs are expected to show, for `narrows check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// Scenarios that bounds of `expect` speak of, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reference: BTreeMap<String, Reference>,
    /// Under how many seeds `expect` is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
}

/// What to write down packet by packet.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Links whose packets go to a pcapng file, by name.
    #[serde(default)]
    pub links: Vec<String>,
    /// Flows whose recovery goes to a qlog file, by number from 0.
    #[serde(default)]
    pub flows: Vec<u32>,
}

impl Scenario {
    /// Reads a TOML file's text. The error names the path and shows the line.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        text::read_toml(text)
    }

    /// Reads JSON text, as Python and the browser send it.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        text::read_json(text)
    }

    /// Reads a group of flows from JSON text.
    pub fn group_from_json(text: &str) -> Result<Flow, ScenarioError> {
        text::read_json(text)
    }

    /// Reads a change of a link from JSON text.
    pub fn change_from_json(text: &str) -> Result<Change, ScenarioError> {
        text::read_json(text)
    }

    /// All that was given.
    fn fields(&self) -> Value {
        serde_json::to_value(self).expect("a scenario's types all have a JSON form")
    }

    /// Writes it as TOML: what was given, and nothing else.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.fields()).expect("what has a JSON form has a TOML form")
    }

    /// Writes it as JSON: what was given, and nothing else.
    pub fn to_json(&self) -> String {
        self.fields().to_string()
    }

    /// The same with other values: each is a path like `flows[0].cc`, and JSON text. Fails if there
    /// is no such place, or the value is not of its kind.
    pub fn patched(&self, values: &[(String, String)]) -> Result<Self, ScenarioError> {
        let mut fields = self.fields();
        for (path, text) in values {
            let wrong = |message: String| ScenarioError::new(path, message);
            let value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
            *place_at(&mut fields, path).map_err(wrong)? = value;
        }
        text::read_value(fields)
    }

    /// What decides the run: without seed, traces and expectations, and without samples unless it
    /// asks for them or `series` are kept.
    #[must_use]
    pub fn canonical(&self, series: bool) -> Self {
        let nothing = (!series).then_some(Duration::ZERO);
        let dumbbell = self.dumbbell.as_ref().map(Dumbbell::spelled_out);
        Self {
            seed: None,
            trace: None,
            sample: self.sample.or(nothing),
            dumbbell,
            expect: None,
            reference: BTreeMap::new(),
            seeds: None,
            ..self.clone()
        }
    }

    /// Spells out a link that is known by name, and removes options whose value has no effect, like
    /// `ecn = false`, `overhead = "0s"` or `quantum = 1`, which may be given for any flow.
    pub(crate) fn spelled_out(mut self) -> Self {
        self.flows.iter_mut().for_each(Flow::drop_idle_options);
        self.dumbbell = self.dumbbell.as_ref().map(Dumbbell::spelled_out);
        self
    }

    /// The JSON schema of a scenario.
    pub fn schema() -> String {
        serde_json::to_string_pretty(&schemars::schema_for!(Self)).expect("a schema is JSON")
    }
}

/// The place that `path` leads to in `fields`, like `flows[0].cc`; a field that is not there yet is
/// made. Fails if a list has no such place.
fn place_at<'a>(fields: &'a mut Value, path: &str) -> Result<&'a mut Value, String> {
    let mut place = fields;
    for step in path.split(['.', '[']) {
        place = match step.strip_suffix(']').map(str::parse::<usize>) {
            Some(Ok(number)) => {
                place.get_mut(number).ok_or_else(|| format!("there is no [{number}]"))?
            }
            _ => {
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
                let fields =
                    place.as_object_mut().ok_or_else(|| format!("there is no \"{step}\""))?;
                fields.entry(step).or_insert(Value::Null)
            }
        };
    }
    Ok(place)
}
