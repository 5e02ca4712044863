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
    /// Smallest number such that all data from it to the TSN has been received (LE); the number
    /// after the TSN if that packet's data arrived damaged.
    pub left_edge: u32,
}

impl EtcpAck {
    /// Number of bits in the bitmap.
    pub const BITS: u64 = 32;

    /// An acknowledgement of a symbol of an erasure code, and `decoded` the symbol's block, if that
    /// can be decoded. It travels in place of LE and TSN: the block, and 1 in addition if it can.
    pub fn of_code(h_seq: u32, bitmap: u32, decoded: Option<u32>) -> Self {
        let (tsn, left_edge) = decoded.map_or((0, 0), |block| (block, 1));
        Self { h_seq, bitmap, tsn, left_edge }
    }

    /// An acknowledgement of a symbol of `block` that arrived damaged: 2 in place of LE.
    pub fn of_damaged_symbol(h_seq: u32, bitmap: u32, block: u32) -> Self {
        Self { h_seq, bitmap, tsn: block, left_edge: 2 }
    }

    /// The block of which a symbol arrived damaged, if this is the acknowledgement of one.
    pub fn damaged_symbol(&self) -> Option<u32> {
        (self.left_edge == 2).then_some(self.tsn)
    }

    /// The block that can be decoded, if the symbol acknowledged was of such a block.
    pub fn decoded(&self) -> Option<u32> {
        (self.left_edge == 1).then_some(self.tsn)
    }

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
