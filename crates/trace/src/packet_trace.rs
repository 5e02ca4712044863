//! Tapped links as pcapng: for each link, one interface for packets that arrive at the queue and
//! one for packets that leave it.

use crate::headers::{self, FlowHeaders};
use narrows_sim::{Crossing, LinkId, Tap, TapPoint};
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
use std::collections::BinaryHeap;
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

/// Writes what crosses the traced links, in order of time. A drop is shown as a packet at the tail
/// of the queue, with a comment that can be filtered by `frame.comment`. The first error is kept
/// for [`Self::finish`].
pub struct PacketTrace<W: Write> {
    links: Vec<TracedLink>,
    flows: Vec<FlowHeaders>,
    inner: Arc<Mutex<Inner<W>>>,
}

struct Inner<W: Write> {
    writer: PcapNgWriter<W>,
    /// Packets that wait to be written, such as departures that are known ahead of their time.
    waiting: BinaryHeap<Reverse<Waiting>>,
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

impl<W: Write> Clone for PacketTrace<W> {
    fn clone(&self) -> Self {
        Self {
            links: self.links.clone(),
            flows: self.flows.clone(),
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<W: Write> PacketTrace<W> {
    /// Creates a trace of `links` that is written to `writer`; `flows` contains what each flow's
    /// headers need. Fails if the writer does.
    pub fn new(writer: W, links: Vec<TracedLink>, flows: Vec<FlowHeaders>) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(writer).map_err(as_io)?;
        for link in &links {
            for place in ["in", "out"] {
                let mut interface = InterfaceDescriptionBlock::new(DataLink::RAW, 0);
                interface.options = vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(format!(
                        "{} {place}",
                        link.name
                    ))),
                    InterfaceDescriptionOption::IfSpeed(link.rate),
                    InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
                ];
                writer.write_pcapng_block(interface).map_err(as_io)?;
            }
        }
        let inner = Inner { writer, waiting: BinaryHeap::new(), count: 0, failure: None };
        Ok(Self { links, flows, inner: Arc::new(Mutex::new(inner)) })
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
        inner.write_until(end);
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
        let (interface, comment) = match crossing.point {
            TapPoint::Arrival => (2 * place, None),
            TapPoint::Drop => (2 * place, Some("dropped by the queue")),
            TapPoint::Departure => (2 * place + 1, None),
            TapPoint::WireLoss => (2 * place + 1, Some("lost on the wire")),
        };
        let (bytes, length) = headers::write(crossing, self.flows[crossing.flow as usize]);
        let mut inner = self.inner.lock().expect("no writer panics");
        inner.count += 1;
        let number = inner.count;
        if crossing.point == TapPoint::Arrival {
            inner.write_until(crossing.at);
        }
        inner.waiting.push(Reverse(Waiting {
            at: crossing.at,
            number,
            interface: interface as u32,
            bytes,
            length,
            comment,
        }));
    }
}

impl<W: Write> Inner<W> {
    fn write_until(&mut self, now: Time) {
        while self.failure.is_none()
            && self.waiting.peek().is_some_and(|Reverse(next)| next.at <= now)
        {
            let Some(Reverse(packet)) = self.waiting.pop() else { return };
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
