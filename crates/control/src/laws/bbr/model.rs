//! What BBR knows of the path: rounds, bandwidth, RTT, aggregation, and what losses and marks say
//! (§5.5).

use super::{AckPhase, BETA, Bbr, Ending, HEADROOM, LOSS_THRESH, MIN_PIPE_CWND, State};
use crate::{Ack, Loss, RateSample};
use narrows_units::Duration;

/// §2.12: rounds that the aggregation filter remembers, once the pipe has been full.
const EXTRA_ACKED_FILTER_LEN: u64 = 10;

impl Bbr {
    /// §5.5.1, UpdateRound.
    fn update_round(&mut self, rs: &RateSample) {
        self.round_start = rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1.0;
        }
    }

    /// §5.5.1, StartRound.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// §5.5.5, UpdateMaxBw.
    fn update_max_bw(&mut self, rs: &RateSample) {
        self.update_round(rs);
        if let Some(rate) =
            rs.delivery_rate.filter(|rate| *rate >= self.path.max_bw || !rs.app_limited)
        {
            self.path.max_bw_filter.update(rate);
            self.path.max_bw = self.path.max_bw_filter.largest();
        }
    }

    /// §5.5.6, AdvanceMaxBwFilter.
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.path.max_bw_filter.advance();
    }

    /// §5.5.9, UpdateACKAggregation.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack) {
        let interval = ack.now.since(self.path.extra_acked_interval_start).seconds();
        let mut expected_delivered = self.path.bw * interval;
        if self.path.extra_acked_delivered <= expected_delivered {
            self.path.extra_acked_delivered = 0.0;
            self.path.extra_acked_interval_start = ack.now;
            expected_delivered = 0.0;
        }
        self.path.extra_acked_delivered += ack.packets;
        let extra = (self.path.extra_acked_delivered - expected_delivered).min(self.cwnd);
        let length = if self.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        self.path.extra_acked =
            self.path.extra_acked_filter.update(self.round_count, extra, length);
    }

    /// §5.5.10.3, UpdateLatestDeliverySignals.
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &RateSample) {
        self.path.bw_latest = self.path.bw_latest.max(rs.delivery_rate.unwrap_or(0.0));
        self.path.inflight_latest = self.path.inflight_latest.max(rs.delivered());
        self.loss_round_start = rs.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = rs.total_delivered;
        }
    }

    /// §5.5.10.3, AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &RateSample) {
        if self.loss_round_start {
            self.path.bw_latest = rs.delivery_rate.unwrap_or(0.0);
            self.path.inflight_latest = rs.delivered();
        }
    }

    /// §5.5.10.3, ResetCongestionSignals.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.marks.in_round = false;
        self.path.bw_latest = 0.0;
        self.path.inflight_latest = 0.0;
    }

    /// §5.5.10.3, UpdateCongestionSignals.
    pub(super) fn update_congestion_signals(&mut self, rs: &RateSample) {
        self.update_max_bw(rs);
        if self.loss_round_start {
            self.adapt_lower_bounds();
            self.is_loss_in_round = false;
            self.marks.in_round = false;
        }
    }

    /// §5.5.10.3, AdaptLowerBoundsFromCongestion, with InitLowerBounds and LossLowerBounds; marks
    /// as in BBRv3's Linux code.
    fn adapt_lower_bounds(&mut self) {
        let (lossy, marked) = (self.is_loss_in_round, self.marks.in_round);
        if self.is_probing_bw() || !(lossy || marked) {
            return;
        }
        if self.path.inflight_shortterm.is_infinite() {
            self.path.inflight_shortterm = self.cwnd;
        }
        let mut by_marks = f64::INFINITY;
        if marked {
            by_marks = (1.0 - self.marks.alpha * super::ECN_FACTOR) * self.path.inflight_shortterm;
        }
        if lossy {
            if self.path.bw_shortterm.is_infinite() {
                self.path.bw_shortterm = self.path.max_bw;
            }
            self.path.bw_shortterm = self.path.bw_latest.max(BETA * self.path.bw_shortterm);
            self.path.inflight_shortterm =
                self.path.inflight_latest.max(BETA * self.path.inflight_shortterm);
        }
        self.path.inflight_shortterm = self.path.inflight_shortterm.min(by_marks);
    }

    /// §5.5.10.3, ResetShortTermModel.
    pub(super) fn reset_short_term_model(&mut self) {
        self.path.bw_shortterm = f64::INFINITY;
        self.path.inflight_shortterm = f64::INFINITY;
    }

    /// §5.5.10.3, BoundBWForModel.
    pub(super) fn bound_bw_for_model(&mut self) {
        self.path.bw = self.path.max_bw.min(self.path.bw_shortterm);
    }

    /// §5.5.10.2, IsInflightTooHigh: `lost` of `tx_in_flight` packets.
    pub(super) fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * LOSS_THRESH || self.marks.too_many
    }

    /// §5.5.10.2, HandleInflightTooHigh.
    pub(super) fn handle_inflight_too_high(&mut self, tx_in_flight: f64, app_limited: bool) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            self.path.inflight_longterm = tx_in_flight.max(self.target_inflight() * BETA);
        }
        if self.state == State::ProbeBwUp {
            self.undo.state = Some(State::ProbeBwUp);
            self.start_probe_bw_down();
        }
    }

    /// §5.5.10.2, NoteLoss.
    fn note_loss(&mut self, total_delivered: f64) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = total_delivered;
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
    }

    /// §5.5.10.2, HandleLostPacket.
    pub(super) fn handle_lost_packet(&mut self, loss: &Loss) {
        let Some(sample) = loss.rate else { return };
        self.delivered = sample.total_delivered;
        self.now = loss.now;
        self.note_loss(sample.total_delivered);
        // §5.3.1.3: discontiguous ranges, told apart by what left in between.
        if self.last_lost.is_none_or(|last| loss.transmission != last + 1) {
            self.loss_ranges_in_round += 1;
        }
        self.last_lost = Some(loss.transmission);
        if self.is_bw_probe_sample && self.is_inflight_too_high(sample.lost, loss.in_flight) {
            self.handle_inflight_too_high(
                inflight_at_loss(loss.in_flight, sample.lost),
                sample.app_limited,
            );
        }
    }

    /// §5.5.11.1, SaveStateUponLoss.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo.state = None;
        self.undo.bw_shortterm = self.path.bw_shortterm;
        self.undo.inflight_shortterm = self.path.inflight_shortterm;
        self.undo.inflight_longterm = self.path.inflight_longterm;
    }

    /// §5.5.11.2, HandleSpuriousLossDetection.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.path.bw_shortterm = self.path.bw_shortterm.max(self.undo.bw_shortterm);
        self.path.inflight_shortterm =
            self.path.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.path.inflight_longterm = self.path.inflight_longterm.max(self.undo.inflight_longterm);
        match (self.undo.state.take(), self.state) {
            (Some(State::Startup), state) if state != State::Startup => {
                self.full_bw_reached = false;
                if state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            (Some(State::ProbeBwUp), state)
                if state != State::ProbeBwUp && state != State::ProbeRtt =>
            {
                self.start_probe_bw_refill()
            }
            _ => {}
        }
    }

    /// §5.3.4.3, UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, rs: &RateSample) {
        self.probe_rtt.expired = self.now > self.probe_rtt.min_stamp + super::PROBE_RTT_INTERVAL;
        if let Some(rtt) = rs
            .rtt
            .map(Duration::seconds)
            .filter(|rtt| *rtt < self.probe_rtt.min_delay || self.probe_rtt.expired)
        {
            self.probe_rtt.min_delay = rtt;
            self.probe_rtt.min_stamp = self.now;
        }
        let min_rtt_expired = self.now > self.path.min_rtt_stamp + super::MIN_RTT_FILTER_LEN;
        if self.probe_rtt.min_delay < self.path.min_rtt || min_rtt_expired {
            self.path.min_rtt = self.probe_rtt.min_delay;
            self.path.min_rtt_stamp = self.probe_rtt.min_stamp;
        }
    }

    /// §5.3.3.9, InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let headroom = (HEADROOM * self.path.inflight_longterm).max(1.0);
        if self.path.inflight_longterm.is_infinite() {
            f64::INFINITY
        } else {
            (self.path.inflight_longterm - headroom).max(MIN_PIPE_CWND)
        }
    }

    /// §5.3.3.8.3, TargetInflight: the estimated BDP, unless congestion cut the window.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp_multiple(self.path.bw, 1.0).min(self.cwnd)
    }

    /// Updates α once per round, and whether there are too many marks (BBRv3's Linux code:
    /// bbr_update_ecn_alpha, bbr_check_ecn_too_high_in_startup).
    pub(super) fn update_ecn(&mut self, ack: &Ack, rs: &RateSample) {
        let eligible = self.ecn && self.path.min_rtt <= super::ECN_MAX_RTT;
        self.marks.too_many = false;
        self.marks.packets += ack.packets;
        self.marks.marked += ack.marked;
        self.marks.in_round |= eligible && ack.marked > 0.0;
        if !self.round_start {
            return;
        }
        let share = self.marks.marked / self.marks.packets.max(1.0);
        (self.marks.packets, self.marks.marked) = (0.0, 0.0);
        self.marks.alpha += super::ECN_GAIN * (share.min(1.0) - self.marks.alpha);
        self.marks.too_many = eligible && share >= super::ECN_THRESH;
        self.marks.rounds_of_too_many =
            if self.marks.too_many { self.marks.rounds_of_too_many + 1 } else { 0 };
        if !self.full_bw_reached && self.marks.rounds_of_too_many >= super::STARTUP_FULL_ECN_CNT {
            self.end_startup(Ending::Marks);
        }
        if self.marks.too_many && self.is_bw_probe_sample {
            self.handle_inflight_too_high(rs.tx_in_flight, rs.app_limited);
        }
    }

    /// §5.3.3.9, IsProbingBW.
    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// §5.3.3.9, AdaptLongTermModel; true if it has changed the state.
    pub(super) fn adapt_long_term_model(&mut self, rs: &RateSample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_a_probe_bw_state() && !rs.app_limited {
                self.advance_max_bw_filter();
            }
            if self.is_in_a_probe_bw_state()
                && self.prev_probe_precautionary
                && !self.prev_probe_too_high
            {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high(rs.lost, rs.tx_in_flight)
            && self.path.inflight_longterm.is_finite()
        {
            self.path.inflight_longterm = self.path.inflight_longterm.max(rs.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward();
            }
        }
        false
    }
}

/// §5.5.10.2, InflightAtLoss: the packets in flight at which losses crossed the threshold, to a
/// fraction of a packet; `lost` and `tx_in_flight` include that packet.
fn inflight_at_loss(tx_in_flight: f64, lost: f64) -> f64 {
    let (inflight_prev, lost_prev) = (tx_in_flight - 1.0, lost - 1.0);
    let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
    inflight_prev + lost_prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 in flight, the third loss: 99 before, two of them lost; (0.02·99 − 2)/0.98 = −0.0204.
    #[test]
    fn losses_cross_the_threshold_within_a_packet() {
        assert!((inflight_at_loss(100.0, 3.0) - 98.979_591_836_734_7).abs() < 1e-9);
    }
}
