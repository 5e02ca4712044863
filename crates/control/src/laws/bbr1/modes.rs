//! BBR's modes: Startup, Drain, ProbeBW with its eight phases, ProbeRTT.

use super::{Bbr1, CWND_GAIN, CWND_MIN_TARGET, CYCLE, DRAIN_GAIN, HIGH_GAIN, Mode};
use super::{MIN_RTT_WIN, PROBE_RTT_MODE};
use crate::{Ack, RateSample};

/// `full_bw_thresh`: growth in a round that shows that the pipe is not full.
const FULL_BW_THRESH: f64 = 1.25;
/// `full_bw_cnt`: rounds without it.
const FULL_BW_CNT: u32 = 3;
/// `cycle_rand`: ProbeBW begins at one of so many phases.
const CYCLE_RAND: f64 = 7.0;

impl Bbr1 {
    /// `is_next_cycle_phase`: a phase lasts min_rtt. The first lasts until so much is in flight as
    /// it aims at, or a packet is lost; the second ends as soon as a BDP is in flight.
    fn is_next_cycle_phase(&self, rs: &RateSample) -> bool {
        let lasted = self.delivered_mstamp.since(self.cycle_mstamp);
        let is_full_length = self.min_rtt.is_some_and(|min_rtt| lasted > min_rtt);
        if self.pacing_gain == 1.0 {
            return is_full_length;
        }
        let inflight = self.packets_in_net_at_edt(rs.prior_in_flight, rs);
        if self.pacing_gain > 1.0 {
            let is_reached = inflight >= self.inflight(self.max_bw, self.pacing_gain);
            return is_full_length && (rs.newly_lost > 0.0 || is_reached);
        }
        is_full_length || inflight <= self.inflight(self.max_bw, 1.0)
    }

    /// `advance_cycle_phase`.
    fn advance_cycle_phase(&mut self) {
        self.cycle_idx = (self.cycle_idx + 1) % CYCLE.len();
        self.cycle_mstamp = self.delivered_mstamp;
    }

    /// `update_cycle_phase`.
    pub(super) fn update_cycle_phase(&mut self, rs: &RateSample) {
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(rs) {
            self.advance_cycle_phase();
        }
    }

    /// `reset_probe_bw_mode`: begins at any phase but the one that drains.
    pub(super) fn reset_probe_bw_mode(&mut self) {
        self.mode = Mode::ProbeBw;
        let skipped = (CYCLE_RAND * self.random.uniform()) as usize;
        self.cycle_idx = CYCLE.len() - 1 - skipped;
        self.advance_cycle_phase();
    }

    /// `reset_mode`.
    fn reset_mode(&mut self) {
        if self.full_bw_reached {
            self.reset_probe_bw_mode();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `check_full_bw_reached`.
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.full_bw_reached || !self.round_start || rs.app_limited {
            return;
        }
        if self.max_bw >= self.full_bw * FULL_BW_THRESH {
            (self.full_bw, self.full_bw_cnt) = (self.max_bw, 0);
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= FULL_BW_CNT;
    }

    /// `check_drain`.
    pub(super) fn check_drain(&mut self, ack: &Ack, rs: &RateSample) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(self.max_bw, 1.0);
        }
        if self.mode == Mode::Drain
            && self.packets_in_net_at_edt(ack.in_flight, rs) <= self.inflight(self.max_bw, 1.0)
        {
            self.reset_probe_bw_mode();
        }
    }

    /// `check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt_done_stamp.is_some_and(|done| self.now > done) {
            self.min_rtt_stamp = self.now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.reset_mode();
        }
    }

    /// `update_min_rtt`, with ProbeRTT's coming and going.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, rs: &RateSample) {
        let filter_expired = self.now > self.min_rtt_stamp + MIN_RTT_WIN;
        let is_less = |rtt| filter_expired || self.min_rtt.is_none_or(|least| rtt < least);
        if let Some(rtt) = rs.rtt.filter(|rtt| is_less(*rtt)) {
            (self.min_rtt, self.min_rtt_stamp) = (Some(rtt), self.now);
        }
        if filter_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
        if rs.delivered() > 0.0 {
            self.idle_restart = false;
        }
    }

    /// ProbeRTT lasts from when four packets are in flight, 200 ms and a round.
    fn probe_rtt(&mut self, ack: &Ack) {
        self.low_samples.ignore(self.delivered, ack.in_flight);
        if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done();
            }
        } else if ack.in_flight <= CWND_MIN_TARGET {
            self.probe_rtt_done_stamp = Some(self.now + PROBE_RTT_MODE);
            self.probe_rtt_round_done = false;
            self.next_rtt_delivered = self.delivered;
        }
    }

    /// `update_gains`.
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.lt.use_bw => (1.0, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle_idx], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }
}
