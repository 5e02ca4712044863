//! What travels between endpoints.

use narrows_signal::SackBlocks;
use narrows_units::Time;

/// Whether a segment carries data or acknowledges some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One packet of data.
    Data,
    /// An acknowledgement.
    Ack,
}

/// One packet on the wire: plain data, less than a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Data: its sequence number, in packets from 0. Acknowledgement: the next number expected.
    pub number: u64,
    /// When it left its endpoint (RFC 7323's TSval).
    pub stamp: Time,
    /// Acknowledgement: the stamp of the data that it answers (RFC 7323's TSecr).
    pub echo: Time,
    /// Acknowledgement: what arrived above `number`.
    pub sack: SackBlocks,
    /// Size on the wire, headers included.
    pub bytes: u32,
    /// Data or acknowledgement.
    pub kind: Kind,
    /// Data: sent before, perhaps.
    pub retransmission: bool,
}
