//! Explicit congestion notification in the IP header (RFC 3168 §5, RFC 9331 §2).

/// The two ECN bits of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender does not understand marks, so a queue can only drop.
    #[default]
    NotCapable,
    /// ECT(0): the sender answers marks as it would losses.
    Capable,
    /// ECT(1): the sender slows down a little for each mark, and wants shallow queues (L4S).
    Scalable,
    /// CE: a queue met congestion.
    Marked,
}

impl Ecn {
    /// The bits after a queue has met congestion: CE if the sender is capable, else unchanged.
    pub const fn mark(self) -> Self {
        match self {
            Self::NotCapable => Self::NotCapable,
            Self::Capable | Self::Scalable | Self::Marked => Self::Marked,
        }
    }

    /// The two bits as a number: 0 for none, 1 for ECT(1), 2 for ECT(0), 3 for CE (RFC 3168 §5).
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0,
            Self::Scalable => 1,
            Self::Capable => 2,
            Self::Marked => 3,
        }
    }

    /// What the two bits say; `None` if there are more than two.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Self::NotCapable),
            1 => Some(Self::Scalable),
            2 => Some(Self::Capable),
            3 => Some(Self::Marked),
            _ => None,
        }
    }

    /// True if a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }
}
