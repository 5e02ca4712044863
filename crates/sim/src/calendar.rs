//! The event calendar: a wheel of unsorted buckets, and far events by the half turns of the wheel.
//!
//! Most events lie within one round trip and are inserted in nearly the right order. A bucket is
//! therefore sorted only when its time has come, and then contains about a dozen entries. The width
//! of the buckets is adapted to the density of events. Far events, such as the timers of many
//! flows, enter the wheel when it has come near their half turn.
//!
//! Events that come in order need no wheel: those of one place, such as a bottleneck whose packets
//! all come by the same delay, wait in a lane, and the next event is the first of the wheel's and
//! the lanes'. What comes earlier than the last of its lane goes to the wheel.

use crate::lane::Lane;
use crate::prefetch::prefetch;
use crate::slab::grow;
use narrows_units::{Time, ties};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// One event: its time, what it is, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub time: Time,
    /// What it is, above its payload: a processor moves two words faster than three fields.
    tag: u64,
}

/// A packet arrives.
pub(crate) const PACKET: u32 = 1 << 30;
/// A timer expires.
pub(crate) const TIMER: u32 = 1 << 31;

/// Bits of a link's number.
const LINK_BITS: u32 = 24;

/// What a transmitter's event is about; `salt` tells links and seeds apart at equal times.
pub(crate) fn transmitter(link: u32, salt: u32) -> u32 {
    let mixed = (salt ^ link.wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca6b);
    link | (mixed >> 26) << LINK_BITS
}

/// What the event of a packet of `path` is about; `salt` tells seeds apart at equal times.
#[inline]
pub(crate) fn arrival(path: u32, salt: u32) -> u32 {
    PACKET | (path ^ salt)
}

/// The link of a transmitter's event.
pub(crate) fn link_of(what: u32) -> u32 {
    what & ((1 << LINK_BITS) - 1)
}

impl Event {
    /// No event: it never comes.
    pub const NONE: Self = Self { time: Time::NEVER, tag: 0 };

    pub fn new(time: Time, what: u32, payload: u32) -> Self {
        Self { time, tag: u64::from(what) << 32 | u64::from(payload) }
    }

    /// The link whose transmitter becomes free, and a [`salt`](transmitter); or, with [`PACKET`],
    /// what says which of several is the first; or, with [`TIMER`], the path.
    pub fn what(&self) -> u32 {
        (self.tag >> 32) as u32
    }

    /// The place of a packet, or which of a path's timers it is.
    pub fn payload(&self) -> u32 {
        self.tag as u32
    }

    /// The order of this and `other`, which comes at the same time.
    #[cold]
    #[inline(never)]
    fn draw_lots(&self, other: &Self) -> Ordering {
        (self.rank(), self.payload()).cmp(&(other.rank(), other.payload()))
    }

    /// The order at equal times; see the crate's documentation.
    fn rank(&self) -> u32 {
        let comes_last = PACKET | TIMER;
        match self.what() & (PACKET | TIMER) {
            PACKET => PACKET | ties::place(self.time, self.what() & !PACKET),
            0 if ties::arrival_comes_first(self.time, self.what() >> LINK_BITS) => {
                comes_last | self.what()
            }
            _ => self.what(),
        }
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.cmp(&other.time).then_with(|| self.draw_lots(other))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        if self.time == other.time { self.draw_lots(other).is_lt() } else { self.time < other.time }
    }
}

/// Buckets at first, and at most; always a power of two.
const FEWEST: usize = 1 << 12;
const MOST: usize = 1 << 20;
/// Number of events that a bucket should contain: the wheel is rebuilt if the mean differs from it
/// by a factor of 2√2 or more.
const AIM: usize = 12;
const REVIEW_EVERY: usize = 512;
const WIDTHS: std::ops::RangeInclusive<u32> = 10..=40;

pub(crate) struct Calendar {
    /// The width of a bucket is 2^shift picoseconds.
    shift: u32,
    /// Number of the bucket being drained.
    now: u64,
    current: Vec<Event>,
    head: usize,
    buckets: Vec<Bucket>,
    chunks: Chunks,
    occupied: Vec<u64>,
    /// Events beyond the wheel, by their half turn: none is of the current one, or of the next.
    far: BTreeMap<u64, Vec<Event>>,
    /// Their number.
    far_events: usize,
    drained_buckets: usize,
    drained_events: usize,
    lanes: [Lane; LANES],
    /// Nothing on the wheel, or beyond it, comes before this.
    quiet_until: Time,
    /// The lane of the event that was popped last, if it has waited in one.
    popped: Option<usize>,
    /// A bucket has been opened since that was last asked.
    opened: bool,
}

/// Lanes of a calendar. Each costs every event a comparison.
pub(crate) const LANES: usize = 2;

impl Calendar {
    pub fn new() -> Self {
        Self {
            shift: 23,
            now: 0,
            current: Vec::new(),
            head: 0,
            buckets: vec![Bucket::EMPTY; FEWEST],
            chunks: Chunks::default(),
            occupied: vec![0; FEWEST / 64],
            far: BTreeMap::new(),
            far_events: 0,
            drained_buckets: 0,
            drained_events: 0,
            lanes: std::array::from_fn(|_| Lane::new()),
            quiet_until: Time::ZERO,
            popped: None,
            opened: false,
        }
    }

    /// Adds an event that is likely to come after all others of `lane`.
    #[inline]
    pub fn push_in_lane(&mut self, lane: usize, event: Event) {
        if !self.lanes[lane].push(event) {
            self.push(event);
        }
    }

    /// The event after `behind` others in the lane of the last, if it has waited in one.
    #[inline]
    pub fn follows(&self, behind: usize) -> Option<Event> {
        let lane = &self.lanes[self.popped?];
        match behind {
            0 => (lane.first.time < Time::NEVER).then_some(lane.first),
            _ => lane.get(behind - 1),
        }
    }

    /// The place of bucket `number` in the wheel.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.buckets.len() - 1)
    }

    /// The number of the bucket of `event`.
    #[inline]
    fn number(&self, event: &Event) -> u64 {
        event.time.picos() >> self.shift
    }

    /// The half turn of the wheel that bucket `number` belongs to.
    fn half_turn(&self, number: u64) -> u64 {
        number >> (self.buckets.len().ilog2() - 1)
    }

    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let number = self.number(&event);
        self.quiet_until = self.quiet_until.min(event.time);
        // Wraps for those that are not ahead.
        let ahead = number.wrapping_sub(self.now).wrapping_sub(1);
        if ahead < self.buckets.len() as u64 - 1 {
            self.put(number, event);
        } else {
            self.push_elsewhere(number, event);
        }
    }

    /// Into the bucket being drained, or beyond the wheel.
    #[cold]
    #[inline(never)]
    fn push_elsewhere(&mut self, number: u64, event: Event) {
        if number <= self.now {
            let place =
                self.head + self.current[self.head..].partition_point(|other| *other <= event);
            self.current.insert(place, event);
        } else {
            self.far.entry(self.half_turn(number)).or_default().push(event);
            self.far_events += 1;
        }
    }

    #[inline]
    fn put(&mut self, number: u64, event: Event) {
        let slot = self.slot(number);
        let bucket = &mut self.buckets[slot];
        let place = bucket.len as usize % CHUNK;
        if place == 0 {
            self.occupied[slot / 64] |= 1 << (slot % 64);
            self.chunks.lengthen(bucket);
        }
        self.chunks.events[bucket.last as usize][place] = event;
        bucket.len += 1;
    }

    /// Removes and returns the next event, if there is one no later than `end`.
    #[inline]
    pub fn pop(&mut self, end: Time) -> Option<Event> {
        let [one, other] = &self.lanes;
        let lane = usize::from(other.first.time <= one.first.time && other.first < one.first);
        let first = self.lanes[lane].first;
        let is_first = first.time < self.quiet_until
            || first.time < Time::NEVER && self.peek(first.time).is_none_or(|event| first < event);
        if !is_first {
            return self.pop_from_wheel(end);
        }
        self.popped = Some(lane);
        (first.time <= end).then(|| self.lanes[lane].pop())
    }

    #[inline]
    fn pop_from_wheel(&mut self, end: Time) -> Option<Event> {
        let event = self.peek(end)?;
        self.popped = None;
        self.head += 1;
        Some(event)
    }

    /// The next event of the wheel, if there is one no later than `end`.
    #[inline]
    fn peek(&mut self, end: Time) -> Option<Event> {
        loop {
            if let Some(event) = self.current.get(self.head) {
                return (event.time <= end).then_some(*event);
            }
            if !self.advance(end) {
                return None;
            }
        }
    }

    /// True if a bucket has been opened since this was last asked.
    #[inline]
    pub fn has_opened(&mut self) -> bool {
        std::mem::take(&mut self.opened)
    }

    /// The events of the current bucket that are still to come.
    pub fn current(&self) -> &[Event] {
        &self.current[self.head..]
    }

    /// The buckets of the wheel after the current one that are not empty, the nearest first.
    pub fn coming(&self) -> impl Iterator<Item = Bucket> {
        let end = self.now + self.buckets.len() as u64;
        let following = move |number: &u64| self.next_occupied(*number).filter(|next| *next < end);
        let numbers = std::iter::successors(following(&self.now), following);
        numbers.map(|number| self.buckets[self.slot(number)])
    }

    /// Begins to fetch the events of `bucket`.
    pub fn prefetch(&self, bucket: Bucket) {
        self.chunks.of(bucket).for_each(prefetch);
    }

    /// The events of `bucket`, in no order.
    pub fn events(&self, bucket: Bucket) -> impl Iterator<Item = &Event> {
        self.chunks.of(bucket).flatten()
    }

    /// Moves to the next bucket that is not empty; returns false if there is none, or if it begins
    /// later than `end`.
    #[inline(never)]
    fn advance(&mut self, end: Time) -> bool {
        let Some(next) = self.next_bucket() else {
            self.quiet_until = Time::NEVER;
            return false;
        };
        if next > end.picos() >> self.shift {
            self.quiet_until = Time::from_picos(next << self.shift);
            return false;
        }
        self.quiet_until = Time::ZERO;
        self.drained_buckets += 1;
        self.drained_events += self.current.len();
        self.current.clear();
        self.head = 0;
        if self.drained_buckets >= REVIEW_EVERY && self.review() {
            return true;
        }
        let turns = self.half_turn(next) > self.half_turn(self.now);
        self.now = next;
        if turns {
            self.take_far();
        }
        self.open_current();
        true
    }

    /// The nearest bucket that is not empty, on the wheel or beyond it.
    fn next_bucket(&self) -> Option<u64> {
        let near = self.next_occupied(self.now);
        let comes_first = |turn: u64| near.is_none_or(|near| turn <= self.half_turn(near));
        let far = self.far.first_key_value().filter(|(turn, _)| comes_first(**turn));
        let far = far.and_then(|(_, events)| events.iter().map(|it| self.number(it)).min());
        near.into_iter().chain(far).min()
    }

    /// Moves the events of the current half turn and of the next to the wheel.
    fn take_far(&mut self) {
        let next = self.half_turn(self.now) + 1;
        while let Some(turn) = self.far.first_entry().filter(|turn| *turn.key() <= next) {
            let events = turn.remove();
            self.far_events -= events.len();
            events.into_iter().for_each(|event| self.put(self.number(&event), event));
        }
    }

    fn open_current(&mut self) {
        self.opened = true;
        let slot = self.slot(self.now);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let bucket = std::mem::replace(&mut self.buckets[slot], Bucket::EMPTY);
        self.chunks.drain(bucket, &mut self.current);
        self.current.sort_unstable();
    }

    /// The nearest bucket after bucket `number` that is not empty, on the wheel.
    fn next_occupied(&self, number: u64) -> Option<u64> {
        let first = self.slot(number + 1);
        let words = self.occupied.len();
        for step in 0..=words {
            let word = (first / 64 + step) % words;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= !0 << (first % 64);
            } else if step == words {
                bits &= !(!0 << (first % 64));
            }
            if bits != 0 {
                let slot = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                let ahead = slot.wrapping_sub(number + 1) & (self.buckets.len() as u64 - 1);
                return Some(number + 1 + ahead);
            }
        }
        None
    }

    /// Adapts the width of the buckets to the density of events, and their number to how far ahead
    /// those lie; returns true if the wheel was rebuilt.
    fn review(&mut self) -> bool {
        let drained = std::mem::take(&mut self.drained_events).max(1);
        let mean = drained as f64 / std::mem::take(&mut self.drained_buckets) as f64;
        let steps = (AIM as f64 / mean).log2().round() as i32;
        let (least, most) = (*WIDTHS.start() as i32, *WIDTHS.end() as i32);
        let shift = (self.shift as i32 + steps).clamp(least, most) as u32;
        let fits = steps.abs() < 2 || shift == self.shift;
        debug_assert_eq!(self.far_events, self.far.values().map(Vec::len).sum::<usize>());
        // A few events beyond the wheel, such as timers, cost less than a wheel that is empty.
        let grows = self.far_events > AIM * self.buckets.len() / 4 && self.buckets.len() < MOST;
        if fits && !grows {
            return false;
        }
        let buckets = if grows { 2 * self.buckets.len() } else { self.buckets.len() };
        self.rebuild(if fits { self.shift } else { shift }, buckets);
        true
    }

    fn rebuild(&mut self, shift: u32, buckets: usize) {
        self.far_events = 0;
        let mut events: Vec<Event> =
            std::mem::take(&mut self.far).into_values().flatten().collect();
        for bucket in std::mem::take(&mut self.buckets) {
            self.chunks.drain(bucket, &mut events);
        }
        self.buckets = vec![Bucket::EMPTY; buckets];
        self.occupied = vec![0; buckets / 64];
        let earliest = events.iter().map(|event| event.time.picos()).min().unwrap_or(0);
        self.shift = shift;
        self.now = earliest >> shift;
        events.into_iter().for_each(|event| self.push(event));
    }
}

/// The events of one bucket: their number, and the first and the last of their chunks.
#[derive(Clone, Copy)]
pub(crate) struct Bucket {
    first: u32,
    last: u32,
    len: u32,
}

impl Bucket {
    const EMPTY: Self = Self { first: 0, last: 0, len: 0 };
}

/// Events that lie together. Few, because the last chunk of a bucket is half empty.
const CHUNK: usize = 8;

/// The memory of all buckets: each is a chain of chunks, all full but the last.
#[derive(Default)]
struct Chunks {
    events: Vec<[Event; CHUNK]>,
    /// The chunk after each one in its chain, but for the last.
    after: Vec<u32>,
    free: Vec<u32>,
}

impl Chunks {
    /// Adds a chunk to the chain of `bucket`, whose chunks are full.
    #[inline(never)]
    fn lengthen(&mut self, bucket: &mut Bucket) {
        let chunk = self.free.pop().unwrap_or_else(|| self.grow());
        if bucket.len == 0 {
            bucket.first = chunk;
        } else {
            self.after[bucket.last as usize] = chunk;
        }
        bucket.last = chunk;
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        grow(&mut self.events);
        self.events.push([Event::NONE; CHUNK]);
        self.after.push(0);
        u32::try_from(self.after.len() - 1).expect("memory ends before 2^32 chunks")
    }

    /// The events of `bucket`, chunk by chunk.
    fn of(&self, bucket: Bucket) -> impl Iterator<Item = &[Event]> {
        let Bucket { first: mut chunk, mut len, .. } = bucket;
        std::iter::from_fn(move || {
            let events = &self.events[chunk as usize][..CHUNK.min(len as usize)];
            (chunk, len) = (self.after[chunk as usize], len - events.len() as u32);
            Some(events)
        })
        .take((bucket.len as usize).div_ceil(CHUNK))
    }

    /// Moves the events of `bucket` to the end of `events`, in the order in which they came.
    fn drain(&mut self, bucket: Bucket, events: &mut Vec<Event>) {
        let Bucket { first: mut chunk, len, .. } = bucket;
        let mut left = len as usize;
        while left >= CHUNK {
            events.extend_from_slice(&self.events[chunk as usize]);
            self.free.push(chunk);
            (chunk, left) = (self.after[chunk as usize], left - CHUNK);
        }
        if left > 0 {
            events.extend_from_slice(&self.events[chunk as usize][..left]);
            self.free.push(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::{BTreeSet, BinaryHeap};

    fn event(picos: u64, what: u32) -> Event {
        Event::new(Time::from_picos(picos), what, 0)
    }

    #[test]
    fn equal_times_come_by_kind_and_packets_as_lots_say() {
        let mut winners = BTreeSet::new();
        for picos in (0..50).map(|spell| spell << 33) {
            let mut calendar = Calendar::new();
            for what in [TIMER | 3, 7, PACKET | 1, TIMER | 1, PACKET | 2, PACKET] {
                calendar.push(event(picos, what));
            }
            let mut order: Vec<u32> = std::iter::from_fn(|| calendar.pop(Time::NEVER))
                .map(|event| event.what())
                .collect();
            let late = ties::arrival_comes_first(Time::from_picos(picos), 0);
            assert_eq!(order.remove(if late { 5 } else { 0 }), 7, "the transmitter");
            assert_eq!(order[3..], [TIMER | 1, TIMER | 3], "timers follow packets, by path");
            winners.insert(order[0]);
        }
        assert_eq!(winners, BTreeSet::from([PACKET, PACKET | 1, PACKET | 2]));
    }

    #[test]
    fn nothing_later_than_the_end_comes() {
        let mut calendar = Calendar::new();
        calendar.push(event(100, 0));
        assert!(calendar.pop(Time::from_picos(99)).is_none());
        calendar.push(event(50, 0));
        assert_eq!(calendar.pop(Time::from_picos(99)), Some(event(50, 0)));
        assert_eq!(calendar.pop(Time::from_picos(100)), Some(event(100, 0)));
    }

    #[test]
    fn buckets_come_in_the_order_of_their_times() {
        let mut calendar = Calendar::new();
        let times = [1 << 20, 5 << 30, 3 << 30, 1 << 60, 9 << 30];
        times.into_iter().for_each(|picos| calendar.push(event(picos, 0)));
        assert_eq!(calendar.pop(Time::NEVER), Some(event(times[0], 0)));
        let coming = calendar.coming().flat_map(|bucket| calendar.events(bucket));
        let coming: Vec<u64> = coming.map(|event| event.time.picos()).collect();
        assert_eq!(coming, [3 << 30, 5 << 30, 9 << 30], "without the one beyond the wheel");
    }

    proptest! {
        /// Compares the calendar with a heap, for delays of very different sizes, so that every
        /// part is used: the current bucket, the wheel, the far events, a change of width, and
        /// lanes, of which one has usually one delay; and to ends of any place.
        #[test]
        fn it_agrees_with_a_heap(
            delays in prop::collection::vec(
                (0u64..1_000_000, 0u32..42, 0u32..5, 0usize..LANES + 1),
                1..400,
            ),
            rounds in 1usize..60,
            ends in prop_oneof![Just(None), (0u32..45).prop_map(Some)],
        ) {
            let mut calendar = Calendar::new();
            let mut heap = BinaryHeap::new();
            let mut now = 0;
            for round in 0..rounds {
                for (place, (delay, scale, what, lane)) in delays.iter().skip(round % 7).enumerate()
                {
                    let event = match lane {
                        // As events that come in order, some at the time of others.
                        0 => event(now + (place as u64 / 2 * 1000), *what),
                        _ => event(now + (delay << scale) / 1_000_000, *what),
                    };
                    if *lane < LANES {
                        calendar.push_in_lane(*lane, event);
                    } else {
                        calendar.push(event);
                    }
                    heap.push(Reverse(event));
                }
                for _ in 0..delays.len() {
                    let soon = |scale: u32| Time::from_picos(now + (1_u64 << scale));
                    let end = ends.map_or(Time::NEVER, soon);
                    let is_due = heap.peek().is_some_and(|Reverse(event)| event.time <= end);
                    let expected = if is_due { heap.pop() } else { None };
                    let popped = calendar.pop(end);
                    prop_assert_eq!(popped, expected.map(|Reverse(event)| event));
                    now = popped.map_or(now, |event| event.time.picos());
                }
            }
        }
    }
}
