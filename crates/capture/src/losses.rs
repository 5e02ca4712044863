//! What was lost, what was sent again for nothing, and what seems to have lost it.

use crate::histogram::Histogram;
use crate::numbers::{Numbers, Sent};
use crate::segment::Segment;
use crate::survey::Survey;
use narrows_units::Time;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// What lost packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Nothing was lost.
    #[default]
    None,
    /// A queue that was full: round trips were as long as they became when it happened.
    Congestion,
    /// Something that does not care how full the queue is.
    Random,
    /// A policer: a bucket of tokens at the rate that came through was empty when packets were
    /// lost, and was not when they passed (Flach and others, SIGCOMM 2016, §3).
    Policer,
    /// There were too few losses, or they look like more than one of these.
    Untold,
}

/// What was lost of one way.
#[derive(Debug, Default)]
pub struct Losses {
    /// Segments that were sent again.
    pub again: u64,
    /// Those for which an answer came to what had been sent first (RFC 3522), or which had arrived
    /// twice (RFC 2883); the larger number of both.
    pub needless: u64,
    /// Timers that expired.
    pub timeouts: u64,
    /// Round-trip times in seconds when losses were found: the latest before, and the longest of
    /// the round trip before.
    pub episodes: Vec<[f64; 2]>,
    /// Further ones.
    pub further: u64,
    early: u64,
    duplicates: u64,
    /// Ends and timestamps of what was sent again and is not acknowledged.
    waiting: BTreeMap<i64, Option<u32>>,
    /// The latest that were sent again.
    resent: VecDeque<(i64, i64)>,
    /// Tokens that a policer would have had left for what was lost, and for what passed.
    tokens: [Sample; 2],
}

/// Losses apart from each other of which one can say that they are of chance.
const MANY: usize = 10;
const MOST_EPISODES: usize = 4096;
const MOST_WAITING: usize = 1 << 14;
const MOST_RESENT: usize = 1 << 10;

impl Losses {
    /// A loss is found that is not of those which are being repaired.
    pub fn open(&mut self, latest: f64, most: f64) {
        if self.episodes.len() < MOST_EPISODES {
            self.episodes.push([latest, most]);
        } else {
            self.further += 1;
        }
    }

    /// What is between two numbers is sent again, as so many segments.
    pub fn repair(
        &mut self,
        (start, end): (i64, i64),
        segments: u32,
        stamp: Option<u32>,
        known: Option<Sent>,
    ) {
        self.again += u64::from(segments);
        if self.resent.len() == MOST_RESENT {
            self.resent.pop_front();
        }
        self.resent.push_back((start, end));
        if let Some(sent) = known.filter(|sent| !sent.again) {
            self.tokens[0].add(sent.tokens);
        }
        if self.waiting.len() < MOST_WAITING {
            self.waiting.insert(end, stamp);
        }
    }

    /// A segment has arrived.
    pub fn pass(&mut self, sent: &Sent) {
        if !sent.again {
            self.tokens[1].add(sent.tokens);
        }
    }

    /// The receiver has all below a number, and says so with a segment.
    pub fn hear(&mut self, below: i64, segment: &Segment, mut numbers: Numbers) {
        let echo = segment.options.stamps.map(|(_, echo)| echo);
        // An acknowledgement of several echoes the earliest of them (RFC 7323, §4.2).
        let mut is_early = None;
        while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() <= below) {
            if let (Some(echo), Some(stamp)) = (echo, first.remove()) {
                let before = (echo.wrapping_sub(stamp) as i32) < 0;
                self.early += u64::from(*is_early.get_or_insert(before) && before);
            }
        }
        let mut blocks = segment.options.blocks.iter().flatten();
        if let (Some(first), Some(acknowledged)) = (blocks.next(), segment.acknowledged) {
            let whole = numbers.whole(acknowledged);
            let first = [first.0, first.1].map(|number| numbers.whole(number));
            let inside = blocks.next().is_some_and(|(start, end)| {
                numbers.whole(*start) <= first[0] && first[1] <= numbers.whole(*end)
            });
            // A network can double what was sent once.
            let again = |it: &&(i64, i64)| it.0 <= first[0] && first[1] <= it.1;
            let was_again =
                (first[1] <= whole || inside) && self.resent.iter().any(|it| again(&it));
            self.duplicates += u64::from(was_again);
        }
        self.needless = self.early.max(self.duplicates).min(self.again);
    }

    /// Segments that were lost: what was sent again and not for nothing.
    pub fn lost(&self) -> u64 {
        self.again - self.needless
    }

    /// What lost packets, from the round-trip times of the connection, the least of them in
    /// seconds, and the seconds below which a queue cannot be told from chance.
    pub fn kind(&self, rtts: &Histogram, base: f64, noise: f64) -> LossKind {
        if self.lost() == 0 || self.episodes.is_empty() {
            return LossKind::None;
        }
        let full = self.share_at_full(rtts, base, noise);
        let are_many = self.episodes.len() >= MANY;
        if are_many && self.is_policed() && full.is_none_or(|full| full < 0.5) {
            return LossKind::Policer;
        }
        let count = self.episodes.len() as f64;
        let rank: f64 =
            self.episodes.iter().map(|[latest, _]| rtts.rank(*latest)).sum::<f64>() / count;
        // Ranks of chance are even between 0 and 1.
        let error = (1.0 / 12.0 / count).sqrt();
        let is_known = self.tokens[0].0.len() >= 8;
        // Where round trips are always the same, losses find them so, whatever they are of.
        let varies = rtts.quantile(0.1) - base < 0.8 * self.full_queue(base).unwrap_or(0.0);
        match full {
            Some(full) if full >= 0.7 && (varies || rank > 0.5 + 2.0 * error) => {
                LossKind::Congestion
            }
            Some(full) if full <= 0.4 && is_known && are_many && rank < 0.7 + error => {
                LossKind::Random
            }
            // A queue that is too short to be seen may be full.
            None if is_known && are_many && noise < 0.02 * base => LossKind::Random,
            _ => LossKind::Untold,
        }
    }

    /// The share of losses that were found when round trips were about as long as at most of the
    /// others, and as they ever were; `None` if there was no queue worth the name.
    fn share_at_full(&self, rtts: &Histogram, base: f64, noise: f64) -> Option<f64> {
        let queues = self.queues(base);
        let full = queues[queues.len() * 3 / 4];
        if full < (3.0 * noise).max(0.01 * base) {
            return None;
        }
        let near = queues.iter().filter(|queue| (0.8 * full..1.25 * full).contains(*queue)).count();
        let is_longest = full >= 0.8 * (rtts.quantile(0.95) - base);
        Some(if is_longest { near as f64 / queues.len() as f64 } else { 0.0 })
    }

    /// The longest queues before losses in seconds, in order.
    fn queues(&self, base: f64) -> Vec<f64> {
        let mut queues: Vec<f64> = self.episodes.iter().map(|[_, most]| most - base).collect();
        queues.sort_by(f64::total_cmp);
        queues
    }

    /// The queue in seconds that a full buffer made: the median of the longest round trips before
    /// losses.
    pub fn full_queue(&self, base: f64) -> Option<f64> {
        let queues = self.queues(base);
        queues.get(queues.len() / 2).copied()
    }

    /// Something is missing between two segments that were seen one after the other; for what was
    /// lost before the capture saw it.
    pub fn miss(&mut self, tokens: f32) {
        self.tokens[0].add(tokens);
    }

    /// Whether fewer tokens were left for what was lost than for most that passed, not by chance,
    /// and about as many each time. Tokens are fewest before a random loss, too, as windows grow
    /// until there is one, but not the same number.
    fn is_policed(&self) -> bool {
        const ENOUGH: usize = 20;
        let [lost, passed] = &self.tokens;
        if lost.0.len() < ENOUGH || passed.0.is_empty() {
            return false;
        }
        let error = (1.0 / 12.0 / lost.0.len() as f64).sqrt();
        let is_dry = passed.rank_of(lost) + 2.0 * error < 0.4;
        is_dry && lost.spread(0.25) < 0.55 * passed.spread(0.05)
    }
}

/// Values of a series of any length: evenly spaced ones.
#[derive(Debug, Default)]
struct Sample(Vec<f32>, u64);

impl Sample {
    const MOST: usize = 4096;

    fn add(&mut self, value: f32) {
        // With twice as many as are kept each second one goes.
        let step = (self.1 / Self::MOST as u64 + 1).next_power_of_two();
        if value.is_finite() && self.1.is_multiple_of(step) {
            if self.0.len() == 2 * Self::MOST {
                let mut number = 0;
                self.0.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
            }
            self.0.push(value);
        }
        self.1 += u64::from(value.is_finite());
    }

    /// How far the values are apart of which a share is smaller and larger.
    fn spread(&self, share: f64) -> f32 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f32::total_cmp);
        let last = (sorted.len() - 1) as f64;
        sorted[(last * (1.0 - share)) as usize] - sorted[(last * share) as usize]
    }

    /// The mean share of these values that are below those of another series.
    fn rank_of(&self, others: &Self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f32::total_cmp);
        let below = |value: &f32| sorted.partition_point(|it| it < value) as f64;
        let sum: f64 = others.0.iter().map(below).sum();
        sum / (others.0.len() * sorted.len()).max(1) as f64
    }
}

/// A bucket of tokens that would let through what came through.
#[derive(Debug)]
pub struct Policer {
    /// Bytes per second.
    rate: f64,
    tokens: f64,
    from: Time,
    last: Time,
}

impl Policer {
    /// The one that a first reading suggests: from the first loss to the last.
    pub fn of(survey: &Survey) -> Option<Self> {
        let [(from, first), (to, last)] = survey.again?;
        // What is missed was sent a round trip before.
        let round = survey.base().unwrap_or_default().picos();
        let [from, to] = [from, to].map(|at| Time::from_picos(at.picos().saturating_sub(round)));
        let rate = (last - first) as f64 / to.since(from).seconds();
        (rate.is_finite() && rate > 0.0).then_some(Self { rate, tokens: 0.0, from, last: from })
    }

    /// A segment passes; returns the tokens that were there for it, in bytes.
    pub fn pass(&mut self, at: Time, bytes: u32) -> f32 {
        if at < self.from {
            return f32::NAN;
        }
        self.tokens += self.rate * at.since(self.last).seconds() - f64::from(bytes);
        self.last = at;
        self.tokens as f32
    }

    /// A segment did not pass.
    pub fn refund(&mut self, bytes: u32) {
        self.tokens += f64::from(bytes);
    }
}
