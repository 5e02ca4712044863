//! What of an E-TCP sender's data leaves next, and what is done about what is lost.

use super::coding::Symbol;
use super::reliability::RetransmissionQueue;
use super::sender::Sender;
use crate::{Header, Segment};
use narrows_control::Pacing;
use narrows_units::Time;

impl Sender {
    /// Returns the number of the data that leaves, whether it makes up for a loss, and the symbol
    /// that it is, if it is coded.
    pub(super) fn take_number(&mut self) -> (u64, bool, Option<Symbol>) {
        if let Some(code) = &mut self.code
            && let Some((symbol, first)) = code.next(self.offered)
        {
            let packet = if symbol.is_repair() { 0 } else { u64::from(symbol.number) };
            return (first + packet, symbol.is_repair(), Some(symbol));
        }
        let Some(queue) = &mut self.queue else {
            self.next_number += 1;
            return (self.next_number - 1, false, None);
        };
        match queue.next_lost() {
            Some(number) => {
                queue.send_again(number);
                (number, true, None)
            }
            None => (queue.send_new(), false, None),
        }
    }

    pub(super) fn next_new(&self) -> u64 {
        if let Some(code) = &self.code {
            return code.end();
        }
        self.queue.as_ref().map_or(self.next_number, RetransmissionQueue::end)
    }

    pub(super) fn has_data(&mut self) -> bool {
        let lost = self.queue.as_mut().is_some_and(|queue| queue.next_lost().is_some());
        let lacking = self.code.as_mut().is_some_and(|code| code.needs_repair());
        lost || lacking || self.next_new() < self.offered
    }

    /// True if a packet may leave although earlier ones are unanswered: the window limits only the
    /// first packets, before there is a pacing rate.
    pub(super) fn may_leave_unanswered(&self) -> bool {
        let unanswered = self.signalling.outstanding().saturating_sub(self.written_off);
        let has_pace =
            self.rtt.estimate().is_some() && *self.congestion.pacing() != Pacing::Unpaced;
        has_pace || (unanswered as f64) < self.congestion.window()
    }

    /// Handles the part of an acknowledgement that concerns reliable delivery.
    pub(super) fn deliver(&mut self, now: Time, ack: &Segment) {
        let Header::EtcpAck(fields) = &ack.header else { return };
        if let Some(code) = &mut self.code {
            code.on_ack(ack.number, fields.decoded());
            if let Some(block) = fields.damaged_symbol() {
                code.on_damage(block);
            }
            self.timers.data =
                if code.is_empty() { Time::NEVER } else { now + self.rtt.timeout(&self.timeouts) };
        }
        let Some(queue) = &mut self.queue else { return };
        let first = queue.first();
        let (left_edge, tsn) = fields.block(ack.number);
        if left_edge > tsn {
            queue.on_damage(tsn);
        }
        queue.on_ack(ack.number, left_edge, tsn);
        if queue.is_empty() {
            self.timers.data = Time::NEVER;
        } else if queue.first() > first {
            self.timers.data = now + self.rtt.timeout(&self.timeouts);
        }
    }
}
