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

mod calendar;
mod link;
mod measure;
mod packet;
mod probe;
mod simulation;
mod traffic;
mod watcher;
mod web;
mod wire;
mod wiring;

pub use link::LinkSettings;
pub use measure::{FlowSummary, Histogram, LinkSummary, PacketDelays};
pub use probe::{LinkSeries, ReceiverSeries, SenderSeries};
pub use simulation::{Crossing, Settings, Simulation, Tap, TapPoint};
pub use traffic::{Application, Gap, Periods};
pub use web::{FileSettings, Transfer, Usage, WebSettings};
pub use wire::{Jitter, Loss};
pub use wiring::{ControllerMaker, Endpoints, FlowSettings, LinkId, Network, NodeId, WiringError};
