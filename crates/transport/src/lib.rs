//! Endpoints without I/O: no clock, no socket, no callback. An endpoint is fed with `(now, event)`
//! and answers with packets to send and the time of its next wake-up, so the same state machine
//! runs in the simulator and over a socket.
//!
//! Reading order: [`Segment`], what travels; [`Sender`] and [`Receiver`], for any transport;
//! [`tcp`], [`quic`] and [`etcp`]; below them [`RttEstimator`], [`Pacer`] and [`Reassembly`].

mod counters;
mod endpoint;
pub mod etcp;
mod limits;
mod pacer;
pub mod quic;
mod reassembly;
mod rtt;
mod segment;
pub mod tcp;
mod ticks;

pub use counters::Counters;
pub use endpoint::{Receiver, Recovery, Sender, Transport};
pub use limits::{Limited, SendLimit};
pub use pacer::Pacer;
pub use reassembly::Reassembly;
pub use rtt::{Least, Outstanding, RttEstimator, Timeouts};
pub use segment::{AckHeader, DataHeader, Header, Kind, Payload, Segment};
pub use tcp::Delivered;
pub use tcp::rate_sampler::{RateSampler, Sending};
pub use ticks::Ticks;
