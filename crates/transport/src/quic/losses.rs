//! What is lost, and what that does to the window (RFC 9002, appendices A.10 and B.8).

use super::persistent::LossRun;
use super::sender::Sender;
use super::sent_packets::SentPacket;
use crate::congestion::Lost;
use narrows_control::Timeout;
use narrows_units::Time;

/// Packets that are neither lost nor acknowledged after persistent congestion, as a controller
/// hears of it: it sets its window to one more, which makes kMinimumWindow, two packets (RFC 9002,
/// §7.2).
const AFTER_PERSISTENT: f64 = 1.0;

/// The repair of losses.
#[derive(Default)]
pub(super) struct Repair {
    /// A recovery begins, and one packet may leave before the window falls (§7.3.2).
    pub begins: bool,
    /// The recovery is over once this packet or a later one is acknowledged; the loss of an earlier
    /// one begins none.
    pub recovers_to: u64,
    /// The window stays as persistent congestion has left it until this packet or a later one is
    /// acknowledged.
    pub collapsed_to: u64,
    pub run: LossRun,
}

impl Sender {
    /// Reports the packets that are lost by now (DetectAndRemoveLostPackets, A.10; OnPacketsLost,
    /// B.8).
    pub(super) fn detect_losses(&mut self, now: Time) {
        let loss_delay = self.rtt.loss_delay();
        let probe_timeout = self.probe_timeout();
        while let Some((number, packet)) =
            self.packets.next_lost(now, loss_delay, now + probe_timeout)
        {
            self.lose(now, number, &packet);
        }
        self.timer.loss_time = self.packets.loss_time(loss_delay);
        if self.repair.run.is_persistent(probe_timeout) {
            self.collapse(now);
        }
    }

    pub(super) fn lose(&mut self, now: Time, number: u64, packet: &SentPacket) {
        self.data.again.push_back(packet.data);
        if self.rtt.was_known(packet.sent) {
            self.repair.run.note(number, packet.sent);
        }
        let next = self.packets.next();
        // A mark of the same round trip has reduced the window; a law that decides in a recovery by
        // itself hears of each that begins.
        let answered = if self.congestion.own_recovery() { 0 } else { self.answered_to() };
        let opens_epoch = number >= self.repair.recovers_to.max(answered);
        if opens_epoch {
            self.repair.recovers_to = next;
            self.repair.begins = true;
        }
        self.congestion.lost(&Lost {
            now,
            number,
            transmission: number,
            next,
            opens_epoch,
            in_flight: f64::from(packet.in_flight),
            rtt: self.rtt.estimate(),
        });
    }

    /// Persistent congestion is established (§7.6.2; OnPacketsLost, B.8).
    pub(super) fn collapse(&mut self, now: Time) {
        self.repair.run.forget();
        self.rtt.restart_minimum();
        self.repair.recovers_to = 0;
        self.repair.collapsed_to = self.packets.next();
        // The losses have begun an epoch, except for a law that answers each by itself.
        let (opens_epoch, in_flight) = (self.settings.each_loss, AFTER_PERSISTENT);
        self.congestion.timed_out(&Timeout { now, opens_epoch, in_flight });
    }

    /// Acknowledgements of packets below this number leave the window as losses have made it.
    pub(super) fn repairs_to(&self) -> u64 {
        self.repair.recovers_to.max(self.repair.collapsed_to)
    }

    /// A mark has begun a recovery up to this packet; 0 if none has.
    pub(super) fn answered_to(&self) -> u64 {
        self.congestion.marks.map_or(0, |marks| if marks.classic { marks.answered_to } else { 0 })
    }
}
