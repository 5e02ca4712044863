//! Episodes that Python steps, and what agents see of them; trained policies as laws.

use crate::error::{BoundsError, Failed};
use crate::failure;
use crate::scenario::{Checked, Own, Scenario, own_of};
use narrows_learn::presets::{self, Description, Preset};
use narrows_learn::{
    Activation, Below, COLUMNS, Complain, Formula, Interval, Laid, Layer, Net, Places, StepError,
    Wanted, Wasm, Written, after, check_wanted, is_learner,
};
use narrows_scenario::Place;
use narrows_units::Time;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The columns of the truth about a learner's place.
const TRUTH: [&str; 7] =
    ["capacity", "fair_share", "base_rtt", "buffer", "queue", "wire_loss", "flows"];

/// Numbers of one action.
const WANTED: usize = 3;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in an episode ends that one, and leaves the others as they were.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `buffer` holds. Fails unless it is `length` numbers without gaps.
fn taken<T: Element + Default + Clone>(
    py: Python<'_>,
    name: &str,
    buffer: &PyBuffer<T>,
    length: usize,
) -> Result<Vec<T>, Failed> {
    let mut all = vec![T::default(); length];
    fits(name, buffer, length)?;
    buffer.copy_to_slice(py, &mut all).map_err(Failed::Python)?;
    Ok(all)
}

/// Writes `all` into `buffer`. Fails unless it has room for just that.
fn give<T: Element + Copy>(
    py: Python<'_>,
    name: &str,
    buffer: &PyBuffer<T>,
    all: &[T],
) -> Result<(), Failed> {
    fits(name, buffer, all.len())?;
    buffer.copy_from_slice(py, all).map_err(Failed::Python)
}

fn fits<T: Element>(name: &str, buffer: &PyBuffer<T>, length: usize) -> Result<(), Failed> {
    let found = buffer.item_count();
    if found == length && buffer.is_c_contiguous() {
        return Ok(());
    }
    Err(Failed::Input(format!("{name}: {found} numbers, or with gaps; give {length} without")))
}

/// An action of its three numbers.
fn wanted_of(numbers: &[f64]) -> Wanted {
    Wanted { window: numbers[0], rate: numbers[1], seconds: numbers[2] }
}

fn wrong(error: StepError) -> Failed {
    Failed::Input(error.to_string())
}

/// Episodes side by side, each stepped to its next decision.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct Intervals {
    places: Mutex<Places>,
    laid: Mutex<Vec<Option<Laid>>>,
    learners: usize,
    below: Option<Below>,
}

#[pymethods]
impl Intervals {
    /// Room for as many episodes with so many learners each, which steer the law `below` if there
    /// is one.
    #[new]
    #[pyo3(signature = (places, learners=1, threads=1, below=None))]
    fn new(places: usize, learners: usize, threads: usize, below: Option<&str>) -> PyResult<Self> {
        let below = below.map(Below::new).transpose();
        let below = below.map_err(|error| Failed::Input(format!("below: {error}")))?;
        let laid = Mutex::new((0..places).map(|_| None).collect());
        let places = Mutex::new(Places::new(places, learners, threads));
        Ok(Self { places, laid, learners, below })
    }

    /// The names of the columns of a row.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    /// The names of the columns of the truth.
    #[staticmethod]
    fn truths() -> Vec<&'static str> {
        TRUTH.to_vec()
    }

    /// Checks an episode for a place; returns for each learner the packets per second that its
    /// bottleneck sends and its RTT in seconds without queues, and how long the run may last.
    #[pyo3(signature = (place, scenario, seed, own=None))]
    fn lay(
        &self,
        py: Python<'_>,
        place: usize,
        scenario: &Scenario,
        seed: u64,
        own: Option<Own>,
    ) -> PyResult<(Vec<(f64, f64)>, f64)> {
        let room = lock(&self.places).room();
        if place >= room {
            return Err(Failed::Input(format!("place {place}: there are {room}, from 0")).into());
        }
        failure::forget();
        let (own, scenario) = (own_of(own), scenario.0.clone());
        let laid = py.detach(|| {
            let laid = Laid::new(scenario, seed, own, self.below)?;
            // A stack of Python's makes its ends on a thread of its own.
            let places = laid.places()?;
            Ok((laid, places))
        });
        if let Some(error) = failure::take() {
            return Err(error);
        }
        let (laid, places) = laid.map_err(Failed::Scenario)?;
        let found = laid.learners();
        if found != self.learners {
            let message = format!("{found} flows learn, and there are {} agents", self.learners);
            return Err(Failed::Input(message).into());
        }
        let path = |it: Option<Place>| {
            it.map_or((f64::NAN, f64::NAN), |it| (it.capacity, it.base_rtt.seconds()))
        };
        let paths = places.into_iter().map(path).collect();
        let duration = laid.duration().seconds();
        lock(&self.laid)[place] = Some(laid);
        Ok((paths, duration))
    }

    /// Begins the episode that was laid for a place with `wanted` (learners, 3).
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands buffers")]
    fn begin(&self, py: Python<'_>, place: usize, wanted: PyBuffer<f64>) -> PyResult<()> {
        let all = taken(py, "wanted", &wanted, self.learners * WANTED)?;
        let all: Vec<Wanted> = all.chunks(WANTED).map(wanted_of).collect();
        check_wanted(place, &all, self.below.is_some()).map_err(wrong)?;
        let laid = lock(&self.laid).get_mut(place).and_then(Option::take);
        let laid = laid.ok_or_else(|| Failed::Input(format!("place {place}: lay it first")))?;
        failure::forget();
        let begun = py.detach(|| {
            let episode = laid.begin(all.iter().map(|it| it.from(Time::ZERO)).collect())?;
            lock(&self.places).put(place, episode);
            Ok(())
        });
        failure::take().map_or_else(|| Ok(begun.map_err(Failed::Scenario)?), Err)
    }

    /// Decides in `places` with `wanted` (places, learners, 3) of window, rate and seconds, goes on
    /// to the next decision, and fills `rows` (places, learners, columns). Without `wanted` it goes
    /// on to the first.
    #[pyo3(signature = (places, wanted, rows))]
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands lists and buffers")]
    fn step(
        &self,
        py: Python<'_>,
        places: Vec<usize>,
        wanted: Option<PyBuffer<f64>>,
        rows: PyBuffer<f64>,
    ) -> PyResult<()> {
        let learners = places.len() * self.learners;
        fits("rows", &rows, learners * COLUMNS.len())?;
        let wanted = wanted.map(|wanted| taken(py, "wanted", &wanted, learners * WANTED));
        let wanted =
            wanted.transpose()?.map(|all| all.chunks(WANTED).map(wanted_of).collect::<Vec<_>>());
        failure::forget();
        let join = failure::joining();
        let stepped = py.detach(|| {
            let mut there = lock(&self.places);
            let has_law = self.below.is_some();
            there.step(&places, wanted.as_deref(), has_law, &join).map_err(wrong)?;
            let mut all = Vec::with_capacity(learners * COLUMNS.len());
            for place in &places {
                let episode = there.get(*place).expect("it has been stepped");
                (0..self.learners).for_each(|learner| all.extend(episode.row(learner)));
            }
            Ok::<_, Failed>(all)
        });
        if let Some(error) = failure::take() {
            // A law is gone: what would go on is another run.
            py.detach(|| {
                let mut there = lock(&self.places);
                places.iter().for_each(|place| there.clear(*place));
            });
            return Err(error);
        }
        give(py, "rows", &rows, &stepped?)?;
        py.check_signals()
    }

    /// Fills `rows` (places, learners, columns of the truth) with what learners cannot know.
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands lists and buffers")]
    fn truth(&self, py: Python<'_>, places: Vec<usize>, rows: PyBuffer<f64>) -> PyResult<()> {
        let all = py.detach(|| {
            let mut there = lock(&self.places);
            let mut all = Vec::with_capacity(places.len() * self.learners * TRUTH.len());
            for place in &places {
                for learner in 0..self.learners {
                    all.extend(there.truth(*place, learner).map_or([f64::NAN; TRUTH.len()], truth));
                }
            }
            all
        });
        Ok(give(py, "rows", &rows, &all)?)
    }

    /// Whether each learner of a place has begun and has data to send.
    fn running(&self, py: Python<'_>, place: usize) -> PyResult<Vec<bool>> {
        let running = py.detach(|| {
            let there = lock(&self.places);
            let episode = there.get(place)?;
            Some((0..self.learners).map(|learner| episode.is_running(learner)).collect())
        });
        Ok(running.ok_or_else(|| wrong(StepError::Nobody(place)))?)
    }

    /// The same run from the start up to now, measured after so many seconds, to be run as any
    /// other, and its seed.
    #[pyo3(signature = (place, warmup=0.0))]
    fn again(&self, place: usize, warmup: f64) -> PyResult<(Checked, u64)> {
        let warmup = after(Time::ZERO, warmup.max(0.0)).since(Time::ZERO);
        let there = lock(&self.places);
        let episode = there.get(place).ok_or_else(|| wrong(StepError::Nobody(place)))?;
        let (checked, seed) = episode.again(warmup).map_err(Failed::Scenario)?;
        Ok((Checked(checked), seed))
    }

    /// Data packets that have reached their receivers in all episodes.
    fn delivered(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.places).delivered())
    }
}

/// The truth in the order of its columns.
fn truth(place: Place) -> [f64; TRUTH.len()] {
    let Place { capacity, flows, base_rtt, buffer, queue, wire_loss } = place;
    let share = capacity / flows.max(1) as f64;
    [capacity, share, base_rtt.seconds(), buffer, queue as f64, wire_loss, flows as f64]
}

/// Returns whether a flow's `cc` is the learner, over whatever transport.
#[pyfunction]
pub(crate) fn learns(cc: &str) -> bool {
    is_learner(cc)
}

/// Returns each preset: name, features with their bounds, intervals seen, largest action, law
/// below, decisions of an episode.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "it is a line of a table")]
pub(crate) fn learning_presets()
-> Vec<(&'static str, Vec<(&'static str, f32, f32)>, usize, f32, Option<&'static str>, usize)> {
    let line =
        |it: &Description| (it.name, it.features.to_vec(), it.history, it.most, it.law, it.steps);
    presets::PRESETS.iter().map(line).collect()
}

fn named(preset: &str) -> Result<&'static Description, Failed> {
    presets::preset(preset).ok_or_else(|| {
        let known: Vec<_> = presets::PRESETS.iter().map(|preset| preset.name).collect();
        Failed::Input(format!("no preset \"{preset}\"; known: {}", known.join(", ")))
    })
}

/// What as many agents of one preset see and do.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct Agents {
    agents: Mutex<Vec<Box<dyn Preset>>>,
    observed: usize,
}

#[pymethods]
impl Agents {
    #[new]
    fn new(preset: &str, count: usize) -> PyResult<Self> {
        let preset = named(preset)?;
        let agents = (0..count).map(|_| preset.agent()).collect();
        Ok(Self { agents: Mutex::new(agents), observed: preset.observed() })
    }

    /// Begins anew at this rate in packets per second over a path of this RTT in seconds; returns
    /// window, rate and seconds to begin with, and for how many intervals.
    fn begin(&self, agent: usize, rate: f64, base_rtt: f64) -> (f64, f64, f64, usize) {
        let mut agents = lock(&self.agents);
        let agent = &mut agents[agent];
        let Wanted { window, rate, seconds } = agent.begin(rate, base_rtt);
        (window, rate, seconds, agent.warm_ups())
    }

    /// Fills `wanted` (agents, 3) with what is done if `agents` say `actions`.
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands lists and buffers")]
    fn act(
        &self,
        py: Python<'_>,
        agents: Vec<usize>,
        actions: PyBuffer<f32>,
        wanted: PyBuffer<f64>,
    ) -> PyResult<()> {
        let actions = taken(py, "actions", &actions, agents.len())?;
        if let Some(place) = actions.iter().position(|action| action.is_nan()) {
            let message = format!("agent {}: the action is not a number", agents[place]);
            return Err(Failed::Input(message).into());
        }
        let mut there = lock(&self.agents);
        let mut all = Vec::with_capacity(agents.len() * WANTED);
        for (agent, action) in agents.iter().zip(actions) {
            let Wanted { window, rate, seconds } = there[*agent].act(action);
            all.extend([window, rate, seconds]);
        }
        Ok(give(py, "wanted", &wanted, &all)?)
    }

    /// Takes `rows` (agents, columns) in, of which nothing is seen.
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands lists and buffers")]
    fn warmed_up(&self, py: Python<'_>, agents: Vec<usize>, rows: PyBuffer<f64>) -> PyResult<()> {
        Ok(self.each(py, &agents, &rows, |agent, interval| agent.warmed_up(interval))?)
    }

    /// Takes `rows` (agents, columns) in.
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands lists and buffers")]
    fn observe(&self, py: Python<'_>, agents: Vec<usize>, rows: PyBuffer<f64>) -> PyResult<()> {
        Ok(self.each(py, &agents, &rows, |agent, interval| agent.observe(interval))?)
    }

    /// Fills `seen` (agents, features of all intervals) with what they see.
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands lists and buffers")]
    fn seen(&self, py: Python<'_>, agents: Vec<usize>, seen: PyBuffer<f32>) -> PyResult<()> {
        let there = lock(&self.agents);
        let mut all = Vec::with_capacity(agents.len() * self.observed);
        agents.iter().for_each(|agent| all.extend_from_slice(there[*agent].seen()));
        Ok(give(py, "seen", &seen, &all)?)
    }
}

impl Agents {
    /// Shows each of `agents` its interval of `rows`.
    fn each(
        &self,
        py: Python<'_>,
        agents: &[usize],
        rows: &PyBuffer<f64>,
        shows: impl Fn(&mut dyn Preset, &Interval),
    ) -> Result<(), Failed> {
        let rows = taken(py, "rows", rows, agents.len() * COLUMNS.len())?;
        let mut there = lock(&self.agents);
        for (agent, row) in agents.iter().zip(rows.chunks(COLUMNS.len())) {
            let row: &[f64; COLUMNS.len()] = row.try_into().expect("as many columns");
            shows(&mut *there[*agent], &row.into());
        }
        Ok(())
    }
}

/// A dense net that says what an agent of a preset says.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct PolicyNet {
    pub net: Net,
    pub preset: &'static Description,
}

#[pymethods]
impl PolicyNet {
    /// Layers are weights by output, then by input, and biases.
    #[new]
    #[pyo3(signature = (preset, activation, layers, normaliser=None))]
    fn new(
        preset: &str,
        activation: &str,
        layers: Vec<(Vec<f32>, Vec<f32>)>,
        normaliser: Option<[Vec<f32>; 2]>,
    ) -> PyResult<Self> {
        let preset = named(preset)?;
        let known = Activation::ALL.iter().find(|(name, _)| *name == activation);
        let unknown = || {
            let names: Vec<_> = Activation::ALL.iter().map(|(name, _)| *name).collect();
            Failed::Input(format!("no activation \"{activation}\"; known: {}", names.join(", ")))
        };
        let (_, activation) = known.ok_or_else(unknown)?;
        let layer = |(weights, biases)| Layer { weights, biases };
        let layers = layers.into_iter().map(layer).collect();
        let net = Net::new(preset.observed(), layers, *activation, normaliser);
        let net = net.map_err(Failed::Input)?;
        if net.outputs() != 1 {
            let message = format!("{} outputs; an agent of {} has one", net.outputs(), preset.name);
            return Err(Failed::Input(message).into());
        }
        Ok(Self { net, preset })
    }

    /// What it says for each row of `seen`.
    #[expect(clippy::needless_pass_by_value, reason = "as Python hands buffers")]
    fn says(&self, py: Python<'_>, seen: PyBuffer<f32>, said: PyBuffer<f32>) -> PyResult<()> {
        let width = self.preset.observed();
        let seen = taken(py, "seen", &seen, said.item_count() * width)?;
        let all: Vec<f32> = seen.chunks(width).map(|row| self.net.evaluate(row)[0]).collect();
        Ok(give(py, "said", &said, &all)?)
    }
}

/// A law that is written as expressions.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct FormulaCode(pub Formula);

#[pymethods]
impl FormulaCode {
    /// Variables with what they begin with, and the lines of each list.
    #[new]
    fn new(
        state: Vec<(String, String)>,
        on_ack: Vec<String>,
        on_loss: Vec<String>,
        on_interval: Vec<String>,
        own_recovery: bool,
    ) -> PyResult<Self> {
        let written = Written { state, on_ack, on_loss, on_interval, own_recovery };
        Ok(Self(Formula::new(&written).map_err(Failed::Input)?))
    }
}

/// A law that is a WebAssembly module.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct WasmCode(pub Wasm);

#[pymethods]
impl WasmCode {
    /// Of the module's bytes.
    #[new]
    fn new(py: Python<'_>, module: &[u8]) -> PyResult<Self> {
        let wasm = py.detach(|| Wasm::new(module));
        Ok(Self(wasm.map_err(Failed::Input)?))
    }
}

/// Tells Python what a law did that it may not do, and ends the run.
pub(crate) fn complain() -> Complain {
    Arc::new(|message| failure::keep(BoundsError::new_err(message)))
}
