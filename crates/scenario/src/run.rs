//! A checked scenario -> a run -> its results.

use crate::error::RunError;
use crate::results::{self, Results};
use crate::traces::Traces;
use crate::{Checked, build};
use narrows_sim::{RunSettings, Simulation};
use std::ops::ControlFlow;
use std::path::Path;

/// Runs `checked` under `seed`. `watch` is shown the share done, between 0 and 1, now and then, and
/// may stop the run. Where the scenario asks for traces and `traces_to` is a folder, they are
/// written there, each whole or not at all.
pub fn run(
    checked: &Checked,
    seed: u64,
    traces_to: Option<&Path>,
    mut watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Results, RunError> {
    let duration = checked.duration;
    let mut traces = Traces::begin(checked, traces_to)?;
    let settings =
        RunSettings { seed, duration, warmup: checked.warmup, eager: !traces.watch_packets() };
    let network = build::network(checked, seed, &mut traces)?;
    let mut simulation = Simulation::new(network, settings)
        .expect("every flow was attached to nodes that are connected");
    traces.tap(&mut simulation);
    let flow = simulation.run(|now| watch(now.seconds() / duration.seconds()));
    if flow.is_break() {
        return Err(RunError::Stopped { seconds: simulation.now().seconds() });
    }
    let results = results::gather(checked, &simulation, seed);
    drop(simulation);
    traces.finish()?;
    Ok(results)
}
