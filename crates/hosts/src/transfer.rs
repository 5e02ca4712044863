//! What the application of a hosted flow does.

use narrows_scenario::Wish;

/// A transfer from the near end to the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Where the ends' randomness comes from.
    pub seed: u64,
    /// Bytes to transfer; `None` for no end.
    pub bytes: Option<u64>,
}

impl Transfer {
    /// A transfer without end.
    pub fn endless(seed: u64) -> Self {
        Self { seed, bytes: None }
    }
}

impl From<&Wish> for Transfer {
    fn from(wish: &Wish) -> Self {
        Self { seed: wish.seed, bytes: wish.bytes }
    }
}

/// Bytes of the far end's flow control, for a connection and for a stream: 16 MB, so that it is the
/// network that limits.
#[cfg(any(feature = "quinn", feature = "noq", feature = "smoltcp"))]
pub(crate) const WINDOW: u32 = 16 << 20;
