//! What a checked scenario is, in words and numbers.

use crate::wrong;
use narrows_scenario::{Checked, CheckedLink, Scenario, ScenarioError, Warning};
use narrows_units::Buffer;
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Reads a scenario, TOML or JSON.
pub(crate) fn read(text: &str) -> Result<Scenario, ScenarioError> {
    let is_json = text.trim_start().starts_with('{');
    if is_json { Scenario::from_json(text) } else { Scenario::from_toml(text) }
}

/// Warnings or remarks: each with its place and message.
pub(crate) fn placed(warnings: &[Warning]) -> Value {
    warnings.iter().map(|it| json!({ "place": it.place, "message": it.message })).collect()
}

/// What the scenario in `text`, TOML or JSON, is: JSON with its TOML, its links, its groups of
/// flows, and what runs but hardly as it was meant. Fails with JSON of place and message.
#[wasm_bindgen]
pub fn check(text: &str) -> Result<String, JsValue> {
    let scenario = read(text).map_err(wrong)?;
    let checked = Checked::new(scenario.clone()).map_err(wrong)?;
    Ok(told(&scenario, &checked).to_string())
}

/// What `scenario` is, which `checked` is of.
pub(crate) fn told(scenario: &Scenario, checked: &Checked) -> Value {
    let fields: Value =
        serde_json::from_str(&scenario.to_json()).expect("what is written can be read");
    let links = checked.links.iter().map(|link| self::link(checked, link));
    let groups = checked.flows.iter().map(|group| {
        json!({
            "name": group.name, "cc": group.cc, "pacing": group.pacing, "count": group.count,
            "reverse": group.reverse, "packet": group.packet.bytes.count(),
        })
    });
    json!({
        "toml": scenario.to_toml(),
        "fields": fields,
        "duration": checked.duration.seconds(),
        "seed": checked.seed,
        "links": links.collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
        "sampled": checked.sampled(),
        "flows": checked.flow_count(),
        "warnings": placed(&checked.warnings),
    })
}

/// A link, its buffer in all units; `null` if it is unlimited.
fn link(checked: &Checked, link: &CheckedLink) -> Value {
    let packet = checked.packet();
    let bdp = link.rate.bytes_per_second() * link.base_rtt.seconds();
    let buffer = link.buffer.map(|buffer: Buffer| {
        let bytes = buffer.bytes(link.rate, link.base_rtt, checked.flow_count(), packet);
        json!({
            "packets": buffer.packets(link.rate, link.base_rtt, checked.flow_count(), packet),
            "bytes": bytes.count(),
            "seconds": link.rate.time_to_send(bytes).seconds(),
            "bdp": bytes.count() as f64 / bdp,
            "text": link.describe_buffer(checked.flow_count(), packet),
        })
    });
    json!({
        "name": link.name, "rate": link.rate.bits_per_second(), "delay": link.delay.seconds(),
        "rtt": link.base_rtt.seconds(), "bdp": bdp / packet.count() as f64, "buffer": buffer,
    })
}
