//! Runs a checked scenario and gathers its results.

use crate::error::RunError;
use crate::results::{self, Results};
use crate::traces::Traces;
use crate::{Checked, build};
use narrows_sim::{Ahead, HostedSummary, RunSettings, Simulation, Tap};
use std::ops::ControlFlow;
use std::path::Path;

/// Runs `checked` under `seed`. `watch` is shown the share done, between 0 and 1, now and then, and
/// may stop the run. If the scenario asks for traces and `traces_to` is a folder, they are
/// written there, each whole or not at all.
///
/// A run with stacks that others wrote has a thread of its own, so that what they draw from the
/// system is the same each time if they let it be.
pub fn run(
    checked: &Checked,
    seed: u64,
    traces_to: Option<&Path>,
    watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Results, RunError> {
    if checked.stacks().next().is_some() {
        return own_thread::run(
            checked,
            seed,
            |note| run_here(checked, seed, traces_to, note),
            watch,
        );
    }
    run_here(checked, seed, traces_to, watch)
}

/// Runs `checked` on this thread.
fn run_here(
    checked: &Checked,
    seed: u64,
    traces_to: Option<&Path>,
    mut watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Results, RunError> {
    let duration = checked.duration;
    let mut traces = Traces::begin(checked, seed, traces_to)?;
    let ahead = if traces.watch_packets() { Ahead::Nothing } else { Ahead::All };
    let mut simulation = simulation(checked, seed, &mut traces, ahead)?;
    traces.tap(&mut simulation);
    let flow = simulation.run(|now| watch(now.seconds() / duration.seconds()));
    arrivals_fit(checked, &simulation)?;
    if flow.is_break() {
        return Err(RunError::Stopped { seconds: simulation.now().seconds() });
    }
    let results = results::gather(checked, &simulation, seed);
    drop(simulation);
    traces.finish()?;
    believable(results)
}

/// Fails if a transfer that arrived found no idle flow: those after it would not have come.
pub(crate) fn arrivals_fit(checked: &Checked, simulation: &Simulation) -> Result<(), RunError> {
    let Some(overrun) = simulation.overrun() else { return Ok(()) };
    let groups = checked.flows.iter().enumerate();
    let mut pools = groups.filter(|(_, group)| group.arriving.is_some());
    let (group, pool) = pools.nth(overrun.pool).expect("it has been built of one");
    let (seconds, most) = (overrun.at.seconds(), pool.count);
    Err(RunError::Overrun { group, seconds, most })
}

/// Fails if a stack that others wrote says of itself what cannot be: no number of that run is worth
/// anything.
fn believable(results: Results) -> Result<Results, RunError> {
    let mut hosted = results.flows.iter().filter_map(|flow| flow.summary.hosted.as_deref());
    let said = hosted.find_map(contradiction);
    drop(hosted);
    said.map_or(Ok(results), |said| Err(RunError::Stack(said)))
}

/// What an end of a hosted flow says of itself that cannot be.
pub(crate) fn contradiction(ends: &HostedSummary) -> Option<String> {
    [&ends.near, &ends.far].into_iter().find_map(|end| end.contradiction.clone())
}

/// Runs `checked` under `seed`, and shows each packet that crosses a link between routers to `tap`,
/// arrivals in order of time.
pub fn run_tapped(checked: &Checked, seed: u64, tap: Box<dyn Tap>) -> Result<Results, RunError> {
    if checked.stacks().next().is_some() {
        let run = |note: own_thread::Note<'_>| run_tapped_here(checked, seed, tap, note);
        return own_thread::run(checked, seed, run, |_| ControlFlow::Continue(()));
    }
    run_tapped_here(checked, seed, tap, |_| ControlFlow::Continue(()))
}

fn run_tapped_here(
    checked: &Checked,
    seed: u64,
    tap: Box<dyn Tap>,
    mut watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Results, RunError> {
    let mut simulation = simulation(checked, seed, &mut Traces::none(checked), Ahead::Nothing)?;
    simulation.set_tap((0..checked.links.len() as u32).collect(), tap);
    let flow = simulation.run(|now| watch(now.seconds() / checked.duration.seconds()));
    arrivals_fit(checked, &simulation)?;
    if flow.is_break() {
        return Err(RunError::Stopped { seconds: simulation.now().seconds() });
    }
    believable(results::gather(checked, &simulation, seed))
}

/// `checked`, ready to run under `seed`.
fn simulation(
    checked: &Checked,
    seed: u64,
    traces: &mut Traces,
    ahead: Ahead,
) -> Result<Simulation, RunError> {
    let settings = RunSettings { seed, duration: checked.duration, warmup: checked.warmup, ahead };
    Ok(Simulation::new(build::network(checked, seed, traces)?, settings)?)
}

/// A thread for each run.
mod own_thread {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    /// What a run calls with the share done, and which may stop it.
    pub type Note<'a> = &'a (dyn Fn(f64) -> ControlFlow<()> + Sync);

    /// How often the caller is asked whether to go on.
    const ASK_EVERY: Duration = Duration::from_millis(20);

    /// Calls `run` in a thread that is prepared for `checked` under `seed`, with what `run` is to
    /// call with the share done.
    pub fn run(
        checked: &Checked,
        seed: u64,
        run: impl FnOnce(Note<'_>) -> Result<Results, RunError> + Send,
        mut watch: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Results, RunError> {
        let (reached, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        let note = |share: f64| {
            reached.store(share.to_bits(), Relaxed);
            if stopped.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let note: Note<'_> = &note;
        let joining: Vec<_> = checked.stacks().map(|stack| stack.joining()).collect();
        let outcome = std::thread::scope(|scope| {
            let (done, is_done) = channel();
            let thread = scope.spawn(move || {
                joining.into_iter().for_each(|join| join());
                checked.stacks().for_each(|stack| stack.prepare(seed));
                let outcome = run(note);
                // Nobody listens if the caller panics.
                let _ = done.send(());
                outcome
            });
            while is_done.recv_timeout(ASK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if watch(f64::from_bits(reached.load(Relaxed))).is_break() {
                    stopped.store(true, Relaxed);
                }
            }
            thread.join()
        });
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
