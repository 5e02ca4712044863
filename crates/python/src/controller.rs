//! Controllers written in Python: an object is told of each acknowledgement and each loss, and is
//! then asked for its window.

use narrows_control as control;
use narrows_control::registry::Birth;
use narrows_scenario::OwnLaw;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::sync::{Arc, Mutex};

/// An acknowledgement that newly acknowledges packets.
#[pyclass(frozen, get_all)]
pub(crate) struct Ack {
    /// When the acknowledgement arrived, in seconds.
    now: f64,
    /// Packets newly acknowledged, cumulatively or selectively.
    packets: f64,
    /// The latest RTT sample in seconds; `None` until there is one.
    rtt: Option<f64>,
    /// The moving average of the RTT in seconds; `None` until there is a sample.
    smoothed_rtt: Option<f64>,
    /// The smallest RTT so far in seconds; `None` until there is a sample.
    min_rtt: Option<f64>,
    /// Packets in flight after this acknowledgement.
    in_flight: f64,
    /// Whether the window, not the application or the receiver, limited the sender.
    window_limited: bool,
    /// Whether a recovery is under way.
    recovering: bool,
}

#[pymethods]
impl Ack {
    /// An acknowledgement for testing a controller without a simulation.
    #[new]
    #[pyo3(signature = (
        *, now=0.0, packets=1.0, rtt=None, smoothed_rtt=None, min_rtt=None, in_flight=0.0,
        window_limited=true, recovering=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords, of which callers name a few")]
    fn new(
        now: f64,
        packets: f64,
        rtt: Option<f64>,
        smoothed_rtt: Option<f64>,
        min_rtt: Option<f64>,
        in_flight: f64,
        window_limited: bool,
        recovering: bool,
    ) -> Self {
        let (smoothed_rtt, min_rtt) = (smoothed_rtt.or(rtt), min_rtt.or(rtt));
        Self { now, packets, rtt, smoothed_rtt, min_rtt, in_flight, window_limited, recovering }
    }
}

/// A lost packet, or an expiry of the retransmission timer.
#[pyclass(frozen, get_all)]
pub(crate) struct Loss {
    /// When the loss was detected, in seconds.
    now: f64,
    /// Whether it is the first loss of its recovery epoch.
    opens_epoch: bool,
    /// Whether the retransmission timer detected it.
    timeout: bool,
    /// Packets in flight when the lost packet was sent, itself included; 0 for a timeout.
    in_flight: f64,
}

#[pymethods]
impl Loss {
    /// A loss for testing a controller without a simulation.
    #[new]
    #[pyo3(signature = (*, now=0.0, opens_epoch=true, timeout=false, in_flight=0.0))]
    fn new(now: f64, opens_epoch: bool, timeout: bool, in_flight: f64) -> Self {
        Self { now, opens_epoch, timeout, in_flight }
    }
}

/// The first error that a Python controller raised, which ends the run.
#[derive(Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn keep(&self, error: PyErr) {
        self.0.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
    }

    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().expect("no thread panics while it holds the lock").take()
    }
}

/// A subclass of `narrows.Controller`, by name.
pub(crate) struct PythonLaw {
    name: String,
    class: Py<PyType>,
    failure: Failure,
}

impl PythonLaw {
    pub fn new(name: String, class: Py<PyType>, failure: Failure) -> Self {
        Self { name, class, failure }
    }
}

impl OwnLaw for PythonLaw {
    fn name(&self) -> &str {
        &self.name
    }

    fn make(&self, birth: &Birth) -> Box<dyn control::Controller> {
        let made = Python::attach(|py| {
            let own_recovery = self.class.getattr(py, intern!(py, "own_recovery"))?.extract(py)?;
            Ok((self.class.call1(py, (birth.initial_window,))?, own_recovery))
        });
        let (object, own_recovery) = match made {
            Ok((object, own_recovery)) => (Some(object), own_recovery),
            Err(error) => {
                self.failure.keep(error);
                (None, false)
            }
        };
        let mut controller = PythonController {
            name: self.name.clone(),
            object,
            own_recovery,
            failure: self.failure.clone(),
            window: birth.initial_window,
        };
        controller.tell(|_, _| Ok(()));
        Box::new(controller)
    }
}

/// The largest window in packets that a controller may return: a packet in flight takes memory.
const MOST: f64 = 1e7;

struct PythonController {
    name: String,
    /// `None` once it has failed: the window stays where it was until the run is stopped.
    object: Option<Py<PyAny>>,
    own_recovery: bool,
    failure: Failure,
    window: f64,
}

impl PythonController {
    /// Calls `what` on the object, and then asks the object for its window.
    fn tell(&mut self, what: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(object) = &self.object else { return };
        let told = Python::attach(|py| {
            let object = object.bind(py);
            what(py, object)?;
            object.call_method0(intern!(py, "window"))?.extract::<f64>()
        });
        match told {
            Ok(window) if (1.0..=MOST).contains(&window) => self.window = window,
            Ok(window) => {
                self.fail(PyValueError::new_err(format!(
                    "{}.window() returned {window}; it must return a number of packets from 1 to \
                     {MOST}",
                    self.name
                )));
            }
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: PyErr) {
        self.object = None;
        self.failure.keep(error);
    }

    fn lose(&mut self, loss: Loss) {
        self.tell(|py, object| object.call_method1(intern!(py, "on_loss"), (loss,)).map(drop));
    }
}

impl control::Controller for PythonController {
    fn on_ack(&mut self, ack: &control::Ack) {
        let ack = Ack {
            now: ack.now.seconds(),
            packets: ack.packets,
            rtt: ack.rtt.map(|rtt| rtt.latest.seconds()),
            smoothed_rtt: ack.rtt.map(|rtt| rtt.smoothed.seconds()),
            min_rtt: ack.rtt.map(|rtt| rtt.minimum.seconds()),
            in_flight: ack.in_flight,
            window_limited: ack.window_limited,
            recovering: ack.recovering,
        };
        self.tell(|py, object| object.call_method1(intern!(py, "on_ack"), (ack,)).map(drop));
    }

    fn on_loss(&mut self, loss: &control::Loss) {
        self.lose(Loss {
            now: loss.now.seconds(),
            opens_epoch: loss.opens_epoch,
            timeout: false,
            in_flight: loss.in_flight,
        });
    }

    fn on_timeout(&mut self, timeout: &control::Timeout) {
        self.lose(Loss {
            now: timeout.now.seconds(),
            opens_epoch: timeout.opens_epoch,
            timeout: true,
            in_flight: timeout.in_flight,
        });
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn needs(&self) -> control::Needs {
        control::Needs { own_recovery: self.own_recovery, ..control::Needs::default() }
    }
}
