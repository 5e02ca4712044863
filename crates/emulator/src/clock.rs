//! The time since a run began, by the machine's monotonic clock, and its end.

use crate::sys;
use narrows_units::Time;
use std::sync::atomic::{AtomicBool, Ordering};

/// A clock that was set to zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begun: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { begun: sys::monotonic_nanos() }
    }

    /// The time since then.
    pub fn now(&self) -> Time {
        Time::from_picos((sys::monotonic_nanos() - self.begun) * 1000)
    }

    /// Sleeps until `time`, or for 50 ms if that is sooner.
    pub fn sleep_until(&self, time: Time) {
        let left = time.since(self.now()).picos() / 1000;
        std::thread::sleep(std::time::Duration::from_nanos(left.min(50_000_000)));
    }
}

/// The time in which something runs, unless somebody stops it.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub clock: Clock,
    pub end: Time,
    pub stop: &'a AtomicBool,
}

impl Span<'_> {
    /// True if it is over.
    pub fn is_over(&self) -> bool {
        self.clock.now() >= self.end || self.stop.load(Ordering::Relaxed)
    }

    /// The same, but no later than `end`.
    pub fn until(self, end: Time) -> Self {
        Self { end: self.end.min(end), ..self }
    }
}
