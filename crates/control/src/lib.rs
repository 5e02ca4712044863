//! Congestion controllers: one file an algorithm, no clock, no I/O, no packet format, no allocation
//! after birth.
//!
//! A [`Controller`] is told what happened and answers with a window, in packets. Most are a
//! [`WindowLaw`], two formulas, made whole by [`OncePerEpoch`], which adds slow start, the
//! threshold and undo. [`registry`] names them all.

mod advertised;
pub mod aimd;
pub mod ba;
pub mod bbr;
pub mod bic;
mod controller;
pub mod cubic;
pub mod dctcp;
pub mod etcp;
pub mod etcp_rate;
mod etcp_start;
mod event;
pub mod fast;
pub mod gwa;
pub mod highspeed;
pub mod htcp;
pub mod illinois;
pub mod ltcp;
mod once_per_epoch;
pub mod registry;
pub mod reno;
mod rounds;
pub mod scalable;
pub mod slow_start;
pub mod vegas;
pub mod westwood;
pub mod xcp;

pub use advertised::{Advertised, Bound};
pub use controller::{Controller, Gaps, Needs, Pacing};
pub use event::{Ack, Loss, LossSample, Mark, RateSample, Rtt};
pub use once_per_epoch::{OncePerEpoch, WindowLaw};
pub use rounds::Rounds;
pub use slow_start::SlowStart;
