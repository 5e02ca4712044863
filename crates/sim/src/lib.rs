//! The simulator. Reading order, which is one packet's life: [`traffic`] offers data, the sender of
//! `narrows-transport` lets a packet go, [`simulation`] carries it from [`link`] to link and to the
//! receiver, and its acknowledgement back; [`calendar`] says what is next; [`probe`] and
//! [`measure`] watch.
//!
//! # Speed
//! A drop-tail queue decides on arrival, so a packet's departure is known at once, and a place that
//! is fed by one place only, in order, needs no event: what happens there is computed when the
//! packet enters the place before it ([`wiring`] finds these; the hop is *eager*). On a dumbbell
//! that leaves two events a packet: the data at the bottleneck and its acknowledgement at the
//! reverse one. A queue that decides on departure needs one event more for each packet that waits
//! in it.
//!
//! # Order
//! Events at equal times: transmitters that get free, then arrivals, then timers, then by path
//! (twice the flow's number, and one more for the way back), and transmitters by link. At a link,
//! what departs at an instant has left for what arrives at that instant. At an endpoint, arrivals
//! come before timers. Nothing depends on memory or on the order of insertion, so eager and
//! scheduled runs agree.

mod books;
mod calendar;
mod delays;
mod ends;
mod histogram;
mod link;
mod measured;
mod observer;
mod packet;
mod requests;
mod series;
mod simulation;
mod slab;
mod summary;
mod tap;
mod traffic;
mod wiring;

pub use delays::PacketDelays;
pub use histogram::Histogram;
pub use link::{Jitter, LinkSettings, Loss, Watch};
pub use requests::{FileSettings, PageSettings, Transfer, Usage};
pub use series::{LinkSeries, ReceiverSeries, SenderSeries};
pub use simulation::{RunSettings, Simulation};
pub use summary::{FlowSummary, LinkSummary};
pub use tap::{Crossing, Tap, TapPoint};
pub use traffic::{Application, ControllerMaker, Gap, Periods};
pub use wiring::{Endpoints, FlowSettings, LinkId, Network, NodeId, WiringError};
