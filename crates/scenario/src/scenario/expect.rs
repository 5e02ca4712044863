//! What a run is expected to show, as people write it.

use super::Scenario;
use crate::ScenarioError;
use narrows_units::{Duration, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Expectations by the name of the number that they are about, like `utilisation` or
/// `links.bottleneck.delay_p99`, whether that is written as one name in quotation marks or as
/// tables in tables.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(try_from = "Map<String, Value>", into = "BTreeMap<String, Written>")]
#[schemars(with = "BTreeMap<String, Value>")]
pub struct Expect(pub BTreeMap<String, Vec<Expected>>);

/// One expectation.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// What the number is compared with, like ">= 0.9", "<= 5ms" or ">= 0.5 * reno".
    pub bound: String,
    /// Why, for who reads that it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where that is asked for, like "RFC 9743 §5.1.3".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The part of the run that it is about, like ["30s", "40s"]; the measured window unless given.
    /// The run is made once more for each such part, up to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<[Duration; 2]>,
}

/// A bound alone, or with its reason; or several.
#[derive(Serialize)]
#[serde(untagged)]
enum Written {
    Bound(String),
    Whole(Expected),
    Several(Vec<Written>),
}

/// How a bound is written.
const EXAMPLE: &str = "utilisation = \">= 0.9\"";

impl From<Expect> for BTreeMap<String, Written> {
    fn from(Expect(expected): Expect) -> Self {
        let written = |it: Expected| match it {
            Expected { bound, why: None, source: None, during: None } => Written::Bound(bound),
            whole => Written::Whole(whole),
        };
        let all = |all: Vec<Expected>| {
            let mut all: Vec<_> = all.into_iter().map(written).collect();
            if all.len() == 1 { all.remove(0) } else { Written::Several(all) }
        };
        expected.into_iter().map(|(place, it)| (place, all(it))).collect()
    }
}

impl TryFrom<Map<String, Value>> for Expect {
    type Error = String;

    fn try_from(written: Map<String, Value>) -> Result<Self, String> {
        let mut expected = BTreeMap::new();
        gather(&mut expected, "", written)?;
        Ok(Self(expected))
    }
}

/// Takes what is `written` below `place` apart into expectations.
fn gather(
    expected: &mut BTreeMap<String, Vec<Expected>>,
    place: &str,
    written: Map<String, Value>,
) -> Result<(), String> {
    for (name, value) in written {
        let place = if place.is_empty() { name } else { format!("{place}.{name}") };
        let all = match value {
            Value::Array(all) if !all.is_empty() => {
                all.into_iter().map(|one| bound(&place, one)).collect::<Result<_, _>>()?
            }
            Value::Object(fields) if !fields.get("bound").is_some_and(Value::is_string) => {
                gather(expected, &place, fields)?;
                continue;
            }
            one => vec![bound(&place, one)?],
        };
        if expected.insert(place.clone(), all).is_some() {
            return Err(format!("{place}: it is expected twice; leave one out"));
        }
    }
    Ok(())
}

/// One expectation of the number at `place`.
fn bound(place: &str, written: Value) -> Result<Expected, String> {
    match written {
        Value::String(bound) => Ok(Expected { bound, why: None, source: None, during: None }),
        Value::Object(fields) => serde_json::from_value(Value::Object(fields))
            .map_err(|error| format!("{place}: {}", super::plain::plain(&error.to_string()))),
        other => Err(format!("{place}: {other} is not a bound; write {EXAMPLE}")),
    }
}

/// Under how many seeds expectations are tried.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// The number of seeds, from the scenario's own on; 5 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The confidence of the interval that decides; "95%" unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Probability>,
}

/// A scenario that bounds speak of: the same with other values by path, like `flows[0].cc`. The
/// name `cc` means each group's, and `without` names a group that is not there.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(transparent)]
pub struct Reference(pub BTreeMap<String, Value>);

impl Reference {
    /// The reference of `scenario`, which has no expectations of its own.
    pub fn of(&self, scenario: &Scenario) -> Result<Scenario, ScenarioError> {
        let mut other = scenario.clone();
        (other.expect, other.seeds, other.reference) = (None, None, BTreeMap::new());
        if self.0.is_empty() {
            let message = "nothing differs in it; say what does, like { cc = \"reno\" }";
            return Err(ScenarioError::new("", message));
        }
        let mut values = Vec::new();
        for (path, value) in &self.0 {
            match path.as_str() {
                "without" => {}
                "cc" => values.extend(
                    (0..other.flows.len())
                        .map(|group| (format!("flows[{group}].cc"), value.to_string())),
                ),
                _ => values.push((path.clone(), value.to_string())),
            }
        }
        let mut other = other.patched(&values)?;
        if let Some(name) = self.0.get("without") {
            let before = other.flows.len();
            other.flows.retain(|group| group.name.as_deref() != name.as_str());
            if other.flows.len() == before {
                let names = other.flows.iter().filter_map(|group| group.name.as_deref());
                let known = names.collect::<Vec<_>>().join(", ");
                let message = format!("no group is called {name}; known: {known}");
                return Err(ScenarioError::new("without", message));
            }
        }
        Ok(other)
    }
}
