//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control; RFC 9331 §4), as Linux has it.
//!
//! The text of the draft that could be read is that of version 00 in github.com/goelvidhi/prague-cc
//! (2b90e81); sections are its. Linux is `net/ipv4/tcp_prague.c` 0.7 of 2024 in
//! github.com/minuscat/rpi-6.18.y (330b511); what 0.6 had and 0.7 no longer has says so.
//!
//! | source | equation | here |
//! |---|---|---|
//! | §Moving Average of ECN Feedback | α ← α + g(F − α), with F the marked share of what was acknowledged, once per virtual round trip | [`Prague::end_round`] |
//! | §Reduced RTT-Dependence; `prague_should_update_ewma` | R = max(RTT, 25 ms), from the fourth round of congestion avoidance on | [`Prague::is_rtt_independent`], [`Prague::target`] |
//! | §Multiplicative Decrease on ECN Feedback; `prague_enter_cwr` | W ← W(1 − α/2), once per virtual round trip with marks | [`Prague::on_mark`] |
//! | `prague_update_cwnd`, `prague_alpha_mode` 0 | W ← W/2 at the first mark of the connection | [`Prague::on_mark`] |
//! | §Additive Increase and ECN Feedback | W ← W + (RTT/R)²/W for each packet acknowledged without a mark, whatever was marked before | [`Prague::increase`] |
//! | `prague_update_cwnd`, rate mode | and below one packet per R by RTT/R | [`Prague::increase`] |
//! | §Fall-Back on Loss | W ← W/2, once per recovery epoch; less if a mark has been answered within the same round trip | [`Prague::on_loss`] |
//! | §Packet Pacing; `prague_update_pacing_rate` | max(W, in flight)/RTT, twice that while W is below half the threshold; with at most four packets 3 % more in the first half of R, and 3 % less in the second | [`Prague::pacing`] |
//! | §Segmentation Offload | bursts of at most 250 µs at that rate, or of `least_burst` packets | [`Prague::needs`] |
//! | `prague_update_cwnd`, step-wise | in a host of Linux's what may be in flight follows ⌈W⌉ by a packet per acknowledgement, and a packet grows W by 1 over that | [`Prague::step`] |
//! | `MINIMUM_RATE`, `MIN_CWND_RTT` | at least 100 kbps, or two packets per round trip if that is less; two packets may be in flight | [`Prague::floor`], [`Prague::flight_limit`] |
//! | §Fall-Back on Classic ECN | see [`classic`] | [`classic`] |
//!
//! Departures: windows are `f64` packets, so that nothing is rounded. R is counted from one
//! reduction to the next mark after it, as the draft has it (§Reduced RTT-Dependence) and as in
//! `ACKReceived` of github.com/L4STeam/udp_prague (e8e3435); Linux takes whole round trips, so that
//! one of 21 ms is answered every 42 ms, not every 25 ms. The sender is window based throughout:
//! Linux from four packets down keeps a rate, and derives the window from it with an average of the
//! RTT over 128 rounds. Packets do not shrink below 1 Mbps, where Linux's do, down to 150 B; the
//! increase is one packet whatever its size, Linux's 1500 B. Packets of the first window are paced,
//! which Linux does not do by default.

pub mod classic;

use crate::entry::{Entry, MovedBy, Recipe, SlowStartKind, Start};
use crate::slow_start::Step;
use crate::{
    Ack, CongestionWindow, Controller, Gaps, Idle, Loss, Mark, Needs, Pacing, Rounds, SlowStart,
    Timeout,
};
use classic::Classic;
use narrows_settings::{Settings, choice, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Time};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "prague",
    aliases: &["TcpPrague"],
    summary: "the scalable law for the Internet (L4S): reduces the window by half the share of \
              packets that carry a mark, and grows alike at all short round-trip times",
    source: "draft-briscoe-iccrg-prague-congestion-control; Linux's tcp_prague.c",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        for name in ["classic_variation", "classic_depth"] {
            birth.given.counts_if(name, params.classic_fallback, "classic_fallback=true")?;
        }
        let prague = Prague::new(params, birth.slow_start.clone(), birth.initial_window);
        let mut prague = prague.with_packets_of(birth.packet_bytes);
        if birth.in_linux {
            prague = prague.as_in_linux(birth.payload());
        }
        Ok(Recipe::clones(prague.with_ssthresh(birth.initial_ssthresh)))
    },
};

settings! {
    /// Settings of Prague.
    pub struct Params {
        /// Weight of a new round in α (ratio; §Moving Average of ECN Feedback).
        g: f64 = 1.0 / 16.0, above(0.0).at_most(1.0);
        /// Initial value of α (ratio; Linux, `prague_alpha_mode`); whatever it is, the first mark
        /// halves the window. 1 is DCTCP's.
        alpha: f64 = 0.0, at_least(0.0).at_most(1.0);
        /// How a flow makes up for a short RTT: as a flow whose RTT is rtt_target (`rate`), or is
        /// longer by it (`additive`; Linux 0.6), or not at all (`none`).
        rtt_control: RttControl = RttControl::Rate;
        /// The reference RTT (§Reduced RTT-Dependence).
        rtt_target: Duration = Duration::from_millis(25), above(0.0);
        /// Round trips of congestion avoidance before rtt_target counts (Linux; 500 in the draft).
        rtt_transition: u32 = 4;
        /// Longest time that packets leaving together may take at the pacing rate (§Segmentation
        /// Offload).
        burst: Duration = Duration::from_micros(250), above(0.0);
        /// Packets that leave together all the same (`prague_tso_segs`: `tcp_min_tso_segs`, 2, in
        /// L4STeam/linux 02573a21, 1 in 0.7).
        least_burst: f64 = 1.0, at_least(1.0).at_most(64.0);
        /// Smallest window in packets.
        least_window: Option<f64> = None => "100 kbps, or 2 packets if that is less",
            above(0.0).at_most(10.0);
        /// Whether a loss less than a round trip after a mark that was answered leaves half of the
        /// window before that mark (allowed by §Fall-Back on Loss); Linux halves again.
        halves_once: bool = true;
        /// Whether a queue that marks as classic queues do is recognised by the variation of the
        /// RTT, and answered as losses are (Linux 0.6, where it is off, too).
        classic_fallback: bool = false;
        /// The variation of the RTT from which on classic_fallback takes a queue for a classic one
        /// (Linux, `V0_LG`; L4STeam/linux#38 has 1.51us).
        classic_variation: Duration = Duration::from_micros(750), above(0.0);
        /// The queueing delay above which the depth counts, too (Linux, `D0_LG`; L4STeam/linux#38
        /// has 1.61us).
        classic_depth: Duration = Duration::from_millis(2), above(0.0);
    }
}

choice! {
    /// How a flow makes up for a short RTT (`rtt_scaling_heuristics` of Linux 0.6).
    pub enum RttControl("choice among rate, additive and none") {
        /// R = max(RTT, rtt_target) (RTT_CONTROL_RATE).
        Rate = "rate",
        /// R = RTT + rtt_target (RTT_CONTROL_ADDITIVE).
        Additive = "additive",
        /// R = RTT (RTT_CONTROL_NONE).
        None = "none",
    }
}

/// Share of the window that a loss and the first mark leave (§Fall-Back on Loss).
const HALF: f64 = 0.5;
/// The lowest pacing rate in bits per second (`MINIMUM_RATE` in Linux).
const LEAST_RATE: f64 = 100e3;
/// Packets that may always be in flight (`MIN_CWND_RTT` in Linux).
const LEAST_FLIGHT: f64 = 2.0;
/// Packets up to which the rate alternates, and by how much (`prague_cwnd_transit`, `RATE_OFFSET`
/// in Linux).
const FEW: f64 = 4.0;
const RATE_OFFSET: f64 = 4.0 / 128.0;
/// From this RTT on in seconds R is the RTT (`MAX_SCALED_RTT` in Linux).
const MOST_SCALED: f64 = 0.1;

/// The law's state.
#[derive(Clone, Debug)]
pub struct Prague {
    params: Params,
    packet_bits: f64,
    slow_start: SlowStart,
    cwnd: CongestionWindow,
    /// Estimated share of marked packets.
    alpha: f64,
    /// A mark has been seen (`saw_ce`).
    has_marks: bool,
    rounds: Rounds,
    /// Packets acknowledged in this round, and marked ones among them.
    packets: f64,
    marked: f64,
    /// Rounds since slow start ended (`round`).
    age: u32,
    /// When α was last brought up to date (`alpha_stamp`).
    updated: Time,
    /// When the window was last reduced for a mark (`cwr_stamp`), and the share that was kept.
    reduced: Option<(Time, f64)>,
    /// A round trip has marks that have not been answered, since R has not passed.
    owes: bool,
    /// The smoothed and the least RTT in seconds; `None` until there is a sample.
    rtt: Option<(f64, f64)>,
    /// The time and the packets in flight of the newest acknowledgement.
    now: Time,
    in_flight: f64,
    classic: Option<Classic>,
    /// Bytes of a packet over what the pacer charges for it (ratio).
    overhead: f64,
    /// Linux's whole window, which follows the fractional one by a packet an acknowledgement
    /// (`snd_cwnd` and `frac_cwnd`); `None` if the window holds at once.
    whole: Option<f64>,
}

impl Prague {
    /// The law with `params`, which have been checked; starts in `slow_start` with
    /// `initial_window` packets of 1500 B and no threshold.
    pub fn new(params: Params, slow_start: SlowStart, initial_window: f64) -> Self {
        Self {
            params,
            packet_bits: 8.0 * 1500.0,
            slow_start,
            cwnd: CongestionWindow::new(initial_window),
            alpha: params.alpha,
            has_marks: false,
            rounds: Rounds::default(),
            packets: 0.0,
            marked: 0.0,
            age: 0,
            updated: Time::ZERO,
            reduced: None,
            owes: false,
            rtt: None,
            now: Time::ZERO,
            in_flight: 0.0,
            classic: params
                .classic_fallback
                .then(|| Classic::new(params.classic_variation, params.classic_depth)),
            overhead: 1.0,
            whole: None,
        }
    }

    /// Starts with a threshold of `ssthresh` packets instead.
    pub fn with_ssthresh(mut self, ssthresh: f64) -> Self {
        self.cwnd.ssthresh = ssthresh;
        self
    }

    /// Packets have `bytes` bytes instead.
    pub fn with_packets_of(mut self, bytes: u32) -> Self {
        self.packet_bits = 8.0 * f64::from(bytes);
        self
    }

    /// It is paced as in Linux: its rate counts whole packets (`prague_update_pacing_rate`), and
    /// what is paced by it the `payload` bytes of each (`tcp_update_skb_after_send`). What may be
    /// in flight follows the window by a packet an acknowledgement.
    pub fn as_in_linux(mut self, payload: f64) -> Self {
        self.overhead = self.packet_bits / (8.0 * payload);
        self.whole = Some(self.whole_window());
        self
    }

    /// The window in whole packets, at least two (`prague_frac_cwnd_to_snd_cwnd`).
    fn whole_window(&self) -> f64 {
        self.cwnd.window.ceil().max(LEAST_FLIGHT)
    }

    /// What may be in flight comes nearer to the window by a packet, or grows with it in slow start
    /// (`prague_update_cwnd`: step-wise).
    fn step(&mut self) {
        let target = self.whole_window();
        let starting = self.cwnd.is_below_threshold();
        if let Some(whole) = &mut self.whole {
            *whole = if *whole > target {
                *whole - 1.0
            } else if starting {
                target
            } else {
                (*whole + 1.0).min(target)
            };
        }
    }

    /// What may be in flight is the window at once: slow start begins anew, or a reduction is taken
    /// back.
    fn jump(&mut self) {
        let target = self.whole_window();
        self.whole.iter_mut().for_each(|whole| *whole = target);
    }

    /// True once the reference RTT counts: after some rounds of congestion avoidance, so that short
    /// flows are quick (§Reduced RTT-Dependence; `prague_is_rtt_indep`).
    fn is_rtt_independent(&self) -> bool {
        self.params.rtt_control != RttControl::None
            && !self.cwnd.is_below_threshold()
            && self.age >= self.params.rtt_transition
    }

    /// True if the window is so small, and marked, that pacing alone is what holds the sender back
    /// (`cwnd_mode` 1 and `saw_ce`).
    fn keeps_a_rate(&self) -> bool {
        self.has_marks && self.cwnd.window <= FEW && self.is_rtt_independent()
    }

    /// The reference RTT in seconds, for a flow whose RTT is `rtt` seconds, if that is longer.
    fn target(&self, rtt: f64) -> f64 {
        let target = self.params.rtt_target.seconds();
        if self.params.rtt_control == RttControl::Additive { target + rtt } else { target }
    }

    /// The target in seconds with the present RTT.
    fn target_now(&self) -> f64 {
        self.target(self.rtt.map_or(0.0, |(smoothed, _)| smoothed))
    }

    /// RTT/R = 1/M, a ratio of at most 1 (§Reduced RTT-Dependence;
    /// `prague_rate_scaled_ai_ack_increase`).
    fn scale(&self) -> f64 {
        match self.rtt {
            Some((rtt, _)) if self.is_rtt_independent() && rtt <= MOST_SCALED => {
                (rtt / self.target(rtt)).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// The smallest window in packets at an RTT of `rtt` seconds.
    fn floor_at(&self, rtt: f64) -> f64 {
        let at_least_rate = LEAST_RATE * rtt / self.packet_bits;
        self.params.least_window.unwrap_or(at_least_rate.min(LEAST_FLIGHT))
    }

    /// The smallest window in packets now.
    fn floor(&self) -> f64 {
        self.rtt.map_or(1.0, |(smoothed, _)| self.floor_at(smoothed))
    }

    /// W ← W + n(RTT/R)²/W for n packets acknowledged without a mark, that is one packet per R in
    /// the window of R; if that window is below a packet, each adds a whole one to it (§Additive
    /// Increase and ECN Feedback, §Reduced RTT-Dependence; `prague_update_cwnd`).
    fn increase(&mut self, unmarked: f64, ack: &Ack) {
        if self.cwnd.is_below_threshold() {
            let window = self.cwnd.window;
            match self.slow_start.increase(window, &Ack { packets: unmarked, ..*ack }) {
                Step::Grow(larger) => {
                    self.cwnd.window = larger.min(self.cwnd.ssthresh);
                    return;
                }
                Step::Leave => self.leave_slow_start(),
            }
        }
        let whole = self.whole.filter(|_| !self.keeps_a_rate());
        let (scale, divisor) = (self.scale(), whole.unwrap_or(self.cwnd.window));
        self.cwnd.window += unmarked * scale * (scale / divisor).min(1.0);
        self.cwnd.window = self.cwnd.window.max(self.floor());
    }

    fn leave_slow_start(&mut self) {
        self.reduce(1.0);
    }

    /// The window keeps the share `kept`, and slow start is over.
    fn reduce(&mut self, kept: f64) {
        self.cwnd.reduce((kept * self.cwnd.window).max(self.floor()));
        self.slow_start.has_threshold();
        if let Some(classic) = &mut self.classic {
            classic.averages_over(self.cwnd.ssthresh);
        }
    }

    /// α ← α + g(F − α) at the end of a round that lasted for a round trip, and for R once that
    /// counts; not before there is proof of a queue that marks (§Moving Average of ECN Feedback;
    /// `prague_update_alpha`).
    fn end_round(&mut self, ack: &Ack) {
        let since = ack.now.since(self.updated).seconds();
        let is_long_enough = !self.is_rtt_independent() || since >= self.target_now();
        if !self.rounds.may_end_with(ack) || !is_long_enough {
            return;
        }
        if self.has_marks {
            let share = (self.marked / self.packets.max(1.0)).min(1.0);
            self.alpha += self.params.g * (share - self.alpha);
            self.updated = ack.now;
            if let (Some(classic), Some((_, least))) = (&mut self.classic, self.rtt) {
                classic.end_round(least);
            }
        }
        self.rounds.begin(ack);
        (self.packets, self.marked) = (0.0, 0.0);
        if !self.cwnd.is_below_threshold() {
            self.age = self.age.saturating_add(1);
        }
    }

    /// α, or more if the queue is taken for a classic one (`prague_enter_cwr` of Linux 0.6).
    fn alpha_for_decrease(&self) -> f64 {
        self.classic.as_ref().map_or(self.alpha, |classic| classic.alpha(self.alpha))
    }

    /// True if a mark at `now` belongs to the R in which the window has been reduced.
    fn has_just_reduced(&self, now: Time) -> bool {
        self.is_rtt_independent()
            && self.reduced.is_some_and(|(at, _)| now.since(at).seconds() < self.target_now())
    }

    /// The share of the window that a loss at `now` leaves (§Fall-Back on Loss, §ECN with Loss).
    fn kept_after_loss(&self, now: Time) -> f64 {
        let round_trip = self.rtt.map_or(0.0, |(smoothed, _)| smoothed);
        match self.reduced {
            Some((at, kept)) if self.params.halves_once && now.since(at).seconds() < round_trip => {
                (HALF / kept).min(1.0)
            }
            _ => HALF,
        }
    }

    fn halve(&mut self, now: Time) {
        self.owes = false;
        self.cwnd.remember();
        self.reduce(self.kept_after_loss(now));
    }
}

impl Controller for Prague {
    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = ack.rtt.map(|rtt| (rtt.smoothed.seconds(), rtt.minimum.seconds()));
        // The least rate is a larger window if the RTT has become longer, and so may the least RTT
        // be after persistent congestion.
        let floor = if ack.recovering { self.least_window() } else { self.floor().min(1.0) };
        self.cwnd.window = self.cwnd.window.max(floor);
        (self.now, self.in_flight) = (ack.now, ack.in_flight);
        self.packets += ack.packets;
        self.marked += ack.marked;
        let sample = ack.rate.and_then(|rate| rate.rtt);
        if let (Some(classic), Some(rtt)) = (&mut self.classic, sample) {
            classic.sample(rtt.seconds());
        }
        if self.slow_start.ends(self.cwnd.window, self.cwnd.is_below_threshold(), ack) {
            self.leave_slow_start();
        }
        let unmarked = ack.packets - ack.marked;
        if unmarked > 0.0 && ack.window_limited && !ack.recovering {
            self.increase(unmarked, ack);
        }
        self.step();
        self.end_round(ack);
    }

    /// W ← W(1 − α/2), once per round trip with marks, and per R once that counts; W/2 at the first
    /// (§Multiplicative Decrease on ECN Feedback; `prague_enter_cwr`).
    fn on_mark(&mut self, mark: &Mark) {
        let is_first = !std::mem::replace(&mut self.has_marks, true);
        self.owes |= mark.opens_epoch;
        if !self.owes || self.has_just_reduced(mark.now) {
            return;
        }
        self.owes = false;
        let kept = if is_first { HALF } else { 1.0 - self.alpha_for_decrease() / 2.0 };
        self.cwnd.settle();
        self.reduced = Some((mark.now, kept));
        self.reduce(kept);
    }

    /// W ← W/2, once per recovery epoch (§Fall-Back on Loss).
    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch {
            self.halve(loss.now);
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.opens_epoch {
            self.halve(timeout.now);
        }
        self.slow_start.timeout();
        self.cwnd.timeout(timeout);
        self.jump();
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
        self.jump();
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used);
        self.jump();
    }

    fn on_spurious(&mut self) {
        self.cwnd.undo();
        self.jump();
    }

    fn on_moderation(&mut self, window: f64) {
        self.cwnd.moderate(window);
        self.jump();
    }

    fn window(&self) -> f64 {
        self.cwnd.window
    }

    /// The floor at the least RTT, and the packet that a timeout leaves.
    fn least_window(&self) -> f64 {
        self.rtt.map_or(1.0, |(_, least)| self.floor_at(least)).min(1.0)
    }

    fn ssthresh(&self) -> f64 {
        self.cwnd.ssthresh
    }

    /// The window in whole packets, at least two: pacing holds the sender back, not this
    /// (`prague_frac_cwnd_to_snd_cwnd`).
    fn flight_limit(&self) -> f64 {
        self.whole.unwrap_or_else(|| self.whole_window())
    }

    /// `prague_tso_segs`.
    fn least_burst(&self) -> f64 {
        self.params.least_burst
    }

    /// ECT(1) (RFC 9331 §4.1), marks counted (RFC 9768), and bursts of at most 250 µs
    /// (§Segmentation Offload). What is in flight in a recovery is the law's to decide, as for all
    /// of Linux's laws with a `cong_control`.
    fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Scalable,
            rate_samples: self.classic.is_some(),
            own_recovery: true,
            burst: Some(self.params.burst),
            ..Needs::default()
        }
    }

    /// §Packet Pacing; `prague_update_pacing_rate`.
    fn pacing(&self) -> Pacing {
        let window = self.cwnd.window;
        let packets = if self.keeps_a_rate() {
            let reference = self.target_now().max(self.rtt.map_or(0.0, |(smoothed, _)| smoothed));
            let is_first_half = self.now.since(self.updated).seconds() < reference / 2.0;
            window * if is_first_half { 1.0 + RATE_OFFSET } else { 1.0 - RATE_OFFSET }
        } else {
            self.whole.unwrap_or(window).max(self.in_flight)
        };
        let catches_up = window < self.cwnd.ssthresh / 2.0;
        let gain = self.overhead * packets / window * if catches_up { 2.0 } else { 1.0 };
        // Linux's sockets catch up with what left late (`tcp_update_skb_after_send`).
        let gaps = if self.whole.is_some() { Gaps::Fq } else { Gaps::Even };
        Pacing::Window { gain, gaps }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("alpha", self.alpha);
        if let Some(classic) = &self.classic {
            show("classic", classic.score());
        }
    }
}

#[cfg(test)]
mod tests;
