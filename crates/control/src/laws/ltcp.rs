//! LTCP, the layered law (Bhandarkar, Jain, Reddy: "LTCP: a layered congestion control protocol for
//! highspeed networks", §III, §IV).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §III, eq. 1 | layer K while W_K ≤ W < W_(K+1), W_2 = W_T | [`Layers::begins`] |
//! | §IV, eq. 10 | W_K = K(K+1)(K−1)/6 · W_T | [`Cubes`] |
//! | §IV-A, "Alternate Designs" | W_K = α·W_(K−1) | [`Powers`] |
//! | §III, §IV-B | W ← W + K/W, for each packet acknowledged | [`Ltcp::increase`] |
//! | §IV, eq. 4; §IV-B | W ← W − βW once per recovery epoch; half at K = 1 | [`Ltcp::decrease`] |
//! | §III, "based on the layer" | W ← W − βW_K once per recovery epoch, if asked for | [`Ltcp::decrease`] |
//!
//! The framework of §III is [`Ltcp`] over any [`Layers`]; the rule must keep eq. 2, that is, δ_K/K
//! must grow with K, for flows to converge. Departures: §IV-B drops at most one layer per loss. By
//! eq. 13 this is the same as dropping to the layer of the new window, up to K = 19 at β = 0.15.
//! Beyond that, and with the alternate rule's β of a half, we drop every layer that the window has
//! fallen below. After a timeout the layer is found again from the window, as after slow start.
//!
//! §III lets the reduction depend "on the layer at which the flow operates" and gives no formula.
//! We take eq. 4 at the window where the layer begins, βW_K: it depends on nothing but the layer.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "ltcp",
    aliases: &[],
    summary: "adds layers as the window grows; at layer K it gains K packets per round trip",
    source: "Bhandarkar, Jain, Reddy, §III, §IV",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        birth.given.counts_if("alpha", params.geometric, "geometric=true")?;
        Ok(if params.geometric {
            birth.once_per_epoch(Ltcp::alternate(params))
        } else {
            birth.once_per_epoch(Ltcp::new(params))
        })
    },
};

settings! {
    /// Settings of LTCP.
    pub struct Params {
        /// W_T, the window in packets at which the second layer begins (§III, §IV-B).
        w_t: f64 = 50.0, at_least(1.0);
        /// Share of the window given up in an epoch (ratio): 0.15 is §IV-B's, 0.5 the alternate
        /// rule's, which is "similar to TCP".
        beta: Option<f64> = None => "0.15, or 0.5 if geometric", above(0.0).below(1.0);
        /// Whether layers begin by the alternate rule, W_K = alpha·W_(K−1) (§IV-A).
        geometric: bool = false;
        /// The alternate rule's W_K/W_(K−1) (ratio), for which the paper gives no value; flows
        /// converge above 1.5 (eq. 2). Used only if `geometric`.
        alpha: f64 = 2.0, above(1.5);
        /// Whether the reduction depends on the layer, beta·W_K, instead of on the window, beta·W
        /// (§III). At one layer it is TCP's half in any case.
        by_layer: bool = false;
    }
}

/// Where layers begin: what the framework of §III leaves to a design.
pub trait Layers: Clone + Send {
    /// W_K in packets, the window at which layer `k` begins; `k` is at least 2 (eq. 1).
    fn begins(&self, k: f64) -> f64;
}

/// The design of §IV: δ_K = K(K+1)/2 · W_T (eq. 11).
#[derive(Clone, Copy, Debug)]
pub struct Cubes {
    /// Packets at which the second layer begins.
    pub w_t: f64,
}

impl Layers for Cubes {
    /// W_K = K(K+1)(K−1)/6 · W_T (eq. 10).
    fn begins(&self, k: f64) -> f64 {
        k * (k + 1.0) * (k - 1.0) / 6.0 * self.w_t
    }
}

/// The alternate design of §IV-A.
#[derive(Clone, Copy, Debug)]
pub struct Powers {
    /// Packets at which the second layer begins.
    pub w_t: f64,
    /// W_K/W_(K−1), a ratio.
    pub alpha: f64,
}

impl Layers for Powers {
    /// W_K = α·W_(K−1) from W_2 = W_T on (§IV-A, "Alternate Designs").
    fn begins(&self, k: f64) -> f64 {
        self.w_t * libm::pow(self.alpha, k - 2.0)
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct Ltcp<L> {
    layers: L,
    beta: f64,
    /// Whether a loss costs beta·W_K instead of beta·W.
    by_layer: bool,
    /// K, counted from 1.
    layer: f64,
    /// W_K and W_(K+1), between which the window lies.
    within: (f64, f64),
}

/// §III: a loss at layer 1 is answered as in TCP.
const TCP_BETA: f64 = 0.5;

impl Ltcp<Cubes> {
    /// The design of §IV with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self::over(Cubes { w_t: params.w_t }, params.beta.unwrap_or(0.15), params.by_layer)
    }
}

impl Ltcp<Powers> {
    /// The alternate design with `params`, which have been checked.
    pub fn alternate(params: Params) -> Self {
        let layers = Powers { w_t: params.w_t, alpha: params.alpha };
        Self::over(layers, params.beta.unwrap_or(TCP_BETA), params.by_layer)
    }
}

impl<L: Layers> Ltcp<L> {
    /// The framework of §III: one layer at first; `beta` of the window is given up in an epoch, or
    /// if `by_layer`, `beta` of the window at which its layer begins.
    pub fn over(layers: L, beta: f64, by_layer: bool) -> Self {
        let within = (0.0, layers.begins(2.0));
        Self { layers, beta, by_layer, layer: 1.0, within }
    }

    /// Finds the layer of `window`: K with W_K ≤ W < W_(K+1) (eq. 1). Slow start can end several
    /// layers up.
    fn settle(&mut self, window: f64) {
        while window >= self.within.1 {
            self.layer += 1.0;
            self.within = (self.within.1, self.layers.begins(self.layer + 1.0));
        }
        while window < self.within.0 {
            self.layer -= 1.0;
            let begins = if self.layer > 1.0 { self.layers.begins(self.layer) } else { 0.0 };
            self.within = (begins, self.within.0);
        }
    }
}

impl<L: Layers> WindowLaw for Ltcp<L> {
    /// W ← W + nK/W for n packets acknowledged (§III; §IV-B).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        self.settle(window);
        window + ack.packets * self.layer / window
    }

    /// W ← (1 − β)W when an epoch opens (eq. 4), or W ← W − βW_K (§III); at one layer TCP's half
    /// (§III).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        self.settle(window);
        let window = match self.layer {
            1.0 => (1.0 - TCP_BETA) * window,
            _ if self.by_layer => window - self.beta * self.within.0,
            _ => (1.0 - self.beta) * window,
        };
        self.settle(window);
        window
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("layer", self.layer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's figure 2, column W_K.
    #[test]
    fn layers_begin_where_the_table_says() {
        let table = [
            50.0, 200.0, 500.0, 1000.0, 1750.0, 2800.0, 4200.0, 6000.0, 8250.0, 11000.0, 14300.0,
            18200.0, 22750.0, 28000.0, 34000.0, 40800.0, 48450.0, 57000.0, 66500.0, 77000.0,
            88550.0, 101_200.0, 115_000.0, 130_000.0,
        ];
        for (k, begins) in (2..).zip(table) {
            assert_eq!(Cubes { w_t: 50.0 }.begins(f64::from(k)), begins, "K = {k}");
        }
    }

    /// Eq. 2: the higher layer adds layers more slowly, for all K from 2 on.
    fn steps_grow_faster_than_layers(layers: impl Layers) {
        let pace = |k: f64| (layers.begins(k + 1.0) - layers.begins(k)) / k;
        assert!((2..60).all(|k| pace(f64::from(k) + 1.0) > pace(f64::from(k))));
    }

    #[test]
    fn both_designs_keep_the_condition_for_convergence() {
        steps_grow_faster_than_layers(Cubes { w_t: 50.0 });
        steps_grow_faster_than_layers(Powers { w_t: 50.0, alpha: 2.0 });
        steps_grow_faster_than_layers(Powers { w_t: 50.0, alpha: 1.51 });
    }

    /// Eqs. 12 and 13: with β = 0.15 at most one layer goes up to K = 19.
    #[test]
    fn a_loss_costs_at_most_one_layer_up_to_nineteen() {
        let layers = Cubes { w_t: 50.0 };
        for k in 2..=19 {
            let mut law = Ltcp::over(layers, 0.15, false);
            let window = layers.begins(f64::from(k));
            law.settle(window);
            law.decrease(window, Time::ZERO);
            assert!(law.layer >= f64::from(k) - 1.0, "K = {k}: {}", law.layer);
        }
        let mut law = Ltcp::over(layers, 0.15, false);
        law.decrease(layers.begins(30.0), Time::ZERO);
        assert_eq!(
            law.layer, 28.0,
            "W_30 = 224750, 85 % of it 191037 ≥ W_28 = 182700: two layers, not one"
        );
    }
}
