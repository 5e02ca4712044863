//! Real connections over a real path: Linux only.

use crate::error::Failed;
use crate::run::Run;
use crate::scenario::Scenario;
use pyo3::prelude::*;

/// What a machine can do for a lab: name, whether it is there, whether it is needed, what to do.
type CheckLine = (&'static str, bool, bool, String);
/// Lateness: p50, p99 and p99.9 in seconds, stalls, their share of the time, strange packets.
type LatenessLine = (f64, f64, f64, u64, f64, u64);

/// Return what this machine can do for a lab.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> Vec<CheckLine> {
    py.detach(on_linux::doctor)
}

/// Run a scenario in real time over this machine's TCP; return the run, how late the emulator was,
/// and why the run is not to be believed, if it is not.
#[pyfunction]
#[pyo3(signature = (scenario, seed, progress=None))]
pub(crate) fn lab(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Run, LatenessLine, Option<String>)> {
    Ok(py.detach(|| on_linux::lab(scenario, seed, progress.as_ref()))?)
}

#[cfg(target_os = "linux")]
mod on_linux {
    use super::{CheckLine, Failed, LatenessLine, Run, Scenario};
    use crate::run::{Clock, look};
    use narrows_emulator::{LabError, Lateness, Measured};
    use narrows_scenario::Checked;
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;
    use std::ops::ControlFlow;

    pub fn doctor() -> Vec<CheckLine> {
        let line = |check: narrows_emulator::Check| {
            (check.name, check.is_there, check.is_needed, check.told)
        };
        narrows_emulator::doctor().into_iter().map(line).collect()
    }

    pub fn lab(
        scenario: &Scenario,
        seed: u64,
        progress: Option<&Py<PyAny>>,
    ) -> Result<(Run, LatenessLine, Option<String>), Failed> {
        let checked = Checked::new(scenario.0.clone())?;
        let start = Clock::now();
        let mut raised = None;
        let watch = |share: f64| match Python::attach(|py| look(py, share, progress)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        };
        let measured = narrows_emulator::lab(&scenario.0, &checked, seed, watch);
        if let Some(error) = raised {
            return Err(Failed::Python(error));
        }
        let measured = measured.map_err(|error| match error {
            LabError::Scenario(error) => Failed::Scenario(error),
            other => Failed::Python(PyRuntimeError::new_err(other.to_string())),
        })?;
        let Measured { results, lateness, doubt } = measured;
        let Lateness { p50, p99, p999, stalls, stalled, strange } = lateness;
        let run = Run::new(results, start.elapsed().as_secs_f64());
        Ok((run, (p50, p99, p999, stalls, stalled, strange), doubt))
    }
}

#[cfg(not(target_os = "linux"))]
mod on_linux {
    use super::{CheckLine, Failed, LatenessLine, Run, Scenario};
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    pub fn doctor() -> Vec<CheckLine> {
        vec![("kernel", false, true, "a lab needs Linux; the simulator does not".to_owned())]
    }

    pub fn lab(
        _: &Scenario,
        _: u64,
        _: Option<&Py<PyAny>>,
    ) -> Result<(Run, LatenessLine, Option<String>), Failed> {
        Err(Failed::Python(PyRuntimeError::new_err("a lab needs Linux; narrows run simulates")))
    }
}
