//! What queues are made of.

mod flow_count;
mod timed_queue;

pub use flow_count::{FlowCount, FlowCountSettings};
pub use timed_queue::{Drops, TimedQueue};
