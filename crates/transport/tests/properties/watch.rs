//! What somebody who sees only packets and acknowledgements knows of a sender: what it may send.

use super::case::Case;
use narrows_transport::tcp::{Metering, RecoveryKind};
use narrows_transport::{Segment, Sender};
use narrows_units::{Duration, Time};

/// The sender just before something happened to it.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    recovering: bool,
    in_flight: f64,
    window: f64,
    first: u64,
    timeouts: u32,
    spurious: u32,
}

impl Before {
    pub fn of(sender: &Sender) -> Self {
        Self {
            recovering: sender.recovering(),
            in_flight: sender.in_flight() as f64,
            window: sender.controller().flight_limit(),
            first: sender.first(),
            timeouts: sender.counters().timeouts,
            spurious: sender.counters().spurious,
        }
    }
}

/// One recovery.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// One past the highest number sent when it began.
    end: u64,
    /// Packets in flight just before the acknowledgement that opened it, and the window.
    flight: f64,
    window: f64,
    /// Retransmissions that need no room in the window: the fast one, and with NewReno one for
    /// each partial acknowledgement.
    free: u64,
    /// Packets added to the window (RFC 5681 §3.2, steps 3 and 4; RFC 6582 §3.2, step 3).
    inflation: f64,
}

/// Follows a sender from outside.
#[derive(Clone, Debug)]
pub struct Watch {
    selective: bool,
    metered: bool,
    limited_transmit: bool,
    window_limit: f64,
    offered: u64,
    /// One past the highest number that left.
    pub end: u64,
    pub sent: u64,
    pub again: u64,
    duplicates: u64,
    /// When an acknowledgement last advanced, and how long the timer then runs at the least.
    advanced: Time,
    least_timeout: Duration,
    episode: Option<Episode>,
    /// Times that the timer went off without a timeout.
    pub quiet: u64,
    /// The timer has just gone off without a timeout: one packet may leave as a probe (RFC 8985
    /// §7.3).
    probes: u64,
    /// The timer has gone off without a timeout since an acknowledgement advanced: Linux's next
    /// timeout then counts from when the lowest packet outstanding left.
    counts_from_departure: bool,
}

impl Watch {
    pub fn new(case: &Case, sender: &Sender) -> Self {
        let selective = case.recovery == RecoveryKind::Sack;
        let own = sender.controller().needs().own_recovery;
        Self {
            selective,
            metered: selective && !own && case.habits.metering != Metering::ByPipe,
            limited_transmit: case.habits.limited_transmit,
            window_limit: case.window_limit,
            offered: 0,
            end: 0,
            sent: 0,
            again: 0,
            duplicates: 0,
            advanced: Time::ZERO,
            least_timeout: case.habits.timeouts.least,
            episode: None,
            quiet: 0,
            probes: 0,
            counts_from_departure: false,
        }
    }

    pub fn offered(&mut self, packets: u64) {
        self.offered += packets;
    }

    /// `sender` took `ack` at `now`.
    pub fn acked(&mut self, now: Time, before: Before, ack: &Segment, sender: &Sender) {
        assert_eq!(sender.counters().timeouts, before.timeouts, "an acknowledgement is no timeout");
        assert!(sender.first() >= before.first, "what was acknowledged stays so");
        let advanced = sender.first() - before.first;
        let duplicate = ack.number == before.first && before.first < self.end;
        // Without SACK the timer is not set anew for each partial acknowledgement (RFC 6582 §4).
        if advanced > 0 && (self.selective || !sender.recovering()) {
            (self.advanced, self.counts_from_departure) = (now, false);
        }
        self.duplicates = if advanced > 0 { 0 } else { self.duplicates + u64::from(duplicate) };
        if !sender.recovering() {
            self.episode = None;
            return;
        }
        // A recovery that was needless may be followed by another at once.
        let goes_on = before.recovering
            && sender.counters().spurious == before.spurious
            && self.episode.is_some_and(|episode| sender.first() < episode.end);
        let end = self.end;
        // What a needless recovery had taken for lost is in flight again when the next one begins,
        // and its retransmissions too.
        let undone = sender.counters().spurious > before.spurious;
        let flight = if undone { 2.0 * (end - sender.first()) as f64 } else { before.in_flight };
        let episode = self.episode.get_or_insert(Episode {
            end,
            flight,
            window: before.window,
            free: 1,
            inflation: 3.0,
        });
        if !goes_on {
            *episode = Episode { end, flight, window: before.window, free: 1, inflation: 3.0 };
        } else if advanced > 0 {
            episode.inflation += 1.0 - advanced as f64;
            episode.free += 1;
        } else if duplicate {
            episode.inflation += 1.0;
        }
    }

    /// `sender` was woken at `now` because its timer was due.
    pub fn woken(&mut self, now: Time, before: Before, sender: &Sender) {
        let timeouts = sender.counters().timeouts - before.timeouts;
        assert!(timeouts <= 1);
        if timeouts == 1 {
            let since = now.since(self.advanced);
            assert!(
                since >= self.least_timeout || self.counts_from_departure,
                "a timeout {since} after something new was acknowledged (RFC 6298 §2.4, §5.3)"
            );
            (self.duplicates, self.episode) = (0, None);
        }
        if sender.recovering() && !before.recovering {
            // Packets that might have been late only count as lost (RFC 8985 §6.2, step 5).
            self.episode = Some(Episode {
                end: self.end,
                flight: before.in_flight,
                window: before.window,
                free: 1,
                inflation: 3.0,
            });
        }
        self.probes = u64::from(timeouts == 0);
        self.counts_from_departure |= timeouts == 0;
        self.quiet += self.probes;
    }

    /// A packet with this number left, when the sender was as `before`.
    pub fn left(&mut self, before: Before, number: u64, says_again: bool, sender: &Sender) {
        let again = number < self.end;
        assert!(number <= self.end, "{number} left before {}", self.end);
        assert!(number < self.offered, "{number} left, but only {} were offered", self.offered);
        assert!(number >= sender.first(), "{number} left, but had been acknowledged");
        assert_eq!(says_again, again, "what {number} says of itself");
        self.sent += 1;
        self.again += u64::from(again);
        self.end = self.end.max(number + 1);
        let fits =
            if self.selective { self.fits_the_pipe(sender) } else { self.fits_the_window(before) };
        let first = again && number == sender.first();
        if !fits && !self.takes_free(first) {
            panic!(
                "packet {number} left with {} in flight before it and {} after it; the window is \
                 {}, the receiver's {}, {} duplicates, {:?}",
                before.in_flight,
                sender.in_flight(),
                before.window,
                self.window_limit,
                self.duplicates,
                self.episode
            );
        }
    }

    /// Reno and NewReno: what was in flight before is less than the window in whole packets, at
    /// least one; with limited transmit one more for each of the first two duplicates (RFC 3042);
    /// in a recovery inflated.
    fn fits_the_window(&self, before: Before) -> bool {
        let inflation = self.episode.map_or(0.0, |episode| episode.inflation);
        let limited = self.limited_transmit && self.episode.is_none();
        let limited = if limited { self.duplicates.min(2) as f64 } else { 0.0 };
        let window = before.window.min(self.window_limit) + inflation;
        before.in_flight < window.max(1.0).floor() + limited
    }

    /// SACK: the pipe is within the window, the packet included. Proportional rate reduction and
    /// rate halving bring the pipe down to the window while packets arrive, from what was in
    /// flight when the recovery began, and never raise it.
    fn fits_the_pipe(&self, sender: &Sender) -> bool {
        let window = sender.controller().flight_limit().min(self.window_limit);
        let flight = match self.episode {
            // Proportional rate reduction sends for what arrives, also for what had been taken for
            // lost and so was not in the pipe (RFC 9937 §6.2, DeliveredData).
            Some(episode) if self.metered => {
                window.max(episode.flight).max(episode.window) + self.duplicates as f64
            }
            _ => window,
        };
        sender.in_flight() as f64 <= flight
    }

    /// Takes one of the packets that need no room, if there is one: a probe, or the retransmission
    /// of the lowest packet that begins a recovery or answers a partial acknowledgement.
    fn takes_free(&mut self, first: bool) -> bool {
        if self.probes > 0 {
            self.probes -= 1;
            return true;
        }
        match &mut self.episode {
            Some(episode) if episode.free > 0 && (first || self.selective) => {
                episode.free -= 1;
                true
            }
            _ => false,
        }
    }
}
