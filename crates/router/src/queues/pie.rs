//! PIE, the proportional integral controller enhanced (RFC 8033).
//!
//! | source | rule | here |
//! |---|---|---|
//! | §4.2 | p ← p + α(delay − target) + β(delay − old delay), every T_UPDATE | [`Pie::update`] |
//! | §4.2 | smaller steps while p is small; p ← 0.98p while there is no queue | [`Pie::update`] |
//! | §4.1 | drops with probability p, but not from a short or an emptying queue | [`Pie::judge`] |
//! | §4.4 | bursts of up to MAX_BURST pass | [`Pie::update`] |
//! | §5.1 | marks instead of drops up to a probability of a tenth | [`Pie::judge`] |
//! | §5.5 | never two drops close together, never none for long | [`Pie::derandomised`] |
//!
//! The delay is known exactly here (§5.3 allows timestamps): it is the queue divided by the rate.

use crate::entry::Entry;
use crate::{Backlog, Discipline, Verdict};
use narrows_settings::{Settings, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Stream, Time};

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "pie",
    aliases: &[],
    summary: "drops or marks packets with a probability that holds the queueing delay at a target",
    source: "RFC 8033",
    settings: PieSettings::list,
    construct: |given, _| Ok(Discipline::Pie(PieSettings::read(given)?)),
};

settings! {
    /// How PIE is set up.
    pub struct PieSettings {
        /// QDELAY_REF, the queueing delay that PIE aims at (§4.2).
        target: Duration = Duration::from_millis(15), above(0.0);
        /// T_UPDATE, the time between updates of the probability (§4.2).
        update: Duration = Duration::from_millis(15), at_least(1e-6);
        /// Weight of the delay's distance from the target, in hertz (§4.2).
        alpha: f64 = 0.125, at_least(0.0);
        /// Weight of the delay's change since the last update, in hertz (§4.2).
        beta: f64 = 1.25, at_least(0.0);
        /// MAX_BURST, the length of a burst that passes without drops (§4.4).
        max_burst: Duration = Duration::from_millis(150), above(0.0);
        /// Whether packets that can be marked are marked instead of dropped, up to a probability of
        /// 0.1 (§5.1).
        ecn: bool = true;
    }
}

/// PIE at work.
#[derive(Clone, Debug)]
pub struct Pie {
    settings: PieSettings,
    probability: f64,
    old_delay: f64,
    burst_left: f64,
    accumulated: f64,
    updates_at: Time,
}

/// MEAN_PKTSIZE, bytes.
const MEAN_PACKET: u64 = 1500;
const MARK_UP_TO: f64 = 0.1;

impl Pie {
    /// An empty queue.
    pub fn new(settings: PieSettings) -> Self {
        let updates_at = Time::ZERO + settings.update;
        Self {
            settings,
            probability: 0.0,
            old_delay: 0.0,
            burst_left: settings.max_burst.seconds(),
            accumulated: 0.0,
            updates_at,
        }
    }

    /// It has these settings from now on; what it has counted stays.
    pub fn retune(&mut self, settings: PieSettings) {
        self.settings = settings;
    }

    /// Updates the probability as often as is due by `now`; `delay` returns the queueing delay at
    /// a given time.
    pub fn catch_up(&mut self, now: Time, mut delay: impl FnMut(Time) -> Duration) {
        while self.updates_at <= now {
            self.update(delay(self.updates_at).seconds());
            self.updates_at += self.settings.update;
        }
    }

    /// A packet arrives, for which it has [caught up](Self::catch_up).
    pub fn judge(&mut self, backlog: Backlog, ecn: Ecn, stream: &mut Stream) -> Verdict {
        let target = self.settings.target.seconds();
        let emptying = self.old_delay < target / 2.0 && self.probability < 0.2;
        if self.burst_left > 0.0
            || emptying
            || backlog.bytes <= 2 * MEAN_PACKET
            || !self.derandomised(stream)
        {
            return Verdict::Admit;
        }
        Verdict::congestion(ecn, self.settings.ecn && self.probability <= MARK_UP_TO)
    }

    fn derandomised(&mut self, stream: &mut Stream) -> bool {
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let drops = self.accumulated >= 0.85
            && (self.accumulated >= 8.5 || stream.happens(self.probability));
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }

    fn update(&mut self, delay: f64) {
        let target = self.settings.target.seconds();
        let step =
            self.settings.alpha * (delay - target) + self.settings.beta * (delay - self.old_delay);
        let scale = match self.probability {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        let step = step / scale;
        let most = if self.probability >= 0.1 { 0.02 } else { f64::INFINITY };
        self.probability += step.min(most);
        if delay == 0.0 && self.old_delay == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_left = (self.burst_left - self.settings.update.seconds()).max(0.0);
        if self.probability == 0.0 && delay < target / 2.0 && self.old_delay < target / 2.0 {
            self.burst_left = self.settings.max_burst.seconds();
        }
        self.old_delay = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_moves_as_worked_out_by_hand() {
        let mut pie = Pie::new(PieSettings::default());
        pie.update(0.055);
        // (0.125·0.040 + 1.25·0.055)/2048
        assert!((pie.probability - 0.073_75 / 2048.0).abs() < 1e-15, "{}", pie.probability);
        pie.update(0.055);
        // p is 3.6e-5 now: a step of 0.125·0.040 over 128.
        assert!(
            (pie.probability - (0.073_75 / 2048.0 + 0.005 / 128.0)).abs() < 1e-15,
            "{}",
            pie.probability
        );
        pie.probability = 0.5;
        pie.update(0.555);
        assert!((pie.probability - 0.52).abs() < 1e-12, "0.0675 + 0.625 is cut to 0.02");
        (pie.probability, pie.old_delay) = (0.5, 0.0);
        pie.update(0.0);
        assert!(
            (pie.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-12,
            "decays while there is no queue"
        );
    }

    #[test]
    fn drops_are_neither_close_together_nor_far_apart() {
        let mut pie = Pie {
            probability: 0.01,
            old_delay: 0.03,
            burst_left: 0.0,
            updates_at: Time::NEVER,
            ..Pie::new(PieSettings::default())
        };
        let (mut stream, mut gaps, mut gap) = (Stream::new(5, 1, 1), Vec::new(), 0);
        let backlog = Backlog { packets: 50, bytes: 50_000 };
        for _ in 0..100_000 {
            gap += 1;
            if pie.judge(backlog, Ecn::NotCapable, &mut stream) == Verdict::Drop {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(
            gaps.iter().all(|gap| (85..=850).contains(gap)),
            "{:?}",
            gaps.iter().min().zip(gaps.iter().max())
        );
        let short = Backlog { packets: 2, bytes: 3000 };
        assert_eq!(pie.judge(short, Ecn::Capable, &mut stream), Verdict::Admit);
    }
}
