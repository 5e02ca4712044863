//! Endpoints without I/O: no clock, no socket, no callback. An endpoint is fed with `(now, event)`
//! and answers with packets to send and the time of its next wake-up, so the same state machine
//! runs in the simulator and over a socket.
//!
//! Reading order: [`Segment`], what travels; [`Sender`] and [`Receiver`], for any transport;
//! [`congestion`], the seat of its law; [`tcp`], [`quic`] and [`etcp`]; below them [`RttEstimator`]
//! and [`Reassembly`].
//!
//! ```
//! use narrows_transport::Reassembly;
//!
//! let mut receiver = Reassembly::default();
//! [0, 1, 3].into_iter().for_each(|number| assert!(receiver.arrive(number)));
//! assert_eq!(receiver.next(), 2);
//! assert!(receiver.has_gap());
//! ```

pub mod congestion;
mod endpoint;
pub mod etcp;
mod handshake;
pub mod quic;
mod reassembly;
mod ring;
mod rtt;
mod segment;
pub mod tcp;
mod ticks;

pub use congestion::{Counters, Limited, Pacer, SendLimit};
pub use endpoint::{Receiver, Recovery, Sender, Transport};
pub use reassembly::Reassembly;
pub use rtt::{Least, Outstanding, RttEstimator, Timeouts};
pub use segment::{AckHeader, DataHeader, Header, Kind, Payload, Segment};
pub use ticks::Ticks;
