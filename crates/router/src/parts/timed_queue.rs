//! First in, first out, with the time at which each packet arrived.

use crate::{Backlog, Packet};
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// Packets that wait for their departure to be decided.
#[derive(Clone, Debug)]
pub struct TimedQueue<P> {
    packets: VecDeque<(Time, P)>,
    backlog: Backlog,
}

/// Packets that a queue dropped: a buffer that is reused.
pub type Drops<P> = Vec<P>;

impl<P> Default for TimedQueue<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), backlog: Backlog::default() }
    }
}

impl<P: Packet> TimedQueue<P> {
    /// Adds a packet that arrives at `now`.
    pub fn push(&mut self, now: Time, packet: P) {
        self.backlog.add(&packet);
        self.packets.push_back((now, packet));
    }

    /// Removes the oldest packet; returns it with the time at which it arrived.
    pub fn pop(&mut self) -> Option<(Time, P)> {
        let (since, packet) = self.packets.pop_front()?;
        self.backlog.remove(&packet);
        Some((since, packet))
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// How long the oldest packet has waited at `now`; zero if none waits.
    pub fn delay(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |(since, _)| now.since(*since))
    }

    /// Bytes of the oldest packet.
    pub fn head_bytes(&self) -> Option<u32> {
        self.packets.front().map(|(_, packet)| packet.bytes())
    }
}
