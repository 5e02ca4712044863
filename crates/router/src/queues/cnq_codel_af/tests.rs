use super::*;
use crate::packet::tests::Parcel;
use narrows_signal::Ecn;

fn queue() -> CnqCodelAf<Parcel> {
    CnqCodelAf::new(CnqCodelAfSettings::default(), 7, &mut Stream::new(1, 0, 0))
}

fn millis(count: u64) -> Time {
    Time::ZERO + Duration::from_millis(count)
}

#[test]
fn a_packet_whose_flow_has_none_waiting_goes_first() {
    let mut cnq = queue();
    for (flow, number) in [(1, 10), (1, 11), (1, 12), (2, 20), (2, 21)] {
        cnq.admit(Time::ZERO, Parcel::new(flow, number));
    }
    let mut next = || cnq.dequeue(Time::ZERO, &mut Vec::new()).map(|packet| packet.number);
    assert_eq!([10, 20, 11].map(Some), [next(), next(), next()]);
    // Packet 11 has left after the dummy of 10, but 12 waits, and the dummy of 20: neither flow is
    // sparse.
    assert_eq!([next(), next(), next()], [Some(12), Some(21), None]);
}

#[test]
fn a_dummy_keeps_a_flow_from_being_sparse_until_the_bulk_before_it_has_left() {
    let mut cnq = queue();
    for (flow, number) in [(1, 10), (1, 11), (2, 20)] {
        cnq.admit(Time::ZERO, Parcel::new(flow, number));
    }
    let left = |cnq: &mut CnqCodelAf<Parcel>| {
        cnq.dequeue(Time::ZERO, &mut Vec::new()).map(|packet| packet.number)
    };
    assert_eq!([left(&mut cnq), left(&mut cnq)], [Some(10), Some(20)]);
    cnq.admit(Time::ZERO, Parcel::new(2, 21));
    assert_eq!([left(&mut cnq), left(&mut cnq)], [Some(11), Some(21)]);
    cnq.admit(Time::ZERO, Parcel::new(1, 12));
    cnq.admit(Time::ZERO, Parcel::new(2, 22));
    assert_eq!([left(&mut cnq), left(&mut cnq)], [Some(12), Some(22)]);
    assert_eq!((cnq.backlog(), cnq.active, cnq.dummies), (Backlog::default(), 2, 2));
    assert_eq!(left(&mut cnq), None);
    assert_eq!((cnq.active, cnq.dummies), (0, 0));
}

/// Milliseconds at which packets were dropped, and marked, of one flow that has twenty packets
/// waiting: one arrives and one leaves each millisecond.
fn drops(millis_in_all: u64, ecn: Ecn) -> (Vec<u64>, Vec<u64>) {
    let (mut cnq, mut dropped, mut marked) = (queue(), Vec::new(), Vec::new());
    for milli in 0..millis_in_all {
        for number in 0..if milli == 0 { 20 } else { 1 } {
            cnq.admit(millis(milli), Parcel { ecn, ..Parcel::new(1, number) });
        }
        let mut lost = Vec::new();
        let packet = cnq.dequeue(millis(milli), &mut lost);
        dropped.extend(lost.iter().map(|_| milli));
        marked.extend(packet.filter(|packet| packet.ecn == Ecn::Marked).map(|_| milli));
    }
    (dropped, marked)
}

/// The first packet to wait for more than 5 ms leaves at 6 ms, and the next one is due at once, as
/// the root is 0 until the count has changed; then 100/√n ms apart from 6 + 70.7 on: 76.7, 134.4,
/// 184.4, 229.2, 270.0, 307.8.
#[test]
fn drops_of_a_single_flow_follow_codels_schedule() {
    let (dropped, marked) = drops(340, Ecn::NotCapable);
    assert_eq!((dropped.as_slice(), marked.len()), (&[7, 77, 135, 185, 230, 270, 308][..], 0));
    assert_eq!(drops(340, Ecn::Capable), (vec![], dropped));
}

/// The bulk of 40 packets is of two flows: with 30 of them waiting counts one and a half times,
/// with 10 half.
#[test]
fn waiting_counts_by_a_flows_part_of_the_queue() {
    let first_over = |own| {
        let settings = CnqCodelAfSettings::default();
        let share = Share { own, flows: 2, all: 40 };
        (0..).find(|waited| {
            let (mut aqm, mut dice) = (Cobalt::default(), Stream::new(1, 0, 0));
            let times = (Time::ZERO, millis(*waited));
            aqm.should_drop(&settings, times, &mut Parcel::new(1, 0), share, &mut dice);
            aqm.is_dropping()
        })
    };
    assert_eq!([30, 20, 10].map(first_over), [4, 6, 11].map(Some));
}

/// BLUE begins at 400 ms of waiting and adds 1/256 whenever more than 5 ms have passed, here every
/// 6 ms, whether or not packets can be marked; but a flow's last is never dropped.
#[test]
fn a_flow_that_does_not_heed_marks_is_dropped_from_more_and_more() {
    let mut cnq = queue();
    (0..5000)
        .for_each(|n| cnq.admit(Time::ZERO, Parcel { ecn: Ecn::Capable, ..Parcel::new(1, n) }));
    let mut lost = Vec::new();
    for milli in 0..1000 {
        cnq.dequeue(millis(400 + milli), &mut lost);
    }
    // Σ p/(1 − p) drops for a packet that leaves, with p = (t/6 ms)/256 up to 166/256.
    let expected: f64 = (0..1000).map(|t| f64::from(t / 6) / 256.0).map(|p| p / (1.0 - p)).sum();
    let found = lost.len() as f64;
    assert!((found / expected - 1.0).abs() < 0.15, "{found} drops, expected {expected}");
    while cnq.backlog().packets > 0 {
        assert!(cnq.dequeue(millis(1500), &mut lost).is_some(), "the last was dropped");
    }
}
