//! The E-TCP receiver: two modules, the second of which exists only if delivery is reliable (E-TCP,
//! §V-B).

use super::signalling::Reception;
use crate::{Header, Reassembly, Segment};
use narrows_signal::EtcpAck;
use narrows_units::Time;

/// An E-TCP receiver, which acknowledges each packet.
#[derive(Clone, Debug)]
pub struct Receiver {
    ack_bytes: u32,
    reception: Reception,
    /// `None` if delivery is not reliable.
    reassembly: Option<Reassembly>,
    arrived: u64,
    duplicates: u64,
}

impl Receiver {
    /// Creates a receiver whose acknowledgements have `ack_bytes` bytes on the wire.
    pub fn new(reliable: bool, ack_bytes: u32) -> Self {
        let reassembly = reliable.then(Reassembly::default);
        Self { ack_bytes, reception: Reception::default(), reassembly, arrived: 0, duplicates: 0 }
    }

    /// Takes the data that arrived; returns its acknowledgement.
    ///
    /// Panics if the segment is not E-TCP data.
    pub fn on_data(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        let Header::EtcpData { cc_seq, .. } = data.header else {
            panic!("an E-TCP receiver got {:?}", data.header)
        };
        let mut new = self.reception.arrive(cc_seq);
        let (h_seq, bitmap) = self.reception.report();
        let (mut number, mut left_edge) = (0, data.number);
        if let Some(reassembly) = &mut self.reassembly {
            new = reassembly.arrive(data.number);
            number = reassembly.next();
            left_edge = reassembly.left_edge(data.number);
        }
        self.arrived += u64::from(new);
        self.duplicates += u64::from(!new);
        let ack = EtcpAck { h_seq, bitmap, tsn: data.number as u32, left_edge: left_edge as u32 };
        Some(Segment {
            number,
            stamp: now,
            echoed_stamp: data.stamp,
            bytes: self.ack_bytes,
            header: Header::EtcpAck(ack),
        })
    }

    /// Packets that arrived for the first time.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets that had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The lowest number that has not arrived; if delivery is not reliable, the number of packets
    /// that have arrived.
    pub fn next(&self) -> u64 {
        self.reassembly.as_ref().map_or(self.arrived, Reassembly::next)
    }
}
