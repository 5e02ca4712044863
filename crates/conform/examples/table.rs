//! Prints the table of a controller, for a look at it.
fn main() -> Result<(), String> {
    let mut args = std::env::args().skip(1);
    let cc = args.next().unwrap_or_else(|| "cubic".to_owned());
    let only = args.next().unwrap_or_else(|| "all".to_owned());
    let profile = args.next();
    let subject = narrows_conform::Subject::new(&cc, profile.as_deref())?;
    let own = narrows_scenario::Own::default();
    for row in narrows_conform::conform(&subject, &own, &narrows_conform::chosen(&only)?)? {
        println!(
            "{:<4}{:<34}{:<36} {:<20} {}",
            row.check.id,
            row.check.name,
            row.seen,
            row.bound,
            row.verdict.as_str()
        );
    }
    Ok(())
}
