//! The first error that Python raised in a run or a check, which ends it.

use pyo3::PyErr;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

type Raised = Arc<Mutex<Option<PyErr>>>;

thread_local! {
    /// Of the run or the check that this thread is in.
    static RAISED: RefCell<Raised> = RefCell::default();
}

/// Keeps `error`, unless there is an earlier one.
pub(crate) fn keep(error: PyErr) {
    with(|raised| _ = raised.get_or_insert(error));
}

/// Whether something was raised.
pub(crate) fn is_there() -> bool {
    with(|raised| raised.is_some())
}

/// Takes what was raised.
pub(crate) fn take() -> Option<PyErr> {
    with(Option::take)
}

/// A run or a check begins.
pub(crate) fn forget() {
    RAISED.take();
}

/// Joins a thread that calls what is returned to the run that this one is in.
pub(crate) fn joining() -> impl Fn() + Send + Sync {
    let raised = RAISED.with_borrow(Arc::clone);
    move || RAISED.set(Arc::clone(&raised))
}

fn with<T>(what: impl FnOnce(&mut Option<PyErr>) -> T) -> T {
    RAISED.with_borrow(|raised| what(&mut raised.lock().unwrap_or_else(PoisonError::into_inner)))
}
