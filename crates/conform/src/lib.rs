//! Whether the congestion controller in a stack does what its RFC says.
//!
//! A check lets one flow meet one stimulus, which is scripted by the number of the packet, and
//! takes one number from what is on the wire. What a stack tells of itself decides nothing, so that
//! our own laws and a closed binary are judged by the same code; and chance decides nothing, so
//! that a verdict is the same each time.
//!
//! ```
//! use narrows_conform::{Subject, chosen, conform};
//! use narrows_scenario::Own;
//!
//! let cubic = Subject::new("cubic", None)?;
//! let rows = conform(&cubic, &Own::default(), &chosen("D1")?)?;
//! assert_eq!(rows[0].verdict.as_str(), "holds");
//! # Ok::<(), String>(())
//! ```

mod check;
mod checks;
mod network;
mod subject;
mod trial;
mod wire;

pub use check::{Check, Group, Verdict, Word};
pub use checks::{all, chosen};
pub use subject::{Profile, Subject, Transport};
pub use trial::{NotRun, RealPath, Row, SEED, conform, conform_on, conform_real, observe};
pub use wire::{Packet, RealPackets, Wire};
