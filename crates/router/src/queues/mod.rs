//! The queues, one file each.

mod ba;
mod cnq_codel_af;
mod codel;
mod drop_tail;
mod dual_pi2;
mod fq;
mod fq_codel;
mod gwa;
mod pie;
mod red;
mod round_robin;
mod xcp;

pub use ba::{Ba, BaSettings};
pub use cnq_codel_af::{CnqCodelAf, CnqCodelAfSettings};
pub use codel::{Codel, CodelOptions, CodelSettings, CodelState};
pub use dual_pi2::{DualPi2, DualPi2Options, DualPi2Settings};
pub use fq::{Fq, FqSettings};
pub use fq_codel::{FqCodel, FqCodelOptions, FqCodelSettings};
pub use gwa::{AdvertisedRoom, Gwa, GwaSettings};
pub use pie::{Pie, PieSettings};
pub use red::{Red, RedOptions, RedSettings};
pub use round_robin::RoundRobin;
pub use xcp::{Xcp, XcpOptions, XcpSettings};

use crate::entry::Entry;

/// Every queue, by name.
pub(crate) static ALL: &[Entry] = &[
    ba::QUEUE,
    cnq_codel_af::QUEUE,
    codel::QUEUE,
    drop_tail::QUEUE,
    dual_pi2::QUEUE,
    fq::QUEUE,
    fq_codel::QUEUE,
    gwa::FIRST_IN_FIRST_OUT,
    gwa::ROUND_ROBIN,
    pie::QUEUE,
    red::QUEUE,
    round_robin::QUEUE,
    xcp::QUEUE,
];
