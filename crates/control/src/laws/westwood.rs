//! TCP Westwood+ (Mascolo, Grieco: "Additive increase adaptive decrease congestion control", 2003;
//! Grieco, Mascolo, CCR 34, 2004).
//!
//! | source | equation | here |
//! |---|---|---|
//! | CCR 34, §2.2 | b = packets acknowledged in a round trip, divided by its length, which is at least 50 ms | [`Westwood::observe`] |
//! | CCR 34, §2.2, eq. 2 | B ← 7/8·B + 1/8·b | [`Westwood::observe`] |
//! | RFC 5681 §3.1, eq. 3 | W ← W + 1/W, for each packet acknowledged | [`Westwood::increase`] |
//! | CCR 34, §2.1 | W ← B·RTT_min, once per recovery epoch and for the threshold after a timeout | [`Westwood::decrease`] |
//!
//! Departures: like Linux we filter twice, the samples and then the result; a loss never raises the
//! window.

use crate::registry::{Entry, MovedBy, SlowStartKind, Start};
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
        self.least_rtt = Some(rtt.minimum);
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

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("bandwidth", self.filtered.map_or(0.0, |(_, bandwidth)| bandwidth));
    }
}
