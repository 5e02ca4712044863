//! A checked scenario -> a run -> its results.

use crate::results::{self, Results};
use crate::{Checked, build};
use narrows_sim::{Settings, Simulation};
use std::ops::ControlFlow;

/// The run was stopped by whoever watched it.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the run was stopped at {seconds:.3} s of simulated time")]
pub struct Stopped {
    /// Simulated seconds reached.
    pub seconds: f64,
}

/// Runs `checked` under `seed`. `watch` is shown the share done, between 0 and 1, now and then, and may stop the run.
pub fn run(checked: &Checked, seed: u64, mut watch: impl FnMut(f64) -> ControlFlow<()>) -> Result<Results, Stopped> {
    let duration = checked.scenario.duration;
    let settings = Settings { seed, duration, warmup: checked.warmup, eager: true };
    let mut simulation = Simulation::new(build::network(checked, seed), settings).expect("paths have been checked");
    let flow = simulation.run(|now| watch(now.seconds() / duration.seconds()));
    match flow {
        ControlFlow::Continue(()) => Ok(results::gather(checked, &simulation, seed)),
        ControlFlow::Break(()) => Err(Stopped { seconds: simulation.now().seconds() }),
    }
}
