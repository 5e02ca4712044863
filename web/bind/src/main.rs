//! `bind WASM FOLDER [nodejs]`: the JavaScript and types of a module of wasm-bindgen's, for a
//! browser or for node. Its own command line takes longer to compile than the simulator.

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let (Some(module), Some(folder)) = (given.next(), given.next()) else {
        return Err("bind WASM FOLDER [nodejs]".into());
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).typescript(true);
    match given.next().as_deref() {
        Some("nodejs") => bindgen.nodejs(true)?,
        _ => bindgen.web(true)?,
    };
    bindgen.generate(folder)?;
    Ok(())
}
