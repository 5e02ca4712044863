//! How the rate of a bottleneck went, where it changed.

use narrows_units::Time;

/// Pieces at most; then each two become one.
const MOST: usize = 512;
/// Seconds of a piece at first.
const WIDTH: f64 = 1.0;
/// Runs of packets from which a piece has a rate, and by how much their logarithms deviate at most.
const RUNS: u32 = 4;
const STEADY: f64 = 0.1;
/// A rate is another one if it differs by so much, and a change if some differ by more.
const ANOTHER: f64 = 0.1;
const CHANGE: f64 = 0.2;
/// Pieces that one rate lasts at least.
const LASTS: u32 = 2;

/// Rates of runs of packets while there was a queue, by pieces of time.
#[derive(Debug)]
pub struct Course {
    begins: Option<Time>,
    width: f64,
    pieces: Vec<Piece>,
}

/// The number of runs, and the sums of the logarithms of their rates and of these squared.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    runs: u32,
    sum: f64,
    squares: f64,
}

impl Piece {
    fn with(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// The logarithm of its rate, if its runs agree.
    fn rate(self) -> Option<f64> {
        let runs = f64::from(self.runs);
        let mean = self.sum / runs;
        let variance = self.squares / runs - mean * mean;
        (self.runs >= RUNS && variance < STEADY * STEADY).then_some(mean)
    }
}

impl Default for Course {
    fn default() -> Self {
        Self { begins: None, width: WIDTH, pieces: Vec::new() }
    }
}

impl Course {
    /// The time from which pieces are counted.
    pub fn begin(&mut self, at: Time) {
        self.begins.get_or_insert(at);
    }

    /// A run of packets has come through at `rate`, whatever its unit.
    pub fn add(&mut self, at: Time, rate: f64) {
        let Some(begins) = self.begins.filter(|begins| *begins <= at) else { return };
        let place = |width: f64| (at.since(begins).seconds() / width) as usize;
        while place(self.width) >= MOST {
            self.pieces = self
                .pieces
                .chunks(2)
                .map(|two| two.iter().fold(Piece::default(), |sum, it| sum.with(*it)))
                .collect();
            self.width *= 2.0;
        }
        let place = place(self.width);
        if self.pieces.len() <= place {
            self.pieces.resize(place + 1, Piece::default());
        }
        let log = rate.ln();
        let run = Piece { runs: 1, sum: log, squares: log * log };
        self.pieces[place] = self.pieces[place].with(run);
    }

    /// From which second on which rate came through, if it changed and most pieces show one: each
    /// lasts some pieces.
    pub fn steps(&self) -> Option<Vec<(f64, f64)>> {
        let told = self.pieces.iter().filter(|piece| piece.runs >= RUNS).count();
        let rates: Vec<(usize, f64)> = self
            .pieces
            .iter()
            .enumerate()
            .filter_map(|(place, piece)| Some((place, piece.rate()?)))
            .collect();
        if 2 * rates.len() < told {
            return None;
        }
        let of_piece = |(place, log): (usize, f64)| Level {
            first: place,
            last: place,
            pieces: 1,
            sum: log,
            runs: self.pieces[place].runs,
        };
        let mut levels: Vec<Level> = rates.into_iter().map(of_piece).collect();
        levels.dedup_by(|level, before| before.takes(level));
        // What lies between two of the same rate, and does not last, was chance.
        levels.retain(|level| level.pieces >= LASTS);
        levels.dedup_by(|level, before| before.takes(level));
        let logs = || levels.iter().map(Level::log);
        let (least, most) = extent(logs());
        (levels.len() > 1 && most - least > CHANGE).then(|| {
            let before = std::iter::once(None).chain(levels.iter().map(Some));
            let begins =
                levels.iter().zip(before).map(|(level, before)| self.begin_of(level, before));
            begins.zip(logs().map(f64::exp)).collect()
        })
    }

    /// The least and the most that a piece shows, if these are different rates.
    pub fn spread(&self) -> Option<(f64, f64)> {
        let (least, most) = extent(self.pieces.iter().filter_map(|piece| piece.rate()));
        (most - least > CHANGE).then(|| (least.exp(), most.exp()))
    }

    /// When a level begins, in seconds. A rate that falls has a queue at once; one that rises may
    /// have none for a while, so that it begins where the runs of the one before end. A piece with
    /// runs of both tells the time of each by their number.
    fn begin_of(&self, level: &Level, before: Option<&Level>) -> f64 {
        let Some(before) = before.filter(|before| before.last + 1 < level.first) else {
            return level.first as f64 * self.width;
        };
        let (old, new) = (before.runs_a_piece(), level.runs_a_piece());
        let rises = level.log() > before.log();
        let next = before.last + 1;
        let runs = f64::from(self.pieces[next].runs);
        let share = if rises && runs <= old {
            runs / old
        } else if next + 1 == level.first && old != new {
            (runs - new) / (old - new)
        } else {
            return if rises { next as f64 * self.width } else { level.first as f64 * self.width };
        };
        (next as f64 + share.clamp(0.0, 1.0)) * self.width
    }
}

/// The least and the largest of some values; nothing lies between them if there are none.
pub fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}

/// Pieces that follow each other with one rate.
struct Level {
    first: usize,
    last: usize,
    pieces: u32,
    /// Of the logarithms of their rates.
    sum: f64,
    runs: u32,
}

impl Level {
    /// Takes a later level of the same rate; false if it has another.
    fn takes(&mut self, later: &Self) -> bool {
        if (later.log() - self.log()).abs() >= ANOTHER {
            return false;
        }
        self.last = later.last;
        self.pieces += later.pieces;
        self.sum += later.sum;
        self.runs += later.runs;
        true
    }

    fn log(&self) -> f64 {
        self.sum / f64::from(self.pieces)
    }

    fn runs_a_piece(&self) -> f64 {
        f64::from(self.runs) / f64::from(self.pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;

    fn course(rates: &[f64]) -> Course {
        let mut course = Course::default();
        course.begin(Time::ZERO);
        for (second, rate) in rates.iter().enumerate() {
            for run in 0..10 {
                let at = Duration::from_secs(second as f64 + 0.1 * f64::from(run));
                course.add(Time::ZERO + at, rate * (1.0 + 0.02 * f64::from(run % 3)));
            }
        }
        course
    }

    #[test]
    fn a_rate_that_stays_has_no_steps() {
        assert_eq!(course(&[5e6; 20]).steps(), None);
        // A single piece is chance, also if there is a change later.
        assert_eq!(course(&[5e6, 5e6, 5e6, 9e6, 5e6, 5e6]).steps(), None);
        let later = course(&[5e6, 5e6, 9e6, 5e6, 5e6, 20e6, 20e6]);
        assert_eq!(later.steps().map(|steps| steps.len()), Some(2));
        assert!(later.spread().is_some());
        assert_eq!(Course::default().steps(), None);
    }

    #[test]
    fn steps_are_told_with_their_times() {
        let rates = [vec![20e6; 7], vec![5e6; 7], vec![40e6; 6]].concat();
        let steps = course(&rates).steps().expect("it changed");
        let times: Vec<f64> = steps.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [0.0, 7.0, 14.0]);
        for ((_, found), rate) in steps.iter().zip([20e6, 5e6, 40e6]) {
            assert!((found / rate - 1.018).abs() < 0.01, "{found} for {rate}");
        }
    }

    #[test]
    fn a_change_within_a_piece_is_told_with_its_time() {
        let mut course = Course::default();
        course.begin(Time::ZERO);
        let mut at = 0.0;
        while at < 10.0 {
            let rate = if at < 4.3 { 5.0 } else { 20.0 };
            at += 0.2 / rate;
            course.add(Time::ZERO + Duration::from_secs(at), rate);
        }
        let steps = course.steps().expect("it changed");
        assert_eq!(steps.len(), 2);
        assert!((steps[1].0 - 4.3).abs() < 0.05, "{steps:?}");
    }

    #[test]
    fn runs_that_do_not_agree_tell_nothing() {
        let mut course = Course::default();
        course.begin(Time::ZERO);
        for number in 0..400 {
            let at = Time::ZERO + Duration::from_secs(0.05 * f64::from(number));
            course.add(at, if number % 2 == 0 { 5e6 } else { 20e6 });
        }
        assert_eq!(course.steps(), None);
    }

    #[test]
    fn long_captures_have_wider_pieces() {
        let rates = [vec![5e6; 1500], vec![20e6; 1500]].concat();
        let course = course(&rates);
        assert!(course.pieces.len() <= MOST);
        let steps = course.steps().expect("it changed");
        assert_eq!(steps.len(), 2);
        assert!((steps[1].0 - 1500.0).abs() <= 8.0, "{steps:?}");
    }
}
