//! The rule of decoding that `etcp::coding` simulates, against a RaptorQ code with real payloads.

use narrows_transport::etcp::coding::symbols_too_few;
use narrows_units::Stream;
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, SourceBlockDecoder, SourceBlockEncoder,
};

const SYMBOL_BYTES: u16 = 8;

/// How many of `blocks` blocks of `k` packets could not be decoded from `k + extra` symbols, when
/// each packet of the data was lost with probability `lost` and repair symbols took its place.
fn failures(k: u32, extra: usize, lost: f64, blocks: u32) -> u32 {
    let bytes = u64::from(k) * u64::from(SYMBOL_BYTES);
    let mut stream = Stream::new(11, u64::from(k), extra as u64);
    let data: Vec<u8> = (0..bytes).map(|_| stream.bits() as u8).collect();
    let config = ObjectTransmissionInformation::new(bytes, SYMBOL_BYTES, 1, 1, 8);
    let encoder = SourceBlockEncoder::new(0, &config, &data);
    let mut failed = 0;
    for _ in 0..blocks {
        let source = encoder.source_packets().into_iter();
        let mut packets: Vec<EncodingPacket> = source.filter(|_| !stream.happens(lost)).collect();
        let missing = (k as usize + extra).saturating_sub(packets.len()) as u32;
        // Which repair symbols arrive differs from block to block.
        let first = (stream.bits() % 100_000) as u32;
        packets.extend(encoder.repair_packets(first, missing));
        let mut decoder = SourceBlockDecoder::new(0, &config, bytes);
        match decoder.decode(packets) {
            Some(decoded) => assert_eq!(decoded, data),
            None => failed += 1,
        }
    }
    failed
}

/// RFC 6330 §5.8 allows one failure in 100 blocks with K symbols and one in 10,000 with K + 1.
/// Our rule fails exactly as often as allowed; the code at most that often, within four standard
/// deviations of the count.
#[test]
fn blocks_fail_as_seldom_as_the_rule_says() {
    let blocks = 2000;
    for (k, lost) in [(10, 0.3), (100, 0.1)] {
        let allowed = 0.01 * f64::from(blocks);
        let failed = f64::from(failures(k, 0, lost, blocks));
        println!("K = {k}: {failed} of {blocks} blocks failed with K symbols");
        assert!(failed <= allowed + 4.0 * allowed.sqrt(), "K = {k}: {failed} of {blocks}");
        // 0.2 are allowed: three or more would happen once in a thousand tries.
        let failed = failures(k, 1, lost, blocks);
        println!("K = {k}: {failed} of {blocks} blocks failed with K + 1 symbols");
        assert!(failed <= 2, "K = {k}: {failed} of {blocks} with one more");
    }
    let mut stream = Stream::new(3, 1, 1);
    let draws = 1_000_000;
    let extra = (0..draws).map(|_| symbols_too_few(stream.uniform()));
    let counts = extra.fold([0; 4], |mut counts, extra| {
        counts[extra.min(3) as usize] += 1;
        counts
    });
    assert!((9_600..=10_400).contains(&counts[1]) && counts[2] <= 150, "{counts:?}");
}

/// Without losses the packets themselves are enough, whatever the code.
#[test]
fn packets_of_the_data_need_no_decoding() {
    assert_eq!(failures(100, 0, 0.0, 20), 0);
}
