//! Super-packets: bursts that hosts and virtual switches with offloads keep as one.
//!
//! Linux hands over as one packet what a sender lets go together (GSO), up to 64 kB, and cuts it
//! where a device cannot. Until then a queue counts it once, drops it as a whole, and sends it as a
//! whole, as `sch_tbf.c` does unless it is larger than the bucket.

use super::Cargo;
use narrows_router::Fifo;
use narrows_units::{Duration, Time};

/// The fates of bursts of which packets are still to come.
#[derive(Default)]
pub(super) struct SuperPackets {
    /// By flow.
    arriving: Vec<Arriving>,
}

/// A burst that is arriving.
#[derive(Clone, Copy, Default)]
struct Arriving {
    /// Bytes of it that are still to come.
    bytes: u32,
    /// When its last packet so far leaves; `None` if it was dropped.
    leaves: Option<Time>,
}

impl SuperPackets {
    /// Queues a packet that arrives at `now`, or leaves it out, with its burst, of which the first
    /// decides. Returns when its last bit leaves: the packets of a burst do together, a picosecond
    /// apart so that their order stays. `None` if it is dropped.
    #[cold]
    pub fn offer(&mut self, now: Time, packet: &impl Cargo, fifo: &mut Fifo) -> Option<Time> {
        let (flow, behind) = (packet.flow() as usize, packet.behind());
        if self.arriving.len() <= flow {
            self.arriving.resize(flow + 1, Arriving::default());
        }
        let (burst, bytes) = (&mut self.arriving[flow], packet.bytes() + behind);
        let is_next = burst.bytes == bytes;
        burst.bytes = behind;
        burst.leaves = if is_next {
            fifo.backlog(now);
            // The rest of a burst may come late over a link of a host that is no faster.
            burst.leaves.map(|leaves| leaves.max(now) + Duration::from_picos(1))
        } else {
            fifo.offer(now, bytes)
        };
        burst.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Carried, Link, LinkSettings, Offered};
    use crate::measured::Measured;
    use crate::packet::Travelling;
    use narrows_router::Limit;
    use narrows_transport::{DataHeader, Header, Segment};
    use narrows_units::{Duration, Rate, Stream, Time};

    const MEASURED: Measured = Measured { from: Time::ZERO, to: Time::NEVER };

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// 1000 bytes take 1 ms; there is room for so much.
    fn link(limit: Limit) -> Link<Travelling> {
        let plain = LinkSettings::plain(Rate::from_megabits(8), Duration::ZERO);
        let settings = LinkSettings { limit, super_packets: true, ..plain };
        Link::new(&settings, Time::ZERO, Stream::new(1, 0, 0))
    }

    /// When the packets of a flow's burst of 1000 bytes each arrive, of which each comes at a time
    /// in µs; `None` for those that are dropped.
    fn carry(link: &mut Link<Travelling>, flow: u32, comes: &[u64]) -> Vec<Option<Time>> {
        let numbered = comes.iter().zip((0..comes.len() as u32).rev());
        let offered = numbered.map(|(micros, followers)| {
            let behind = 1000 * followers;
            let header = Header::Data(DataHeader { behind, ..DataHeader::default() });
            let segment = Segment::data(0, Time::ZERO, 1000, header);
            let mut packet = Travelling { segment, hop: 0, path: 2 * flow };
            match link.offer(at(*micros), &mut packet, &MEASURED) {
                Offered::Carried(Carried::Arrives(time)) => Some(time),
                _ => None,
            }
        });
        offered.collect()
    }

    #[test]
    fn a_burst_leaves_when_all_of_it_has_been_sent() {
        let mut link = link(Limit::Packets(10));
        let ps = Duration::from_picos;
        let wanted = [0, 1, 2].map(|picos| Some(at(3000) + ps(picos)));
        assert_eq!(carry(&mut link, 0, &[0, 0, 0]), wanted);
        assert_eq!(carry(&mut link, 0, &[100]), [Some(at(4000))], "after the burst before it");
    }

    #[test]
    fn a_queue_counts_a_burst_once() {
        let mut link = link(Limit::Packets(2));
        assert!(carry(&mut link, 0, &[0, 0, 0]).iter().all(Option::is_some));
        assert!(carry(&mut link, 1, &[0, 0]).iter().all(Option::is_some));
        assert_eq!(carry(&mut link, 2, &[0, 0]), [None, None], "both places are taken");
        assert!(carry(&mut link, 2, &[3100, 3100]).iter().all(Option::is_some));
    }

    #[test]
    fn a_burst_is_dropped_whole_if_not_all_of_it_finds_room() {
        let mut link = link(Limit::Bytes(4000));
        assert!(carry(&mut link, 0, &[0, 0]).iter().all(Option::is_some));
        assert_eq!(carry(&mut link, 1, &[0, 0, 0]), [None; 3], "1000 bytes too many");
        assert!(carry(&mut link, 2, &[0, 0]).iter().all(Option::is_some));
    }

    #[test]
    fn what_comes_after_its_burst_has_left_leaves_at_once() {
        let mut link = link(Limit::Packets(2));
        let wanted = [Some(at(2000)), Some(at(5000) + Duration::from_picos(1))];
        assert_eq!(carry(&mut link, 0, &[0, 5000]), wanted);
    }
}
