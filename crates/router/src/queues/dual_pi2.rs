//! DualPI2: a queue for classic and one for scalable senders, coupled (RFC 9332, Appendix A).
//!
//! | source | rule | here |
//! |---|---|---|
//! | A.1, dualpi2_update | p' ← p' + α(delay − target) + β(delay − old delay), with the longer of the two delays, every T_update | [`DualPi2::update`] |
//! | eq. 1 | p_CL = k·p', p_C = p'² | [`DualPi2::dequeue`] |
//! | A.1, laqm | a ramp from minTh over range, if more than one packet waits | [`DualPi2::native`] |
//! | A.1, recur | marks every 1/p-th packet, not at random | [`recur`] |
//! | A.2 | overload: from p_Cmax on both queues drop with p_C | [`DualPi2::dequeue`] |
//!
//! The scheduler is weighted round robin, as in Linux's qdisc, instead of Appendix A's time-shifted
//! FIFO. The scalable queue goes first, but one of every ten bytes sent while both queues wait is
//! classic.

use crate::departure::Departure;
use crate::entry::Entry;
use crate::{Backlog, Discipline, Drops, Packet, TimedQueue};
use narrows_settings::{Settings, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Time};

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "dualpi2",
    aliases: &[],
    summary: "a shallow queue for scalable senders, coupled to a queue for classic senders",
    source: "RFC 9332",
    settings: DualPi2Settings::list,
    construct: |given, _| Ok(Discipline::DualPi2(DualPi2Settings::read(given)?)),
};

settings! {
    /// How DualPI2 is set up.
    pub struct DualPi2Settings {
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
        /// Delay beyond minTh at which every packet is marked.
        range: Duration = Duration::from_micros(400), above(0.0);
    }
}

/// DualPI2 at work.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    settings: DualPi2Settings,
    scalable: Queue<P>,
    classic: Queue<P>,
    /// p'.
    base: f64,
    old_delay: f64,
    updates_at: Time,
    /// Bytes that the scalable queue has sent beyond its share while both waited.
    credit: f64,
}

#[derive(Clone, Debug)]
struct Queue<P> {
    waiting: TimedQueue<P>,
    count: f64,
}

const CLASSIC_SHARE: f64 = 0.1;

impl<P: Packet> DualPi2<P> {
    /// Empty.
    pub fn new(settings: DualPi2Settings) -> Self {
        let queue = || Queue { waiting: TimedQueue::default(), count: 0.0 };
        let updates_at = Time::ZERO + settings.update;
        Self {
            settings,
            scalable: queue(),
            classic: queue(),
            base: 0.0,
            old_delay: 0.0,
            updates_at,
            credit: 0.0,
        }
    }

    /// It has these settings from now on; what it has counted stays.
    pub fn retune(&mut self, settings: DualPi2Settings) {
        self.settings = settings;
    }

    fn serves_scalable(&mut self) -> bool {
        match (self.scalable.waiting.head_bytes(), self.classic.waiting.head_bytes()) {
            (Some(scalable), Some(classic)) => {
                let serves = self.credit < f64::from(classic) * (1.0 - CLASSIC_SHARE);
                self.credit += if serves {
                    f64::from(scalable) * CLASSIC_SHARE
                } else {
                    f64::from(classic) * (CLASSIC_SHARE - 1.0)
                };
                serves
            }
            (scalable, _) => {
                self.credit = 0.0;
                scalable.is_some()
            }
        }
    }

    /// p'_L.
    fn native(&self, delay: Duration) -> f64 {
        if self.scalable.waiting.backlog().packets <= 1 {
            return 0.0;
        }
        ((delay.seconds() - self.settings.step.seconds()) / self.settings.range.seconds())
            .clamp(0.0, 1.0)
    }

    fn catch_up(&mut self, now: Time) {
        while self.updates_at <= now {
            let delay = self
                .scalable
                .waiting
                .delay(self.updates_at)
                .max(self.classic.waiting.delay(self.updates_at));
            self.update(delay.seconds());
            self.updates_at += self.settings.update;
        }
    }

    fn update(&mut self, delay: f64) {
        let DualPi2Settings { target, alpha, beta, .. } = self.settings;
        self.base += alpha * (delay - target.seconds()) + beta * (delay - self.old_delay);
        self.base = self.base.clamp(0.0, 1.0);
        self.old_delay = delay;
    }
}

impl<P: Packet> Departure<P> for DualPi2<P> {
    fn backlog(&self) -> Backlog {
        self.scalable.waiting.backlog() + self.classic.waiting.backlog()
    }

    /// Packets with ECT(1) or CE go to the scalable queue (RFC 9331 §5.1).
    fn admit(&mut self, now: Time, packet: P) {
        self.catch_up(now);
        let queue = if matches!(packet.ecn(), Ecn::Scalable | Ecn::Marked) {
            &mut self.scalable
        } else {
            &mut self.classic
        };
        queue.waiting.push(now, packet);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
        self.catch_up(now);
        let p_classic = self.base * self.base;
        let p_coupled = self.settings.coupling * self.base;
        let overload = p_coupled >= 1.0;
        loop {
            if self.serves_scalable() {
                let delay = self.scalable.waiting.delay(now);
                let p = self.native(delay).max(p_coupled).min(1.0);
                let (_, mut packet) = self.scalable.waiting.pop()?;
                if overload && recur(&mut self.scalable.count, p_classic) {
                    dropped.push(packet);
                    continue;
                }
                if overload || recur(&mut self.scalable.count, p) {
                    packet.mark();
                }
                return Some(packet);
            }
            let (_, mut packet) = self.classic.waiting.pop()?;
            if recur(&mut self.classic.count, p_classic) {
                if overload || !packet.ecn().is_capable() {
                    dropped.push(packet);
                    continue;
                }
                packet.mark();
            }
            return Some(packet);
        }
    }
}

/// True once in 1/p calls.
fn recur(count: &mut f64, p: f64) -> bool {
    *count += p;
    let recurs = *count > 1.0;
    if recurs {
        *count -= 1.0;
    }
    recurs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;

    #[test]
    fn the_base_probability_moves_as_worked_out_by_hand() {
        let mut queue = DualPi2::<Parcel>::new(DualPi2Settings::default());
        queue.update(0.025);
        assert!((queue.base - (0.16 * 0.010 + 3.2 * 0.025)).abs() < 1e-12);
        queue.update(0.015);
        assert!((queue.base - (0.0816 - 3.2 * 0.010)).abs() < 1e-12);
    }

    #[test]
    fn scalable_packets_take_k_p_marks_and_classic_ones_the_square_in_drops() {
        let mut queue = DualPi2 {
            base: 0.2,
            updates_at: Time::NEVER,
            ..DualPi2::new(DualPi2Settings::default())
        };
        let (mut dropped, mut marked) = (Vec::new(), 0);
        for number in 0..1000 {
            queue.admit(Time::ZERO, Parcel { ecn: Ecn::Scalable, ..Parcel::new(1, number) });
            marked += u32::from(
                queue
                    .dequeue(Time::ZERO, &mut dropped)
                    .is_some_and(|packet| packet.ecn == Ecn::Marked),
            );
            queue.admit(Time::ZERO, Parcel::new(2, number));
            queue.dequeue(Time::ZERO, &mut dropped);
        }
        assert!((399..=400).contains(&marked), "2·0.2 of 1000: {marked}");
        assert!((39..=40).contains(&dropped.len()), "0.2² of 1000: {}", dropped.len());
    }

    #[test]
    fn the_scalable_queue_marks_by_itself_along_its_ramp() {
        let mut queue = DualPi2::new(DualPi2Settings::default());
        (0..5).for_each(|number| {
            queue.admit(Time::ZERO, Parcel { ecn: Ecn::Scalable, ..Parcel::new(1, number) })
        });
        let micros = |n| Duration::from_micros(n);
        let ramp = [700, 800, 1000, 1200, 5000].map(|n| queue.native(micros(n)));
        assert_eq!(ramp.map(|p| (p * 1e6).round() / 1e6), [0.0, 0.0, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn while_both_wait_one_byte_in_ten_is_classic() {
        let mut queue =
            DualPi2 { updates_at: Time::NEVER, ..DualPi2::new(DualPi2Settings::default()) };
        for number in 0..2000 {
            queue.admit(Time::ZERO, Parcel { ecn: Ecn::Scalable, ..Parcel::new(1, number) });
            queue.admit(Time::ZERO, Parcel::new(2, number));
        }
        let classic = (0..1000)
            .filter(|_| {
                queue.dequeue(Time::ZERO, &mut Vec::new()).is_some_and(|packet| packet.flow == 2)
            })
            .count();
        assert!((98..=102).contains(&classic), "{classic}");
    }
}
