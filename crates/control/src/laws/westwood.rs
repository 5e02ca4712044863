//! TCP Westwood+ (Mascolo, Grieco: "Additive increase adaptive decrease congestion control", 2003;
//! Grieco, Mascolo, CCR 34, 2004).
//!
//! | source | equation | here |
//! |---|---|---|
//! | CCR 34, §2.2 | b = packets acknowledged in a round trip, divided by its length, which is at least 50 ms | [`Westwood::observe`] |
//! | CCR 34, §2.2, eq. 2 | B ← 7/8·B + 1/8·b | [`Westwood::observe`] |
//! | RFC 5681 §3.1, eq. 3 | W ← W + 1/W, for each packet acknowledged | [`Westwood::increase`] |
//! | CCR 34, §2.1 | W ← B·RTT_min, once per recovery epoch and for the threshold after a timeout | [`Westwood::decrease`] |
//! | Linux, `tcp_westwood_event` | after a timeout RTT_min is learnt again from the next acknowledgement | [`Westwood::timeout`] |
//!
//! Departures: like Linux we filter twice, the samples and then the result; a loss never raises the
//! window.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, WindowLaw};
use narrows_settings::none;
use narrows_units::{Duration, Time};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "westwood",
    aliases: &["TcpWestwood", "TcpWestwoodPlus"],
    summary: "Reno's law, but after a loss the window falls to the measured bandwidth-delay \
              product",
    source: "Grieco, Mascolo, CCR 34, 2004",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: none,
    construct: |birth| Ok(birth.once_per_epoch(Westwood::default())),
};

/// The law's state. It has no settings.
#[derive(Clone, Debug, Default)]
pub struct Westwood {
    since: Option<Time>,
    /// Packets acknowledged since then.
    packets: f64,
    least_rtt: Option<Duration>,
    /// True if the next sample takes the place of the least RTT (`reset_rtt_min`).
    learns_rtt: bool,
    /// Packets per second, filtered once and filtered twice.
    filtered: Option<(f64, f64)>,
}

/// CCR 34, §2.2: the shortest interval over which a sample is taken.
const SHORTEST: Duration = Duration::from_millis(50);

impl Westwood {
    /// B·RTT_min in packets; `None` until both are known.
    fn bdp(&self) -> Option<f64> {
        let (_, bandwidth) = self.filtered?;
        Some(bandwidth * self.least_rtt?.seconds())
    }
}

impl WindowLaw for Westwood {
    /// B ← 7/8·B + 1/8·b once per round trip (CCR 34, §2.2, eq. 2).
    fn observe(&mut self, ack: &Ack) {
        self.packets += ack.packets;
        let Some(rtt) = ack.rtt else { return };
        if ack.rtt_is_fresh {
            let known = self.least_rtt.filter(|_| !self.learns_rtt);
            self.least_rtt = Some(known.map_or(rtt.latest, |least| least.min(rtt.latest)));
            self.learns_rtt = false;
        }
        let since = *self.since.get_or_insert(ack.now);
        let interval = ack.now.since(since);
        if interval <= rtt.latest.max(SHORTEST) {
            return;
        }
        let sample = self.packets / interval.seconds();
        let (once, twice) = self.filtered.unwrap_or((sample, sample));
        let once = 7.0 / 8.0 * once + sample / 8.0;
        self.filtered = Some((once, 7.0 / 8.0 * twice + once / 8.0));
        (self.since, self.packets) = (Some(ack.now), 0.0);
    }

    /// W ← W + n/W for n packets acknowledged (RFC 5681 §3.1, eq. 3).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets / window
    }

    /// W ← B·RTT_min when an epoch opens (CCR 34, §2.1); half the window if nothing is known yet.
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        self.bdp().map_or(window / 2.0, |bdp| bdp.min(window))
    }

    /// As after a loss, with the RTT_min of before; the path may be a longer one now.
    fn timeout(&mut self, window: f64, now: Time) -> f64 {
        self.learns_rtt = true;
        self.decrease(window, now)
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("bandwidth", self.filtered.map_or(0.0, |(_, bandwidth)| bandwidth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rtt;
    use crate::fixtures::ack;

    /// The transport still knows the 100 ms of before; 1000 packets per second at 200 ms are 200
    /// packets.
    #[test]
    fn a_longer_path_is_learnt_after_a_timeout() {
        let mut law = Westwood { filtered: Some((1000.0, 1000.0)), ..Westwood::default() };
        let sample = |law: &mut Westwood, at: f64, millis: u64| {
            let latest = Duration::from_millis(millis);
            let minimum = Duration::from_millis(100);
            let rtt = Some(Rtt { latest, smoothed: latest, minimum, maximum: latest });
            law.observe(&Ack { rtt, ..ack(at, 0.0) });
        };
        sample(&mut law, 0.0, 100);
        sample(&mut law, 0.01, 200);
        assert_eq!(law.decrease(1000.0, Time::ZERO), 100.0, "no timeout, no change");
        assert_eq!(law.timeout(1000.0, Time::ZERO), 100.0);
        assert_eq!(law.decrease(1000.0, Time::ZERO), 100.0, "until a sample comes");
        sample(&mut law, 0.02, 200);
        assert!((law.decrease(1000.0, Time::ZERO) - 200.0).abs() < 1e-9);
        sample(&mut law, 0.03, 150);
        assert!((law.decrease(1000.0, Time::ZERO) - 150.0).abs() < 1e-9, "the least from now on");
    }
}
