//! Captures that are written here, segment by segment, so that what they hold is known.

mod hostile;
mod scripted;
mod writing;
