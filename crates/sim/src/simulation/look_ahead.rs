//! What is fetched before the events that need it. With many flows each event finds its packet, its
//! flow and its links far from the caches, and most of these are only known from one another: the
//! events of the third bucket from here are fetched, then the packets of the second, then the ends
//! of the next, and before each event what those lead to. Along a lane, whose events lie in order,
//! each event fetches for those that follow it at these distances.

use super::Simulation;
use crate::calendar::{Bucket, Event, PACKET, TIMER};
use crate::ends::Source;
use crate::prefetch::{prefetch, prefetch_at};

/// How far ahead in a lane packets are fetched, and ends, which are found by their packets.
const PACKETS_AHEAD: usize = 24;
const ENDS_AHEAD: usize = 12;

impl Simulation {
    /// Fetches what the coming events will touch.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        if self.calendar.has_opened() {
            self.look_far_ahead();
        }
        if let Some(event) = self.calendar.follows(PACKETS_AHEAD) {
            self.packets.prefetch(event.payload());
        }
        if self.has_many_flows {
            self.look_near();
        }
    }

    /// Fetches the ends that a lane's events lead to, and what the next event needs of them.
    fn look_near(&self) {
        if let Some(event) = self.calendar.follows(ENDS_AHEAD) {
            self.fetch_end_of(&event);
        }
        let next = self.calendar.follows(0).or_else(|| self.calendar.current().first().copied());
        if let Some(event) = next.filter(|event| event.what() & PACKET != 0) {
            let (hop, path) = self.packets.whereabouts(event.payload());
            self.fetch_links(hop, path);
            self.fetch_apart(if self.paths.returns_at_once { path | 1 } else { path });
        }
    }

    #[inline(never)]
    fn look_far_ahead(&self) {
        let mut coming = self.calendar.coming();
        let Some(next) = coming.next() else { return };
        if !self.has_many_flows {
            return self.fetch_packets(next);
        }
        if let Some(second) = coming.next() {
            self.fetch_packets(second);
        }
        if let Some(third) = coming.next() {
            self.calendar.prefetch(third);
        }
        self.fetch_ends(next);
    }

    fn fetch_packets(&self, bucket: Bucket) {
        for event in self.calendar.events(bucket) {
            if event.what() & PACKET != 0 {
                self.packets.prefetch(event.payload());
            }
        }
    }

    /// Fetches the ends of flows that the events of `bucket` are about, and where paths continue.
    fn fetch_ends(&self, bucket: Bucket) {
        self.calendar.events(bucket).for_each(|event| self.fetch_end_of(event));
    }

    fn fetch_end_of(&self, event: &Event) {
        match event.what() & (PACKET | TIMER) {
            PACKET => {
                let (hop, path) = self.packets.whereabouts(event.payload());
                prefetch(&self.paths.hops[hop as usize]);
                prefetch(&self.paths.starts[(path ^ 1) as usize]);
                self.books.prefetch(path);
                self.fetch_end(path);
                if self.paths.returns_at_once {
                    self.fetch_end(path ^ 1);
                }
            }
            // A timer has the path on which its end sends.
            TIMER => self.fetch_end((event.what() & !TIMER) ^ 1),
            _ => {}
        }
    }

    /// Fetches the end of a flow that `path` leads to.
    fn fetch_end(&self, path: u32) {
        let flow = path as usize / 2;
        if path.is_multiple_of(2) {
            prefetch(&self.receivers[flow]);
        } else if let Some(end) = self.senders.get(flow) {
            prefetch(end);
        }
    }

    /// Fetches the plain link that comes after the `hop` that a packet of `path` is on its way to,
    /// and the one by which the answer leaves.
    fn fetch_links(&self, hop: u32, path: u32) {
        for hop in [hop + 1, self.paths.starts[(path ^ 1) as usize]] {
            let next = self.paths.hops.get(hop as usize);
            if let Some(link) = next.and_then(|hop| hop.passes()) {
                prefetch(&self.links[link as usize]);
            }
        }
    }

    /// If `path` leads to a sender, fetches what lies apart from it: the law, the record that an
    /// acknowledgement reads, and that after which the next packet's is written.
    fn fetch_apart(&self, path: u32) {
        if !path.is_multiple_of(2)
            && let Source::Connection(sender) = &self.senders[path as usize / 2].source
        {
            prefetch(sender.controller());
            sender.places().into_iter().flatten().for_each(prefetch_at);
        }
    }
}
