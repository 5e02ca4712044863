//! Linux's habits against scripted networks: RACK, probes, needless timeouts, the handshake.

use narrows_control::laws::reno::Reno;
use narrows_control::{
    Ack, Controller, Gaps, Idle, Loss, Needs, OncePerEpoch, Pacing, RateSample, SlowStart, Timeout,
};
use narrows_signal::{Ecn, Range, SackBlocks};
use narrows_transport::congestion::{EcnOfUser, Path, Quantum, Spacing};
use narrows_transport::tcp::{Habits, Receiver, RecoveryKind, TcpSettings};
use narrows_transport::{AckHeader, DataHeader, Header, Segment, Sender};
use narrows_units::{Duration, Stream, Time};
use std::collections::VecDeque;
use std::sync::Arc;

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

fn with(habits: Habits, controller: Box<dyn Controller>) -> Sender {
    let settings = TcpSettings::new(RecoveryKind::Sack, Arc::new(habits), 1500);
    Sender::new(settings, controller, place())
}

fn reno(window: f64, ssthresh: f64) -> Box<dyn Controller> {
    Box::new(OncePerEpoch::new(SlowStart::Standard, Reno, window).with_ssthresh(ssthresh))
}

/// The numbers that leave at `now`.
fn leaving(sender: &mut Sender, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(now)).map(|segment| segment.number).collect()
}

/// What leaves when the timer expires, which is asserted to be at `now`.
fn expire(sender: &mut Sender, now: u64) -> Vec<u64> {
    assert_eq!(sender.retransmit_at(), at(now), "not {}", sender.retransmit_at());
    sender.on_wakeup(at(now));
    leaving(sender, at(now))
}

fn segment(number: u64, now: u64, echo: u64, header: Header) -> Segment {
    Segment { number, stamp: at(now), echoed_stamp: at(echo), bytes: 52, header }
}

/// Delivers an acknowledgement of everything below `number` and of `blocks` in answer to what left
/// at `echo`; returns the numbers that leave.
fn ack(sender: &mut Sender, now: u64, number: u64, blocks: &[(u64, u64)], echo: u64) -> Vec<u64> {
    let ranges = blocks.iter().map(|(start, end)| Range { start: *start, end: *end });
    let sack = SackBlocks::of(number, ranges);
    let header = Header::Ack(AckHeader { sack, ..AckHeader::default() });
    sender.on_ack(at(now), &segment(number, now, echo, header));
    leaving(sender, at(now))
}

/// A sender over a path of 100 ms that has exchanged the handshake at 0 to 100 ms, with `packets`
/// to send.
fn connected(controller: Box<dyn Controller>, packets: u64) -> Sender {
    let mut sender = with(Habits::LINUX, controller);
    sender.offer(packets);
    let syn = sender.poll_transmit(at(0)).expect("a request for a connection");
    assert_eq!((syn.header, syn.bytes, sender.poll_transmit(at(0))), (Header::SYN, 60, None));
    sender.on_ack(at(100), &segment(0, 100, 0, Header::SYN_ACK));
    sender
}

#[test]
fn the_handshake_gives_the_first_sample_and_is_asked_for_again_after_a_second() {
    let mut sender = with(Habits::LINUX, reno(10.0, 10.0));
    assert_eq!(sender.poll_transmit(at(0)), None, "there is no data");
    sender.offer(3);
    assert!(sender.poll_transmit(at(5)).is_some_and(|syn| syn.header == Header::SYN));
    for (now, next) in [(1005, 2005), (2005, 3005), (3005, 4005), (4005, 5005), (5005, 7005)] {
        assert_eq!(sender.retransmit_at(), at(now));
        sender.on_wakeup(at(now));
        let again = sender.poll_transmit(at(now)).expect("the request again");
        assert_eq!((again.header, sender.poll_transmit(at(now))), (Header::SYN, None));
        assert_eq!(sender.retransmit_at(), at(next));
    }
    sender.on_ack(at(5105), &segment(0, 5105, 5005, Header::SYN_ACK));
    assert_eq!(sender.rtt().map(|rtt| rtt.latest), Some(ms(100)));
    assert_eq!(leaving(&mut sender, at(5105)), [0, 1, 2]);
    assert_eq!((sender.counters().sent, sender.counters().timeouts), (3, 5));
}

#[test]
fn a_receiver_accepts_and_acknowledges_the_first_packets_of_each_connection_at_once() {
    let mut receiver = Receiver::new(Habits::LINUX.acks, 52, u64::MAX);
    let mut answers = |header, numbers: std::ops::Range<u64>| {
        let syn = Segment::data(numbers.start, at(7), 60, header);
        let accepted = receiver.on_data(at(9), &syn).expect("an answer");
        assert_eq!((accepted.header, accepted.echoed_stamp), (Header::SYN_ACK, at(7)));
        numbers
            .filter(|number| {
                let data = Segment::data(*number, at(10), 1500, Header::Data(Default::default()));
                receiver.on_data(at(10), &data).is_some()
            })
            .count()
    };
    assert_eq!(answers(Header::SYN, 0..30), 26, "six, sixteen, and four pairs");
    assert_eq!(answers(Header::SYN, 30..60), 26);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips_and_repaired_without_a_timeout() {
    let mut sender = connected(reno(10.0, 10.0), 5);
    assert_eq!(leaving(&mut sender, at(100)), [0, 1, 2, 3, 4]);
    assert_eq!(ack(&mut sender, 200, 2, &[], 100), [0_u64; 0]);
    // 2, 3 and 4 are lost. Two round trips and 2 ms later the last one leaves again.
    assert_eq!(expire(&mut sender, 402), [4]);
    // Its arrival shows that what left before it is lost (RFC 8985 §7.5).
    assert_eq!(ack(&mut sender, 502, 2, &[(4, 5)], 100), [2_u64]);
    assert_eq!(ack(&mut sender, 602, 3, &[(4, 5)], 502), [3]);
    ack(&mut sender, 700, 5, &[], 600);
    let counters = sender.counters();
    assert_eq!((counters.timeouts, counters.retransmitted, counters.epochs), (0, 3, 1));
    assert!(sender.is_done() && sender.retransmit_at() == Time::NEVER);
}

/// The numbers acknowledged when `numbers` arrive a tenth of a millisecond apart, and when the next
/// acknowledgement is due.
fn acknowledged(receiver: &mut Receiver, numbers: impl Iterator<Item = u64>) -> (Vec<u64>, Time) {
    let mut acked = Vec::new();
    for (step, number) in (0..).zip(numbers) {
        let now = at(1000) + Duration::from_micros(100 * step);
        let data = Segment::data(number, now, 1500, Header::Data(Default::default()));
        acked.extend(receiver.on_data(now, &data).map(|_| number));
    }
    (acked, receiver.wakeup())
}

/// `__tcp_ack_snd_check` of Linux with 20 ms of RTT: three at once, then one for what comes in 5 %
/// of that and the slack of the timer, and at once when the gap is filled.
#[test]
fn acknowledgements_without_progress_are_put_together_after_three() {
    let acks = narrows_transport::tcp::AckPolicy { quick: 0, ..Habits::LINUX.acks };
    let mut receiver = Receiver::new(acks, 52, u64::MAX);
    receiver.on_data(at(980), &Segment::data(0, at(970), 60, Header::SYN));
    let (acked, due) = acknowledged(&mut receiver, [1, 2, 3, 4, 5, 6].into_iter());
    assert_eq!(acked, [1, 2, 3]);
    assert_eq!(due, at(1000) + Duration::from_micros(300 + 1000 + 100), "from the fourth on");
    assert_eq!(receiver.on_wakeup(due).map(|ack| ack.number), Some(0));
    assert_eq!(receiver.wakeup(), Time::NEVER);
    assert_eq!(acknowledged(&mut receiver, [0].into_iter()).0, [0], "the gap is filled");
}

#[test]
fn an_acknowledgement_stands_for_forty_four_packets_at_most() {
    let acks = narrows_transport::tcp::AckPolicy { quick: 0, ..Habits::LINUX.acks };
    let mut receiver = Receiver::new(acks, 52, u64::MAX);
    let gap = (1..60).map(|number| number + 1);
    let data = |number| Segment::data(number, at(5), 1500, Header::Data(Default::default()));
    let acked: Vec<u64> = gap.filter(|n| receiver.on_data(at(5), &data(*n)).is_some()).collect();
    assert_eq!(acked, [2, 3, 4, 49], "44 were put together before");
}

/// A timeout at 600 ms, after a probe at 300 ms: the path has stood still since 100 ms.
fn timed_out(stamps: bool) -> Sender {
    let habits = Habits { timestamps: stamps, handshake: false, ..Habits::LINUX };
    let mut sender = with(habits, reno(10.0, 10.0));
    sender.offer(1000);
    assert_eq!(leaving(&mut sender, at(0)).len(), 10);
    assert_eq!(ack(&mut sender, 100, 4, &[], 0), [10, 11, 12, 13]);
    assert_eq!(expire(&mut sender, 300), [14], "a probe, beyond the window");
    assert_eq!(expire(&mut sender, 600), [4], "a timeout of 100 + 200 ms");
    assert_eq!((sender.controller().window(), sender.counters().timeouts), (1.0, 1));
    sender
}

#[test]
fn a_timeout_is_taken_back_when_a_stamp_shows_that_the_original_arrived() {
    let mut sender = timed_out(true);
    assert_eq!(ack(&mut sender, 650, 10, &[], 0), [15, 16, 17, 18, 19], "ten in flight again");
    let counters = sender.counters();
    assert_eq!((counters.spurious, counters.retransmitted), (1, 1));
    assert_eq!(sender.controller().window().floor(), 10.0);
}

/// `tcp_try_undo_partial`: what came late once is waited for from then on, a quarter of the RTT.
#[test]
fn a_needless_recovery_shows_that_the_path_reorders() {
    let mut sender = connected(reno(20.0, 10.0), 1000);
    assert_eq!(leaving(&mut sender, at(100)).len(), 20);
    let again = ack(&mut sender, 200, 0, &[(1, 5)], 100);
    assert_eq!(again.first(), Some(&0), "three have overtaken it: {again:?}");
    ack(&mut sender, 201, 5, &[], 100);
    assert_eq!((sender.counters().spurious, sender.recovering()), (1, false));
    let next = ack(&mut sender, 202, 5, &[(6, 12)], 100);
    assert!(!next.contains(&5) && !sender.recovering(), "it may be late again: {next:?}");
    ack(&mut sender, 203, 13, &[], 100);
    assert_eq!((sender.counters().epochs, sender.counters().retransmitted), (1, 1));
}

/// RFC 5682 §3.1: the first acknowledgement lets new data leave; the second, of what was sent only
/// once, shows that the timeout was needless.
#[test]
fn without_stamps_new_data_shows_that_a_timeout_was_needless() {
    let mut sender = timed_out(false);
    assert_eq!(ack(&mut sender, 650, 5, &[], 0), [15, 16], "step 2b");
    assert_eq!(sender.counters().spurious, 0);
    ack(&mut sender, 660, 6, &[], 0);
    assert_eq!((sender.counters().spurious, sender.counters().retransmitted), (1, 1));
}

#[test]
fn after_a_real_timeout_the_rest_is_sent_again() {
    let mut sender = timed_out(false);
    ack(&mut sender, 700, 5, &[], 600);
    let again = ack(&mut sender, 800, 5, &[(15, 16)], 700);
    assert_eq!(again.first(), Some(&5), "step 3a: {again:?}");
    assert_eq!(sender.counters().spurious, 0);
}

#[test]
fn a_mark_brings_the_flight_down_while_packets_arrive() {
    let habits = Arc::new(Habits { handshake: false, ..Habits::LINUX });
    let settings =
        TcpSettings { ecn: EcnOfUser::ASKED, ..TcpSettings::new(RecoveryKind::Sack, habits, 1500) };
    let mut sender = Sender::new(settings, reno(20.0, 10.0), place());
    sender.offer(1000);
    assert_eq!(leaving(&mut sender, at(0)).len(), 20);
    let mut marked = |now, number, ece| {
        let header = Header::Ack(AckHeader { ece, marked: 1, ..AckHeader::default() });
        sender.on_ack(at(now), &segment(number, now, 0, header));
        leaving(&mut sender, at(now)).len()
    };
    // 20 in flight, the window falls to 10: one leaves for every second that arrives (RFC 9937).
    let left: Vec<usize> = (1..=10).map(|n| marked(100 + n, n, n == 1)).collect();
    assert_eq!(left.iter().sum::<usize>(), 5, "{left:?}");
    assert!(left.iter().all(|left| *left <= 1));
}

/// `tcp_sack_new_ofo_skb` of Linux: what has been put together leaves before a third block.
#[test]
fn a_third_block_does_not_wait() {
    let acks = narrows_transport::tcp::AckPolicy { quick: 0, ..Habits::LINUX.acks };
    let mut receiver = Receiver::new(acks, 52, u64::MAX);
    let mut blocks = |number| {
        let data = Segment::data(number, at(5), 1500, Header::Data(Default::default()));
        let ack = receiver.on_data(at(5), &data)?;
        Some(ack.sack().iter(0).map(|range| (range.start, range.end)).collect::<Vec<_>>())
    };
    for number in [1, 2, 3] {
        assert!(blocks(number).is_some());
    }
    assert_eq!([blocks(4), blocks(6), blocks(7)], [None, None, None], "the second may wait");
    assert_eq!(blocks(9), Some(vec![(6, 8), (1, 5)]), "9 itself waits");
    assert_eq!(blocks(5), None, "what lengthens the third has nothing to wait for");
}

/// The last packet of each that leave together says so, and the last of the data; one that leaves
/// alone does not (`__tcp_transmit_skb`, `tcp_push`).
#[test]
fn what_ends_a_burst_or_the_data_says_so() {
    for (quantum, expected) in [(1, vec![6]), (3, vec![2, 5, 6])] {
        let habits = Arc::new(Habits { handshake: false, ..Habits::LINUX });
        let settings = TcpSettings::new(RecoveryKind::Sack, habits, 1500);
        let settings = TcpSettings { quantum: Quantum::Packets(quantum), ..settings };
        let mut sender = Sender::new(settings, reno(7.0, 7.0), place());
        sender.offer(7);
        let segments = std::iter::from_fn(|| sender.poll_transmit(at(100)));
        let pushes = |header| matches!(header, Header::Data(DataHeader { pushes: true, .. }));
        let pushing = segments.filter(|it| pushes(it.header)).map(|it| it.number);
        assert_eq!(pushing.collect::<Vec<_>>(), expected);
    }
}

/// RFC 9002 §7.8: a window that a pacer spreads evenly over a round trip is used, and grows by one
/// packet in each, though it is never full: trains leave a little late.
#[test]
fn a_window_that_is_spread_over_the_round_trip_grows() {
    let habits = Arc::new(Habits { handshake: false, ..Habits::LINUX });
    let settings = TcpSettings::new(RecoveryKind::Sack, habits, 1500);
    let (quantum, pacing) = (Quantum::Packets(4), Some(Spacing::Window(Gaps::Even)));
    let settings = TcpSettings { quantum, pacing, ..settings };
    let mut sender = Sender::new(settings, reno(40.0, 40.0), place());
    sender.offer(1_000_000);
    let (mut now, mut acks) = (Time::ZERO, VecDeque::new());
    while now < at(2000) {
        while let Some(segment) = sender.poll_transmit(now) {
            acks.push_back((now + ms(100), segment.number + 1, now));
        }
        let next = acks.front().map_or(Time::NEVER, |(at, ..)| *at);
        now = next.min(sender.pace_at() + ms(1));
        if let Some((_, number, sent)) = acks.pop_front_if(|(at, ..)| *at <= now) {
            let header = Header::Ack(AckHeader::NOTHING);
            let (stamp, bytes) = (now, 52);
            let ack = Segment { number, stamp, echoed_stamp: sent, bytes, header };
            sender.on_ack(now, &ack);
        }
    }
    let window = sender.controller().window();
    assert!((56.0..60.0).contains(&window), "{window} after 19 round trips");
}

/// A law with a window of ten packets that decides in a recovery, too.
struct Own;

impl Controller for Own {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> f64 {
        10.0
    }

    fn needs(&self) -> Needs {
        Needs { own_recovery: true, ..Needs::default() }
    }
}

/// `tcp_time_to_recover` of Linux, at the end of a recovery: `lost_out` is not 0.
#[test]
fn what_was_lost_in_a_recovery_and_not_repaired_at_its_end_begins_another_at_once() {
    let mut sender = connected(Box::new(Own), 100);
    assert_eq!(leaving(&mut sender, at(100)), (0..10).collect::<Vec<_>>());
    // 0 is lost, and the recovery lasts until everything below 10 has arrived.
    assert_eq!(ack(&mut sender, 200, 0, &[(1, 4)], 100), [0_u64, 10, 11, 12]);
    // 10 is lost, too. 0, sent again at 200, arrives, and so all below 10 has.
    ack(&mut sender, 301, 0, &[(1, 10), (11, 13)], 100);
    ack(&mut sender, 302, 10, &[(11, 13)], 200);
    assert!(sender.recovering());
    // That lasts until all that had left by 302 has arrived.
    ack(&mut sender, 403, 13, &[], 302);
    assert!(sender.recovering());
    ack(&mut sender, 404, 100, &[], 303);
    assert!(!sender.recovering());
    assert_eq!(sender.counters().epochs, 1, "one recovery to the law");
}

/// The same with Reno: a second reduction, of which the law hears, and a new PRR for it, which lets
/// leave what was lost at once.
#[test]
fn a_loss_in_a_recovery_that_outlives_it_reduces_the_window_a_second_time() {
    for repaired in [false, true] {
        let mut sender = connected(reno(20.0, 20.0), 100);
        assert_eq!(leaving(&mut sender, at(100)), (0..20).collect::<Vec<_>>());
        // 0 and 19 are lost, the recovery lasts until both have arrived, and 20 leaves in it.
        assert_eq!(ack(&mut sender, 200, 0, &[(1, 5)], 100), [0, 20]);
        assert_eq!(ack(&mut sender, 201, 0, &[(1, 19)], 100), (21..28).collect::<Vec<_>>());
        assert_eq!(sender.controller().window(), 10.0);
        // 20 is lost, too, and sent again; it arrives with 19, or not.
        assert_eq!(ack(&mut sender, 302, 19, &[(21, 28)], 200)[..2], [19, 20]);
        let (next, blocks): (_, &[_]) = if repaired { (28, &[]) } else { (20, &[(21, 28)]) };
        ack(&mut sender, 403, next, blocks, 302);
        let epochs = sender.counters().epochs;
        let expected = if repaired { (1, 10.0) } else { (2, 5.0) };
        assert_eq!((epochs, sender.controller().ssthresh()), expected);
        assert_eq!(sender.counters().lost, 3, "each is counted once");
    }
}

/// A law that answers marks by their number; its window has grown by each acknowledgement that came
/// in no recovery.
struct CountsMarks(f64);

impl Controller for CountsMarks {
    fn on_ack(&mut self, ack: &Ack) {
        self.0 += f64::from(u8::from(!ack.recovering));
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> f64 {
        self.0
    }

    fn needs(&self) -> Needs {
        Needs { ecn: Ecn::Capable, ..Needs::default() }
    }
}

/// The acknowledgement that brings the first mark of a window still grows it; those after it come
/// in the reduction (TCP_CA_CWR), until more has arrived than the 12 packets that had left.
#[test]
fn the_reduction_after_a_mark_begins_after_its_acknowledgement() {
    let mut sender = connected(Box::new(CountsMarks(10.0)), 1000);
    leaving(&mut sender, at(100));
    let windows = [(1, 0), (2, 1), (3, 1), (12, 1), (13, 1)].map(|(number, marked)| {
        let header = Header::Ack(AckHeader { marked, ..AckHeader::default() });
        sender.on_ack(at(200 + number), &segment(number, 200 + number, 100, header));
        leaving(&mut sender, at(200 + number));
        sender.controller().window()
    });
    assert_eq!(windows, [11.0, 12.0, 12.0, 12.0, 13.0]);
}

/// A law that hears an echo of marks; its window is twenty packets more than were marked.
struct HearsEcho(f64);

impl Controller for HearsEcho {
    fn on_ack(&mut self, ack: &Ack) {
        self.0 += ack.marked;
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> f64 {
        self.0
    }

    fn needs(&self) -> Needs {
        Needs { ecn: Ecn::Capable, echoed: true, ..Needs::default() }
    }
}

/// `tcp_newly_delivered`: an acknowledgement with an echo delivers nothing but marked packets,
/// whatever the receiver counted; the next packet that leaves tells it that they are answered, once
/// in a window of data.
#[test]
fn all_that_an_acknowledgement_with_an_echo_delivers_is_marked() {
    let mut sender = connected(Box::new(HearsEcho(20.0)), 1000);
    leaving(&mut sender, at(100));
    let heard = [(2, false, 2), (4, true, 2), (7, true, 2), (8, false, 2), (24, true, 3)];
    let told = heard.map(|(number, ece, marked)| {
        let header = Header::Ack(AckHeader { ece, marked, ..AckHeader::default() });
        sender.on_ack(at(200 + number), &segment(number, 200 + number, 100, header));
        let leaves = std::iter::from_fn(|| sender.poll_transmit(at(200 + number)));
        let says = leaves.filter(|left| matches!(&left.header, Header::Data(it) if it.reduced));
        let says = says.count();
        (sender.controller().window(), says)
    });
    assert_eq!(told, [(20.0, 0), (22.0, 1), (25.0, 0), (25.0, 0), (41.0, 1)]);
}

/// A law with a window of ten packets and 100 packets per second; keeps what it was told.
#[derive(Default)]
struct Samples {
    last: Option<RateSample>,
    restarts: Vec<bool>,
}

impl Controller for Samples {
    fn on_ack(&mut self, ack: &Ack) {
        self.last = ack.rate;
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn on_restart(&mut self, idle: &Idle) {
        self.restarts.push(idle.app_limited);
    }

    fn window(&self) -> f64 {
        10.0
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, own_recovery: true, ..Needs::default() }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate { packets_per_second: 100.0, gaps: Gaps::Fq }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        if let Some(sample) = &self.last {
            show("prior_in_flight", sample.prior_in_flight);
            show("departs_in", sample.departs_in.seconds());
            show("newly_lost", sample.newly_lost);
            show("repairing", f64::from(u8::from(sample.repairing)));
        }
        self.restarts.iter().for_each(|limited| show("restart", f64::from(u8::from(*limited))));
    }
}

fn shown(sender: &Sender) -> Vec<f64> {
    let mut values = Vec::new();
    sender.controller().probe(&mut |_, value| values.push(value));
    values
}

/// `tcp_ack` and `tcp_rate_gen` of Linux: the flight before the acknowledgement, the pacer's next
/// departure, what was found lost, and whether the state is Recovery or Loss.
#[test]
fn a_sample_says_what_the_sender_knows() {
    let mut sender = connected(Box::<Samples>::default(), 100);
    assert_eq!(leaving(&mut sender, at(100)).len(), 10, "the first ten are not paced");
    assert_eq!(ack(&mut sender, 200, 2, &[], 100), [10_u64]);
    assert_eq!(shown(&sender), [10.0, 0.0, 0.0, 0.0]);
    // It took 10 ms of the pacer's time, less half of that, as it was late.
    ack(&mut sender, 201, 4, &[], 100);
    assert_eq!(shown(&sender), [9.0, 0.004, 0.0, 0.0]);
    ack(&mut sender, 202, 4, &[(5, 8)], 100);
    assert_eq!(shown(&sender), [7.0, 0.003, 1.0, 1.0]);
}

/// CA_EVENT_TX_START with `app_limited` of Linux's `struct tcp_sock`.
#[test]
fn a_restart_says_whether_the_application_was_the_limit() {
    let mut sender = connected(Box::<Samples>::default(), 12);
    leaving(&mut sender, at(100));
    // All have arrived, and more data waits.
    assert_eq!(ack(&mut sender, 200, 10, &[], 100), [10_u64]);
    assert_eq!(shown(&sender)[4..], [0.0]);
    // All have arrived, and data comes later.
    assert_eq!(leaving(&mut sender, at(205)), [11]);
    ack(&mut sender, 305, 12, &[], 205);
    sender.offer(1);
    assert_eq!(leaving(&mut sender, at(400)), [12]);
    assert_eq!(shown(&sender)[4..], [0.0, 1.0]);
}
