//! narrows' simulator for a browser: what a page asks of it, as texts and typed arrays. Everything
//! is [`narrows_scenario`]'s; here it only changes its form.

mod fingerprint;
mod listing;
mod rows;
mod run;
mod told;

pub use fingerprint::{Hashing, fingerprint, hash};
pub use listing::{engine, lists, version};
pub use run::Run;
pub use told::check;

use narrows_scenario::ScenarioError;
use wasm_bindgen::JsValue;

/// What is wrong with a scenario, as JSON text: its place, which a page marks, and a message.
fn wrong(error: ScenarioError) -> JsValue {
    let told = serde_json::json!({ "place": error.place(), "message": error.message() });
    told.to_string().into()
}
