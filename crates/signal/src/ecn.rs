//! Explicit congestion notification in the IP header (RFC 3168 §5).

/// The two bits of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender knows nothing of marks: a queue can only drop.
    #[default]
    NotCapable,
    /// ECT(0): the sender answers marks.
    Capable,
    /// CE: a queue met congestion.
    Marked,
}

impl Ecn {
    /// What a queue that meets congestion makes of it: CE where the sender is capable.
    pub const fn mark(self) -> Self {
        match self {
            Self::NotCapable => Self::NotCapable,
            Self::Capable | Self::Marked => Self::Marked,
        }
    }
}
