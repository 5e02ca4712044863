//! The Python exception for each Rust error.

use narrows_scenario as scenario;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

create_exception!(
    narrows,
    Error,
    PyValueError,
    "What narrows refuses to do, and what would be right."
);
create_exception!(
    narrows,
    ScenarioError,
    Error,
    "A scenario that cannot be run; the message names the place, the value and a valid alternative."
);

create_exception!(
    narrows,
    BoundsError,
    PyValueError,
    "What a law answered that no law may: not a number, or out of bounds."
);

/// The errors of the functions in this module.
pub(crate) enum Failed {
    Scenario(scenario::ScenarioError),
    /// Anything else that a user gave.
    Input(String),
    Write(String),
    Run(scenario::RunError),
    /// Raised in Python: by Ctrl-C, by the progress callback or by a controller.
    Python(PyErr),
}

impl From<scenario::ScenarioError> for Failed {
    fn from(error: scenario::ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

impl From<Failed> for PyErr {
    fn from(error: Failed) -> Self {
        match error {
            Failed::Scenario(error) => ScenarioError::new_err(error.to_string()),
            Failed::Input(message) => Error::new_err(message),
            Failed::Write(message) => PyOSError::new_err(message),
            Failed::Run(error @ scenario::RunError::Trace { .. }) => {
                PyOSError::new_err(error.to_string())
            }
            Failed::Run(error) => PyRuntimeError::new_err(error.to_string()),
            Failed::Python(error) => error,
        }
    }
}
