//! Runs a scenario with the GIL released, and returns its results as Arrow tables.

use crate::error::Failed;
use crate::failure;
use crate::scenario::Checked;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use narrows_scenario::{self as scenarios, FORMAT, Results, TABLES};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[expect(
    clippy::disallowed_types,
    reason = "the bindings are not the core: they measure how long a run takes"
)]
pub(crate) type Clock = std::time::Instant;

/// Interval between checks for signals, and between calls of the progress callback.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A table of results, readable by anything that supports Arrow's PyCapsule interface.
#[pyclass(frozen)]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(
            py,
            FFI_ArrowArrayStream::new(Box::new(batches)),
            c"arrow_array_stream",
        )
    }
}

/// One finished run.
#[pyclass(frozen)]
pub(crate) struct Run {
    results: Results,
    wall: f64,
}

impl Run {
    /// A run that took `wall` seconds.
    pub fn new(results: Results, wall: f64) -> Self {
        Self { results, wall }
    }

    /// What it showed.
    pub fn results(&self) -> &Results {
        &self.results
    }
}

#[pymethods]
impl Run {
    /// Wall-clock time of the run in seconds.
    #[getter]
    fn wall(&self) -> f64 {
        self.wall
    }

    /// Return the table called `name`; raise `KeyError` if there is none.
    fn table(&self, name: &str) -> PyResult<Table> {
        let unknown = || {
            pyo3::exceptions::PyKeyError::new_err(format!(
                "no table \"{name}\"; known: {}",
                TABLES.join(", ")
            ))
        };
        scenarios::table(&self.results, name).map(Table).ok_or_else(unknown)
    }

    /// Write every table as `<folder>/<prefix><table>.parquet`, each completely or not at all;
    /// return the paths.
    #[pyo3(signature = (folder, prefix=""))]
    fn write(&self, py: Python<'_>, folder: &str, prefix: &str) -> PyResult<Vec<String>> {
        let write = |name: &&str| {
            let table = scenarios::table(&self.results, name).expect("TABLES names tables");
            let path = Path::new(folder).join(format!("{prefix}{name}.parquet"));
            let bytes = scenarios::parquet(&table)
                .map_err(|error| Failed::Write(format!("{}: {error}", path.display())))?;
            scenarios::write_whole(&path, &bytes)
                .map_err(|error| Failed::Write(format!("{}: {error}", path.display())))?;
            Ok(path.display().to_string())
        };
        Ok(py.detach(|| TABLES.iter().map(write).collect::<Result<Vec<_>, Failed>>())?)
    }

    /// Return the whole run as a Parquet file with one row, which begins with the key, engine and
    /// scenario; the metadata has a place for a seal.
    fn file<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        scenario: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let format = FORMAT.to_string();
            let metadata = [("narrows.format", format.as_str()), ("narrows.seal", SEAL)];
            let row = scenarios::row(
                &self.results,
                &[("key", key), ("engine", &scenarios::engine()), ("scenario", scenario)],
            );
            scenarios::small_parquet(&row, &metadata)
                .map_err(|error| Failed::Write(error.to_string()))
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// The place for a kept run's digest: the SHA-256 of the file with zeros in this place.
const SEAL: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Run a checked scenario, with `seed` if it is given. `progress` is called with the share
/// done, between 0 and 1. Traces are written to the folder `traces_to`.
#[pyfunction]
#[pyo3(signature = (checked, seed=None, progress=None, traces_to=None))]
pub(crate) fn run(
    py: Python<'_>,
    checked: &Checked,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    traces_to: Option<PathBuf>,
) -> PyResult<Run> {
    let Checked(checked) = checked;
    checked.ends_soon().map_err(Failed::from)?;
    let seed = seed.unwrap_or(checked.seed);
    Ok(py.detach(|| run_detached(checked, seed, progress.as_ref(), traces_to.as_deref()))?)
}

fn run_detached(
    checked: &scenarios::Checked,
    seed: u64,
    progress: Option<&Py<PyAny>>,
    traces_to: Option<&Path>,
) -> Result<Run, Failed> {
    failure::forget();
    let start = Clock::now();
    let mut looked = start;
    let mut raised = None;
    let watch = |share: f64| {
        if looked.elapsed() < LOOK_EVERY {
            return ControlFlow::Continue(());
        }
        looked = Clock::now();
        match failure::take().map_or_else(|| Python::attach(|py| look(py, share, progress)), Err) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let outcome = scenarios::run(checked, seed, traces_to, watch);
    let wall = start.elapsed().as_secs_f64();
    match (outcome, raised.or_else(failure::take)) {
        (_, Some(error)) => Err(Failed::Python(error)),
        (Ok(results), None) => Ok(Run::new(results, wall)),
        (Err(error), None) => Err(Failed::Run(error)),
    }
}

pub(crate) fn look(py: Python<'_>, share: f64, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1(py, (share,))?;
    }
    Ok(())
}
