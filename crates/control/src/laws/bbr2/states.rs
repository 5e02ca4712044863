//! Its modes: Startup, Drain, the four phases of ProbeBW, ProbeRTT.

use super::{BbrLinux, CWND_MIN_TARGET, CaState, Version};
use crate::{Ack, RateSample};
use narrows_units::Duration;

/// `drain_gain`: 256·1000/2885, rounded down.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// `pacing_gain` of UP, and version 2's `bw_probe_pif_gain`: a queue of a quarter ends UP.
const PROBE_UP_GAIN: f64 = 1.25;
/// `cwnd_gain`.
const CWND_GAIN: f64 = 2.0;
/// `probe_rtt_cwnd_gain`.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// `full_bw_thresh`: growth that shows that the pipe is not full.
const FULL_BW_THRESH: f64 = 1.25;
/// `full_bw_cnt`: rounds without it.
const FULL_BW_CNT: u32 = 3;
/// `bw_probe_max_rounds`.
const BW_PROBE_MAX_ROUNDS: f64 = 63.0;
/// `bw_probe_base_us`: the wait between probes, and up to a second more.
const BW_PROBE_BASE: Duration = Duration::from_millis(2_000);
/// `min_rtt_win_sec`, `probe_rtt_win_ms`, `probe_rtt_mode_ms`.
const MIN_RTT_WIN: Duration = Duration::from_millis(10_000);
const PROBE_RTT_WIN: Duration = Duration::from_millis(5_000);
const PROBE_RTT_MODE: Duration = Duration::from_millis(200);

/// `bbr_mode` and, in ProbeBW, `cycle_idx`; in the order in which the series `state` counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles the rate each round, to fill the pipe.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Slower than the path.
    ProbeDown,
    /// As fast as the path.
    ProbeCruise,
    /// As fast, to fill the pipe before probing.
    ProbeRefill,
    /// Faster than the path, to see whether it gives more.
    ProbeUp,
    /// Half a BDP, to see the path without queues.
    ProbeRtt,
}

/// `bbr_ack_phase`: what acknowledgements mean for the probing of bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Version {
    /// `startup_pacing_gain`: 4·ln 2; version 2's `high_gain`: 2/ln 2.
    pub(super) fn startup_pacing_gain(self) -> f64 {
        match self {
            Self::Two => 739.0 / 256.0,
            Self::Three => 710.0 / 256.0,
        }
    }

    /// `startup_cwnd_gain`; version 2's `high_gain`.
    fn startup_cwnd_gain(self) -> f64 {
        match self {
            Self::Two => 739.0 / 256.0,
            Self::Three => 2.0,
        }
    }

    /// `pacing_gain` of DOWN.
    fn probe_down_gain(self) -> f64 {
        match self {
            Self::Two => 0.75,
            Self::Three => 232.0 / 256.0,
        }
    }

    /// `cwnd_gain` of UP, with `bw_probe_cwnd_gain`.
    fn probe_up_cwnd_gain(self) -> f64 {
        match self {
            Self::Two => CWND_GAIN,
            Self::Three => CWND_GAIN + 0.25,
        }
    }

    /// `full_loss_cnt`: acknowledgements with losses in a round that end Startup.
    pub(super) fn full_loss_cnt(self) -> u32 {
        match self {
            Self::Two => 8,
            Self::Three => 6,
        }
    }
}

impl Mode {
    /// True in the phases of ProbeBW.
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill | Self::ProbeUp)
    }

    /// `bbr_mode`: the phases of ProbeBW are one.
    pub(super) fn without_phase(self) -> Self {
        if self.is_probe_bw() { Self::ProbeDown } else { self }
    }
}

impl BbrLinux {
    /// `update_gains`.
    pub(super) fn update_gains(&mut self) {
        let version = self.version;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (version.startup_pacing_gain(), version.startup_cwnd_gain()),
            Mode::Drain => (DRAIN_GAIN, version.startup_cwnd_gain()),
            Mode::ProbeDown => (version.probe_down_gain(), CWND_GAIN),
            Mode::ProbeCruise | Mode::ProbeRefill => (1.0, CWND_GAIN),
            Mode::ProbeUp => (PROBE_UP_GAIN, version.probe_up_cwnd_gain()),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// `reset_full_bw`.
    pub(super) fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_cnt, self.full_bw_now) = (0.0, 0, false);
    }

    /// `check_full_bw_reached`. Version 2 looks at max_bw at each round, until the pipe is full;
    /// version 3 at each sample, and again in UP.
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        let (is_over, bw) = match self.version {
            Version::Two => (self.full_bw_reached || !self.round.round_start, self.max_bw()),
            Version::Three => (self.full_bw_now, rs.delivery_rate.unwrap_or(0.0)),
        };
        if is_over || rs.app_limited {
            return;
        }
        if bw >= self.full_bw * FULL_BW_THRESH {
            self.reset_full_bw();
            self.full_bw = bw;
        } else if self.round.round_start {
            self.full_bw_cnt += 1;
            self.full_bw_now = self.full_bw_cnt >= FULL_BW_CNT;
            self.full_bw_reached |= self.full_bw_now;
        }
    }

    /// `check_drain`.
    pub(super) fn check_drain(&mut self, ack: &Ack, rs: &RateSample) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(self.max_bw(), 1.0);
            self.reset_congestion_signals();
        }
        if self.mode == Mode::Drain
            && self.packets_in_net_at_edt(ack.in_flight, rs) <= self.inflight(self.max_bw(), 1.0)
        {
            self.start_bw_probe_down();
        }
    }

    /// `set_cycle_idx`.
    fn enter(&mut self, phase: Mode) {
        self.mode = phase;
        self.try_fast_path = false;
    }

    /// `start_bw_probe_refill`: UP begins as after `bw_probe_up_rounds` rounds of it.
    pub(super) fn start_bw_probe_refill(&mut self, bw_probe_up_rounds: u32) {
        self.reset_lower_bounds();
        self.probe.bw_probe_up_rounds = bw_probe_up_rounds;
        self.probe.bw_probe_up_acks = 0.0;
        self.probe.stopped_risky_probe = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.round.next_rtt_delivered = self.delivered;
        self.enter(Mode::ProbeRefill);
    }

    /// `start_bw_probe_up`.
    fn start_bw_probe_up(&mut self, rs: &RateSample) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.round.next_rtt_delivered = self.delivered;
        self.cycle_mstamp = self.now;
        if self.version == Version::Three {
            self.look_for_plateau(rs);
        }
        self.enter(Mode::ProbeUp);
        self.raise_inflight_hi_slope();
    }

    fn look_for_plateau(&mut self, rs: &RateSample) {
        self.reset_full_bw();
        self.full_bw = rs.delivery_rate.unwrap_or(0.0);
    }

    /// `start_bw_probe_down`, with `pick_probe_wait`.
    pub(super) fn start_bw_probe_down(&mut self) {
        self.reset_congestion_signals();
        self.probe.bw_probe_up_cnt = f64::INFINITY;
        self.probe.rounds_since_probe = if self.random.happens(0.5) { 1.0 } else { 0.0 };
        self.probe.probe_wait =
            BW_PROBE_BASE + Duration::from_millis(1_000).scale(self.random.uniform());
        self.cycle_mstamp = self.now;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.round.next_rtt_delivered = self.delivered;
        self.enter(Mode::ProbeDown);
    }

    /// `start_bw_probe_cruise`.
    fn start_bw_probe_cruise(&mut self) {
        if self.inflight_lo.is_finite() {
            self.inflight_lo = self.inflight_lo.min(self.inflight_hi);
        }
        self.enter(Mode::ProbeCruise);
    }

    /// `check_time_to_probe_bw`: by the clock, when a Reno flow would have probed, or in version 3
    /// when there were marks and no losses.
    fn check_time_to_probe_bw(&mut self) -> bool {
        let marks = &self.marks;
        let has_marks_only = marks.eligible && marks.in_cycle && !self.round.loss_in_cycle;
        if self.version == Version::Three && has_marks_only && self.ca_state == CaState::Open {
            let half = (self.inflight_hi / 2.0).min(f64::from(1u32 << 30));
            self.start_bw_probe_refill(half.max(1.0).log2().floor() as u32);
            return true;
        }
        let has_waited = self.now.since(self.cycle_mstamp) > self.probe.probe_wait;
        let rounds = self.target_inflight().min(BW_PROBE_MAX_ROUNDS);
        let is_time = has_waited || self.probe.rounds_since_probe >= rounds;
        if is_time {
            self.start_bw_probe_refill(0);
        }
        is_time
    }

    /// `update_cycle_phase`.
    pub(super) fn update_cycle_phase(&mut self, rs: &RateSample) {
        if !self.full_bw_reached || self.adapt_upper_bounds(rs) {
            return;
        }
        let inflight = self.packets_in_net_at_edt(rs.prior_in_flight, rs);
        let mode = self.mode;
        match mode {
            Mode::ProbeCruise => {
                self.check_time_to_probe_bw();
            }
            Mode::ProbeRefill if self.round.round_start => {
                self.probe.bw_probe_samples = true;
                self.start_bw_probe_up(rs);
            }
            Mode::ProbeUp if self.is_bw_probe_done(inflight, rs) => {
                self.probe.prev_probe_too_high = false;
                self.start_bw_probe_down();
            }
            Mode::ProbeDown
                if !self.check_time_to_probe_bw() && self.is_time_to_cruise(inflight) =>
            {
                self.start_bw_probe_cruise();
            }
            _ => {}
        }
    }

    /// Whether UP has seen enough, with `inflight` packets in the network: inflight_hi, after a
    /// probe that went too high; else a queue (version 2) or a plateau (version 3).
    fn is_bw_probe_done(&mut self, inflight: f64, rs: &RateSample) -> bool {
        if self.probe.prev_probe_too_high && inflight >= self.inflight_hi {
            self.probe.stopped_risky_probe = true;
            return true;
        }
        if self.version == Version::Two {
            let lasted = self.now.since(self.cycle_mstamp);
            let has_lasted = self.min_rtt.is_some_and(|min_rtt| lasted > min_rtt);
            return has_lasted && inflight >= self.inflight(self.max_bw(), PROBE_UP_GAIN);
        }
        if self.is_cwnd_limited && self.cwnd >= self.inflight_hi {
            self.look_for_plateau(rs);
            return false;
        }
        self.full_bw_now
    }

    /// `check_time_to_cruise`.
    fn is_time_to_cruise(&self, inflight: f64) -> bool {
        inflight <= self.inflight_with_headroom() && inflight <= self.inflight(self.max_bw(), 1.0)
    }

    /// `probe_rtt_cwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(CWND_MIN_TARGET)
    }

    /// `update_min_rtt`, with ProbeRTT's coming and going.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, rs: &RateSample) {
        let probe_rtt_expired = self.now > self.probe_rtt_min_stamp + PROBE_RTT_WIN;
        let least = self.probe_rtt_min;
        let is_less = |rtt: Duration| match self.version {
            Version::Two => least.is_none_or(|least| rtt <= least),
            Version::Three => least.is_none_or(|least| rtt < least),
        };
        if let Some(rtt) = rs.rtt.filter(|rtt| is_less(*rtt) || probe_rtt_expired) {
            (self.probe_rtt_min, self.probe_rtt_min_stamp) = (Some(rtt), self.now);
        }
        let min_rtt_expired = self.now > self.min_rtt_stamp + MIN_RTT_WIN;
        let is_least = |rtt: Duration| self.min_rtt.is_none_or(|least| rtt <= least);
        if self.probe_rtt_min.is_some_and(|rtt| is_least(rtt) || min_rtt_expired) {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min, self.probe_rtt_min_stamp);
        }
        if probe_rtt_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.round.next_rtt_delivered = self.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
        if rs.delivered() > 0.0 {
            self.idle_restart = false;
        }
    }

    /// ProbeRTT lasts from when half a BDP is in flight, 200 ms and a round.
    fn probe_rtt(&mut self, ack: &Ack) {
        self.low_samples.ignore(self.delivered, ack.in_flight);
        if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.round.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done();
            }
        } else if ack.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done_stamp = Some(self.now + PROBE_RTT_MODE);
            self.probe_rtt_round_done = false;
            self.round.next_rtt_delivered = self.delivered;
        }
    }

    /// `check_probe_rtt_done`, with `exit_probe_rtt`.
    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt_done_stamp.is_none_or(|done| self.now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = self.now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.reset_lower_bounds();
        if self.full_bw_reached {
            self.start_bw_probe_down();
            self.start_bw_probe_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
