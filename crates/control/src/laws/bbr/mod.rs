//! BBR, version 3 (draft-ietf-ccwg-bbr-06, July 2026). Sections and names are the draft's.
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5.2.3 | what each acknowledgement does, in order | [`Bbr::on_ack`] |
//! | §5.3.1 | Startup at a gain of 2.77 until the rate grows by less than a quarter in three rounds, or 2 % are lost | `states` |
//! | §5.3.2 | Drain at 0.5 | `states` |
//! | §5.3.3 | ProbeBW: DOWN at 0.9, CRUISE at 1, REFILL at 1 for a round, UP at 1.25 | `states` |
//! | §5.3.4 | ProbeRTT: half a BDP for 200 ms and a round, every 5 s | `states` |
//! | §5.5.5, §5.5.6 | max_bw: the largest delivery rate of two cycles | `model` |
//! | §5.5.9 | extra_acked: what aggregation acknowledged beyond bw·t, over ten rounds | `model` |
//! | §5.5.10.2 | inflight_longterm ← max(in flight, 0.7·target) when a probe loses 2 % | `model` |
//! | §5.5.10.3 | else bw_shortterm, inflight_shortterm ← max(latest, 0.7·) after a round with losses | `model` |
//! | §5.6.2 | rate = gain·bw·0.99 | [`Bbr::set_pacing_rate`] |
//! | §5.6.4 | cwnd ≤ gain·bw·min_rtt + extra_acked, within the model's bounds, at least 4 | [`Bbr::set_cwnd`] |
//!
//! The draft leaves marks open ("MUST treat any CE marks as congestion", §3.7). With `ecn` they are
//! answered as in BBRv3's Linux code (google/bbr, branch v3): inflight_shortterm shrinks by α/3 in
//! a round with marks, and α is their average share. A round with half of its packets marked is as
//! bad as one with 2 % lost. Marks are answered only if min_rtt is at most 5 ms.
//!
//! Departures. Volumes are in packets: SMSS is 1. The send quantum (§5.6.3) is the transport's if
//! that has a fixed one, and where that makes its own, longer trains than the draft's leave on
//! paths below 16 ms; the offload budget (§5.5.8) is three times the send quantum. Controllers are
//! not told the RTT of the handshake, so min_rtt is unknown (§5.2.1, OnInit) and the first rate
//! that of 1 ms (§5.6.2, InitPacingRate) until the first acknowledgement of data; then the rate is
//! set again, as in Linux. ProbeRTT's low samples (§5.3.4.3, MarkConnectionAppLimited) are
//! recognised by when their packets left. The recovery after a retransmission timeout ends when a
//! packet that left after the timeout is answered. A precautionary probe (§5.3.3.6) stops when what
//! was in flight before the acknowledgement has reached inflight_longterm in whole packets.

pub(in crate::laws) mod filter;
pub(in crate::laws) mod low_samples;
mod model;
mod states;

use super::bbr2::{self, Version};
use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::{Ack, Controller, Gaps, Idle, Loss, Needs, Pacing, RateSample, Timeout};
use filter::{TwoSlots, WindowedMax};
use low_samples::LowSamples;
use narrows_settings::{Settings, choice, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Stream, Time};
use states::Ending;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "bbr",
    aliases: &["bbr3", "bbrv3"],
    summary: "BBR version 3: models the bandwidth and the RTT of the path, paces at that bandwidth \
              and limits the packets in flight by both",
    source: "draft-ietf-ccwg-bbr-06; google/bbr, branch v3",
    moved_by: MovedBy::DeliveryRate,
    start: Start::Own,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        if params.r#as.unwrap_or(if birth.in_linux { As::Linux } else { As::Draft }) == As::Linux {
            let ecn = params.ecn.then_some(bbr2::Heeded::USUAL);
            return Ok(bbr2::recipe(Version::Three, ecn, birth));
        }
        let quantum =
            SendQuantum { given: birth.quantum, most: 65_536.0 / f64::from(birth.packet_bytes) };
        let initial_window = birth.initial_window;
        Ok(Recipe::seeded(move |seed| Box::new(Bbr::new(params, quantum, initial_window, seed))))
    },
};

settings! {
    /// Settings of BBR.
    pub struct Params {
        /// Whether packets are ECN-capable and marks are answered (§3.7).
        ecn: bool = false;
        /// Which text it follows: the draft's, or Google's Linux's (branch v3).
        r#as: Option<As> = None => "linux over TCP with Linux's habits, draft elsewhere";
    }
}

choice! {
    /// What version 3 follows.
    pub enum As("choice among draft and linux") {
        /// draft-ietf-ccwg-bbr-06.
        Draft = "draft",
        /// google/bbr, branch v3.
        Linux = "linux",
    }
}

/// §2.8: losses tolerated in a round of probing, a ratio.
const LOSS_THRESH: f64 = 0.02;
/// §2.8: what is kept in a round with losses, a ratio.
const BETA: f64 = 0.7;
/// §2.8: share of inflight_longterm left free.
const HEADROOM: f64 = 0.15;
/// §2.8: the smallest window, in packets.
const MIN_PIPE_CWND: f64 = 4.0;
/// §2.5: BBR paces 1 % below the rate it aims at.
const PACING_MARGIN: f64 = 0.99;
/// §2.16.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_millis(10_000);
const PROBE_RTT_INTERVAL: Duration = Duration::from_millis(5_000);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// BBRv3's Linux code: weight of a round in α, share of α given up, share of marks that is too
/// many, rounds with too many that end Startup, and the RTT in seconds above which marks are not
/// answered.
const ECN_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
const ECN_THRESH: f64 = 0.5;
const STARTUP_FULL_ECN_CNT: u32 = 2;
const ECN_MAX_RTT: f64 = 0.005;

/// §5.1: the states, in the order in which the series `state` counts them from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Doubles the rate each round.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Slower than the path.
    ProbeBwDown,
    /// As fast as the path.
    ProbeBwCruise,
    /// As fast, to fill the pipe before probing.
    ProbeBwRefill,
    /// Faster than the path, to see whether it gives more.
    ProbeBwUp,
    /// Half a BDP, to see the path without queues.
    ProbeRtt,
}

/// §2.14: what acknowledgements mean for the probing of bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// §2.15: what is restored if a recovery proves spurious.
#[derive(Default, Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// A recovery, as far as the window is concerned (§5.6.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    Fast,
    /// After a timeout, until this transmission or a later one is answered; `None` until the next
    /// acknowledgement says which transmission that is.
    Timeout(Option<u64>),
}

/// The model of the path (§2.9 to §2.12), in packets, packets per second and seconds.
#[derive(Clone, Copy, Debug)]
struct Path {
    max_bw: f64,
    max_bw_filter: TwoSlots,
    bw: f64,
    bw_shortterm: f64,
    bw_latest: f64,
    inflight_longterm: f64,
    inflight_shortterm: f64,
    inflight_latest: f64,
    extra_acked: f64,
    extra_acked_filter: WindowedMax,
    extra_acked_interval_start: Time,
    extra_acked_delivered: f64,
    min_rtt: f64,
    min_rtt_stamp: Time,
}

impl Path {
    /// Nothing is known (§5.2.1, OnInit).
    fn unknown() -> Self {
        Self {
            max_bw: 0.0,
            max_bw_filter: TwoSlots::default(),
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_latest: 0.0,
            extra_acked: 0.0,
            extra_acked_filter: WindowedMax::default(),
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0.0,
            min_rtt: f64::INFINITY,
            min_rtt_stamp: Time::ZERO,
        }
    }
}

/// When ProbeRTT comes and goes (§2.16).
#[derive(Clone, Copy, Debug, Default)]
struct ProbeRtt {
    min_delay: f64,
    min_stamp: Time,
    expired: bool,
    done_stamp: Option<Time>,
    round_done: bool,
    low_samples: LowSamples,
}

/// What marks say (BBRv3's Linux code).
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    in_round: bool,
    too_many: bool,
    alpha: f64,
    rounds_of_too_many: u32,
    packets: f64,
    marked: f64,
}

/// How many packets leave together (§5.6.3).
#[derive(Clone, Copy, Debug)]
pub struct SendQuantum {
    /// The transport's number, if it has a fixed one.
    given: Option<f64>,
    /// Packets in 64 kB.
    most: f64,
}

impl SendQuantum {
    /// BBR.send_quantum in packets at a pacing `rate` in packets per second: a millisecond, between
    /// two packets and 64 kB.
    fn packets(&self, rate: f64) -> f64 {
        self.given.unwrap_or_else(|| (0.001 * rate).min(self.most).max(2.0))
    }
}

/// BBR's state. Names are the draft's; volumes are in packets, rates in packets per second, spans
/// in seconds.
pub struct Bbr {
    ecn: bool,
    quantum: SendQuantum,
    initial_cwnd: f64,
    random: Stream,
    now: Time,
    born: bool,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    cwnd: f64,
    prior_cwnd: f64,
    recovery: Recovery,
    /// This acknowledgement ends a fast recovery.
    leaves_fast_recovery: bool,
    delivered: f64,
    newly_acked: f64,
    is_cwnd_limited: bool,
    was_cwnd_full: bool,
    round_count: u64,
    round_start: bool,
    next_round_delivered: f64,
    idle_restart: bool,
    drain_start_round: u64,
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    is_loss_in_round: bool,
    loss_round_start: bool,
    loss_round_delivered: f64,
    loss_ranges_in_round: u32,
    last_lost: Option<u64>,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: f64,
    bw_probe_wait: f64,
    cycle_stamp: Time,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    undo: Undo,
    path: Path,
    probe_rtt: ProbeRtt,
    marks: Marks,
}

impl Bbr {
    /// BBR with `params`; packets leave together by `quantum`; starts with `initial_window` packets
    /// (§5.2.1, OnInit).
    pub fn new(params: Params, quantum: SendQuantum, initial_window: f64, seed: u64) -> Self {
        let infinity = f64::INFINITY;
        let mut bbr = Self {
            ecn: params.ecn,
            quantum,
            initial_cwnd: initial_window,
            random: Stream::new(seed, 0, 0),
            now: Time::ZERO,
            born: false,
            state: State::Startup,
            pacing_gain: 1.0,
            cwnd_gain: 1.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            cwnd: initial_window,
            prior_cwnd: 0.0,
            recovery: Recovery::None,
            leaves_fast_recovery: false,
            delivered: 0.0,
            newly_acked: 0.0,
            is_cwnd_limited: false,
            was_cwnd_full: false,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0.0,
            idle_restart: false,
            drain_start_round: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            is_loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0.0,
            loss_ranges_in_round: 0,
            last_lost: None,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: infinity,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0.0,
            bw_probe_wait: 0.0,
            cycle_stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            undo: Undo::default(),
            path: Path::unknown(),
            probe_rtt: ProbeRtt { min_delay: infinity, ..ProbeRtt::default() },
            marks: Marks { alpha: 1.0, ..Marks::default() },
        };
        bbr.enter_startup();
        bbr.init_pacing_rate(0.001);
        bbr
    }

    /// The state it is in (§5.1).
    pub fn state(&self) -> State {
        self.state
    }

    /// Sets the stamps that OnInit takes from the clock (§5.2.1), at the first event that tells the
    /// time.
    fn be_born(&mut self, now: Time) {
        if !self.born {
            self.born = true;
            (
                self.path.min_rtt_stamp,
                self.probe_rtt.min_stamp,
                self.path.extra_acked_interval_start,
            ) = (now, now, now);
        }
    }

    /// §5.2.3, UpdateModelAndState.
    fn update_model_and_state(&mut self, ack: &Ack, rs: &RateSample) {
        self.update_latest_delivery_signals(rs);
        self.update_congestion_signals(rs);
        self.update_cwnd_limited(ack);
        self.update_ecn(ack, rs);
        self.update_ack_aggregation(ack);
        self.check_full_bw_reached(rs);
        self.check_startup_done(ack, rs);
        self.check_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack, rs);
        self.update_min_rtt(rs);
        self.check_probe_rtt(ack, rs);
        self.advance_latest_delivery_signals(rs);
        self.bound_bw_for_model();
    }

    /// §2.2, C.is_cwnd_limited: the window was full at some time of the last round.
    fn update_cwnd_limited(&mut self, ack: &Ack) {
        let full_before = ack.in_flight + ack.packets + 1.0 > self.cwnd;
        if self.round_start {
            self.is_cwnd_limited = self.was_cwnd_full;
            self.was_cwnd_full = false;
        }
        self.was_cwnd_full |= full_before;
        self.is_cwnd_limited |= full_before;
    }

    /// §5.6.2, InitPacingRate, with an RTT of `srtt` seconds.
    fn init_pacing_rate(&mut self, srtt: f64) {
        self.pacing_rate = self.pacing_gain * self.initial_cwnd / srtt;
    }

    /// §5.6.2, SetPacingRateWithGain.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.path.bw * PACING_MARGIN;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// §5.6.4.2, BDPMultiple: packets, for a path of `bw` packets per second.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        if self.path.min_rtt.is_infinite() {
            self.initial_cwnd
        } else {
            gain * bw * self.path.min_rtt
        }
    }

    /// §5.6.4.2, QuantizationBudget.
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let offload_budget = 3.0 * self.quantum.packets(self.pacing_rate);
        let cap = inflight_cap.max(offload_budget).max(MIN_PIPE_CWND);
        if self.state == State::ProbeBwUp { cap + 2.0 } else { cap }
    }

    /// §5.6.4.2, Inflight.
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// §5.6.4.6, SetCwnd.
    fn set_cwnd(&mut self) {
        let max_inflight = self.quantization_budget(
            self.bdp_multiple(self.path.bw, self.cwnd_gain) + self.path.extra_acked,
        );
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + self.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.delivered < self.initial_cwnd {
            self.cwnd += self.newly_acked;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// §5.6.4.7, BoundCwndForModel.
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => {
                self.path.inflight_longterm
            }
            State::ProbeRtt | State::ProbeBwCruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        self.cwnd = self.cwnd.min(cap.min(self.path.inflight_shortterm).max(MIN_PIPE_CWND));
    }

    /// §5.6.4.4, SaveCwnd.
    fn save_cwnd(&mut self) {
        let modulated = self.recovery != Recovery::None || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// §5.6.4.4, RestoreCwnd.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// §5.6.4.4: the window comes back when a recovery ends.
    fn leave_recovery(&mut self, ack: &Ack) {
        self.leaves_fast_recovery = self.recovery == Recovery::Fast && !ack.recovering;
        let ends = match self.recovery {
            Recovery::None => false,
            Recovery::Fast => !ack.recovering,
            Recovery::Timeout(None) => {
                self.recovery = Recovery::Timeout(Some(ack.next));
                false
            }
            Recovery::Timeout(Some(next)) => ack.newest >= next,
        };
        if ends {
            self.recovery = Recovery::None;
            self.restore_cwnd();
        }
    }
}

impl Controller for Bbr {
    /// §5.2.3, UpdateOnACK.
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        self.now = ack.now;
        self.be_born(ack.now);
        self.delivered = sample.total_delivered;
        self.newly_acked = ack.packets;
        if let Some(rtt) = ack.rtt.filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.init_pacing_rate(rtt.smoothed.seconds());
        }
        let sample = self.probe_rtt.low_samples.judge(sample);
        self.leave_recovery(ack);
        self.update_model_and_state(ack, &sample);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd();
    }

    /// §5.5.10.2, HandleLostPacket; §5.6.4.4, OnEnterFastRecovery.
    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch {
            self.save_state_upon_loss();
            self.recovery = Recovery::Fast;
        }
        self.handle_lost_packet(loss);
    }

    /// §5.6.4.4, OnEnterRTO: C.cwnd = C.inflight + 1.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.now = timeout.now;
        self.save_state_upon_loss();
        self.recovery = Recovery::Timeout(None);
        self.cwnd = timeout.in_flight + 1.0;
    }

    /// §5.4.1, HandleRestartFromIdle.
    fn on_restart(&mut self, idle: &Idle) {
        if !idle.app_limited {
            return;
        }
        self.now = idle.now;
        self.idle_restart = true;
        self.path.extra_acked_interval_start = idle.now;
        if self.is_in_a_probe_bw_state() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done();
        }
    }

    /// §5.5.11.2, HandleSpuriousLossDetection.
    fn on_spurious(&mut self) {
        self.recovery = Recovery::None;
        self.handle_spurious_loss_detection();
    }

    fn window(&self) -> f64 {
        self.cwnd
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: if self.ecn { Ecn::Capable } else { Ecn::NotCapable },
            rate_samples: true,
            own_recovery: true,
            ignores_marks: !self.ecn,
            ..Needs::default()
        }
    }

    /// §5.6.2.
    fn pacing(&self) -> Pacing {
        Pacing::Rate { packets_per_second: self.pacing_rate, gaps: Gaps::Even }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("state", f64::from(self.state as u8));
        show("pacing_gain", self.pacing_gain);
        show("max_bw", self.path.max_bw);
        show("bw", self.path.bw);
        show("pacing_rate", self.pacing_rate);
        show("inflight_longterm", self.path.inflight_longterm);
        show("inflight_shortterm", self.path.inflight_shortterm);
        show("min_rtt", self.path.min_rtt);
        show("extra_acked", self.path.extra_acked);
    }
}

#[cfg(test)]
mod tests;
