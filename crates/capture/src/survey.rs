//! The first reading of a capture: what does not change during a connection. Delays to both ends,
//! sizes, and how fast what was acknowledged came apart.

use crate::conversations::Way;
use crate::histogram::Histogram;
use crate::numbers::{Board, Flight, Newly, Numbers, Sent, Stamps};
use crate::segment::Segment;
use narrows_units::{Duration, Time};
use serde::Serialize;

/// One way of a connection, from its sender.
#[derive(Debug, Default)]
pub struct Survey {
    pub bytes: u64,
    /// Payload bytes of a segment on the wire, as far as that can be told: no capture has to show
    /// what a network card makes of its super-packets.
    pub largest: u32,
    /// Bytes of headers of a segment with payload.
    pub headers: u32,
    /// What the receiver allows in a segment.
    pub allowed: Option<u32>,
    /// Places by which the receiver's windows are shifted.
    pub scale: Option<u8>,
    /// The least time from the capture to the receiver and back; of an acknowledgement that
    /// waited for nothing, if there is any.
    pub there: Option<Duration>,
    /// What that was for the handshake, whose packets are small.
    pub there_first: Option<Duration>,
    /// The least time from the capture to the sender and back.
    pub back: Option<Duration>,
    /// Seconds that a byte took at least between neighbours.
    pub least_gap: Option<f64>,
    /// When something was sent again for the first and for the last time, and what had arrived.
    pub again: Option<[(Time, i64); 2]>,
    /// Bytes per second at which acknowledged bytes came apart, weighed by bytes.
    pub rates: Histogram,
    /// Bytes per second at which segments came apart.
    pub arrivals: Histogram,
    /// Seconds from the capture to the receiver and back, and to the sender and back.
    ages: Histogram,
    echoes: Histogram,
    /// Options were cut off.
    pub is_cut: bool,
    numbers: Numbers,
    highest: Option<i64>,
    board: Board,
    flight: Flight,
    stamps: Stamps,
    /// One of the first SYNs, of either way, had no scale; kept for both in the first way.
    unscaled: bool,
    has_stamps: bool,
    latest: Time,
    asked: Option<Time>,
    answered: Option<Time>,
    last_sent: Option<(Time, bool)>,
    last_acked: Option<Time>,
}

/// A delay that is longer is none of a path's.
const LONGEST: Duration = Duration::from_millis(10_000);

/// Where a capture was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Beside the sender: less than a tenth of the round trip lies before it.
    Sender,
    /// In the middle.
    Between,
    /// Beside the receiver.
    Receiver,
    /// One of both delays is not known.
    #[default]
    Untold,
}

/// Seconds by which delays vary that are told from timestamps of milliseconds.
const COARSE: f64 = 3e-3;
/// Bytes of the timestamps in each segment.
const STAMPS: u32 = 12;
/// The largest segment on Ethernet.
const USUAL: u32 = 1460;
/// No segment of the wire is larger; what is was put together by a network card.
const JUMBO: u32 = 9000;

/// Both ways of a connection.
pub type Surveys = [Survey; 2];

/// Takes a segment that goes `way`.
pub fn survey(both: &mut Surveys, way: Way, segment: &Segment) {
    both[way].latest = segment.at;
    both.iter_mut().for_each(|end| end.is_cut |= segment.is_cut);
    handshake(both, way, segment);
    both[way].on_sent(segment);
    both[1 - way].on_heard(segment);
}

fn shorter(least: &mut Option<Duration>, found: Duration) {
    if found > LONGEST {
        return;
    }
    *least = Some(least.map_or(found, |least| least.min(found)));
}

fn handshake(both: &mut Surveys, way: Way, segment: &Segment) {
    let at = segment.at;
    // What is sent twice has no time that can be told (Karn).
    let once = |before: Option<Time>| Some(if before.is_none() { at } else { Time::NEVER });
    match (segment.syn, segment.acknowledged.is_some()) {
        (true, false) => both[1 - way].asked = once(both[1 - way].asked),
        (true, true) => {
            took(both, way, both[way].asked);
            both[1 - way].answered = once(both[1 - way].answered);
        }
        (false, _) => {
            took(both, way, both[way].answered);
            both[way].answered = None;
        }
    }
    if segment.syn {
        both[1 - way].allowed = segment.options.largest.map(u32::from);
        // Windows are scaled if both ends say so (RFC 7323, §2.2).
        let is_first = both[way].scale.is_none();
        both[1 - way].scale = Some(segment.options.scale.unwrap_or(0));
        if !is_first && (both[0].unscaled || segment.options.scale.is_none()) {
            both.iter_mut().for_each(|end| end.scale = Some(0));
        }
        both[0].unscaled |= segment.options.scale.is_none();
    }
}

/// The end that now answers took the time since it was asked.
fn took(both: &mut Surveys, way: Way, asked: Option<Time>) {
    let Some(asked) = asked else { return };
    let at = both[way].latest;
    if asked <= at {
        shorter(&mut both[way].back, at.since(asked));
        both[1 - way].there_first = Some(at.since(asked));
    }
}

impl Survey {
    /// A segment of this way's sender.
    fn on_sent(&mut self, segment: &Segment) {
        self.has_stamps |= segment.options.stamps.is_some();
        if segment.payload == 0 {
            return;
        }
        let at = segment.at;
        if let Some((_, echo)) = segment.options.stamps
            && let Some(since) = self.stamps.since(echo, at)
        {
            shorter(&mut self.back, since);
            self.echoes.add(since.seconds(), 1.0);
        }
        let start = self.numbers.whole(segment.number);
        let end = start + i64::from(segment.payload);
        // What a capture has missed counts as sent if it is acknowledged.
        let highest = match self.highest {
            Some(highest) => highest.max(self.board.below),
            None => {
                self.board.below = start;
                start
            }
        };
        if start < highest {
            self.flight.send_again(start, end);
            let now = (at, self.board.below);
            self.again = Some([self.again.map_or(now, |[first, _]| first), now]);
        }
        if end > highest {
            self.flight.send(Sent { start, end, at, again: start < highest, tokens: 0.0 });
            self.highest = Some(end);
        }
        self.bytes += u64::from(segment.payload);
        self.headers = self.headers.max(segment.headers);
        if segment.payload <= self.allowed.map_or(JUMBO, |allowed| allowed.min(JUMBO)) {
            self.largest = self.largest.max(segment.payload);
        }
        // Behind a full segment the next comes no sooner than the sender's own link allows.
        if let Some((last, is_full)) = self.last_sent {
            let gap = at.since(last).seconds() / f64::from(segment.payload);
            self.arrivals.add(1.0 / gap, f64::from(segment.payload));
            if is_full && segment.payload == self.largest && gap > 0.0 {
                self.least_gap = Some(self.least_gap.map_or(gap, |least| least.min(gap)));
            }
        }
        self.last_sent = Some((at, segment.payload == self.largest));
    }

    /// A segment of this way's receiver.
    fn on_heard(&mut self, segment: &Segment) {
        let at = segment.at;
        if let Some((stamp, _)) = segment.options.stamps {
            self.stamps.see(stamp, at);
        }
        let Some(newly) = hear(&mut self.board, self.numbers, self.highest, segment) else {
            return;
        };
        if let Some(age) = self.flight.age(newly.newest, at) {
            shorter(&mut self.there, age);
            self.ages.add(age.seconds(), 1.0);
        }
        self.flight.forget(self.board.below).for_each(drop);
        if let Some(last) = self.last_acked.replace(at) {
            let gap = at.since(last).seconds();
            self.rates.add(newly.bytes as f64 / gap, newly.bytes as f64);
        }
    }

    /// Bytes of a full segment's payload; if only super-packets were seen, what the handshake
    /// allows.
    pub fn segment(&self) -> u32 {
        let stamps = if self.has_stamps { STAMPS } else { 0 };
        let allowed = self.allowed.unwrap_or(USUAL).saturating_sub(stamps);
        if self.largest > 0 { self.largest } else { allowed.max(1) }
    }

    /// Bytes of a full segment on the wire, with its headers.
    pub fn packet(&self) -> f64 {
        f64::from(self.segment() + self.headers)
    }

    /// The least time from the capture to the receiver and back, of data or of the handshake.
    fn least_there(&self) -> Option<Duration> {
        match (self.there, self.there_first) {
            (Some(data), Some(first)) => Some(data.min(first)),
            (data, first) => data.or(first),
        }
    }

    /// Where the capture was made, as far as delays tell.
    pub fn place(&self) -> Place {
        match (self.least_there(), self.back) {
            (Some(there), Some(back)) if back.seconds() < 0.1 * there.seconds() => Place::Sender,
            (Some(there), Some(back)) if there.seconds() < 0.1 * back.seconds() => Place::Receiver,
            (Some(_), Some(_)) => Place::Between,
            _ => Place::Untold,
        }
    }

    /// Whether the queue lies between the sender and the capture: delays vary on that side only.
    pub fn is_behind(&self) -> bool {
        let spread = |histogram: &Histogram, least: Option<Duration>| {
            least.map_or(0.0, |least| histogram.quantile(0.9) - least.seconds())
        };
        let (there, back) = (spread(&self.ages, self.there), spread(&self.echoes, self.back));
        self.place() == Place::Receiver
            || (self.place() == Place::Between && back > COARSE + 4.0 * there)
    }

    /// The least round-trip time, if both parts of it are known.
    pub fn base(&self) -> Option<Duration> {
        Some(self.least_there()? + self.back?)
    }
}

/// Bytes that a capture can have missed at a time.
const MOST_MISSED: i64 = 1 << 24;

/// Tells a board what a segment of the receiver says, and returns what that is news of; `None` if
/// it says nothing new.
pub fn hear(
    board: &mut Board,
    mut numbers: Numbers,
    highest: Option<i64>,
    segment: &Segment,
) -> Option<Newly> {
    let highest = highest?;
    if segment.reset {
        return None;
    }
    let below = numbers.whole(segment.acknowledged?);
    // A FIN takes a number of its own.
    let below = if below == highest + 1 { highest } else { below };
    // What a capture misses is less than any window; what is above was not for this connection.
    let most = highest + MOST_MISSED;
    if below > most {
        return None;
    }
    let blocks = segment.options.blocks.iter().flatten();
    let blocks = blocks.map(|(start, end)| (numbers.whole(*start), numbers.whole(*end)));
    let blocks = blocks.filter(|block| block.1 <= most);
    let newly = board.hear(below, blocks);
    (newly.bytes > 0).then_some(newly)
}
