//! What happens in a run as a hash: the same as natively, or a browser shows another run.

use crate::told::read;
use narrows_scenario::{Checked, History, Running, run_tapped};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The hash of a run that goes on.
#[wasm_bindgen]
pub struct Hashing(History);

impl Hashing {
    pub(crate) fn of(running: &mut Running) -> Self {
        let history = History::default();
        running.set_tap(Box::new(history.clone()));
        Self(history)
    }
}

#[wasm_bindgen]
impl Hashing {
    /// The hash so far, in hexadecimal.
    pub fn so_far(&self) -> String {
        hexadecimal(&self.0)
    }
}

fn hexadecimal(history: &History) -> String {
    format!("{:016x}", history.so_far().0)
}

/// The hash of a run of the scenario in `text`, TOML or JSON, from start to end.
#[wasm_bindgen]
pub fn fingerprint(text: &str) -> Result<String, JsValue> {
    hash(text).map_err(JsValue::from)
}

/// The same where there is no JavaScript.
pub fn hash(text: &str) -> Result<String, String> {
    let scenario = read(text).map_err(|error| error.to_string())?;
    let checked = Checked::new(scenario).map_err(|error| error.to_string())?;
    let history = History::default();
    let run = run_tapped(&checked, checked.seed, Box::new(history.clone()));
    run.map_err(|error| error.to_string())?;
    Ok(hexadecimal(&history))
}
