//! What is on the wire: each data packet at its sender's link and at its receiver, each
//! acknowledgement at both; and what follows from that without asking the stack.

use crate::network::{ACCESS, ACCESS_DELAY, LEAST};
use narrows_signal::Ecn;
use narrows_sim::{Crossing, Tap, TapPoint};
use narrows_transport::{DataHeader, Header};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A data packet. Times are in seconds; infinite for what has not happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// When it came to its sender's link.
    pub sent: f64,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Its ECN bits as it was sent.
    pub ecn: Ecn,
    /// Whether TCP sent what had been sent before; false over transports that hide it.
    pub repeats: bool,
    /// When it reached its receiver.
    pub arrived: f64,
    /// Whether it was marked on its way.
    pub marked: bool,
    /// Whether it was lost on its way.
    pub lost: bool,
    /// When its sender could know: that it has arrived, or that the third of those after it has.
    pub settled: f64,
}

/// All that one flow's check sees.
#[derive(Debug)]
pub struct Wire {
    /// The data packets, as they were sent.
    pub packets: Vec<Packet>,
    /// When something left, small packets included.
    pub departures: Vec<f64>,
    /// The acknowledgements: when each left the receiver, and when it reached the sender.
    pub acks: Vec<[f64; 2]>,
    /// The bytes of most data packets.
    pub size: f64,
    /// Base RTT in seconds.
    pub rtt: f64,
    /// From when on how many bytes were in flight.
    flight: Vec<(f64, f64)>,
}

/// What a real path saw of one connection: each packet there and back, as it was sent; nothing is
/// said of when its sender could know.
pub struct RealPackets {
    /// Those of the sender.
    pub there: Vec<Packet>,
    /// Those of the receiver.
    pub back: Vec<Packet>,
}

/// The places of links in a check's network.
const SENDER: u32 = 0;
const RECEIVER: u32 = 2;
const RECEIVER_BACK: u32 = 3;
const SENDER_BACK: u32 = 5;

/// What tells a packet from all others that are under way.
type Key = (u64, u64, u32);

/// Writes down what crosses the links.
#[derive(Default)]
pub(crate) struct Seen {
    packets: Vec<Packet>,
    departures: Vec<f64>,
    /// The place of each packet that is under way.
    under_way: BTreeMap<Key, usize>,
    acks: Vec<[f64; 2]>,
    acks_under_way: BTreeMap<Key, usize>,
}

/// A tap that several hands hold.
#[derive(Clone, Default)]
pub(crate) struct Watching(Arc<Mutex<Seen>>);

impl Watching {
    /// What has been seen, if the tap has been let go.
    pub fn seen(self) -> Seen {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Tap for Watching {
    fn crossing(&mut self, crossing: &Crossing<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).see(crossing);
    }
}

impl Seen {
    fn see(&mut self, crossing: &Crossing<'_>) {
        let at = crossing.at.seconds();
        let place =
            if let Header::Hosted { place, .. } = crossing.segment.header { place } else { 0 };
        let key = (crossing.segment.number, crossing.segment.stamp.picos(), place);
        if (crossing.link, crossing.point) == (SENDER, TapPoint::Arrival) {
            self.departures.push(at);
        }
        match (crossing.link, crossing.point) {
            (SENDER, TapPoint::Arrival) if crossing.segment.bytes >= LEAST => {
                self.under_way.insert(key, self.packets.len());
                self.packets.push(packet(crossing, at));
            }
            (RECEIVER, TapPoint::Departure) => {
                // Of packets that come twice the first counts.
                if let Some(place) = self.under_way.remove(&key) {
                    let packet = &mut self.packets[place];
                    packet.arrived = at + ACCESS_DELAY;
                    packet.marked = ecn(&crossing.segment.header) == Ecn::Marked;
                }
            }
            (RECEIVER_BACK, TapPoint::Arrival) => {
                self.acks_under_way.insert(key, self.acks.len());
                self.acks.push([at, f64::INFINITY]);
            }
            (SENDER_BACK, TapPoint::Departure) => {
                if let Some(place) = self.acks_under_way.remove(&key) {
                    self.acks[place][1] = at + ACCESS_DELAY;
                }
            }
            (_, TapPoint::Arrival | TapPoint::Departure) => {}
            // Dropped or lost, somewhere.
            _ => {
                if let Some(place) = self.under_way.remove(&key) {
                    self.packets[place].lost = true;
                }
            }
        }
    }

    /// The same from packets that somebody else saw, in the order in which they were sent.
    pub fn of(seen: RealPackets) -> Self {
        let RealPackets { there, back } = seen;
        let is_data = |packet: &&Packet| packet.bytes >= LEAST;
        let acks = back.iter().map(|packet| [packet.sent, packet.arrived]);
        Self {
            departures: there.iter().map(|packet| packet.sent).collect(),
            packets: there.iter().filter(is_data).copied().collect(),
            acks: acks.collect(),
            ..Self::default()
        }
    }

    /// What follows from it, over a path with a base RTT of `rtt` seconds.
    pub fn wire(mut self, rtt: f64) -> Wire {
        self.settle();
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        for packet in &self.packets {
            *sizes.entry(packet.bytes).or_default() += 1;
        }
        let size = sizes.into_iter().max_by_key(|(bytes, count)| (*count, *bytes));
        let size = size.map_or(1500.0, |(bytes, _)| f64::from(bytes));
        let flight = flight(&self.packets);
        let Self { packets, departures, acks, .. } = self;
        Wire { packets, departures, acks, size, rtt, flight }
    }

    /// Finds out when the sender could know of each packet (RFC 9002, §6.1.1, and RFC 5681, §3.2,
    /// for those that were lost).
    fn settle(&mut self) {
        // The earliest that one of the acknowledgements from here on came.
        let mut earliest = vec![f64::INFINITY; self.acks.len() + 1];
        for (place, [_, came]) in self.acks.iter().enumerate().rev() {
            earliest[place] = came.min(earliest[place + 1]);
        }
        for packet in self.packets.iter_mut().filter(|packet| packet.arrived.is_finite()) {
            let place = self.acks.partition_point(|[left, _]| *left < packet.arrived);
            packet.settled = earliest[place];
        }
        // Of those after a packet the third that arrived; from behind, the three nearest are known.
        let mut behind: [f64; 3] = [f64::INFINITY; 3];
        for packet in self.packets.iter_mut().rev() {
            if packet.arrived.is_finite() {
                behind = [packet.settled, behind[0], behind[1]];
            } else if packet.lost {
                packet.settled = behind[2];
            }
        }
    }
}

fn packet(crossing: &Crossing<'_>, sent: f64) -> Packet {
    let (bytes, header) = (crossing.segment.bytes, &crossing.segment.header);
    let (ecn, never) = (ecn(header), f64::INFINITY);
    let repeats =
        matches!(header, Header::Data(DataHeader { retransmission: true, quic: None, .. }));
    Packet { sent, bytes, ecn, repeats, arrived: never, marked: false, lost: false, settled: never }
}

fn ecn(header: &Header) -> Ecn {
    match header {
        Header::Data(data) => data.ecn,
        Header::Hosted { ecn, .. } => *ecn,
        _ => Ecn::NotCapable,
    }
}

/// From when on how many bytes were in flight.
fn flight(packets: &[Packet]) -> Vec<(f64, f64)> {
    let changes = packets.iter().flat_map(|packet| {
        let bytes = f64::from(packet.bytes);
        [(packet.sent, bytes), (packet.settled, -bytes)]
    });
    let mut changes: Vec<(f64, f64)> = changes.filter(|(at, _)| at.is_finite()).collect();
    // At one time packets are settled before those leave that this makes room for.
    changes.sort_by(|a, b| a.partial_cmp(b).expect("times and bytes are numbers"));
    let mut bytes = 0.0;
    for change in &mut changes {
        bytes += change.1;
        change.1 = bytes;
    }
    changes
}

impl Wire {
    /// From when on how many packets of the usual size were in flight.
    pub fn flight(&self) -> Vec<(f64, f64)> {
        self.flight.iter().map(|(at, bytes)| (*at, bytes / self.size)).collect()
    }

    /// Packets in flight at `at`, of the usual size.
    pub fn flight_at(&self, at: f64) -> f64 {
        let place = self.flight.partition_point(|(from, _)| *from <= at);
        place.checked_sub(1).map_or(0.0, |place| self.flight[place].1 / self.size)
    }

    /// The most packets in flight in `from..to`, of the usual size.
    pub fn largest_flight(&self, from: f64, to: f64) -> f64 {
        let place = |at: f64| self.flight.partition_point(|(since, _)| *since <= at);
        let within = self.flight[place(from)..place(to).max(place(from))].iter();
        let most = within.map(|(_, bytes)| bytes / self.size).fold(0.0, f64::max);
        most.max(self.flight_at(from))
    }

    /// The window in `from..to`: the median over time of the packets in flight.
    pub fn window(&self, from: f64, to: f64) -> f64 {
        let mut spans = vec![(self.flight_at(from), 0.0)];
        let mut since = from;
        let first = self.flight.partition_point(|(at, _)| *at <= from);
        for (at, bytes) in self.flight[first..].iter().take_while(|(at, _)| *at < to) {
            if let Some(last) = spans.last_mut() {
                last.1 = at - since;
            }
            since = *at;
            spans.push((bytes / self.size, 0.0));
        }
        if let Some(last) = spans.last_mut() {
            last.1 = to - since;
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half = (to - from) / 2.0;
        let mut sum = 0.0;
        let middle = spans.iter().find(|(_, length)| {
            sum += length;
            sum >= half
        });
        middle.map_or(0.0, |(packets, _)| *packets)
    }

    /// The data packets sent in `from..to`.
    pub fn sent(&self, from: f64, to: f64) -> &[Packet] {
        let place = |at: f64| self.packets.partition_point(|packet| packet.sent < at);
        &self.packets[place(from)..place(to).max(place(from))]
    }

    /// The numbers of data packets sent in each of so many rounds from `from` on.
    pub fn rounds(&self, from: f64, count: u32) -> Vec<f64> {
        let begins = (0..count).map(|number| from + f64::from(number) * self.rtt);
        begins.map(|at| self.sent(at, at + self.rtt).len() as f64).collect()
    }

    /// The packets that were lost from `from` on.
    pub fn lost(&self, from: f64) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.lost && packet.sent >= from)
    }

    /// The packets that were marked from `from` on.
    pub fn marked(&self, from: f64) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.marked && packet.sent >= from)
    }

    /// Bytes that arrived in `from..to`.
    pub fn arrived(&self, from: f64, to: f64) -> f64 {
        let came = self.packets.iter().filter(|packet| (from..to).contains(&packet.arrived));
        came.map(|packet| f64::from(packet.bytes)).sum()
    }

    /// When so many bytes had arrived, in seconds.
    pub fn time_to(&self, bytes: f64) -> f64 {
        let came = self.packets.iter().map(|packet| (packet.arrived, packet.bytes));
        let mut came: Vec<(f64, u32)> = came.collect();
        came.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let last = came.iter().find(|(_, more)| {
            sum += f64::from(*more);
            sum >= bytes
        });
        last.map_or(f64::INFINITY, |(at, _)| *at)
    }

    /// The share of a `rate` that arrived in `from..to`.
    pub fn used(&self, rate: f64, from: f64, to: f64) -> f64 {
        8.0 * self.arrived(from, to) / rate / (to - from)
    }

    /// The first time from `from` on at which an acknowledgement reached the sender.
    pub fn answered(&self, from: f64) -> f64 {
        let came = self.acks.iter().map(|[_, came]| *came).filter(|came| *came >= from);
        came.fold(f64::INFINITY, f64::min)
    }

    /// Packets that left in `from..to` one behind the other, as fast as the sender's link: each
    /// train's first time and its length.
    pub fn trains(&self, from: f64, to: f64) -> Vec<(f64, usize)> {
        let mut trains: Vec<(f64, usize)> = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for packet in self.sent(from, to) {
            let service = 8.0 * f64::from(packet.bytes) / ACCESS;
            match trains.last_mut() {
                Some((_, length)) if packet.sent - last < 1.5 * service => *length += 1,
                _ => trains.push((packet.sent, 1)),
            }
            last = packet.sent;
        }
        trains
    }

    /// The longest of these trains.
    pub fn longest_train(&self, from: f64, to: f64) -> usize {
        self.trains(from, to).iter().map(|(_, length)| *length).max().unwrap_or(0)
    }

    /// The longest time in `from..to` without a data packet, as a share of the base RTT.
    pub fn silence(&self, from: f64, to: f64) -> f64 {
        let sent = self.sent(from, to);
        let gaps = sent.windows(2).map(|pair| pair[1].sent - pair[0].sent);
        gaps.fold(0.0, f64::max) / self.rtt
    }
}
