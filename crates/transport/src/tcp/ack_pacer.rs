//! Pacing of acknowledgements: the receiver sends those of a round trip evenly over the next.
//!
//! A receiver knows neither window nor RTT. It measures both: the RTT by the stamps that data
//! echoes (RFC 7323 §4.3, as Linux's `tcp_rcv_rtt_measure_ts` does), and RTT/cwnd by the
//! acknowledgements that fell due in the last round trip.

use crate::Segment;
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// Holds acknowledgements back until it is their turn. None waits for longer than about a round
/// trip: the more wait, the shorter the gap.
#[derive(Clone, Debug, Default)]
pub(super) struct AckPacer {
    waiting: VecDeque<Segment>,
    ready_at: Time,
    /// Smoothed over eight samples; none before the first.
    rtt: Option<Duration>,
    /// When the round trip began, the acknowledgements due in it, and in the one before.
    round: Time,
    due: u32,
    due_before: u32,
}

impl AckPacer {
    /// Data arrived that echoes the stamp of the last acknowledgement its sender had seen.
    pub fn hear(&mut self, now: Time, data: &Segment) {
        if data.echoed_stamp == Time::ZERO {
            return;
        }
        let sample = now.since(data.echoed_stamp);
        let smoothed = |rtt: Duration| Duration::from_picos((rtt.picos() * 7 + sample.picos()) / 8);
        self.rtt = Some(self.rtt.map_or(sample, smoothed));
        if self.rtt.is_some_and(|rtt| now.since(self.round) >= rtt) {
            (self.round, self.due_before, self.due) = (now, self.due, 0);
        }
    }

    /// Takes an acknowledgement that is due, if there is one; returns the one that leaves now.
    pub fn pass(&mut self, now: Time, ack: Option<Segment>) -> Option<Segment> {
        if let Some(ack) = ack {
            self.due += 1;
            self.waiting.push_back(ack);
        }
        if now < self.ready_at {
            return None;
        }
        let mut ack = self.waiting.pop_front()?;
        ack.stamp = now;
        self.ready_at = now + self.gap();
        Some(ack)
    }

    /// When the next may leave; never if none waits.
    pub fn wakeup(&self) -> Time {
        if self.waiting.is_empty() { Time::NEVER } else { self.ready_at }
    }

    /// RTT/cwnd as measured, at least a picosecond; none before the first round trip is over.
    fn gap(&self) -> Duration {
        let packets = u64::from(self.due_before.max(self.due)).max(self.waiting.len() as u64);
        let rtt = self.rtt.filter(|_| self.due_before > 0).unwrap_or_default();
        Duration::from_picos((rtt.picos() / packets.max(1)).max(1))
    }
}
