//! What BBR knows of the path: rounds, bandwidth, policers, aggregation.

use super::{Bbr1, Mode, PACING_MARGIN};
use crate::{Ack, RateSample};
use narrows_units::{Duration, Time};

/// `bw_rtts`: rounds that the bandwidth filter remembers.
const BW_RTTS: u64 = 10;
/// `lt_intvl_min_rtts`: rounds in an interval, at least; four times as many at most.
const LT_INTVL_MIN_RTTS: u32 = 4;
/// `lt_loss_thresh`: lost over delivered, from which on an interval counts as policed; in 256ths.
const LT_LOSS_THRESH: f64 = 50.0 / 256.0;
/// `lt_bw_ratio`: two intervals agree if their rates differ by at most this ratio.
const LT_BW_RATIO: f64 = 1.0 / 8.0;
/// `lt_bw_diff`: or by at most this, in bytes per second.
const LT_BW_DIFF: f64 = 4000.0 / 8.0;
/// `lt_bw_max_rtts`: rounds for which lt_bw is used.
const LT_BW_MAX_RTTS: u32 = 48;
/// `extra_acked_win_rtts`: rounds in each of the two windows.
const EXTRA_ACKED_WIN_RTTS: u32 = 5;

/// The rate that a policer allows, in packets and packets per second (`lt_`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// None if there has been no interval.
    bw: Option<f64>,
    pub use_bw: bool,
    is_sampling: bool,
    rtt_cnt: u32,
    last_delivered: f64,
    last_lost: f64,
    last_stamp: Time,
}

impl Bbr1 {
    /// `bw`: the estimated rate of the path.
    pub(super) fn bw(&self) -> f64 {
        self.lt.bw.filter(|_| self.lt.use_bw).unwrap_or(self.max_bw)
    }

    /// `update_bw`. A sample without a rate is not valid.
    pub(super) fn update_bw(&mut self, rs: &RateSample) {
        self.round_start = false;
        let Some(rate) = rs.delivery_rate else { return };
        if rs.prior_delivered >= self.next_rtt_delivered {
            self.next_rtt_delivered = self.delivered;
            self.rtt_cnt += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.lt_bw_sampling(rs.newly_lost > 0.0, rs.app_limited);
        if !rs.app_limited || rate >= self.max_bw {
            self.max_bw = self.bw_filter.update(self.rtt_cnt, rate, BW_RTTS);
        }
    }

    /// `lt_bw_sampling`: two intervals in a row that lose a fifth, at about the same rate, are a
    /// policer's.
    pub(super) fn lt_bw_sampling(&mut self, losses: bool, app_limited: bool) {
        if self.lt.use_bw {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.lt.rtt_cnt += 1;
                if self.lt.rtt_cnt >= LT_BW_MAX_RTTS {
                    self.reset_lt_bw_sampling();
                    self.reset_probe_bw_mode();
                }
            }
            return;
        }
        if !self.lt.is_sampling {
            if !losses {
                return;
            }
            self.reset_lt_bw_sampling_interval();
            self.lt.is_sampling = true;
        }
        if app_limited {
            return self.reset_lt_bw_sampling();
        }
        self.lt.rtt_cnt += u32::from(self.round_start);
        if self.lt.rtt_cnt < LT_INTVL_MIN_RTTS {
            return;
        }
        if self.lt.rtt_cnt > 4 * LT_INTVL_MIN_RTTS {
            return self.reset_lt_bw_sampling();
        }
        if !losses {
            return;
        }
        let lost = self.lost - self.lt.last_lost;
        let delivered = self.delivered - self.lt.last_delivered;
        if delivered <= 0.0 || lost < LT_LOSS_THRESH * delivered {
            return;
        }
        let interval = self.delivered_mstamp.since(self.lt.last_stamp);
        if interval >= Duration::from_millis(1) {
            self.lt_bw_interval_done(delivered / interval.seconds());
        }
    }

    /// `lt_bw_interval_done`.
    fn lt_bw_interval_done(&mut self, bw: f64) {
        if let Some(before) = self.lt.bw {
            let diff = (bw - before).abs();
            if diff <= LT_BW_RATIO * before || diff * self.payload * PACING_MARGIN <= LT_BW_DIFF {
                self.lt.bw = Some(f64::midpoint(bw, before));
                self.lt.use_bw = true;
                self.pacing_gain = 1.0;
                self.lt.rtt_cnt = 0;
                return;
            }
        }
        self.lt.bw = Some(bw);
        self.reset_lt_bw_sampling_interval();
    }

    /// `reset_lt_bw_sampling_interval`.
    fn reset_lt_bw_sampling_interval(&mut self) {
        self.lt.last_stamp = self.delivered_mstamp;
        (self.lt.last_delivered, self.lt.last_lost) = (self.delivered, self.lost);
        self.lt.rtt_cnt = 0;
    }

    /// `reset_lt_bw_sampling`.
    pub(super) fn reset_lt_bw_sampling(&mut self) {
        (self.lt.bw, self.lt.use_bw, self.lt.is_sampling) = (None, false, false);
        self.reset_lt_bw_sampling_interval();
    }

    /// `update_ack_aggregation`.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack, rs: &RateSample) {
        if rs.delivery_rate.is_some() {
            let rounds = self.round_start.then_some(EXTRA_ACKED_WIN_RTTS);
            self.aggregation.update(ack, rounds, self.bw(), self.cwnd);
        }
    }
}
