//! What held back the connections of a capture.

use crate::error::Failed;
use narrows_capture::{CaptureError, Cause};
use pyo3::prelude::*;
use std::fs::File;
use std::path::PathBuf;

/// Return the causes, in the order of each flow's shares.
#[pyfunction]
pub(crate) fn causes() -> PyResult<String> {
    serde_json::to_string(&Cause::ALL).map_err(|error| Failed::Input(error.to_string()).into())
}

/// Return what a capture tells of each connection as JSON, with time lines of so many flows.
/// `watch` is called with a number of frames from time to time; what it raises ends the reading.
#[pyfunction]
pub(crate) fn why(
    py: Python<'_>,
    file: PathBuf,
    lines: usize,
    watch: Py<PyAny>,
) -> PyResult<String> {
    let mut raised = None;
    let go_on = |frames| {
        let asked = Python::attach(|py| {
            py.check_signals()?;
            watch.call1(py, (frames,)).map(drop)
        });
        if let Err(error) = asked {
            raised = Some(error);
        }
        raised.is_none()
    };
    // Frames come out of a buffer of their own.
    let report = py.detach(|| narrows_capture::why(|| File::open(&file), lines, go_on));
    if let Some(error) = raised {
        return Err(error);
    }
    let report = report.map_err(|error| match error {
        CaptureError::Read(error) => PyErr::from(error),
        error => Failed::Input(format!("{}: {error}", file.display())).into(),
    })?;
    serde_json::to_string(&report).map_err(|error| Failed::Input(error.to_string()).into())
}
