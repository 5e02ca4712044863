//! Networks as written: the presets, and links between named nodes.

use super::background::Background;
use super::presets::LinkName;
use super::varying::{Change, Handovers, Hold, Outage, Policer, ScriptLine, Shaper};
use super::written::written;
use narrows_units::{Buffer, Bytes, Duration, Probability, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every link has in common, whether a preset's or of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LinkFields {
    pub rate: Option<Rate>,
    pub buffer: Option<Buffer>,
    pub options: LinkOptions,
}

impl LinkFields {
    /// The way back of a link that shares a memory: it begins at another switch.
    pub fn without_memory(mut self) -> Self {
        (self.options.memory, self.options.reserved) = (None, None);
        self
    }
}

/// What may be said of every link besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LinkOptions {
    pub queue: Option<String>,
    pub mark: Option<Buffer>,
    pub loss: Option<Probability>,
    pub loss_burst: Option<f64>,
    pub jitter: Option<Duration>,
    pub reorder: Option<bool>,
    pub mtu: Option<Bytes>,
    pub super_packets: Option<bool>,
    pub changes: Vec<Change>,
    pub repeat: Option<Duration>,
    pub outages: Vec<Outage>,
    pub handovers: Option<Handovers>,
    pub trace: Option<String>,
    pub hold: Option<Hold>,
    pub policer: Option<Policer>,
    pub shaper: Option<Shaper>,
    pub script: Vec<ScriptLine>,
    pub memory: Option<String>,
    pub reserved: Option<Bytes>,
}

written! {
    /// Memory of a switch that the queues of several links share: each may hold `alpha` times what
    /// is free (Choudhury and Hahne, 1998).
    pub struct Memory {
        required {
            /// What links call it.
            name: String,
            /// Its size, like "16MB".
            bytes: Bytes,
        }
        optional {
            /// How many times what is free a queue may hold (a ratio); 1 unless given.
            alpha: f64,
            /// Packets take whole cells of so many bytes; "1B" unless given. Broadcom's Trident+
            /// has "208B".
            cell: Bytes,
            /// What ports of which nothing else is said hold of it, like "2MB", or from which time
            /// on they do: [["0s", "2MB"], ["5s", "9MB"]].
            background: Background,
        }
    }
}

written! {
    /// The preset `dumbbell`: routers "left" and "right", the links "bottleneck" and "reverse"
    /// between them. The link's fields are the bottleneck's.
    ///
    /// Each access link takes a twentieth of the RTT one way, the bottleneck the rest.
    pub struct Dumbbell {
        required {}
        optional {
            /// A link that is known by name, which has all that is not given here: "lte",
            /// "starlink", "geo", "wifi", "cable", "mars".
            link: LinkName,
            /// Base round-trip time of the first flow, without queues and transmission.
            rtt: Duration,
            /// Each further flow's RTT is longer by this.
            rtt_step: Duration,
            /// The way back, where it is not as the way there, or not as the plain link that it is
            /// if no data flows that way.
            reverse: WayBack,
            /// The rate of the access links; "100Gbps" unless given.
            access_rate: Rate,
        }
        link
    }
}

written! {
    /// The way back of a preset. Its rate is that of the way there unless given.
    pub struct WayBack {
        required {}
        optional {}
        link
    }
}

written! {
    /// The preset `parking_lot`: equal links "link1", "link2", … in a row. A flow goes over all, or
    /// `over` a part. The link's fields are those of each, both ways; "bdp" is of the RTT over all
    /// of them.
    pub struct ParkingLot {
        required {
            /// The number of bottlenecks.
            hops: u32,
            /// One-way delay of each.
            delay: Duration,
        }
        optional {
            /// One-way delay of each access link.
            access_delay: Duration,
            /// The rate of the access links; "100Gbps" unless given.
            access_rate: Rate,
        }
        bounded_link
    }
}

written! {
    /// The preset `chain`: the given links in a row, "link1", "link2", … A flow goes over all, or
    /// `over` a part.
    pub struct Chain {
        required {
            /// The links, the same in both directions.
            hops: Vec<ChainLink>,
        }
        optional {
            /// One-way delay of each access link.
            access_delay: Duration,
            /// The rate of the access links; "100Gbps" unless given.
            access_rate: Rate,
        }
    }
}

written! {
    /// A link of a chain.
    pub struct ChainLink {
        required {
            /// Its one-way delay.
            delay: Duration,
        }
        optional {}
        bounded_link
    }
}

written! {
    /// A link of a general network. Its buffer is unlimited unless given.
    pub struct Link {
        required {
            /// The node where it begins.
            from: String,
            /// The node where it ends.
            to: String,
            /// One-way delay.
            delay: Duration,
        }
        optional {
            /// Its name; "from-to" unless given.
            name: String,
            /// Whether there is the same link the other way; there is unless false.
            duplex: bool,
            /// Whether it is the network card of the host at `from`, with its queue (Linux's
            /// txqueuelen): TCP there is told when that is full, keeps its packet, and takes it for
            /// congestion, as Linux does; the packet is dropped unless true.
            device: bool,
        }
        link
    }
}
