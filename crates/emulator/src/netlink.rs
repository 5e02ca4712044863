//! The one thing about a device that has no ioctl.

use crate::sys;
use std::io::{Error, ErrorKind, Result};

/// The flags of a request that wants an answer.
const REQUEST_WITH_ANSWER: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
/// Bytes of `struct nlmsghdr` and `struct ifinfomsg`.
const HEADER: usize = 16;
const LINK: usize = 16;
/// Bytes of the attribute.
const ATTRIBUTE: usize = 8;

/// The device `name` of the calling thread's namespace gets no segment larger than a packet, so
/// that TCP's pacing spaces packets and not bursts.
pub(crate) fn one_segment_at_once(name: &str) -> Result<()> {
    let message = message(sys::device_index(name)?);
    let mut answer = [0_u8; 1024];
    let length = sys::ask_netlink(libc::NETLINK_ROUTE, &message, &mut answer)?;
    // An answer is a header and, if its type is NLMSG_ERROR, the negative error.
    let word = |place: usize| answer.get(place..place + 4).and_then(|it| it.try_into().ok());
    match word(HEADER).map(i32::from_ne_bytes).filter(|_| length >= HEADER + 4) {
        Some(0) => Ok(()),
        Some(error) => Err(Error::from_raw_os_error(-error)),
        None => Err(Error::new(ErrorKind::InvalidData, "a short answer of netlink")),
    }
}

fn message(index: u32) -> Vec<u8> {
    let length = (HEADER + LINK + ATTRIBUTE) as u32;
    let mut bytes = Vec::with_capacity(length as usize);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(libc::RTM_NEWLINK.to_ne_bytes());
    bytes.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    // Number of the request, and who asks; one is enough for both.
    bytes.extend([0; 8]);
    // Family and type, the index, flags and which of them change.
    bytes.extend([0; 4]);
    bytes.extend(index.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend((ATTRIBUTE as u16).to_ne_bytes());
    bytes.extend(libc::IFLA_GSO_MAX_SEGS.to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes());
    bytes
}
