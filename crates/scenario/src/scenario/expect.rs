//! What a run is expected to show, as people write it.

use super::Scenario;
use crate::ScenarioError;
use narrows_units::Probability;
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
pub struct Expect(pub BTreeMap<String, Expected>);

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
}

/// A bound alone, or with its reason.
#[derive(Serialize)]
#[serde(untagged)]
enum Written {
    Bound(String),
    Whole(Expected),
}

/// How a bound is written.
const EXAMPLE: &str = "utilisation = \">= 0.9\"";

impl From<Expect> for BTreeMap<String, Written> {
    fn from(Expect(expected): Expect) -> Self {
        let written = |it: Expected| match it {
            Expected { bound, why: None, source: None } => Written::Bound(bound),
            whole => Written::Whole(whole),
        };
        expected.into_iter().map(|(place, it)| (place, written(it))).collect()
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
    expected: &mut BTreeMap<String, Expected>,
    place: &str,
    written: Map<String, Value>,
) -> Result<(), String> {
    for (name, value) in written {
        let place = if place.is_empty() { name } else { format!("{place}.{name}") };
        let one = match value {
            Value::String(bound) => Expected { bound, why: None, source: None },
            Value::Object(fields) if fields.get("bound").is_some_and(Value::is_string) => {
                serde_json::from_value(Value::Object(fields)).map_err(|error| {
                    format!("{place}: {}", super::plain::plain(&error.to_string()))
                })?
            }
            Value::Object(fields) => {
                gather(expected, &place, fields)?;
                continue;
            }
            other => return Err(format!("{place}: {other} is not a bound; write {EXAMPLE}")),
        };
        if expected.insert(place.clone(), one).is_some() {
            return Err(format!("{place}: it is expected twice; leave one out"));
        }
    }
    Ok(())
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
