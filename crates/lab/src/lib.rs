//! Networks for the tests of a congestion controller: your stack, unpatched, over a bottleneck with
//! a small buffer, alone or beside others, in virtual time.
//!
//! A *stack* is a pair of [`Endpoint`]s, one for each end of a flow; crate `narrows-hosts` has such
//! pairs for several. [`Lab`] lays the network, [`Report`] says what happened, and
//! [`Report::expect`] ends the test if that is not so: with the seed, the path, and files of what
//! happened in `target/narrows`.
//!
//! ```
//! use narrows_lab::{Lab, Path};
//! # use narrows_hosts::smoltcp;
//!
//! let small = Path::new("20Mbps", "20ms", 1.0);
//! Lab::on(&small)
//!     .span(2.0, 8.0)
//!     .host("mine", |transfer| smoltcp::pair("reno", 1500, transfer))
//!     .run()
//!     .expect("half of the path", |report| report.utilisation > 0.5)
//!     .expect("few drops", |report| report.drops < 0.01);
//! ```
//!
//! Several seeds, and so a share of them, say more than one:
//!
//! ```
//! # use narrows_lab::{Lab, Path};
//! # use narrows_hosts::smoltcp;
//! let path: Path = "20Mbps 20ms 0.5bdp queue=codel".parse()?;
//! let mine = |transfer: &_| smoltcp::pair("reno", 1500, transfer);
//! let both = Lab::on(&path).span(1.0, 5.0).host("mine", mine);
//! both.native("cubic").run_seeds(4).expect("a tenth for CUBIC", 0.75, |report| {
//!     report.share("cubic") > 0.1
//! });
//! # Ok::<(), String>(())
//! ```
//!
//! `NARROWS_SEED=7 cargo test` runs under that seed alone.

mod artefacts;
mod conform;
mod html;
mod lab;
mod path;
mod report;
mod reports;

pub use conform::{Conform, Conformance};
pub use lab::Lab;
pub use narrows_conform::{Row, Verdict};
pub use narrows_scenario::{Results, Transfer};
pub use narrows_sim::{Endpoint, Told, Transmit};
pub use path::Path;
pub use report::{FlowReport, Report};
pub use reports::Reports;
