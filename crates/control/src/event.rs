//! What the transport tells a controller. For one arriving acknowledgement: the [`Loss`]es it reveals, then the [`Ack`].

use narrows_units::{Duration, Time};

/// The round-trip time as the transport knows it, brought up to date before each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// The newest sample.
    pub latest: Duration,
    /// The moving average of RFC 6298.
    pub smoothed: Duration,
    /// The smallest sample so far.
    pub minimum: Duration,
    /// The largest sample so far.
    pub maximum: Duration,
}

/// Packets have been acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When the acknowledgement arrived.
    pub now: Time,
    /// Packets newly acknowledged, cumulatively or selectively.
    pub packets: f64,
    /// Number of the newest transmission that has been answered.
    pub newest: u64,
    /// Number of the next transmission to leave.
    pub next: u64,
    /// The round-trip time; `None` until there is a sample.
    pub rtt: Option<Rtt>,
    /// True where this acknowledgement brought a fresh sample.
    pub rtt_is_fresh: bool,
    /// Packets in flight after this acknowledgement.
    pub in_flight: f64,
    /// True where the window, not the application or the receiver, held the sender back.
    pub window_limited: bool,
    /// True while a recovery epoch is under way, or data arrives out of order and one may begin: laws keep still
    /// (RFC 5681 §3.1 grows for acknowledgements that advance).
    pub recovering: bool,
}

/// One packet has been lost; told in order of transmission.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When the loss was noticed.
    pub now: Time,
    /// Number of the transmission that was lost.
    pub transmission: u64,
    /// Number of the next transmission to leave.
    pub next: u64,
    /// True for the first loss of a recovery epoch.
    pub opens_epoch: bool,
    /// Packets in flight when the lost one left, itself included.
    pub in_flight: f64,
    /// The round-trip time; `None` until there is a sample.
    pub rtt: Option<Rtt>,
}
