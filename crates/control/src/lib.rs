//! Congestion controllers: one file per algorithm, no clock, no I/O, no packet format, no
//! allocation after birth.
//!
//! A [`Controller`] is told what happened and answers with a window, in packets. Most are a
//! [`WindowLaw`], which is two formulas; [`OncePerEpoch`] completes it with slow start, the
//! threshold and undo. The [`laws`] are built from [`parts`], and [`registry`] lists them all.
//!
//! ```
//! use narrows_control::registry::{self, Birth};
//!
//! let (name, given) = registry::split("cubic:beta=0.8")?;
//! let recipe = registry::find(name)?.read(&Birth { given, ..Birth::default() })?;
//! assert_eq!(recipe.make(1).window(), 10.0);
//! # Ok::<(), narrows_settings::SettingError>(())
//! ```

mod controller;
mod entry;
mod event;
#[cfg(test)]
mod fixtures;
pub mod laws;
pub mod parts;
pub mod registry;

pub use controller::{Controller, Gaps, Need, Needs, Pacing, Steer};
pub use event::{Ack, Idle, Loss, LossSample, Mark, RateSample, Restart, Rtt, Tick, Timeout};
pub use parts::slow_start::{self, SlowStart};
pub use parts::{
    Abe, Advertised, Bound, CongestionWindow, OncePerEpoch, Rounds, Unconfined, WindowLaw,
};
