//! A stack by name, for scenarios.

use crate::deterministic;
use narrows_scenario::{Stack, StackEnds, Wish};
use narrows_sim::Endpoint;

/// A stack as scenarios name it.
pub struct Named {
    /// By which flows call it.
    pub name: &'static str,
    /// What it is, with its version.
    pub source: &'static str,
    /// Its controllers, the usual one first.
    pub controllers: Vec<&'static str>,
    /// Bytes of its largest usual datagram on the wire, headers included.
    pub packet: u32,
    /// Whether its near end can log itself as qlog.
    pub logs: bool,
    /// Makes the ends of a flow with one of its controllers.
    pub ends: fn(&str, &Wish) -> Result<StackEnds, String>,
}

impl Stack for Named {
    fn name(&self) -> &str {
        self.name
    }

    fn source(&self) -> &str {
        self.source
    }

    fn controllers(&self) -> &[&str] {
        &self.controllers
    }

    fn packet(&self) -> u32 {
        self.packet
    }

    fn logs(&self) -> bool {
        self.logs
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        (self.ends)(wish.controller.as_deref().unwrap_or(self.controllers[0]), wish)
    }

    fn prepare(&self, seed: u64) {
        deterministic::begin(seed);
    }
}

/// A pair of ends of any kind, as a flow takes it.
pub fn any<N: Endpoint, F: Endpoint>((near, far): (Box<N>, Box<F>)) -> StackEnds {
    (near, far)
}
