//! Queue disciplines and the routers that speak, generic over the packet.
//!
//! A [`Fifo`] decides on arrival, with [`OnArrival`] beside it if it does more than drop the tail,
//! so that a packet's departure is known as soon as it comes. [`OnDeparture`] holds packets until
//! it is asked for the next. The [`queues`] are made of [`parts`]; [`registry`] names them all.

mod discipline;
mod fifo;
mod limit;
mod packet;
pub mod parts;
pub mod queues;
pub mod registry;
mod transmitter;

pub use discipline::{Discipline, Machine, OnArrival, OnDeparture};
pub use fifo::Fifo;
pub use limit::{Limit, Room};
pub use packet::{Backlog, Packet, Verdict};
pub use parts::{Drops, FlowCount, FlowCountSettings, TimedQueue};
pub use transmitter::Transmitter;
