//! What a transfer tells of itself while it goes on.

use crate::Error;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The file is read to learn its hash.
    Reading {
        /// Bytes read.
        done: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// The receiver holds more of the file.
    Progress {
        /// Name of the file.
        name: &'a str,
        /// Bytes that the receiver holds.
        kept: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// Something that a person may want to know: a lost connection, a refused stranger.
    Notice(&'a str),
    /// Nothing new.
    Idle,
}

/// Is told events, at least five times a second; `Break` stops the transfer.
pub type Watch<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// How often a watch is told if nothing is new.
const OFTEN: Duration = Duration::from_millis(100);

/// How often a watch is told of strangers.
const SPARING: Duration = Duration::from_secs(1);

/// A watch, and when it was last told.
pub(crate) struct Watched<'a, 'b> {
    watch: &'a mut Watch<'b>,
    last: Instant,
    /// When it was last told what strangers do, and how many notices were left out since.
    noticed: Option<Instant>,
    left_out: u64,
}

impl<'a, 'b> Watched<'a, 'b> {
    pub(crate) fn new(watch: &'a mut Watch<'b>) -> Self {
        Self { watch, last: Instant::now(), noticed: None, left_out: 0 }
    }

    /// Tells of `event`.
    ///
    /// # Errors
    /// If the watch stops the transfer.
    pub(crate) fn tell(&mut self, event: Event<'_>) -> Result<(), Error> {
        self.last = Instant::now();
        match (self.watch)(event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped),
        }
    }

    /// Tells a notice that strangers can cause, at most one each second; the next says how many
    /// were left out.
    ///
    /// # Errors
    /// If the watch stops the transfer.
    pub(crate) fn tell_sparingly(&mut self, text: &str) -> Result<(), Error> {
        if self.noticed.is_some_and(|at| at.elapsed() < SPARING) {
            self.left_out += 1;
            return Ok(());
        }
        self.noticed = Some(Instant::now());
        match std::mem::take(&mut self.left_out) {
            0 => self.tell(Event::Notice(text)),
            more => self.tell(Event::Notice(&format!("{text} (and {more} more like it)"))),
        }
    }

    /// Tells of `event` unless the watch has just been told.
    ///
    /// # Errors
    /// If the watch stops the transfer.
    pub(crate) fn tell_now_and_then(&mut self, event: Event<'_>) -> Result<(), Error> {
        if self.last.elapsed() < OFTEN { Ok(()) } else { self.tell(event) }
    }
}
