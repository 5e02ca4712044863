//! The data of a QUIC sender, and what of it may leave next.

use super::sender::{Next, Sender};
use super::timer::PROBES;
use crate::Reassembly;
use std::collections::VecDeque;

/// The stream of a sender.
#[derive(Default)]
pub(super) struct Outgoing {
    /// Data of lost packets, which leaves again unless it arrives after all.
    pub again: VecDeque<u64>,
    /// Data known to have arrived.
    pub delivered: Reassembly,
    /// The next data that has never left, and one past all that has been offered.
    pub end: u64,
    pub offered: u64,
}

impl Outgoing {
    /// Whether all that was offered has left.
    pub fn has_all_left(&self) -> bool {
        self.end >= self.offered
    }
}

impl Sender {
    /// Decides what may leave next. Lost data goes before new data; a probe prefers them to data
    /// that is under way (§6.2.4).
    pub(super) fn next(&mut self) -> Next {
        while let Some(data) = self.data.again.front()
            && self.data.delivered.contains(*data)
        {
            self.data.again.pop_front();
        }
        let lost = self.data.again.front().copied();
        let (data, again) = match lost {
            Some(data) => (data, true),
            None if self.data.end < self.sendable() => (self.data.end, false),
            None if self.timer.probes > 0 => {
                let skipped = (PROBES - self.timer.probes) as usize;
                let Some(data) = self.packets.unacknowledged(self.timer.probes_for).nth(skipped)
                else {
                    self.timer.probes = 0;
                    return Next::WaitForData;
                };
                (data, true)
            }
            None => return Next::WaitForData,
        };
        // §7: not if the window would be exceeded, unless as a probe (§7.5) or on entering recovery
        // (§7.3.2).
        let free = self.timer.probes > 0 || self.repair.begins && again;
        if free || (self.packets.in_flight() + 1) as f64 <= self.limit().max(1.0) {
            Next::Data { data, again }
        } else {
            Next::WaitForWindow
        }
    }

    /// One past the highest data that the application and the receiver's window let leave
    /// (MAX_STREAM_DATA; RFC 9000, §4.1).
    pub(super) fn sendable(&self) -> u64 {
        let limit = self.data.delivered.next().saturating_add(self.settings.window_limit as u64);
        self.data.offered.min(limit)
    }

    /// The application or the receiver's window is the limit (§7.8).
    pub(super) fn wait_for_data(&mut self) {
        self.is_full = (self.packets.in_flight() + 1) as f64 > self.limit();
        if self.data.has_all_left() {
            self.congestion.application_limits(self.packets.in_flight());
        }
    }
}
