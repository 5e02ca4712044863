//! Stacks written in Python: two objects a flow that are given datagrams and times.

use crate::failure;
use narrows_scenario::{Stack, StackEnds, Transfer, Wish};
use narrows_signal::Ecn;
use narrows_sim::{Endpoint, Told, Transmit};
use narrows_units::{Duration, Time};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// A stack of the user's.
pub(crate) struct PythonStack {
    name: String,
    object: Py<PyAny>,
}

impl PythonStack {
    /// The stack that is called `name`.
    pub fn new(name: String, object: Py<PyAny>) -> Self {
        Self { name, object }
    }
}

impl Stack for PythonStack {
    fn name(&self) -> &str {
        &self.name
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        if wish.packet.is_some() {
            return Err("packet is up to a stack in Python; leave it out".to_owned());
        }
        let Transfer { seed, bytes, offered, .. } = &wish.transfer;
        let waits = offered.is_at_once() || Python::attach(|py| takes_offers(self.object.bind(py)));
        if !waits {
            let name = &self.name;
            return Err(format!(
                "offers are for a stack whose ends(self, seed, size, offers) takes them, and {name}'s \
                 does not"
            ));
        }
        let made = Python::attach(|py| {
            let ends = if offered.is_at_once() {
                self.object.call_method1(py, "ends", (seed, bytes))?
            } else {
                let offers: Vec<(f64, Option<u64>)> = offered.totals().collect();
                self.object.call_method1(py, "ends", (seed, bytes, offers))?
            };
            ends.extract::<(Py<PyAny>, Py<PyAny>)>(py)
        });
        let (near, far) = made.map_err(|error| {
            let message = error.to_string();
            failure::keep(error);
            message
        })?;
        let end = |object| {
            let name = self.name.clone();
            Box::new(PythonEndpoint { name, object: Some(object), told: Told::default() })
        };
        Ok((end(near), end(far)))
    }

    fn joining(&self) -> Box<dyn FnOnce() + Send> {
        Box::new(failure::joining())
    }
}

/// Whether the method `ends` of a stack has a third argument.
fn takes_offers(stack: &Bound<'_, PyAny>) -> bool {
    let py = stack.py();
    let signature = py.import("inspect").and_then(|inspect| {
        inspect
            .call_method1("signature", (stack.getattr("ends")?,))?
            .call_method1("bind", (0, 0, 0))
    });
    signature.is_ok()
}

/// One end.
struct PythonEndpoint {
    name: String,
    /// `None` once it has failed: it is silent until the run is stopped.
    object: Option<Py<PyAny>>,
    /// What it said at its last turn.
    told: Told,
}

impl PythonEndpoint {
    /// Calls `what` on the object; `None` if it fails, or has failed before.
    fn call<T>(
        &mut self,
        what: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let object = self.object.as_ref()?;
        let outcome = Python::attach(|py| what(py, object.bind(py)));
        outcome
            .map_err(|error| {
                self.told.ended = Some(format!("{} raised {error}", self.name));
                self.object = None;
                failure::keep(error);
            })
            .ok()
    }
}

impl Endpoint for PythonEndpoint {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        self.call(|py, object| {
            let bytes = PyBytes::new(py, datagram);
            let given = (now.seconds(), bytes, ecn.bits());
            object.call_method1(intern!(py, "handle"), given).map(drop)
        });
    }

    fn handle_timeout(&mut self, now: Time) {
        self.call(|py, object| {
            object.call_method1(intern!(py, "handle_timeout"), (now.seconds(),)).map(drop)
        });
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        self.call(|py, object| {
            let given = object.call_method1(intern!(py, "poll_transmit"), (now.seconds(),))?;
            if given.is_none() {
                return Ok(None);
            }
            if let Ok(bytes) = given.extract::<PyBackedBytes>() {
                datagram.extend_from_slice(&bytes);
                return Ok(Some(Transmit::udp(datagram, Ecn::NotCapable)));
            }
            let bytes = given.getattr(intern!(py, "datagram"))?;
            datagram.extend_from_slice(&bytes.extract::<PyBackedBytes>()?);
            let ecn = codepoint(given.getattr(intern!(py, "ecn"))?.extract()?)?;
            let earliest: Option<f64> = given.getattr(intern!(py, "not_before"))?.extract()?;
            let headers: u32 = given.getattr(intern!(py, "headers"))?.extract()?;
            let bytes = datagram.len() as u32 + headers;
            let not_before = earliest.map(|at| seconds("not_before", at)).transpose()?;
            let not_before = not_before.map_or(Time::ZERO, Time::from_secs);
            Ok(Some(Transmit { bytes, ecn, not_before }))
        })
        .flatten()
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        let (at, told) = self.call(|py, object| {
            let at: Option<f64> = object.call_method0(intern!(py, "poll_timeout"))?.extract()?;
            let at = at.map(|at| seconds("poll_timeout()", at)).transpose()?;
            let told = match object.getattr_opt(intern!(py, "tell"))? {
                Some(tell) => told(&tell.call0()?)?,
                None => Told::default(),
            };
            Ok((at, told))
        })?;
        self.told = told;
        at.map(deadline)
    }

    fn tell(&self) -> Told {
        self.told.clone()
    }
}

/// `value`, if it is a time; `what` says whose it is.
fn seconds(what: &str, value: f64) -> PyResult<f64> {
    let wrong = || format!("{what} is {value}; a time is a finite number of seconds, or None");
    if value.is_finite() { Ok(value) } else { Err(PyValueError::new_err(wrong())) }
}

/// The earliest time that is, in seconds, no less than `seconds`.
fn deadline(seconds: f64) -> Time {
    let at = Time::from_secs(seconds.max(0.0));
    if at.seconds() >= seconds {
        at
    } else {
        at + Duration::from_picos(at.picos() >> 52).max(Duration::from_picos(1))
    }
}

/// What an end tells of itself: an object with the fields of `narrows.Told`.
fn told(object: &Bound<'_, PyAny>) -> PyResult<Told> {
    let py = object.py();
    let rtt: Option<f64> = object.getattr(intern!(py, "rtt"))?.extract()?;
    let rtt = rtt.map(|rtt| seconds("rtt", rtt)).transpose()?;
    Ok(Told {
        delivered: object.getattr(intern!(py, "delivered"))?.extract()?,
        complete: object.getattr(intern!(py, "complete"))?.extract()?,
        window: object.getattr(intern!(py, "window"))?.extract()?,
        rtt: rtt.map(Duration::from_secs),
        in_flight: object.getattr(intern!(py, "in_flight"))?.extract()?,
        lost: object.getattr(intern!(py, "lost"))?.extract()?,
        ended: object.getattr(intern!(py, "ended"))?.extract()?,
    })
}

/// The two ECN bits that a number is.
fn codepoint(bits: u8) -> PyResult<Ecn> {
    let wrong = || PyValueError::new_err(format!("ecn is {bits}; it has two bits, 0 to 3"));
    Ecn::from_bits(bits).ok_or_else(wrong)
}
