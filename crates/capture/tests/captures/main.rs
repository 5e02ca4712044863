//! Captures that are written here, segment by segment, so that what they hold is known.

#[path = "../../../../fuzz/src/capture.rs"]
mod facts;
mod hostile;
mod scripted;
mod writing;
