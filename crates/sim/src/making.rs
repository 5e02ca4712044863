//! Applications that have no more to send than they make: packet by packet or frame by frame, now
//! and then not at all.

use crate::traffic::{Gap, Periods};
use narrows_units::{Duration, Stream, Time};
use std::sync::Arc;

/// How an application makes its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Making {
    /// Time from one piece to the next; silence does not count.
    pub gap: Gap,
    /// What comes in frames; packets come one by one if it is `None`.
    pub frames: Option<Frames>,
    /// Alternating periods of making and silence; if `None`, it is silent at given times only.
    pub periods: Option<Periods>,
    /// Further silences, each from a time to another, in order and apart.
    pub silent: Arc<[(Time, Time)]>,
}

/// Pieces of several packets, each worth something only if it is there in time, as those of a video
/// are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// Packets of one; if they are no whole number, some frames have one more than others.
    pub packets: f64,
    /// How long after it is made the last packet of one may arrive in order.
    pub deadline: Duration,
}

impl Making {
    /// Packets at this gap, one by one.
    pub fn packets(gap: Gap) -> Self {
        Self { gap, frames: None, periods: None, silent: Arc::default() }
    }

    /// Packets per second while it is not silent.
    pub fn packets_per_second(&self) -> f64 {
        self.frames.map_or(1.0, |frames| frames.packets) / self.gap.mean().seconds()
    }
}

/// Data while it is made.
#[derive(Clone, Debug)]
pub(crate) struct Maker {
    making: Making,
    /// Silence by periods, or the next one.
    silence: (Time, Time),
    /// Silences before this place of the list are over.
    place: usize,
    /// Pieces made.
    made: u64,
}

impl Maker {
    pub fn new(making: Making) -> Self {
        Self { making, silence: (Time::NEVER, Time::NEVER), place: 0, made: 0 }
    }

    /// How it is made.
    pub fn making(&self) -> &Making {
        &self.making
    }

    /// When the first piece is there, of an application that begins at `start`.
    pub fn begin(&mut self, start: Time, stream: &mut Stream) -> Time {
        if let Some(periods) = self.making.periods {
            self.silence = periods.silence_after(start, stream);
        }
        self.after(Duration::ZERO, start, stream)
    }

    /// Makes a piece at `now`: how many packets it has, and when the next is there.
    pub fn make(&mut self, now: Time, stream: &mut Stream) -> (u64, Time) {
        let packets = match self.making.frames {
            None => 1,
            Some(Frames { packets, .. }) => {
                let by = |pieces: u64| (pieces as f64 * packets).ceil() as u64;
                by(self.made + 1) - by(self.made)
            }
        };
        self.made += 1;
        let gap = self.making.gap.draw(stream);
        (packets, self.after(gap, now, stream))
    }

    /// The time that is `left` after `at` if silence does not count.
    fn after(&mut self, mut left: Duration, mut at: Time, stream: &mut Stream) -> Time {
        loop {
            let (from, to) = self.silence(at, stream);
            if at < from && at + left <= from {
                return at + left;
            }
            left = left.saturating_sub(from.since(at));
            at = to;
        }
    }

    /// The first silence that ends after `at`.
    fn silence(&mut self, at: Time, stream: &mut Stream) -> (Time, Time) {
        while self.silence.1 <= at
            && let Some(periods) = self.making.periods
        {
            self.silence = periods.silence_after(self.silence.1, stream);
        }
        let silent = &self.making.silent;
        while silent.get(self.place).is_some_and(|(_, to)| *to <= at) {
            self.place += 1;
        }
        let given = silent.get(self.place).copied();
        given.map_or(self.silence, |given| given.min(self.silence))
    }
}

impl Periods {
    /// The silence that follows a period of sending which begins at `at`.
    fn silence_after(self, at: Time, stream: &mut Stream) -> (Time, Time) {
        let from = at + self.on.draw(stream);
        (from, from + self.off.draw(stream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Time {
        Time::ZERO + MS(millis)
    }

    /// When the first pieces are made, in milliseconds, and how many packets each has.
    fn made(making: Making, start: u64, pieces: usize) -> Vec<(u64, u64)> {
        let stream = &mut Stream::new(1, 1, 1);
        let mut maker = Maker::new(making);
        let mut now = maker.begin(at(start), stream);
        let piece = |_| {
            let (packets, next) = maker.make(now, stream);
            let made = now.picos() / 1_000_000_000;
            now = next;
            (made, packets)
        };
        (0..pieces).map(piece).collect()
    }

    fn times(making: Making, start: u64, pieces: usize) -> Vec<u64> {
        made(making, start, pieces).into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn silence_makes_nothing_and_does_not_count() {
        let every = Making::packets(Gap::Constant(MS(10)));
        assert_eq!(times(every.clone(), 5, 3), [5, 15, 25]);
        let periods = Periods { on: Gap::Constant(MS(35)), off: Gap::Constant(MS(65)) };
        let periods = Making { periods: Some(periods), ..every.clone() };
        // 35 ms make three and a half: the half is kept.
        assert_eq!(times(periods.clone(), 0, 9), [0, 10, 20, 30, 105, 115, 125, 135, 210]);
        let silent =
            Making { silent: [(at(12), at(50)), (at(51), at(60))].into(), ..every.clone() };
        assert_eq!(times(silent, 5, 4), [5, 60 + 2, 72, 82]);
        // It would begin in a silence. The first period is from 5 to 40 ms, the second from 105 ms:
        // what is due at 30 ms is made, and the next 10 ms are those from 105 ms on.
        let both = Making { silent: [(at(0), at(20)), (at(30), at(102))].into(), ..periods };
        assert_eq!(times(both, 5, 5), [20, 30, 115, 125, 135]);
        let ends = Making { silent: [(at(10), at(15))].into(), ..every };
        assert_eq!(times(ends, 0, 3), [0, 10, 25], "what is due when silence begins is made");
    }

    #[test]
    fn frames_have_their_rate_in_the_long_run() {
        let frames = Frames { packets: 2.4, deadline: MS(100) };
        let making = Making { frames: Some(frames), ..Making::packets(Gap::Constant(MS(40))) };
        let packets: Vec<u64> =
            made(making, 0, 10).into_iter().map(|(_, packets)| packets).collect();
        assert_eq!(packets, [3, 2, 3, 2, 2, 3, 2, 3, 2, 2]);
        assert_eq!(packets.iter().sum::<u64>(), 24);
    }
}
