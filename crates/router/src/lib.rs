//! Queue disciplines, and routers that talk to senders; generic over the packet.
//!
//! A [`Fifo`] decides on arrival, so that a packet's departure is known as soon as the packet
//! arrives; [`OnArrival`] judges the arrivals first if the discipline does more than drop the tail.
//! [`OnDeparture`] holds packets until it is asked for the next. The [`queues`] are built from
//! [`parts`], and [`registry`] lists them all.
//!
//! ```
//! use narrows_router::{Fifo, Limit};
//! use narrows_units::{Duration, Rate, Time};
//!
//! let mut queue = Fifo::new(Rate::from_megabits(12), Limit::Packets(2));
//! let departs = queue.offer(Time::ZERO, 1500).expect("there is room");
//! assert_eq!(departs.since(Time::ZERO), Duration::from_millis(1));
//! assert!(queue.offer(Time::ZERO, 1500).is_some());
//! assert!(queue.offer(Time::ZERO, 1500).is_none(), "the third finds no room");
//! ```

mod departure;
mod discipline;
mod entry;
mod fifo;
mod limit;
mod packet;
pub mod parts;
pub mod queues;
pub mod registry;
mod server;
pub mod service;
mod transmitter;

pub use discipline::{Discipline, Machine, OnArrival, OnDeparture};
pub use fifo::Fifo;
pub use limit::{Limit, Room};
pub use packet::{Backlog, Packet, Verdict};
pub use parts::{Drops, FlowCount, FlowCountSettings, TimedQueue};
pub use server::Server;
pub use transmitter::Transmitter;
