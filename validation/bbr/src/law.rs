//! What both implementations have in common: what they are told, and what they show.

use narrows_units::Time;

/// Bytes of a packet, for the implementation that counts them.
pub const PACKET: u64 = 1500;

/// A packet that has left, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub number: u64,
    pub at: Time,
}

/// An acknowledgement that has arrived.
#[derive(Clone, Debug)]
pub struct Arrival<'a> {
    pub now: Time,
    /// Packets newly acknowledged, in order of transmission.
    pub acked: &'a [Sent],
    /// Packets that this acknowledgement shows to be lost, in order of transmission.
    pub lost: &'a [Sent],
    /// Packets in flight before it arrived.
    pub in_flight: usize,
    /// Number of the next packet to leave.
    pub next: u64,
    /// True if the first of the losses opens a recovery.
    pub opens_recovery: bool,
    /// True if a recovery is under way: a packet was lost, and none that left later has been
    /// acknowledged.
    pub recovering: bool,
    /// True if the application had nothing to send when the sender last could have sent.
    pub app_limited: bool,
}

/// A BBR.
pub trait Law {
    /// A packet leaves; `in_flight` packets are in flight with it.
    fn departs(&mut self, packet: Sent, in_flight: usize);
    /// An acknowledgement arrives.
    fn arrives(&mut self, arrival: &Arrival);
    /// The window is full.
    fn is_full(&mut self);
    /// A packet could leave but there is none.
    fn has_nothing(&mut self, in_flight: usize);
    /// Everything that was thought lost in the last recovery has arrived.
    fn was_spurious(&mut self);
    /// Packets.
    fn window(&self) -> f64;
    /// Packets per second.
    fn rate(&self) -> f64;
    /// What it says of itself.
    fn shows(&self) -> Shown;
}

/// What a BBR knows, under the draft's names; packets, packets per second, milliseconds. What there
/// is no bound on is infinite.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub state: &'static str,
    pub pacing_gain: f64,
    pub max_bw: f64,
    pub bw: f64,
    pub min_rtt: f64,
    pub inflight_longterm: f64,
    pub inflight_shortterm: f64,
    pub window: f64,
}

/// The states, in the order of `narrows_control::laws::bbr::State`.
pub const STATES: [&str; 7] = ["Startup", "Drain", "DOWN", "CRUISE", "REFILL", "UP", "ProbeRTT"];
