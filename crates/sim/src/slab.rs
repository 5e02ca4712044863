//! Packets that wait for their event, in places that are reused. With many flows, data and
//! acknowledgements that say no more than most do are kept in 40 bytes instead of 72.

use crate::packet::Travelling;
use crate::prefetch::prefetch;
use narrows_signal::{Ecn, Reply, Request, SackBlocks};
use narrows_transport::{AckHeader, DataHeader, Header, Segment};
use narrows_units::Time;

/// Packets that wait for their event.
#[derive(Default)]
pub(crate) struct Slab {
    /// Whether those that can be are made short: 60 instructions for each wait, which few packets
    /// are not worth.
    shortens: bool,
    short: Places<Short>,
    whole: Places<Travelling>,
}

/// In a packet's place: it is short.
const SHORT: u32 = 1 << 31;

impl Slab {
    /// One that makes packets short if that `pays`.
    pub fn new(pays: bool) -> Self {
        Self { shortens: pays, ..Self::default() }
    }

    /// Stores the packet of `segment` that is on its way to `hop` of `path`; returns its place.
    #[inline]
    pub fn put(&mut self, segment: &Segment, hop: u32, path: u32) -> u32 {
        if self.shortens {
            return self.put_short(segment, hop, path);
        }
        self.whole.put(|| Travelling { segment: *segment, hop, path })
    }

    #[inline(never)]
    fn put_short(&mut self, segment: &Segment, hop: u32, path: u32) -> u32 {
        match Flags::of(&segment.header) {
            Some(flags) => SHORT | self.short.put(|| Short::new(segment, flags, hop, path)),
            None => self.whole.put(|| Travelling { segment: *segment, hop, path }),
        }
    }

    /// The cell of the next packet that waits: written there, it is not copied.
    #[inline]
    pub fn draft(&mut self) -> &mut Segment {
        &mut self.whole.next().segment
    }

    /// Keeps the draft, which is on its way to `hop` of `path`; returns its place.
    #[inline]
    pub fn keep(&mut self, hop: u32, path: u32) -> u32 {
        if self.shortens {
            return self.keep_short(hop, path);
        }
        self.whole.keep(hop, path)
    }

    #[inline(never)]
    fn keep_short(&mut self, hop: u32, path: u32) -> u32 {
        let draft = &self.whole.next().segment;
        match Flags::of(&draft.header) {
            Some(flags) => SHORT | self.short.put(|| Short::new(draft, flags, hop, path)),
            None => self.whole.keep(hop, path),
        }
    }

    /// Returns the packet at `place`, and frees the place.
    #[inline]
    pub fn take(&mut self, place: u32) -> Travelling {
        if place & SHORT == 0 { self.whole.take(place) } else { self.take_short(place & !SHORT) }
    }

    #[inline(never)]
    fn take_short(&mut self, place: u32) -> Travelling {
        self.short.take(place).whole()
    }

    /// True if a processor's second cache does not hold as many as have waited at once.
    #[inline]
    pub fn are_many(&self) -> bool {
        const MANY: usize = 4096;
        self.short.cells.len() + self.whole.cells.len() > MANY
    }

    /// The hop and the path of the packet at `place`.
    #[inline]
    pub fn whereabouts(&self, place: u32) -> (u32, u32) {
        if place & SHORT == 0 {
            let packet = &self.whole.cells[place as usize];
            (packet.hop, packet.path)
        } else {
            let packet = &self.short.cells[(place & !SHORT) as usize];
            (packet.hop, packet.path)
        }
    }

    /// Begins to fetch the packet at `place`.
    #[inline]
    pub fn prefetch(&self, place: u32) {
        if place & SHORT == 0 {
            prefetch(&self.whole.cells[place as usize]);
        } else {
            prefetch(&self.short.cells[(place & !SHORT) as usize]);
        }
    }

    /// Number of packets that wait.
    pub fn len(&self) -> u64 {
        self.short.len() + self.whole.len()
    }

    /// The hops and paths of the packets in flight; used at the end of a run.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let short = self.short.iter().map(|packet| (packet.hop, packet.path));
        short.chain(self.whole.iter().map(|packet| (packet.hop, packet.path)))
    }
}

/// Makes room for one more in `cells`; by a quarter, because doubling would waste more memory than
/// anything else takes.
pub(crate) fn grow<T>(cells: &mut Vec<T>) {
    if cells.len() == cells.capacity() {
        cells.reserve_exact(cells.len() / 4 + 64);
    }
}

/// Cells that are reused.
struct Places<T> {
    cells: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { cells: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Places<T> {
    /// Stores what `value` makes, which is made where it stays.
    #[inline]
    fn put(&mut self, value: impl FnOnce() -> T) -> u32 {
        if let Some(place) = self.free.pop() {
            let cell = &mut self.cells[place as usize];
            *cell = value();
            return place;
        }
        self.put_last(value())
    }

    #[cold]
    #[inline(never)]
    fn put_last(&mut self, value: T) -> u32 {
        grow(&mut self.cells);
        let place = u32::try_from(self.cells.len()).ok().filter(|place| place & SHORT == 0);
        self.cells.push(value);
        place.expect("memory ends before 2^31 packets are in flight")
    }

    #[inline]
    fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.cells[place as usize]
    }

    fn len(&self) -> u64 {
        (self.cells.len() - self.free.len()) as u64
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        let mut free = vec![false; self.cells.len()];
        self.free.iter().for_each(|place| free[*place as usize] = true);
        self.cells.iter().zip(free).filter(|(_, free)| !free).map(|(cell, _)| cell)
    }
}

impl Places<Travelling> {
    /// The cell of the next packet.
    #[inline]
    fn next(&mut self) -> &mut Travelling {
        if self.free.is_empty() {
            let place = self.put_last(Travelling { segment: Segment::BLANK, hop: 0, path: 0 });
            self.free.push(place);
        }
        let place = self.free[self.free.len() - 1];
        &mut self.cells[place as usize]
    }

    /// Keeps the packet written in the cell of the next, on its way to `hop` of `path`; returns its
    /// place.
    #[inline]
    fn keep(&mut self, hop: u32, path: u32) -> u32 {
        let place = self.free.pop().expect("the next packet has a cell");
        let packet = &mut self.cells[place as usize];
        (packet.hop, packet.path) = (hop, path);
        place
    }
}

/// A packet that asks nothing of routers, or an acknowledgement that reports only its number and
/// marks.
///
/// No two words of a segment lie side by side in it: the compiler would copy them by one load of 16
/// bytes, and a load that spans two stores before it waits until both have reached the cache (no
/// store forwarding). With 100,000 flows that took 7 % of the time.
#[derive(Clone, Copy)]
#[repr(C)]
struct Short {
    number: u64,
    hop: u32,
    path: u32,
    stamp: Time,
    bytes: u32,
    flags: Flags,
    echoed_stamp: Time,
}

/// What the header says, bit by bit.
#[derive(Clone, Copy)]
struct Flags(u32);

/// Place of the bit that is set for an acknowledgement.
const ACK: u32 = 0;
/// Place of an acknowledgement's ECE.
const ECE: u32 = 1;
/// Place of the lowest of the 16 bits of an acknowledgement's marks.
const MARKED: u32 = 16;
/// Place of data's bit that says that it is sent again.
const RETRANSMISSION: u32 = 1;
/// Place of data's CWR.
const REDUCED: u32 = 2;
/// Place of the lower of the two bits of data's ECN.
const ECN: u32 = 3;
/// Place of the bit of data after which nothing follows for now.
const PUSHES: u32 = 5;
/// Place of the lowest of the 26 bits of the bytes behind data.
const BEHIND: u32 = 6;

impl Short {
    /// The packet of a `segment` whose header is `flags`.
    #[inline]
    fn new(segment: &Segment, flags: Flags, hop: u32, path: u32) -> Self {
        let Segment { number, stamp, echoed_stamp, bytes, header: _ } = *segment;
        Self { number, hop, path, stamp, bytes, flags, echoed_stamp }
    }

    #[inline]
    fn whole(self) -> Travelling {
        let Self { number, stamp, echoed_stamp, bytes, hop, path, flags } = self;
        let segment = Segment { number, stamp, echoed_stamp, bytes, header: flags.header() };
        Travelling { segment, hop, path }
    }
}

impl Flags {
    #[inline]
    fn of(header: &Header) -> Option<Self> {
        match header {
            Header::Data(DataHeader {
                retransmission,
                ecn,
                reduced,
                pushes,
                behind,
                request: Request::Nothing,
                quic: None,
            }) => Some(Self(
                u32::from(*retransmission) << RETRANSMISSION
                    | u32::from(*reduced) << REDUCED
                    | u32::from(*pushes) << PUSHES
                    | *behind << BEHIND
                    | (*ecn as u32) << ECN,
            )),
            Header::Ack(AckHeader {
                sack,
                duplicate: false,
                marked,
                ece,
                reply: Reply::Nothing,
            }) if sack.is_empty() => {
                Some(Self(1 << ACK | u32::from(*ece) << ECE | u32::from(*marked) << MARKED))
            }
            _ => None,
        }
    }

    fn has(self, place: u32) -> bool {
        self.0 >> place & 1 != 0
    }

    #[inline]
    fn header(self) -> Header {
        if self.has(ACK) {
            return Header::Ack(AckHeader {
                sack: SackBlocks::NONE,
                duplicate: false,
                marked: (self.0 >> MARKED) as u16,
                ece: self.has(ECE),
                reply: Reply::Nothing,
            });
        }
        const CODEPOINTS: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable, Ecn::Scalable, Ecn::Marked];
        Header::Data(DataHeader {
            retransmission: self.has(RETRANSMISSION),
            ecn: CODEPOINTS[(self.0 >> ECN & 3) as usize],
            reduced: self.has(REDUCED),
            pushes: self.has(PUSHES),
            behind: self.0 >> BEHIND,
            request: Request::Nothing,
            quic: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_signal::Range;
    use proptest::prelude::*;

    #[test]
    fn plain_data_and_plain_acknowledgements_are_short_if_that_pays() {
        assert_eq!((size_of::<Short>(), size_of::<Travelling>()), (40, 72));
        let headers = [
            Header::Data(DataHeader::default()),
            Header::Ack(AckHeader::NOTHING),
            Header::Data(DataHeader { quic: Some(1), ..DataHeader::default() }),
        ];
        let is_short = |pays, header| {
            let segment = Segment::data(1, Time::ZERO, 1000, header);
            Slab::new(pays).put(&segment, 0, 0) & SHORT != 0
        };
        assert_eq!(headers.map(|header| is_short(true, header)), [true, true, false]);
        assert_eq!(headers.map(|header| is_short(false, header)), [false; 3]);
    }

    fn header() -> impl Strategy<Value = Header> {
        let ecn =
            prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable, Ecn::Scalable, Ecn::Marked]);
        let request = prop_oneof![4 => Just(Request::Nothing), 1 => Just(Request::Rate(7.0))];
        let told = (any::<[bool; 3]>(), 0u32..1 << 26);
        let data = (told, ecn, request, prop::option::weighted(0.2, 0u32..9));
        let data = data.prop_map(|((told, behind), ecn, request, quic)| {
            let [retransmission, reduced, pushes] = told;
            let told = DataHeader { retransmission, reduced, pushes, ..DataHeader::default() };
            Header::Data(DataHeader { ecn, behind, request, quic, ..told })
        });
        let sack = prop_oneof![
            4 => Just(SackBlocks::NONE),
            1 => Just(SackBlocks::of(0, [Range { start: 3, end: 5 }].into_iter())),
        ];
        let reply = prop_oneof![4 => Just(Reply::Nothing), 1 => Just(Reply::Window(9))];
        let ack = (sack, prop::bool::weighted(0.2), any::<u16>(), any::<bool>(), reply);
        let ack = ack.prop_map(|(sack, duplicate, marked, ece, reply)| {
            Header::Ack(AckHeader { sack, duplicate, marked, ece, reply })
        });
        prop_oneof![4 => data, 4 => ack, 1 => Just(Header::SYN), 1 => Just(Header::QuicInitial)]
    }

    proptest! {
        /// Packets wait, and leave in any order, as they came, written where they stay or not.
        #[test]
        fn what_is_taken_is_what_was_put(
            packets in prop::collection::vec((header(), any::<u64>(), any::<u32>()), 1..60),
            turns in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
            shortens in any::<bool>(),
        ) {
            let mut slab = Slab::new(shortens);
            let mut waiting = Vec::new();
            let mut packets = packets.into_iter().enumerate();
            for turn in turns {
                for (hop, (header, number, bytes)) in packets.by_ref().take(3) {
                    let (stamp, hop) = (Time::from_picos(number / 2), hop as u32);
                    let segment = Segment { number, stamp, echoed_stamp: stamp, bytes, header };
                    let packet = Travelling { segment, hop, path: bytes / 2 };
                    // Some are drafts, and some drafts are never sent.
                    if bytes % 3 > 0 {
                        *slab.draft() = segment;
                    }
                    let place = if bytes % 3 == 1 {
                        slab.keep(hop, packet.path)
                    } else {
                        slab.put(&segment, hop, packet.path)
                    };
                    waiting.push((place, packet));
                }
                prop_assert_eq!(slab.len(), waiting.len() as u64);
                let mut found: Vec<_> = slab.iter().collect();
                let wanted = waiting.iter().map(|(_, packet)| (packet.hop, packet.path));
                let mut wanted: Vec<_> = wanted.collect();
                found.sort_unstable();
                wanted.sort_unstable();
                prop_assert_eq!(found, wanted);
                if waiting.is_empty() {
                    break;
                }
                let (place, packet) = waiting.swap_remove(turn.index(waiting.len()));
                prop_assert_eq!(slab.whereabouts(place), (packet.hop, packet.path));
                let taken = slab.take(place);
                prop_assert_eq!(taken.segment, packet.segment);
                prop_assert_eq!((taken.hop, taken.path), (packet.hop, packet.path));
            }
        }
    }
}
