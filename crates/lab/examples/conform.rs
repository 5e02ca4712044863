//! Judges a stack's controller: `cargo run --example conform -- quinn:cubic D1,T1 cubic`.

use narrows_conform::{Subject, chosen, conform};
use narrows_scenario::Own;

fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let cc = words.next().unwrap_or_else(|| "cubic".to_owned());
    let only = words.next().unwrap_or_else(|| "all".to_owned());
    let subject = Subject::new(&cc, words.next().as_deref())?;
    let own = Own { stacks: narrows_hosts::stacks(), ..Own::default() };
    for row in conform(&subject, &own, &chosen(&only)?)? {
        let (check, verdict) = (row.check, row.verdict.as_str());
        println!("{:<4}{:<34}{:<36} {:<14} {verdict}", check.id, check.name, row.seen, row.bound);
    }
    Ok(())
}
