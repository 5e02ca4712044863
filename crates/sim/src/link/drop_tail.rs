//! A link like most: a drop-tail queue that holds so many packets, a transmitter of one rate, and a
//! wire that only delays.
//!
//! A packet's departure is known when it comes, and so is whether it finds room: with room for n
//! packets, it does if the n-th packet before it has left. Only when a packet came and when it
//! leaves is put down. The books are written for many packets at once: when the ring is full, when
//! a packet is dropped, when samples are looked at, and at the end. They say what those of an
//! [`ArrivalLink`](super::ArrivalLink) would; built with `--cfg general`, there is only that.

use super::{Books, Carried, LinkSettings};
use crate::measured::Measured;
use narrows_router::{Backlog, Limit, Server};
use narrows_units::{Duration, Time, ties};

/// A drop-tail queue that holds so many packets, a transmitter of one rate, and a wire that only
/// delays.
pub struct DropTailLink {
    server: Server,
    /// The most packets that the queue holds, at least one.
    limit: u64,
    passages: Passages,
    pub(super) books: Books,
}

impl DropTailLink {
    /// The most packets that a link of `settings` holds; `None` if it is of another kind.
    pub(super) fn limit_of(settings: &LinkSettings) -> Option<u64> {
        match settings.limit {
            _ if cfg!(general) || !settings.only_queues() || settings.is_device => None,
            Limit::Unlimited => Some(u64::MAX),
            Limit::Packets(packets) => (packets > 0).then_some(packets),
            Limit::Bytes(_) => None,
        }
    }

    /// A link that is idle, with lots of its own by `salt`.
    pub(super) fn new(server: Server, limit: u64, salt: u32, books: Books) -> Self {
        Self { server, limit, passages: Passages::new(salt), books }
    }

    /// Carries a packet of `bytes` that arrives at `now`.
    #[inline]
    pub fn carry(&mut self, now: Time, bytes: u32, measured: &Measured) -> Carried {
        self.catch_up(now);
        if !self.passages.are_fewer_than(self.limit, now) {
            return self.drop(now, measured);
        }
        if self.passages.are_full() {
            self.write(measured);
            self.passages.make_room(now);
        }
        let leaves = self.server.send(now, now, bytes);
        self.passages.put_down(now, leaves, bytes);
        Carried::Arrives(leaves + self.books.delay)
    }

    #[cold]
    #[inline(never)]
    fn drop(&mut self, now: Time, measured: &Measured) -> Carried {
        self.write(measured);
        let (queue, counts) = (self.passages.forget_left(now), measured.contains(now));
        self.books.arrivals += u64::from(counts);
        self.books.see(now, queue, counts);
        self.books.drop(now, counts);
        Carried::Dropped
    }

    /// Writes into the books what has been carried since they were last written.
    #[inline(never)]
    pub(super) fn write(&mut self, measured: &Measured) {
        let Self { passages, books, .. } = self;
        if passages.lie_within(measured) {
            return passages.write_all(books);
        }
        while let Some((Passage { came, leaves, .. }, bytes, queue)) = passages.next() {
            let counts = measured.contains(came);
            books.arrivals += u64::from(counts);
            books.admit(came, counts, queue, leaves, measured);
            books.leave(came, counts, leaves, bytes, measured);
        }
    }

    /// What is queued or in transmission at `now`, or when the latest packet came if that is later.
    pub(super) fn backlog(&self, now: Time) -> Backlog {
        self.passages.backlog(now)
    }

    /// Packets carried in the whole run.
    pub(super) fn carried(&self) -> u64 {
        self.passages.carried.packets
    }

    /// Takes the samples due by `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time) {
        let Self { passages, books, .. } = self;
        books.catch_up(now, |at| passages.backlog(at));
    }

    /// What serves it.
    pub(super) fn server(&self) -> &Server {
        &self.server
    }
}

/// A packet that was carried.
#[derive(Clone, Copy)]
struct Passage {
    came: Time,
    /// When its last bit leaves.
    leaves: Time,
    /// Bytes carried up to its last.
    bytes: u64,
}

impl Passage {
    const NONE: Self = Self { came: Time::ZERO, leaves: Time::ZERO, bytes: 0 };

    /// From its arrival to its last bit's departure.
    fn delay(&self) -> Duration {
        self.leaves.since(self.came)
    }
}

/// The first so many of all packets, and their bytes.
#[derive(Clone, Copy, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

/// The latest packets that were carried, numbered as they came from 0 on.
struct Passages {
    /// Each packet is in the place that its number has there; as many places as a power of two.
    ring: Box<[Passage]>,
    /// Those that had left when the last packet in the books came, or later.
    left: Count,
    /// Those that are in the books, and when the last of them leaves.
    written: Count,
    written_to: Time,
    carried: Count,
    /// Tells this queue's lots from others'.
    salt: u32,
}

impl Passages {
    /// Places of a new ring.
    const FEWEST: usize = 256;

    fn new(salt: u32) -> Self {
        let ring = vec![Passage::NONE; Self::FEWEST].into_boxed_slice();
        let (left, written, carried) = Default::default();
        Self { ring, left, written, written_to: Time::ZERO, carried, salt }
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    #[inline]
    fn are_full(&self) -> bool {
        self.carried.packets - self.left.packets == self.ring.len() as u64
    }

    #[inline]
    fn put_down(&mut self, came: Time, leaves: Time, bytes: u32) {
        let place = self.place(self.carried.packets);
        self.carried.packets += 1;
        self.carried.bytes += u64::from(bytes);
        self.ring[place] = Passage { came, leaves, bytes: self.carried.bytes };
    }

    /// Whether a packet that comes at `now` finds fewer than `limit`.
    #[inline]
    fn are_fewer_than(&self, limit: u64, now: Time) -> bool {
        let Count { packets: carried, .. } = self.carried;
        carried - self.left.packets < limit
            || self.has_left(&self.ring[self.place(carried - limit)], now)
    }

    /// Whether a packet has left when another arrives at `now`.
    #[inline]
    fn has_left(&self, passage: &Passage, now: Time) -> bool {
        ties::has_left(passage.leaves, now, self.salt)
    }

    /// Makes room for more at `now`, of which those that have left need none; all are in the books.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: Time) {
        self.forget_left(now);
        let (len, held) = (self.ring.len(), self.left.packets..self.carried.packets);
        if 2 * (held.end - held.start) as usize > len {
            let old = std::mem::replace(&mut self.ring, vec![Passage::NONE; 2 * len].into());
            for number in held {
                let place = self.place(number);
                self.ring[place] = old[number as usize & (len - 1)];
            }
        }
    }

    /// Whether all that is not in the books came, and leaves, in the measured part.
    fn lie_within(&self, measured: &Measured) -> bool {
        let (first, end) = (self.written.packets, self.carried.packets);
        first < end
            && measured.contains(self.ring[self.place(first)].came)
            && measured.contains(self.ring[self.place(end - 1)].leaves)
    }

    /// The next packet for the books, its bytes, and what was queued or in transmission once it had
    /// come.
    #[inline]
    fn next(&mut self) -> Option<(Passage, u32, Backlog)> {
        let Count { packets: number, bytes: before } = self.written;
        if number == self.carried.packets {
            return None;
        }
        let passage = self.ring[self.place(number)];
        self.left = self.left_since(self.left, number, passage.came);
        self.written = Count { packets: number + 1, bytes: passage.bytes };
        self.written_to = passage.leaves;
        let queue = self.written.beyond(self.left);
        Some((passage, (passage.bytes - before) as u32, queue))
    }

    /// Those that have left when packet `number` came at `now`, of which the first are `left`.
    #[inline(always)]
    fn left_since(&self, mut left: Count, number: u64, now: Time) -> Count {
        while left.packets < number {
            let oldest = &self.ring[self.place(left.packets)];
            if !self.has_left(oldest, now) {
                break;
            }
            left = Count { packets: left.packets + 1, bytes: oldest.bytes };
        }
        left
    }

    /// Writes all that is not in the `books` into them, if it came and leaves in the measured part.
    fn write_all(&mut self, books: &mut Books) {
        let new = self.carried.beyond(self.written);
        books.arrivals += new.packets;
        books.departures += new.packets;
        books.departed_bytes += new.bytes;
        match self.unhindered() {
            Some((delay, bytes)) => self.write_unhindered(books, delay, bytes),
            None => self.write_queued(books),
        }
        if let Some(observer) = &mut books.observer {
            let mut before = self.written.bytes;
            let departures = self.unwritten().map(|passage| {
                let bytes = passage.bytes - std::mem::replace(&mut before, passage.bytes);
                (passage.leaves, bytes)
            });
            observer.sample_all(self.unwritten().map(|passage| passage.came), departures);
        }
        self.written = self.carried;
        self.written_to = self.ring[self.place(self.carried.packets - 1)].leaves;
    }

    /// The delay and the bytes of each that is not in the books, if none found another before it
    /// and all are of one size, which makes one delay. At least one is not in the books.
    fn unhindered(&self) -> Option<(Duration, u64)> {
        let first = &self.ring[self.place(self.written.packets)];
        let (delay, bytes) = (first.delay(), first.bytes - self.written.bytes);
        let mut before = Passage { leaves: self.written_to, bytes: self.written.bytes, ..*first };
        let is_alike = |passage: &Passage| {
            let Passage { leaves, bytes: to, .. } = std::mem::replace(&mut before, *passage);
            passage.came > leaves && passage.bytes - to == bytes
        };
        self.unwritten().all(is_alike).then_some((delay, bytes))
    }

    /// Writes those that are not in the books into them, each of which found nothing.
    fn write_unhindered(&mut self, books: &mut Books, delay: Duration, bytes: u64) {
        let packets = self.carried.packets - self.written.packets;
        // One by one, so that they are rounded as elsewhere.
        (0..packets).for_each(|_| books.queue_seconds += delay.seconds());
        if let Some(observer) = &mut books.observer {
            observer.delay.add_all(delay.picos() / 1000, packets);
            observer.queue_found.add_all(0, packets);
            observer.max_queue = observer.max_queue.most(Backlog { packets: 1, bytes });
            let Count { packets, bytes: all } = self.carried;
            self.left = Count { packets: packets - 1, bytes: all - bytes };
        }
    }

    /// Writes those that are not in the books into them.
    fn write_queued(&mut self, books: &mut Books) {
        let wait = |seconds, passage: &Passage| seconds + passage.delay().seconds();
        books.queue_seconds = self.unwritten().fold(books.queue_seconds, wait);
        if let Some(observer) = &mut books.observer {
            observer.delay.extend(self.unwritten().map(|passage| passage.delay().picos() / 1000));
            let (mut most, mut left) = (observer.max_queue, self.left);
            let numbers = self.written.packets..self.carried.packets;
            observer.queue_found.extend(numbers.map(|number| {
                let passage = &self.ring[self.place(number)];
                left = self.left_since(left, number, passage.came);
                let queue = Count { packets: number + 1, bytes: passage.bytes }.beyond(left);
                most = most.most(queue);
                queue.packets - 1
            }));
            (observer.max_queue, self.left) = (most, left);
        }
    }

    /// Those that are not in the books.
    fn unwritten(&self) -> impl Iterator<Item = &Passage> {
        let (first, end) = (self.place(self.written.packets), self.place(self.carried.packets));
        let (before, after) = self.ring.split_at(first);
        if first < end {
            after[..end - first].iter().chain(&[])
        } else {
            after.iter().chain(&before[..end])
        }
    }

    /// What is queued or in transmission at `now`, or when the latest packet came if that is later.
    fn backlog(&self, now: Time) -> Backlog {
        let latest =
            self.carried.packets.checked_sub(1).map(|last| self.ring[self.place(last)].came);
        self.carried.beyond(self.left_by(latest.map_or(now, |came| now.max(came))))
    }

    /// Forgets those that have left by `now`, all of which are in the books; returns the others.
    fn forget_left(&mut self, now: Time) -> Backlog {
        debug_assert!(self.written.packets == self.carried.packets, "what is forgotten is written");
        self.left = self.left_by(now);
        self.carried.beyond(self.left)
    }

    /// Those that have left by `now`.
    fn left_by(&self, now: Time) -> Count {
        let (mut left, mut end) = (self.left, self.carried.packets);
        while left.packets < end {
            let middle = left.packets.midpoint(end);
            let passage = &self.ring[self.place(middle)];
            if self.has_left(passage, now) {
                left = Count { packets: middle + 1, bytes: passage.bytes };
            } else {
                end = middle;
            }
        }
        left
    }
}

impl Count {
    /// Those that are not among the first `others`.
    fn beyond(self, others: Self) -> Backlog {
        Backlog { packets: self.packets - others.packets, bytes: self.bytes - others.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Link, Watch};
    use super::*;
    use crate::packet::Travelling;
    use narrows_transport::{DataHeader, Header, Segment};
    use narrows_units::{Rate, Stream};
    use proptest::prelude::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn rate_of(bits_per_second: u64) -> Rate {
        Rate::from_bits_per_second(bits_per_second).expect("it is not 0")
    }

    fn packet(bytes: u32) -> Travelling {
        let segment = Segment::data(0, Time::ZERO, bytes, Header::Data(DataHeader::default()));
        Travelling { segment, hop: 0, path: 0 }
    }

    /// Portions of exactly a ring and of more, which nobody looks at before the end.
    #[test]
    fn a_ring_that_is_full_is_written_whole() {
        let measured = Measured { from: at(0), to: at(100_000_000) };
        for (packets, gap, watch) in [255, 256, 257, 3000]
            .into_iter()
            .flat_map(|packets| [2000, 1001, 1000, 900].map(|gap| (packets, gap)))
            .flat_map(|(packets, gap)| {
                let sampled = Watch::Samples(Duration::from_micros(5000));
                [Watch::No, Watch::Histograms, sampled].map(|watch| (packets, gap, watch))
            })
        {
            let settings =
                LinkSettings { watch, ..LinkSettings::plain(rate_of(8_000_000), Duration::ZERO) };
            let [mut short, mut general] = [Some(u64::MAX), None].map(|limit| {
                let stream = Stream::new(7, 1, 2);
                Link::<Travelling>::with_queue(&settings, limit, measured.from, stream)
            });
            for link in [&mut short, &mut general] {
                for n in 0..packets {
                    link.offer(at(n * gap), &mut packet(1000), &measured);
                }
                link.finish(&measured);
            }
            assert_eq!(short.summary(&measured), general.summary(&measured));
            assert_eq!(format!("{:?}", short.series()), format!("{:?}", general.series()));
            assert_eq!(short.carried(), packets);
            let Link::DropTail(link) = short else { panic!("it is one") };
            let queued = if gap < 1000 { packets as usize / 10 } else { 1 };
            assert!(link.passages.ring.len() <= (4 * queued).max(256), "{packets} {gap}");
        }
    }

    /// Whoever looks late, as the lab does, finds no more than there were.
    #[test]
    fn the_past_is_as_it_was_when_the_latest_packet_came() {
        let measured = Measured { from: at(0), to: at(100_000_000) };
        let settings = LinkSettings {
            limit: Limit::Packets(10),
            watch: Watch::Histograms,
            ..LinkSettings::plain(rate_of(8_000_000), Duration::ZERO)
        };
        let mut links = [Some(10), None].map(|limit| {
            let stream = Stream::new(7, 1, 2);
            Link::<Travelling>::with_queue(&settings, limit, measured.from, stream)
        });
        for (start, step) in [(0, 1001), (90_000, 700)] {
            for link in &mut links {
                for n in 0..50 {
                    link.offer(at(start + n * step), &mut packet(1000), &measured);
                }
            }
            for past in (0..60).map(|n| at(start + n * step)) {
                let [short, general] = links.each_mut().map(|link| link.backlog(past));
                assert_eq!(short, general, "at {past}");
                assert!(short.packets <= 10);
            }
        }
    }

    proptest! {
        /// Every packet has the fate that it has on the general way, and the books say the same:
        /// at equal times, in queues that outgrow the ring, and whoever looks at them when.
        #[test]
        fn it_does_what_a_link_does_whose_packets_are_judged(
            limit in prop_oneof![Just(None), (1u64..30).prop_map(Some), (1u64..900).prop_map(Some)],
            watch in prop_oneof![
                Just(Watch::No),
                Just(Watch::Histograms),
                (1u64..9000).prop_map(|micros| Watch::Samples(Duration::from_micros(micros))),
            ],
            // 8 Mbps: 1000 bytes take 1 ms, and packets leave when others come.
            rate in prop_oneof![Just(8_000_000u64), 1_000_000u64..100_000_000],
            (from, length) in (0u64..3000, 1u64..900_000),
            arrivals in prop::collection::vec((0u64..5, 0u64..700, 0usize..3, 0u8..40), 1..1500),
            crowd in 1u64..4,
            // All of one size, and mostly apart.
            calm: bool,
            seed in any::<u64>(),
        ) {
            let settings = LinkSettings {
                limit: limit.map_or(Limit::Unlimited, Limit::Packets),
                watch,
                ..LinkSettings::plain(rate_of(rate), Duration::from_micros(700))
            };
            let measured = Measured { from: at(from), to: at(from + length) };
            let links = [Some(limit.unwrap_or(u64::MAX)), None].map(|drop_tail| {
                let stream = Stream::new(seed, 1, 2);
                Link::<Travelling>::with_queue(&settings, drop_tail, measured.from, stream)
            });
            let [mut short, mut general] = links;
            let mut now = at(0);
            for (step, odd, bytes, looks) in arrivals {
                let (step, bytes) = if calm { (step + 1, 0) } else { (step, bytes) };
                now += Duration::from_micros(step * 500 / crowd + if looks > 30 { odd } else { 0 });
                let bytes = [1000, 40, 1500][bytes];
                let fates = [&mut short, &mut general].map(|link| {
                    format!("{:?}", link.offer(now, &mut packet(bytes), &measured))
                });
                prop_assert_eq!(&fates[0], &fates[1]);
                if looks == 0 {
                    short.look(now, &measured);
                }
                if watch != Watch::No && looks < 5 {
                    prop_assert_eq!(short.backlog(now), general.backlog(now));
                }
                prop_assert_eq!(short.busy_until(), general.busy_until());
                prop_assert_eq!(short.dropped(), general.dropped());
                prop_assert_eq!(short.missing(), general.missing());
            }
            short.finish(&measured);
            general.finish(&measured);
            prop_assert_eq!(short.summary(&measured), general.summary(&measured));
            prop_assert_eq!(short.carried(), general.carried());
            prop_assert_eq!(format!("{:?}", short.series()), format!("{:?}", general.series()));
        }
    }
}
