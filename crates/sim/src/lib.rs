//! The simulator. Reading order, which is one packet's life: [`traffic`] offers data, the sender of
//! `narrows-transport` lets a packet go, [`simulation`] carries it from [`link`] to link and to the
//! receiver, and its acknowledgement back; [`calendar`] says what is next; [`probe`] and [`measure`] watch.
//!
//! # Speed
//! A drop-tail queue decides on arrival, so a packet's departure is known at once, and a place that is fed by one
//! place only, in order, needs no event: what happens there is computed when the packet enters the place before it
//! ([`wiring`] finds these; the hop is *eager*). On a dumbbell that leaves two events a packet: the data at the
//! bottleneck and its acknowledgement at the reverse one.
//!
//! # Order
//! Events at equal times: arrivals before timers, then by path (twice the flow's number, and one more for the way
//! back). At a link, what departs at an instant has left for what arrives at that instant. At an endpoint, arrivals
//! come before timers. Nothing depends on memory or on the order of insertion, so eager and scheduled runs agree.

mod calendar;
mod link;
mod measure;
mod probe;
mod simulation;
mod traffic;
mod web;
mod wiring;

pub use link::{Jitter, LinkSettings, Loss};
pub use measure::{FlowSummary, Histogram, LinkSummary};
pub use probe::{LinkSeries, ReceiverSeries, SenderSeries};
pub use simulation::{Crossing, Settings, Simulation, Tap, TapPoint};
pub use traffic::{Application, Gap, Periods};
pub use web::{Transfer, WebSettings};
pub use wiring::{ControllerMaker, Endpoints, FlowSettings, LinkId, Network, NodeId, WiringError};
