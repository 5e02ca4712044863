//! `fingerprints FILE…`: a hash of what happens in each scenario, as JSON: what a browser is held
//! against.

use std::collections::BTreeMap;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut hashes = BTreeMap::new();
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file)?;
        let hash = narrows_wasm::hash(&text).map_err(|error| format!("{file}: {error}"))?;
        hashes.insert(file, hash);
    }
    println!("{}", serde_json::to_string_pretty(&hashes)?);
    Ok(())
}
