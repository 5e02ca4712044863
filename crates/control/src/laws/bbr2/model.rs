//! What it knows of the path: rounds, bandwidth, aggregation, and the bounds that losses and marks
//! set.

use super::states::{AckPhase, Mode};
use super::{BbrLinux, CWND_MIN_TARGET, CaState, Version};
use crate::{Ack, RateSample};

/// `loss_thresh`: losses tolerated in what was in flight; a 51st (2 % in 256ths, rounded down).
const LOSS_THRESH: f64 = 5.0 / 256.0;
/// 1 − `beta`: what is kept after a round or a probe with losses.
const KEPT: f64 = 180.0 / 256.0;
/// `inflight_headroom`: share of inflight_hi left free.
const INFLIGHT_HEADROOM: f64 = 38.0 / 256.0;
/// `extra_acked_win_rtts`: rounds in each of the two windows once the pipe has been full.
const EXTRA_ACKED_WIN_RTTS: u32 = 5;

impl BbrLinux {
    /// `max_bw`: the largest rate of one to two cycles.
    pub(super) fn max_bw(&self) -> f64 {
        self.bw_hi.largest()
    }

    /// `bw`: the estimated rate of the path.
    pub(super) fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_lo)
    }

    /// `update_round_start`. A sample without a rate is not valid.
    pub(super) fn update_round_start(&mut self, rs: &RateSample) {
        self.round.round_start =
            rs.delivery_rate.is_some() && rs.prior_delivered >= self.round.next_rtt_delivered;
        if self.round.round_start {
            self.round.next_rtt_delivered = self.delivered;
        }
    }

    /// `update_ack_aggregation`.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack, rs: &RateSample) {
        if rs.delivery_rate.is_some() {
            let rounds = if self.full_bw_reached { EXTRA_ACKED_WIN_RTTS } else { 1 };
            let (bw, cwnd) = (self.bw(), self.cwnd);
            self.aggregation.update(ack, self.round.round_start.then_some(rounds), bw, cwnd);
        }
    }

    /// `update_latest_delivery_signals`: the rate and the volume of the latest round trip.
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &RateSample) {
        self.round.loss_round_start = false;
        let Some(rate) = rs.delivery_rate else { return };
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered());
        if rs.prior_delivered >= self.round.loss_round_delivered {
            self.round.loss_round_delivered = self.delivered;
            self.round.loss_round_start = true;
        }
    }

    /// `advance_latest_delivery_signals`, once in a round.
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &RateSample) {
        if self.version == Version::Three && self.round.loss_round_start {
            self.restart_latest(rs);
        }
    }

    fn restart_latest(&mut self, rs: &RateSample) {
        self.bw_latest = rs.delivery_rate.unwrap_or(0.0);
        self.inflight_latest = rs.delivered();
    }

    /// `update_congestion_signals`.
    pub(super) fn update_congestion_signals(&mut self, rs: &RateSample) {
        if self.version == Version::Two {
            self.update_latest_delivery_signals(rs);
        }
        let Some(rate) = rs.delivery_rate else { return };
        if !rs.app_limited || rate >= self.max_bw() {
            self.bw_hi.update(rate);
        }
        self.round.loss_in_round |= rs.newly_lost > 0.0;
        if !self.round.loss_round_start {
            return;
        }
        self.adapt_lower_bounds();
        (self.round.loss_in_round, self.marks.in_round) = (false, false);
        if self.version == Version::Two {
            self.restart_latest(rs);
        }
    }

    /// `reset_congestion_signals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        (self.round.loss_in_round, self.round.loss_in_cycle) = (false, false);
        (self.marks.in_round, self.marks.in_cycle) = (false, false);
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// `is_probing_bandwidth`.
    pub(super) fn is_probing_bandwidth(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::ProbeRefill | Mode::ProbeUp)
    }

    /// `adapt_lower_bounds`, with `init_lower_bounds`, `loss_lower_bounds` and `ecn_lower_bounds`.
    fn adapt_lower_bounds(&mut self) {
        let (lossy, marked) =
            (self.round.loss_in_round, self.marks.in_round && self.marks.eligible);
        if self.is_probing_bandwidth() || !(lossy || marked) {
            return;
        }
        if self.inflight_lo.is_infinite() {
            self.inflight_lo = self.cwnd;
        }
        let by_marks =
            if marked { (self.inflight_lo * self.marks.cut()).floor() } else { f64::INFINITY };
        if lossy {
            if self.bw_lo.is_infinite() {
                self.bw_lo = self.max_bw();
            }
            self.bw_lo = self.bw_latest.max(self.bw_lo * KEPT);
            self.inflight_lo = self.inflight_latest.max((self.inflight_lo * KEPT).floor());
        }
        self.inflight_lo = self.inflight_lo.min(by_marks);
    }

    /// `reset_lower_bounds`.
    pub(super) fn reset_lower_bounds(&mut self) {
        (self.bw_lo, self.inflight_lo) = (f64::INFINITY, f64::INFINITY);
    }

    /// `target_inflight`: the BDP, unless congestion cut the window.
    pub(super) fn target_inflight(&self) -> f64 {
        self.inflight(self.bw(), 1.0).min(self.cwnd)
    }

    /// `inflight_with_headroom`.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_hi.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.inflight_hi * INFLIGHT_HEADROOM).floor().max(1.0);
        (self.inflight_hi - headroom).max(CWND_MIN_TARGET)
    }

    /// `is_inflight_too_high` of a sample.
    fn is_inflight_too_high(&self, rs: &RateSample) -> bool {
        is_lost_too_much(rs.lost, rs.tx_in_flight) || self.has_too_many_marks()
    }

    /// `handle_inflight_too_high`, with what was in flight.
    fn handle_inflight_too_high(&mut self, tx_in_flight: f64, app_limited: bool) {
        self.probe.prev_probe_too_high = true;
        self.probe.bw_probe_samples = false;
        if !app_limited {
            self.inflight_hi = tx_in_flight.max((self.target_inflight() * KEPT).floor());
        }
        if self.mode == Mode::ProbeUp {
            self.start_bw_probe_down();
        }
    }

    /// `note_loss`.
    fn note_loss(&mut self) {
        if !self.round.loss_in_round {
            self.round.loss_round_delivered = self.delivered;
        }
        (self.round.loss_in_round, self.round.loss_in_cycle) = (true, true);
    }

    /// `skb_marked_lost`: a packet that had `tx_in_flight` in flight, itself included, of which
    /// `lost` are lost.
    pub(super) fn skb_marked_lost(&mut self, tx_in_flight: f64, lost: f64, app_limited: bool) {
        self.note_loss();
        if self.probe.bw_probe_samples && is_lost_too_much(lost, tx_in_flight) {
            self.handle_inflight_too_high(inflight_hi_from_lost(tx_in_flight, lost), app_limited);
        }
    }

    /// `run_loss_probe_recovery`: the probe has repaired the loss of one packet, the last that the
    /// application had, so that inflight_hi stays (`tlp_orig_data_app_limited`).
    pub(super) fn run_loss_probe_recovery(&mut self) {
        self.note_loss();
        if self.probe.bw_probe_samples && is_lost_too_much(1.0, self.inflight_latest + 1.0) {
            self.handle_inflight_too_high(self.inflight_latest + 1.0, true);
        }
    }

    /// `handle_queue_too_high_in_startup`.
    pub(super) fn handle_queue_too_high_in_startup(&mut self) {
        self.full_bw_reached = true;
        let bdp = self.inflight(self.max_bw(), 1.0);
        self.inflight_hi = match self.version {
            Version::Two => bdp,
            Version::Three => bdp.max(self.inflight_latest),
        };
    }

    /// `check_loss_too_high_in_startup`: as many acknowledgements with losses in a round of
    /// recovery.
    pub(super) fn check_loss_too_high_in_startup(&mut self, rs: &RateSample) {
        if self.full_bw_reached {
            return;
        }
        if rs.newly_lost > 0.0 {
            self.round.loss_events_in_round = (self.round.loss_events_in_round + 1).min(15);
        }
        if self.round.loss_round_start
            && self.ca_state == CaState::Recovery
            && self.round.loss_events_in_round >= self.version.full_loss_cnt()
            && self.is_inflight_too_high(rs)
        {
            self.handle_queue_too_high_in_startup();
        } else if self.round.loss_round_start {
            self.round.loss_events_in_round = 0;
        }
    }

    /// `adapt_upper_bounds`; true if it has changed the phase.
    pub(super) fn adapt_upper_bounds(&mut self, rs: &RateSample) -> bool {
        if self.probe.ack_phase == AckPhase::ProbeStarting && self.round.round_start {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probe.ack_phase == AckPhase::ProbeStopping && self.round.round_start {
            self.probe.bw_probe_samples = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.mode.is_probe_bw() && !rs.app_limited {
                self.bw_hi.advance_unless_empty();
            }
            if self.mode.is_probe_bw()
                && self.probe.stopped_risky_probe
                && !self.probe.prev_probe_too_high
            {
                self.start_bw_probe_refill(0);
                return true;
            }
        }
        if self.is_inflight_too_high(rs) {
            if self.probe.bw_probe_samples {
                self.handle_inflight_too_high(rs.tx_in_flight, rs.app_limited);
            }
        } else if self.inflight_hi.is_finite() {
            self.inflight_hi = self.inflight_hi.max(rs.tx_in_flight);
            if self.mode == Mode::ProbeUp {
                self.probe_inflight_hi_upward();
            }
        }
        false
    }

    /// `probe_inflight_hi_upward`.
    fn probe_inflight_hi_upward(&mut self) {
        if !self.is_cwnd_limited || self.cwnd < self.inflight_hi {
            if self.version == Version::Two {
                self.probe.bw_probe_up_acks = 0.0;
            }
            return;
        }
        self.probe.bw_probe_up_acks += self.acked;
        if self.probe.bw_probe_up_acks >= self.probe.bw_probe_up_cnt {
            let delta = (self.probe.bw_probe_up_acks / self.probe.bw_probe_up_cnt).floor();
            self.probe.bw_probe_up_acks -= delta * self.probe.bw_probe_up_cnt;
            self.inflight_hi += delta;
            self.try_fast_path = false;
        }
        if self.round.round_start {
            self.raise_inflight_hi_slope();
        }
    }

    /// `raise_inflight_hi_slope`: 1, 2, 4, … packets per round.
    pub(super) fn raise_inflight_hi_slope(&mut self) {
        let growth = f64::from(1u32 << self.probe.bw_probe_up_rounds);
        self.probe.bw_probe_up_rounds = (self.probe.bw_probe_up_rounds + 1).min(30);
        self.probe.bw_probe_up_cnt = (self.cwnd / growth).floor().max(1.0);
    }
}

/// The first half of `is_inflight_too_high`: more than the tolerated share of `tx_in_flight`
/// packets is lost.
fn is_lost_too_much(lost: f64, tx_in_flight: f64) -> bool {
    tx_in_flight > 0.0 && lost > (tx_in_flight * LOSS_THRESH).floor()
}

/// `inflight_hi_from_lost_skb`: the packets in flight at which losses crossed the threshold; both
/// numbers include the packet that is lost.
fn inflight_hi_from_lost(tx_in_flight: f64, lost: f64) -> f64 {
    let (inflight_prev, lost_prev) = (tx_in_flight - 1.0, lost - 1.0);
    let budget = (inflight_prev * LOSS_THRESH).ceil();
    let prefix = ((budget - lost_prev).max(0.0) / (1.0 - LOSS_THRESH)).floor();
    inflight_prev + prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 99 packets may lose one (1.93, rounded down), 103 two. With 98 before it, two of which may
    /// be lost (1.91, rounded up), the first lost packet of 99 is ⌊2·256/251⌋ = 2 beyond these, the
    /// third none.
    #[test]
    fn losses_cross_the_threshold_in_whole_packets() {
        assert!(!is_lost_too_much(1.0, 99.0) && is_lost_too_much(2.0, 99.0));
        assert!(!is_lost_too_much(2.0, 103.0) && is_lost_too_much(3.0, 103.0));
        assert_eq!(inflight_hi_from_lost(99.0, 1.0), 100.0);
        assert_eq!(inflight_hi_from_lost(99.0, 2.0), 99.0);
        assert_eq!(inflight_hi_from_lost(99.0, 3.0), 98.0);
    }
}
