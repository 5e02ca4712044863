//! Congestion controllers: one file an algorithm, no clock, no I/O, no packet format, no allocation after birth.
//!
//! A [`Controller`] is told what happened and answers with a window, in packets. Most are a [`WindowLaw`],
//! two formulas, made whole by [`OncePerEpoch`], which adds slow start, the threshold and undo.
//! [`registry`] names them all.

mod controller;
pub mod cubic;
pub mod etcp;
pub mod etcp_rate;
mod etcp_start;
mod event;
pub mod fast;
pub mod highspeed;
mod once_per_epoch;
pub mod registry;
pub mod reno;
mod rounds;
pub mod scalable;
pub mod slow_start;

pub use controller::{Controller, Gaps, Pacing};
pub use event::{Ack, Loss, Rtt};
pub use once_per_epoch::{OncePerEpoch, WindowLaw};
pub use rounds::Rounds;
pub use slow_start::SlowStart;
