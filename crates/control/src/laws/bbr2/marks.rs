//! What marks say: α, and what share of a sample was marked (`update_ecn_alpha`).

use super::{BbrLinux, Version};
use crate::{Ack, RateSample};
use std::collections::VecDeque;

/// `ecn_alpha_gain`, `ecn_factor` and `ecn_thresh` in 256ths.
const ECN_ALPHA_GAIN: f64 = 16.0;
const ECN_FACTOR: f64 = 85.0;
const ECN_THRESH: f64 = 128.0;
/// `full_ecn_cnt`: rounds with too many marks that end Startup.
const FULL_ECN_CNT: u32 = 2;
/// `BBR_UNIT`.
const UNIT: f64 = 256.0;

/// What is known of marks.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// `ecn_eligible`: the path is short enough, or was.
    pub eligible: bool,
    pub in_round: bool,
    pub in_cycle: bool,
    /// `ecn_alpha` in 256ths.
    alpha: f64,
    delivered_ce: f64,
    last_delivered: f64,
    last_delivered_ce: f64,
    startup_rounds: u32,
    /// Packets delivered, and delivered with a mark, at acknowledgements of the last round trip
    /// and the one before these.
    course: VecDeque<(f64, f64)>,
    /// Marks and packets of the present sample (`rs->delivered_ce`, `rs->delivered`).
    sample: (f64, f64),
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            eligible: false,
            in_round: false,
            in_cycle: false,
            alpha: UNIT,
            delivered_ce: 0.0,
            last_delivered: 0.0,
            last_delivered_ce: 0.0,
            startup_rounds: 0,
            course: VecDeque::from([(0.0, 0.0)]),
            sample: (0.0, 0.0),
        }
    }
}

impl Marks {
    /// An acknowledgement arrives; returns the marks of its sample (`rs->delivered_ce`). Nothing is
    /// remembered without `ecn`.
    pub fn arrived(&mut self, ecn: bool, ack: &Ack, rs: &RateSample) -> f64 {
        if !ecn {
            return 0.0;
        }
        self.delivered_ce += ack.marked;
        while self.course.get(1).is_some_and(|(delivered, _)| *delivered <= rs.prior_delivered) {
            self.course.pop_front();
        }
        // What arrives late left before the course begins: its first entry is the nearest.
        let before = self.course.front().map_or(0.0, |(_, marked)| *marked);
        let marked = self.delivered_ce - before;
        self.course.push_back((rs.total_delivered, self.delivered_ce));
        self.sample = (marked, rs.delivered());
        marked
    }

    #[cfg(test)]
    pub fn alpha_is_one(&mut self) {
        self.alpha = UNIT;
    }

    /// `ecn_cut`: what a round with marks leaves, a ratio.
    pub fn cut(&self) -> f64 {
        (UNIT - (self.alpha * ECN_FACTOR / UNIT).floor()) / UNIT
    }
}

impl BbrLinux {
    /// Whether a mark makes this a round with marks (`is_ece`).
    pub(super) fn heeds_marks(&self) -> bool {
        self.marks.eligible || self.version == Version::Two && self.ecn.is_some()
    }

    /// `update_ecn_alpha`, once in a round.
    pub(super) fn update_ecn_alpha(&mut self) {
        let reach = self.ecn.zip(self.min_rtt);
        self.marks.eligible |= reach.is_some_and(|(heeded, rtt)| rtt <= heeded.reach);
        let marks = &mut self.marks;
        let delivered = self.delivered - marks.last_delivered;
        let is_wanted = marks.eligible || self.version == Version::Two && self.ecn.is_some();
        if !is_wanted || delivered <= 0.0 {
            return;
        }
        let marked = marks.delivered_ce - marks.last_delivered_ce;
        let ratio = (marked * UNIT / delivered).floor();
        let kept = ((UNIT - ECN_ALPHA_GAIN) * marks.alpha / UNIT).floor();
        marks.alpha = (kept + (ECN_ALPHA_GAIN * ratio / UNIT).floor()).min(UNIT);
        (marks.last_delivered, marks.last_delivered_ce) = (self.delivered, marks.delivered_ce);
        self.check_ecn_too_high_in_startup(ratio);
    }

    /// `check_ecn_too_high_in_startup`, with the share of marks in 256ths.
    fn check_ecn_too_high_in_startup(&mut self, ratio: f64) {
        if self.full_bw_reached || !self.marks.eligible {
            return;
        }
        let rounds = if ratio >= ECN_THRESH { self.marks.startup_rounds + 1 } else { 0 };
        self.marks.startup_rounds = rounds;
        if rounds >= FULL_ECN_CNT {
            self.handle_queue_too_high_in_startup();
        }
    }

    /// The second half of `is_inflight_too_high`: too many packets of the sample were marked.
    pub(super) fn has_too_many_marks(&self) -> bool {
        let (marked, delivered) = self.marks.sample;
        let threshold = (delivered * ECN_THRESH / UNIT).floor();
        let is_above = match self.version {
            Version::Two => marked >= threshold,
            Version::Three => marked > threshold,
        };
        self.marks.eligible && marked > 0.0 && delivered > 0.0 && is_above
    }
}
