//! What an E-TCP acknowledgement carries (E-TCP, §III-B, §IV). Sequence numbers are 32 bits on the
//! wire and wrap around.

use crate::serial;

/// The fields of an acknowledgement; the cumulative one (CACK) travels as the segment's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EtcpAck {
    /// Highest congestion-control sequence number ever received (h_seq).
    pub h_seq: u32,
    /// Bit k is set if h_seq − 1 − k has been received.
    pub bitmap: u32,
    /// Number of the data in the packet that triggered this acknowledgement (TSN).
    pub tsn: u32,
    /// Smallest number such that all data from it to the TSN has been received (LE).
    pub left_edge: u32,
}

impl EtcpAck {
    /// Number of bits in the bitmap.
    pub const BITS: u64 = 32;

    /// h_seq as a 64-bit number: the one nearest to `near`.
    pub fn highest(&self, near: u64) -> u64 {
        serial::unwrap(self.h_seq, near)
    }

    /// First and last number of the data from LE to TSN, in 64 bits: the TSN is taken nearest to
    /// `near`.
    pub fn block(&self, near: u64) -> (u64, u64) {
        let tsn = serial::unwrap(self.tsn, near);
        (serial::unwrap(self.left_edge, tsn), tsn)
    }
}
