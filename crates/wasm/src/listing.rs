//! Everything that can be chosen by name.

use narrows_control::registry::LAWS;
use narrows_control::slow_start::SlowStart;
use narrows_router::registry::QUEUES;
use narrows_settings::Listed;
use narrows_transport::Recovery;
use serde_json::{Value, json};
use wasm_bindgen::prelude::wasm_bindgen;

/// The version of everything that decides what happens in a run.
#[wasm_bindgen]
pub fn engine() -> String {
    narrows_scenario::engine()
}

/// The version of narrows.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Laws, queues, recoveries and slow starts by name; JSON.
#[wasm_bindgen]
pub fn lists() -> String {
    let named = |name: &str, summary: &str, source: &str, settings: Vec<Listed>| {
        let settings: Vec<Value> = settings.into_iter().map(setting).collect();
        json!({ "name": name, "summary": summary, "source": source, "settings": settings })
    };
    let laws = LAWS.iter().map(|law| named(law.name, law.summary, law.source, law.settings()));
    let queues =
        QUEUES.iter().map(|queue| named(queue.name, queue.summary, queue.source, queue.settings()));
    let recoveries =
        Recovery::all().map(|(name, _, summary, source)| named(name, summary, source, Vec::new()));
    let slow_starts = SlowStart::NAMES
        .iter()
        .map(|(name, summary, source)| named(name, summary, source, Vec::new()));
    json!({
        "laws": laws.collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
        "recoveries": recoveries.collect::<Vec<_>>(),
        "slow_starts": slow_starts.collect::<Vec<_>>(),
    })
    .to_string()
}

fn setting(listed: Listed) -> Value {
    let Listed { name, default, bounds, meaning } = listed;
    json!({ "name": name, "default": default, "bounds": bounds, "meaning": meaning })
}
