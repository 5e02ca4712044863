//! Endpoints without I/O: no clock, no socket, no callback. They are fed with `(now, event)` and answer with
//! packets to send and a next wake-up; the same machine runs in the simulator and over a socket.
//!
//! Reading order: [`Segment`], what travels; [`tcp::Sender`] and [`tcp::Receiver`]; below them [`RttEstimator`] and [`Pacer`].

mod pacer;
mod rtt;
mod segment;
pub mod tcp;

pub use pacer::Pacer;
pub use rtt::RttEstimator;
pub use segment::{Kind, Segment};
