//! Runs a scenario in real time: its flows are connections of this machine's kernel between two
//! network namespaces, and the bottleneck between them is this process, with the queues of the
//! `router` room.
//!
//! Linux only; needs root or CAP_SYS_ADMIN and CAP_NET_ADMIN, and `/dev/net/tun`. Nothing outside
//! its own two namespaces is touched: they have no names, and vanish with the process.
//!
//! Reading order: [`Port`], a queue in front of a transmitter, for any packet; [`lab()`], a run.
//!
//! ```
//! let missing = narrows_emulator::doctor().into_iter().filter(|it| it.is_needed && !it.is_there);
//! for check in missing {
//!     println!("{}: {}", check.name, check.told);
//! }
//! ```

mod clock;
mod connection;
mod diag;
mod doctor;
mod frame;
pub mod kernel;
mod lab;
mod laws;
mod namespace;
mod netlink;
mod port;
mod samples;
mod standing;
mod sys;
mod timing;
mod window;
mod wire;

pub use diag::{Known, connections};
pub use doctor::{Check, doctor};
pub use lab::{LabError, Lateness, Measured, lab, lab_logged};
pub use laws::Join;
pub use port::Port;
pub use standing::{Between, Standing, Way, become_root, enter, stand};
pub use timing::{HostTiming, measure_host};
pub use wire::Crossed;
