//! BBR's state machine: Startup, Drain, the four states of ProbeBW, ProbeRTT (§5.3).

use super::{AckPhase, Bbr, MIN_PIPE_CWND, PROBE_RTT_DURATION, State};
use crate::{Ack, RateSample};

/// §2.5: the least gain that lets the rate double each round, 4·ln 2 = 2.77.
const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DEFAULT_CWND_GAIN: f64 = 2.0;
/// §5.3.3.1 and the table of §5.6.1.
const PROBE_DOWN_PACING_GAIN: f64 = 0.9;
const PROBE_UP_PACING_GAIN: f64 = 1.25;
const PROBE_UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// §5.3.1.3, BBRStartupFullLossCnt.
const STARTUP_FULL_LOSS_CNT: u32 = 6;
/// §5.3.1.2: rounds without growth by a quarter.
const FULL_BW_COUNT: u32 = 3;
const FULL_BW_GROWTH: f64 = 1.25;
/// §5.3.2: rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;
/// §5.3.3.8.2: rounds after which a Reno flow would have grown to meet a large BDP.
const RENO_ROUNDS: f64 = 63.0;

/// Why Startup ends before a plateau.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Losses,
    Marks,
}

impl Bbr {
    /// §5.3.1.1, EnterStartup.
    pub(super) fn enter_startup(&mut self) {
        self.enter(State::Startup);
    }

    /// Each state with its gains (the table of §5.6.1).
    fn enter(&mut self, state: State) {
        self.state = state;
        (self.pacing_gain, self.cwnd_gain) = match state {
            State::Startup => (STARTUP_PACING_GAIN, DEFAULT_CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, DEFAULT_CWND_GAIN),
            State::ProbeBwDown => (PROBE_DOWN_PACING_GAIN, DEFAULT_CWND_GAIN),
            State::ProbeBwCruise | State::ProbeBwRefill => (1.0, DEFAULT_CWND_GAIN),
            State::ProbeBwUp => (PROBE_UP_PACING_GAIN, PROBE_UP_CWND_GAIN),
            State::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        };
    }

    /// §5.3.1.2, ResetFullBW.
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// §5.3.1.2, CheckFullBWReached.
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.full_bw_now || !self.round_start || rs.app_limited {
            return;
        }
        let rate = rs.delivery_rate.unwrap_or(0.0);
        if rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_COUNT;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// §5.3.1.1, CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, ack: &Ack, rs: &RateSample) {
        self.check_startup_high_loss(ack, rs);
        if self.state == State::Startup && self.full_bw_reached {
            self.enter(State::Drain);
            self.drain_start_round = self.round_count;
        }
    }

    /// §5.3.1.3, CheckStartupHighLoss: in recovery for a round, with losses above the threshold and
    /// in several places.
    fn check_startup_high_loss(&mut self, ack: &Ack, rs: &RateSample) {
        if self.full_bw_reached {
            return;
        }
        // A recovery of QUIC's ends with the very acknowledgement that ends its first round: that
        // of a packet sent since the loss was known (RFC 9002 §7.3.2).
        let recovering = ack.recovering || self.leaves_fast_recovery;
        let several = self.loss_ranges_in_round >= STARTUP_FULL_LOSS_CNT;
        if self.loss_round_start
            && recovering
            && several
            && self.is_inflight_too_high(rs.lost, rs.tx_in_flight)
        {
            self.end_startup(Ending::Losses);
        }
        if self.loss_round_start {
            self.loss_ranges_in_round = 0;
        }
    }

    /// Takes the pipe to be full; after losses, also sets the number of packets in flight that is
    /// thought to be safe (§5.3.1.3).
    pub(super) fn end_startup(&mut self, ending: Ending) {
        self.full_bw_reached = true;
        self.full_bw_now = true;
        if ending == Ending::Losses {
            self.undo.state = Some(State::Startup);
            self.path.inflight_longterm =
                self.bdp_multiple(self.path.bw, 1.0).max(self.path.inflight_latest);
        }
    }

    /// §5.3.2, CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, ack: &Ack) {
        let drained = ack.in_flight <= self.inflight(self.path.bw, 1.0);
        if self.state == State::Drain
            && (drained || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_probe_bw_down();
        }
    }

    /// §5.3.3.9, StartProbeBW_DOWN; also EnterProbeBW.
    pub(super) fn start_probe_bw_down(&mut self) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = self.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.enter(State::ProbeBwDown);
    }

    fn start_probe_bw_cruise(&mut self) {
        self.enter(State::ProbeBwCruise);
    }

    /// §5.3.3.9, StartProbeBW_REFILL.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::ProbeBwRefill);
    }

    /// §5.3.3.9, StartProbeBW_UP.
    fn start_probe_bw_up(&mut self, rs: &RateSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = rs.delivery_rate.unwrap_or(0.0);
        self.enter(State::ProbeBwUp);
        self.raise_inflight_longterm_slope();
    }

    /// §5.3.3.9, UpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, ack: &Ack, rs: &RateSample) {
        if !self.full_bw_reached || self.adapt_long_term_model(rs) {
            return;
        }
        match self.state {
            State::ProbeBwDown if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::ProbeBwDown if self.is_time_to_cruise(ack) => self.start_probe_bw_cruise(),
            State::ProbeBwCruise if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::ProbeBwRefill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up(rs);
            }
            State::ProbeBwUp => self.go_down_in_time(ack, rs),
            _ => {}
        }
    }

    fn go_down_in_time(&mut self, ack: &Ack, rs: &RateSample) {
        if self.is_time_to_go_down(ack, rs) {
            self.prev_probe_too_high = false;
            self.start_probe_bw_down();
        }
    }

    /// §5.3.3.9, IsInAProbeBWState.
    pub(super) fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(
            self.state,
            State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp
        )
    }

    /// §5.3.3.9, IsTimeToCruise.
    fn is_time_to_cruise(&self, ack: &Ack) -> bool {
        ack.in_flight <= self.inflight_with_headroom()
            && ack.in_flight <= self.inflight(self.path.max_bw, 1.0)
    }

    /// §5.3.3.9, IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, ack: &Ack, rs: &RateSample) -> bool {
        if self.prev_probe_too_high && self.reaches_inflight_longterm(ack) {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited && self.cwnd >= self.path.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = rs.delivery_rate.unwrap_or(0.0);
            return false;
        }
        self.full_bw_now
    }

    /// C.inflight ≥ BBR.inflight_longterm, in whole packets: one more would have been too many.
    fn reaches_inflight_longterm(&self, ack: &Ack) -> bool {
        // What is in flight is taken before the acknowledgement, as in BBRv3's Linux code
        // (bbr_update_cycle_phase: rs->prior_in_flight). After it there is room again, and a sender
        // that never exceeds a window of inflight_longterm would never be seen to reach it.
        ack.in_flight + ack.packets + 1.0 > self.path.inflight_longterm
    }

    /// §5.3.3.8.3, IsTimeToProbeBW: by the clock, or when a Reno flow would have probed.
    fn is_time_to_probe_bw(&self) -> bool {
        self.now.since(self.cycle_stamp).seconds() > self.bw_probe_wait
            || self.rounds_since_probe_up >= self.target_inflight().min(RENO_ROUNDS)
    }

    /// §5.3.3.8.3, PickProbeWait.
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = if self.random.happens(0.5) { 1.0 } else { 0.0 };
        self.bw_probe_wait = 2.0 + self.random.uniform();
    }

    /// §5.3.3.9, RaiseInflightLongtermSlope: 1, 2, 4, … packets per round.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = f64::from(1u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(1.0);
    }

    /// §5.3.3.9, ProbeInflightLongtermUpward.
    pub(super) fn probe_inflight_longterm_upward(&mut self) {
        if !self.is_cwnd_limited || self.cwnd < self.path.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += self.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.path.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// §5.3.4.3, CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, rs: &RateSample) {
        if self.state != State::ProbeRtt && self.probe_rtt.expired && !self.idle_restart {
            self.enter(State::ProbeRtt);
            self.save_cwnd();
            self.probe_rtt.done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if rs.delivered() > 0.0 {
            self.idle_restart = false;
        }
    }

    /// §5.3.4.3, HandleProbeRTT.
    fn handle_probe_rtt(&mut self, ack: &Ack) {
        self.probe_rtt.low_samples.ignore(self.delivered, ack.in_flight);
        match self.probe_rtt.done_stamp {
            None if ack.in_flight <= self.probe_rtt_cwnd() => {
                self.probe_rtt.done_stamp = Some(self.now + PROBE_RTT_DURATION);
                self.probe_rtt.round_done = false;
                self.start_round();
            }
            None => {}
            Some(_) => {
                self.probe_rtt.round_done |= self.round_start;
                if self.probe_rtt.round_done {
                    self.check_probe_rtt_done();
                }
            }
        }
    }

    /// §5.3.4.3, CheckProbeRTTDone; §5.3.4.4, ExitProbeRTT.
    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt.done_stamp.is_none_or(|done| self.now <= done) {
            return;
        }
        self.probe_rtt.min_stamp = self.now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down();
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// §5.6.4.5, ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.path.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }
}
