//! What an acknowledgement delivers, put together packet by packet by every transport.

use narrows_units::Time;

/// What an acknowledgement newly acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Packets acknowledged for the first time, cumulatively or selectively.
    pub packets: u64,
    /// Number of the newest transmission among them.
    pub newest: u64,
    /// Sequence number of the packet that this transmission carried.
    pub newest_number: u64,
    /// When it left.
    pub newest_sent: Time,
    /// Packets in flight when it had left, itself included.
    pub newest_in_flight: u32,
    /// The newest transmission that is proven to have arrived, unlike an original that may have
    /// been delivered instead of its retransmission (RFC 8985 §6.2, step 2).
    pub proof: Option<Proof>,
    /// The lowest packet among them that was sent only once.
    pub lowest_original: Option<u64>,
    /// When the earliest of those had left.
    pub original_sent: Option<Time>,
}

/// A transmission that has arrived, and when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The number of the transmission.
    pub transmission: u64,
    /// When it left.
    pub sent: Time,
}

impl Delivered {
    /// Adds the packet `number`, whose latest transmission left at `sent` with `in_flight` packets
    /// in flight, itself included.
    #[inline]
    pub fn add(&mut self, number: u64, transmission: u64, sent: Time, in_flight: u32) {
        self.packets += 1;
        if transmission >= self.newest {
            (self.newest, self.newest_number) = (transmission, number);
            (self.newest_sent, self.newest_in_flight) = (sent, in_flight);
        }
    }
}
