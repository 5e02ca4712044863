//! The TCP receiver: takes data and acknowledges what has arrived.

use super::ack_pacer::AckPacer;
use super::receive_window::ReceiveWindow;
use crate::{AckHeader, DataHeader, Header, Reassembly, Segment};
use narrows_signal::{Ecn, Reply, Request};
use narrows_units::{Duration, Time};

/// When data that arrives in order is acknowledged. Data that is out of order or fills a gap is
/// acknowledged at once (RFC 5681 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Packets per acknowledgement: 1 to acknowledge each packet, 2 for RFC 5681's delayed
    /// acknowledgements, more for aggregation by count.
    pub every: u32,
    /// The longest time that an acknowledgement may be delayed; with a large `every`,
    /// acknowledgements are aggregated by time.
    pub delay: Duration,
    /// Acknowledgements at the start of a connection, and after a packet that had arrived before,
    /// that are sent at once, and also while the receive window grows, and for marks and their
    /// answers, as Linux does; 0 for none.
    pub quick: u32,
    /// Whether what ends a burst or the data is acknowledged at once, as Linux does since 6.6
    /// ("tcp: fix delayed ACKs for MSS boundary condition", 4720852ed9af); with `quick` only.
    pub heeds_push: bool,
    /// Whether accurate ECN acknowledges at once a packet whose time stamp, in milliseconds, is
    /// later than the last, as L4STeam's does (`__tcp_accecn_process` in L4STeam/linux 01266553,
    /// whose `received_ce_pending` is 15 from the first packet on: `max` for `min` in
    /// `tcp_ecn_received_counters`).
    pub heeds_stamps: bool,
    /// Packets that arrive within this time of the first, up to 64 kB, are taken as one, which is
    /// acknowledged as soon as it holds `every` packets (generic receive offload); 0 without it.
    pub merges_for: Duration,
    /// Whether a packet that has arrived before is reported (RFC 2883).
    pub reports_duplicates: bool,
    /// Whether acknowledgements of data that is out of order are put together after the first three
    /// without progress, as Linux does.
    pub compresses: bool,
}

/// Acknowledgements put together wait for 5 % of the RTT, at most for `MOST`, and for the slack of
/// the timer (tcp_comp_sack_delay_ns, tcp_comp_sack_slack_ns; `__tcp_ack_snd_check` in Linux's
/// net/ipv4/tcp_input.c).
const COMPRESSES_FOR: Duration = Duration::from_millis(1);
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);
/// Packets that one acknowledgement stands for at most (tcp_comp_sack_nr).
const MOST_COMPRESSED: u32 = 44;
/// Blocks that one acknowledgement tells anew (TCP_SACK_BLOCKS_EXPECTED).
const EXPECTED_BLOCKS: usize = 2;
/// Acknowledgements that are sent at once for a mark (the two of `tcp_enter_quickack_mode`).
const HURRIED: u32 = 2;
/// Acknowledgements without progress that a sender's fast retransmission may need.
const DUPLICATES: u32 = 3;

/// The most bytes that are taken as one (GRO_LEGACY_MAX_SIZE in Linux's include/linux/netdevice.h).
const MOST_MERGED: u32 = 65_536;

/// The clock of time stamps.
fn millis(stamp: Time) -> u64 {
    stamp.since(Time::ZERO).picos() / 1_000_000_000
}

/// A TCP receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    policy: AckPolicy,
    ack_bytes: u32,
    reassembly: Reassembly,
    /// Packets received that wait for an acknowledgement.
    waiting: u32,
    ack_by: Time,
    /// When what has been merged is handed on, and its bytes; never if nothing has.
    merged: (Time, u32),
    /// Acknowledgements without progress since the lowest number missing was this.
    without_progress: (u64, u32),
    /// Packets out of order that wait for an acknowledgement.
    compressed: u32,
    /// The last stamp that data echoed, and the round trip that such stamps tell.
    last_echo: Time,
    rtt: Option<Duration>,
    /// TS.Recent of RFC 7323 §4.3.
    recent_stamp: Time,
    last_ack: u64,
    arrived: u64,
    /// Acknowledgements that are sent at once (`icsk_ack.quick`).
    quick: u32,
    /// What makes more of them, if the policy has any.
    window: ReceiveWindow,
    duplicates: u64,
    /// Data that queues may mark has arrived.
    sees_ecn: bool,
    /// Packets that arrived with a mark, modulo 2¹⁶.
    marked: u16,
    /// A mark has arrived and the sender has not responded to it yet.
    ece: bool,
    accurate: Accurate,
    /// What routers have replied since the last acknowledgement.
    reply: Reply,
    /// The receiver's own buffer, in bytes (GWA, eq. 2).
    buffer: u64,
    /// Spaces acknowledgements, if they are paced.
    pacer: Option<Box<AckPacer>>,
    /// Whether each packet is acknowledged by itself, at once.
    is_plain: bool,
}

/// When marks ask for an acknowledgement (RFC 9768 §3.2.2.5.1, read in
/// draft-ietf-tcpm-accurate-ecn-34), for a sender of ECT(1), which has asked for accurate ECN in
/// the handshake.
#[derive(Clone, Copy, Debug, Default)]
struct Accurate {
    /// A packet has arrived as ECT(1).
    is_on: bool,
    was_marked: bool,
    /// Marks since the last acknowledgement.
    marks: u32,
    /// A mark after a packet without one, or `MARKS_PER_ACK` of them.
    is_due: bool,
}

/// n of the increment-triggered acknowledgements, if data waits for one.
const MARKS_PER_ACK: u32 = 2;

impl Accurate {
    /// Data has arrived with these bits.
    fn arrived(&mut self, ecn: Ecn) {
        let is_marked = ecn == Ecn::Marked;
        self.is_on |= ecn == Ecn::Scalable;
        self.marks += u32::from(is_marked);
        let triggers = is_marked && !self.was_marked || self.marks >= MARKS_PER_ACK;
        self.is_due |= self.is_on && triggers;
        self.was_marked = is_marked;
    }

    fn acknowledged(&mut self) {
        (self.marks, self.is_due) = (0, false);
    }
}

impl AckPolicy {
    /// Whether each packet is acknowledged by itself, at once, and nothing is put together.
    pub(crate) fn answers_at_once(&self) -> bool {
        let Self {
            every,
            quick,
            merges_for,
            compresses,
            delay: _,
            reports_duplicates: _,
            // Each packet is acknowledged at once anyway.
            heeds_push: _,
            heeds_stamps: _,
        } = *self;
        every == 1 && quick == 0 && merges_for == Duration::ZERO && !compresses
    }

    /// The least time after which a timer acknowledges what has not been acknowledged when it
    /// arrived, `MAX` if no timer does; `None` if packets are merged, which may wait twice.
    pub(crate) fn answers_after(&self) -> Option<Duration> {
        if self.answers_at_once() {
            return Some(Duration::MAX);
        }
        let compressed = if self.compresses { COMPRESSION_SLACK } else { Duration::MAX };
        (self.merges_for == Duration::ZERO).then(|| self.delay.min(compressed))
    }
}

impl Receiver {
    /// Creates a receiver whose acknowledgements have `ack_bytes` bytes on the wire, with a buffer
    /// of `buffer` bytes.
    pub fn new(policy: AckPolicy, ack_bytes: u32, buffer: u64) -> Self {
        Self {
            policy,
            ack_bytes,
            reassembly: Reassembly::default(),
            waiting: 0,
            ack_by: Time::NEVER,
            merged: (Time::NEVER, 0),
            without_progress: (0, 0),
            compressed: 0,
            last_echo: Time::ZERO,
            rtt: None,
            recent_stamp: Time::ZERO,
            last_ack: 0,
            arrived: 0,
            quick: policy.quick,
            window: ReceiveWindow::new(0),
            duplicates: 0,
            sees_ecn: false,
            marked: 0,
            ece: false,
            accurate: Accurate::default(),
            reply: Reply::Nothing,
            buffer,
            pacer: None,
            is_plain: cfg!(not(general)) && policy.answers_at_once(),
        }
    }

    /// Spaces acknowledgements over a round trip; the sender must echo their stamps.
    pub fn paced(mut self) -> Self {
        self.pacer = Some(Box::default());
        self.is_plain = false;
        self
    }

    /// Takes the data that arrived; returns the acknowledgement to send now, if one is due.
    #[inline]
    pub fn on_data(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        if let Header::Syn(request) = data.header {
            return Some(self.accept(now, data, request));
        }
        if self.pacer.is_some() { self.answer_paced(now, data) } else { self.answer(now, data) }
    }

    /// Answers data in order in its own place, if nothing rare is on; returns false if there is,
    /// and leaves all of it to [`on_data`](Self::on_data). The round trip that stamps tell is not
    /// measured here: only what is rare asks for it.
    #[inline]
    pub fn answer_plain(&mut self, now: Time, data: &mut Segment) -> bool {
        let number = self.reassembly.next();
        let is_plain = self.is_plain
            && data.number == number
            && !self.sees_ecn
            && !self.reassembly.has_gap()
            && matches!(
                data.header,
                Header::Data(DataHeader { ecn: Ecn::NotCapable, request: Request::Nothing, .. })
            );
        if !is_plain {
            return false;
        }
        if number <= self.last_ack {
            self.recent_stamp = data.stamp;
        }
        self.reassembly.arrive(number);
        self.arrived += 1;
        self.last_ack = number + 1;
        *data = Segment {
            number: self.last_ack,
            stamp: now,
            echoed_stamp: self.recent_stamp,
            bytes: self.ack_bytes,
            header: Header::Ack(AckHeader::NOTHING),
        };
        true
    }

    fn answer_paced(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        let ack = self.answer(now, data);
        let Some(pacer) = &mut self.pacer else { return ack };
        pacer.hear(now, data);
        pacer.pass(now, ack)
    }

    /// Takes the data that arrived; returns the acknowledgement that falls due, if one does.
    #[inline(always)]
    fn answer(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        let before = self.before_a_new_block(now, data.number);
        let had_gap = self.reassembly.has_gap();
        let in_order = data.number == self.reassembly.next();
        let mut is_later = false;
        if data.number <= self.last_ack {
            is_later = self.policy.heeds_stamps && millis(data.stamp) > millis(self.recent_stamp);
            self.recent_stamp = data.stamp;
        }
        let repeats = !self.reassembly.arrive(data.number);
        if repeats {
            self.duplicates += 1;
        } else {
            self.arrived += 1;
        }
        self.waiting += 1;
        if let Header::Data(header) = &data.header {
            self.sees_ecn |= header.ecn != Ecn::NotCapable;
            if self.sees_ecn {
                self.note_marks(header);
            }
            if header.request != Request::Nothing {
                self.reply = self.reply.and(header.request, self.buffer);
            }
        }
        if data.echoed_stamp != self.last_echo {
            self.measure_rtt(now, data.echoed_stamp);
        }
        if self.policy.quick > 0 {
            self.note_growth(now, repeats);
        }
        if !in_order || had_gap {
            if self.policy.compresses && !repeats && self.compresses(now) {
                return before;
            }
            let mut ack = self.acknowledge(now);
            if repeats && self.policy.reports_duplicates {
                ack.report_duplicate(data.number);
            }
            return Some(ack);
        }
        let pushes = matches!(data.header, Header::Data(DataHeader { pushes: true, .. }));
        if self.policy.merges_for > Duration::ZERO && self.merges(now, data.bytes) && !pushes {
            return None;
        }
        if is_later && self.accurate.is_on {
            return Some(self.acknowledge(now));
        }
        self.acknowledge_or_wait(now, pushes)
    }

    fn note_marks(&mut self, header: &DataHeader) {
        if self.policy.quick > 0 {
            self.quick = self.quick.max(self.hurries(header));
        }
        let marked = header.ecn == Ecn::Marked;
        self.marked = self.marked.wrapping_add(u16::from(marked));
        self.ece = marked || (self.ece && !header.reduced);
        self.accurate.arrived(header.ecn);
    }

    /// Acknowledgements that do not wait because the sender's window may be small: two from the
    /// first of the marks that are echoed on (`__tcp_ecn_check_ce` in Linux's
    /// net/ipv4/tcp_input.c) and after what may not be marked, which was most likely lost before;
    /// one for the answer to a mark (`tcp_ecn_accept_cwr`). With accurate ECN there is no answer.
    fn hurries(&self, header: &DataHeader) -> u32 {
        let is_first = !self.ece || header.reduced;
        match header.ecn {
            _ if self.accurate.is_on => 0,
            Ecn::Marked if is_first => HURRIED,
            Ecn::NotCapable => HURRIED,
            _ => u32::from(header.reduced),
        }
    }

    /// While the window grows, each packet asks for an acknowledgement of its own
    /// (`tcp_grow_window`); one that had arrived, for some (`tcp_enter_quickack_mode`).
    #[inline]
    fn note_growth(&mut self, now: Time, repeats: bool) {
        if repeats {
            self.quick = self.quick.max(self.policy.quick);
        } else {
            self.quick |= u32::from(self.window.grow());
        }
        if let Some(rtt) = self.rtt {
            let (next, waiting) = (self.reassembly.next(), self.reassembly.waiting());
            self.window.adjust(now, next, waiting, rtt);
        }
    }

    /// The time since an acknowledgement left whose stamp comes back for the first time: the least
    /// counts at once, what is longer with an eighth (`tcp_rcv_rtt_update`).
    fn measure_rtt(&mut self, now: Time, echo: Time) {
        self.last_echo = echo;
        if echo == Time::ZERO {
            return;
        }
        let sample = now.since(echo);
        let slower = |rtt: Duration| {
            Duration::from_picos(rtt.picos() - rtt.picos() / 8 + sample.picos() / 8)
        };
        self.rtt = Some(self.rtt.map_or(sample, |rtt| sample.min(slower(rtt))));
    }

    /// When the receiver must be woken to send an acknowledgement; never if none is pending.
    #[inline]
    pub fn wakeup(&self) -> Time {
        let due = self.ack_by.min(self.merged.0);
        self.pacer.as_ref().map_or(due, |pacer| due.min(pacer.wakeup()))
    }

    /// Returns the acknowledgement that is due by `now`, if any; to be called at the wake-up time.
    pub fn on_wakeup(&mut self, now: Time) -> Option<Segment> {
        let ack = self.on_timer(now);
        let Some(pacer) = &mut self.pacer else { return ack };
        pacer.pass(now, ack)
    }

    /// Returns the acknowledgement that falls due by `now`, if one does.
    fn on_timer(&mut self, now: Time) -> Option<Segment> {
        if self.ack_by <= now {
            return Some(self.acknowledge(now));
        }
        let ack = (self.merged.0 <= now).then(|| self.acknowledge_or_wait(now, false)).flatten();
        if ack.is_none() && self.ack_by <= now {
            return Some(self.acknowledge(now));
        }
        ack
    }

    /// Answers a request for a connection, whose first packets are acknowledged at once.
    fn accept(&mut self, now: Time, syn: &Segment, request: Request) -> Segment {
        self.quick = self.policy.quick;
        self.window = ReceiveWindow::new(self.reassembly.next());
        self.recent_stamp = syn.stamp;
        Segment {
            number: self.reassembly.next(),
            stamp: now,
            echoed_stamp: syn.stamp,
            bytes: syn.bytes,
            header: Header::SynAck(Reply::Nothing.and(request, self.buffer)),
        }
    }

    /// Acknowledgements that have been put together leave before a packet that makes a third block:
    /// the sender might not hear of the first (`tcp_sack_new_ofo_skb` in Linux's
    /// net/ipv4/tcp_input.c).
    #[inline]
    fn before_a_new_block(&mut self, now: Time, number: u64) -> Option<Segment> {
        if self.compressed == 0 {
            return None;
        }
        let is_new =
            number > self.reassembly.next() && self.reassembly.place_of(number) >= EXPECTED_BLOCKS;
        is_new.then(|| self.acknowledge(now))
    }

    /// Puts a packet that is out of order or fills only a part of a gap with those that wait for a
    /// common acknowledgement; returns false if that is due now.
    fn compresses(&mut self, now: Time) -> bool {
        let next = self.reassembly.next();
        let at_once = !self.reassembly.has_gap()
            || next >= self.last_ack + u64::from(self.policy.every)
            || self.quick > 0
            || self.compressed >= MOST_COMPRESSED;
        if at_once {
            return false;
        }
        if self.without_progress.0 != next {
            self.without_progress = (next, 0);
        }
        if self.without_progress.1 < DUPLICATES {
            self.without_progress.1 += 1;
            return false;
        }
        self.compressed += 1;
        let twentieth = |rtt: Duration| Duration::from_picos(rtt.picos() / 20);
        let wait = self.rtt.map_or(COMPRESSES_FOR, |rtt| twentieth(rtt).min(COMPRESSES_FOR));
        if self.compressed == 1 {
            self.ack_by = self.ack_by.min(now + wait + COMPRESSION_SLACK);
        }
        true
    }

    /// Merges a packet of `bytes` that arrives in order; returns false if the whole is handed on.
    fn merges(&mut self, now: Time, bytes: u32) -> bool {
        let (until, merged) = &mut self.merged;
        if *until == Time::NEVER {
            *until = now + self.policy.merges_for;
        }
        *merged += bytes;
        *merged + bytes <= MOST_MERGED
    }

    /// Acknowledges if enough packets wait for it, or if nothing may follow, as Linux does once the
    /// application has read (`__tcp_cleanup_rbuf`); otherwise later.
    fn acknowledge_or_wait(&mut self, now: Time, pushes: bool) -> Option<Segment> {
        let is_read = pushes && self.policy.heeds_push && self.policy.quick > 0;
        let is_due = self.waiting >= self.policy.every || self.accurate.is_due || is_read;
        if is_due || self.quick > 0 {
            return Some(self.acknowledge(now));
        }
        self.merged = (Time::NEVER, 0);
        if self.ack_by == Time::NEVER {
            self.ack_by = now + self.policy.delay;
        }
        None
    }

    /// Bytes of an acknowledgement on the wire.
    pub fn ack_bytes(&self) -> u32 {
        self.ack_bytes
    }

    /// Packets that arrived for the first time.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets that had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The lowest number that has not arrived.
    pub fn next(&self) -> u64 {
        self.reassembly.next()
    }

    fn acknowledge(&mut self, now: Time) -> Segment {
        self.waiting = 0;
        self.quick = self.quick.saturating_sub(1);
        self.accurate.acknowledged();
        (self.ack_by, self.merged, self.compressed) = (Time::NEVER, (Time::NEVER, 0), 0);
        self.last_ack = self.reassembly.next();
        Segment {
            number: self.last_ack,
            stamp: now,
            echoed_stamp: self.recent_stamp,
            bytes: self.ack_bytes,
            header: Header::Ack(AckHeader {
                sack: self.reassembly.blocks(),
                duplicate: false,
                marked: self.marked,
                ece: self.ece,
                reply: std::mem::take(&mut self.reply),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Habits;
    use narrows_signal::{CongestionHeader, Request};

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn data(number: u64, stamp: Time) -> Segment {
        Segment::data(number, stamp, 1000, Header::Data(DataHeader::default()))
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_a_lone_one_after_the_delay() {
        let mut receiver =
            Receiver::new(AckPolicy { quick: 0, ..Habits::LINUX.acks }, 52, u64::MAX);
        assert_eq!(receiver.on_data(at(0), &data(0, at(0))), None);
        assert_eq!(
            receiver.on_data(at(1), &data(1, at(1))).map(|ack| (ack.number, ack.echoed_stamp)),
            Some((2, at(0))),
            "the earlier stamp"
        );
        assert_eq!(receiver.on_data(at(2), &data(2, at(2))), None);
        assert_eq!((receiver.wakeup(), receiver.on_wakeup(at(41))), (at(42), None));
        assert_eq!(receiver.on_wakeup(at(42)).map(|ack| ack.number), Some(3));
        assert_eq!(receiver.wakeup(), Time::NEVER);
    }

    #[test]
    fn a_gap_is_reported_at_once_and_its_filling_too() {
        let mut receiver =
            Receiver::new(AckPolicy { quick: 0, ..Habits::LINUX.acks }, 52, u64::MAX);
        receiver.on_data(at(0), &data(0, at(0)));
        let duplicate = receiver.on_data(at(1), &data(2, at(1))).unwrap();
        assert_eq!((duplicate.number, duplicate.sack().iter(1).count()), (1, 1));
        let filled = receiver.on_data(at(2), &data(1, at(2))).unwrap();
        assert_eq!(
            (filled.number, filled.sack().is_empty(), filled.echoed_stamp),
            (3, true, at(2))
        );
    }

    #[test]
    fn the_first_packets_are_acknowledged_one_by_one() {
        let mut receiver = Receiver::new(Habits::LINUX.acks, 52, u64::MAX);
        let acked =
            (0..30).filter(|n| receiver.on_data(at(*n), &data(*n, at(*n))).is_some()).count();
        assert_eq!(acked, 26, "six as the window grows and sixteen at once, then every second");
    }

    /// `__tcp_cleanup_rbuf`: once the application has read, what ends a burst is acknowledged, if
    /// the acknowledgements are Linux's, and since its version 6.6.
    #[test]
    fn what_ends_a_burst_is_acknowledged_at_once() {
        let [now, before] = [Habits::LINUX.acks, Habits::LINUX_5.acks];
        for (policy, at_once) in
            [(now, true), (AckPolicy { quick: 0, ..now }, false), (before, false)]
        {
            let mut receiver = Receiver::new(policy, 52, u64::MAX);
            receiver.quick = receiver.quick.min(1);
            for number in 0..20 {
                receiver.on_data(at(1), &data(number, at(1)));
            }
            assert_eq!(receiver.on_data(at(2), &data(20, at(2))), None, "it waits for another");
            assert!(receiver.on_data(at(2), &data(21, at(2))).is_some());
            let last = Header::Data(DataHeader { pushes: true, ..DataHeader::default() });
            let answer = receiver.on_data(at(3), &Segment::data(22, at(3), 1000, last));
            assert_eq!(answer.is_some(), at_once);
        }
    }

    /// L4STeam's `__tcp_accecn_process`: of packets of ECT(1) each that brings a later millisecond,
    /// and otherwise every second one.
    #[test]
    fn a_later_stamp_is_acknowledged_at_once_by_l4steams_kernel() {
        let scalable = DataHeader { ecn: Ecn::Scalable, ..DataHeader::default() };
        for (policy, header, acked) in [
            (Habits::L4STEAM.acks, scalable, 10),
            (Habits::L4STEAM.acks, DataHeader::default(), 5),
            (Habits::LINUX_5.acks, scalable, 5),
        ] {
            let mut receiver = Receiver::new(AckPolicy { quick: 0, ..policy }, 52, u64::MAX);
            let mut hear = |n: u64, millis: u64| {
                let data = Segment::data(n, at(millis), 1000, Header::Data(header));
                receiver.on_data(at(millis), &data).is_some()
            };
            assert_eq!((0..10).filter(|n| hear(*n, 5 + n)).count(), acked);
            let of_one = (10..20).filter(|n| hear(*n, 20)).count();
            assert!((5..=6).contains(&of_one), "{of_one} of ten packets of one millisecond");
        }
    }

    /// `tcp_enter_quickack_mode` after a packet that had arrived.
    #[test]
    fn packets_after_one_that_had_arrived_are_acknowledged_one_by_one() {
        let mut receiver = Receiver::new(Habits::LINUX.acks, 52, u64::MAX);
        let mut hear = |n: u64| receiver.on_data(at(n), &data(n, at(n))).is_some();
        let acked = (0..40).filter(|n| hear(*n)).count();
        assert_eq!(acked, 31);
        assert!(hear(5));
        assert_eq!((40..60).filter(|n| hear(*n)).count(), 17, "fifteen more, then every second");
    }

    fn header(ack: Option<Segment>) -> AckHeader {
        let Some(Segment { header: Header::Ack(header), .. }) = ack else { panic!("{ack:?}") };
        header
    }

    #[test]
    fn a_mark_is_echoed_until_its_answer_comes() {
        let mut receiver = Receiver::new(Habits::NS2.acks, 40, u64::MAX);
        let (plain, marked) =
            (DataHeader::default(), DataHeader { ecn: Ecn::Marked, ..DataHeader::default() });
        let answered = DataHeader { reduced: true, ..plain };
        let both = DataHeader { reduced: true, ..marked };
        let packets = [plain, marked, plain, answered, plain, marked, both];
        let echoes = packets.iter().zip(0..).map(|(header, n)| {
            let header = self::header(
                receiver.on_data(at(n), &Segment::data(n, at(n), 1000, Header::Data(*header))),
            );
            (header.ece, header.marked)
        });
        assert_eq!(
            echoes.collect::<Vec<_>>(),
            [(false, 0), (true, 1), (true, 1), (false, 1), (false, 1), (true, 2), (true, 3)]
        );
    }

    /// `__tcp_ecn_check_ce` and `tcp_ecn_accept_cwr`, with an acknowledgement for every eighth
    /// packet otherwise, and none of it without quick acknowledgements.
    #[test]
    fn a_mark_and_its_answer_do_not_wait() {
        let [plain, marked, lost] = [Ecn::Capable, Ecn::Marked, Ecn::NotCapable]
            .map(|ecn| DataHeader { ecn, ..DataHeader::default() });
        let answered = DataHeader { reduced: true, ..plain };
        let both = DataHeader { reduced: true, ..marked };
        let acked = |quick, arriving: &[DataHeader]| {
            let policy = AckPolicy { every: 8, ..Habits::LINUX.acks };
            let mut receiver = Receiver::new(policy, 52, u64::MAX);
            // What makes the first acknowledgements quick is over.
            let before = (0..48).map(|n| (n, plain));
            let all = before.chain((48..).zip(arriving.iter().copied()));
            (receiver.policy.quick, receiver.quick) = (quick, quick);
            let acks = all.filter_map(|(n, header)| {
                let data = Segment::data(n, at(n), 1000, Header::Data(header));
                receiver.on_data(at(n), &data).and(n.checked_sub(48))
            });
            acks.collect::<Vec<_>>()
        };
        let first = [plain, marked, plain, marked, marked, plain, plain];
        assert_eq!(acked(16, &first), [1, 2], "two of the first mark, none of those after it");
        assert_eq!(
            acked(16, &[plain, marked, plain, plain, answered, plain, marked, plain]),
            [1, 2, 4, 6, 7]
        );
        assert_eq!(acked(16, &[marked, plain, plain, both, plain, plain]), [0, 1, 3, 4]);
        assert_eq!(acked(16, &[plain, lost, plain, plain]), [1, 2]);
        assert_eq!(acked(0, &first), [] as [u64; 0]);
    }

    /// RFC 9768 §3.2.2.5.1, with an acknowledgement for every eighth packet otherwise: at the first
    /// mark after a packet without one, and at every second mark.
    #[test]
    fn a_mark_after_none_and_every_second_mark_is_acknowledged_at_once() {
        let acked = |unmarked| {
            let policy = AckPolicy { quick: 0, every: 8, ..Habits::LINUX.acks };
            let mut receiver = Receiver::new(policy, 52, u64::MAX);
            let (plain, ce) = (unmarked, Ecn::Marked);
            let arriving = [plain, plain, ce, ce, ce, plain, ce, plain, plain, ce];
            let acks = arriving.into_iter().zip(0..).filter_map(|(ecn, n)| {
                let header = Header::Data(DataHeader { ecn, ..DataHeader::default() });
                receiver.on_data(at(n), &Segment::data(n, at(n), 1000, header)).map(|_| n)
            });
            acks.collect::<Vec<_>>()
        };
        assert_eq!(acked(Ecn::Scalable), [2, 4, 6, 9]);
        assert_eq!(acked(Ecn::Capable), [7], "without accurate ECN");
    }

    /// Four packets arrive at once in each round trip of 100 ms: their acknowledgements leave 25 ms
    /// apart, in order, with the stamp of when they leave.
    #[test]
    fn paced_acknowledgements_of_a_burst_are_spread_over_a_round_trip() {
        let mut receiver = Receiver::new(Habits::NS2.acks, 40, u64::MAX).paced();
        let mut left = Vec::new();
        for round in 1..=12 {
            let now = at(100 * round);
            while receiver.wakeup() < now {
                let woken = receiver.wakeup();
                left.extend(receiver.on_wakeup(woken));
            }
            for number in 4 * (round - 1)..4 * round {
                let echoed_stamp = at(100 * (round - 1));
                let data = Segment { echoed_stamp, ..data(number, now) };
                left.extend(receiver.on_data(now, &data));
            }
        }
        let numbers: Vec<_> = left.iter().map(|ack| ack.number).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        let stamps: Vec<_> = left.iter().map(|ack| ack.stamp).collect();
        let last = &stamps[stamps.len() - 8..];
        let gaps = last.windows(2).map(|pair| pair[1].since(pair[0]));
        assert!(gaps.clone().all(|gap| gap == Duration::from_millis(25)), "{last:?}");
    }

    #[test]
    fn a_delayed_acknowledgement_carries_the_feedback_of_all_its_packets_once() {
        let mut receiver =
            Receiver::new(AckPolicy { quick: 0, ..Habits::LINUX.acks }, 52, u64::MAX);
        let asking = |feedback| {
            let request = Request::Feedback(CongestionHeader { cwnd: 1e4, rtt: 0.1, feedback });
            Header::Data(DataHeader { request, ..DataHeader::default() })
        };
        let mut replies = Vec::new();
        for (n, feedback) in [(0, 10.0), (1, 5.0), (2, -1.0), (3, 4.0)] {
            let ack = receiver.on_data(at(n), &Segment::data(n, at(n), 1000, asking(feedback)));
            replies.extend(ack.map(|ack| header(Some(ack)).reply));
        }
        assert_eq!(replies, [Reply::Feedback(15.0), Reply::Feedback(3.0)]);
    }
}
