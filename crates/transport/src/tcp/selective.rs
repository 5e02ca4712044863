//! Recovery from selective acknowledgements (RFC 6675), with losses found by count or by time (RFC
//! 8985), with or without proportional rate reduction (RFC 9937).
//!
//! Everything is counted in packets. Departures: Rule 4 of RFC 6675's NextSeg, the rescue
//! retransmission, is optional and left out. Losses found by count leave that of a retransmission
//! to the timeout, and rule 3 sends packets that may be lost; losses found by time find those of
//! retransmissions too, which ask for no further reduction in the same recovery (RFC 5681 §4.3 and
//! RFC 8985 §3.4 do, Linux does not), and only what is lost is sent again, as in Linux.

use super::cwnd_down::CwndDown;
use super::probe::{Finding, Probe};
use super::prr::Prr;
use super::rack::Rack;
use super::rate_halving::RateHalving;
use super::recovery::{Answer, Ears, Next, Recovery, TimedOut};
use super::scoreboard::{Arrival, LostPacket, Scoreboard};
use super::undo::Undo;
use super::{Detection, Habits, Metering, RecoveryKind};
use crate::Segment;
use crate::congestion::Delivered;
use narrows_units::{Duration, Time};

/// The sender side of SACK recovery, between the window and the wire.
#[derive(Clone, Debug)]
pub(crate) struct Selective {
    board: Scoreboard,
    /// What is known of deliveries, if losses are found by time.
    rack: Option<Rack>,
    /// Kept apart, as `undo` and `probe` are: most of the time there is none.
    recovery: Option<Box<Episode>>,
    /// One past the highest number sent when the last recovery or timeout began; no new recovery
    /// begins until everything below it is acknowledged (RFC 6675 §5, §5.1).
    recovery_point: u64,
    /// A timeout's losses have not been repaired yet, if losses are found by time (Linux's
    /// TCP_CA_Loss).
    timed_out: Option<AfterTimeout>,
    undo: Option<Box<Undo>>,
    probe: Option<Box<Probe>>,
    /// A probe leaves next.
    probes_now: bool,
    metering: Metering,
    uses_frto: bool,
}

/// One recovery, or one reduction after a mark.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// The fast retransmission has yet to leave; it does not wait for the pipe (RFC 6675 §5, step
    /// 4.3).
    resend_now: bool,
    /// False for a reduction after a mark, in which nothing is known to be lost (TCP_CA_CWR).
    repairs: bool,
    meter: Meter,
}

/// What lets packets leave in a recovery.
#[derive(Clone, Copy, Debug)]
enum Meter {
    /// The window.
    Window,
    Prr(Prr),
    Halving(RateHalving),
    Down(CwndDown),
}

impl Meter {
    /// For a recovery before which `flight` packets were in flight, of which `pipe` are, and the
    /// window was `window`.
    fn new(metering: Metering, flight: f64, pipe: f64, window: f64) -> Self {
        match metering {
            Metering::ByPipe | Metering::ByLaw => Self::Window,
            Metering::Prr => Self::Prr(Prr::new(flight)),
            Metering::RateHalving { share, stalls } => {
                Self::Halving(RateHalving::new(share, stalls, window))
            }
            Metering::CwndDown => Self::Down(CwndDown::new(window, pipe)),
        }
    }

    /// The window at the end of a recovery, if it is not the threshold `ssthresh`, with `pipe`
    /// packets in flight.
    fn left_with(&self, pipe: f64, ssthresh: f64) -> Option<f64> {
        match self {
            Self::Window | Self::Prr(_) => None,
            Self::Halving(halving) => halving.left_with(pipe, ssthresh),
            Self::Down(down) => Some(down.left_with(pipe, ssthresh)),
        }
    }
}

/// What is known after a timeout.
#[derive(Clone, Copy, Debug)]
struct AfterTimeout {
    /// Whether F-RTO still expects evidence (RFC 5682 §3.1).
    frto: bool,
    /// New data leaves before further retransmissions (RFC 5682 §3.1, step 2b).
    sends_new: bool,
}

/// The scoreboard before an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// One past the highest packet that had arrived.
    highest: u64,
    /// When the lowest packet outstanding had left for the last time.
    first_sent: Option<Time>,
}

/// What an acknowledgement or a timer has revealed.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    losses: u32,
    begins: bool,
    reordering_at: Option<Time>,
}

impl Selective {
    /// Packets outstanding that have not arrived, whether or not they count as lost (RecoverFS of
    /// RFC 9937 §6.1, with what an acknowledgement has just delivered).
    fn missing(&self) -> f64 {
        (self.board.end() - self.board.first()) as f64 - f64::from(self.board.sacked_packets())
    }

    /// True while losses are being repaired, by a recovery or after a timeout.
    fn repairs(&self) -> bool {
        self.timed_out.is_some() || self.recovery.as_ref().is_some_and(|episode| episode.repairs)
    }

    /// Ends the recovery if everything that was outstanding has arrived, or if the recovery turns
    /// out to have been needless.
    fn leave_where_over(&mut self, ack: &Segment, first: u64, ears: &mut Ears) {
        let needless = ears.timestamps
            && (self.repairs() || self.rack.is_none())
            && self.undo.as_mut().is_some_and(|undo| {
                ack.number > first && undo.acknowledged(ack.number, ack.echoed_stamp)
            });
        if needless {
            // In a recovery a hole that the delayed packet itself has filled is reordering
            // (`tcp_try_undo_partial`).
            let is_hole = self.timed_out.is_none() && ack.number < self.recovery_point;
            if let Some(rack) = self.rack.as_mut().filter(|_| is_hole) {
                rack.saw_reordering();
            }
            return self.take_back(first, ears);
        }
        let Some(episode) = &self.recovery else { return };
        // A reduction after a mark ends with an acknowledgement of something later, so that the
        // receiver has been told of it (Linux's tcp_fastretrans_alert).
        if ack.number < self.recovery_point + u64::from(!episode.repairs) {
            return;
        }
        let ssthresh = ears.congestion.window();
        let left = episode.meter.left_with(f64::from(self.board.pipe()), ssthresh);
        if let Some(window) = left {
            ears.congestion.moderated(window);
        }
        if let Some(rack) = self.rack.as_mut().filter(|_| episode.repairs) {
            rack.recovered();
        }
        self.recovery = None;
        self.board.shrink();
        ears.congestion.shrink();
    }

    /// Nothing was lost above `first`: the window and the packets are as before.
    fn take_back(&mut self, first: u64, ears: &mut Ears) {
        (self.recovery, self.timed_out, self.undo) = (None, None, None);
        self.board.forgive(self.board.extent_above(first));
        if self.rack.is_some() {
            self.recovery_point = self.board.first();
        }
        ears.spurious();
    }

    /// After a timeout: F-RTO (RFC 5682 §3.1, with SACK), and the end of the repair
    /// (`tcp_process_loss` in Linux's net/ipv4/tcp_input.c).
    fn follow_timeout(&mut self, first: u64, delivered: &Delivered, ears: &mut Ears) {
        let Some(loss) = &mut self.timed_out else { return };
        let advanced = self.board.first() > first;
        let recovered = self.board.first() >= self.recovery_point;
        loss.sends_new = false;
        if loss.frto {
            if delivered.lowest_original.is_some_and(|number| number < self.recovery_point) {
                return self.take_back(first, ears);
            }
            if self.board.end() > self.recovery_point {
                loss.frto = advanced;
            } else if advanced && !recovered {
                self.recovery_point = self.board.end();
                loss.sends_new = true;
            }
        }
        if recovered {
            self.timed_out = None;
        }
    }

    /// Takes note of what an acknowledgement says about reordering and duplicates, and of the
    /// newest delivery that it proves; `highest` had arrived before.
    fn learn(
        &mut self,
        duplicate: Option<u64>,
        highest: u64,
        delivered: &Delivered,
        ears: &mut Ears,
    ) {
        if let Some(rack) = &mut self.rack {
            if delivered.lowest_original.is_some_and(|number| number < highest) {
                rack.saw_reordering();
            }
            if let Some(proof) = delivered.proof {
                rack.advance(ears.now, proof);
            }
        }
        if let Some(number) = duplicate {
            // The network may have doubled a packet that was sent once (tcp_sacktag_one).
            let doubled_here = self.board.was_sent_again(number);
            let is_probe = self.probe.as_ref().is_some_and(|probe| probe.end == number + 1);
            if let Some(rack) = self.rack.as_mut().filter(|_| doubled_here && !is_probe) {
                rack.saw_duplicate(ears.next);
            }
            if doubled_here && self.undo.as_mut().is_some_and(|undo| undo.reported(number)) {
                self.take_back(self.board.first(), ears);
            }
        }
    }

    /// True if nothing is being repaired and nothing has arrived out of order.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.recovery.is_none() && self.board.sacked_packets() == 0
    }

    /// Handles an acknowledgement of everything below `ack.number`, which is new, and of nothing
    /// else, as `hear` would, if losses are found by time and nothing waits.
    fn advance_by_time(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
        let mut delivered = Delivered::default();
        let arrival = self.arrival(ack, ears);
        self.board.acknowledge(ack.number, &arrival, &mut delivered);
        ears.arrived(&delivered);
        if let Some((rack, proof)) = self.rack.as_mut().zip(delivered.proof) {
            rack.advance(ears.now, proof);
        }
        let newest = self.rack.as_ref().map_or(0, Rack::newest);
        let mut answer = Answer::of(&delivered, true);
        if !self.board.is_settled(newest) {
            let verdict = self.judge(delivered.packets, ears);
            self.meter(delivered.packets as f64, verdict.losses == 0, verdict.losses, ears);
            answer.reordering_at = verdict.reordering_at;
        }
        answer
    }

    /// What tells an original from its retransmission when `ack` arrives.
    #[inline]
    fn arrival(&self, ack: &Segment, ears: &Ears) -> Arrival {
        let least_rtt = match (&self.rack, ears.rtt.estimate()) {
            (Some(_), Some(rtt)) => rtt.minimum,
            _ => Duration::ZERO,
        };
        let echo = if ears.timestamps { ack.echoed_stamp } else { Time::NEVER };
        Arrival { now: ears.now, least_rtt, echo }
    }

    /// Handles any acknowledgement.
    #[inline(never)]
    fn hear(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
        let mut delivered = Delivered::default();
        let first = self.board.first();
        let before = self.rack.as_ref().map(|_| Before {
            highest: self.board.highest_arrival(),
            first_sent: self.board.first_sent(),
        });
        let arrival = self.arrival(ack, ears);
        let advanced = ack.number > first;
        if advanced {
            self.board.acknowledge(ack.number, &arrival, &mut delivered);
            self.leave_where_over(ack, first, ears);
        }
        let sack = ack.sack();
        for block in sack.iter(ack.number) {
            self.board.sack(block, &arrival, &mut delivered);
        }
        ears.arrived(&delivered);
        let duplicate = ack.duplicate();
        if self.rack.is_some() || duplicate.is_some() {
            let highest = before.as_ref().map_or(0, |before| before.highest);
            self.learn(duplicate, highest, &delivered, ears);
            self.follow_timeout(first, &delivered, ears);
            self.settle_probe(ack, &delivered, ears);
        }
        let clear = sack.is_empty() && self.board.sacked_packets() == 0 && self.rack.is_none();
        let verdict = if clear { Verdict::default() } else { self.judge(delivered.packets, ears) };
        let safe = advanced && verdict.losses == 0;
        self.meter(delivered.packets as f64, safe, verdict.losses, ears);
        // The arrival of data that left before the first packet left again postpones that packet's
        // timeout, the arrival of later data does not (tcp_clean_rtx_queue).
        let first_sent = before.and_then(|before| before.first_sent);
        let old_data =
            delivered.proof.zip(first_sent).is_some_and(|(proof, first)| proof.sent < first);
        let restarts_timer = advanced || verdict.begins || old_data;
        Answer { reordering_at: verdict.reordering_at, ..Answer::of(&delivered, restarts_timer) }
    }

    /// Detects new losses after `delivered` packets have arrived; begins a recovery if there are
    /// any.
    fn judge(&mut self, delivered: u64, ears: &mut Ears) -> Verdict {
        if self.rack.is_none() && !self.board.has_unjudged() {
            return Verdict::default();
        }
        let flight = self.missing() + delivered as f64;
        let may_begin = match (&self.rack, self.recovery.as_deref()) {
            (_, Some(Episode { repairs: true, .. })) => false,
            (Some(_), _) => true,
            (None, _) => self.board.first() >= self.recovery_point,
        };
        // After a timeout the loss of a retransmission alone begins a recovery (FLAG_LOST_RETRANS
        // in Linux's tcp_fastretrans_alert).
        let after_timeout = self.timed_out.is_some();
        let (rtt, now, window) = (ears.rtt.estimate(), ears.now, ears.congestion.window());
        let (mut losses, mut begins) = (0, false);
        let mut lost = |packet: LostPacket| {
            let opens = may_begin && !begins && (packet.again || !after_timeout);
            ears.lost(&packet, opens);
            losses += 1;
            begins |= opens;
        };
        let mut reordering_at = None;
        if let Some(rack) = &self.rack {
            let recovering = self.timed_out.is_some() || !may_begin;
            let sacked = self.board.sacked_packets();
            let wait = rack.reordering_window(rtt, recovering, sacked);
            let (newest, patience) = (rack.newest(), rack.patience(wait));
            if self.board.judge_by_time(newest, patience, now, &mut lost) {
                reordering_at = Some(rack.deadline(wait));
            }
        } else {
            self.board.judge_by_count(&mut lost);
        }
        if begins {
            self.begin(flight, window);
        } else if may_begin && !after_timeout {
            begins = self.go_on(flight, window, ears);
        }
        Verdict { losses, begins, reordering_at }
    }

    /// What was lost after a recovery had begun, and has not arrived when that is over, begins the
    /// next one at once, also if it has been sent again (`lost_out` in Linux's
    /// `tcp_time_to_recover`), and the law reduces its window a second time; not if it decides in a
    /// recovery, too, since it has heard of that loss. Returns true if there is such a packet.
    fn go_on(&mut self, flight: f64, window: f64, ears: &mut Ears) -> bool {
        if self.rack.is_none() {
            return false;
        }
        let Some(packet) = self.board.highest_lost() else { return false };
        // During the reduction after a mark a recovery begins without another one.
        if self.recovery.is_none() && !matches!(self.metering, Metering::ByLaw) {
            ears.still_lost(&packet);
        }
        self.begin(flight, window);
        if let Some(episode) = &mut self.recovery {
            episode.resend_now = false;
        }
        true
    }

    /// A recovery begins; before it `flight` packets were in flight, and the window was `window`.
    fn begin(&mut self, flight: f64, window: f64) {
        let pipe = f64::from(self.board.pipe());
        let mut meter = Meter::new(self.metering, flight, pipe, window);
        // A reduction that is under way goes on (Linux's tcp_enter_recovery).
        if let Some(reduction) = &self.recovery {
            meter = reduction.meter;
        } else {
            self.recovery_point = self.board.end();
        }
        self.recovery = Some(Box::new(Episode { resend_now: true, repairs: true, meter }));
        let resent = self.board.resent_in_flight();
        self.undo = Some(Box::new(Undo::new(self.board.first(), resent)));
        (self.timed_out, self.probe) = (None, None);
    }

    fn meter(&mut self, delivered: f64, safe: bool, losses: u32, ears: &Ears) {
        let pipe = f64::from(self.board.pipe());
        let Some(episode) = &mut self.recovery else { return };
        let ssthresh = ears.congestion.window();
        match &mut episode.meter {
            Meter::Window => {}
            Meter::Prr(prr) => prr.on_ack(delivered, pipe, ssthresh, safe),
            Meter::Halving(halving) => halving.on_ack(pipe, f64::from(losses)),
            Meter::Down(down) => down.on_ack(pipe, ssthresh),
        }
    }

    /// Ends a probe of which `ack` tells; a loss that it has repaired opens an epoch.
    fn settle_probe(&mut self, ack: &Segment, delivered: &Delivered, ears: &mut Ears) {
        let Some(probe) = &self.probe else { return };
        let repeated = ack.duplicate().is_some() || delivered.packets == 0;
        match probe.judge(ack.number, repeated) {
            Finding::Open => {}
            Finding::Nothing => self.probe = None,
            Finding::Repaired(packet) => {
                self.probe = None;
                ears.lost(&packet, true);
            }
        }
    }

    /// RFC 6675 §5, step C: cwnd − pipe must be at least a whole packet.
    #[inline]
    fn has_room(&self, window: f64) -> bool {
        f64::from(self.board.pipe()) + 1.0 <= window
    }

    /// True if something else than new data may leave next; if not, nothing else does.
    #[inline]
    fn may_repair(&self) -> bool {
        self.recovery.is_some()
            || self.timed_out.is_some()
            || self.probes_now
            || self.board.may_retransmit()
    }

    /// Decides what may leave next, with a window of `window` packets and `offered` packets of data
    /// (RFC 6675 §4, NextSeg, rules 1 to 3).
    #[inline(never)]
    fn choose(&mut self, window: f64, offered: u64) -> Next {
        if self.probes_now {
            // RFC 8985 §7.3: new data if there is any, even beyond the window.
            let last = self.board.end() - 1;
            return if last + 1 < offered { Next::New } else { Next::Again(last) };
        }
        let may_send = match self.recovery.as_deref() {
            Some(Episode { resend_now: true, .. }) => true,
            Some(Episode { meter: Meter::Prr(prr), .. }) => prr.may_send(),
            Some(Episode { meter: Meter::Halving(halving), .. }) => {
                halving.may_send(f64::from(self.board.pipe()), window)
            }
            Some(Episode { meter: Meter::Down(down), .. }) => {
                down.may_send(f64::from(self.board.pipe()))
            }
            _ => self.has_room(window),
        };
        if !may_send {
            return Next::WaitForWindow;
        }
        let has_new = self.board.end() < offered;
        if let Some(loss) = self.timed_out.as_mut().filter(|loss| loss.sends_new) {
            if has_new {
                return Next::New;
            }
            (loss.frto, loss.sends_new) = (false, false);
        }
        if let Some(number) = self.board.next_retransmission() {
            return Next::Again(number);
        }
        if has_new {
            return Next::New;
        }
        let speculative = self
            .recovery
            .as_ref()
            .filter(|_| self.rack.is_none())
            .and_then(|_| self.board.speculative());
        speculative.map_or(Next::WaitForData, Next::Again)
    }
}

impl Recovery for Selective {
    const TELLS_DELIVERIES: bool = true;

    fn new(_kind: RecoveryKind, metering: Metering, habits: &Habits) -> Self {
        let by_time = habits.detection == Detection::ByTime;
        Self {
            board: Scoreboard::new(by_time),
            rack: by_time.then(Rack::default),
            recovery: None,
            recovery_point: 0,
            timed_out: None,
            undo: None,
            probe: None,
            probes_now: false,
            metering,
            uses_frto: by_time && habits.frto,
        }
    }

    fn first(&self) -> u64 {
        self.board.first()
    }

    fn end(&self) -> u64 {
        self.board.end()
    }

    fn in_flight(&self) -> u64 {
        u64::from(self.board.pipe())
    }

    fn sacked(&self) -> u64 {
        u64::from(self.board.sacked_packets())
    }

    fn places(&self) -> [Option<*const ()>; 2] {
        self.board.places()
    }

    fn first_sent(&self) -> Option<Time> {
        self.board.first_sent()
    }

    fn recovering(&self) -> bool {
        self.recovery.is_some()
    }

    fn repairing(&self) -> bool {
        self.repairs()
    }

    /// Only where losses are found by count, and if no stamp could take back what has been done.
    #[inline]
    fn advance(&mut self, ack: &Segment, timestamps: bool) -> Option<Answer> {
        let expects_nothing = self.rack.is_none() && (self.undo.is_none() || !timestamps);
        if !(expects_nothing && self.is_quiet() && ack.reports_nothing()) {
            return None;
        }
        let advanced = ack.number > self.board.first();
        let mut delivered = Delivered::default();
        if advanced {
            self.board.acknowledge(ack.number, &Arrival::UNSTAMPED, &mut delivered);
        }
        Some(Answer::of(&delivered, advanced))
    }

    #[inline]
    fn is_calm(&self) -> bool {
        self.rack.is_some()
            && self.recovery.is_none()
            && self.timed_out.is_none()
            && self.probe.is_none()
            && !self.probes_now
            && self.board.is_calm()
    }

    #[inline]
    fn advance_calmly(&mut self, ack: &Segment, now: Time) -> Option<Delivered> {
        if !self.is_calm() {
            return None;
        }
        let rack = self.rack.as_mut()?;
        let delivered = self.board.acknowledge_calmly(ack.number, rack.newest())?;
        rack.advance(now, delivered.proof?);
        Some(delivered)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
        let expects_nothing =
            self.rack.is_some() && self.timed_out.is_none() && self.probe.is_none();
        let is_new = ack.number > self.board.first() && ack.reports_nothing();
        if expects_nothing && self.is_quiet() && is_new {
            self.advance_by_time(ack, ears)
        } else {
            self.hear(ack, ears)
        }
    }

    /// Marks as lost what has not arrived, except what left lately if losses are found by time (RFC
    /// 6675 §5.1, RFC 8985 §6.3).
    fn on_timeout(&mut self, again: bool, ears: &mut Ears) -> TimedOut {
        let was_repairing = self.repairs();
        let patience = self.rack.as_ref().map(|rack| rack.patience(Duration::ZERO));
        let now = ears.now;
        self.board.time_out(
            |sent| patience.is_some_and(|patience| now.since(sent) < patience),
            |packet| ears.lost(&packet, false),
        );
        // Within a window of data that has been answered the threshold stays (Linux's
        // tcp_enter_loss).
        let answered = self.rack.is_some()
            && (self.recovery.is_some() || self.timed_out.is_some() && again)
            && self.board.first() < self.recovery_point;
        let opens_epoch = if self.rack.is_some() { !answered } else { !again };
        if opens_epoch {
            let resent = self.board.resent_in_flight();
            self.undo = Some(Box::new(Undo::new(self.board.first(), resent)));
        }
        let frto = self.uses_frto && (!was_repairing || again);
        self.timed_out = self.rack.is_some().then_some(AfterTimeout { frto, sends_new: false });
        (self.recovery, self.probe) = (None, None);
        self.recovery_point = self.board.end();
        TimedOut { opens_epoch, in_flight: f64::from(self.board.pipe()) }
    }

    /// Marks as lost what was only waited for because packets may be reordered (RFC 8985 §6.2, step
    /// 5; `tcp_rack_reo_timeout`).
    fn on_reordering_timer(&mut self, ears: &mut Ears) -> bool {
        let verdict = self.judge(0, ears);
        match self.recovery.as_mut().map(|episode| &mut episode.meter) {
            _ if verdict.begins => self.meter(1.0, false, verdict.losses, ears),
            Some(Meter::Prr(prr)) => prr.lost(f64::from(verdict.losses)),
            _ => {}
        }
        verdict.begins
    }

    fn forbid_undo(&mut self) {
        self.undo = None;
    }

    fn reduces_for_mark(&mut self) {
        let follows = matches!(self.metering, Metering::Prr | Metering::CwndDown);
        if self.recovery.is_none() && self.timed_out.is_none() && follows {
            let (flight, pipe) = (self.missing(), f64::from(self.board.pipe()));
            let meter = Meter::new(self.metering, flight, pipe, f64::INFINITY);
            let (resend_now, repairs) = (false, false);
            self.recovery = Some(Box::new(Episode { resend_now, repairs, meter }));
            self.recovery_point = self.board.end();
            (self.undo, self.probe) = (None, None);
        }
    }

    fn restarted(&mut self, window: f64) {
        if let Some(Episode { meter: Meter::Prr(prr), .. }) = self.recovery.as_deref_mut() {
            prr.restarted(window);
        }
    }

    fn may_probe(&self) -> bool {
        self.rack.is_some()
            && self.probe.is_none()
            && !self.repairs()
            && self.board.sacked_packets() == 0
            && self.board.first() < self.board.end()
    }

    fn probe(&mut self) {
        self.probes_now = true;
    }

    fn probing(&self) -> bool {
        self.probes_now
    }

    #[inline]
    fn next(&mut self, window: f64, offered: u64) -> Next {
        if self.may_repair() {
            return self.choose(window, offered);
        }
        if !self.has_room(window) {
            Next::WaitForWindow
        } else if self.board.end() < offered {
            Next::New
        } else {
            Next::WaitForData
        }
    }

    /// Records that packet `number` leaves as transmission number `transmission`.
    fn sent(&mut self, number: u64, transmission: u64, now: Time) {
        let again = number < self.board.end();
        if again {
            self.board.sent_again(number, transmission, now);
        } else {
            self.board.sent(transmission, now);
        }
        if std::mem::take(&mut self.probes_now) {
            let in_flight = self.board.pipe();
            let packet = LostPacket { number, transmission, in_flight, again };
            let resent = again.then_some(packet);
            self.probe = Some(Box::new(Probe { end: self.board.end(), resent }));
            return;
        }
        if again && let Some(undo) = &mut self.undo {
            undo.sent_again(number, now);
        }
        if let Some(episode) = &mut self.recovery {
            episode.resend_now = false;
            match &mut episode.meter {
                Meter::Prr(prr) => prr.on_sent(),
                Meter::Halving(halving) => halving.on_sent(f64::from(self.board.pipe())),
                Meter::Window | Meter::Down(_) => {}
            }
        }
    }

    fn renew(&mut self) {
        if self.rack.is_some() {
            self.rack = Some(Rack::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Abilities, Congestion};
    use crate::{AckHeader, Header, Outstanding, RttEstimator};
    use narrows_control::{Ack, Controller, Loss, Timeout};
    use narrows_signal::{Range, SackBlocks};
    use proptest::prelude::*;

    /// A law that hears nothing.
    struct Deaf;

    impl Controller for Deaf {
        fn on_ack(&mut self, _ack: &Ack) {}
        fn on_loss(&mut self, _loss: &Loss) {}
        fn on_timeout(&mut self, _timeout: &Timeout) {}
        fn window(&self) -> f64 {
            10.0
        }
    }

    /// What `told` does with a recovery that has sent `sent` packets, and what it becomes.
    fn after(
        recovery: &Selective,
        sent: u64,
        timestamps: bool,
        told: impl Fn(&mut Selective, &mut Ears) -> String,
    ) -> (Selective, String) {
        let mut congestion = Congestion::new(Box::new(Deaf), Abilities::default());
        let mut rtt = RttEstimator::default();
        let outstanding = Outstanding { first: 0, end: 1 };
        rtt.sample(Duration::from_millis(200), &Habits::LINUX.timeouts, outstanding);
        let mut ears = Ears {
            congestion: &mut congestion,
            now: Time::from_secs(0.1 * sent as f64 + 0.05),
            next: sent,
            rtt: &rtt,
            timestamps,
            answered_to: 0,
        };
        let mut recovery = recovery.clone();
        let answer = told(&mut recovery, &mut ears);
        let shown = format!("{answer} {recovery:?} {:?}", congestion.counters);
        (recovery, shown)
    }

    proptest! {
        /// Packets leave, anew and again, timers go off, acknowledgements come with and without
        /// blocks and duplicates: the short way does what the long one does.
        #[test]
        fn the_short_way_of_an_acknowledgement_does_what_the_long_one_does(
            events in prop::collection::vec((0u8..16, 0u64..6, 1u64..4, any::<bool>()), 1..200),
            timestamps in any::<bool>(),
            habits in prop::sample::select(vec![Habits::NS2, Habits::LINUX]),
            metering in 0usize..3,
            echo in 0.0..2.0,
        ) {
            let metering = [Metering::ByPipe, Metering::ByLaw, Metering::Prr][metering];
            let mut recovery = Selective::new(RecoveryKind::Sack, metering, &habits);
            let mut sent = 0;
            for (kind, start, length, duplicate) in events {
                let (first, end) = (recovery.first(), recovery.end());
                if kind < 9 {
                    let again = if kind > 5 { recovery.board.next_retransmission() } else { None };
                    if duplicate && start == 0 && recovery.may_probe() {
                        recovery.probe();
                    }
                    let (room, offered) = (length as f64 * 8.0, end + start);
                    let chosen = recovery.clone().choose(room, offered);
                    prop_assert_eq!(recovery.clone().next(room, offered), chosen);
                    recovery.sent(again.unwrap_or(end), sent, Time::from_secs(0.1 * sent as f64));
                    sent += 1;
                    continue;
                }
                if kind == 9 {
                    (recovery, _) = after(&recovery, sent, timestamps, |recovery, ears| {
                        match start {
                            0 => recovery.reduces_for_mark(),
                            1 => drop(recovery.on_timeout(duplicate, ears)),
                            _ => drop(recovery.on_reordering_timer(ears)),
                        }
                        String::new()
                    });
                    continue;
                }
                let number = (first + start).min(end);
                let (low, high) = (number + start, (number + start + length).min(end));
                let block = Range { start: low, end: high };
                let reports = kind > 12 && start > 0 && !block.is_empty();
                let sack = SackBlocks::of(number, reports.then_some(block).into_iter());
                let header = Header::Ack(AckHeader { sack, ..AckHeader::NOTHING });
                let (stamp, echoed_stamp) = (Time::from_secs(1.0), Time::from_secs(echo));
                let mut ack = Segment { number, stamp, echoed_stamp, bytes: 40, header };
                if duplicate && kind == 12 {
                    ack.report_duplicate(first.saturating_sub(1));
                }
                let (_, long) = after(&recovery, sent, timestamps, |recovery, ears| {
                    format!("{:?}", recovery.hear(&ack, ears))
                });
                let (next, short) = after(&recovery, sent, timestamps, |recovery, ears| {
                    let quick = recovery.advance(&ack, timestamps);
                    format!("{:?}", quick.unwrap_or_else(|| recovery.on_ack(&ack, ears)))
                });
                prop_assert_eq!(short, long);
                recovery = next;
            }
        }
    }
}
