//! What laws are made of.

mod abe;
mod advertised;
mod congestion_window;
pub(crate) mod delay_start;
pub(crate) mod etcp_start;
pub(crate) mod etcp_window;
mod once_per_epoch;
mod recent;
pub(crate) mod round_rtts;
mod rounds;
pub mod slow_start;

pub use abe::Abe;
pub use advertised::{Advertised, Bound, Unconfined};
pub use congestion_window::CongestionWindow;
pub use once_per_epoch::{OncePerEpoch, WindowLaw};
pub use recent::RecentMin;
pub use rounds::Rounds;
