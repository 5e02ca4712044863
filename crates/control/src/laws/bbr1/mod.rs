//! BBR, version 1, as Linux has it: net/ipv4/tcp_bbr.c, read in 6.17-rc3. Functions and names are
//! that file's, without `bbr_`.
//!
//! | source | equation | here |
//! |---|---|---|
//! | `main` | what each acknowledgement does, in order | [`Bbr1::on_ack`] |
//! | `check_full_bw_reached` | Startup at a gain of 2.887 until max_bw has grown by less than a quarter in three rounds | `modes` |
//! | `check_drain` | Drain at 0.344 until a BDP is in flight | `modes` |
//! | `update_cycle_phase` | ProbeBW: eight phases of min_rtt, at 1.25, 0.75 and six times 1 | `modes` |
//! | `update_min_rtt` | ProbeRTT: 4 packets for 200 ms and a round, every 10 s | `modes` |
//! | `update_bw` | max_bw: the largest delivery rate of ten rounds | `model` |
//! | `lt_bw_sampling` | lt_bw: the rate of a policer, from two intervals that lose a fifth | `model` |
//! | `update_ack_aggregation` | extra_acked: what came beyond bw·t, in five to ten rounds | `model` |
//! | `set_pacing_rate` | rate = gain·bw·0.99 | [`Bbr1::set_pacing_rate`] |
//! | `quantization_budget` | three bursts more, rounded up to an even number, 2 more while probing | [`Bbr1::quantization_budget`] |
//! | `set_cwnd` | cwnd ≤ gain·bw·min_rtt + extra_acked + budget, at least 4 | [`Bbr1::set_cwnd`] |
//! | `set_cwnd_to_recover_or_restore` | a recovery: as many as were acknowledged for a round, then up to twice as many | [`Bbr1::recover_or_restore`] |
//!
//! Departures. Gains are the file's, in 256ths; rates and times are not rounded to its units (0.06
//! packets per second, 1 µs, 1 ms in the intervals of lt_bw, and 4 ms for ProbeRTT's clock at
//! HZ = 250). A mark is not heard of; in Linux it saves the window. An acknowledgement that
//! delivers nothing does not reach a law here; in Linux it could end a phase of ProbeBW. Packets
//! are full-sized, so Linux would never take an acknowledgement for a delayed one
//! (`is_ack_delayed`). A loss that a loss probe has repaired counts among the losses of lt_bw. A
//! recovery that begins as another ends does not save the window again. Samples of the rate are the
//! draft's (`rate_sampler`): they begin anew when nothing is in flight, in tcp_rate.c when nothing
//! is outstanding.

pub(in crate::laws) mod aggregation;
mod model;
mod modes;

use super::bbr::filter::WindowedMax;
use super::bbr::low_samples::LowSamples;
use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::{Ack, Controller, Gaps, Idle, Loss, Needs, Pacing, RateSample, Timeout};
use aggregation::Aggregation;
use model::LongTerm;
use narrows_units::{Duration, Stream, Time};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "bbr1",
    aliases: &["bbrv1", "TcpBbr"],
    summary: "BBR version 1, Linux's bbr: paces at the largest recent delivery rate and does not \
              answer losses",
    source: "Linux, net/ipv4/tcp_bbr.c; Cardwell and others, ACM Queue 14(5), 2016",
    moved_by: MovedBy::DeliveryRate,
    start: Start::Own,
    settings: Vec::new,
    construct: |birth| {
        let (payload, initial_window) = (birth.payload(), birth.initial_window);
        Ok(Recipe::seeded(move |seed| Box::new(Bbr1::new(payload, initial_window, seed))))
    },
};

/// `high_gain`: 256·2885/1000, rounded down, and one more, in 256ths. 2/ln 2 = 2.885 is the least
/// gain that lets the rate double each round.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// `drain_gain`: 256·1000/2885, rounded down.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// `cwnd_gain`.
const CWND_GAIN: f64 = 2.0;
/// `pacing_gain`: the phases of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// `pacing_margin_percent`: it paces 1 % below the rate it aims at.
pub(in crate::laws) const PACING_MARGIN: f64 = 0.99;
/// `cwnd_min_target`, packets.
pub(in crate::laws) const CWND_MIN_TARGET: f64 = 4.0;
/// TCP_INIT_CWND, packets.
const TCP_INIT_CWND: f64 = 10.0;
/// `min_tso_rate` in bytes per second: below it a burst is one packet.
pub(in crate::laws) const MIN_TSO_RATE: f64 = 1_200_000.0 / 8.0;
/// `sk_pacing_shift` is 10: bursts per second.
pub(in crate::laws) const BURSTS_PER_SECOND: f64 = 1024.0;
/// GSO_LEGACY_MAX_SIZE − 1 − MAX_TCP_HEADER, the last of these of x86-64 with usual modules.
pub(in crate::laws) const MOST_BYTES: f64 = 65_536.0 - 1.0 - 320.0;
/// `tso_segs_goal`: packets.
const MOST_PACKETS: f64 = 127.0;
/// A product that is whole but for the rounding of floating point stays as it is.
pub(in crate::laws) const ROUNDING: f64 = 1e-6;
/// `min_rtt_win_sec`.
const MIN_RTT_WIN: Duration = Duration::from_millis(10_000);
/// `probe_rtt_mode_ms`.
const PROBE_RTT_MODE: Duration = Duration::from_millis(200);

/// How it decides at which rate to send (`bbr_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles the rate each round, to fill the pipe.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Paces around the estimated rate.
    ProbeBw,
    /// Four packets, to see the path without queues.
    ProbeRtt,
}

/// The transport's state, as far as BBR asks (`icsk_ca_state`); Disorder and CWR are Open to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaState {
    Open,
    Recovery,
    Loss,
}

/// BBR's state. Names are Linux's; volumes are in packets, rates in packets per second.
pub struct Bbr1 {
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
    cwnd: f64,
    prior_cwnd: f64,
    ssthresh: f64,
    ca_state: CaState,
    prev_ca_state: CaState,
    packet_conservation: bool,
    delivered: f64,
    delivered_mstamp: Time,
    /// Packets found lost since the connection began.
    lost: f64,
    max_bw: f64,
    bw_filter: WindowedMax,
    rtt_cnt: u64,
    next_rtt_delivered: f64,
    round_start: bool,
    /// None if there has been no sample.
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    low_samples: LowSamples,
    full_bw: f64,
    full_bw_cnt: u32,
    full_bw_reached: bool,
    cycle_idx: usize,
    cycle_mstamp: Time,
    lt: LongTerm,
    aggregation: Aggregation,
}

impl Bbr1 {
    /// BBR for packets with `payload` bytes of data; starts with `initial_window` packets (`init`).
    pub fn new(payload: f64, initial_window: f64, seed: u64) -> Self {
        let mut bbr = Self {
            payload,
            random: Stream::new(seed, 0, 0),
            now: Time::ZERO,
            born: false,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            cwnd: initial_window,
            prior_cwnd: 0.0,
            ssthresh: f64::INFINITY,
            ca_state: CaState::Open,
            prev_ca_state: CaState::Open,
            packet_conservation: false,
            delivered: 0.0,
            delivered_mstamp: Time::ZERO,
            lost: 0.0,
            max_bw: 0.0,
            bw_filter: WindowedMax::default(),
            rtt_cnt: 0,
            next_rtt_delivered: 0.0,
            round_start: false,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            low_samples: LowSamples::default(),
            full_bw: 0.0,
            full_bw_cnt: 0,
            full_bw_reached: false,
            cycle_idx: 0,
            cycle_mstamp: Time::ZERO,
            lt: LongTerm::default(),
            aggregation: Aggregation::default(),
        };
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
            self.min_rtt = ack.rtt.map(|rtt| rtt.minimum);
            self.min_rtt_stamp = ack.now;
            self.aggregation.restart(ack.now);
        }
    }

    /// `init_pacing_rate_from_rtt`, with an RTT in seconds.
    fn init_pacing_rate(&mut self, rtt: f64) {
        self.pacing_rate = HIGH_GAIN * (self.cwnd / rtt) * PACING_MARGIN;
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

    /// `min_tso_segs`: packets.
    fn min_tso_segs(&self) -> f64 {
        if self.pacing_rate * self.payload < MIN_TSO_RATE { 1.0 } else { 2.0 }
    }

    /// `tso_segs_goal`: the packets that leave together, if nothing but the rate limits them.
    fn tso_segs_goal(&self) -> f64 {
        let bytes = (self.pacing_rate * self.payload / BURSTS_PER_SECOND).min(MOST_BYTES);
        (bytes / self.payload).floor().max(self.min_tso_segs()).min(MOST_PACKETS)
    }

    /// `bdp`: packets, rounded up, on a path of `bw` packets per second.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(TCP_INIT_CWND, |rtt| (bw * rtt.seconds() * gain - ROUNDING).ceil())
    }

    /// `quantization_budget`: room for whole bursts in both hosts.
    fn quantization_budget(&self, cwnd: f64) -> f64 {
        let cwnd = cwnd + 3.0 * self.tso_segs_goal();
        let even = 2.0 * (cwnd / 2.0).ceil();
        if self.mode == Mode::ProbeBw && self.cycle_idx == 0 { even + 2.0 } else { even }
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
        let good = self.prev_ca_state == CaState::Open && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// `set_cwnd_to_recover_or_restore`: the window in a recovery; true if it is to stay so.
    fn recover_or_restore(&mut self, ack: &Ack, rs: &RateSample) -> bool {
        if rs.newly_lost > 0.0 {
            self.cwnd = (self.cwnd - rs.newly_lost).max(1.0);
        }
        let prev = std::mem::replace(&mut self.prev_ca_state, self.ca_state);
        let conserved = ack.in_flight + ack.packets;
        match (prev, self.ca_state) {
            (CaState::Open | CaState::Loss, CaState::Recovery) => {
                self.packet_conservation = true;
                self.next_rtt_delivered = self.delivered;
                self.cwnd = conserved;
            }
            (CaState::Recovery | CaState::Loss, CaState::Open) => {
                self.packet_conservation = false;
                self.cwnd = self.cwnd.max(self.prior_cwnd);
            }
            _ => {}
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(conserved);
        }
        self.packet_conservation
    }

    /// `set_cwnd`.
    fn set_cwnd(&mut self, ack: &Ack, rs: &RateSample) {
        if !self.recover_or_restore(ack, rs) {
            let bw = self.bw();
            let aggregated = if self.full_bw_reached { self.aggregation.cwnd(bw) } else { 0.0 };
            let target = self.quantization_budget(self.bdp(bw, self.cwnd_gain) + aggregated);
            if self.full_bw_reached {
                self.cwnd = (self.cwnd + ack.packets).min(target);
            } else if self.cwnd < target || self.delivered < TCP_INIT_CWND {
                self.cwnd += ack.packets;
            }
            self.cwnd = self.cwnd.max(CWND_MIN_TARGET);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(CWND_MIN_TARGET);
        }
    }
}

impl Controller for Bbr1 {
    /// `main`.
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        self.now = ack.now;
        self.be_born(ack);
        (self.delivered, self.delivered_mstamp) = (sample.total_delivered, ack.now);
        if !sample.repairing {
            self.ca_state = CaState::Open;
        }
        let rs = self.low_samples.judge(sample);
        self.update_bw(&rs);
        self.update_ack_aggregation(ack, &rs);
        self.update_cycle_phase(&rs);
        self.check_full_bw_reached(&rs);
        self.check_drain(ack, &rs);
        self.update_min_rtt(ack, &rs);
        self.update_gains();
        self.set_pacing_rate(Some(ack), self.pacing_gain);
        self.set_cwnd(ack, &rs);
    }

    /// `ssthresh`, which `tcp_enter_recovery` (net/ipv4/tcp_input.c) calls: the window stays.
    fn on_loss(&mut self, loss: &Loss) {
        self.lost += 1.0;
        if loss.opens_epoch {
            self.save_cwnd();
            self.ca_state = CaState::Recovery;
        }
    }

    /// `tcp_enter_loss` in net/ipv4/tcp_input.c, with `ssthresh` and `set_state`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.now = timeout.now;
        if timeout.opens_epoch {
            self.save_cwnd();
        }
        self.cwnd = timeout.in_flight + 1.0;
        (self.ca_state, self.prev_ca_state) = (CaState::Loss, CaState::Loss);
        self.full_bw = 0.0;
        self.round_start = true;
        self.lt_bw_sampling(true, false);
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
            Mode::ProbeBw => self.set_pacing_rate(None, 1.0),
            Mode::ProbeRtt => self.check_probe_rtt_done(),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `undo_cwnd`. The next acknowledgement restores the window.
    fn on_spurious(&mut self) {
        self.ca_state = CaState::Open;
        (self.full_bw, self.full_bw_cnt) = (0.0, 0);
        self.reset_lt_bw_sampling();
    }

    fn window(&self) -> f64 {
        self.cwnd
    }

    /// A BDP when Startup is over, infinite before.
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, own_recovery: true, ignores_marks: true, ..Needs::default() }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate { packets_per_second: self.pacing_rate, gaps: Gaps::Fq }
    }

    fn least_burst(&self) -> f64 {
        self.min_tso_segs()
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("max_bw", self.max_bw);
        show("bw", self.bw());
        show("pacing_gain", self.pacing_gain);
        show("pacing_rate", self.pacing_rate);
        show("min_rtt", self.min_rtt.map_or(f64::NAN, Duration::seconds));
        show("extra_acked", self.aggregation.largest());
    }
}

#[cfg(test)]
mod tests;
