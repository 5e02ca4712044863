//! How many flows are active, as GWA's routers measure it.

use narrows_settings::settings;
use narrows_units::{Duration, Time};

/// n_f ← α·n_f + (1 − α)·n_f°, once every τ; n_f° is the number of flows that sent something within
/// the last τ (GWA, eq. 9).
///
/// Departures: n_f begins with the first count instead of 0, and is never less than the number of
/// flows seen in the current interval, so that what is advertised does not exceed the buffer while
/// flows join.
#[derive(Clone, Debug)]
pub struct FlowCount {
    settings: FlowCountSettings,
    estimate: Option<f64>,
    active: u32,
    /// In which interval each flow was last seen.
    seen: Vec<u32>,
    interval: u32,
    ends_at: Time,
}

settings! {
    /// How flows are counted.
    pub struct FlowCountSettings {
        /// Weight of the past in the number of flows (ratio; GWA, §5). Used unless `flows` is
        /// given.
        alpha: f64 = 0.9, at_least(0.0).below(1.0);
        /// τ, the interval over which flows are counted (GWA, §5).
        tau: Duration = Duration::from_millis(100), at_least(1e-6);
        /// The number of flows, if it is known beforehand.
        flows: Option<f64> = None => "measured", at_least(1.0);
    }
}

impl FlowCount {
    /// A count that has seen no flow yet.
    pub fn new(settings: FlowCountSettings) -> Self {
        Self {
            settings,
            estimate: None,
            active: 0,
            seen: Vec::new(),
            interval: 1,
            ends_at: Time::ZERO + settings.tau,
        }
    }

    /// τ.
    pub fn tau(&self) -> Duration {
        self.settings.tau
    }

    /// Ends the current interval if it is over at `now`; true if it was. Call it until it returns
    /// false.
    pub fn ends(&mut self, now: Time) -> bool {
        let ends = self.ends_at <= now;
        if ends {
            let active = f64::from(self.active);
            let alpha = self.settings.alpha;
            self.estimate = match self.estimate {
                None => (active > 0.0).then_some(active),
                Some(estimate) => Some(alpha * estimate + (1.0 - alpha) * active),
            };
            self.active = 0;
            self.interval += 1;
            self.ends_at += self.settings.tau;
        }
        ends
    }

    /// A packet of `flow` has arrived.
    pub fn see(&mut self, flow: u32) {
        let place = flow as usize;
        if place >= self.seen.len() {
            self.seen.resize(place + 1, 0);
        }
        if self.seen[place] != self.interval {
            self.seen[place] = self.interval;
            self.active += 1;
        }
    }

    /// n_f, at least 1.
    pub fn flows(&self) -> f64 {
        self.settings
            .flows
            .unwrap_or_else(|| self.estimate.unwrap_or(0.0).max(f64::from(self.active)).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_equation_9() {
        let tau = Duration::from_millis(100);
        let mut count = FlowCount::new(FlowCountSettings { tau, ..FlowCountSettings::default() });
        assert_eq!(count.flows(), 1.0);
        let mut now = Time::ZERO;
        let mut found = Vec::new();
        for active in [10, 10, 20, 0] {
            (0..active).chain(0..active).for_each(|flow| count.see(flow));
            now += tau;
            assert!(count.ends(now) && !count.ends(now));
            found.push((count.flows() * 100.0).round() / 100.0);
        }
        // 10; 0.9·10 + 0.1·10; 0.9·10 + 0.1·20 = 11; 9.9.
        assert_eq!(found, [10.0, 10.0, 11.0, 9.9]);
        (0..15).for_each(|flow| count.see(flow));
        assert_eq!(count.flows(), 15.0, "a flow that is there counts at once");
    }
}
