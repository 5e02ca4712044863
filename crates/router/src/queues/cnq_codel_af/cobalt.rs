//! The AQM of one flow: CoDel's schedule, weighed by the flow's share of the queue, and BLUE for
//! those that do not heed it (`cobalt_*` in sch_cnq_codel_af.c).

use super::CnqCodelAfSettings;
use crate::Packet;
use narrows_units::{Duration, Stream, Time};

/// What is added to BLUE's probability of a drop each time, and taken from it (`p_inc`, `p_dec`),
/// ratios.
const P_INC: f64 = 1.0 / 256.0;
const P_DEC: f64 = 1.0 / 4096.0;
/// From this many intervals of weighed waiting on BLUE drops (`blue_thresh`).
const BLUE: u64 = 4;

/// How much of the queue a flow has as its packet leaves, the packet itself counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Its own packets.
    pub own: u64,
    /// Flows that have packets in the bulk, less the dummies there.
    pub flows: u64,
    /// Packets of all.
    pub all: u64,
}

impl Share {
    /// True if a packet that has waited for `sojourn` has waited longer than `target`, weighed by
    /// what its flow has of the queue over a fair share.
    fn is_over(self, sojourn: Duration, target: Duration) -> bool {
        let weighed = u128::from(sojourn.picos()) * u128::from(self.own * self.flows);
        weighed > u128::from(target.picos()) * u128::from(self.all)
    }
}

/// The state of a flow's AQM (`cobalt_vars`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    /// One over the square root of the count, once that has changed; 0 before (`ce_isqrt`), so that
    /// the first mark of all comes at once.
    root: f64,
    next: Time,
    dropping: bool,
    p_drop: f64,
    blue_timer: Time,
}

impl Cobalt {
    /// A packet that arrived at `since` leaves at `now`: it is marked if it is due and can be
    /// marked; true if it is to be dropped (`cobalt_should_drop`).
    pub fn should_drop<P: Packet>(
        &mut self,
        settings: &CnqCodelAfSettings,
        (since, now): (Time, Time),
        packet: &mut P,
        share: Share,
        dice: &mut Stream,
    ) -> bool {
        let sojourn = now.since(since);
        let mut is_late = now > self.next;
        let mut is_due = self.count > 0 && now >= self.next;
        if share.is_over(sojourn, settings.target) {
            is_due &= self.dropping;
            if !self.dropping {
                self.dropping = true;
                self.next = self.control(now, settings);
            }
            self.count = self.count.max(1);
        } else if self.dropping {
            self.dropping = false;
            self.next = self.control(now, settings);
        }
        let mut drop = false;
        if is_due {
            if self.dropping {
                drop = !packet.ecn().is_capable();
                packet.mark();
                self.counts(self.count.saturating_add(1));
                self.next = self.control(self.next, settings);
            } else {
                self.take_back(now, settings);
            }
            is_late = now > self.next;
        }
        if share.is_over(sojourn, settings.interval * BLUE) {
            self.fill(now, settings);
        }
        drop |= self.p_drop > 0.0 && dice.happens(self.p_drop);
        if self.count == 0 {
            self.next = now + settings.interval;
        } else if is_late && !drop {
            self.next = now;
        }
        drop
    }

    /// A packet leaves that did not wait behind others, or the flow has been idle
    /// (`cobalt_queue_empty`).
    pub fn rest(&mut self, now: Time, settings: &CnqCodelAfSettings) {
        if self.p_drop > 0.0 && now.since(self.blue_timer) > settings.target {
            self.p_drop = (self.p_drop - P_DEC).max(0.0);
            self.blue_timer = now;
        }
        if self.count > 0 && now >= self.next {
            self.take_back(now, settings);
        }
        if self.dropping {
            self.dropping = false;
            self.next = self.control(now, settings);
        }
    }

    /// What is due and has no packet to drop is taken back.
    fn take_back(&mut self, now: Time, settings: &CnqCodelAfSettings) {
        loop {
            self.counts(self.count - 1);
            self.next = self.control(self.next, settings);
            if self.count == 0 || now < self.next {
                return;
            }
        }
    }

    /// BLUE drops more (`cobalt_queue_full`).
    fn fill(&mut self, now: Time, settings: &CnqCodelAfSettings) {
        if now.since(self.blue_timer) > settings.target {
            self.p_drop = (self.p_drop + P_INC).min(1.0);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    #[cfg(test)]
    pub fn is_dropping(self) -> bool {
        self.dropping
    }

    /// The count changes, and the root with it (`cobalt_invsqrt`, where that of 0 is 1).
    fn counts(&mut self, count: u32) {
        self.count = count;
        self.root = 1.0 / libm::sqrt(f64::from(count.max(1)));
    }

    /// `cobalt_control`: an interval over the square root of the count after `at`.
    fn control(&self, at: Time, settings: &CnqCodelAfSettings) -> Time {
        at + settings.interval.scale(self.root)
    }
}
