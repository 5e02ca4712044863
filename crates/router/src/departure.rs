//! What a queue does that decides on departure.

use crate::{Backlog, Drops, Packet, Room};
use narrows_units::Time;

/// A queue that decides on departure.
pub(crate) trait Departure<P: Packet> {
    /// What waits, not counting the packet in transmission.
    fn backlog(&self) -> Backlog;

    /// A packet that has found room arrives at `now`.
    fn admit(&mut self, now: Time, packet: P);

    /// The next packet to leave at `now`; packets dropped before it go to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P>;

    /// A packet arrives at `now`. If there is no room for it, it or another packet goes to
    /// `dropped`.
    fn enqueue(&mut self, now: Time, packet: P, room: Room, dropped: &mut Drops<P>) {
        if room.admits(self.backlog(), packet.bytes()) {
            self.admit(now, packet);
        } else {
            dropped.push(packet);
        }
    }
}
