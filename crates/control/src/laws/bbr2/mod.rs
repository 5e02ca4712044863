//! BBR, versions 2 and 3, as Google's Linux has them: net/ipv4/tcp_bbr.c of google/bbr's branch v3
//! (001a430b) and net/ipv4/tcp_bbr2.c of v2alpha (1a45fd4f). Functions and names are version 3's,
//! without `bbr_`; what version 2 has otherwise is in [`Version`] and where it is asked.
//!
//! | source | equation | here |
//! |---|---|---|
//! | `main` | what each acknowledgement does, in order | [`BbrLinux::on_ack`] |
//! | `check_full_bw_reached`, `check_drain` | Startup until the rate grows by less than a quarter in three rounds; Drain at 0.344 until a BDP is in flight | `states` |
//! | `update_cycle_phase` | ProbeBW: DOWN, CRUISE, REFILL, UP | `states` |
//! | `update_min_rtt` | ProbeRTT: half a BDP for 200 ms and a round, every 5 s | `states` |
//! | `adapt_upper_bounds` | inflight_hi: what a probe that lost 2 % had in flight, whichever acknowledgement tells | `model` |
//! | `adapt_lower_bounds` | bw_lo, inflight_lo ← max(latest, 0.703·) after a round with losses | `model` |
//! | `update_ecn_alpha`, `ecn_cut` | inflight_lo ← inflight_lo(1 − α/3) after a round with marks | `marks`, `model` |
//! | `set_pacing_rate` | rate = gain·bw·0.99 | [`BbrLinux::set_pacing_rate`] |
//! | `set_cwnd` | cwnd ≤ gain·bw·min_rtt + extra_acked, at least three bursts and four packets | [`BbrLinux::set_cwnd`] |
//!
//! Departures. Gains and thresholds are the file's, in 256ths, rounded down where it does; rates
//! and times are not rounded to its units. A lost packet of a burst is judged alone where the file
//! judges the burst (`bbr2_inflight_hi_from_lost_skb`). Packets are full-sized, so Linux would
//! never take an acknowledgement for a delayed one (`is_ack_delayed`). Rehashing by load (PLB) has
//! no paths to choose from. Samples of the rate are the draft's (`rate_sampler`): they begin anew
//! when nothing is in flight, in Linux when nothing is outstanding. An acknowledgement that
//! delivers nothing does not reach a law. Until data are acknowledged the rate is that of 1 ms, in
//! Linux that of the handshake. A recovery that begins as another ends does not save the window
//! again. What a loss probe has repaired is a loss to the sampler, and so version 2 sees it, which
//! in Linux it does not; version 3 does not wait for the answer of an ambiguous probe
//! (`is_acking_tlp_retrans_seq`). With `ecn` what is sent again is not ECN-capable, in Linux it is
//! (`TCP_ECN_ECT_PERMANENT`).

mod marks;
mod model;
mod states;

use super::bbr::filter::TwoSlots;
use super::bbr::low_samples::LowSamples;
use super::bbr1::aggregation::Aggregation;
use super::bbr1::{
    BURSTS_PER_SECOND, CWND_MIN_TARGET, MIN_TSO_RATE, MOST_BYTES, PACING_MARGIN, ROUNDING,
};
use crate::entry::{Birth, Entry, MovedBy, Recipe, Start};
use crate::{Ack, Controller, Gaps, Idle, Loss, Needs, Pacing, RateSample, Timeout};
use marks::Marks;
use narrows_settings::{Settings, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Stream, Time};
use states::{AckPhase, Mode};

/// Version 2's line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "bbr2",
    aliases: &["bbrv2"],
    summary: "BBR version 2, of Google's Linux: bounds what is in flight by the losses and marks of \
              its probes",
    source: "google/bbr, branch v2alpha, net/ipv4/tcp_bbr2.c",
    moved_by: MovedBy::DeliveryRate,
    start: Start::Own,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        for name in ["ecn_max_rtt", "echo"] {
            birth.given.counts_if(name, params.ecn, "ecn=true")?;
        }
        let heeded = Heeded { reach: params.ecn_max_rtt, echoed: params.echo };
        let ecn = params.ecn.then_some(heeded);
        Ok(recipe(Version::Two, ecn, birth))
    },
};

settings! {
    /// Settings of BBR version 2.
    pub struct Params {
        /// Whether packets are ECN-capable and marks are answered (`ecn_enable`).
        ecn: bool = false;
        /// The longest min_rtt of a path on which marks are answered (`ecn_max_rtt_us`, where 0
        /// stands for any).
        ecn_max_rtt: Duration = ECN_MAX_RTT, above(0.0);
        /// Whether the receiver echoes marks as of RFC 3168, as one does unless its own law is BBR
        /// 2 with `ecn_enable`; all that such an acknowledgement delivers is taken for marked.
        echo: bool = false;
    }
}

/// How marks are heeded.
#[derive(Clone, Copy, Debug)]
pub struct Heeded {
    /// The longest min_rtt of a path on which they are answered.
    pub reach: Duration,
    /// The receiver echoes them (RFC 3168); it tells of each otherwise.
    pub echoed: bool,
}

impl Heeded {
    /// As BBR has it unless it is told otherwise.
    pub(super) const USUAL: Self = Self { reach: ECN_MAX_RTT, echoed: false };
}

/// Makes controllers of `version`, which heed marks as `ecn` says.
pub(super) fn recipe(version: Version, ecn: Option<Heeded>, birth: &Birth) -> Recipe {
    let (payload, initial_window) = (birth.payload(), birth.initial_window);
    let make = move |seed| BbrLinux::new(version, ecn, payload, initial_window, seed);
    Recipe::seeded(move |seed| Box::new(make(seed)))
}

/// Which file it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// tcp_bbr2.c of v2alpha.
    Two,
    /// tcp_bbr.c of v3.
    Three,
}

/// `ecn_max_rtt_us`: marks count on paths of at most this.
const ECN_MAX_RTT: Duration = Duration::from_millis(5);
/// GSO_LEGACY_MAX_SIZE: bytes of the burst that a path without delay has.
const GSO_MAX_SIZE: f64 = 65_536.0;
/// `tso_rtt_shift`: each so many seconds of min_rtt halve that (2⁹ µs).
const TSO_RTT: Duration = Duration::from_micros(512);
/// `init_cwnd` has seven bits.
const MOST_INIT_CWND: f64 = 127.0;

/// The transport's state, as far as BBR asks (`icsk_ca_state`); Disorder is Open to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaState {
    Open,
    /// A mark is being answered, until what has left by then is acknowledged.
    Cwr(u64),
    Recovery,
    Loss,
}

/// What is restored if a recovery proves spurious (`undo_`).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    bw_lo: f64,
    inflight_lo: f64,
    inflight_hi: f64,
}

/// Round trips, and what was lost in them.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    next_rtt_delivered: f64,
    round_start: bool,
    loss_round_delivered: f64,
    loss_round_start: bool,
    loss_in_round: bool,
    loss_in_cycle: bool,
    loss_events_in_round: u32,
}

/// The probing of bandwidth.
#[derive(Clone, Copy, Debug)]
struct Probe {
    ack_phase: AckPhase,
    bw_probe_samples: bool,
    bw_probe_up_rounds: u32,
    bw_probe_up_cnt: f64,
    bw_probe_up_acks: f64,
    probe_wait: Duration,
    rounds_since_probe: f64,
    prev_probe_too_high: bool,
    stopped_risky_probe: bool,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            bw_probe_samples: false,
            bw_probe_up_rounds: 0,
            bw_probe_up_cnt: f64::INFINITY,
            bw_probe_up_acks: 0.0,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0.0,
            prev_probe_too_high: false,
            stopped_risky_probe: false,
        }
    }
}

/// BBR's state. Names are Linux's; volumes are in packets, rates in packets per second.
pub struct BbrLinux {
    version: Version,
    /// How marks are heeded; `None` if none is.
    ecn: Option<Heeded>,
    /// Bytes of a packet without headers.
    payload: f64,
    random: Stream,
    now: Time,
    born: bool,
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    init_cwnd: f64,
    cwnd: f64,
    prior_cwnd: f64,
    ssthresh: f64,
    is_cwnd_limited: bool,
    try_fast_path: bool,
    ca_state: CaState,
    prev_ca_state: CaState,
    /// A recovery has begun with the losses before this acknowledgement.
    enters_recovery: bool,
    delivered: f64,
    /// Packets that this acknowledgement delivers.
    acked: f64,
    bw_hi: TwoSlots,
    bw_lo: f64,
    bw_latest: f64,
    inflight_hi: f64,
    inflight_lo: f64,
    inflight_latest: f64,
    round: Round,
    /// None if there has been no sample.
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_min: Option<Duration>,
    probe_rtt_min_stamp: Time,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    low_samples: LowSamples,
    idle_restart: bool,
    full_bw: f64,
    full_bw_cnt: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    cycle_mstamp: Time,
    probe: Probe,
    undo: Undo,
    aggregation: Aggregation,
    marks: Marks,
}

impl BbrLinux {
    /// BBR of `version` for packets with `payload` bytes of data, which heeds marks as `ecn`
    /// says; starts with `initial_window` packets (`init`).
    pub fn new(
        version: Version,
        ecn: Option<Heeded>,
        payload: f64,
        initial_window: f64,
        seed: u64,
    ) -> Self {
        let mut bbr = Self {
            version,
            ecn,
            payload,
            random: Stream::new(seed, 0, 0),
            now: Time::ZERO,
            born: false,
            mode: Mode::Startup,
            pacing_gain: 1.0,
            cwnd_gain: 1.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            init_cwnd: initial_window.min(MOST_INIT_CWND),
            cwnd: initial_window,
            prior_cwnd: 0.0,
            ssthresh: f64::INFINITY,
            is_cwnd_limited: false,
            try_fast_path: false,
            ca_state: CaState::Open,
            prev_ca_state: CaState::Open,
            enters_recovery: false,
            delivered: 0.0,
            acked: 0.0,
            bw_hi: TwoSlots::default(),
            bw_lo: f64::INFINITY,
            bw_latest: 0.0,
            inflight_hi: f64::INFINITY,
            inflight_lo: f64::INFINITY,
            inflight_latest: 0.0,
            round: Round { loss_round_delivered: 1.0, ..Round::default() },
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            low_samples: LowSamples::default(),
            idle_restart: false,
            full_bw: 0.0,
            full_bw_cnt: 0,
            full_bw_now: false,
            full_bw_reached: false,
            cycle_mstamp: Time::ZERO,
            probe: Probe::default(),
            undo: Undo::default(),
            aggregation: Aggregation::default(),
            marks: Marks::default(),
        };
        bbr.update_gains();
        bbr.init_pacing_rate(0.001);
        bbr
    }

    /// The mode it is in.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What `init` takes from the connection once it is accepted: the time and the least RTT, which
    /// is the handshake's. The first acknowledgement is the first event to tell them.
    fn be_born(&mut self, ack: &Ack) {
        if !self.born {
            self.born = true;
            let handshake = ack.rtt.map(|rtt| rtt.minimum);
            (self.min_rtt, self.probe_rtt_min) = (handshake, handshake);
            (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (ack.now, ack.now);
            self.aggregation.restart(ack.now);
        }
    }

    /// `init_pacing_rate_from_rtt`, with an RTT in seconds.
    fn init_pacing_rate(&mut self, rtt: f64) {
        self.pacing_rate = self.version.startup_pacing_gain() * self.cwnd / rtt * PACING_MARGIN;
    }

    /// `set_pacing_rate`: it never falls before the pipe has been full.
    fn set_pacing_rate(&mut self, ack: Option<&Ack>, gain: f64) {
        let rate = gain * self.bw() * PACING_MARGIN;
        if let Some(rtt) = ack.and_then(|ack| ack.rtt).filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.init_pacing_rate(rtt.smoothed.seconds());
        }
        if rate > self.pacing_rate || self.full_bw_reached && rate > 0.0 {
            self.pacing_rate = rate;
        }
    }

    /// `sysctl_tcp_min_tso_segs`; version 2's `min_tso_segs`: packets.
    fn min_tso_segs(&self) -> f64 {
        let is_slow = self.pacing_rate * self.payload < MIN_TSO_RATE;
        if self.version == Version::Two && is_slow { 1.0 } else { 2.0 }
    }

    /// `tso_segs_goal`: the packets that leave together, more on a short path.
    fn tso_segs_goal(&self) -> f64 {
        let halvings = self
            .min_rtt
            .map_or(f64::INFINITY, |rtt| (rtt.seconds() / TSO_RTT.seconds() + ROUNDING).floor());
        let of_rtt = if halvings < 32.0 { (GSO_MAX_SIZE / halvings.exp2()).floor() } else { 0.0 };
        let bytes = (self.pacing_rate * self.payload / BURSTS_PER_SECOND).floor() + of_rtt;
        (bytes.min(MOST_BYTES) / self.payload).floor().max(self.min_tso_segs())
    }

    /// `bdp`: packets, rounded up, on a path of `bw` packets per second.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.init_cwnd, |rtt| (bw * rtt.seconds() * gain - ROUNDING).ceil())
    }

    /// `quantization_budget`: room for whole bursts in both hosts.
    fn quantization_budget(&self, cwnd: f64) -> f64 {
        let budget = cwnd.max(3.0 * self.tso_segs_goal()).max(CWND_MIN_TARGET);
        if self.mode == Mode::ProbeUp { budget + 2.0 } else { budget }
    }

    /// `inflight`: packets.
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp(bw, gain))
    }

    /// `packets_in_net_at_edt`: what will be in the network when the pacer lets the next packet go,
    /// with `inflight_now` packets in flight now.
    fn packets_in_net_at_edt(&self, inflight_now: f64, rs: &RateSample) -> f64 {
        let delivered = (self.bw() * rs.departs_in.seconds()).floor();
        let leaves = if self.pacing_gain > 1.0 { self.tso_segs_goal() } else { 0.0 };
        (inflight_now + leaves - delivered).max(0.0)
    }

    /// `save_cwnd`: the last good window, for when a recovery or ProbeRTT is over.
    fn save_cwnd(&mut self) {
        let is_whole = matches!(self.prev_ca_state, CaState::Open | CaState::Cwr(_));
        let good = is_whole && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// `ssthresh`, which is called as a recovery begins: saves what may have to be restored.
    fn save(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            bw_lo: self.bw_lo,
            inflight_lo: self.inflight_lo,
            inflight_hi: self.inflight_hi,
        };
    }

    /// `set_cwnd`.
    fn set_cwnd(&mut self) {
        let bw = self.bw();
        let aggregated = self.aggregation.cwnd(bw);
        let target = self.quantization_budget(self.bdp(bw, self.cwnd_gain) + aggregated);
        let grown = self.cwnd + self.acked;
        self.try_fast_path = false;
        if self.full_bw_reached {
            self.try_fast_path = grown >= target;
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || self.cwnd < 2.0 * self.init_cwnd {
            self.cwnd = grown;
        } else {
            self.try_fast_path = true;
        }
        self.cwnd = self.cwnd.max(CWND_MIN_TARGET);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// `bound_cwnd_for_inflight_model`.
    fn bound_cwnd(&mut self) {
        let cap = match self.mode {
            Mode::ProbeDown | Mode::ProbeRefill | Mode::ProbeUp => self.inflight_hi,
            Mode::ProbeRtt | Mode::ProbeCruise => self.inflight_with_headroom(),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_lo).max(CWND_MIN_TARGET));
    }

    /// `set_state`, as the transport leaves a recovery, or what `ssthresh` saves, as one begins or
    /// a mark is heard (`tcp_enter_cwr`).
    fn follow_transport(&mut self, ack: &Ack, rs: &RateSample) {
        if std::mem::take(&mut self.enters_recovery) {
            self.save();
            self.ca_state = CaState::Recovery;
        }
        let is_marked = ack.marked > 0.0;
        self.ca_state = match self.ca_state {
            state if rs.repairing => state,
            CaState::Cwr(end) if is_marked || ack.newest < end => CaState::Cwr(end),
            CaState::Open if is_marked => {
                self.save();
                CaState::Cwr(ack.next)
            }
            _ => CaState::Open,
        };
        if self.prev_ca_state == CaState::Loss && self.ca_state != CaState::Loss {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.try_fast_path = false;
        }
    }

    /// `update_model`, or as much of it as `run_fast_path` leaves; true if gains, rate and window
    /// have to follow.
    fn update_model(&mut self, ack: &Ack, rs: &RateSample) -> bool {
        let is_slower = rs.delivery_rate.unwrap_or(0.0) < self.max_bw();
        let is_fast = self.try_fast_path
            && rs.app_limited
            && is_slower
            && !self.round.loss_in_round
            && !self.marks.in_round;
        if is_fast {
            let before = (self.mode.without_phase(), self.min_rtt);
            self.check_drain(ack, rs);
            self.update_cycle_phase(rs);
            self.update_min_rtt(ack, rs);
            return !(self.try_fast_path && before == (self.mode.without_phase(), self.min_rtt));
        }
        self.update_congestion_signals(rs);
        self.update_ack_aggregation(ack, rs);
        self.check_loss_too_high_in_startup(rs);
        self.check_full_bw_reached(rs);
        self.check_drain(ack, rs);
        self.update_cycle_phase(rs);
        self.update_min_rtt(ack, rs);
        true
    }
}

impl Controller for BbrLinux {
    /// `main`.
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        self.now = ack.now;
        self.be_born(ack);
        (self.delivered, self.acked) = (sample.total_delivered, ack.packets);
        self.is_cwnd_limited = ack.window_limited;
        self.follow_transport(ack, &sample);
        let rs = self.low_samples.judge(sample);
        let marked = self.marks.arrived(self.ecn.is_some(), ack, &rs);
        self.update_round_start(&rs);
        if self.round.round_start {
            self.probe.rounds_since_probe = (self.probe.rounds_since_probe + 1.0).min(255.0);
            self.update_ecn_alpha();
        }
        self.marks.in_round |= self.heeds_marks() && ack.marked > 0.0;
        if self.version == Version::Three {
            self.update_latest_delivery_signals(&rs);
        }
        if self.update_model(ack, &rs) {
            self.update_gains();
            self.set_pacing_rate(Some(ack), self.pacing_gain);
            self.set_cwnd();
            self.bound_cwnd();
        }
        self.advance_latest_delivery_signals(&rs);
        self.prev_ca_state = self.ca_state;
        self.round.loss_in_cycle |= rs.lost > 0.0;
        self.marks.in_cycle |= marked > 0.0;
    }

    /// `skb_marked_lost` (net/ipv4/tcp_bbr.c); `run_loss_probe_recovery` for what a loss probe has
    /// repaired.
    fn on_loss(&mut self, loss: &Loss) {
        self.enters_recovery |= loss.opens_epoch;
        if loss.again {
            return;
        }
        match loss.rate {
            Some(sample) => {
                (self.now, self.delivered) = (loss.now, sample.total_delivered);
                self.skb_marked_lost(loss.in_flight, sample.lost, sample.app_limited);
            }
            None if self.version == Version::Three => self.run_loss_probe_recovery(),
            None => {}
        }
    }

    /// `tcp_enter_loss` in net/ipv4/tcp_input.c, with `ssthresh` and `set_state`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.now = timeout.now;
        if std::mem::take(&mut self.enters_recovery) || timeout.opens_epoch {
            self.save();
        }
        self.cwnd = timeout.in_flight + 1.0;
        (self.ca_state, self.prev_ca_state) = (CaState::Loss, CaState::Loss);
        self.full_bw = 0.0;
        if self.version == Version::Three {
            self.reset_full_bw();
        }
        if !self.is_probing_bandwidth() && self.inflight_lo.is_infinite() {
            self.inflight_lo = self.cwnd.max(self.prior_cwnd);
        }
    }

    /// `cwnd_event`, CA_EVENT_TX_START: after silence the estimated rate is enough.
    fn on_restart(&mut self, idle: &Idle) {
        self.now = idle.now;
        if !idle.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(idle.now);
        match self.mode {
            Mode::ProbeDown | Mode::ProbeCruise | Mode::ProbeRefill | Mode::ProbeUp => {
                self.set_pacing_rate(None, 1.0);
            }
            Mode::ProbeRtt => self.check_probe_rtt_done(),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `undo_cwnd`.
    fn on_spurious(&mut self) {
        if std::mem::take(&mut self.enters_recovery) {
            self.save();
        }
        self.ca_state = CaState::Open;
        self.reset_full_bw();
        self.round.loss_in_round = false;
        self.bw_lo = self.bw_lo.max(self.undo.bw_lo);
        self.inflight_lo = self.inflight_lo.max(self.undo.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(self.undo.inflight_hi);
        self.try_fast_path = false;
        if self.prior_cwnd > 0.0 {
            self.cwnd = self.prior_cwnd;
        }
    }

    fn window(&self) -> f64 {
        self.cwnd
    }

    /// A BDP when Startup is over, infinite before. Never more than the window then, so that this
    /// counts as used if it was full (`tp->is_cwnd_limited`), not if half of it was.
    fn ssthresh(&self) -> f64 {
        if self.ssthresh.is_finite() { self.ssthresh.min(self.cwnd) } else { self.ssthresh }
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: if self.ecn.is_some() { Ecn::Capable } else { Ecn::NotCapable },
            echoed: self.ecn.is_some_and(|heeded| heeded.echoed),
            rate_samples: true,
            own_recovery: true,
            ignores_marks: self.ecn.is_none(),
            ..Needs::default()
        }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate { packets_per_second: self.pacing_rate, gaps: Gaps::Fq }
    }

    fn least_burst(&self) -> f64 {
        self.min_tso_segs()
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("state", f64::from(self.mode as u8));
        show("pacing_gain", self.pacing_gain);
        show("max_bw", self.max_bw());
        show("bw", self.bw());
        show("pacing_rate", self.pacing_rate);
        show("inflight_hi", self.inflight_hi);
        show("inflight_lo", self.inflight_lo);
        show("min_rtt", self.min_rtt.map_or(f64::NAN, Duration::seconds));
        show("extra_acked", self.aggregation.largest());
    }
}

#[cfg(test)]
mod tests;
