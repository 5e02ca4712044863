//! Drop-tail: a packet that finds the queue full is dropped. The machine is [`Fifo`](crate::Fifo).

use crate::Discipline;
use crate::entry::Entry;
use narrows_settings::none;

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "drop-tail",
    aliases: &["pfifo", "bfifo"],
    summary: "drops packets that find it full; counts packets, the one in transmission included, \
              or bytes if the buffer is given in bytes",
    source: "ns-2's DropTail; tc's pfifo and bfifo",
    settings: none,
    construct: |_, _| Ok(Discipline::DropTail),
};
