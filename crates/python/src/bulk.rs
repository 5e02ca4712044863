//! Files to and from other machines.

use crate::error::Error as Refused;
use narrows_bulk::{Error, Event, Identity, Received, Sending, Sent, StackLaw, Ticket};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// What was sent: name, files, those refused and why, bytes, hash, bytes that were there.
type SentWhat = (String, u64, Vec<(String, String)>, u64, String, u64);
/// How: seconds, connections, packets, packets lost, RTT in seconds, window in packets.
type SentHow = (f64, u32, u64, u64, f64, f64);
/// What has arrived: path, files, bytes, hash, bytes that were there, seconds, who sent it.
type ReceivedLine = (PathBuf, u64, u64, String, u64, f64, String);

/// Send a file or a directory to the receiver that `to` is a ticket of; `watch` is called with what
/// happens, a text, and two numbers of bytes.
#[pyfunction]
pub(crate) fn send_file(
    py: Python<'_>,
    file: PathBuf,
    to: &str,
    cc: &str,
    patience: f64,
    watch: Py<PyAny>,
) -> PyResult<(SentWhat, SentHow)> {
    let to: Ticket = to.parse().map_err(raised)?;
    let law = StackLaw::parse(cc).map_err(Refused::new_err)?;
    let patience = Duration::try_from_secs_f64(patience)
        .map_err(|_| Refused::new_err(format!("patience is {patience} s; try 60")))?;
    let sent = watched(py, &watch, |watch| {
        narrows_bulk::send(&Sending { file: &file, to: &to, law, patience }, watch)
    })?;
    let Sent { name, files, refused, size, blake3, resumed_at, .. } = sent;
    let Sent { took, connections, packets, lost, rtt, window, .. } = sent;
    let how = (took.as_secs_f64(), connections, packets, lost, rtt.as_secs_f64(), window);
    Ok(((name, files, refused, size, blake3, resumed_at), how))
}

/// Takes files from senders that have its ticket.
#[pyclass(module = "narrows._core", frozen)]
pub(crate) struct Receiver(Mutex<narrows_bulk::Receiver>);

#[pymethods]
impl Receiver {
    #[new]
    fn new(directory: PathBuf, address: &str, identity: Option<PathBuf>) -> PyResult<Self> {
        let identity = match identity {
            Some(path) => Identity::kept(&path),
            None => Identity::fresh(),
        };
        let identity = identity.map_err(raised)?;
        let receiver = narrows_bulk::Receiver::listen(&directory, address, identity);
        Ok(Self(Mutex::new(receiver.map_err(raised)?)))
    }

    fn ticket(&self, host: &str) -> PyResult<String> {
        let receiver = self.0.try_lock().map_err(|_| busy())?;
        Ok(receiver.ticket(host).map_err(raised)?.to_string())
    }

    fn receive(&self, py: Python<'_>, watch: Py<PyAny>) -> PyResult<ReceivedLine> {
        let mut receiver = self.0.try_lock().map_err(|_| busy())?;
        let receiver = &mut *receiver;
        let received = watched(py, &watch, |watch| receiver.receive(watch))?;
        let Received { path, files, size, blake3, resumed_at, took, from } = received;
        Ok((path, files, size, blake3, resumed_at, took.as_secs_f64(), from.to_string()))
    }
}

fn busy() -> PyErr {
    PyRuntimeError::new_err("this receiver is receiving in another thread")
}

/// Does `work` without Python's lock, but for the calls of `watch`, which may raise.
fn watched<T: Send>(
    py: Python<'_>,
    watch: &Py<PyAny>,
    work: impl FnOnce(&mut narrows_bulk::Watch<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let mut raised_by_watch = None;
    let outcome = py.detach(|| {
        work(&mut |event| {
            let (kind, text, done, size) = match event {
                Event::Reading { done, size } => ("reading", "", done, size),
                Event::Progress { name, kept, size } => ("progress", name, kept, size),
                Event::Notice(text) => ("notice", text, 0, 0),
                Event::Idle => ("idle", "", 0, 0),
            };
            let called = Python::attach(|py| {
                py.check_signals()?;
                watch.call1(py, (kind, text, done, size))
            });
            match called {
                Ok(_) => ControlFlow::Continue(()),
                Err(error) => {
                    raised_by_watch = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    outcome.map_err(|error| raised_by_watch.unwrap_or_else(|| raised(error)))
}

fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Ticket(_) | Error::Host(_) => Refused::new_err(text),
        Error::File { .. } | Error::Socket { .. } => PyOSError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
