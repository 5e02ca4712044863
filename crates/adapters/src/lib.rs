//! narrows' congestion controllers in QUIC stacks that others wrote.
//!
//! A [`StackLaw`] by name is what a stack's own interface makes controllers of: `noq::Factory`,
//! `quinn::Factory`, `s2n::Controllers`. They hear of each packet; what a stack does not tell is
//! said in its module.
//! For another stack, [`Heard`] is a law as that hears of packets.
//!
//! ```
//! # #[cfg(feature = "noq")] {
//! use narrows_adapters::{StackLaw, noq};
//!
//! let mut config = noq_proto::TransportConfig::default();
//! let law = StackLaw::parse("etcp:p0=0.01")?;
//! config.congestion_controller_factory(noq::Factory::new(law).shared());
//! # }
//! # Ok::<(), String>(())
//! ```

#![cfg_attr(
    any(feature = "quinn", feature = "noq"),
    expect(clippy::disallowed_types, reason = "the stacks count in the system's instants")
)]

mod heard;
#[cfg(feature = "hosted")]
pub mod hosted;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(feature = "s2n")]
pub mod s2n;
#[cfg(any(feature = "quinn", feature = "noq"))]
mod scale;
mod stack_law;

pub use heard::{Counts, Heard};
pub use stack_law::StackLaw;
