//! What happened in one run.

use crate::artefacts;
use crate::lab::Lab;
use narrows_scenario::Results;
use std::fmt;

/// What happened in one run, from the end of the warm-up on.
pub struct Report {
    pub(crate) lab: Lab,
    /// Its seed.
    pub seed: u64,
    /// Share of the bottleneck's rate that was used (a ratio).
    pub utilisation: f64,
    /// Share of the packets that the bottleneck's queue dropped (a ratio).
    pub drops: f64,
    /// Mean queue at the bottleneck in packets.
    pub mean_queue: f64,
    /// Each flow.
    pub flows: Vec<FlowReport>,
    /// All that there is.
    pub results: Results,
}

/// What one flow did.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// Its name: a law's, or a stack's.
    pub name: String,
    /// New payload at its receiver, in bit/s.
    pub goodput: f64,
    /// Its share of the goodput of all flows (a ratio); NaN if there is none.
    pub share: f64,
    /// Seconds from its first datagram to its last byte, if its data ended.
    pub completion_time: Option<f64>,
    /// Why one of its ends has ended, if one has.
    pub ended: Option<String>,
}

impl Report {
    pub(crate) fn new(lab: Lab, seed: u64, results: Results) -> Self {
        let all: f64 = results.flows.iter().map(|flow| flow.goodput).sum();
        let flows = results.flows.iter().map(|flow| {
            let hosted = flow.summary.hosted.as_deref();
            let ended = hosted.and_then(|ends| ends.near.ended.clone().or(ends.far.ended.clone()));
            FlowReport {
                name: flow.cc.clone(),
                goodput: flow.goodput,
                share: flow.goodput / all,
                completion_time: flow.completion_time,
                ended,
            }
        });
        let bottleneck = &results.bottleneck().summary;
        let drops = bottleneck.drops as f64 / (bottleneck.arrivals as f64).max(1.0);
        let (utilisation, mean_queue) = (bottleneck.utilisation, bottleneck.mean_queue);
        Self { seed, utilisation, drops, mean_queue, flows: flows.collect(), lab, results }
    }

    /// The share of the goodput that the flows called `name` have together (a ratio).
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn share(&self, name: &str) -> f64 {
        let mine: Vec<_> = self.flows.iter().filter(|flow| flow.name == name).collect();
        let names = || self.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>();
        assert!(!mine.is_empty(), "no flow is called \"{name}\"; there are {}", names().join(", "));
        mine.iter().map(|flow| flow.share).sum()
    }

    /// Goes on if `holds`; else writes what happened to `target/narrows` and ends the test.
    ///
    /// # Panics
    /// If it does not hold, with `what`, the report, and how to look at what happened.
    #[track_caller]
    pub fn expect(&self, what: &str, holds: impl Fn(&Self) -> bool) -> &Self {
        if !holds(self) {
            panic!("not so: {what} · {self}\n{}", artefacts::write(self));
        }
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.flows.iter().map(|flow| flow.name.as_str()).collect();
        write!(
            f,
            "{} seed {}, {}: utilisation {:.1} %, drops {:.3} %",
            self.lab.title,
            self.seed,
            names.join(" + "),
            100.0 * self.utilisation,
            100.0 * self.drops
        )?;
        for flow in &self.flows {
            write!(f, " · {}: {:.2} Mbps", flow.name, flow.goodput / 1e6)?;
            flow.ended.iter().try_for_each(|why| write!(f, " (ended: {why})"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
