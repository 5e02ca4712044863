//! DualPI2: a queue for classic and one for scalable senders, coupled (RFC 9332, Appendix A).
//!
//! | source | rule | here |
//! |---|---|---|
//! | A.1, dualpi2_update | p' ← p' + α(delay − target) + β(delay − old delay), with the longer of the two delays, every T_update | [`DualPi2::update`] |
//! | eq. 1 | p_CL = k·p', p_C = p'² | [`DualPi2::must_drop`] |
//! | A.1, laqm | a ramp from minTh over range, if more than one packet waits | [`DualPi2::native`] |
//! | Linux, dualpi2_roll | marks and drops at random; p'² is two rolls | [`DualPi2::must_drop`] |
//! | Linux, must_drop | neither while less than two packets are left | [`DualPi2::must_drop`] |
//! | A.2 | overload: from p_Cmax on both queues drop with p_C | [`DualPi2::must_drop`] |
//!
//! Where Appendix A leaves a choice it is Linux's (net/sched/sch_dualpi2.c of 6.18): chance instead
//! of every 1/p-th packet (`recur`), and a weighted round robin (`dequeue_packet`) instead of a
//! time-shifted FIFO. The scalable queue goes first, but one of every ten bytes sent while both
//! queues wait is classic.

use crate::departure::Departure;
use crate::entry::Entry;
use crate::{Backlog, Discipline, Drops, Packet, TimedQueue};
use narrows_settings::{Settings, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Stream, Time};
use std::collections::VecDeque;

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "dualpi2",
    aliases: &[],
    summary: "a shallow queue for scalable senders, coupled to a queue for classic senders",
    source: "RFC 9332",
    settings: DualPi2Options::list,
    construct: |given, placement| {
        let options = DualPi2Options::read(given)?;
        given.counts_if("min_qlen_step", options.range == Duration::ZERO, "range=0s")?;
        Ok(Discipline::DualPi2(DualPi2Settings { options, mtu: placement.packet }))
    },
};

settings! {
    /// DualPI2's settings as a user gives them.
    pub struct DualPi2Options {
        /// Delay at which the classic queue is held.
        target: Duration = Duration::from_millis(15), above(0.0);
        /// T_update, the time between updates of the probability.
        update: Duration = Duration::from_millis(16), at_least(1e-6);
        /// Weight of the delay's distance from the target, in hertz.
        alpha: f64 = 0.16, at_least(0.0);
        /// Weight of the delay's change since the last update, in hertz.
        beta: f64 = 3.2, at_least(0.0);
        /// k, the coupling factor: probability of a mark in the scalable queue per unit of p'
        /// (ratio).
        coupling: f64 = 2.0, at_least(0.0);
        /// minTh, the delay at which the scalable queue begins to mark by itself.
        step: Duration = Duration::from_micros(800), above(0.0);
        /// Delay beyond minTh at which every packet is marked; 0s for a step, as Linux has it.
        range: Duration = Duration::from_micros(400);
        /// Packets that have to be in the scalable queue when one arrives that a step may mark
        /// (Linux; L4STeam's kernels of before have 2).
        min_qlen_step: u32 = 0;
    }
}

/// How DualPI2 is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Settings {
    /// The user's settings.
    pub options: DualPi2Options,
    /// Bytes of the largest packet.
    pub mtu: u64,
}

/// DualPI2 at work.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    settings: DualPi2Settings,
    dice: Stream,
    scalable: TimedQueue<P>,
    /// Of each packet in it, whether a step may mark it (`apply_step`).
    apply_step: VecDeque<bool>,
    classic: TimedQueue<P>,
    /// p'.
    base: f64,
    old_delay: f64,
    updates_at: Time,
    /// The classic queue goes first while it is positive: hundredths of a byte
    /// (`c_protection_credit`).
    credit: i64,
}

/// Hundredths of what is sent while both queues wait (`c_protection_wc`, `c_protection_wl`).
const CLASSIC_WEIGHT: i64 = 10;
const SCALABLE_WEIGHT: i64 = 100 - CLASSIC_WEIGHT;

/// Which queue a packet comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Scalable,
    Classic,
}

impl<P: Packet> DualPi2<P> {
    /// Empty; its dice are seeded from `stream`.
    pub fn new(settings: DualPi2Settings, stream: &mut Stream) -> Self {
        Self {
            settings,
            dice: Stream::new(stream.bits(), 0, 0),
            scalable: TimedQueue::default(),
            apply_step: VecDeque::new(),
            classic: TimedQueue::default(),
            base: 0.0,
            old_delay: 0.0,
            updates_at: Time::ZERO + settings.options.update,
            credit: Self::first_credit(settings),
        }
    }

    /// `c_protection_init`: the scalable queue goes first.
    fn first_credit(settings: DualPi2Settings) -> i64 {
        settings.mtu as i64 * (CLASSIC_WEIGHT - SCALABLE_WEIGHT)
    }

    /// It has these settings from now on; what it has counted stays.
    pub fn retune(&mut self, settings: DualPi2Settings) {
        self.settings = settings;
    }

    /// `dequeue_packet`: the next packet in turn, when it came, from where, and what it costs; a
    /// packet that is dropped costs nothing. Whether a step may mark it is still to be taken.
    fn take(&mut self) -> Option<(Time, P, From, i64)> {
        let (scalable, classic) = (self.scalable.backlog().packets, self.classic.backlog().packets);
        if scalable > 0 && (classic == 0 || self.credit <= 0) {
            let (since, packet) = self.scalable.pop()?;
            let weight = if classic > 0 { CLASSIC_WEIGHT } else { 0 };
            let cost = weight * i64::from(packet.bytes());
            return Some((since, packet, From::Scalable, cost));
        }
        let Some((since, packet)) = self.classic.pop() else {
            self.credit = Self::first_credit(self.settings);
            return None;
        };
        let weight = if scalable > 0 { -SCALABLE_WEIGHT } else { 0 };
        let cost = weight * i64::from(packet.bytes());
        Some((since, packet, From::Classic, cost))
    }

    /// p'_L of a packet that waited for `delay`, if it `counts`.
    fn native(&self, delay: Duration, counts: bool) -> f64 {
        let DualPi2Options { step, range, .. } = self.settings.options;
        let above = delay.seconds() - step.seconds();
        if above <= 0.0 || !counts {
            return 0.0;
        }
        (above / range.seconds()).min(1.0)
    }

    /// `must_drop` and `do_step_aqm`: true if `packet`, which waited for `delay`, is to be dropped;
    /// may mark it. A scalable packet is marked with the larger of p'_L and p_CL.
    fn must_drop(&mut self, packet: &mut P, from: From, delay: Duration) -> bool {
        // A ramp asks for a packet that is left (Appendix A, laqm), a step for some before it.
        let apply_step = from == From::Scalable && self.apply_step.pop_front() == Some(true);
        let is_step = self.settings.options.range == Duration::ZERO;
        let counts = if is_step { apply_step } else { self.scalable.backlog().packets > 0 };
        // Below two packets' bytes p' counts for nothing.
        let is_short = self.backlog().bytes < 2 * self.settings.mtu;
        let base = if is_short { 0.0 } else { self.base };
        let coupled = self.settings.options.coupling * base;
        let overload = coupled > 1.0;
        if from == From::Scalable && !overload {
            let p = self.native(delay, counts).max(coupled);
            if p >= 1.0 || p > 0.0 && self.dice.happens(p) {
                packet.mark();
            }
            return false;
        }
        let is_hit = base > 0.0 && self.dice.happens(base) && self.dice.happens(base);
        if is_hit && (overload || !packet.ecn().is_capable()) {
            return true;
        }
        if is_hit || from == From::Scalable {
            packet.mark();
        }
        false
    }

    fn catch_up(&mut self, now: Time) {
        while self.updates_at <= now {
            let at = self.updates_at;
            self.update(self.scalable.delay(at).max(self.classic.delay(at)).seconds());
            self.updates_at += self.settings.options.update;
        }
    }

    fn update(&mut self, delay: f64) {
        let DualPi2Options { target, alpha, beta, .. } = self.settings.options;
        self.base += alpha * (delay - target.seconds()) + beta * (delay - self.old_delay);
        self.base = self.base.clamp(0.0, 1.0);
        self.old_delay = delay;
    }
}

impl<P: Packet> Departure<P> for DualPi2<P> {
    fn backlog(&self) -> Backlog {
        self.scalable.backlog() + self.classic.backlog()
    }

    /// Packets with ECT(1) or CE go to the scalable queue (RFC 9331 §5.1).
    fn admit(&mut self, now: Time, packet: P) {
        self.catch_up(now);
        if !matches!(packet.ecn(), Ecn::Scalable | Ecn::Marked) {
            return self.classic.push(now, packet);
        }
        let waiting = self.scalable.backlog().packets;
        let least = u64::from(self.settings.options.min_qlen_step);
        self.apply_step.push_back(waiting >= least);
        self.scalable.push(now, packet);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
        self.catch_up(now);
        while let Some((since, mut packet, from, cost)) = self.take() {
            if self.must_drop(&mut packet, from, now.since(since)) {
                dropped.push(packet);
                continue;
            }
            self.credit += cost;
            return Some(packet);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;

    /// At 15 ms, for packets of 1000 bytes, with p' fixed at `base`.
    fn queue(base: f64) -> DualPi2<Parcel> {
        let settings = DualPi2Settings { options: DualPi2Options::default(), mtu: 1000 };
        let empty = DualPi2::new(settings, &mut Stream::new(7, 0, 0));
        DualPi2 { base, updates_at: Time::NEVER, ..empty }
    }

    fn scalable(number: u64) -> Parcel {
        Parcel { ecn: Ecn::Scalable, ..Parcel::new(1, number) }
    }

    #[test]
    fn the_base_probability_moves_as_worked_out_by_hand() {
        let mut queue = queue(0.0);
        queue.update(0.025);
        assert!((queue.base - (0.16 * 0.010 + 3.2 * 0.025)).abs() < 1e-12);
        queue.update(0.015);
        assert!((queue.base - (0.0816 - 3.2 * 0.010)).abs() < 1e-12);
    }

    /// Sends 10,000 packets of each kind through a queue that holds ten of each; returns how many
    /// scalable ones were marked and dropped, and classic ones dropped.
    fn signals(base: f64) -> (usize, usize, usize) {
        let (mut queue, mut dropped, mut marked) = (queue(base), Vec::new(), 0);
        for number in 0..10_010 {
            queue.admit(Time::ZERO, scalable(number));
            queue.admit(Time::ZERO, Parcel::new(2, number));
            for _ in 0..2 {
                if queue.backlog().packets > 20 {
                    let left = queue.dequeue(Time::ZERO, &mut dropped);
                    marked += usize::from(left.is_some_and(|left| left.ecn == Ecn::Marked));
                }
            }
        }
        let lost = |flow| dropped.iter().filter(|packet| packet.flow == flow).count();
        (marked, lost(1), lost(2))
    }

    /// 0.4 of the scalable packets that leave are marked, 0.04 of the classic ones dropped, each by
    /// chance: of n within four times √(n·p·(1 − p)).
    #[test]
    fn scalable_packets_take_k_p_marks_and_classic_ones_the_square_in_drops() {
        let (marked, lost, dropped) = signals(0.2);
        let sent = 20_020.0 - 20.0;
        let scalable = sent - 10_010.0 * 0.1;
        assert_eq!(lost, 0);
        assert!(marked as f64 > 0.35 * 10_000.0 && (marked as f64) < 0.45 * scalable, "{marked}");
        assert!((200..600).contains(&dropped), "{dropped}");
    }

    /// Above p' = 1/k scalable packets are dropped with p'², too, and else marked.
    #[test]
    fn in_overload_both_are_dropped_alike() {
        let (marked, lost, dropped) = signals(0.6);
        let (lost, dropped) = (lost as f64, dropped as f64);
        assert!(marked as f64 + lost > 6000.0 && lost > 2000.0, "{marked} marks, {lost} drops");
        assert!(dropped > 500.0, "{dropped}");
    }

    #[test]
    fn chance_takes_nothing_while_less_than_two_packets_are_left() {
        let (mut queue, mut dropped) = (queue(1.0), Vec::new());
        for number in 0..100 {
            queue.admit(Time::ZERO, scalable(number));
            queue.admit(Time::ZERO, Parcel::new(2, number));
            let left = [0, 1].map(|_| queue.dequeue(Time::ZERO, &mut dropped).unwrap().ecn);
            assert!(!left.contains(&Ecn::Marked));
        }
    }

    #[test]
    fn the_scalable_queue_marks_by_itself_along_its_ramp_or_from_its_step() {
        let mut queue = queue(0.0);
        let at = |queue: &DualPi2<Parcel>| {
            [700, 800, 1000, 1200, 5000]
                .map(|n| (queue.native(Duration::from_micros(n), true) * 1e6).round() / 1e6)
        };
        assert_eq!(at(&queue), [0.0, 0.0, 0.5, 1.0, 1.0]);
        queue.settings.options.range = Duration::ZERO;
        assert_eq!(at(&queue), [0.0, 0.0, 1.0, 1.0, 1.0]);
    }

    /// Three packets that all wait for 2 ms: a ramp marks those that leave another behind, a step
    /// those that found enough before them.
    #[test]
    fn a_ramp_looks_behind_and_a_step_ahead() {
        let marked = |range, min_qlen_step| {
            let mut queue = queue(0.0);
            queue.settings.options.range = range;
            queue.settings.options.min_qlen_step = min_qlen_step;
            (0..3).for_each(|number| queue.admit(Time::ZERO, scalable(number)));
            let later = Time::ZERO + Duration::from_millis(2);
            [(); 3].map(|()| {
                queue.dequeue(later, &mut Vec::new()).map(|packet| packet.ecn == Ecn::Marked)
            })
        };
        let [yes, no] = [Some(true), Some(false)];
        assert_eq!(marked(Duration::from_micros(400), 0), [yes, yes, no]);
        assert_eq!(marked(Duration::ZERO, 0), [yes, yes, yes]);
        assert_eq!(marked(Duration::ZERO, 2), [no, no, yes]);
    }

    #[test]
    fn while_both_wait_one_byte_in_ten_is_classic_and_credit_outlasts_a_pause() {
        let mut queue = queue(0.0);
        for number in 0..2000 {
            queue.admit(Time::ZERO, scalable(number));
            queue.admit(Time::ZERO, Parcel::new(2, number));
        }
        let mut flow = || queue.dequeue(Time::ZERO, &mut Vec::new()).map(|packet| packet.flow);
        // Eight credits of ten bytes per hundred to begin with: the ninth packet is the first.
        let first = (0..20).position(|_| flow() == Some(2));
        assert_eq!(first, Some(9));
        let classic = (0..1000).filter(|_| flow() == Some(2)).count();
        assert!((98..=102).contains(&classic), "{classic}");
        // The scalable queue is empty for a while: what it owes stays.
        let owed = queue.credit;
        while queue.scalable.pop().is_some() {}
        (0..5).for_each(|_| _ = queue.dequeue(Time::ZERO, &mut Vec::new()));
        assert_eq!(queue.credit, owed);
    }
}
