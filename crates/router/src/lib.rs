//! Queue disciplines. A [`Fifo`] decides on arrival, so that a packet's departure is known as soon as it comes.

mod drop_tail;
mod fifo;

pub use drop_tail::DropTail;
pub use fifo::{Backlog, Fifo};

/// The queues by name, with one line each and the source: for the parser and `narrows list`.
pub const QUEUES: [(&str, &str, &str); 3] = [
    ("drop-tail", "holds so many packets, the one in transmission included; drops what finds it full", "ns-2's DropTail; tc's pfifo"),
    ("drop-tail-bytes", "the same, counted in bytes: a buffer given in bytes (30kB)", "tc's bfifo"),
    ("unlimited", "never drops: a host's own link, unless it is given a buffer", "design.md"),
];
