//! Writes captures.

use etherparse::{PacketBuilder, PacketBuilderStep, TcpHeader, TcpOptionElement, VlanId};
use narrows_capture::{Report, why};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use std::time::Duration;

/// How a frame begins.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    Raw,
    Raw6,
    Ethernet,
    Vlan,
    /// Linux's "any" device.
    Cooked,
}

/// A segment: microseconds, whether the client sends it, and what it says.
#[derive(Clone, Debug)]
pub struct Said {
    pub at: u64,
    pub by_client: bool,
    pub number: u32,
    pub acknowledged: Option<u32>,
    pub payload: usize,
    pub syn: bool,
    pub pushes: bool,
    pub window: u16,
    pub stamps: Option<(u32, u32)>,
    pub blocks: Vec<(u32, u32)>,
}

impl Said {
    /// Data of the client.
    pub fn data(at: u64, number: u32, payload: usize) -> Self {
        Self {
            at,
            by_client: true,
            number,
            acknowledged: Some(1),
            payload,
            syn: false,
            pushes: false,
            window: 65_535,
            stamps: None,
            blocks: Vec::new(),
        }
    }

    /// An acknowledgement of the server.
    pub fn ack(at: u64, number: u32) -> Self {
        let said = Self::data(at, 1, 0);
        Self { by_client: false, acknowledged: Some(number), ..said }
    }

    /// The handshake of a capture beside the client: over in 20 ms.
    pub fn handshake() -> Vec<Self> {
        let syn = Self { syn: true, acknowledged: None, ..Self::data(0, 0, 0) };
        let answer = Self { syn: true, number: 0, ..Self::ack(20_000, 1) };
        vec![syn, answer, Self::data(20_001, 1, 0)]
    }

    fn bytes(&self, link: Link) -> Vec<u8> {
        let (client, server) = ((40_000, [10, 0, 0, 1]), (5001, [10, 0, 0, 2]));
        let (from, to) = if self.by_client { (client, server) } else { (server, client) };
        let six = |host: [u8; 4]| {
            let mut address = [0; 16];
            address[12..].copy_from_slice(&host);
            address
        };
        let mut tcp = TcpHeader::new(from.0, to.0, self.number, self.window);
        (tcp.syn, tcp.ack, tcp.psh) = (self.syn, self.acknowledged.is_some(), self.pushes);
        tcp.acknowledgment_number = self.acknowledged.unwrap_or(0);
        let mut options = Vec::new();
        if self.syn {
            options.extend([
                TcpOptionElement::MaximumSegmentSize(1460),
                TcpOptionElement::WindowScale(0),
            ]);
        }
        options.extend(self.stamps.map(|(value, echo)| TcpOptionElement::Timestamp(value, echo)));
        if let Some(first) = self.blocks.first() {
            let others = [self.blocks.get(1).copied(), self.blocks.get(2).copied(), None];
            options.push(TcpOptionElement::SelectiveAcknowledgement(*first, others));
        }
        tcp.set_options(&options).expect("they fit");
        let ethernet = || PacketBuilder::ethernet2([1; 6], [2; 6]);
        let whole = |step: PacketBuilderStep<etherparse::IpHeaders>, before: Vec<u8>| {
            let step = step.tcp_header(tcp.clone());
            let mut bytes = before;
            step.write(&mut bytes, &vec![0; self.payload]).expect("memory takes it");
            bytes
        };
        match link {
            Link::Raw => whole(PacketBuilder::ipv4(from.1, to.1, 64), Vec::new()),
            Link::Raw6 => whole(PacketBuilder::ipv6(six(from.1), six(to.1), 64), Vec::new()),
            Link::Ethernet => whole(ethernet().ipv4(from.1, to.1, 64), Vec::new()),
            Link::Vlan => whole(
                ethernet().single_vlan(VlanId::try_new(7).expect("a VLAN")).ipv4(from.1, to.1, 64),
                Vec::new(),
            ),
            Link::Cooked => {
                let mut header = vec![0; 14];
                header.extend([8, 0]);
                whole(PacketBuilder::ipv4(from.1, to.1, 64), header)
            }
        }
    }
}

/// A pcap of segments, of each frame at most `kept` bytes.
pub fn capture(said: &[Said], link: Link, kept: usize) -> Vec<u8> {
    let datalink = match link {
        Link::Raw | Link::Raw6 => DataLink::RAW,
        Link::Ethernet | Link::Vlan => DataLink::ETHERNET,
        Link::Cooked => DataLink::LINUX_SLL,
    };
    let header = PcapHeader { datalink, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).expect("memory takes it");
    for it in said {
        let bytes = it.bytes(link);
        let data = &bytes[..bytes.len().min(kept)];
        let packet = PcapPacket::new(Duration::from_micros(it.at), bytes.len() as u32, data);
        let packet = packet.expect("no frame is too long");
        writer.write_packet(&packet).expect("memory takes it");
    }
    writer.into_inner()
}

/// What a file tells.
pub fn read(file: &[u8]) -> Report {
    why(|| Ok(file), 8, |_| true).expect("it is a capture")
}
