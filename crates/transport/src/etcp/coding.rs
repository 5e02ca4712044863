//! Reliable delivery by an erasure code instead of retransmission. E-TCP, §III-A: losses "can
//! easily be dealt with through either retransmission, as in TCP, or through simple forward error
//! correction codes" (LT codes there). Like §IV's module, this one knows nothing of congestion
//! control; it goes by the same answers: each packet was received or lost.
//!
//! The code is RaptorQ (RFC 6330), of which only the rule of decoding is simulated: no payload is
//! ever made. Data goes in blocks of K packets.
//!
//! | source | says | here |
//! |---|---|---|
//! | RFC 6330, §5.3.1 | the code is systematic: symbols 0 to K − 1 are the packets themselves, and there are as many others as needed | [`Symbol`] |
//! | RFC 6330, §1 | a block can be decoded from any K symbols "in most cases" | [`Decoder`] |
//! | RFC 6330, §5.8 | it fails with K + o symbols at most once in 100^(o + 1) blocks | [`symbols_too_few`] |
//! | our own | a block gets symbols until those received, and those expected of the ones under way, are two more than K, with two standard deviations to spare | [`Encoder::lacks`] |
//!
//! So the symbols that make up for losses leave right behind the block, before any loss is known.
//! Only if that was not enough a block gets more, once the answers have come.

use super::signalling::Fate;
use narrows_units::Stream;
use std::collections::VecDeque;

/// The largest block, in packets (K'_max of RFC 6330, §5.1.2).
pub const LARGEST_BLOCK: u32 = 56_403;
/// Symbols beyond K that the sender expects to arrive: with two, one block in a million has to wait
/// for more because of the code.
const SPARE: f64 = 2.0;
/// By how many standard deviations of the number of losses more symbols leave than are lost on
/// average: one block in 44 has to wait for more because of the losses.
const DEVIATIONS: f64 = 2.0;
/// The share of losses expected before any is known: the paper's p0.
const FIRST_RATIO: f64 = 0.01;
/// The share of losses is counted over this many packets, and averaged over about this many counts.
const COUNTED: u32 = 1024;
const MEMORY: f64 = 8.0;
/// A count of more than this many times the average is a burst, as at the end of slow start, and
/// counts for no more. Its losses are repaired when the answers have come.
const BURST: f64 = 2.0;
/// No count is smaller, or the average could never grow again.
const LEAST_RATIO: f64 = 1e-4;

/// What a packet carries: one symbol of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Number of the block, from 0.
    pub block: u32,
    /// K, the block's packets.
    pub packets: u32,
    /// Number of the symbol; below K it is that packet itself.
    pub number: u32,
}

impl Symbol {
    /// True if it makes up for losses.
    pub const fn is_repair(&self) -> bool {
        self.number >= self.packets
    }
}

/// The sender's half: decides which symbol leaves next.
#[derive(Clone, Debug)]
pub struct Encoder {
    /// Packets of a block, unless it is the last of the data.
    size: u32,
    /// Number of the first block in `open`, and of the data's first packet in it.
    first: u32,
    first_packet: u64,
    /// Blocks begun; at the front is one that is not known to have been decoded.
    open: VecDeque<Block>,
    /// Packets in the blocks that have been begun.
    begun: u64,
    /// For each packet that has not been answered, in the order of departure, its block.
    under_way: VecDeque<u32>,
    /// Blocks that may lack symbols, in the order of discovery.
    lacking: VecDeque<u32>,
    /// The share of packets lost, and of those answered since its last change how many were.
    ratio: f64,
    answered: u32,
    lost: u32,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    packets: u32,
    /// Number of the next symbol.
    next: u32,
    received: u32,
    in_flight: u32,
    decoded: bool,
}

impl Encoder {
    /// Encodes blocks of `size` packets.
    pub fn new(size: u32) -> Self {
        Self {
            size,
            first: 0,
            first_packet: 0,
            open: VecDeque::new(),
            begun: 0,
            under_way: VecDeque::new(),
            lacking: VecDeque::new(),
            ratio: FIRST_RATIO,
            answered: 0,
            lost: 0,
        }
    }

    /// Packets of data that have begun to leave.
    pub fn end(&self) -> u64 {
        self.begun
    }

    /// The number of the first packet of data that is not known to have arrived.
    pub fn first(&self) -> u64 {
        self.first_packet
    }

    /// True if every block begun has been decoded.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// True if a block lacks symbols.
    pub fn needs_repair(&mut self) -> bool {
        while let Some(block) = self.lacking.front().copied() {
            if self.lacks(block) {
                return true;
            }
            self.lacking.pop_front();
        }
        self.last().is_some_and(|last| self.lacks(last))
    }

    /// The symbol that leaves next, and the number of the first packet of its block; begins a block
    /// of what the application has `offered`, if none lacks symbols.
    pub fn next(&mut self, offered: u64) -> Option<(Symbol, u64)> {
        let block = if self.needs_repair() {
            self.lacking.front().copied().or(self.last())?
        } else {
            let packets = u64::from(self.size).min(offered.saturating_sub(self.begun)) as u32;
            if packets == 0 {
                return None;
            }
            self.begun += u64::from(packets);
            let begun = Block { packets, next: 0, received: 0, in_flight: 0, decoded: false };
            self.open.push_back(begun);
            self.last()?
        };
        let before: u64 = self.open.range(..(block - self.first) as usize).map(packets).sum();
        let first_packet = self.first_packet + before;
        self.under_way.push_back(block);
        let chosen = self.block(block)?;
        chosen.in_flight += 1;
        chosen.next += 1;
        let (number, packets) = (chosen.next - 1, chosen.packets);
        Some((Symbol { block, packets, number }, first_packet))
    }

    /// The oldest packet that had not been answered yet has met its fate.
    pub fn answer(&mut self, fate: Fate) {
        self.count(fate);
        let Some(number) = self.under_way.pop_front() else { return };
        let Some(block) = self.block(number) else { return };
        block.in_flight = block.in_flight.saturating_sub(1);
        block.received += u32::from(fate == Fate::Received);
        if fate == Fate::Lost && !self.lacking.contains(&number) && self.lacks(number) {
            self.lacking.push_back(number);
        }
    }

    fn count(&mut self, fate: Fate) {
        self.answered += 1;
        self.lost += u32::from(fate == Fate::Lost);
        if self.answered == COUNTED {
            let ratio = f64::from(self.lost) / f64::from(COUNTED);
            let counted = ratio.clamp(LEAST_RATIO, BURST * self.ratio);
            self.ratio += (counted - self.ratio) / MEMORY;
            (self.answered, self.lost) = (0, 0);
        }
    }

    /// A symbol of `number` arrived damaged, and is of no use.
    pub fn on_damage(&mut self, number: u32) {
        let Some(block) = self.block(number) else { return };
        block.received = block.received.saturating_sub(1);
        if !self.lacking.contains(&number) {
            self.lacking.push_back(number);
        }
    }

    /// An acknowledgement says that all data below `packet` has arrived, and that `block` has been
    /// decoded, if it has.
    pub fn on_ack(&mut self, packet: u64, block: Option<u32>) {
        if let Some(block) = block.and_then(|number| self.block(number)) {
            block.decoded = true;
        }
        while let Some(front) = self.open.front() {
            let end = self.first_packet + u64::from(front.packets);
            if !front.decoded && packet < end {
                return self.distrust();
            }
            self.first_packet = end;
            self.first += 1;
            self.open.pop_front();
        }
    }

    /// A block all of whose symbols have been answered, and which has not been decoded, lacks more,
    /// however many are believed to have arrived.
    fn distrust(&mut self) {
        let (first, lacking) = (self.first, &mut self.lacking);
        let Some(block) = self.open.front_mut() else { return };
        if block.in_flight == 0 && block.next >= block.packets {
            block.received = block.received.min(block.packets);
            if !lacking.contains(&first) {
                lacking.push_back(first);
            }
        }
    }

    /// Nothing has been heard for a retransmission timeout: nothing under way is expected any more.
    pub fn on_silence(&mut self) {
        self.lacking.clear();
        for (number, block) in (self.first..).zip(&mut self.open) {
            block.in_flight = 0;
            block.received = block.received.min(block.packets);
            if !block.decoded {
                self.lacking.push_back(number);
            }
        }
    }

    /// True if more symbols of the block must leave for it to be decoded, as far as is known.
    fn lacks(&self, number: u32) -> bool {
        let place = number.checked_sub(self.first);
        let Some(block) = place.and_then(|place| self.open.get(place as usize)) else {
            return false;
        };
        if block.decoded {
            return false;
        }
        if block.next < block.packets {
            return true;
        }
        let ratio = self.ratio;
        let in_flight = f64::from(block.in_flight);
        let spread = (in_flight * ratio * (1.0 - ratio)).sqrt();
        let expected = f64::from(block.received) + in_flight * (1.0 - ratio) - DEVIATIONS * spread;
        expected < f64::from(block.packets) + SPARE
    }

    fn last(&self) -> Option<u32> {
        Some(self.first + (self.open.len() as u32).checked_sub(1)?)
    }

    fn block(&mut self, number: u32) -> Option<&mut Block> {
        self.open.get_mut(number.checked_sub(self.first)? as usize)
    }
}

fn packets(block: &Block) -> u64 {
    u64::from(block.packets)
}

/// The receiver's half.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// Number of the first block in `open`, and of the data's first packet in it.
    first: u32,
    first_packet: u64,
    /// Blocks from the first that has not been decoded on.
    open: VecDeque<Collected>,
    /// Packets of data that have arrived or been decoded.
    arrived: u64,
    /// Symbols that were not needed.
    surplus: u64,
    stream: Stream,
}

#[derive(Clone, Debug, Default)]
struct Collected {
    /// K; 0 until a symbol has arrived.
    packets: u32,
    /// Symbols that have arrived, and how many of them are packets of the data.
    symbols: u32,
    source: u32,
    /// Packets of the data up to the first gap, which need no decoding.
    in_order: u32,
    ahead: Vec<u32>,
    /// Symbols beyond K that this block takes to decode.
    extra: u32,
    decoded: bool,
}

impl Decoder {
    /// A decoder whose failures are drawn from `stream`.
    pub fn new(stream: Stream) -> Self {
        Self { first: 0, first_packet: 0, open: VecDeque::new(), arrived: 0, surplus: 0, stream }
    }

    /// Takes a symbol; returns true if its block is decoded.
    pub fn arrive(&mut self, symbol: Symbol) -> bool {
        let Some(place) = symbol.block.checked_sub(self.first) else {
            self.surplus += 1;
            return true;
        };
        let place = place as usize;
        if place >= self.open.len() {
            self.open.resize_with(place + 1, Collected::default);
        }
        let block = &mut self.open[place];
        if block.packets == 0 {
            block.packets = symbol.packets;
            block.extra = symbols_too_few(self.stream.uniform());
        }
        if block.decoded {
            self.surplus += 1;
            return true;
        }
        self.arrived += u64::from(block.take(&symbol));
        if block.can_be_decoded() {
            self.arrived += u64::from(block.packets - block.source);
            self.surplus += u64::from(block.symbols - block.packets);
            block.decoded = true;
        }
        let decoded = block.decoded;
        while let Some(front) = self.open.pop_front_if(|front| front.decoded) {
            self.first += 1;
            self.first_packet += u64::from(front.packets);
        }
        decoded
    }

    /// The lowest number of a packet of data that is not there yet.
    pub fn next(&self) -> u64 {
        self.first_packet + self.open.front().map_or(0, |block| u64::from(block.in_order))
    }

    /// Packets of data that are there.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Symbols that arrived and were not needed.
    pub fn surplus(&self) -> u64 {
        self.surplus
    }
}

impl Collected {
    /// Takes a symbol, each of which leaves only once; returns true if it is a packet of the data.
    fn take(&mut self, symbol: &Symbol) -> bool {
        self.symbols += 1;
        if symbol.is_repair() {
            return false;
        }
        self.source += 1;
        if symbol.number != self.in_order {
            let place = self.ahead.partition_point(|number| *number > symbol.number);
            self.ahead.insert(place, symbol.number);
            return true;
        }
        self.in_order += 1;
        while self.ahead.pop_if(|number| *number == self.in_order).is_some() {
            self.in_order += 1;
        }
        true
    }

    /// All packets are there, or enough symbols to compute them.
    fn can_be_decoded(&self) -> bool {
        self.source == self.packets || self.symbols >= self.packets + self.extra
    }
}

/// How many symbols beyond K a block takes for which `uniform` was drawn from [0, 1): more than o
/// with probability 100^−(o + 1) (RFC 6330, §5.8).
pub fn symbols_too_few(uniform: f64) -> u32 {
    let mut fails = 0.01;
    let mut extra = 0;
    while uniform < fails {
        extra += 1;
        fails *= 0.01;
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(block: u32, number: u32) -> Symbol {
        Symbol { block, packets: 3, number }
    }

    #[test]
    fn more_symbols_are_needed_once_in_a_hundred_and_once_in_ten_thousand_blocks() {
        assert_eq!([0.5, 0.01, 0.0099, 0.0001, 0.000_099].map(symbols_too_few), [0, 0, 1, 1, 2]);
    }

    /// With 1 % of losses, of 106 symbols 104.94 arrive on average, and two standard deviations,
    /// √(106 · 0.01 · 0.99) each, leave 102.9, above 102. Of 105 it would be 101.9.
    #[test]
    fn symbols_for_the_losses_leave_behind_the_block() {
        let mut encoder = Encoder::new(100);
        let first: Vec<_> = (0..107).filter_map(|_| encoder.next(1000)).collect();
        let numbers: Vec<_> = first.iter().map(|(symbol, _)| symbol.number).collect();
        assert_eq!(numbers[..106], (0..106).collect::<Vec<_>>());
        assert_eq!(first[106], (Symbol { block: 1, packets: 100, number: 0 }, 100));
        assert_eq!(first.iter().filter(|(symbol, _)| symbol.is_repair()).count(), 6);
    }

    #[test]
    fn a_block_that_lost_more_gets_more_before_the_next_goes_on() {
        let mut encoder = Encoder::new(100);
        (0..110).for_each(|_| {
            encoder.next(1000);
        });
        (0..10).for_each(|_| encoder.answer(Fate::Lost));
        assert!(encoder.needs_repair());
        let (symbol, _) = encoder.next(1000).expect("the first block lacks symbols");
        assert_eq!((symbol.block, symbol.number), (0, 106));
        encoder.on_ack(0, Some(0));
        let (symbol, first) = encoder.next(1000).expect("there is more data");
        assert_eq!((symbol.block, symbol.number, first), (1, 4, 100));
    }

    /// 1024 packets are lost, which counts as twice the ratio: from 0.01 to 0.01125. Then none is:
    /// 0.01125 + (0.0001 − 0.01125)/8.
    #[test]
    fn a_burst_hardly_changes_what_is_expected() {
        let mut encoder = Encoder::new(100);
        (0..1024).for_each(|_| encoder.answer(Fate::Lost));
        assert!((encoder.ratio - 0.011_25).abs() < 1e-12, "{}", encoder.ratio);
        (0..1024).for_each(|_| encoder.answer(Fate::Received));
        assert!((encoder.ratio - 0.009_856_25).abs() < 1e-12, "{}", encoder.ratio);
    }

    #[test]
    fn the_last_block_is_as_long_as_the_data_and_silence_calls_for_more() {
        let mut encoder = Encoder::new(100);
        let sent = std::iter::from_fn(|| encoder.next(30)).count();
        // 30 + 2 + 2 deviations of about 0.6 + a third of a loss.
        assert_eq!((sent, encoder.end()), (34, 30));
        encoder.on_silence();
        assert!(encoder.needs_repair());
        encoder.on_ack(30, None);
        assert!(encoder.is_empty() && !encoder.needs_repair());
        assert_eq!(encoder.first(), 30);
    }

    #[test]
    fn packets_are_there_at_once_up_to_a_gap_and_all_when_enough_symbols_are() {
        // The first draw of this stream is above 0.01: three symbols are enough.
        let mut decoder = Decoder::new(Stream::new(1, 1, 1));
        assert!(!decoder.arrive(symbol(0, 0)));
        assert!(!decoder.arrive(symbol(0, 2)));
        assert_eq!((decoder.next(), decoder.arrived()), (1, 2));
        assert!(decoder.arrive(symbol(0, 4)));
        assert_eq!((decoder.next(), decoder.arrived(), decoder.surplus()), (3, 3, 0));
        assert!(decoder.arrive(symbol(0, 3)), "it has been decoded");
        assert_eq!((decoder.next(), decoder.arrived(), decoder.surplus()), (3, 3, 1));
        // A later block is decoded first.
        (0..3).for_each(|number| assert_eq!(decoder.arrive(symbol(2, number)), number == 2));
        assert_eq!((decoder.next(), decoder.arrived()), (3, 6));
        (0..3).rev().for_each(|number| assert_eq!(decoder.arrive(symbol(1, number)), number == 0));
        assert_eq!((decoder.next(), decoder.arrived(), decoder.surplus()), (9, 9, 1));
    }
}
