//! Laws written in Python that decide once an interval: what comes in between is counted in Rust.

use crate::error::BoundsError;
use crate::failure;
use narrows_control::Controller;
use narrows_control::registry::Birth;
use narrows_learn::{Action, Decides, Interval as Counted, Learner, WAITS, Wanted};
use narrows_units::Time;
use pyo3::intern;
use pyo3::prelude::*;

/// What a sender has learnt in an interval.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct Interval(Counted);

/// A getter for each column.
macro_rules! columns {
    ($($name:ident),*) => {
        #[pymethods]
        impl Interval {
            /// An interval for testing a law without a simulation.
            #[new]
            #[pyo3(signature = (*, $($name=0.0),*))]
            #[expect(clippy::too_many_arguments, reason = "keywords, of which callers name a few")]
            fn new($($name: f64),*) -> Self {
                Self(Counted { $($name),* })
            }

            $(
                #[getter]
                fn $name(&self) -> f64 {
                    self.0.$name
                }
            )*

            /// Return its numbers in the order of the columns.
            fn row(&self) -> Vec<f64> {
                self.0.row().to_vec()
            }
        }
    };
}

narrows_learn::with_columns!(columns);

/// The controller of one connection that `object` decides for, a `narrows.IntervalController`;
/// `name` is its law's.
pub(crate) fn controller(
    name: &str,
    object: Option<Py<PyAny>>,
    birth: &Birth,
) -> Box<dyn Controller> {
    let window = birth.initial_window;
    let said = object
        .map(|object| Python::attach(|py| every(py, &object, window)).map(|every| (object, every)));
    let said = said.and_then(|said| said.map_err(failure::keep).ok());
    let (object, every) = said.map_or((None, None), |(object, every)| (Some(object), every));
    let next = Wanted { window, rate: 0.0, seconds: every.unwrap_or(WAITS) };
    let decides = InPython { name: name.to_owned(), object, every, next };
    Box::new(Learner::new(next.from(Time::ZERO), Box::new(decides), None))
}

/// How often `object` wants to be asked, in seconds; `None` for once an RTT.
fn every(py: Python<'_>, object: &Py<PyAny>, window: f64) -> PyResult<Option<f64>> {
    let every: Option<f64> = object.getattr(py, intern!(py, "seconds"))?.extract(py)?;
    if let Some(seconds) = every {
        let wanted = Wanted { window, rate: 0.0, seconds };
        let name = object.bind(py).get_type().name()?;
        let wrong = |error| BoundsError::new_err(format!("{name}.seconds: {error}"));
        wanted.check(false).map_err(wrong)?;
    }
    Ok(every)
}

/// One connection's object.
struct InPython {
    name: String,
    /// `None` once it has failed: nothing changes until the run is stopped.
    object: Option<Py<PyAny>>,
    /// Seconds of each interval; an RTT if it does not say.
    every: Option<f64>,
    next: Wanted,
}

/// What an object may answer: a window in packets, or that and packets per second.
#[derive(FromPyObject)]
enum Answer {
    Both(f64, f64),
    Window(f64),
}

impl InPython {
    fn asked(&self, py: Python<'_>, interval: &Counted) -> PyResult<Option<Wanted>> {
        let Some(object) = &self.object else { return Ok(None) };
        let said = object.call_method1(py, intern!(py, "on_interval"), (Interval(*interval),))?;
        let answer = said.extract::<Answer>(py).map_err(|_| {
            let said = said.bind(py).repr().map(|it| it.to_string()).unwrap_or_default();
            let said: String = said.chars().take(60).collect();
            let message = "which is neither a window in packets nor (window, packets per second)";
            BoundsError::new_err(format!("{}.on_interval() returned {said}, {message}", self.name))
        })?;
        let (window, rate) = match answer {
            Answer::Both(window, rate) => (window, rate),
            Answer::Window(window) => (window, 0.0),
        };
        let rtt = if interval.srtt > 0.0 { interval.srtt } else { WAITS };
        let wanted = Wanted { window, rate, seconds: self.every.unwrap_or(rtt) };
        let checked = wanted.check(false);
        checked.map_err(|error| {
            BoundsError::new_err(format!("{}.on_interval(): {error}", self.name))
        })?;
        Ok(Some(wanted))
    }
}

impl Decides for InPython {
    fn ended(&mut self, interval: &Counted) {
        match Python::attach(|py| self.asked(py, interval)) {
            Ok(Some(wanted)) => self.next = wanted,
            Ok(None) => {}
            Err(error) => {
                failure::keep(error);
                self.object = None;
            }
        }
    }

    fn go_on(&mut self, now: Time) -> Action {
        self.next.from(now)
    }
}
