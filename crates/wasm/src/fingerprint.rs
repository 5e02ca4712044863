//! What happens in a run as a hash: the same as natively, or a browser shows another run.

use crate::told::read;
use narrows_scenario::{Checked, Running, run_tapped};
use narrows_sim::{Crossing, Tap};
use std::sync::{Arc, Mutex};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// FNV-1a of each crossing, as the tests of narrows-scenario have it.
#[derive(Clone)]
struct History(Arc<Mutex<u64>>);

impl Tap for History {
    fn crossing(&mut self, crossing: &Crossing) {
        let Crossing { at, link, point, flow, segment, .. } = crossing;
        let mut hash = self.0.lock().expect("one thread");
        for number in [
            at.picos(),
            u64::from(*link),
            *point as u64,
            u64::from(*flow),
            segment.number,
            segment.stamp.picos(),
            segment.echoed_stamp.picos(),
            u64::from(segment.bytes),
            segment.kind() as u64,
            segment.ecn() as u64,
            u64::from(segment.is_retransmission()),
        ] {
            for byte in number.to_le_bytes() {
                *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
}

/// The hash of a run that goes on.
#[wasm_bindgen]
pub struct Hashing(History);

impl Hashing {
    fn new() -> Self {
        Self(History(Arc::new(Mutex::new(0xcbf2_9ce4_8422_2325))))
    }

    pub(crate) fn of(running: &mut Running) -> Self {
        let hashing = Self::new();
        running.set_tap(Box::new(hashing.0.clone()));
        hashing
    }
}

#[wasm_bindgen]
impl Hashing {
    /// The hash so far, in hexadecimal.
    pub fn so_far(&self) -> String {
        format!("{:016x}", *self.0.0.lock().expect("one thread"))
    }
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
    let hashing = Hashing::new();
    let run = run_tapped(&checked, checked.seed, Box::new(hashing.0.clone()));
    run.map_err(|error| error.to_string())?;
    Ok(hashing.so_far())
}
