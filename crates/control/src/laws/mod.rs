//! The laws, one file each.

use crate::entry::Entry;

pub mod aimd;
pub mod ba;
pub mod bbr;
pub mod bbr1;
pub mod bbr2;
pub mod bic;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod etcp;
pub mod etcp_ecn;
pub mod etcp_rate;
pub mod etcp_sqrt;
pub mod etcp_unit;
pub mod fast;
pub mod gwa;
pub mod gwa_rate;
pub mod highspeed;
pub mod htcp;
pub mod illinois;
pub mod ledbat_plus_plus;
pub mod ltcp;
pub mod multcp;
pub mod prague;
pub mod reno;
pub mod scalable;
pub mod vegas;
pub mod westwood;
pub mod xcp;

/// Every law, by name.
pub(crate) static ALL: &[Entry] = &[
    aimd::LAW,
    ba::LAW,
    bbr::LAW,
    bbr1::LAW,
    bbr2::LAW,
    bic::LAW,
    compound::LAW,
    copa::LAW,
    cubic::LAW,
    dctcp::LAW,
    etcp::LAW,
    etcp_ecn::LAW,
    etcp_rate::LAW,
    etcp_sqrt::LAW,
    etcp_unit::LAW,
    fast::LAW,
    gwa::LAW,
    gwa_rate::LAW,
    highspeed::LAW,
    htcp::LAW,
    illinois::LAW,
    ledbat_plus_plus::LAW,
    ltcp::LAW,
    multcp::LAW,
    prague::LAW,
    reno::LAW,
    scalable::LAW,
    vegas::LAW,
    westwood::LAW,
    xcp::LAW,
];
