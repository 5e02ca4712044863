//! CoDel, controlled delay (RFC 8289).
//!
//! | source | rule | here |
//! |---|---|---|
//! | §5.5, dodequeue | the delay has been above TARGET for an INTERVAL, and more than one packet waits | [`CodelState::should_drop`] |
//! | §5.3, control_law | next drop INTERVAL/√count after the last | [`CodelState::control_law`] |
//! | Linux, codel_impl.h | what leaves after more than `ce_threshold` is marked | [`CodelState::dequeue`] |
//! | §5.6, dequeue | begins, continues or ends dropping; begins with the previous count if that was recent | [`CodelState::dequeue`] |

use crate::departure::Departure;
use crate::entry::Entry;
use crate::{Backlog, Discipline, Drops, Packet, TimedQueue};
use narrows_settings::{Given, SettingError, Settings, choice, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Time};

settings! {
    /// CoDel's settings as a user gives them.
    pub struct CodelOptions {
        /// TARGET, the standing queueing delay that is acceptable (§4.3).
        target: Duration = Duration::from_millis(5), above(0.0);
        /// INTERVAL, for how long the delay may be above the target: about the largest RTT (§4.2).
        interval: Duration = Duration::from_millis(100), above(0.0);
        /// Whether packets that can be marked are marked instead of dropped.
        ecn: bool = true;
        /// From which waiting time on each packet that leaves is marked, if it can be, whatever
        /// CoDel says (Linux, `ce_threshold`).
        ce_threshold: Option<Duration> = None => "none";
        /// Which packets ce_threshold marks (Linux, `ce_threshold_selector`).
        ce_selector: Selector = Selector::Ect;
    }
}

choice! {
    /// Packets that `ce_threshold` marks.
    pub enum Selector("choice among ect and ect1") {
        /// All that can be marked.
        Ect = "ect",
        /// Those of scalable laws (L4S).
        Ect1 = "ect1",
    }
}

/// How CoDel is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelSettings {
    /// The user's settings.
    pub options: CodelOptions,
    /// Bytes of the largest packet: this many may always wait (§5.5).
    pub mtu: u64,
}

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "codel",
    aliases: &[],
    summary: "drops or marks packets, more and more often, while they wait longer than a target",
    source: "RFC 8289",
    settings: CodelOptions::list,
    construct: |given, placement| {
        let options = CodelOptions::read(given)?;
        options.check(given)?;
        Ok(Discipline::Codel(CodelSettings { options, mtu: placement.packet }))
    },
};

/// A queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    settings: CodelSettings,
    state: CodelState,
    queue: TimedQueue<P>,
}

impl<P: Packet> Codel<P> {
    /// Empty.
    pub fn new(settings: CodelSettings) -> Self {
        Self { settings, state: CodelState::default(), queue: TimedQueue::default() }
    }

    /// It has these settings from now on; its state stays.
    pub fn retune(&mut self, settings: CodelSettings) {
        self.settings = settings;
    }
}

impl<P: Packet> Departure<P> for Codel<P> {
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn admit(&mut self, now: Time, packet: P) {
        self.queue.push(now, packet);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
        self.state.dequeue(&self.settings, now, &mut self.queue, dropped)
    }
}

/// CoDel's state, apart from the queue that it works on.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodelState {
    /// When the delay will have been above the target for an interval; `None` while it is not
    /// above.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// How long the packet that was taken last had waited.
    delay: Duration,
}

impl CodelOptions {
    /// Fails if a threshold's selector is given, and no threshold.
    pub(super) fn check(&self, given: &Given) -> Result<(), SettingError> {
        given.counts_if("ce_selector", self.ce_threshold.is_some(), "ce_threshold")
    }

    /// True if it marks packets that can be marked.
    pub fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }
}

impl Selector {
    fn selects(self, ecn: Ecn) -> bool {
        match self {
            Self::Ect => ecn.is_capable(),
            Self::Ect1 => ecn == Ecn::Scalable,
        }
    }
}

impl CodelState {
    /// The next packet to leave `queue` at `now`, if any; those dropped before it go to `dropped`.
    pub fn dequeue<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Time,
        queue: &mut TimedQueue<P>,
        dropped: &mut Drops<P>,
    ) -> Option<P> {
        let mut packet = self.controlled(settings, now, queue, dropped)?;
        if settings.options.ce_threshold.is_some_and(|threshold| self.delay > threshold)
            && settings.options.ce_selector.selects(packet.ecn())
        {
            packet.mark();
        }
        Some(packet)
    }

    /// The next packet as CoDel has it (RFC 8289 §5.6).
    fn controlled<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Time,
        queue: &mut TimedQueue<P>,
        dropped: &mut Drops<P>,
    ) -> Option<P> {
        let (mut packet, mut drop) = self.take(settings, now, queue);
        if self.dropping {
            if !drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if Self::marks(settings, &mut packet) {
                    self.drop_next = self.control_law(settings, self.drop_next);
                    return packet;
                }
                dropped.extend(packet);
                (packet, drop) = self.take(settings, now, queue);
                if drop {
                    self.drop_next = self.control_law(settings, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if drop {
            if !Self::marks(settings, &mut packet) {
                dropped.extend(packet);
                (packet, _) = self.take(settings, now, queue);
            }
            self.begin(settings, now);
        }
        packet
    }

    fn begin(&mut self, settings: &CodelSettings, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next) < settings.options.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(settings, now);
        self.last_count = self.count;
    }

    /// The packet at the head, and whether it should be dropped.
    fn take<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Time,
        queue: &mut TimedQueue<P>,
    ) -> (Option<P>, bool) {
        match queue.pop() {
            None => {
                self.first_above = None;
                (None, false)
            }
            Some((since, packet)) => {
                self.delay = now.since(since);
                let drop = self.should_drop(settings, now, queue.backlog().bytes);
                (Some(packet), drop)
            }
        }
    }

    fn should_drop(&mut self, settings: &CodelSettings, now: Time, left: u64) -> bool {
        if self.delay < settings.options.target || left <= settings.mtu {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + settings.options.interval);
                false
            }
            Some(at) => now >= at,
        }
    }

    fn control_law(&self, settings: &CodelSettings, at: Time) -> Time {
        at + settings.options.interval.scale(1.0 / libm::sqrt(f64::from(self.count)))
    }

    /// Marks the packet if it can be marked; true if so.
    fn marks<P: Packet>(settings: &CodelSettings, packet: &mut Option<P>) -> bool {
        let Some(packet) =
            packet.as_mut().filter(|packet| settings.options.ecn && packet.ecn().is_capable())
        else {
            return false;
        };
        packet.mark();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;

    fn rfc() -> CodelSettings {
        CodelSettings { options: CodelOptions::default(), mtu: 1000 }
    }

    /// Each millisecond `arrive` packets arrive and one leaves. Returns the milliseconds at which
    /// packets were dropped, and at which they were marked.
    fn drops(millis: u64, arrive: impl Fn(u64) -> u64, ecn: Ecn) -> (Vec<u64>, Vec<u64>) {
        let (mut codel, mut queue, mut number) = (CodelState::default(), TimedQueue::default(), 0);
        let (mut dropped_at, mut marked_at) = (Vec::new(), Vec::new());
        for milli in 0..millis {
            let now = Time::ZERO + Duration::from_millis(milli);
            for _ in 0..arrive(milli) {
                queue.push(now, Parcel { ecn, ..Parcel::new(1, number) });
                number += 1;
            }
            let mut dropped = Vec::new();
            let packet = codel.dequeue(&rfc(), now, &mut queue, &mut dropped);
            dropped_at.extend(dropped.iter().map(|_| milli));
            marked_at.extend(packet.filter(|packet| packet.ecn == Ecn::Marked).map(|_| milli));
        }
        (dropped_at, marked_at)
    }

    #[test]
    fn a_standing_queue_is_dropped_from_at_the_times_of_the_control_law() {
        // Twenty packets at once, then as many as leave: the delay is above 5 ms from the sixth
        // packet on, which leaves at 5 ms, so that the first drop comes at 105 ms; then 100/√n ms
        // apart: 100, 70.7, 57.7, 50, 44.7 …
        let (dropped, _) = drops(480, |milli| if milli == 0 { 20 } else { 1 }, Ecn::NotCapable);
        let mut expected = vec![105.0];
        for n in 1..7 {
            expected.push(expected[n - 1] + 100.0 / (n as f64).sqrt());
        }
        let expected: Vec<u64> = expected
            .into_iter()
            .map(|millis| f64::ceil(millis) as u64)
            .filter(|at| *at < 480)
            .collect();
        assert_eq!(dropped, expected);
    }

    #[test]
    fn a_queue_that_drains_within_the_interval_is_left_alone() {
        let burst = |milli: u64| if milli == 0 { 90 } else { 0 };
        assert_eq!(drops(300, burst, Ecn::NotCapable), (vec![], vec![]));
    }

    #[test]
    fn marks_come_when_drops_would() {
        let arrive = |milli: u64| if milli == 0 { 20 } else { 1 };
        let (dropped, _) = drops(300, arrive, Ecn::NotCapable);
        let (none, marked) = drops(300, arrive, Ecn::Capable);
        assert_eq!((none.len(), marked), (0, dropped));
    }

    #[test]
    fn what_leaves_after_the_threshold_is_marked_if_it_is_selected() {
        let after = |ce_selector, ecn, millis| {
            let ce_threshold = Some(Duration::from_millis(1));
            let options = CodelOptions { ce_threshold, ce_selector, ..CodelOptions::default() };
            let settings = CodelSettings { options, mtu: 1000 };
            let (mut codel, mut queue) = (CodelState::default(), TimedQueue::default());
            queue.push(Time::ZERO, Parcel { ecn, ..Parcel::new(1, 0) });
            let now = Time::ZERO + Duration::from_millis(millis);
            codel.dequeue(&settings, now, &mut queue, &mut Vec::new()).unwrap().ecn
        };
        assert_eq!(after(Selector::Ect, Ecn::Capable, 1), Ecn::Capable);
        assert_eq!(after(Selector::Ect, Ecn::Capable, 2), Ecn::Marked);
        assert_eq!(after(Selector::Ect, Ecn::NotCapable, 2), Ecn::NotCapable);
        assert_eq!(after(Selector::Ect1, Ecn::Capable, 2), Ecn::Capable);
        assert_eq!(after(Selector::Ect1, Ecn::Scalable, 2), Ecn::Marked);
    }

    #[test]
    fn a_state_entered_again_soon_goes_on_where_it_was() {
        let mut codel = CodelState {
            count: 9,
            last_count: 2,
            drop_next: Time::from_secs(1.0),
            ..CodelState::default()
        };
        codel.begin(&rfc(), Time::from_secs(1.2));
        assert_eq!(codel.count, 7, "§5.6: count minus the count at the last beginning");
        codel.drop_next = Time::from_secs(1.0);
        codel.begin(&rfc(), Time::from_secs(3.0));
        assert_eq!(codel.count, 1, "16 intervals later it begins anew");
    }
}
