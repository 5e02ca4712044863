//! Endpoints against scripted networks: if this segment arrives at this time, exactly that one
//! leaves.

use narrows_control::laws::reno::Reno;
use narrows_control::{Controller, OncePerEpoch, SlowStart};
use narrows_signal::{Ecn, Range, SackBlocks};
use narrows_transport::congestion::{EcnOfUser, Path};
use narrows_transport::tcp::{Detection, Habits, Metering, Receiver, RecoveryKind, TcpSettings};
use narrows_transport::{AckHeader, DataHeader, Header, Kind, Segment, Sender};
use narrows_units::{Duration, Stream, Time};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// Nothing there is random.
fn place() -> Path {
    Path::new(Stream::new(1, 1, 1))
}

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn sender(recovery: RecoveryKind, habits: Habits, window: f64, ssthresh: f64) -> Sender {
    let controller: Box<dyn Controller> =
        Box::new(OncePerEpoch::new(SlowStart::Standard, Reno, window).with_ssthresh(ssthresh));
    let habits = Arc::new(habits);
    Sender::new(TcpSettings::new(recovery, habits, 1000), controller, place())
}

const NOTHING: [u64; 0] = [];

/// The numbers that leave at `now`.
fn leaving(sender: &mut Sender, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(now)).map(|segment| segment.number).collect()
}

/// Delivers an acknowledgement of everything below `number` and of `blocks`; returns the numbers
/// that leave.
fn ack(sender: &mut Sender, now: Time, number: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
    ack_of(sender, now, number, blocks, now)
}

fn ack_of(
    sender: &mut Sender,
    now: Time,
    number: u64,
    blocks: &[(u64, u64)],
    echoed_stamp: Time,
) -> Vec<u64> {
    let ranges = blocks.iter().map(|(start, end)| Range { start: *start, end: *end });
    let sack = SackBlocks::of(number, ranges);
    sender.on_ack(now, &segment(number, sack, now, echoed_stamp));
    leaving(sender, now)
}

/// An acknowledgement of everything below `number` and of `sack`.
fn segment(number: u64, sack: SackBlocks, stamp: Time, echoed_stamp: Time) -> Segment {
    let header = Header::Ack(AckHeader { sack, ..AckHeader::default() });
    Segment { number, stamp, echoed_stamp, bytes: 40, header }
}

/// A sender in congestion avoidance with packets 0 to 9 in flight.
fn ten_under_way(recovery: RecoveryKind) -> Sender {
    let mut sender =
        sender(recovery, Habits { limited_transmit: false, ..Habits::NS2 }, 10.0, 10.0);
    sender.offer(1000);
    assert_eq!(leaving(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
    sender
}

#[test]
fn reno_sends_the_lost_packet_again_at_the_third_duplicate_and_ends_at_any_new_acknowledgement() {
    let mut sender = ten_under_way(RecoveryKind::Reno);
    assert_eq!(ack(&mut sender, at(100), 0, &[]), NOTHING);
    assert_eq!(ack(&mut sender, at(101), 0, &[]), NOTHING);
    assert_eq!(ack(&mut sender, at(102), 0, &[]), [0], "RFC 5681 §3.2, step 3");
    // Window 5 + 3 + 1 for each further duplicate: with 10 outstanding the first new packet leaves
    // at the third, window 11.
    assert_eq!(ack(&mut sender, at(103), 0, &[]), NOTHING);
    assert_eq!(ack(&mut sender, at(104), 0, &[]), NOTHING);
    assert_eq!(ack(&mut sender, at(105), 0, &[]), [10]);
    assert_eq!(
        (5..8).flat_map(|n| ack(&mut sender, at(101 + n), 0, &[])).collect::<Vec<_>>(),
        [11, 12, 13]
    );
    assert!(sender.recovering());
    // The retransmission is answered: all ten are acknowledged, and the window is 5 with 10 to 13
    // outstanding.
    assert_eq!(ack(&mut sender, at(200), 10, &[]), [14]);
    assert!(!sender.recovering());
}

#[test]
fn newreno_stays_until_all_that_was_outstanding_has_arrived() {
    let mut sender = ten_under_way(RecoveryKind::NewReno);
    (0..8).for_each(|n| drop(ack(&mut sender, at(100 + n), 0, &[])));
    // Packets 0 and 5 were lost: the acknowledgement of 0's retransmission is partial and sends 5
    // (RFC 6582 §3.2, step 3).
    let partial = ack(&mut sender, at(200), 5, &[]);
    assert_eq!(partial.first(), Some(&5));
    assert!(sender.recovering());
    let counters = *sender.counters();
    assert_eq!((counters.epochs, counters.lost, counters.retransmitted), (1, 2, 2));
    // 12 acknowledges more than the highest number sent before the recovery, so the recovery is
    // over.
    ack(&mut sender, at(300), 12, &[]);
    assert!(!sender.recovering());
    assert_eq!(sender.controller().window().floor(), 5.0, "one epoch, half of ten");
}

#[test]
fn sack_sends_only_what_is_missing_and_keeps_the_pipe_at_the_window() {
    let mut sender = ten_under_way(RecoveryKind::Sack);
    // 0, 2 and 4 are lost. The pipe falls by one for each block, and a new packet fills the gap
    // (limited transmit).
    assert_eq!(ack(&mut sender, at(100), 0, &[(1, 2)]), [10]);
    assert_eq!(ack(&mut sender, at(101), 0, &[(3, 4), (1, 2)]), [11]);
    // The third arrival above 0: 0 is lost and the window is 5. 0 leaves at once, and nothing else
    // does, since the pipe is 9 - 1 + 1.
    assert_eq!(ack(&mut sender, at(102), 0, &[(5, 6), (3, 4), (1, 2)]), [0]);
    assert_eq!((sender.controller().window(), sender.counters().epochs), (5.0, 1));
    // 2 is lost, then 4; the pipe drains to the window before they are retransmitted.
    assert_eq!(ack(&mut sender, at(103), 0, &[(5, 7), (3, 4), (1, 2)]), NOTHING);
    assert_eq!(ack(&mut sender, at(104), 0, &[(5, 8), (3, 4), (1, 2)]), NOTHING);
    assert_eq!(sender.in_flight(), 5, "8, 9, 10, 11 and the second 0; 2 and 4 are lost");
    assert_eq!(ack(&mut sender, at(105), 0, &[(5, 9), (3, 4), (1, 2)]), [2]);
    assert_eq!(ack(&mut sender, at(106), 0, &[(5, 10), (3, 4), (1, 2)]), [4]);
    assert_eq!(ack(&mut sender, at(200), 2, &[(5, 10), (3, 4)]), [12]);
}

#[test]
fn a_lost_retransmission_is_left_to_the_timeout_which_backs_off() {
    let mut sender = ten_under_way(RecoveryKind::Sack);
    for n in 0..9 {
        ack(&mut sender, at(100 + n), 0, &[(1, 2 + n)]);
    }
    assert_eq!(sender.counters().retransmitted, 1);
    // No RTT sample yet (Karn): the initial timeout of 3 s runs from the retransmission, then
    // doubles.
    let mut timeouts = Vec::new();
    for _ in 0..3 {
        let due = sender.retransmit_at();
        sender.on_wakeup(due);
        timeouts.push((due.picos() / 1_000_000_000, leaving(&mut sender, due)));
    }
    assert_eq!(timeouts, [3102, 9102, 21_102].map(|due| (due, vec![0])));
    assert_eq!((sender.controller().window(), sender.counters().timeouts), (1.0, 3));
}

#[test]
fn after_a_timeout_what_was_reported_is_not_sent_again() {
    let mut sender = ten_under_way(RecoveryKind::Sack);
    ack(&mut sender, at(100), 0, &[(4, 6)]);
    let due = sender.retransmit_at();
    sender.on_wakeup(due);
    let mut again = leaving(&mut sender, due);
    again.extend(ack(&mut sender, due + Duration::from_millis(100), 1, &[(4, 6)]));
    again.extend(ack(&mut sender, due + Duration::from_millis(200), 3, &[(4, 6)]));
    assert_eq!(again, [0, 1, 2, 3, 6, 7, 8][..again.len()]);
    assert!(again.len() >= 5 && !again.contains(&4) && !again.contains(&5));
}

#[test]
fn limited_transmit_sends_a_new_packet_for_each_of_the_first_two_duplicates() {
    let mut sender = sender(RecoveryKind::NewReno, Habits::NS2, 4.0, 4.0);
    sender.offer(100);
    assert_eq!(leaving(&mut sender, at(0)), [0, 1, 2, 3]);
    assert_eq!(ack(&mut sender, at(100), 0, &[]), [4], "RFC 3042");
    assert_eq!(ack(&mut sender, at(101), 0, &[]), [5]);
    assert_eq!(ack(&mut sender, at(102), 0, &[]), [0]);
}

/// Linux 2.4: the device has no room for packet 10, so the window falls to the law's threshold, by
/// one for every second acknowledgement, and once in a window of data; nothing is sent again.
#[test]
fn a_device_without_room_halves_the_window_once_and_one_packet_leaves_for_two() {
    let habits = Habits { handshake: false, ..Habits::LINUX_24 };
    let mut sender = sender(RecoveryKind::Sack, habits, 10.0, 10.0);
    sender.offer(1000);
    assert_eq!(leaving(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
    sender.on_ack(at(100), &segment(1, SackBlocks::default(), at(100), at(0)));
    sender.on_local_congestion(at(100));
    assert_eq!(sender.controller().window(), 5.05, "half of 10.1, as one was acknowledged");
    sender.on_local_congestion(at(100));
    assert_eq!(sender.controller().window(), 5.05, "one answer for a window of data");
    let left: Vec<_> = (2..8).map(|n| ack(&mut sender, at(100 + n), n, &[])).collect();
    let one = |number: u64| vec![number];
    assert_eq!(left, [one(10), vec![], one(11), vec![], one(12), vec![]]);
    assert_eq!(sender.counters().retransmitted, 0);
}

#[test]
fn timestamps_recognise_a_needless_recovery() {
    let habits = Habits {
        metering: Metering::ByPipe,
        detection: Detection::ByCount,
        handshake: false,
        ..Habits::LINUX
    };
    let mut sender = sender(RecoveryKind::Sack, habits, 10.0, 10.0);
    sender.offer(1000);
    leaving(&mut sender, at(0));
    for n in 0..4 {
        ack_of(&mut sender, at(100 + n), 0, &[(1, 2 + n)], at(0));
    }
    assert!(sender.recovering() && sender.controller().window() == 5.0);
    // Packet 0 was only late: its acknowledgement echoes a time before the retransmission (RFC 3522
    // §3.2).
    ack_of(&mut sender, at(105), 5, &[], at(0));
    assert!(!sender.recovering() && sender.counters().spurious == 1);
    assert!(sender.controller().window() >= 10.0);
}

#[test]
fn a_restart_after_silence_begins_with_the_initial_window() {
    let mut sender = sender(RecoveryKind::Sack, Habits::NS2, 2.0, f64::INFINITY);
    sender.offer(30);
    let mut now = 0;
    let mut sent = leaving(&mut sender, at(0));
    while sender.first() < 30 {
        now += 100;
        let next = sent.last().unwrap() + 1;
        (sender.first() + 1..=next)
            .for_each(|number| sent.extend(ack(&mut sender, at(now), number, &[])));
    }
    assert!(sender.controller().window() >= 16.0);
    sender.offer(30);
    assert_eq!(leaving(&mut sender, at(now + 5000)).len(), 2, "RFC 5681 §4.1");
}

/// A network that delays, loses, duplicates and reorders packets as `fate` says, one byte per
/// packet.
struct Wire {
    packets: Vec<(Time, Segment)>,
    fate: VecDeque<u8>,
}

impl Wire {
    fn put(&mut self, now: Time, segment: Segment) {
        let byte = self.fate.pop_front().unwrap_or(0);
        let copies = match byte % 16 {
            0..=11 => 1,
            12..=14 if byte > 16 => 0,
            _ => 2,
        };
        // One packet in six is held up for a while, so that others overtake it.
        let late = if byte % 6 == 1 { u64::from(byte) * 200 } else { 0 };
        for copy in 0..copies {
            self.packets.push((now + Duration::from_micros(10_000 + late + 3 * copy), segment));
        }
    }

    /// The packet that arrives first, if it does so by `time`.
    fn take_by(&mut self, time: Time) -> Option<(Time, Segment)> {
        let first = self.packets.iter().enumerate().min_by_key(|(_, (time, _))| *time);
        let (place, _) = first.filter(|(_, (arrival, _))| *arrival <= time)?;
        Some(self.packets.swap_remove(place))
    }
}

/// Sends `packets` over a wire with this `fate`: the packets that arrived in order, and in all.
fn deliver(recovery: RecoveryKind, habits: Habits, packets: u64, fate: &[u8]) -> (u64, u64) {
    let mut sender = sender(recovery, habits, habits.initial_window, f64::INFINITY);
    let mut receiver = Receiver::new(habits.acks, 40, u64::MAX);
    sender.offer(packets);
    let mut wire = Wire { packets: Vec::new(), fate: fate.iter().copied().collect() };
    let mut now = Time::ZERO;
    for _ in 0..200_000 {
        while let Some(segment) = sender.poll_transmit(now) {
            wire.put(now, segment);
        }
        if sender.is_done() {
            break;
        }
        let timers = sender.retransmit_at().min(receiver.wakeup());
        if let Some((time, segment)) = wire.take_by(timers) {
            now = time;
            match segment.kind() {
                Kind::Data => {
                    receiver.on_data(now, &segment).into_iter().for_each(|ack| wire.put(now, ack));
                }
                Kind::Ack => sender.on_ack(now, &segment),
            }
            continue;
        }
        now = timers;
        assert!(
            now < Time::NEVER,
            "neither end has anything to do, but only {} of {packets} packets have arrived",
            receiver.next()
        );
        receiver.on_wakeup(now).into_iter().for_each(|ack| wire.put(now, ack));
        sender.on_wakeup(now);
    }
    (receiver.next(), receiver.arrived())
}

proptest! {
    #[test]
    fn everything_arrives_once_and_in_order(
        fate in prop::collection::vec(any::<u8>(), 0..600),
        packets in 1u64..300,
        linux: bool,
    ) {
        for recovery in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack] {
            let habits = if linux { Habits::LINUX } else { Habits::NS2 };
            prop_assert_eq!(
                deliver(recovery, habits, packets, &fate),
                (packets, packets),
                "{:?}",
                recovery
            );
        }
    }
}

/// The headers of what leaves at `now`, by number.
fn headers(sender: &mut Sender, now: Time) -> Vec<(u64, DataHeader)> {
    let data = |segment: Segment| {
        if let Header::Data(header) = segment.header {
            Some((segment.number, header))
        } else {
            None
        }
    };
    std::iter::from_fn(|| sender.poll_transmit(now)).filter_map(data).collect()
}

/// Packet 1 is marked and packet 4 lost, both of the first window; packet 12 is lost later.
#[test]
fn a_mark_and_a_loss_of_one_window_have_one_answer() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let controller: Box<dyn Controller> =
            Box::new(OncePerEpoch::new(SlowStart::Standard, Reno, 10.0).with_ssthresh(10.0));
        let habits = Habits { limited_transmit: false, ..Habits::NS2 };
        let settings = TcpSettings {
            ecn: EcnOfUser::ASKED,
            ..TcpSettings::new(recovery, Arc::new(habits), 1000)
        };
        let mut sender = Sender::new(settings, controller, place());
        sender.offer(1000);
        leaving(&mut sender, at(0));
        let mut answer = |millis: u64, number: u64, top: u64, ece: bool| {
            let block = Range { start: number + 1, end: top };
            let reported = recovery == RecoveryKind::Sack && !block.is_empty();
            let sack = SackBlocks::of(number, reported.then_some(block).into_iter());
            let header = Header::Ack(AckHeader { ece, sack, ..AckHeader::default() });
            let (stamp, echoed_stamp) = (at(millis), at(0));
            sender.on_ack(at(millis), &Segment { number, stamp, echoed_stamp, bytes: 40, header });
            leaving(&mut sender, at(millis));
            (sender.controller().window(), sender.recovering())
        };
        assert_eq!(answer(100, 1, 1, false).0, 10.1);
        assert_eq!(answer(101, 2, 2, true).0, 5.05, "the mark");
        for number in 3..=4 {
            answer(101 + number, number, number, true);
        }
        let answers: Vec<(f64, bool)> =
            (6..=10).map(|top| answer(106 + top, 4, top, true)).collect();
        assert_eq!(answers.last(), Some(&(5.05, true)), "{recovery:?}: the loss is not a second");
    }
}

#[test]
fn a_window_of_data_has_one_answer_to_its_marks_and_the_first_new_packet_says_so() {
    let controller: Box<dyn Controller> =
        Box::new(OncePerEpoch::new(SlowStart::Standard, Reno, 10.0).with_ssthresh(10.0));
    let (recovery, habits) = (RecoveryKind::Reno, Arc::new(Habits::NS2));
    let settings =
        TcpSettings { ecn: EcnOfUser::ASKED, ..TcpSettings::new(recovery, habits, 1000) };
    let mut sender = Sender::new(settings, controller, place());
    sender.offer(1000);
    assert!(
        headers(&mut sender, at(0))
            .iter()
            .all(|(_, header)| header.ecn == Ecn::Capable && !header.reduced)
    );
    let mut left = Vec::new();
    let mut windows = Vec::new();
    // Packets 0 to 9 are answered with echoes from the second on, until packet 10 and those after
    // it arrive.
    for number in 1..=20 {
        let header =
            Header::Ack(AckHeader { ece: (2..=10).contains(&number), ..AckHeader::default() });
        sender.on_ack(
            at(100 + number),
            &Segment { number, stamp: at(100), echoed_stamp: at(0), bytes: 40, header },
        );
        windows.push(sender.controller().window());
        left.extend(headers(&mut sender, at(100 + number)));
    }
    // RFC 3168 §6.1.2: the window is halved once, at the second acknowledgement, and does not grow
    // while the mark is echoed.
    assert_eq!(windows[0], 10.1);
    assert!(windows[1..10].iter().all(|window| *window == 5.05), "{windows:?}");
    assert!(windows[10] > 5.05);
    let reduced: Vec<u64> =
        left.iter().filter(|(_, header)| header.reduced).map(|(number, _)| *number).collect();
    assert_eq!(
        reduced,
        [left.iter().find(|(number, _)| *number > 10).unwrap().0],
        "CWR is set on the first packet that leaves after the reduction"
    );
}
