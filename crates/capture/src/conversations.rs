//! Which connection, and which way, a segment belongs to.

use crate::segment::Segment;
use narrows_units::Time;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A connection's ends: who sent the first segment that was seen, unless that was an answer, and
/// who it sent that to.
pub type Ends = [SocketAddr; 2];

/// The way from `Ends[0]` or from `Ends[1]`.
pub type Way = usize;

/// All connections of a capture, in the order in which they were first seen.
pub struct Conversations<T> {
    newest: BTreeMap<Ends, usize>,
    all: Vec<(Known, T)>,
    /// Segments of connections beyond those that are kept.
    pub beyond: u64,
    /// Segments that another interface, or the same, had shown.
    pub doubled: u64,
}

struct Known {
    ends: Ends,
    /// The number of the first SYN.
    begins: Option<u32>,
    is_closed: bool,
    /// The interface that each way is seen on.
    interfaces: [Option<u32>; 2],
    /// What tells the latest segments of each way from each other.
    latest: [[Told; LATEST]; 2],
    next: usize,
}

/// Number, acknowledgement, identification and time of a segment.
type Told = (u32, Option<u32>, u16, Time);

/// Segments between one and its double, where a port is mirrored.
const LATEST: usize = 8;

/// Connections that are kept.
const MOST: usize = 1 << 16;

impl<T> Conversations<T> {
    /// None yet.
    pub fn new() -> Self {
        Self { newest: BTreeMap::new(), all: Vec::new(), beyond: 0, doubled: 0 }
    }

    /// Returns the connection of a segment, made by `make` if it is new, and the segment's way;
    /// `None` if the segment is to be left out.
    pub fn find(&mut self, segment: &Segment, make: impl FnOnce() -> T) -> Option<(&mut T, Way)> {
        let (there, back) = ([segment.from, segment.to], [segment.to, segment.from]);
        let known = self.newest.get(&there).or_else(|| self.newest.get(&back)).copied();
        let asks = segment.syn && segment.acknowledged.is_none();
        let place = match known.filter(|place| !asks || self.all[*place].0.goes_on(segment)) {
            Some(place) => place,
            None if self.all.len() == MOST => {
                self.beyond += 1;
                return None;
            }
            None => {
                let ends = if segment.syn && !asks { back } else { there };
                self.newest.remove(&back);
                self.newest.remove(&there);
                self.newest.insert(ends, self.all.len());
                let begins = asks.then_some(segment.number);
                let known = Known {
                    ends,
                    begins,
                    is_closed: false,
                    interfaces: [None; 2],
                    latest: [[(0, None, 0, Time::NEVER); LATEST]; 2],
                    next: 0,
                };
                self.all.push((known, make()));
                self.all.len() - 1
            }
        };
        let (known, state) = &mut self.all[place];
        let way = usize::from(known.ends[0] != segment.from);
        let interface = *known.interfaces[way].get_or_insert(segment.interface);
        if interface != segment.interface || known.is_double(way, segment) {
            self.doubled += 1;
            return None;
        }
        known.is_closed |= segment.fin || segment.reset;
        Some((state, way))
    }

    /// Ends and state of all connections.
    pub fn into_all(self) -> impl Iterator<Item = (Ends, T)> {
        self.all.into_iter().map(|(known, state)| (known.ends, state))
    }
}

impl Known {
    /// Whether a segment was seen before; what is sent again has another identification, or none
    /// and another time.
    fn is_double(&mut self, way: Way, segment: &Segment) -> bool {
        let time = if segment.identification == 0 { segment.at } else { Time::ZERO };
        let this = (segment.number, segment.acknowledged, segment.identification, time);
        let was_seen = segment.payload > 0 && self.latest[way].contains(&this);
        self.latest[way][self.next % LATEST] = this;
        self.next = self.next.wrapping_add(1);
        was_seen
    }

    /// Whether a SYN is of this connection, and not of a later one between the same ports.
    fn goes_on(&self, syn: &Segment) -> bool {
        !self.is_closed && self.begins == Some(syn.number)
    }
}
