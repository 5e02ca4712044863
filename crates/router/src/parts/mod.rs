//! What queues are made of.

mod flow_count;
mod hash;
mod timed_queue;
mod turns;

pub use flow_count::{FlowCount, FlowCountSettings};
pub use hash::place;
pub use timed_queue::{Drops, TimedQueue};
pub use turns::Turns;
