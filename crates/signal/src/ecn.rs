//! Explicit congestion notification in the IP header (RFC 3168 §5, RFC 9331 §2).

/// The two bits of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender knows nothing of marks: a queue can only drop.
    #[default]
    NotCapable,
    /// ECT(0): the sender answers marks as it would losses.
    Capable,
    /// ECT(1): the sender answers each mark a little, and wants shallow queues (L4S).
    Scalable,
    /// CE: a queue met congestion.
    Marked,
}

impl Ecn {
    /// What a queue that meets congestion makes of it: CE where the sender is capable.
    pub const fn mark(self) -> Self {
        match self {
            Self::NotCapable => Self::NotCapable,
            Self::Capable | Self::Scalable | Self::Marked => Self::Marked,
        }
    }

    /// True where a queue may mark it in place of a drop.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }
}
