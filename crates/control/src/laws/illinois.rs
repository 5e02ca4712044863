//! TCP-Illinois (Liu, Başar, Srikant: "TCP-Illinois: a loss and delay-based congestion control
//! algorithm", 2006; Performance Evaluation 65, 2008).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §3.2, eq. 1 | W ← W + α/W, for each packet acknowledged; W ← (1 − β)W once per recovery epoch | [`Illinois::increase`], [`Illinois::decrease`] |
//! | §3.2, eq. 5 | α = α_max up to d_1, then κ1/(κ2 + d_a) falling to α_min at d_m | [`Params::alpha`] |
//! | §3.2, eq. 6 | β = β_min up to d_2, β_max from d_3, linear in between | [`Params::beta`] |
//! | §3.4 | d_a, the mean queueing delay of a round trip; d_m, the largest so far | [`Illinois::observe`] |
//! | §3.4 | back to α_max only after θ rounds below d_1; Reno's below W_thresh | [`Illinois::end_round`] |
//! | Linux, `tcp_illinois_state` | after a timeout α and β are Reno's for a round trip, and θ is forgotten | [`Illinois::forget`] |
//!
//! d_1 = d_m/100, d_2 = d_m/10, d_3 = 8/10·d_m, θ = 5, W_thresh = 15 (§3.4; Linux's too).

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, Rounds, WindowLaw};
use narrows_settings::{SettingError, Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "illinois",
    aliases: &["TcpIllinois"],
    summary: "grows fast and gives up little while the queueing delay is small, and behaves like \
              Reno when it is large",
    source: "Liu, Başar, Srikant, Performance Evaluation 65, 2008",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        params.check()?;
        Ok(birth.once_per_epoch(Illinois::new(params)))
    },
};

settings! {
    /// Settings of Illinois.
    pub struct Params {
        /// Packets gained per round trip at the largest queueing delay (§3.4).
        alpha_min: f64 = 0.3, above(0.0);
        /// Packets gained per round trip while the queueing delay is small (§3.4).
        alpha_max: f64 = 10.0, above(0.0);
        /// Share of the window given up at a loss if the queueing delay is small (ratio; §3.4).
        beta_min: f64 = 0.125, above(0.0).below(1.0);
        /// Share of the window given up at a loss if the queueing delay is large (ratio; §3.4).
        beta_max: f64 = 0.5, above(0.0).below(1.0);
        /// Window in packets below which the law is Reno's (§3.4).
        w_thresh: f64 = 15.0, at_least(0.0);
    }
}

impl Params {
    /// Refuses settings that contradict each other.
    fn check(&self) -> Result<(), SettingError> {
        for (name, min, max) in
            [("alpha", self.alpha_min, self.alpha_max), ("beta", self.beta_min, self.beta_max)]
        {
            if min > max {
                let message = format!("{name}_min: {min} is above {name}_max, {max}");
                return Err(SettingError::new(message));
            }
        }
        Ok(())
    }

    /// α in packets per round trip at a mean queueing delay of `d_a` seconds; `d_m` is the largest
    /// (§3.2, eq. 5).
    fn alpha(&self, d_a: f64, d_m: f64) -> f64 {
        let d_1 = d_m / 100.0;
        if d_a <= d_1 {
            return self.alpha_max;
        }
        let kappa_1 =
            (d_m - d_1) * self.alpha_min * self.alpha_max / (self.alpha_max - self.alpha_min);
        let kappa_2 = (d_m - d_1) * self.alpha_min / (self.alpha_max - self.alpha_min) - d_1;
        if self.alpha_max > self.alpha_min { kappa_1 / (kappa_2 + d_a) } else { self.alpha_max }
    }

    /// β, a ratio, at a mean queueing delay of `d_a` seconds; `d_m` is the largest (§3.2, eq. 6).
    fn beta(&self, d_a: f64, d_m: f64) -> f64 {
        let (d_2, d_3) = (d_m / 10.0, 8.0 * d_m / 10.0);
        if d_a <= d_2 {
            return self.beta_min;
        }
        if d_a >= d_3 {
            return self.beta_max;
        }
        (self.beta_min * d_3 - self.beta_max * d_2 + (self.beta_max - self.beta_min) * d_a)
            / (d_3 - d_2)
    }
}

/// §3.4: rounds with little delay before α is α_max again (θ).
const THETA: u32 = 5;
/// Reno's parameters, below W_thresh.
const RENO: (f64, f64) = (1.0, 0.5);

/// The law's state.
#[derive(Clone, Debug)]
pub struct Illinois {
    params: Params,
    alpha: f64,
    beta: f64,
    rounds: Rounds,
    /// Sum and number of this round's RTT samples, in seconds.
    samples: (f64, u32),
    /// The smallest and the largest RTT in seconds.
    extremes: Option<(f64, f64)>,
    /// Rounds with little delay since there was more; `None` while α is α_max.
    calm: Option<u32>,
    /// True from a timeout to the beginning of the next round.
    begins_anew: bool,
}

impl Illinois {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            alpha: params.alpha_max,
            beta: RENO.1,
            rounds: Rounds::default(),
            samples: (0.0, 0),
            extremes: None,
            calm: None,
            begins_anew: false,
        }
    }

    /// α and β for the next round, from the delays of the last (§3.4).
    fn end_round(&mut self) {
        let (sum, count) = std::mem::take(&mut self.samples);
        let (Some((least, most)), true) = (self.extremes, count > 0) else { return };
        let (d_a, d_m) = (sum / f64::from(count) - least, most - least);
        self.beta = self.params.beta(d_a, d_m);
        if d_a > d_m / 100.0 {
            self.calm = Some(0);
            self.alpha = self.params.alpha(d_a, d_m);
            return;
        }
        self.calm = self.calm.map(|rounds| rounds + 1);
        if self.calm.is_none_or(|rounds| rounds >= THETA) {
            self.calm = None;
            self.alpha = self.params.alpha_max;
        }
    }

    /// α and β at `window` packets.
    fn at(&self, window: f64) -> (f64, f64) {
        if window < self.params.w_thresh { RENO } else { (self.alpha, self.beta) }
    }
}

impl WindowLaw for Illinois {
    /// d_a and d_m (§3.4).
    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|_| ack.rtt_is_fresh) {
            let latest = rtt.latest.seconds();
            let (least, most) = self.extremes.unwrap_or((latest, latest));
            self.extremes = Some((least.min(latest), most.max(latest)));
            self.samples = (self.samples.0 + latest, self.samples.1 + 1);
        }
        if self.rounds.ends_with(ack) {
            if std::mem::take(&mut self.begins_anew) {
                self.samples = (0.0, 0);
            } else {
                self.end_round();
            }
        }
    }

    /// W ← W + nα/W for n packets acknowledged (§3.2, eq. 1).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets * (self.at(window).0 / window).min(1.0)
    }

    /// W ← (1 − β)W when an epoch opens (§3.2, eq. 1).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        (1.0 - self.at(window).1) * window
    }

    /// Reno's α and β until a round that began after the timeout has ended; the extremes of the RTT
    /// stay (Linux).
    fn forget(&mut self) {
        (self.alpha, self.beta) = RENO;
        (self.calm, self.begins_anew, self.rounds) = (None, true, Rounds::default());
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("alpha", self.alpha);
        show("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §3.2 with d_m = 100 ms: α(d_1) = 10, α(d_m) = 0.3, halfway κ1/(κ2 + 0.05).
    #[test]
    fn the_two_curves_pass_through_their_corners() {
        let params = Params::default();
        assert_eq!(params.alpha(0.0005, 0.1), 10.0);
        assert!((params.alpha(0.1, 0.1) - 0.3).abs() < 1e-12);
        // κ1 = 0.099·3/9.7 = 0.0306186, κ2 = 0.099·0.3/9.7 − 0.001 = 0.00206186: κ1/(κ2 + 0.05) =
        // 0.588118.
        assert!(
            (params.alpha(0.05, 0.1) - 0.588_118_811_881).abs() < 1e-9,
            "{}",
            params.alpha(0.05, 0.1)
        );
        assert_eq!((params.beta(0.01, 0.1), params.beta(0.08, 0.1)), (0.125, 0.5));
        // Linear between 10 ms and 80 ms: 0.125 + 0.375·35/70.
        assert!((params.beta(0.045, 0.1) - 0.3125).abs() < 1e-12);
    }

    #[test]
    fn full_speed_comes_back_after_five_calm_rounds() {
        let mut law = Illinois { extremes: Some((0.1, 0.2)), ..Illinois::new(Params::default()) };
        let mut round = |rtt: f64| {
            law.samples = (rtt, 1);
            law.end_round();
            law.alpha
        };
        let busy = round(0.15);
        assert!(busy < 1.0);
        assert!((0..4).all(|_| round(0.1) == busy));
        assert_eq!(round(0.1), 10.0);
    }
}
