//! The simulator. The reading order follows one packet's life: [`traffic`] offers data, the sender
//! of `narrows-transport` lets a packet go, and [`simulation`] carries it from [`link`] to link and
//! to the receiver, and its acknowledgement back. [`calendar`] tells which event is next;
//! [`observer`], [`series`] and [`summary`] record what happens.
//!
//! ```
//! use narrows_sim::Histogram;
//!
//! let mut queue = Histogram::default();
//! queue.extend([1, 2, 3, 4].into_iter());
//! assert_eq!(queue.mean(), 2.5);
//! ```
//! A run is described and begun more easily with `narrows-scenario`.
//!
//! # Speed
//! A drop-tail queue decides on arrival, so a packet's departure is known at once. A hop that
//! receives packets from only one other hop, in order, needs no event: what happens there is
//! computed when the packet enters the hop before it. Such a hop is called *eager*; [`wiring`]
//! finds them. On a dumbbell that leaves two events per packet: the data at the bottleneck, and its
//! acknowledgement at the bottleneck of the reverse direction. A queue that decides on departure
//! needs one more event for each packet that waits in it.
//!
//! # Order
//! Events at equal times are ordered by kind: arrivals, then timers; transmitters that become free
//! come before or after both. At a link, a packet that departs at an instant has left or not when
//! another arrives at that instant, and of several that arrive any may be the first: lots drawn
//! from the time decide ([`narrows_units::ties`]), as an order that never changes would lock flows
//! out wherever links of equal rates keep their packets in step. Timers are ordered by path (twice
//! the flow's number, plus one for the way back). At an endpoint, arrivals come before timers.
//! Nothing depends on memory addresses or on the order of insertion, so eager and scheduled runs
//! agree.

mod books;
mod browser;
mod calendar;
mod delays;
mod due_answers;
mod ends;
mod histogram;
mod host;
mod hosted;
mod lane;
mod link;
mod making;
mod measured;
mod observer;
mod packet;
mod pool;
mod prefetch;
mod requests;
mod series;
mod simulation;
mod sizes;
mod slab;
mod summary;
mod tap;
mod traffic;
mod wiring;

pub use browser::Browsing;
pub use delays::PacketDelays;
pub use histogram::Histogram;
pub use host::{Cpu, HostSettings, Stalls};
pub use hosted::{End, EndSummary, Endpoint, Exchanged, Told, Transmit};
pub use link::{
    Act, Admits, Cargo, Carried, Every, Hold, Jitter, Line, Link, LinkSettings, Loss, Memory,
    MemoryPort, MemorySettings, Policer, Script, ScriptLine, Varying, Watch,
};
pub use making::{Frames, Making};
pub use measured::Measured;
pub use pool::{Arrivals, Overrun};
pub use requests::{FileSettings, PageSettings, QuerySettings, Transfer, Usage};
pub use series::{LinkSeries, ReceiverSeries, SenderSeries};
pub use simulation::{Glimpse, RunSettings, Simulation};
pub use sizes::{Knot, Sizes};
pub use summary::{FlowSummary, HostedSummary, LinkSummary};
pub use tap::{Crossing, EndTap, Tap, TapPoint};
pub use traffic::{Application, ControllerMaker, Datagrams, Gap, Offer, Periods, Served};
pub use wiring::{
    Ahead, Endpoints, FlowSettings, HostedEnds, LinkId, Network, NodeId, WiringError,
};
