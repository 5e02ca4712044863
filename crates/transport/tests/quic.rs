//! QUIC's ends against scripted networks: one test for each MUST, and each SHOULD that is followed,
//! of RFC 9002, §5 to §7 that concerns a sender, and the receiver's of RFC 9000, §13.2. The table
//! in docs/quic.md has them by section.

use narrows_control::laws::reno::Reno;
use narrows_control::registry::{self, Birth};
use narrows_control::{
    Ack, Controller, Gaps, Idle, Loss, Needs, OncePerEpoch, Pacing, SlowStart, Tick, Timeout,
};
use narrows_signal::{AckRanges, Ecn, QuicAck, Range};
use narrows_transport::congestion::{EcnOfUser, Path, Spacing};
use narrows_transport::quic::{AckPolicy, INITIAL_BYTES, QuicSettings, Receiver, initial_window};
use narrows_transport::{DataHeader, Header, Segment, Sender};
use narrows_units::{Duration, Stream, Time};
use std::sync::{Arc, Mutex};

/// Nothing there is random.
fn place() -> Path {
    Path::new(Stream::new(1, 1, 1))
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

fn micros(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

fn settings() -> QuicSettings {
    QuicSettings { pacing: None, ..QuicSettings::new(1000) }
}

fn reno(window: f64, ssthresh: f64) -> Box<dyn Controller> {
    Box::new(OncePerEpoch::new(SlowStart::Standard, Reno, window).with_ssthresh(ssthresh))
}

/// The packets that leave at `now`: their numbers, and the data that they carry.
fn leaving(sender: &mut Sender, now: Time) -> Vec<(u64, u32)> {
    let segments = std::iter::from_fn(|| sender.poll_transmit(now));
    let parts = segments.map(|segment| match segment.header {
        Header::Data(DataHeader { quic: Some(data), .. }) => (segment.number, data),
        other => panic!("{other:?} is not data"),
    });
    parts.collect()
}

/// A connection that has been accepted 100 ms after it was asked for at 0 ms, with `offered`
/// packets to send; nothing has left yet.
fn accepted(settings: QuicSettings, law: Box<dyn Controller>, offered: u64) -> Sender {
    let mut sender = Sender::new(settings, law, place());
    sender.offer(offered);
    let initial = sender.poll_transmit(at(0)).expect("it asks for a connection");
    accept(&mut sender, at(100), &initial);
    sender
}

fn accept(sender: &mut Sender, now: Time, initial: &Segment) {
    assert_eq!(initial.header, Header::QuicInitial);
    let header = Header::QuicAccept;
    sender.on_ack(now, &Segment { echoed_stamp: initial.stamp, header, ..*initial });
}

/// Congestion avoidance with a window of ten, and packets 0 to 9 in flight since 100 ms.
fn ten_under_way(offered: u64) -> Sender {
    let mut sender = accepted(settings(), reno(10.0, 10.0), offered);
    let expected: Vec<_> = (0..10).map(|n| (n, n as u32)).collect();
    assert_eq!(leaving(&mut sender, at(100)), expected);
    sender
}

fn acknowledgement(now: Time, ranges: &[(u64, u64)], marked: u16, delay: Duration) -> Segment {
    let falling = ranges.iter().map(|(start, end)| Range { start: *start, end: *end });
    let header = QuicAck { ranges: AckRanges::new(falling), marked, ..QuicAck::default() };
    Segment {
        number: ranges[0].1 - 1,
        stamp: now,
        echoed_stamp: Time::from_picos(now.picos() - delay.picos()),
        bytes: 67,
        header: Header::QuicAck(header),
    }
}

/// Acknowledges `ranges`, in falling order, without delay; returns what leaves.
fn ack(sender: &mut Sender, now: Time, ranges: &[(u64, u64)]) -> Vec<(u64, u32)> {
    sender.on_ack(now, &acknowledgement(now, ranges, 0, ms(0)));
    leaving(sender, now)
}

/// Wakes the sender at `now`, when its timer is due; returns what leaves.
fn wake(sender: &mut Sender, now: Time) -> Vec<(u64, u32)> {
    assert_eq!(sender.retransmit_at(), now, "the timer");
    sender.on_wakeup(now);
    leaving(sender, now)
}

fn rtt(sender: &Sender) -> narrows_control::Rtt {
    sender.rtt().expect("there is a sample")
}

// §5: round-trip times.

#[test]
fn s5_1_no_sample_unless_the_largest_acknowledged_is_new() {
    let mut sender = ten_under_way(10);
    ack(&mut sender, at(190), &[(5, 6)]);
    assert_eq!((sender.counters().rtt_samples, rtt(&sender).latest), (2, ms(90)));
    ack(&mut sender, at(195), &[(2, 6)]);
    assert_eq!(sender.counters().rtt_samples, 2, "5 was acknowledged before; 2 to 4 are new");
    ack(&mut sender, at(196), &[(2, 6)]);
    assert_eq!(sender.counters().rtt_samples, 2, "nothing is new");
    ack(&mut sender, at(197), &[(5, 6), (0, 2)]);
    assert_eq!(sender.counters().rtt_samples, 2, "0 and 1 are new, and 5 is not");
    ack(&mut sender, at(200), &[(0, 8)]);
    assert_eq!((sender.counters().rtt_samples, rtt(&sender).latest), (3, ms(100)));
}

#[test]
fn s5_2_min_rtt_is_the_least_of_what_was_observed() {
    let mut sender = ten_under_way(10);
    assert_eq!(rtt(&sender).minimum, ms(100), "the first sample");
    sender.on_ack(at(230), &acknowledgement(at(230), &[(0, 1)], 0, ms(25)));
    assert_eq!(rtt(&sender).minimum, ms(100), "the lesser of 100 and 130");
    sender.on_ack(at(190), &acknowledgement(at(190), &[(0, 2)], 0, ms(25)));
    assert_eq!(rtt(&sender).minimum, ms(90), "90, not 90 − 25");
}

#[test]
fn s5_3_the_lesser_of_ack_delay_and_max_ack_delay_is_subtracted() {
    let mut sender = ten_under_way(10);
    sender.on_ack(at(233), &acknowledgement(at(233), &[(0, 1)], 0, ms(90)));
    assert_eq!(rtt(&sender).smoothed, ms(101), "7/8·100 + 1/8·(133 − 25)");
}

#[test]
fn s5_3_the_delay_is_not_subtracted_if_that_were_below_min_rtt() {
    let mut sender = ten_under_way(10);
    sender.on_ack(at(216), &acknowledgement(at(216), &[(0, 1)], 0, ms(24)));
    assert_eq!(rtt(&sender).smoothed, ms(102), "7/8·100 + 1/8·116");
}

// §6.1: losses that acknowledgements reveal.

#[test]
fn s6_1_1_a_packet_is_lost_three_packets_before_one_acknowledged() {
    let mut sender = ten_under_way(10);
    assert_eq!(ack(&mut sender, at(200), &[(2, 3)]), []);
    assert_eq!(sender.counters().lost, 0, "2 is two after 0");
    ack(&mut sender, at(201), &[(2, 4)]);
    assert_eq!(sender.counters().lost, 1, "3 is three after 0, two after 1");
}

#[test]
fn s6_1_only_what_left_before_an_acknowledged_packet_is_lost() {
    let mut sender = ten_under_way(10);
    ack(&mut sender, at(200), &[(0, 1)]);
    // 1 to 9 left with 0, not before: however late it is, they are not lost.
    let due = sender.retransmit_at();
    wake(&mut sender, due);
    assert_eq!(sender.counters().lost, 0);
}

#[test]
fn s6_1_2_what_left_before_is_lost_after_nine_eighths_of_an_rtt() {
    let mut sender = ten_under_way(10);
    assert_eq!(ack(&mut sender, at(200), &[(1, 3)]), []);
    // 0 left at 100 ms; 9/8·100 = 112.5 ms. The window has room for it (8 are in flight).
    assert_eq!(wake(&mut sender, micros(212_500)), [(10, 0)]);
    assert_eq!(sender.counters().lost, 1);
}

#[test]
fn s6_1_2_the_time_threshold_is_of_the_larger_of_latest_and_smoothed() {
    let mut sender = ten_under_way(10);
    ack(&mut sender, at(260), &[(1, 2)]);
    assert_eq!(sender.retransmit_at(), at(280), "100 + 9/8·160");
}

#[test]
fn s6_1_2_the_time_threshold_is_a_millisecond_at_least() {
    let mut sender = Sender::new(settings(), reno(10.0, 10.0), place());
    sender.offer(3);
    let initial = sender.poll_transmit(at(0)).expect("it asks");
    accept(&mut sender, micros(200), &initial);
    leaving(&mut sender, micros(200));
    ack(&mut sender, micros(400), &[(1, 2)]);
    assert_eq!(sender.retransmit_at(), micros(1200), "0.2 ms + kGranularity");
}

// §6.2: probe timeouts.

#[test]
fn s6_2_a_probe_timeout_marks_nothing_lost_and_leaves_the_window() {
    let mut sender = ten_under_way(1000);
    wake(&mut sender, at(425));
    assert_eq!((sender.counters().lost, sender.counters().epochs), (0, 0));
    assert_eq!(sender.controller().window(), 10.0);
}

#[test]
fn s6_2_1_the_probe_timeout_is_that_of_the_rfc() {
    let sender = ten_under_way(1000);
    assert_eq!(sender.retransmit_at(), at(425), "100 + (100 + 4·50 + 25)");
}

#[test]
fn s6_2_1_the_period_is_at_least_the_granularity() {
    let acks = AckPolicy { delay: ms(0), ..AckPolicy::default() };
    let mut sender = Sender::new(QuicSettings { acks, ..settings() }, reno(10.0, 10.0), place());
    sender.offer(1);
    let initial = sender.poll_transmit(at(0)).expect("it asks");
    accept(&mut sender, at(0), &initial);
    leaving(&mut sender, at(0));
    let least = Duration::from_picos(1000);
    assert_eq!(sender.retransmit_at(), at(1) + least, "an RTT of 0 is taken for a nanosecond");
}

#[test]
fn s6_2_1_before_the_handshake_is_over_the_timer_is_not_for_data() {
    let mut sender = Sender::new(settings(), reno(10.0, 10.0), place());
    sender.offer(10);
    let initial = sender.poll_transmit(at(0)).expect("it asks");
    assert_eq!((initial.header, initial.bytes), (Header::QuicInitial, INITIAL_BYTES));
    assert_eq!(sender.poll_transmit(at(0)), None, "no data before the answer");
    // §6.2.2: 333 + 4·166.5 without max_ack_delay; twice that after the first timeout.
    assert_eq!(sender.retransmit_at(), at(999));
    sender.on_wakeup(at(999));
    let again = sender.poll_transmit(at(999)).expect("it asks again");
    assert_eq!((again.header, again.bytes), (Header::QuicInitial, 28 + 1200));
    assert_eq!(sender.retransmit_at(), at(999 + 1998));
}

#[test]
fn s6_2_2_when_the_handshake_is_over_its_timer_and_its_back_off_are_gone() {
    let mut sender = Sender::new(settings(), reno(10.0, 10.0), place());
    sender.offer(1);
    sender.poll_transmit(at(0)).expect("it asks");
    sender.on_wakeup(at(999));
    let again = sender.poll_transmit(at(999)).expect("it asks again");
    accept(&mut sender, at(1099), &again);
    assert_eq!(sender.retransmit_at(), Time::NEVER);
    assert_eq!(rtt(&sender).latest, ms(100), "since the one that is answered");
    assert_eq!(leaving(&mut sender, at(1099)), [(0, 0)]);
    assert_eq!(sender.retransmit_at(), at(1099 + 325), "100 + 4·50 + 25, not twice that");
}

#[test]
fn s6_2_1_the_timer_runs_from_the_last_departure() {
    let mut sender = ten_under_way(10);
    assert_eq!(ack(&mut sender, at(200), &[(0, 1)]), []);
    // rttvar 3/4·50: 100 + 4·37.5 + 25 = 275 ms since the last packet left, at 100 ms (A.8).
    assert_eq!(sender.retransmit_at(), at(375));
    sender.offer(1);
    assert_eq!(leaving(&mut sender, at(210)), [(10, 10)]);
    assert_eq!(sender.retransmit_at(), at(485));
    ack(&mut sender, at(211), &[(0, 11)]);
    assert_eq!(sender.retransmit_at(), Time::NEVER, "nothing is in flight");
}

#[test]
fn s6_2_1_the_back_off_doubles_and_an_acknowledgement_ends_it() {
    let mut sender = ten_under_way(10);
    let mut now = 425;
    for period in [650, 1300, 2600, 5200, 10_400] {
        wake(&mut sender, at(now));
        now += period;
    }
    assert_eq!(sender.retransmit_at(), at(now));
    // 18 left with the fifth timeout, at 10,175 ms; all else is lost, and leaves again as the
    // window lets it.
    ack(&mut sender, at(10_275), &[(18, 19)]);
    assert_eq!(sender.retransmit_at(), at(10_275 + 275), "100 + 4·37.5 + 25");
}

/// Our bound, not the RFC's: the largest back-off is 2¹⁶.
#[test]
fn the_back_off_does_not_double_for_ever() {
    let mut sender = ten_under_way(10);
    let mut now = sender.retransmit_at();
    let mut periods = Vec::new();
    for _ in 0..18 {
        wake(&mut sender, now);
        periods.push(sender.retransmit_at().since(now));
        now = sender.retransmit_at();
    }
    assert_eq!(periods[14..], [15, 16, 16, 16].map(|power| ms(325) * (1 << power)));
}

#[test]
fn s6_2_1_no_probe_while_the_time_threshold_has_the_timer() {
    let mut sender = ten_under_way(10);
    ack(&mut sender, at(260), &[(1, 2)]);
    // smoothed 107.5, rttvar 52.5: a probe would be due at 442.5 ms.
    assert_eq!(wake(&mut sender, at(280)), [(10, 0)], "0 is lost; it is not a probe");
    assert_eq!(sender.retransmit_at(), micros(280_000 + 107_500 + 210_000 + 25_000));
}

#[test]
fn s6_2_4_one_or_two_packets_leave_with_new_data_if_there_is_some() {
    let mut sender = ten_under_way(11);
    assert_eq!(wake(&mut sender, at(425)), [(10, 10), (11, 1)], "then the earliest under way");
    let mut sender = ten_under_way(1000);
    assert_eq!(wake(&mut sender, at(425)), [(10, 10), (11, 11)]);
}

#[test]
fn s6_2_4_without_new_data_what_is_under_way_leaves_again() {
    let mut sender = ten_under_way(10);
    assert_eq!(wake(&mut sender, at(425)), [(10, 0), (11, 1)]);
    let mut lone = accepted(settings(), reno(10.0, 10.0), 1);
    leaving(&mut lone, at(100));
    assert_eq!(wake(&mut lone, at(425)), [(1, 0)], "there is no second for the second probe");
}

// §6.4: what was in flight when its connection ended.

/// Asks for a new connection at 10 s, which is accepted 50 ms later and has 100 packets to send.
fn renewed(sender: &mut Sender) {
    sender.renew(reno(10.0, f64::INFINITY));
    assert_eq!((sender.in_flight(), sender.is_done()), (0, true));
    assert_eq!(sender.retransmit_at(), Time::NEVER);
    sender.offer(100);
    let initial = sender.poll_transmit(at(10_000)).expect("it asks for a connection");
    assert_eq!(sender.retransmit_at(), at(10_999), "the initial RTT is 333 ms again");
    accept(sender, at(10_010), &Segment { number: 0, ..initial });
    assert_eq!(leaving(sender, at(10_010)), [], "the old connection was accepted once more");
    accept(sender, at(10_050), &initial);
}

#[test]
fn s6_4_a_new_connection_knows_nothing_of_packets_of_the_old_one() {
    let mut sender =
        accepted(QuicSettings { ecn: EcnOfUser::ASKED, ..settings() }, reno(10.0, 10.0), 10);
    leaving(&mut sender, at(100));
    // 0 would be lost at 212.5 ms; 3 to 9 are under way.
    ack(&mut sender, at(200), &[(1, 3)]);
    renewed(&mut sender);
    let rtt = rtt(&sender);
    assert_eq!((rtt.latest, rtt.smoothed, rtt.minimum), (ms(50), ms(50), ms(50)));
    let expected: Vec<_> = (10..20).map(|n| (n, n as u32)).collect();
    assert_eq!(leaving(&mut sender, at(10_050)), expected, "nothing else is in flight");
    assert_eq!(sender.retransmit_at(), at(10_225), "50 + 4·25 + 25");
    let late = acknowledgement(at(10_060), &[(9, 10), (1, 3)], 3, ms(0));
    sender.on_ack(at(10_060), &late);
    assert_eq!((leaving(&mut sender, at(10_060)), sender.in_flight()), (vec![], 10));
    sender.on_ack(at(10_100), &acknowledgement(at(10_100), &[(9, 14), (1, 3)], 3, ms(0)));
    assert_eq!((sender.counters().lost, sender.in_flight()), (0, 6));
    assert_eq!(sender.controller().window(), 14.0, "four in slow start, and no mark is new");
}

#[test]
fn s6_4_losses_of_the_old_connection_are_no_part_of_persistent_congestion() {
    let mut sender = one_per_second(true, 5, |sender, second| {
        if second == 5 {
            // 0 to 3 are lost over 3 s.
            assert_eq!(ack(sender, at(5500), &[(4, 5)]).len(), 4);
        }
    });
    renewed(&mut sender);
    let (first, _) = leaving(&mut sender, at(10_050))[0];
    // 3·(50 + 100 + 500) ms are less than 3 s now.
    ack(&mut sender, at(10_100), &[(first, first + 1)]);
    assert_eq!((sender.counters().lost, sender.counters().timeouts), (4, 0));
    assert_eq!(sender.controller().window(), 11.0);
}

#[test]
fn a_burst_of_the_old_connection_is_over() {
    let pacing = Some(Spacing::Window(Gaps::Even));
    let settings = QuicSettings { quantum: 4, pacing, ..settings() };
    let mut sender = accepted(settings, reno(10.0, 10.0), 4);
    sender.poll_transmit(at(100)).expect("the first of four");
    sender.stop();
    ack(&mut sender, at(200), &[(0, 1)]);
    renewed(&mut sender);
    assert_eq!(leaving(&mut sender, at(10_050)).len(), 4);
    assert_eq!(sender.pace_at(), at(10_070), "4/10 of 50 ms");
}

/// A window of ten; what a law is told of its connection, and of silences in it.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<(f64, bool)>>>);

impl Controller for Witness {
    fn on_ack(&mut self, ack: &Ack) {
        let sample = ack.rate.expect("it needs samples");
        let mut told = self.0.lock().expect("nobody panics with it");
        told.push((sample.total_delivered, sample.app_limited));
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn on_restart(&mut self, idle: &Idle) {
        panic!("{idle:?}: the first packet of a connection comes after no silence of it");
    }

    fn window(&self) -> f64 {
        10.0
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }
}

#[test]
fn rate_samples_and_silences_are_those_of_one_connection() {
    let (old, new) = (Witness::default(), Witness::default());
    let mut sender = accepted(settings(), Box::new(old.clone()), 2);
    leaving(&mut sender, at(100));
    ack(&mut sender, at(200), &[(0, 2)]);
    assert_eq!(*old.0.lock().expect("as above"), [(2.0, false)]);
    // Nothing more to send: the application is the limit, until a new connection begins.
    sender.renew(Box::new(new.clone()));
    sender.offer(100);
    let initial = sender.poll_transmit(at(10_000)).expect("it asks for a connection");
    accept(&mut sender, at(10_100), &initial);
    leaving(&mut sender, at(10_100));
    ack(&mut sender, at(10_200), &[(0, 5)]);
    assert_eq!(*new.0.lock().expect("as above"), [(3.0, false)], "2, 3 and 4");
}

// §7: congestion control.

#[test]
fn s7_what_is_in_flight_is_within_the_window() {
    let mut sender = accepted(settings(), reno(10.9, 10.0), 1000);
    assert_eq!(leaving(&mut sender, at(100)).len(), 10, "11 would be more than 10.9");
    assert_eq!(sender.in_flight(), 10);
}

#[test]
fn s7_a_law_that_only_paces_has_two_windows_in_flight_at_most() {
    let birth = Birth { initial_window: 10.0, ..Birth::default() };
    let law = registry::find("etcp").and_then(|law| law.read(&birth)).expect("defaults").make(1);
    let mut sender = accepted(settings(), law, 1000);
    let mut now = at(100);
    while now < at(2000) {
        leaving(&mut sender, now);
        now = sender.pace_at().min(at(2000));
    }
    assert_eq!(sender.in_flight(), 20, "in two seconds 200 could have left");
    assert!(sender.retransmit_at() < Time::NEVER, "and the probe timeout runs");
}

#[test]
fn s7_1_a_mark_is_answered_as_a_loss_once_per_round_trip() {
    let mut sender =
        accepted(QuicSettings { ecn: EcnOfUser::ASKED, ..settings() }, reno(10.0, 10.0), 1000);
    let first = sender.poll_transmit(at(100)).expect("data");
    assert_eq!(first.ecn(), Ecn::Capable);
    leaving(&mut sender, at(100));
    let mut marked = |now, ranges: &[(u64, u64)], count| {
        sender.on_ack(now, &acknowledgement(now, ranges, count, ms(0)));
        leaving(&mut sender, now);
        (sender.controller().window(), sender.controller().ssthresh())
    };
    assert_eq!(marked(at(200), &[(0, 2)], 1), (5.0, 5.0));
    assert_eq!(marked(at(201), &[(0, 4)], 2), (5.0, 5.0), "3 left before the reduction");
    assert_eq!(marked(at(202), &[(7, 8), (0, 4)], 2), (5.0, 5.0), "and so did 4, which is lost");
    marked(at(203), &[(0, 10)], 2);
    assert_eq!(marked(at(302), &[(0, 11)], 3), (2.5, 2.5), "10 left after it");
}

#[test]
fn s7_3_2_a_mark_within_a_recovery_does_not_reduce_again() {
    let mut sender =
        accepted(QuicSettings { ecn: EcnOfUser::ASKED, ..settings() }, reno(10.0, 10.0), 1000);
    leaving(&mut sender, at(100));
    ack(&mut sender, at(200), &[(1, 4)]);
    assert_eq!((sender.counters().lost, sender.controller().window()), (1, 5.0));
    let mut marked = |now, ranges: &[(u64, u64)], count| {
        sender.on_ack(now, &acknowledgement(now, ranges, count, ms(0)));
        sender.controller().window()
    };
    assert_eq!(marked(at(201), &[(1, 7)], 1), 5.0, "6 left before the recovery began");
    assert_eq!(marked(at(300), &[(10, 11), (1, 7)], 2), 2.5, "10 is of the recovery");
}

/// What leaves first, paced or not, with packets of so many bytes and ten packets as the law's
/// window.
fn first_flight(bytes: u32) -> usize {
    let settings = QuicSettings::new(bytes);
    let window = initial_window(bytes);
    leaving(&mut accepted(settings, reno(window, f64::INFINITY), 1000), at(100)).len()
}

#[test]
fn s7_2_a_connection_begins_with_ten_packets_or_14720_bytes_or_two_packets() {
    assert_eq!(first_flight(1000), 10);
    assert_eq!(first_flight(1500), 10, "10·1472 = 14,720");
    assert_eq!(first_flight(4028), 3, "14,720/4000 = 3.68");
    assert_eq!(first_flight(9000), 2, "2·8972 exceed 14,720");
}

#[test]
fn s7_3_1_a_loss_ends_slow_start() {
    let mut sender = accepted(settings(), reno(10.0, f64::INFINITY), 1000);
    leaving(&mut sender, at(100));
    ack(&mut sender, at(200), &[(0, 2)]);
    assert_eq!(sender.controller().window(), 12.0, "slow start: one more for each");
    ack(&mut sender, at(201), &[(5, 6), (0, 2)]);
    assert_eq!((sender.controller().window(), sender.controller().ssthresh()), (6.0, 6.0));
}

#[test]
fn s7_3_1_a_mark_ends_slow_start() {
    let settings = QuicSettings { ecn: EcnOfUser::ASKED, ..settings() };
    let mut sender = accepted(settings, reno(10.0, f64::INFINITY), 1000);
    leaving(&mut sender, at(100));
    ack(&mut sender, at(200), &[(0, 2)]);
    assert_eq!(sender.controller().window(), 12.0);
    sender.on_ack(at(201), &acknowledgement(at(201), &[(0, 3)], 1, ms(0)));
    assert_eq!((sender.controller().window(), sender.controller().ssthresh()), (6.0, 6.0));
}

#[test]
fn s7_3_2_the_window_falls_at_once_and_one_packet_leaves_before() {
    let mut sender = ten_under_way(1000);
    // 0 is lost: six are in flight, and the window is five.
    assert_eq!(ack(&mut sender, at(200), &[(1, 4)]), [(10, 0)], "under a new number");
    assert_eq!((sender.controller().window(), sender.controller().ssthresh()), (5.0, 5.0));
    assert_eq!(sender.in_flight(), 7);
    assert_eq!(ack(&mut sender, at(201), &[(1, 6)]), [], "five are in flight, and five may be");
    assert_eq!(ack(&mut sender, at(202), &[(1, 7)]), [(11, 10)]);
}

#[test]
fn s7_3_2_one_reduction_until_a_packet_of_the_recovery_is_acknowledged() {
    let mut sender = ten_under_way(1000);
    ack(&mut sender, at(200), &[(1, 4)]);
    ack(&mut sender, at(201), &[(8, 9), (1, 4)]);
    assert_eq!((sender.counters().lost, sender.counters().epochs), (3, 1), "0, 4 and 5");
    assert_eq!(sender.controller().window(), 5.0);
    ack(&mut sender, at(202), &[(8, 10), (6, 7), (1, 4)]);
    assert_eq!(sender.controller().window(), 5.0, "still: it does not grow in the recovery");
    // 10, the first of the recovery, is acknowledged: it is over, and the window grows again.
    ack(&mut sender, at(300), &[(6, 11), (1, 4)]);
    assert_eq!(sender.controller().window(), 5.2 + 0.2);
}

#[test]
fn s7_3_3_at_most_one_packet_per_window_in_congestion_avoidance() {
    let mut sender = ten_under_way(1000);
    ack(&mut sender, at(200), &[(0, 10)]);
    let window = sender.controller().window();
    assert!(window > 10.0 && window <= 11.0, "{window} after a window of ten");
}

#[test]
fn s7_4_no_loss_after_the_first_acknowledged_packet_is_ignored() {
    let mut sender = ten_under_way(1000);
    ack(&mut sender, at(200), &[(9, 10), (6, 7), (3, 4), (0, 1)]);
    assert_eq!(sender.counters().lost, 4, "1, 2, 4 and 5");
    wake(&mut sender, micros(212_500));
    assert_eq!(sender.counters().lost, 6, "7 and 8 by time");
}

#[test]
fn s7_5_probes_leave_beyond_the_window_and_count_as_in_flight() {
    let mut sender = ten_under_way(1000);
    assert_eq!(sender.in_flight(), 10);
    assert_eq!(wake(&mut sender, at(425)).len(), 2);
    assert_eq!(sender.in_flight(), 12);
    assert_eq!(ack(&mut sender, at(430), &[(0, 2)]), [], "ten are, and 10.2 may be");
}

/// A receiver that may wait for 500 ms, and a handshake of 500 ms unless `handshake` is false: the
/// PTO is 500 + 1000 + 500 ms = 2 s. Packets leave every second from 1 s to `last`.
fn one_per_second(handshake: bool, last: u64, mut at_each: impl FnMut(&mut Sender, u64)) -> Sender {
    let acks = AckPolicy { delay: ms(500), ..AckPolicy::default() };
    let settings = QuicSettings { acks, handshake, ..settings() };
    let mut sender = Sender::new(settings, reno(20.0, 10.0), place());
    if handshake {
        sender.offer(1);
        let initial = sender.poll_transmit(at(0)).expect("it asks");
        accept(&mut sender, at(500), &initial);
        sender.stop();
    }
    for second in 1..=last {
        sender.offer(1);
        assert_eq!(leaving(&mut sender, at(1000 * second)).len(), 1);
        at_each(&mut sender, second);
    }
    sender
}

/// Packets 0 to 5 leave from 1 to 6 s, probes at 8 and 12 s; at 12.6 s the last one is
/// acknowledged.
fn silence() -> Sender {
    let mut sender = one_per_second(true, 6, |_, _| {});
    assert_eq!(wake(&mut sender, at(8000)), [(6, 0), (7, 1)]);
    assert_eq!(wake(&mut sender, at(12_000)), [(8, 0), (9, 1)]);
    sender.on_ack(at(12_600), &acknowledgement(at(12_600), &[(9, 10)], 0, ms(0)));
    sender
}

/// After packets from 1 s to 10 s one more leaves at 12 s, and is acknowledged 100 ms later.
fn end_of_silence(mut sender: Sender) -> (u32, u32) {
    sender.offer(1);
    let (last, _) = *leaving(&mut sender, at(12_000)).last().expect("there is one to send");
    ack(&mut sender, at(12_100), &[(last, last + 1)]);
    (sender.counters().lost, sender.counters().timeouts)
}

#[test]
fn s7_6_2_all_lost_over_three_timeouts_makes_the_window_the_least() {
    let sender = silence();
    // 0 to 7 left from 1 to 8 s; 3·(512.5 + 4·212.5 + 500) ms are 5.6 s.
    assert_eq!((sender.counters().lost, sender.counters().timeouts), (8, 1));
    assert_eq!(sender.controller().window(), 2.0, "kMinimumWindow; the application is the limit");
}

/// Windows after persistent congestion, with the handshake at 500 ms: 0 and 1, which leave at 1 and
/// 9 s, are lost when one of the probes at 11 s is acknowledged; then while all that had left by
/// then is acknowledged, and once a packet that left later is.
fn windows_after_a_silence(law: Box<dyn Controller>) -> [f64; 3] {
    let acks = AckPolicy { delay: ms(500), ..AckPolicy::default() };
    let mut sender = Sender::new(QuicSettings { acks, ..settings() }, law, place());
    sender.offer(1);
    let initial = sender.poll_transmit(at(0)).expect("it asks");
    accept(&mut sender, at(500), &initial);
    assert_eq!(leaving(&mut sender, at(1000)).len(), 1);
    sender.offer(1);
    assert_eq!(leaving(&mut sender, at(9000)).len(), 1);
    assert_eq!(wake(&mut sender, at(11_000)), [(2, 0), (3, 1)]);
    sender.offer(1000);
    let more = leaving(&mut sender, at(11_000)).len() as u64;
    sender.on_ack(at(11_600), &acknowledgement(at(11_600), &[(3, 4)], 0, ms(0)));
    assert_eq!((sender.counters().lost, sender.counters().timeouts), (2, 1));
    let silence = sender.controller().window();
    sender.on_ack(at(11_700), &acknowledgement(at(11_700), &[(2, 4 + more)], 0, ms(0)));
    let old = sender.controller().window();
    leaving(&mut sender, at(11_700));
    sender.on_ack(at(12_400), &acknowledgement(at(12_400), &[(2, 5 + more)], 0, ms(0)));
    [silence, old, sender.controller().window()]
}

/// The laws that decide otherwise, with the window that they choose; docs/quic.md says why.
const OWN_ANSWERS: &[(&str, f64)] = &[
    ("bbr", 4.0),
    ("bbr1", 4.0),
    ("bbr2", 4.0),
    ("copa", 3.0),
    ("etcp", 10.0),
    ("etcp-rate", 20.0),
    ("etcp-sqrt", 10.0),
    ("etcp-unit", 10.0),
    ("gwa-rate", 20.0),
];

#[test]
fn s7_6_2_every_law_keeps_the_least_window_until_a_later_packet_is_acknowledged() {
    assert_eq!(windows_after_a_silence(reno(20.0, 10.0)), [2.0, 2.0, 3.0]);
    for name in registry::names() {
        let birth = Birth { initial_window: 20.0, ..Birth::default() };
        let law = registry::find(name).and_then(|law| law.read(&birth)).expect("defaults").make(1);
        let [silence, old, _] = windows_after_a_silence(law);
        match OWN_ANSWERS.iter().find(|(other, _)| *other == name) {
            Some((_, window)) => assert_eq!(silence, *window, "{name}"),
            None => assert_eq!((silence, old), (2.0, 2.0), "{name}"),
        }
    }
}

#[test]
fn s5_2_after_persistent_congestion_min_rtt_is_the_newest_sample() {
    assert_eq!(rtt(&silence()).minimum, ms(600), "it was 500 before");
}

#[test]
fn b_8_persistent_congestion_ends_the_recovery() {
    let mut sender = silence();
    assert_eq!(sender.counters().epochs, 1);
    // 8 left with 9, before the window fell; it is lost by time, and begins a recovery.
    let due = sender.retransmit_at();
    wake(&mut sender, due);
    assert_eq!((sender.counters().lost, sender.counters().epochs), (9, 2));
}

#[test]
fn s7_6_2_a_packet_acknowledged_in_between_breaks_the_time() {
    let sender = one_per_second(true, 10, |sender, second| {
        if second == 5 {
            // 0 to 3 are lost, and leave again at once.
            assert_eq!(ack(sender, at(5500), &[(4, 5)]).len(), 4);
        }
    });
    // Lost are 0 to 3, from 1 to 4 s, then 5 to 8 and five more, from 5.5 to 10 s: less than
    // 3·(450 + 4·240 + 500) ms = 5.7 s each.
    assert_eq!(end_of_silence(sender), (4 + 9, 0));
}

#[test]
fn s7_6_2_persistent_congestion_does_not_begin_before_a_sample() {
    // 0 to 9 are lost over 9 s. The first sample, 100 ms, makes 3·(100 + 200 + 500) ms = 2.4 s.
    assert_eq!(end_of_silence(one_per_second(false, 10, |_, _| {})), (10, 0));
    assert_eq!(end_of_silence(one_per_second(true, 10, |_, _| {})), (10, 1), "with a sample");
}

#[test]
fn s7_7_after_a_burst_of_the_initial_window_packets_are_paced() {
    let settings = QuicSettings::new(1000);
    assert_eq!(settings.pacing, Some(Spacing::Recommended(10)));
    let mut sender = accepted(settings, reno(20.0, 20.0), 1000);
    assert_eq!(leaving(&mut sender, at(100)).len(), 10);
    // smoothed_rtt/(1.25·20) = 4 ms.
    for step in 1..=10 {
        assert_eq!(sender.pace_at(), at(100 + 4 * step));
        assert_eq!(leaving(&mut sender, at(100 + 4 * step)).len(), 1);
    }
    assert_eq!(sender.pace_at(), Time::NEVER, "the window is full");
}

#[test]
fn s7_8_a_window_that_is_not_used_does_not_grow() {
    let mut sender = accepted(settings(), reno(10.0, f64::INFINITY), 9);
    leaving(&mut sender, at(100));
    ack(&mut sender, at(200), &[(0, 9)]);
    assert_eq!(sender.controller().window(), 10.0, "nine of ten were in flight");
    let limited = QuicSettings { window_limit: 9.0, ..settings() };
    let mut sender = accepted(limited, reno(10.0, f64::INFINITY), 1000);
    assert_eq!(leaving(&mut sender, at(100)).len(), 9, "the receiver has no room for more");
    ack(&mut sender, at(200), &[(0, 9)]);
    assert_eq!(sender.controller().window(), 10.0, "flow control was the limit");
}

#[test]
fn s7_8_the_pacers_delay_is_not_the_applications() {
    let grown = |offered| {
        let settings = QuicSettings::new(1000);
        let mut sender = accepted(settings, reno(20.0, f64::INFINITY), offered);
        leaving(&mut sender, at(100));
        ack(&mut sender, at(200), &[(0, 1)]);
        sender.controller().window()
    };
    assert_eq!((grown(1000), grown(15)), (21.0, 20.0), "15 would not have filled the window");
}

// RFC 9000: packet numbers and acknowledgements.

#[test]
fn rfc9000_12_3_no_packet_number_is_used_twice() {
    let mut sender = ten_under_way(1000);
    let mut all: Vec<u64> = (0..10).collect();
    let mut left = |packets: Vec<(u64, u32)>| all.extend(packets.iter().map(|(number, _)| number));
    left(ack(&mut sender, at(200), &[(4, 8)]));
    let due = sender.retransmit_at();
    left(wake(&mut sender, due));
    left(ack(&mut sender, at(1400), &[(4, 10)]));
    assert!(all.iter().copied().eq(0..all.len() as u64), "{all:?}");
}

#[test]
fn rfc9000_13_1_an_acknowledgement_of_what_has_not_left_is_not_believed() {
    let mut sender = ten_under_way(10);
    ack(&mut sender, at(200), &[(0, 11)]);
    assert_eq!((sender.in_flight(), sender.first()), (10, 0));
}

#[test]
fn rfc9000_13_3_what_arrives_after_all_does_not_leave_again() {
    let mut sender = ten_under_way(1000);
    // 0 to 3 are lost; two are in flight, and the window is five.
    let expected = [(10, 0), (11, 1), (12, 2)];
    assert_eq!(ack(&mut sender, at(200), &[(4, 8)]), expected);
    assert_eq!(ack(&mut sender, at(201), &[(3, 8)]), [], "3 had been found lost");
    assert_eq!(ack(&mut sender, at(202), &[(3, 10)]), [(13, 10), (14, 11)], "3 is not among them");
}

fn packet(number: u64, now: Time, ecn: Ecn) -> Segment {
    let header = DataHeader { quic: Some(number as u32), ecn, ..DataHeader::default() };
    Segment::data(number, now, 1000, Header::Data(header))
}

/// Packets arrive one per millisecond; returns the numbers upon which an acknowledgement leaves.
fn answered(receiver: &mut Receiver, numbers: &[u64]) -> Vec<u64> {
    let arrive = |(now, number): (u64, &u64)| {
        let ack = receiver.on_data(at(now), &packet(*number, at(now), Ecn::NotCapable));
        ack.map(|_| *number)
    };
    (0..).zip(numbers).filter_map(arrive).collect()
}

fn receiver() -> Receiver {
    Receiver::new(AckPolicy::default(), u64::MAX)
}

#[test]
fn rfc9000_13_2_2_every_second_packet_is_acknowledged() {
    assert_eq!(answered(&mut receiver(), &[0, 1, 2, 3, 4]), [1, 3]);
}

#[test]
fn rfc9000_13_2_1_a_gap_and_what_fills_it_are_acknowledged_at_once() {
    // 3 comes after a gap; 4 and 5 do not, though 2 is still missing; 2 is smaller than 5.
    assert_eq!(answered(&mut receiver(), &[0, 1, 3, 4, 5, 2, 6]), [1, 3, 5, 2]);
}

/// 63 bytes, and the number of packets below the newest as §16 writes it: in one byte up to 63, in
/// two up to 16,383, in four from there.
#[test]
fn rfc9000_19_3_an_acknowledgement_without_gaps_has_64_to_67_bytes() {
    let mut receiver = Receiver::new(AckPolicy { every: 1, ..AckPolicy::default() }, u64::MAX);
    let mut arrive = |number| receiver.on_data(at(0), &packet(number, at(0), Ecn::NotCapable));
    let bytes: Vec<u32> = (0..16_385).map(|n| arrive(n).expect("at once").bytes).collect();
    let seen = [0, 63, 64, 16_383, 16_384].map(|newest: usize| bytes[newest]);
    assert_eq!(seen, [64, 64, 65, 65, 67]);
}

#[test]
fn rfc9000_13_2_5_the_delay_is_that_of_the_largest_packet() {
    let mut receiver = receiver();
    let arrive = |(now, number)| receiver.on_data(at(now), &packet(number, at(0), Ecn::NotCapable));
    let acks: Vec<_> = [(0, 0), (1, 2), (5, 1)].into_iter().filter_map(arrive).collect();
    let told = acks.iter().map(|ack| (ack.number, ack.stamp.since(ack.echoed_stamp)));
    assert_eq!(told.collect::<Vec<_>>(), [(2, ms(0)), (2, ms(4))]);
}

#[test]
fn rfc9000_13_2_1_no_acknowledgement_later_than_max_ack_delay_and_its_delay_is_told() {
    let mut receiver = receiver();
    assert_eq!(receiver.on_data(at(10), &packet(0, at(0), Ecn::NotCapable)), None);
    assert_eq!((receiver.wakeup(), receiver.on_wakeup(at(34))), (at(35), None));
    let ack = receiver.on_wakeup(at(35)).expect("it is due");
    assert_eq!((ack.number, ack.stamp.since(ack.echoed_stamp)), (0, ms(25)));
    assert_eq!(receiver.wakeup(), Time::NEVER);
}

#[test]
fn rfc9000_13_2_1_the_delay_is_that_of_the_first_packet_that_waits() {
    let mut receiver = Receiver::new(AckPolicy { every: 3, delay: ms(25) }, u64::MAX);
    for (now, number) in [(10, 0), (30, 1)] {
        assert_eq!(receiver.on_data(at(now), &packet(number, at(0), Ecn::NotCapable)), None);
        assert_eq!(receiver.wakeup(), at(35));
    }
}

#[test]
fn rfc9000_13_2_1_a_mark_is_acknowledged_at_once() {
    let mut receiver = receiver();
    let ack = receiver.on_data(at(0), &packet(0, at(0), Ecn::Marked)).expect("at once");
    let Header::QuicAck(fields) = ack.header else { panic!("{ack:?}") };
    assert_eq!(fields.marked, 1);
}

/// 20 packets per round trip of 100 ms, in bursts of at most 15 ms, woken at 250 ms.
struct Needy {
    woken: Arc<Mutex<Vec<Time>>>,
}

impl Controller for Needy {
    fn on_ack(&mut self, _ack: &Ack) {}
    fn on_loss(&mut self, _loss: &Loss) {}
    fn on_timeout(&mut self, _timeout: &Timeout) {}
    fn window(&self) -> f64 {
        20.0
    }
    fn needs(&self) -> Needs {
        Needs { timer: true, burst: Some(ms(15)), ..Needs::default() }
    }
    fn pacing(&self) -> Pacing {
        Pacing::Window { gain: 1.0, gaps: Gaps::Even }
    }
    fn wakes_at(&self) -> Time {
        if self.woken.lock().expect("one thread").is_empty() { at(250) } else { Time::NEVER }
    }
    fn on_timer(&mut self, tick: &Tick) {
        self.woken.lock().expect("one thread").push(tick.now);
    }
}

/// At 20 packets in 100 ms, 15 ms are three packets, however many the user asks for.
#[test]
fn a_law_limits_its_bursts_and_is_woken_as_over_tcp() {
    let woken = Arc::default();
    let law = Box::new(Needy { woken: Arc::clone(&woken) });
    let settings = QuicSettings { quantum: 10, ..settings() };
    let mut sender = accepted(settings, law, 1000);
    assert_eq!(leaving(&mut sender, at(100)).len(), 3);
    assert_eq!(sender.pace_at(), at(115));
    assert_eq!(sender.retransmit_at(), at(250), "the law's timer is before the probe's");
    sender.on_wakeup(at(249));
    assert!(woken.lock().expect("one thread").is_empty());
    sender.on_wakeup(at(250));
    assert_eq!(*woken.lock().expect("one thread"), [at(250)]);
    assert!(sender.retransmit_at() > at(250));
}
