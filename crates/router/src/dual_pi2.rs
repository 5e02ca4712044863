//! DualPI2: a queue for classic and one for scalable senders, coupled (RFC 9332, Appendix A).
//!
//! | source | rule | here |
//! |---|---|---|
//! | A.1, dualpi2_update | p' ← p' + α(delay − target) + β(delay − old delay), the longer delay of both, every T_update | [`DualPi2::update`] |
//! | eq. 1 | p_CL = k·p', p_C = p'² | [`DualPi2::dequeue`] |
//! | A.1, laqm | a ramp from minTh over range, where more than one packet waits | [`DualPi2::native`] |
//! | A.1, recur | marks every 1/p-th packet, without chance | [`recur`] |
//! | A.2 | overload: from p_Cmax on both queues drop with p_C | [`DualPi2::dequeue`] |
//!
//! The scheduler is weighted round robin, as in Linux's qdisc, in place of Appendix A's
//! time-shifted FIFO: the scalable queue first, but of ten bytes sent while both wait one is
//! classic.

use crate::{Backlog, Drops, Packet, TimedQueue};
use narrows_signal::Ecn;
use narrows_units::{Duration, Time};

/// How DualPI2 is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Settings {
    /// Delay that the classic queue is held at. 15 ms.
    pub target: Duration,
    /// T_update. 16 ms.
    pub update: Duration,
    /// Weight of the distance to the target, in hertz. 0.16.
    pub alpha: f64,
    /// Weight of the trend, in hertz. 3.2.
    pub beta: f64,
    /// k, the coupling factor, a ratio. 2.
    pub coupling: f64,
    /// minTh: delay at which the scalable queue begins to mark by itself. 0.8 ms.
    pub step: Duration,
    /// range: from there to certain marks. 0.4 ms.
    pub range: Duration,
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

    /// What waits in both.
    pub fn backlog(&self) -> Backlog {
        self.scalable.waiting.backlog() + self.classic.waiting.backlog()
    }

    /// A packet comes at `now`: ECT(1) and CE are scalable (RFC 9331 §5.1).
    pub fn enqueue(&mut self, now: Time, packet: P) {
        self.catch_up(now);
        let queue = if matches!(packet.ecn(), Ecn::Scalable | Ecn::Marked) {
            &mut self.scalable
        } else {
            &mut self.classic
        };
        queue.waiting.push(now, packet);
    }

    /// The next packet to leave at `now`.
    pub fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
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

/// True once in 1/p times.
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

    const RFC: DualPi2Settings = DualPi2Settings {
        target: Duration::from_millis(15),
        update: Duration::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step: Duration::from_micros(800),
        range: Duration::from_micros(400),
    };

    #[test]
    fn the_base_probability_moves_as_worked_out_by_hand() {
        let mut queue = DualPi2::<Parcel>::new(RFC);
        queue.update(0.025);
        assert!((queue.base - (0.16 * 0.010 + 3.2 * 0.025)).abs() < 1e-12);
        queue.update(0.015);
        assert!((queue.base - (0.0816 - 3.2 * 0.010)).abs() < 1e-12);
    }

    #[test]
    fn scalable_packets_take_k_p_marks_and_classic_ones_the_square_in_drops() {
        let mut queue = DualPi2 { base: 0.2, updates_at: Time::NEVER, ..DualPi2::new(RFC) };
        let (mut dropped, mut marked) = (Vec::new(), 0);
        for number in 0..1000 {
            queue.enqueue(Time::ZERO, Parcel { ecn: Ecn::Scalable, ..Parcel::new(1, number) });
            marked += u32::from(
                queue
                    .dequeue(Time::ZERO, &mut dropped)
                    .is_some_and(|packet| packet.ecn == Ecn::Marked),
            );
            queue.enqueue(Time::ZERO, Parcel::new(2, number));
            queue.dequeue(Time::ZERO, &mut dropped);
        }
        assert!((399..=400).contains(&marked), "2·0.2 of 1000: {marked}");
        assert!((39..=40).contains(&dropped.len()), "0.2² of 1000: {}", dropped.len());
    }

    #[test]
    fn the_scalable_queue_marks_by_itself_along_its_ramp() {
        let mut queue = DualPi2::new(RFC);
        (0..5).for_each(|number| {
            queue.enqueue(Time::ZERO, Parcel { ecn: Ecn::Scalable, ..Parcel::new(1, number) })
        });
        let micros = |n| Duration::from_micros(n);
        let ramp = [700, 800, 1000, 1200, 5000].map(|n| queue.native(micros(n)));
        assert_eq!(ramp.map(|p| (p * 1e6).round() / 1e6), [0.0, 0.0, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn while_both_wait_one_byte_in_ten_is_classic() {
        let mut queue = DualPi2 { updates_at: Time::NEVER, ..DualPi2::new(RFC) };
        for number in 0..2000 {
            queue.enqueue(Time::ZERO, Parcel { ecn: Ecn::Scalable, ..Parcel::new(1, number) });
            queue.enqueue(Time::ZERO, Parcel::new(2, number));
        }
        let classic = (0..1000)
            .filter(|_| {
                queue.dequeue(Time::ZERO, &mut Vec::new()).is_some_and(|packet| packet.flow == 2)
            })
            .count();
        assert!((98..=102).contains(&classic), "{classic}");
    }
}
