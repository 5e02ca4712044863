//! What the path was like: round trips, the bottleneck's rate, how long it had a queue.

use crate::course::Course;
use crate::histogram::Histogram;
use crate::survey::Survey;
use narrows_units::{Duration, Time};

/// What one way of a connection shows of its path.
#[derive(Debug)]
pub struct Path {
    /// Seconds.
    base: f64,
    /// Bytes on the wire for a byte of payload, and of a full segment.
    overhead: f64,
    packet: f64,
    /// Bytes of payload per second at which most came apart in the first reading.
    guess: Option<f64>,
    is_behind: bool,
    pub rtts: Histogram,
    latest: f64,
    /// The longest of this round trip and of the one before, and when that began.
    recent: [f64; 2],
    since: Time,
    last: Option<Time>,
    /// Bytes per second on the wire between neighbours, and over many, while there was a queue.
    pairs: Histogram,
    runs: Histogram,
    run: Option<(Time, f64, u32)>,
    pub course: Course,
    was_compressed: bool,
    /// Seconds with a queue, and all.
    busy: f64,
    whole: f64,
}

/// A rate of bytes per second on the wire, and between what it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// A queue shorter than this is the noise of hosts.
const NOISE: f64 = 50e-6;
/// The same where round trips are told from timestamps of milliseconds.
const COARSE: f64 = 2e-3;
/// Neighbours in a run.
const RUN: u32 = 16;
/// A rate is told if so much of what was seen lies about it.
const ENOUGH: f64 = 0.2;

impl Path {
    /// Nothing seen yet, but for the first reading.
    pub fn new(survey: &Survey) -> Self {
        let is_behind = survey.is_behind();
        let rates = if is_behind { &survey.arrivals } else { &survey.rates };
        let packet = survey.packet();
        Self {
            base: survey.base().map_or(0.0, Duration::seconds),
            overhead: packet / f64::from(survey.segment()),
            packet,
            guess: rates.mode().map(|(rate, _)| rate),
            is_behind,
            rtts: Histogram::default(),
            latest: 0.0,
            recent: [0.0; 2],
            since: Time::ZERO,
            last: None,
            pairs: Histogram::default(),
            runs: Histogram::default(),
            run: None,
            course: Course::default(),
            was_compressed: false,
            busy: 0.0,
            whole: 0.0,
        }
    }

    /// Whether the capture was made behind the queue.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The latest round-trip time in seconds; zero before the first.
    pub fn latest(&self) -> f64 {
        self.latest
    }

    /// The longest round-trip time in seconds of the last round trip or two.
    pub fn recent_most(&self) -> f64 {
        self.recent[0].max(self.recent[1])
    }

    /// The latest round-trip time, or the least if there is none yet.
    pub fn latest_rtt(&self) -> Duration {
        Duration::from_secs(if self.latest > 0.0 { self.latest } else { self.base })
    }

    /// Seconds that a full segment took at the bottleneck, as far as one knows.
    pub fn packet_seconds(&self) -> Option<f64> {
        Some(self.packet / self.overhead / self.guess?)
    }

    /// Whether the last that was acknowledged came in a tenth of its time on the path.
    pub fn was_compressed(&self) -> bool {
        self.was_compressed
    }

    /// Bytes of payload have come through, with a round-trip time if it can be told: they are
    /// acknowledged, or seen from behind the bottleneck.
    pub fn see(&mut self, at: Time, bytes: f64, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            self.sample(at, rtt.seconds());
        }
        self.pass(at, bytes);
    }

    fn sample(&mut self, at: Time, rtt: f64) {
        self.rtts.add(rtt, 1.0);
        self.latest = rtt;
        if at.since(self.since).seconds() > self.base.max(1e-3) {
            (self.recent, self.since) = ([0.0, self.recent[0]], at);
        }
        self.recent[0] = self.recent[0].max(rtt);
    }

    /// Whether the path had a queue lately.
    pub fn is_busy(&self) -> bool {
        self.base > 0.0 && self.latest - self.base > self.noise()
    }

    /// Seconds below which a queue cannot be told from chance.
    pub fn noise(&self) -> f64 {
        let noise = if self.is_behind { COARSE } else { NOISE };
        self.packet_seconds().map_or(noise, |packet| (2.0 * packet).max(noise))
    }

    /// Whether a segment has come so soon after another as the bottleneck lets them come: as most
    /// do, and none much sooner.
    pub fn lets_through(&self, gap: f64, least_gap: Option<f64>) -> bool {
        let (Some(packet), Some(least)) = (self.packet_seconds(), least_gap) else { return false };
        let fastest = least * self.packet / self.overhead;
        self.is_behind && gap < 1.3 * packet && packet < 1.15 * fastest
    }

    fn pass(&mut self, at: Time, bytes: f64) {
        self.was_compressed = false;
        self.course.begin(at);
        let Some(last) = self.last.replace(at) else { return };
        let gap = at.since(last).seconds();
        self.whole += gap;
        if !self.is_busy() {
            self.run = None;
            return;
        }
        self.busy += gap;
        let wire = bytes * self.overhead;
        if let Some(guess) = self.guess {
            self.was_compressed = gap < 0.1 * bytes / guess;
        }
        self.pairs.add(wire / gap, wire);
        let (from, sum, count) = self.run.unwrap_or((last, 0.0, 0));
        let (sum, count) = (sum + wire, count + 1);
        let seconds = at.since(from).seconds();
        if count < RUN || seconds < 1e-3 {
            self.run = Some((from, sum, count));
        } else {
            self.runs.add(sum / seconds, sum);
            self.course.add(at, sum / seconds);
            self.run = None;
        }
    }

    /// The share of time for which the path had a queue.
    pub fn busy_share(&self) -> Option<f64> {
        (self.whole > 0.0 && self.base > 0.0).then(|| self.busy / self.whole)
    }

    /// The bottleneck's rate, if it had a queue for long enough to show it.
    pub fn rate(&self) -> Option<Rate> {
        // Without a least round trip nobody knows when there was a queue.
        if self.base == 0.0 || self.pairs.total() < 50.0 * self.packet {
            return None;
        }
        let of = |histogram: &Histogram| {
            let (value, share) = histogram.mode()?;
            (share >= ENOUGH).then_some((value, share))
        };
        let (value, _) = match (of(&self.runs), of(&self.pairs)) {
            // Neighbours that came through together tell the rate, also among others' packets.
            (Some(runs), Some(pairs)) => {
                if pairs.0 > 1.1 * runs.0 && pairs.1 < 0.5 * runs.1 {
                    runs
                } else {
                    pairs
                }
            }
            (runs, pairs) => runs.or(pairs)?,
        };
        // What is far below what was often reached is no bottleneck.
        if self.runs.quantile(0.9) > 1.5 * value || self.pairs.quantile(0.5) > 2.0 * value {
            return None;
        }
        let near = |share| {
            let found = self.runs.quantile(share);
            if found > 0.0 && (found / value - 1.0).abs() < 0.2 { found } else { value }
        };
        Some(Rate {
            value,
            low: (0.98 * value).min(near(0.1)),
            high: (1.02 * value).max(near(0.9)),
        })
    }
}
