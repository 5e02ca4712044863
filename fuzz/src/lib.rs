//! What must hold for anything that a user writes or a network says. The fuzz targets call these
//! functions, and so does `crates/scenario/tests/corpus.rs`, with all that is kept in `corpus`.

use narrows_control::laws::reno::Reno;
use narrows_control::{OncePerEpoch, SlowStart};
use narrows_router::service::{Course, HELD, Opportunities, Service, Steps};
use narrows_scenario::{Checked, Scenario, run};
use narrows_signal::{Range, SackBlocks};
use narrows_transport::congestion::Path;
use narrows_transport::tcp::{Habits, RecoveryKind, TcpSettings};
use narrows_transport::{AckHeader, Header, Segment, Sender};
use narrows_units::{Duration, Rate, Stream, Time};
use serde_json::json;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A scenario file is read and checked, or refused in words; what was read can be written, and is
/// read again as the same.
pub fn scenario(text: &str) {
    match Scenario::from_toml(text) {
        Err(error) => assert!(!error.to_string().trim().is_empty()),
        Ok(scenario) => {
            let written = scenario.to_toml();
            let again = Scenario::from_toml(&written).unwrap_or_else(|error| {
                panic!("what was written cannot be read: {error}\n{written}")
            });
            assert_eq!(scenario, again, "{written}");
            check(scenario);
        }
    }
}

/// A flow's `cc` makes a flow that runs, or is refused in words.
pub fn controller(cc: &str) {
    attempt(cc, "drop-tail");
}

/// A link's `queue` makes a link that carries packets, or is refused in words.
pub fn queue(queue: &str) {
    attempt("reno", queue);
}

/// Half a second of a narrow dumbbell.
fn attempt(cc: &str, queue: &str) {
    let flow = json!({ "cc": cc });
    let network = json!({ "rate": "2Mbps", "rtt": "20ms", "buffer": "10p", "queue": queue });
    let text = json!({ "duration": "500ms", "dumbbell": network, "flows": [flow] });
    let scenario = Scenario::from_json(&text.to_string()).expect("only the values are unknown");
    if let Some(checked) = check(scenario) {
        let finished = run(&checked, 1, None, |_| ControlFlow::Continue(()));
        finished.expect("half a second of 2 Mbit/s fits into memory");
    }
}

/// Checks a scenario; an error says something.
fn check(scenario: Scenario) -> Option<Checked> {
    match Checked::new(scenario) {
        Ok(checked) => Some(checked),
        Err(error) => {
            assert!(!error.to_string().trim().is_empty());
            None
        }
    }
}

/// A trace of opportunities is read, or refused in words; packets leave in their order, none before
/// it came.
pub fn trace(text: &str) {
    match Opportunities::parse(text) {
        Err(error) => assert!(!error.to_string().trim().is_empty()),
        Ok(mut trace) => {
            assert!(trace.mean_rate().bits_per_second() > 0);
            let sizes = text.bytes().chain([0; 8]).map(u32::from).take(40);
            serve(&mut trace, sizes.map(|byte| (40 + 4 * byte, u64::from(byte % 8))));
        }
    }
}

/// A course of rates, two bytes for each step, serves packets in their order, and as many bits as
/// its rates allow.
pub fn course(bytes: &[u8]) {
    let step = |pair: &[u8]| {
        let rate = Rate::from_bits_per_second(u64::from(pair[1]) * 40_000);
        (Duration::from_millis(1 + u64::from(pair[0])), rate)
    };
    let mut at = Time::ZERO;
    let changes: Vec<(Time, Option<Rate>)> = bytes
        .chunks_exact(2)
        .take(64)
        .map(|pair| {
            let (lasts, rate) = step(pair);
            at += lasts;
            (at, rate)
        })
        .collect();
    let rates = Steps::new(Rate::from_bits_per_second(1_000_000), changes, None);
    let mut course = Course::new(rates.clone());
    let packets = bytes.iter().chain(&[9; 8]).take(40);
    let busy = serve(&mut course, packets.map(|byte| (40 + 4 * u32::from(*byte), 0)));
    let Some((sent, end)) = busy else { return };
    // All come at once: until the last has left, the line is never idle.
    let mut could = 0.0;
    let mut steps = rates.between(Time::ZERO, end).peekable();
    while let Some((from, rate)) = steps.next() {
        let to = steps.peek().map_or(end, |(next, _)| *next);
        let rate = rate.map_or(0, Rate::bits_per_second) as f64;
        could += rate * to.since(from).seconds();
    }
    assert!((could - sent).abs() < 1.0 + 1e-9 * sent, "{could} bits could leave, {sent} did");
}

/// Offers packets of so many bytes to a service, so many milliseconds after each other; returns the
/// bits that have left, and when, unless some never do.
fn serve(
    service: &mut dyn Service,
    packets: impl Iterator<Item = (u32, u64)>,
) -> Option<(f64, Time)> {
    let (mut came, mut last, mut sent) = (Time::ZERO, Time::ZERO, 0.0);
    for (bytes, later) in packets {
        came += Duration::from_millis(later);
        let leaves = service.send(came, came.max(last), bytes);
        assert!(leaves >= last && leaves >= came, "{leaves} after {last}, came at {came}");
        if leaves >= HELD {
            return None;
        }
        (last, sent) = (leaves, sent + f64::from(bytes) * 8.0);
    }
    Some((sent, last))
}

/// A sender with SACK hears of blocks, three bytes for each event: it never sends what it has heard
/// to have arrived, and the pipe never holds more than two copies of what is outstanding.
pub fn sack(bytes: &[u8]) {
    let law = OncePerEpoch::new(SlowStart::Standard, Reno, 40.0).with_ssthresh(40.0);
    // Without a handshake: no acknowledgement here is a SYN-ACK, and nothing else would leave.
    let habits = Arc::new(Habits { handshake: false, ..Habits::LINUX });
    let settings = TcpSettings::new(RecoveryKind::Sack, habits, 1000);
    let mut sender = Sender::new(settings, Box::new(law), Path::new(Stream::new(1, 1, 1)));
    sender.offer(u64::MAX / 2);
    let mut heard = BTreeSet::new();
    let (mut now, mut end) = (Time::ZERO, 0);
    for event in bytes.chunks_exact(3) {
        let left = std::iter::from_fn(|| sender.poll_transmit(now)).map(|segment| segment.number);
        for number in left.collect::<Vec<_>>() {
            assert!(!heard.contains(&number), "{number} left again, but had arrived");
            end = end.max(number + 1);
        }
        let outstanding = end - sender.first();
        assert!(sender.in_flight() <= 2 * outstanding, "{} of {outstanding}", sender.in_flight());
        let [kind, start, length] = [event[0], event[1], event[2]].map(u64::from);
        now += Duration::from_millis(start % 16);
        if kind % 16 == 0 {
            now = now.max(sender.retransmit_at().min(now + Duration::from_millis(60_000)));
            sender.on_wakeup(now);
            continue;
        }
        let number = sender.first() + if kind % 4 == 1 { start.min(outstanding) } else { 0 };
        let first = Range { start: number + start % 64, end: number + start % 64 + length % 64 };
        let second = Range { start: first.end + kind, end: first.end + kind + start };
        let blocks = [first, second].into_iter().take((kind / 64) as usize);
        let sack = SackBlocks::of(number, blocks.clone().filter(|block| !block.is_empty()));
        for block in blocks {
            heard.extend(block.start.max(number)..block.end.min(end));
        }
        heard = heard.split_off(&number);
        let echoed_stamp = Time::ZERO + now.since(Time::ZERO + Duration::from_millis(length));
        let header = Header::Ack(AckHeader { sack, ..AckHeader::default() });
        sender.on_ack(now, &Segment { number, stamp: now, echoed_stamp, bytes: 40, header });
    }
}
