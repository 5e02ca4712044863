//! Prints what a capture tells as JSON: `cargo run -p narrows-capture --example why FILE`.

use std::fs::File;
use std::io::BufReader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: why FILE")?;
    let open = || File::open(&path).map(BufReader::new);
    let report = narrows_capture::why(open, 8, |_| true)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
