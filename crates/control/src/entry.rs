//! A law's line in the registry, and what its controllers are made of and born with.

use crate::{Advertised, Bound, Controller, OncePerEpoch, SlowStart, Unconfined, WindowLaw};
use narrows_settings::{Given, Listed, SettingError, Settings};
use std::sync::Arc;

/// A law's line in the registry.
pub struct Entry {
    /// Linux's name, or the paper's if Linux has none.
    pub name: &'static str,
    /// Other names people use: ns-2's, ns-3's.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// What moves its window.
    pub moved_by: MovedBy,
    /// How it starts.
    pub start: Start,
    pub(crate) settings: fn() -> Vec<Listed>,
    pub(crate) construct: fn(&Birth) -> Result<Recipe, SettingError>,
}

impl Entry {
    /// Its settings, with their defaults.
    pub fn settings(&self) -> Vec<Listed> {
        (self.settings)()
    }

    /// Reads the settings given and returns the recipe for controllers with these settings. Fails
    /// if the law has no such setting, or a value is out of bounds.
    pub fn read(&self, birth: &Birth) -> Result<Recipe, SettingError> {
        birth.given.known_to(self.name, &self.settings())?;
        (self.construct)(birth)
    }
}

/// What moves the window of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedBy {
    /// Acknowledgements up, the first loss of a recovery epoch down.
    Epochs,
    /// Acknowledgements up, each lost packet down: needs E-TCP's signalling.
    EachLoss,
    /// Round-trip times, both ways.
    Delay,
    /// Samples of the delivery rate, both ways: needs selective acknowledgements.
    DeliveryRate,
    /// Feedback of routers, both ways.
    Routers,
}

/// How a law starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// By a slow start that the user may choose, up to a threshold. With Linux's habits it is this
    /// one.
    Chosen(SlowStartKind),
    /// By its own rule, up to a threshold.
    ToThreshold,
    /// By its own rule; a threshold counts only if the initial window has reached it.
    UnlessAtThreshold,
    /// By its own rule, without a threshold.
    Own,
}

/// A slow start by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartKind {
    /// RFC 5681.
    Standard,
    /// Linux's, of net/ipv4/tcp_cubic.c.
    HyStart,
}

/// Makes identical controllers, whose settings have been read and can no longer be wrong.
#[derive(Clone)]
pub struct Recipe(Arc<dyn Fn(u64) -> Box<dyn Controller> + Send + Sync>);

impl Recipe {
    /// A recipe that clones `prototype`.
    pub fn clones(prototype: impl Controller + Clone + Sync + 'static) -> Self {
        Self::seeded(move |_| Box::new(prototype.clone()))
    }

    /// A recipe that calls `make` with a seed, the only source of randomness.
    pub fn seeded(make: impl Fn(u64) -> Box<dyn Controller> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Whether it is the same recipe, and not one that may make the same.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A new controller whose randomness comes from `seed`.
    pub fn make(&self, seed: u64) -> Box<dyn Controller> {
        (self.0)(seed)
    }
}

/// What a controller is born with.
#[derive(Clone, Debug)]
pub struct Birth {
    /// Settings given by the user.
    pub given: Given,
    /// The slow start to compose with.
    pub slow_start: SlowStart,
    /// Packets.
    pub initial_window: f64,
    /// Packets; infinite if there is no threshold yet.
    pub initial_ssthresh: f64,
    /// Bytes of a packet on the wire.
    pub packet_bytes: u32,
    /// The receiver's own window in packets; infinite if it sets no limit.
    pub receive_window: f64,
    /// True if a setting that is not given is as in today's Linux, where its law differs from the
    /// published one; false for the published one.
    pub as_linux: bool,
    /// True if it runs in Linux's TCP, so that a law of which texts differ is Linux's.
    pub in_linux: bool,
    /// Packets that leave together; `None` if they are a millisecond at the flow's rate.
    pub quantum: Option<f64>,
}

impl Default for Birth {
    /// Starts as Linux does, without settings, threshold or limit.
    fn default() -> Self {
        Self {
            given: Given::default(),
            slow_start: SlowStart::Standard,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            packet_bytes: 1500,
            receive_window: f64::INFINITY,
            as_linux: true,
            in_linux: false,
            quantum: Some(1.0),
        }
    }
}

/// Bytes of the headers of IPv4 and of TCP with timestamps.
const HEADERS: f64 = 52.0;

impl Birth {
    /// Bytes of data in a packet of TCP, at least one.
    pub(crate) fn payload(&self) -> f64 {
        (f64::from(self.packet_bytes) - HEADERS).max(1.0)
    }

    pub(crate) fn settings<S: Settings>(&self) -> Result<S, SettingError> {
        S::read(&self.given)
    }

    /// `law` with the slow start and the threshold asked for.
    pub(crate) fn once_per_epoch<L: WindowLaw + Sync + 'static>(&self, law: L) -> Recipe {
        Recipe::clones(self.composed(law))
    }

    /// `law` below `bound`; the bound alone if there is to be no congestion window.
    pub(crate) fn bounded<B, L>(&self, bound: B, law: Option<L>) -> Recipe
    where
        B: Bound + Clone + Sync + 'static,
        L: WindowLaw + Sync + 'static,
    {
        match law {
            Some(law) => Recipe::clones(Advertised::new(bound, self.composed(law))),
            None => Recipe::clones(Unconfined::new(bound, self.initial_window)),
        }
    }

    fn composed<L: WindowLaw>(&self, law: L) -> OncePerEpoch<L> {
        OncePerEpoch::new(self.slow_start.clone(), law, self.initial_window)
            .with_ssthresh(self.initial_ssthresh)
    }
}
