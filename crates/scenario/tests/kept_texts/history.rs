//! What happened in a run, as a hash.

use narrows_scenario::{Checked, Results, run_tapped};
use narrows_sim::{Crossing, Tap};
use std::sync::{Arc, Mutex};

/// FNV-1a.
#[derive(Clone, Copy)]
pub struct Hash(pub u64);

impl Hash {
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }
}

/// Hashes each crossing: when, where, which packet, and how it was marked.
#[derive(Clone)]
pub struct History(Arc<Mutex<Hash>>);

impl History {
    /// Of nothing so far.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Hash::EMPTY)))
    }

    /// Of what has happened.
    pub fn hash(&self) -> Hash {
        *self.0.lock().expect("one thread")
    }
}

impl Tap for History {
    fn crossing(&mut self, crossing: &Crossing) {
        let Crossing { at, link, point, flow, segment, .. } = crossing;
        let mut hash = self.0.lock().expect("one thread");
        for number in [
            at.picos(),
            u64::from(*link),
            *point as u64,
            u64::from(*flow),
            segment.number,
            segment.stamp.picos(),
            segment.echoed_stamp.picos(),
            u64::from(segment.bytes),
            segment.kind() as u64,
            segment.ecn() as u64,
            u64::from(segment.is_retransmission()),
        ] {
            hash.number(number);
        }
    }
}

/// What happened in a run of `checked`: a hash, and the results.
pub fn history(checked: &Checked) -> (u64, Results) {
    let history = History::new();
    let results = run_tapped(checked, 1, Box::new(history.clone())).expect("nothing is traced");
    let mut hash = history.hash();
    for flow in &results.flows {
        let counted = &flow.summary.sender;
        for number in [
            counted.sent,
            u64::from(counted.lost),
            u64::from(counted.epochs),
            u64::from(counted.timeouts),
            flow.summary.arrived,
            flow.summary.duplicates,
            flow.summary.finished.map_or(0, |time| time.picos()),
        ] {
            hash.number(number);
        }
    }
    results.transfers.completion_time.iter().for_each(|time| hash.number(time.to_bits()));
    (hash.0, results)
}
