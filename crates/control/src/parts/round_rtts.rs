//! The smallest RTTs of a path and of its round trips, as Linux's Vegas measures them
//! (`tcp_vegas_pkts_acked` in net/ipv4/tcp_vegas.c).

use super::Rounds;
use crate::Ack;

/// Samples that a round needs for its smallest RTT to be used (Linux).
const ENOUGH_SAMPLES: u32 = 3;
/// The smallest RTT of a round, and its number of samples, before there is one.
const NOTHING: (f64, u32) = (f64::INFINITY, 0);

/// The smallest RTTs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundRtts {
    /// The smallest RTT so far, in seconds.
    pub base: f64,
    round: (f64, u32),
    rounds: Rounds,
}

/// A round trip that has ended.
pub(crate) struct Round {
    /// Its smallest RTT in seconds, if it had enough samples.
    pub rtt: Option<f64>,
}

impl RoundRtts {
    /// No sample has come.
    pub fn new() -> Self {
        Self { base: f64::INFINITY, round: NOTHING, rounds: Rounds::default() }
    }

    /// Takes the sample of `ack`; returns the round that it ends, if it ends one.
    pub fn hear(&mut self, ack: &Ack) -> Option<Round> {
        if let Some(rtt) = ack.rtt.filter(|_| ack.rtt_is_fresh) {
            let latest = rtt.latest.seconds();
            self.base = self.base.min(latest);
            self.round = (self.round.0.min(latest), self.round.1 + 1);
        }
        self.rounds.ends_with(ack).then(|| {
            let (least, samples) = std::mem::replace(&mut self.round, NOTHING);
            Round { rtt: (samples >= ENOUGH_SAMPLES).then_some(least) }
        })
    }

    /// The samples of this round say nothing.
    pub fn forget_round(&mut self) {
        self.round = NOTHING;
    }

    /// No sample says anything of the path of now.
    pub fn forget(&mut self) {
        (self.base, self.round) = (f64::INFINITY, NOTHING);
    }
}
