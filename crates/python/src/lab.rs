//! Real connections over a real path, and laws in the kernel: Linux only.

use crate::run::Run;
use crate::scenario::{Checked, Scenario};
use pyo3::prelude::*;
use std::path::PathBuf;

/// What a machine can do for a lab: name, whether it is there, whether it is needed, what to do.
type CheckLine = (&'static str, bool, bool, String);
/// Lateness: p50, p99 and p99.9 in seconds, stalls, their share of the time, strange packets.
type LatenessLine = (f64, f64, f64, u64, f64, u64);
/// A direction: packets in the queue, arrivals, drops, marks, bytes, p50, p99 and p99.9 of lateness
/// in seconds, stalls.
type WayLine = (u64, u64, u64, u64, u64, [f64; 3], u64);
/// A connection: both ends, the law, window, threshold, RTT, packets in flight, pacing rate,
/// packets sent again, packets sent, bytes acknowledged, bytes in a segment.
type ConnectionLine = (String, String, String, f64, f64, f64, u32, f64, u32, u32, u64, u32);
/// A machine's timing in seconds: quantiles of timers and of wake-ups, stalls and their length, and
/// for how long it was measured.
type TimingLine = ([f64; 3], [f64; 3], u64, f64, f64);

/// Return what this machine can do for a lab.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> Vec<CheckLine> {
    py.detach(on_linux::doctor)
}

/// Measure this machine's timing for so many seconds.
#[pyfunction]
#[pyo3(signature = (seconds, progress=None))]
pub(crate) fn measure_host(
    py: Python<'_>,
    seconds: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<TimingLine> {
    Ok(py.detach(|| on_linux::measure_host(seconds, progress.as_ref()))?)
}

/// Run a scenario in real time over this machine's TCP; return the run, how late the emulator was,
/// and why the run is not to be believed, if it is not.
#[pyfunction]
#[pyo3(signature = (scenario, checked, seed, progress=None))]
pub(crate) fn lab(
    py: Python<'_>,
    scenario: &Scenario,
    checked: &Checked,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Run, LatenessLine, Option<String>)> {
    Ok(py.detach(|| on_linux::lab(scenario, &checked.0, seed, progress.as_ref()))?)
}

/// Let a scenario's path stand until `watch` raises: between two new network namespaces, or if
/// `behind`, between this one and a new one. It is called with the files that are the two
/// namespaces, with the addresses of the ends, and with how both directions are.
#[pyfunction]
pub(crate) fn stand(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    single: bool,
    behind: bool,
    watch: Py<PyAny>,
) -> PyResult<()> {
    Ok(py.detach(|| on_linux::stand(scenario, seed, single, behind, &watch))?)
}

/// This process, which must have one thread, becomes root of a user namespace with an empty
/// network.
#[pyfunction]
pub(crate) fn become_root() -> PyResult<()> {
    Ok(on_linux::become_root()?)
}

/// The calling thread enters the network namespace that is the file at `path`.
#[pyfunction]
pub(crate) fn enter(path: PathBuf) -> PyResult<()> {
    Ok(on_linux::enter(&path)?)
}

/// Return every open TCP connection of this network namespace.
#[pyfunction]
pub(crate) fn connections(py: Python<'_>) -> PyResult<Vec<ConnectionLine>> {
    Ok(py.detach(on_linux::connections)?)
}

/// Return the laws of narrows that are in the kernel to stay: name and settings of each.
#[pyfunction]
pub(crate) fn kernel_installed() -> Vec<(String, Vec<String>)> {
    on_linux::kernel_installed()
}

/// Return the laws of narrows that there are for the kernel: name and name in the kernel of each.
#[pyfunction]
pub(crate) fn kernel_laws() -> Vec<(String, String)> {
    on_linux::kernel_laws()
}

/// Check a law with settings, like `etcp:p0=0.005`.
#[pyfunction]
pub(crate) fn kernel_check(law: &str) -> PyResult<()> {
    Ok(on_linux::kernel_check(law)?)
}

/// Load a law with settings, like `etcp:p0=0.005`, into the kernel to stay; return its name there.
#[pyfunction]
pub(crate) fn kernel_install(py: Python<'_>, law: String) -> PyResult<String> {
    Ok(py.detach(|| on_linux::kernel_install(&law))?)
}

/// Take away the law of that name in the kernel.
#[pyfunction]
pub(crate) fn kernel_uninstall(py: Python<'_>, name: String) -> PyResult<()> {
    Ok(py.detach(|| on_linux::kernel_uninstall(&name))?)
}

#[cfg(target_os = "linux")]
mod on_linux {
    use super::{CheckLine, ConnectionLine, LatenessLine, Run, Scenario, TimingLine, WayLine};
    use crate::error::Failed;
    use crate::failure;
    use crate::run::{Clock, look};
    use narrows_emulator::{
        Between, HostTiming, Join, Known, LabError, Lateness, Measured, Standing, Way, kernel,
    };
    use narrows_scenario::Checked;
    use narrows_units::Duration;
    use pyo3::exceptions::{PyOSError, PyRuntimeError};
    use pyo3::prelude::*;
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::Arc;

    pub fn doctor() -> Vec<CheckLine> {
        let line = |check: narrows_emulator::Check| {
            (check.name, check.is_there, check.is_needed, check.told)
        };
        narrows_emulator::doctor().into_iter().map(line).collect()
    }

    fn failed(error: LabError) -> Failed {
        match error {
            LabError::Scenario(error) => Failed::Scenario(error),
            other => Failed::Python(PyRuntimeError::new_err(other.to_string())),
        }
    }

    /// What calls a Python function, and keeps what that raised.
    fn watched<T>(
        raised: &mut Option<PyErr>,
        call: impl Fn(Python<'_>, &T) -> PyResult<()>,
    ) -> impl FnMut(&T) -> ControlFlow<()> {
        move |now| match Python::attach(|py| call(py, now)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    pub fn measure_host(seconds: f64, progress: Option<&Py<PyAny>>) -> Result<TimingLine, Failed> {
        let mut raised = None;
        let mut watch = watched(&mut raised, |py, share: &f64| look(py, *share, progress));
        let measured =
            narrows_emulator::measure_host(Duration::from_secs(seconds), |share| watch(&share));
        drop(watch);
        if let Some(error) = raised {
            return Err(Failed::Python(error));
        }
        let HostTiming { timer, wake_up, stalls, measured } =
            measured.map_err(|error| Failed::Python(error.into()))?;
        let seconds = |nanos: [u64; 3]| nanos.map(|nanos| nanos as f64 * 1e-9);
        let (stalls, stalled) = stalls;
        Ok((seconds(timer), seconds(wake_up), stalls, stalled.seconds(), measured.seconds()))
    }

    pub fn lab(
        scenario: &Scenario,
        checked: &Checked,
        seed: u64,
        progress: Option<&Py<PyAny>>,
    ) -> Result<(Run, LatenessLine, Option<String>), Failed> {
        failure::forget();
        let join: Join = Arc::new(failure::joining());
        let start = Clock::now();
        let mut raised = None;
        let mut watch = watched(&mut raised, |py, share: &f64| look(py, *share, progress));
        let measured = narrows_emulator::lab(&scenario.0, checked, seed, &join, |share| {
            // A law that steers may have failed.
            if failure::is_there() { ControlFlow::Break(()) } else { watch(&share) }
        });
        drop(watch);
        if let Some(error) = raised.or_else(failure::take) {
            return Err(Failed::Python(error));
        }
        let Measured { results, lateness, doubt, .. } = measured.map_err(failed)?;
        let Lateness { p50, p99, p999, stalls, stalled, strange } = lateness;
        let run = Run::new(results, start.elapsed().as_secs_f64());
        Ok((run, (p50, p99, p999, stalls, stalled, strange), doubt))
    }

    pub fn stand(
        scenario: &Scenario,
        seed: u64,
        single: bool,
        behind: bool,
        watch: &Py<PyAny>,
    ) -> Result<(), Failed> {
        let checked = Checked::new(scenario.0.clone())?;
        let way = |way: Way| -> WayLine {
            let late = way.late.map(|nanos| nanos as f64 * 1e-9);
            (way.queue, way.arrivals, way.drops, way.marks, way.bytes, late, way.stalls)
        };
        let mut raised = None;
        let call = |py: Python<'_>, now: &Standing| {
            py.check_signals()?;
            let [left, right] = &now.namespaces;
            let addresses = now.addresses.map(|address| address.to_string());
            watch.call1(py, (left, right, addresses, now.ways.map(way))).map(|_| ())
        };
        let mut watch = watched(&mut raised, call);
        let between = if behind { Between::HereAndBehind } else { Between::Namespaces };
        let stood = narrows_emulator::stand(&checked, seed, single, between, |now| watch(now));
        drop(watch);
        match raised {
            Some(error) => Err(Failed::Python(error)),
            None => stood.map_err(failed),
        }
    }

    pub fn become_root() -> Result<(), Failed> {
        let refused = |error: std::io::Error| {
            let message = format!("no user namespace: {error}; it needs root then");
            Failed::Python(PyOSError::new_err(message))
        };
        narrows_emulator::become_root().map_err(refused)
    }

    pub fn enter(path: &Path) -> Result<(), Failed> {
        let refused = |error: std::io::Error| {
            let message = format!("{}: {error}; it needs root", path.display());
            Failed::Python(PyOSError::new_err(message))
        };
        narrows_emulator::enter(path).map_err(refused)
    }

    pub fn connections() -> Result<Vec<ConnectionLine>, Failed> {
        let line = |it: Known| {
            (
                it.local.to_string(),
                it.remote.to_string(),
                it.control,
                it.window,
                it.ssthresh,
                it.rtt,
                it.in_flight,
                it.pacing_rate,
                it.retransmitted,
                it.sent,
                it.acked,
                it.mss,
            )
        };
        let found = narrows_emulator::connections().map_err(|error| {
            let message = format!("this kernel does not tell of its connections: {error}");
            Failed::Python(PyRuntimeError::new_err(message))
        })?;
        Ok(found.into_iter().map(line).collect())
    }

    pub fn kernel_installed() -> Vec<(String, Vec<String>)> {
        kernel::installed()
    }

    pub fn kernel_laws() -> Vec<(String, String)> {
        kernel::laws()
    }

    pub fn kernel_check(law: &str) -> Result<(), Failed> {
        kernel::check(law).map_err(refused)
    }

    pub fn kernel_install(law: &str) -> Result<String, Failed> {
        kernel::install(law).map_err(refused)
    }

    pub fn kernel_uninstall(name: &str) -> Result<(), Failed> {
        kernel::uninstall(name).map_err(refused)
    }

    fn refused(error: kernel::Refused) -> Failed {
        match error {
            kernel::Refused::KernelLaw(why) => Failed::Python(crate::error::Error::new_err(why)),
            kernel::Refused::Machine(why) => Failed::Python(PyRuntimeError::new_err(why)),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod on_linux {
    use super::{CheckLine, ConnectionLine, LatenessLine, Run, Scenario, TimingLine};
    use crate::error::Failed;
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;
    use std::path::Path;

    fn needs_linux<T>() -> Result<T, Failed> {
        let message = "a lab and laws in the kernel need Linux; narrows run simulates";
        Err(Failed::Python(PyRuntimeError::new_err(message)))
    }

    pub fn doctor() -> Vec<CheckLine> {
        vec![("kernel", false, true, "a lab needs Linux; the simulator does not".to_owned())]
    }

    pub fn measure_host(_: f64, _: Option<&Py<PyAny>>) -> Result<TimingLine, Failed> {
        needs_linux()
    }

    pub fn lab(
        _: &Scenario,
        _: &narrows_scenario::Checked,
        _: u64,
        _: Option<&Py<PyAny>>,
    ) -> Result<(Run, LatenessLine, Option<String>), Failed> {
        needs_linux()
    }

    pub fn stand(_: &Scenario, _: u64, _: bool, _: bool, _: &Py<PyAny>) -> Result<(), Failed> {
        needs_linux()
    }

    pub fn become_root() -> Result<(), Failed> {
        needs_linux()
    }

    pub fn enter(_: &Path) -> Result<(), Failed> {
        needs_linux()
    }

    pub fn connections() -> Result<Vec<ConnectionLine>, Failed> {
        needs_linux()
    }

    pub fn kernel_installed() -> Vec<(String, Vec<String>)> {
        Vec::new()
    }

    pub fn kernel_laws() -> Vec<(String, String)> {
        Vec::new()
    }

    pub fn kernel_check(_: &str) -> Result<(), Failed> {
        needs_linux()
    }

    pub fn kernel_install(_: &str) -> Result<String, Failed> {
        needs_linux()
    }

    pub fn kernel_uninstall(_: &str) -> Result<(), Failed> {
        needs_linux()
    }
}
