//! The E-TCP receiver: two modules, the second of which exists only if delivery is reliable (E-TCP,
//! §V-B).

use super::coding::{Decoder, Symbol};
use super::sender::Delivery;
use super::signalling::Reception;
use crate::{Header, Payload, Reassembly, Segment};
use narrows_signal::EtcpAck;
use narrows_units::{Stream, Time};

/// An E-TCP receiver, which acknowledges each packet.
#[derive(Clone, Debug)]
pub struct Receiver {
    ack_bytes: u32,
    reception: Reception,
    /// `None` unless lost data is sent again.
    reassembly: Option<Reassembly>,
    /// `None` unless an erasure code makes up for lost data.
    decoder: Option<Box<Decoder>>,
    arrived: u64,
    duplicates: u64,
    /// The number after the newest data that has arrived, if delivery is not reliable.
    end: u64,
}

impl Receiver {
    /// Creates a receiver whose acknowledgements have `ack_bytes` bytes on the wire; failures to
    /// decode are drawn from `stream`.
    pub fn new(delivery: Delivery, ack_bytes: u32, stream: Stream) -> Self {
        let coded = matches!(delivery, Delivery::Coding { .. });
        Self {
            ack_bytes,
            reception: Reception::default(),
            reassembly: (delivery == Delivery::Retransmission).then(Reassembly::default),
            decoder: coded.then(|| Box::new(Decoder::new(stream))),
            arrived: 0,
            duplicates: 0,
            end: 0,
        }
    }

    /// Takes the data that arrived; returns its acknowledgement.
    ///
    /// Panics if the segment is not E-TCP data.
    pub fn on_data(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        let cc_seq = match data.header {
            Header::EtcpData { payload: Payload::Damaged, cc_seq, .. } => {
                return Some(self.on_damaged(now, data, cc_seq, None));
            }
            Header::EtcpSymbol { payload: Payload::Damaged, cc_seq, symbol } => {
                return Some(self.on_damaged(now, data, cc_seq, Some(symbol)));
            }
            Header::EtcpData { cc_seq, .. } => cc_seq,
            Header::EtcpSymbol { cc_seq, symbol, .. } => {
                return Some(self.on_symbol(now, data, cc_seq, symbol));
            }
            _ => panic!("an E-TCP receiver got {:?}", data.header),
        };
        let mut new = self.reception.arrive(cc_seq);
        let (h_seq, bitmap) = self.reception.report();
        let (mut number, mut left_edge) = (0, data.number);
        if let Some(reassembly) = &mut self.reassembly {
            new = reassembly.arrive(data.number);
            number = reassembly.next();
            left_edge = reassembly.left_edge(data.number);
        }
        self.end = self.end.max(data.number + 1);
        self.arrived += u64::from(new);
        self.duplicates += u64::from(!new);
        let ack = EtcpAck { h_seq, bitmap, tsn: data.number as u32, left_edge: left_edge as u32 };
        Some(self.answer(now, data, number, ack))
    }

    /// Takes a symbol of the erasure code; returns its acknowledgement.
    #[cold]
    fn on_symbol(&mut self, now: Time, data: &Segment, cc_seq: u32, symbol: Symbol) -> Segment {
        let is_new = self.reception.arrive(cc_seq);
        let (h_seq, bitmap) = self.reception.report();
        let (mut number, mut decoded) = (0, None);
        if let Some(decoder) = self.decoder.as_mut().filter(|_| is_new) {
            decoded = decoder.arrive(symbol).then_some(symbol.block);
            (self.arrived, self.duplicates) = (decoder.arrived(), decoder.surplus());
        }
        if let Some(decoder) = &self.decoder {
            number = decoder.next();
        }
        self.answer(now, data, number, EtcpAck::of_code(h_seq, bitmap, decoded))
    }

    /// Takes a packet whose header arrived and whose payload is damaged: congestion control hears
    /// that it was received, and reliable delivery that its data was not (§I).
    #[cold]
    fn on_damaged(
        &mut self,
        now: Time,
        data: &Segment,
        cc_seq: u32,
        symbol: Option<Symbol>,
    ) -> Segment {
        self.reception.arrive(cc_seq);
        let (h_seq, bitmap) = self.reception.report();
        let ack = match symbol {
            Some(symbol) => EtcpAck::of_damaged_symbol(h_seq, bitmap, symbol.block),
            None => {
                let tsn = data.number as u32;
                EtcpAck { h_seq, bitmap, tsn, left_edge: tsn.wrapping_add(1) }
            }
        };
        let in_order = self.reassembly.as_ref().map(Reassembly::next);
        let number = in_order.or(self.decoder.as_ref().map(|decoder| decoder.next()));
        self.answer(now, data, number.unwrap_or(0), ack)
    }

    fn answer(&self, now: Time, data: &Segment, number: u64, ack: EtcpAck) -> Segment {
        Segment {
            number,
            stamp: now,
            echoed_stamp: data.stamp,
            bytes: self.ack_bytes,
            header: Header::EtcpAck(ack),
        }
    }

    /// Packets that arrived for the first time.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets that had arrived before, or symbols that were not needed.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The lowest number that has not arrived; if delivery is not reliable, the number after the
    /// newest data that has: what is missing below it is gone.
    pub fn next(&self) -> u64 {
        if let Some(decoder) = &self.decoder {
            return decoder.next();
        }
        self.reassembly.as_ref().map_or(self.end, Reassembly::next)
    }
}
