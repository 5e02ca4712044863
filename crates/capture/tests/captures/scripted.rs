//! Causes, losses and estimates of captures of which each is known.

use crate::writing::{Link, Said, capture, read};
use narrows_capture::{Cause, Flow, Place};

const FULL: usize = 1448;

fn flow(said: &[Said]) -> Flow {
    read(&capture(said, Link::Ethernet, usize::MAX)).flows.remove(0)
}

fn share(flow: &Flow, cause: Cause) -> f64 {
    flow.shares[cause as usize]
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 0.01 * expected.abs().max(0.01), "{value}, not {expected}");
}

/// Rounds of `packets` full segments each 20 ms, each round acknowledged before the next.
fn rounds(count: u64, packets: u64, window: u16) -> Vec<Said> {
    rounds_each(20_010, 20_000, count, packets, window)
}

/// Rounds that begin `every` microseconds and are acknowledged after `answered`.
fn rounds_each(every: u64, answered: u64, count: u64, packets: u64, window: u16) -> Vec<Said> {
    let mut said = Said::handshake();
    for round in 0..count {
        let (at, first) = (20_002 + round * every, round * packets);
        let number = |packet: u64| 1 + ((first + packet) * FULL as u64) as u32;
        said.extend((0..packets).map(|packet| Said::data(at + packet, number(packet), FULL)));
        said.push(Said { window, ..Said::ack(at + answered, number(packets)) });
    }
    said
}

#[test]
fn a_window_is_what_holds_back_who_sends_as_acknowledgements_come() {
    let flow = flow(&rounds(50, 10, 65_535));
    assert_eq!((flow.cause, flow.place, flow.lost), (Cause::Window, Place::Sender, 0));
    assert!(share(&flow, Cause::Window) > 0.97, "{:?}", flow.shares);
    near(share(&flow, Cause::Handshake), 20e-3 / flow.seconds);
    near(flow.base_rtt.expect("it is known").value, 20e-3);
    assert_eq!((flow.bytes, flow.segment_size), (50 * 10 * FULL as u64, FULL as u32));
}

#[test]
fn a_receiver_is_what_holds_back_who_fills_its_window() {
    // Ten segments and no eleventh fit.
    let flow = flow(&rounds(50, 10, 14_500));
    assert_eq!(flow.cause, Cause::Receiver);
    assert!(share(&flow, Cause::Receiver) > 0.9, "{:?}", flow.shares);
}

#[test]
fn the_pace_of_who_reads_in_lumps_is_no_paths_rate() {
    // What fills the window is acknowledged 15 ms after it has come, as a queue would delay it.
    let read = flow(&rounds_each(35_010, 35_000, 100, 10, 14_500));
    assert_eq!((read.cause, read.rate), (Cause::Receiver, None));
}

#[test]
fn who_falls_silent_after_a_full_window_does_not_wait_for_the_receiver() {
    let flow = flow(&rounds_each(320_000, 20_000, 20, 10, 14_500));
    near(share(&flow, Cause::Application) * flow.seconds, 19.0 * 0.3);
}

#[test]
fn silence_with_nothing_under_way_is_the_applications() {
    let mut said = Said::handshake();
    for file in 0..5u64 {
        let number = 1 + (file * FULL as u64) as u32;
        said.push(Said::data(20_002 + file * 1_000_000, number, FULL));
        said.push(Said::ack(40_002 + file * 1_000_000, number + FULL as u32));
    }
    let flow = flow(&said);
    assert_eq!((flow.cause, flow.restarts), (Cause::Application, 4));
    // Four silences, each until an acknowledgement 20 ms long the window's.
    near(share(&flow, Cause::Application) * flow.seconds, 4.0 * 0.98);
}

/// Beside the receiver of a path of 29 ms: each 33 ms twenty full segments and a short one leave at
/// once and come each 0.5 ms, while the acknowledgements of those before reach the sender.
fn writes() -> Vec<Said> {
    const ROUND_TRIP: u64 = 29_000;
    let stamp = |at: u64| (at / 1000) as u32;
    let mut said = Said::handshake();
    for (place, it) in said.iter_mut().enumerate() {
        it.at = [0, 10, ROUND_TRIP][place];
        it.stamps = Some((stamp(it.at), 0));
    }
    let mut number = 1;
    let mut heard: Vec<u64> = vec![10];
    for write in 1..60 {
        let at = write * 33_000;
        let echo = heard.iter().rev().find(|sent| **sent + ROUND_TRIP <= at).copied();
        for segment in 0..21 {
            let (at, size) = (at + 500 * segment, if segment < 20 { FULL } else { 100 });
            let stamps = Some((stamp(write * 33_000), stamp(echo.expect("the handshake's"))));
            said.push(Said { stamps, ..Said::data(at, number, size) });
            number += size as u32;
            if segment % 2 == 0 {
                heard.push(at + 10);
                said.push(Said { stamps: Some((stamp(at), 0)), ..Said::ack(at + 10, number) });
            }
        }
    }
    said
}

#[test]
fn who_leaves_acknowledgements_unanswered_does_not_wait_for_the_window() {
    let flow = flow(&writes());
    assert_eq!((flow.cause, flow.place), (Cause::Application, Place::Receiver));
    near(share(&flow, Cause::Application) * flow.seconds, 58.0 * 23e-3);
}

/// Beside the sender: each 33 ms a write of 20 full segments and a short one leaves as a pacer lets
/// it, and each two are acknowledged as a slower path lets them come, past the next write's begin.
fn paced_writes() -> Vec<Said> {
    let mut said = Said::handshake();
    for write in 0..60 {
        let (at, first) = (50_000 + write * 33_000, 1 + write as u32 * (20 * FULL as u32 + 100));
        for segment in 0..21 {
            let size = if segment < 20 { FULL } else { 100 };
            let number = first + segment as u32 * FULL as u32;
            said.push(Said::data(at + 300 * segment, number, size));
            if segment % 2 == 0 {
                let number = number + size as u32;
                said.push(Said::ack(at + 21_000 + 1000 * segment, number));
            }
        }
    }
    said.sort_by_key(|it| it.at);
    said
}

#[test]
fn a_write_that_a_pacer_lets_go_ends_although_the_path_is_full_of_it() {
    let flow = flow(&paced_writes());
    assert_eq!((flow.cause, flow.place), (Cause::Application, Place::Sender));
    assert!(flow.busy.is_some_and(|busy| busy > 0.5), "{:?}", flow.busy);
    assert!(share(&flow, Cause::Application) > 0.9, "{:?}", flow.shares);
}

#[test]
fn segments_ten_microseconds_apart_are_one_burst() {
    // Each acknowledgement lets two go, of which the second has PSH, as Linux's pairs have.
    let mut said = rounds(2, 10, 65_535);
    let from = said[said.len() - 1].at;
    for pair in 0..400u64 {
        let (at, number) = (from + 1000 * pair, 1 + (20 + 2 * pair as u32) * FULL as u32);
        said.push(Said::data(at + 20, number, FULL));
        let second = Said::data(at + 30, number + FULL as u32, FULL);
        said.push(Said { pushes: true, ..second });
        said.push(Said::ack(at + 1000, number + 2 * FULL as u32));
    }
    let flow = flow(&said);
    assert!(share(&flow, Cause::Window) > 0.95, "{:?}", flow.shares);
}

#[test]
fn what_follows_a_gap_between_acknowledgements_waited_for_the_window() {
    // Forty acknowledgements each 300 us, then none for 8 ms; the last of forty segments has PSH.
    let mut said = Said::handshake();
    for place in 0..40 * 40u64 {
        let (round, index) = (place / 40, place % 40);
        let at = 40_000 + round * 20_000 + index * 300;
        let after = if index == 0 { 150 } else { 10 };
        let number = 1 + (place * FULL as u64) as u32;
        said.push(Said { pushes: index == 39, ..Said::data(at + after, number, FULL) });
        said.push(Said::ack(at + 20_000, number + FULL as u32));
    }
    said.sort_by_key(|it| it.at);
    let flow = flow(&said);
    assert!(share(&flow, Cause::Window) > 0.9, "{:?}", flow.shares);
}

#[test]
fn a_timer_is_what_ends_a_silence_with_something_under_way() {
    let mut said = rounds(5, 10, 65_535);
    let (last, number) = (said[said.len() - 1].at, 1 + 50 * FULL as u32);
    said.push(Said::data(last + 1, number, FULL));
    said.push(Said::data(last + 300_001, number, FULL));
    said.push(Said::ack(last + 320_001, number + FULL as u32));
    said.push(Said::data(last + 320_002, number + FULL as u32, FULL));
    let flow = flow(&said);
    assert_eq!((flow.timeouts, flow.again, flow.lost, flow.needless), (1, 1, 1, 0));
    near(share(&flow, Cause::Timeout) * flow.seconds, 0.3);
    near(share(&flow, Cause::Recovery) * flow.seconds, 0.02);
}

#[test]
fn what_arrives_twice_was_sent_again_for_nothing() {
    // The answer echoes what was sent first (RFC 3522, §3.2), or says so (RFC 2883, §4).
    let with = |echo: Option<u32>, blocks: Vec<(u32, u32)>| {
        let stamped = |said: Said, stamps: Option<(u32, u32)>| Said { stamps, ..said };
        let mut said = Said::handshake();
        let own = |stamp| echo.map(|_| (stamp, 0));
        said.push(stamped(Said::data(21_000, 1, FULL), own(21)));
        said.push(stamped(Said::data(300_000, 1, FULL), own(300)));
        let ack = stamped(Said::ack(310_000, 1 + FULL as u32), echo.map(|echo| (310, echo)));
        said.push(Said { blocks, ..ack });
        said.push(stamped(Said::data(310_001, 1 + FULL as u32, FULL), own(310)));
        let flow = flow(&said);
        (flow.lost, flow.needless)
    };
    let twice = vec![(1, 1 + FULL as u32)];
    assert_eq!(with(Some(21), Vec::new()), (0, 1));
    assert_eq!(with(Some(300), Vec::new()), (1, 0));
    assert_eq!(with(None, twice.clone()), (0, 1));
    assert_eq!(with(Some(21), twice), (0, 1));
    assert_eq!(with(None, Vec::new()), (1, 0));
}

#[test]
fn every_link_and_every_cut_tells_the_same() {
    let said = rounds(20, 10, 65_535);
    let expected = flow(&said);
    for link in [Link::Raw, Link::Raw6, Link::Ethernet, Link::Vlan, Link::Cooked] {
        // What is left of a cut frame are its headers.
        for kept in [usize::MAX, 96] {
            let report = read(&capture(&said, link, kept));
            let flow = &report.flows[0];
            assert_eq!((report.others, report.flows.len()), (0, 1), "{link:?}");
            assert_eq!(
                (flow.bytes, flow.shares),
                (expected.bytes, expected.shares),
                "{link:?} {kept}"
            );
        }
    }
}

#[test]
fn super_packets_are_as_many_as_they_hold() {
    let mut said = Said::handshake();
    for round in 0..20u32 {
        let (at, number) = (20_002 + u64::from(round) * 20_010, 1 + round * 10 * FULL as u32);
        said.push(Said::data(at, number, if round == 0 { FULL } else { 0 }));
        let first = if round == 0 { FULL as u32 } else { 0 };
        said.push(Said::data(at + 1, number + first, 10 * FULL - first as usize));
        said.push(Said::ack(at + 20_000, number + 10 * FULL as u32));
    }
    let flow = flow(&said);
    assert_eq!((flow.offloaded, flow.largest_payload), (20, 10 * FULL as u32));
    assert_eq!((flow.segment_size, flow.cause), (FULL as u32, Cause::Window));
    near(flow.per_acknowledgement.expect("there are some"), 10.0);
}

#[test]
fn a_closed_window_is_counted_and_timed() {
    // Room for ten segments each time, and then for none: the right edge never goes back.
    let mut said = rounds(4, 10, 14_480);
    let (last, number) = (said[said.len() - 1].at, 1 + 40 * FULL as u32);
    said.last_mut().expect("there are some").window = 0;
    said.push(Said::ack(last + 500_000, number));
    said.push(Said::data(last + 500_001, number, FULL));
    let flow = flow(&said);
    assert_eq!((flow.cause, flow.zero_windows), (Cause::Receiver, 1));
    near(flow.zero_seconds, 0.5);
    // The first two rounds are sent before its limit is known, or within it.
    near(share(&flow, Cause::Receiver) * flow.seconds, 2.0 * 0.02 + 0.52);
}

#[test]
fn a_window_that_stays_shut_needs_no_handshake_to_be_seen() {
    let sent = Said::data(0, 1, FULL);
    let shut = |at| Said { window: 0, ..Said::ack(at, 1 + FULL as u32) };
    let mut said = vec![sent, shut(20)];
    for at in [3_400_000, 10_200_000, 23_700_000] {
        // An empty segment below what is acknowledged asks (RFC 9293, §3.8.6.1).
        said.extend([Said::data(at, FULL as u32, 0), shut(at + 20)]);
    }
    let flow = flow(&said);
    assert_eq!((flow.cause, flow.zero_windows), (Cause::Receiver, 1));
    near(flow.zero_seconds, 23.7);
    near(share(&flow, Cause::Receiver), 1.0);
}

#[test]
fn ports_that_are_used_again_are_another_connection() {
    let mut said = rounds(3, 10, 65_535);
    let later = said.clone().into_iter().map(|it| Said {
        at: it.at + 5_000_000,
        number: if it.by_client { it.number + 9_000_000 } else { it.number },
        acknowledged: it
            .acknowledged
            .map(|number| if it.by_client { number } else { number + 9_000_000 }),
        ..it
    });
    said.extend(later.collect::<Vec<_>>());
    let report = read(&capture(&said, Link::Raw, 80));
    assert_eq!((report.connections, report.flows.len()), (2, 2));
    assert!(report.flows.iter().all(|flow| flow.bytes == 30 * FULL as u64 && flow.again == 0));
}

#[test]
fn what_a_capture_misses_is_not_lost() {
    let whole = rounds(30, 10, 65_535);
    let missing = whole.iter().enumerate().filter(|(place, it)| it.payload == 0 || place % 7 != 0);
    let flow = flow(&missing.map(|(_, it)| it.clone()).collect::<Vec<_>>());
    assert_eq!((flow.bytes, flow.lost, flow.again), (30 * 10 * FULL as u64, 0, 0));
    // What is missing at the end of a round only the acknowledgement shows.
    assert!(flow.unseen > 0 && flow.unseen.is_multiple_of(FULL as u64), "{}", flow.unseen);
}

#[test]
fn a_file_that_breaks_off_is_read_up_to_there() {
    let file = capture(&rounds(20, 10, 65_535), Link::Ethernet, usize::MAX);
    let report = read(&file[..file.len() / 2]);
    assert!(report.broken.is_some() && report.flows[0].bytes > 100_000);
    assert!(read(&file).broken.is_none());
}
