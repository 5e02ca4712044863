//! Queue disciplines and the routers that speak, generic over the packet.
//!
//! A [`Fifo`] decides on arrival, with [`OnArrival`] beside it where it does more than drop the
//! tail, so that a packet's departure is known as soon as it comes. [`OnDeparture`] holds packets
//! until it is asked for the next.

mod ba;
mod codel;
mod discipline;
mod drop_tail;
mod dual_pi2;
mod fifo;
mod flow_count;
mod fq_codel;
mod gwa;
mod packet;
mod pie;
mod red;
pub mod registry;
mod round_robin;
mod timed_queue;
mod xcp;

pub use ba::{Ba, BaQueue};
pub use codel::{Codel, CodelSettings};
pub use discipline::{Discipline, OnArrival, OnDeparture};
pub use drop_tail::DropTail;
pub use dual_pi2::{DualPi2, DualPi2Settings};
pub use fifo::Fifo;
pub use flow_count::{FlowCount, FlowCountSettings};
pub use fq_codel::{FqCodel, FqCodelSettings};
pub use gwa::{Gwa, GwaQueue};
pub use packet::{Backlog, Packet, Verdict};
pub use pie::{Pie, PieQueue};
pub use red::{Red, RedQueue};
pub use round_robin::RoundRobin;
pub use timed_queue::{Drops, TimedQueue};
pub use xcp::{Xcp, XcpQueue};
