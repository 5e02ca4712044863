//! Files of what happened in a run that was not as expected.

use crate::html;
use crate::report::Report;
use narrows_conform::{Row, SEED};
use narrows_scenario::{Checked, Own, Scenario, run};
use serde_json::{Value, json};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes of packets that are written at the most: the beginning of a long run.
const MOST_BYTES: f64 = 50e6;

/// Writes the scenario, the packets, the logs and a page of pictures; returns what to say of them.
/// What cannot be written is said, too.
pub(crate) fn write(report: &Report) -> String {
    let folder = folder();
    let name = test_name();
    match files(report, &folder, &name) {
        Ok(said) => said,
        Err(error) => {
            format!("what happened could not be written to {}: {error}", folder.display())
        }
    }
}

fn files(report: &Report, folder: &Path, name: &str) -> Result<String, String> {
    let within = |error: std::io::Error| error.to_string();
    fs::create_dir_all(folder).map_err(within)?;
    let file = |suffix: &str| folder.join(format!("{name}.{suffix}"));
    let seed = report.seed;
    let whole = report.lab.scenario(&[("seed", json!(seed))])?;
    fs::write(file("toml"), whole.to_toml()).map_err(within)?;
    let (page, packets) = (file("html"), file("pcapng"));
    fs::write(&page, html::page(report, name)).map_err(within)?;
    let seconds = trace(report, folder, name)?;
    Ok(format!(
        "open {}   (the first {seconds:.1} s, packet by packet: {}; again: NARROWS_SEED={seed} \
         cargo test {})",
        page.display(),
        packets.display(),
        std::thread::current().name().unwrap_or_default(),
    ))
}

/// Runs the beginning again and traces it; returns how many seconds of it.
fn trace(report: &Report, folder: &Path, name: &str) -> Result<f64, String> {
    let results = &report.results;
    let link = results.bottleneck();
    let whole = report.lab.scenario(&[])?.duration.map_or(60.0, |duration| duration.seconds());
    let seconds = whole.min(8.0 * MOST_BYTES / link.rate);
    let hosted = results.flows.iter().filter(|flow| flow.summary.hosted.is_some());
    let hosted: Vec<u32> = hosted.map(|flow| flow.number).collect();
    let scenario = report.lab.scenario(&[
        ("trace", json!({ "links": [link.name], "flows": hosted })),
        ("duration", json!(format!("{seconds}s"))),
        ("warmup", json!("0s")),
    ])?;
    packets(scenario, &report.lab.own, report.seed, folder, name).map(|()| seconds)
}

/// Runs a scenario that is traced, and keeps its packets and logs under `name`.
fn packets(
    scenario: Scenario,
    own: &Own,
    seed: u64,
    folder: &Path,
    name: &str,
) -> Result<(), String> {
    let checked = Checked::with_own(scenario, own).map_err(|error| error.to_string())?;
    let place = folder.join(format!("{name}.tmp.{}", std::process::id()));
    fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let ran = run(&checked, seed, Some(&place), |_| ControlFlow::Continue(()));
    let kept = ran
        .map_err(|error| error.to_string())
        .and_then(|_| keep(&place, folder, name).map_err(|error| error.to_string()));
    // What is not kept may be lost.
    let _ = fs::remove_dir_all(&place);
    kept
}

/// Writes the scenario, the packets and the log of a check that is not as asked; returns what to
/// say of them, also if that cannot be done.
pub(crate) fn write_check(row: &Row, own: &Own) -> String {
    let folder = folder();
    let name = format!("{}-{}", test_name(), row.check.id);
    match files_of_check(row, own, &folder, &name) {
        Ok(()) => format!("what happened: {}", folder.join(name).with_extension("*").display()),
        Err(error) => {
            format!("what happened could not be written to {}: {error}", folder.display())
        }
    }
}

fn files_of_check(row: &Row, own: &Own, folder: &Path, name: &str) -> Result<(), String> {
    let scenario = row.scenarios.last().ok_or("nothing was run")?;
    let read = |text: &str| Scenario::from_json(text).map_err(|error| error.to_string());
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let file = folder.join(format!("{name}.toml"));
    fs::write(file, read(scenario)?.to_toml()).map_err(|error| error.to_string())?;
    let mut traced: Value = serde_json::from_str(scenario).map_err(|error| error.to_string())?;
    traced["trace"] = json!({ "links": ["bottleneck"], "flows": [0] });
    packets(read(&traced.to_string())?, own, SEED, folder, name).or_else(|_| {
        // Some stacks have no log.
        traced["trace"] = json!({ "links": ["bottleneck"] });
        packets(read(&traced.to_string())?, own, SEED, folder, name)
    })
}

/// Gives the files of a trace their names: packets as they came to the queue, and each log that is
/// not empty.
fn keep(place: &Path, folder: &Path, name: &str) -> std::io::Result<()> {
    fs::rename(place.join("packets.pcapng"), folder.join(format!("{name}.pcapng")))?;
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        if file.ends_with(".sqlog") && entry.metadata()?.len() > 0 {
            let kept = if file == "flow0.sqlog" { "sqlog".to_owned() } else { file };
            fs::rename(entry.path(), folder.join(format!("{name}.{kept}")))?;
        }
    }
    Ok(())
}

/// The test's name, which is its thread's, as a file may be called.
fn test_name() -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("lab").replace("::", "-");
    name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-', "_")
}

/// `narrows` in the folder that cargo builds in.
fn folder() -> PathBuf {
    let binary = std::env::current_exe().unwrap_or_default();
    let built = binary.ancestors().find(|folder| folder.ends_with("deps"));
    let target = built.and_then(|deps| deps.ancestors().nth(2));
    target.unwrap_or(Path::new("target")).join("narrows")
}
