//! E-TCP's endpoints (Gu, Towsley, Hollot, Zhang, §III-B to §V), in the authors' two halves:
//! [`signalling`] tells which packet was lost, [`reliability`] which data to send again. A sender
//! can run without the second, or with [`coding`] in its place.

pub mod coding;
mod outgoing;
pub mod receiver;
pub mod reliability;
pub mod sender;
pub mod signalling;
mod timers;

pub use receiver::Receiver;
pub(crate) use sender::Sender;
pub use sender::{Delivery, EtcpSettings};
