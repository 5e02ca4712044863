//! Tapped links as pcapng, an interface for each link. What comes to a queue and what becomes of it
//! are two captures, so that a capture has each packet once.

use crate::headers::{self, FlowHeaders};
use narrows_sim::{Crossing, LinkId, Tap, TapPoint};
use narrows_transport::Kind;
use narrows_units::Time;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::{PcapNgWriteError, PcapNgWriter};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A link that is traced.
#[derive(Clone, Debug)]
pub struct TracedLink {
    /// The link's place in the network.
    pub id: LinkId,
    /// The link's name in the scenario.
    pub name: String,
    /// The link's rate in bit/s.
    pub rate: u64,
}

/// What a capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Packets as they come to the queue, those that the queue drops or the wire loses with a
    /// comment that can be filtered by `frame.comment`.
    Arrivals,
    /// Packets as their last bit leaves for the other end.
    Departures,
}

/// Writes one side of the traced links, in order of time. The first error is kept for
/// [`Self::finish`].
pub struct PacketTrace<W: Write> {
    side: Side,
    links: Vec<TracedLink>,
    flows: Vec<FlowHeaders>,
    inner: Arc<Mutex<Inner<W>>>,
}

struct Inner<W: Write> {
    writer: PcapNgWriter<W>,
    /// Departures, which are known ahead of their time.
    departures: BinaryHeap<Reverse<Waiting>>,
    /// Arrivals in order, which wait until it is known what becomes of them and of those before.
    arrivals: VecDeque<Arrival>,
    count: u64,
    failure: Option<io::Error>,
}

/// One packet to write; ordered by time, then by the order in which the packets were reported.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    at: Time,
    number: u64,
    interface: u32,
    bytes: Vec<u8>,
    length: u32,
    comment: Option<&'static str>,
}

/// A packet that has come to a queue.
struct Arrival {
    packet: Waiting,
    /// By which its fate is told: link, flow, and the segment's own fields.
    key: Key,
    is_settled: bool,
}

type Key = (LinkId, u32, Kind, u64, Time);

fn key(crossing: &Crossing) -> Key {
    let Crossing { link, flow, segment, .. } = crossing;
    (*link, *flow, segment.kind(), segment.number, segment.stamp)
}

impl<W: Write> Clone for PacketTrace<W> {
    fn clone(&self) -> Self {
        Self {
            side: self.side,
            links: self.links.clone(),
            flows: self.flows.clone(),
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<W: Write> PacketTrace<W> {
    /// Creates a trace of one `side` of `links` that is written to `writer`; `flows` contains what
    /// each flow's headers need. Fails if the writer does.
    pub fn new(
        writer: W,
        side: Side,
        links: Vec<TracedLink>,
        flows: Vec<FlowHeaders>,
    ) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(writer).map_err(as_io)?;
        for link in &links {
            let mut interface = InterfaceDescriptionBlock::new(DataLink::RAW, 0);
            interface.options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(&link.name)),
                InterfaceDescriptionOption::IfSpeed(link.rate),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ];
            writer.write_pcapng_block(interface).map_err(as_io)?;
        }
        let inner = Inner {
            writer,
            departures: BinaryHeap::new(),
            arrivals: VecDeque::new(),
            count: 0,
            failure: None,
        };
        Ok(Self { side, links, flows, inner: Arc::new(Mutex::new(inner)) })
    }

    /// The links that are traced.
    pub fn links(&self) -> Vec<LinkId> {
        self.links.iter().map(|link| link.id).collect()
    }

    /// Writes what is still waiting, except what would come after `end`, and returns the writer.
    /// Fails if any write failed, or if the tap is still in use.
    pub fn finish(self, end: Time) -> io::Result<W> {
        let inner = Arc::into_inner(self.inner)
            .ok_or_else(|| io::Error::other("the simulation is still writing this trace"))?;
        let mut inner = inner.into_inner().expect("no writer panics");
        inner.write_rest(end);
        match inner.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(inner.writer.into_inner()),
        }
    }
}

impl<W: Write + Send> Tap for PacketTrace<W> {
    fn crossing(&mut self, crossing: &Crossing) {
        let Some(place) = self.links.iter().position(|link| link.id == crossing.link) else {
            return;
        };
        let mut inner = self.inner.lock().expect("no writer panics");
        match (self.side, crossing.point) {
            (Side::Arrivals, TapPoint::Arrival) => {
                let packet = inner.waiting(place, crossing, self.flows[crossing.flow as usize]);
                let arrival = Arrival { packet, key: key(crossing), is_settled: false };
                inner.arrivals.push_back(arrival);
            }
            (Side::Arrivals, TapPoint::Departure) => inner.settle(crossing, None),
            (Side::Arrivals, TapPoint::Drop) => {
                inner.settle(crossing, Some("dropped by the queue"));
            }
            (Side::Arrivals, TapPoint::ScriptDrop) => {
                inner.settle(crossing, Some("dropped by the script"));
            }
            (Side::Arrivals, TapPoint::PolicerDrop) => {
                inner.settle(crossing, Some("dropped by the policer"));
            }
            (Side::Arrivals, TapPoint::WireLoss) => {
                inner.settle(crossing, Some("lost on the wire"));
            }
            (Side::Departures, TapPoint::Departure) => {
                let packet = inner.waiting(place, crossing, self.flows[crossing.flow as usize]);
                inner.departures.push(Reverse(packet));
            }
            (Side::Departures, TapPoint::Arrival) => inner.write_until(crossing.at),
            (Side::Departures, _) => {}
        }
    }
}

impl<W: Write> Inner<W> {
    fn waiting(&mut self, place: usize, crossing: &Crossing, flow: FlowHeaders) -> Waiting {
        let (bytes, length) = headers::write(crossing, flow);
        self.count += 1;
        let (at, number, interface) = (crossing.at, self.count, place as u32);
        Waiting { at, number, interface, bytes, length, comment: None }
    }

    /// It is known what becomes of a packet; writes all that no longer wait.
    fn settle(&mut self, crossing: &Crossing, comment: Option<&'static str>) {
        let key = key(crossing);
        // A queue that decides on arrival tells the fate at once.
        let is_newest = self.arrivals.back().is_some_and(|arrival| arrival.key == key);
        let found = if is_newest {
            self.arrivals.back_mut()
        } else {
            self.arrivals.iter_mut().find(|arrival| arrival.key == key && !arrival.is_settled)
        };
        let Some(arrival) = found else { return };
        (arrival.is_settled, arrival.packet.comment) = (true, comment);
        while let Some(arrival) = self.arrivals.pop_front_if(|arrival| arrival.is_settled) {
            self.put(arrival.packet);
        }
    }

    /// Writes the departures up to `now`.
    fn write_until(&mut self, now: Time) {
        while self.departures.peek().is_some_and(|Reverse(next)| next.at <= now) {
            let Some(Reverse(packet)) = self.departures.pop() else { return };
            self.put(packet);
        }
    }

    /// Writes what is left, up to `end`.
    fn write_rest(&mut self, end: Time) {
        self.write_until(end);
        while let Some(arrival) = self.arrivals.pop_front() {
            self.put(arrival.packet);
        }
    }

    /// Writes a packet, unless a write has failed before.
    fn put(&mut self, packet: Waiting) {
        if self.failure.is_none() {
            self.failure = self.write(packet).err();
        }
    }

    fn write(&mut self, packet: Waiting) -> io::Result<()> {
        let comment = packet
            .comment
            .map(|text| EnhancedPacketOption::Common(CommonOption::Comment(Cow::Borrowed(text))));
        let block = EnhancedPacketBlock {
            interface_id: packet.interface,
            timestamp: std::time::Duration::from_nanos(packet.at.picos() / 1000),
            original_len: packet.length,
            data: Cow::Owned(packet.bytes),
            options: comment.into_iter().collect(),
        };
        self.writer.write_pcapng_block(block).map(drop).map_err(as_io)
    }
}

fn as_io(error: PcapNgWriteError) -> io::Error {
    io::Error::other(error.to_string())
}
