//! The seat of a law. Each transport, ours and those that others wrote, tells its congestion
//! controller what happened and asks it for its window through a [`Congestion`].
//!
//! A transport decides what has happened: that a packet is lost, that a loss opens an epoch, that
//! the window was the limit. It tells the seat in the order of `narrows_control`'s events. The seat
//! adds what no transport does by itself: samples of the delivery rate, the epochs of marks,
//! counters, the account of what the sender waits for. `Release` decides how many packets of ours
//! leave together and how they are spaced.
//!
//! What a transport cannot serve it says in [`Transport::serves`](crate::Transport::serves).

mod autosize;
mod counters;
mod delivered;
mod estimates;
mod leaky_bucket;
mod limits;
mod marks;
mod pacer;
mod rate_sampler;
mod release;

pub(crate) use autosize::Chance;
pub use autosize::{Deferral, Quantum};
pub use counters::Counters;
pub use delivered::{Delivered, Proof};
pub use limits::{Limited, SendLimit};
pub use marks::EcnOfUser;
pub(crate) use marks::Marks;
pub use pacer::Pacer;
pub(crate) use rate_sampler::RateSampler;
pub use rate_sampler::Sending;
pub(crate) use release::{Flight, Release, Spread};
pub use release::{Path, Spacing};

use limits::Limits;
use marks::EcnOfLaw;
use narrows_control::{
    Ack, Controller, Idle, Loss, Mark, Needs, Pacing, RateSample, Restart, Rtt, Steer, Tick,
    Timeout,
};
use narrows_signal::{Reply, Request};
use narrows_units::{Duration, Time};

/// A law in its seat.
pub struct Congestion {
    law: Box<dyn Controller>,
    /// What the law has answered to its last event.
    steer: Steer,
    sampler: Option<Box<RateSampler>>,
    pub(crate) marks: Option<Marks>,
    /// Whether the law has no answer to marks as of RFC 3168.
    ignores_marks: bool,
    /// Whether the law decides in a recovery, too.
    own_recovery: bool,
    /// Whether the law has a timer of its own.
    has_timer: bool,
    /// Whether packets carry the law's requests to routers.
    asks: bool,
    /// Whether a request for a connection does, too.
    asks_from_syn: bool,
    /// The longest time that a burst may take, if the law sets it.
    longest_burst: Option<Duration>,
    limits: Limits,
    pub(crate) counters: Counters,
}

/// What a transport does for its law that not every transport does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// What the user asks of ECN.
    pub ecn: EcnOfUser,
    /// Whether deliveries are told packet by packet, as samples of the delivery rate need.
    pub deliveries: bool,
}

/// A packet that is lost, as a transport sees it.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When the loss was found.
    pub now: Time,
    /// The number under which the packet was [`sent`](Congestion::sent).
    pub number: u64,
    /// The number of its transmission.
    pub transmission: u64,
    /// The number of the next transmission.
    pub next: u64,
    /// Whether it opens a recovery epoch.
    pub opens_epoch: bool,
    /// Packets in flight when it left, itself included.
    pub in_flight: f64,
    /// The RTT, once there is a sample.
    pub rtt: Option<Rtt>,
}

/// Packets that arrived with a mark, as a transport sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marked {
    pub now: Time,
    /// How many.
    pub packets: f64,
    /// The newest transmission that the acknowledgement answers, and the next to leave.
    pub newest: u64,
    pub next: u64,
    /// A mark of an earlier transmission is in a window that has been reduced for a loss.
    pub reduced_to: u64,
}

/// What a mark does to the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub opens_epoch: bool,
    /// The retransmission timer backs off (RFC 3168 §6.1.2).
    pub backs_off: bool,
}

/// RFC 9002, §7 bounds what is in flight for every law. One that only paces has its window in
/// flight on average, and may have twice that for a while.
const PACED_FLIGHT: f64 = 2.0;

impl Congestion {
    /// Seats `law` in a transport with these `abilities`.
    pub fn new(law: Box<dyn Controller>, abilities: Abilities) -> Self {
        // In full: a new need does not compile until it is served here.
        let Needs {
            ecn,
            echoed,
            rate_samples,
            timer,
            routers,
            routers_from_syn,
            own_recovery,
            mark_stops,
            ignores_marks,
            burst,
        } = law.needs();
        let asked = abilities.ecn.asked && !ignores_marks;
        let ecn_of_user = EcnOfUser { asked, ..abilities.ecn };
        let ecn_of_law = EcnOfLaw { marks: ecn, echoed, own_recovery, stops: mark_stops };
        Self {
            steer: Steer::of(&*law),
            law,
            sampler: (rate_samples && abilities.deliveries).then(Box::default),
            marks: Marks::new(&ecn_of_law, ecn_of_user),
            ignores_marks,
            own_recovery,
            has_timer: timer,
            asks: routers,
            asks_from_syn: routers_from_syn,
            longest_burst: burst,
            limits: Limits::new(),
            counters: Counters::default(),
        }
    }

    /// A new connection begins with a `law` of the same kind. Marks and the rate sampler go on:
    /// packets of the old connection may still be acknowledged, and samples are of differences
    /// only.
    pub fn renew(&mut self, law: Box<dyn Controller>) {
        self.seat(law);
        self.marks.iter_mut().for_each(Marks::renew);
    }

    /// The same over a transport whose packet numbers of the old connection are never acknowledged
    /// again: samples begin anew with the packet `first`, and counts of marks go on.
    pub(crate) fn renew_from(&mut self, law: Box<dyn Controller>, first: u64) {
        self.seat(law);
        if let Some(sampler) = &mut self.sampler {
            **sampler = RateSampler::starting_at(first);
        }
    }

    fn seat(&mut self, law: Box<dyn Controller>) {
        self.law = law;
        self.heed();
    }

    /// Asks the law for its answer to what it has been told.
    #[inline]
    fn heed(&mut self) {
        self.law.steer(&mut self.steer);
    }

    /// What the law has answered to its last event.
    #[inline]
    fn steer(&self) -> &Steer {
        debug_assert_eq!(self.steer, Steer::of(&*self.law), "the law was told of something else");
        &self.steer
    }

    /// What the transport has done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The law.
    pub fn law(&self) -> &dyn Controller {
        &*self.law
    }

    /// The window in packets.
    #[inline]
    pub fn window(&self) -> f64 {
        self.steer().window
    }

    /// The slow-start threshold in packets; infinite if there is none.
    pub fn ssthresh(&self) -> f64 {
        self.law.ssthresh()
    }

    /// How packets are spaced.
    // Most only ask whether they are: a copy would wait for what has just been written.
    #[inline]
    pub fn pacing(&self) -> &Pacing {
        &self.steer().pacing
    }

    /// Packets that the law lets be in flight; infinite for one that only paces.
    #[inline]
    pub fn flight_limit(&self) -> f64 {
        self.steer().flight_limit
    }

    /// Packets that may be in flight over a transport that bounds that for every law (RFC 9002,
    /// §7); before there is an RTT nothing can be paced, and the window is the bound.
    pub fn bounded_flight(&self, knows_rtt: bool) -> f64 {
        let limit = self.flight_limit();
        match (limit < f64::INFINITY, knows_rtt) {
            (true, _) => limit,
            (false, false) => self.window(),
            (false, true) => PACED_FLIGHT * self.window(),
        }
    }

    /// Whether the law decides in a recovery, too.
    #[inline]
    pub fn own_recovery(&self) -> bool {
        self.own_recovery
    }

    /// Whether the law hears samples of the delivery rate.
    #[inline]
    pub fn samples(&self) -> bool {
        self.sampler.is_some()
    }

    /// Whether acknowledgements and departures tell of the window and the rate alone: no marks, no
    /// requests to routers, no timer.
    pub(crate) fn is_plain(&self) -> bool {
        self.marks.is_none() && !self.asks && !self.has_timer
    }

    /// Whether packets carry the law's requests to routers.
    #[inline]
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// What a departing packet asks of routers.
    pub fn request(&self) -> Request {
        if self.asks { self.law.request() } else { Request::Nothing }
    }

    /// What a request for a connection asks of routers.
    pub(crate) fn first_request(&self) -> Request {
        if self.asks_from_syn { self.law.request() } else { Request::Nothing }
    }

    /// The connection is accepted, and routers have replied to what its request asked.
    pub(crate) fn accepted(&mut self, reply: Reply, rtt: Option<Rtt>) {
        if reply != Reply::Nothing {
            self.law.on_accepted(reply, rtt);
            self.heed();
        }
    }

    /// Packet `number` leaves at `now`, before so many `followers` of its burst. `in_flight`
    /// returns the packets in flight then, itself included.
    #[inline]
    pub fn sent(
        &mut self,
        number: u64,
        now: Time,
        followers: u16,
        in_flight: impl FnOnce() -> u32,
    ) {
        self.counters.sent += 1;
        if let Some(sampler) = &mut self.sampler {
            sampler.sent(number, now, in_flight(), followers);
        }
    }

    /// An acknowledgement delivers packets; to be told before the losses that it reveals.
    #[inline]
    pub fn delivered(
        &mut self,
        delivered: &Delivered,
        now: Time,
        rtt: impl FnOnce() -> Option<Rtt>,
    ) {
        if let Some(sampler) = &mut self.sampler {
            sampler.arrived(delivered, now, rtt().map(|rtt| rtt.minimum));
        }
    }

    /// A packet is lost.
    pub fn lost(&mut self, lost: &Lost) {
        self.counters.lost += 1;
        let rate = self.sampler.as_mut().and_then(|sampler| sampler.lost(lost.number));
        self.tell_loss(lost, false, rate);
    }

    /// A packet of which the law has heard is still lost, and opens another epoch.
    pub(crate) fn still_lost(&mut self, lost: &Lost) {
        self.tell_loss(lost, true, None);
    }

    fn tell_loss(&mut self, lost: &Lost, again: bool, rate: Option<narrows_control::LossSample>) {
        let Lost { now, transmission, next, opens_epoch, in_flight, rtt, .. } = *lost;
        self.counters.epochs += u32::from(opens_epoch);
        let loss = Loss { now, transmission, next, opens_epoch, again, in_flight, rtt, rate };
        self.law.on_loss(&loss);
        self.heed();
    }

    /// Packets arrived with a mark.
    pub(crate) fn marked(&mut self, marked: &Marked) -> Answered {
        let Marked { now, packets, newest, next, reduced_to } = *marked;
        let mut answered = Answered { opens_epoch: false, backs_off: false };
        let Some(marks) = &mut self.marks else { return answered };
        answered.opens_epoch = newest >= reduced_to.max(marks.answered_to);
        if answered.opens_epoch {
            marks.answered_to = next;
            marks.says_reduced = true;
            answered.backs_off = marks.answered_at(self.steer.window);
        }
        self.law.on_mark(&Mark { now, packets, opens_epoch: answered.opens_epoch });
        self.heed();
        answered
    }

    /// A stack that keeps account of marks by itself tells of one, and whether an epoch opens.
    pub fn marked_by_stack(&mut self, now: Time, opens_epoch: bool) {
        self.law.on_mark(&Mark { now, packets: 1.0, opens_epoch });
        self.heed();
    }

    /// Whether the law has no answer to marks as of RFC 3168, so that they open no epoch.
    pub fn ignores_marks(&self) -> bool {
        self.ignores_marks
    }

    /// The rate sample of the acknowledgement whose deliveries and losses have been told, before
    /// which the sender's state was `sending`; forgets packets below `first`.
    pub fn rate_sample(&mut self, first: u64, sending: &Sending) -> Option<RateSample> {
        self.sampler.as_mut()?.take(first, sending)
    }

    /// Packets were acknowledged.
    #[inline]
    pub fn acknowledged(&mut self, ack: &Ack) {
        self.law.on_ack(ack);
        self.heed();
    }

    /// The retransmission timer went off.
    pub fn timed_out(&mut self, timeout: &Timeout) {
        self.counters.timeouts += 1;
        self.law.on_timeout(timeout);
        self.heed();
    }

    /// Something leaves at `now` after a silence that began at `since`.
    pub fn restarted(&mut self, now: Time, since: Time, timeout: Duration, restart: Restart) {
        let app_limited = self.sampler.as_ref().is_some_and(|sampler| sampler.is_app_limited());
        self.law.on_restart(&Idle { now, length: now.since(since), timeout, restart, app_limited });
        self.heed();
    }

    /// No more than `used` packets of the window were in flight for a timeout.
    pub(crate) fn unused(&mut self, used: f64) {
        self.law.on_unused(used);
        self.heed();
    }

    /// The transport limits the burst that would follow a recovery to `window` packets.
    pub(crate) fn moderated(&mut self, window: f64) {
        self.law.on_moderation(window);
        self.heed();
    }

    /// All packets thought lost in this epoch have arrived after all.
    pub fn spurious(&mut self) {
        self.counters.spurious += 1;
        self.law.on_spurious();
        self.heed();
    }

    /// A packet could leave and the application has none, with `in_flight` packets in flight.
    pub fn application_limits(&mut self, in_flight: u64) {
        if let Some(sampler) = &mut self.sampler {
            sampler.application_limits(in_flight);
        }
    }

    /// The earlier of `timer` and the time at which the law is to be woken.
    #[inline]
    pub fn or_wakes(&self, timer: Time) -> Time {
        if self.has_timer { timer.min(self.law.wakes_at()) } else { timer }
    }

    /// Wakes the law if its time has come.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        if self.has_timer && self.law.wakes_at() <= now {
            self.tick(now);
        }
    }

    #[cold]
    fn tick(&mut self, now: Time) {
        let spent = self.limits.spent(now);
        let held = spent.by(SendLimit::Window) + spent.by(SendLimit::Pacing);
        self.law.on_timer(&Tick { now, sent: self.counters.sent, held });
        self.heed();
    }

    /// Nothing more leaves at `now` because of `limit`, or because losses are being repaired,
    /// unless the law decides then, too.
    #[inline]
    pub(crate) fn waits(&mut self, now: Time, limit: SendLimit, repairs: bool) {
        let repairs = repairs && !self.own_recovery;
        self.limits.set(if repairs { SendLimit::Recovery } else { limit }, now);
    }

    /// A timer has gone off at `now` after `silence`, in which losses were waiting for it.
    pub(crate) fn was_silent(&mut self, silence: Duration, now: Time) {
        self.limits.timed_out(silence, now);
    }

    /// The time spent under each limit up to `now`.
    pub(crate) fn limited(&self, now: Time) -> Limited {
        self.limits.spent(now)
    }

    /// An RTT sample was taken.
    #[inline]
    pub(crate) fn count_rtt(&mut self, rtt: Duration) {
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum += rtt.seconds();
    }

    /// Releases memory after a large window has shrunk; called once a recovery.
    pub(crate) fn shrink(&mut self) {
        self.sampler.iter_mut().for_each(|sampler| sampler.shrink());
    }

    /// Packets that leave at `rate` packets per second in the longest burst that the law wants;
    /// `None` if it sets none, or there is no rate yet.
    fn longest_burst(&self, rate: impl FnOnce() -> Option<f64>) -> Option<u32> {
        let longest = self.longest_burst?;
        let least = self.law.least_burst();
        rate().map(|rate| (rate * longest.seconds()).max(least) as u32)
    }
}
