//! A described experiment -> a checked one -> a built simulation -> results as Arrow tables.
//!
//! One set of serde types and one validation serve TOML files, Python and the browser:
//! [`Scenario::from_toml`] or [`Scenario::from_json`], then [`Checked::new`], then [`run()`].
//!
//! # Examples
//!
//! ```
//! use narrows_scenario::{Checked, Scenario, run};
//! use std::ops::ControlFlow;
//!
//! let text = "
//!     duration = '10s'
//!     [dumbbell]
//!     rate = '20Mbps'
//!     rtt = '40ms'
//!     buffer = '1bdp'
//!     [[flows]]
//!     cc = 'cubic'
//!     count = 2
//! ";
//! let checked = Checked::new(Scenario::from_toml(text)?)?;
//! let results = run(&checked, checked.seed, None, |_| ControlFlow::Continue(()));
//! let results = results.expect("nobody stops it");
//! assert!(results.bottleneck().summary.utilisation > 0.9);
//! assert!(results.jain > 0.5);
//! # Ok::<(), narrows_scenario::ScenarioError>(())
//! ```

mod application;
mod arrivals;
mod build;
mod checked;
mod connection;
mod controller_spec;
mod courses;
mod effort;
mod engine;
mod error;
mod expectations;
mod fields;
#[cfg(feature = "parquet")]
mod files;
mod fingerprint;
mod flow;
mod groups;
mod host;
mod hosted;
mod law;
mod link;
mod memories;
mod memory;
mod metrics;
mod network;
mod offered;
mod own;
mod queue_spec;
mod reading;
mod real;
mod remarks;
mod results;
mod run;
mod running;
mod scenario;
mod sizes;
mod stack;
mod super_packets;
#[cfg(feature = "tables")]
mod tables;
mod traces;
mod transfers;
mod unfinished;
mod varying;
mod warnings;

pub use checked::Checked;
pub use connection::decided_by;
pub use controller_spec::ControllerSpec;
pub use engine::engine;
pub use error::{RunError, ScenarioError};
pub use expectations::{Expectation, Expectations, Other, Side};
#[cfg(feature = "parquet")]
pub use files::{parquet, small_parquet};
pub use fingerprint::{Fingerprint, History};
pub use flow::{CheckedFlow, Headers, PacketSize};
pub use groups::{GroupResult, Queries, SizeClass, Spread, Taken};
pub use law::{Law, OwnLaw};
pub use link::CheckedLink;
pub use memory::available as available_memory;
pub use metrics::{Kind, Metric, metrics};
pub use offered::Offered;
pub use own::Own;
pub use queue_spec::QueueSpec;
pub use real::{Available, RealFlow, RealLaw, RealSends, SteeringLaw, real_flows};
pub use results::{
    FlowResult, FlowSeries, LawSeries, LinkResult, LinkSeries, Observed, Results, assemble,
};
pub use run::{run, run_tapped};
pub use running::{FlowMoment, GroupMoment, LinkMoment, Moment, Place, Running, Stepped, Steps};
pub use scenario::{
    App, Arrivals, Background, Chain, ChainLink, Change, Datagrams, Dumbbell, Expect, Expected,
    Files, Flow, Host, HostField, HostName, Incast, Link, LinkName, Memory, Offer, PacingName,
    ParkingLot, PeriodsName, Reference, Scenario, Seeds, SlowStartName, Stall, TcpName, Trace, Web,
};
pub use stack::{Stack, StackEnds, Transfer, Wish};
#[cfg(feature = "tables")]
pub use tables::{FORMAT, TABLES, row, table};
pub use transfers::Transfers;
pub use unfinished::write_whole;
pub use warnings::Warning;

/// The presets by name, with one line each and the source: for `narrows list`.
pub const PRESETS: [(&str, &str, &str); 3] = [
    (
        "dumbbell",
        "one bottleneck; each flow has hosts and access links of its own",
        "RFC 5166 §2; tcpeval",
    ),
    (
        "parking_lot",
        "equal bottlenecks in a row; flows over all of them or over a part",
        "RFC 5166 §2; tcpeval",
    ),
    ("chain", "different links in a row", "tcpeval"),
];
