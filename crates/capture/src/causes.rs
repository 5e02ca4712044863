//! What held a sender back, and when.

use narrows_units::Time;
use serde::Serialize;

/// What held a sender back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The congestion window: it sent as acknowledgements came.
    Window,
    /// A pacer: it had more to send, and sent at times of its own.
    Pacing,
    /// The application: there was nothing to send.
    Application,
    /// The receiver's window.
    Receiver,
    /// What was lost was being repaired.
    Recovery,
    /// It waited in silence until a timer expired.
    Timeout,
    /// The connection was being made.
    Handshake,
    /// What was seen came as fast as the path let it through; seen from behind the bottleneck.
    Path,
    /// Cannot be told.
    #[default]
    Untold,
}

impl Cause {
    /// All, in the order of [`Shares`].
    pub const ALL: [Self; 9] = [
        Self::Window,
        Self::Pacing,
        Self::Application,
        Self::Receiver,
        Self::Recovery,
        Self::Timeout,
        Self::Handshake,
        Self::Path,
        Self::Untold,
    ];
}

/// Seconds under each cause, in the order of [`Cause::ALL`].
pub type Shares = [f64; Cause::ALL.len()];

/// A piece of a time line.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Piece {
    /// Seconds under each cause.
    pub causes: Shares,
    /// Bytes that were acknowledged.
    pub bytes: u64,
    /// The least and the largest round-trip time in seconds; zero without one.
    pub rtt: [f64; 2],
    /// Segments that were sent again.
    pub again: u32,
    /// The most bytes under way.
    pub flight: u64,
}

/// A time line of at most [`Timeline::MOST`] pieces of the same length, which doubles as it must.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    /// Seconds of a piece.
    pub width: f64,
    /// From the beginning of the connection on.
    pub pieces: Vec<Piece>,
}

impl Default for Timeline {
    /// An empty one, of milliseconds.
    fn default() -> Self {
        Self { width: 1e-3, pieces: Vec::new() }
    }
}

impl Timeline {
    const MOST: usize = 512;

    /// The piece of a time in seconds.
    pub fn at(&mut self, seconds: f64) -> &mut Piece {
        while seconds >= self.width * Self::MOST as f64 {
            self.width *= 2.0;
            self.pieces = self.pieces.chunks(2).map(merged).collect();
        }
        let place = (seconds.max(0.0) / self.width) as usize;
        if self.pieces.len() <= place {
            self.pieces.resize(place + 1, Piece::default());
        }
        &mut self.pieces[place]
    }

    /// Adds a cause from one second to another.
    pub fn add(&mut self, cause: Cause, from: f64, to: f64) {
        self.at(to);
        let mut from = from.max(0.0);
        while from < to {
            let next = ((from / self.width).floor() + 1.0) * self.width;
            let until = if next > from { next.min(to) } else { to };
            self.at(from).causes[cause as usize] += until - from;
            from = until;
        }
    }
}

fn merged(pieces: &[Piece]) -> Piece {
    let least = |a: f64, b: f64| if a == 0.0 || b == 0.0 { a.max(b) } else { a.min(b) };
    let merge = |a: Piece, b: &Piece| Piece {
        causes: std::array::from_fn(|place| a.causes[place] + b.causes[place]),
        bytes: a.bytes + b.bytes,
        rtt: [least(a.rtt[0], b.rtt[0]), a.rtt[1].max(b.rtt[1])],
        again: a.again + b.again,
        flight: a.flight.max(b.flight),
    };
    pieces.iter().fold(Piece::default(), merge)
}

/// The account of one sender: each moment once, from the first on.
#[derive(Debug)]
pub struct Account {
    /// Up to here each moment has its cause.
    until: Time,
    pub shares: Shares,
    pub line: Option<Timeline>,
    from: Time,
}

impl Account {
    /// Begins at a moment, with a time line if one is wanted.
    pub fn new(from: Time, with_line: bool) -> Self {
        let line = with_line.then(Timeline::default);
        Self { until: from, shares: Shares::default(), line, from }
    }

    /// Up to when each moment has its cause.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Up to `to` it was this cause.
    pub fn spend(&mut self, cause: Cause, to: Time) {
        if to <= self.until {
            return;
        }
        self.shares[cause as usize] += to.since(self.until).seconds();
        if let Some(line) = &mut self.line {
            line.add(cause, self.until.since(self.from).seconds(), to.since(self.from).seconds());
        }
        self.until = to;
    }

    /// A round-trip time was seen.
    pub fn note_rtt(&mut self, at: Time, rtt: f64) {
        if let Some(piece) = self.piece(at) {
            let least = if piece.rtt[0] == 0.0 { rtt } else { piece.rtt[0].min(rtt) };
            piece.rtt = [least, piece.rtt[1].max(rtt)];
        }
    }

    /// The piece of the time line at a moment.
    pub fn piece(&mut self, at: Time) -> Option<&mut Piece> {
        let seconds = at.since(self.from).seconds();
        self.line.as_mut().map(|line| line.at(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;

    #[test]
    fn a_time_line_keeps_every_second_of_each_cause() {
        let mut account = Account::new(Time::from_secs(5.0), true);
        let mut at = Time::from_secs(5.0);
        for (number, cause) in Cause::ALL.into_iter().cycle().take(2000).enumerate() {
            at += Duration::from_micros(317 * (number as u64 % 13));
            account.spend(cause, at);
        }
        let line = account.line.expect("it was wanted");
        assert!(line.pieces.len() <= Timeline::MOST && line.width == 0.008, "{}", line.width);
        for cause in 0..Cause::ALL.len() {
            let sum: f64 = line.pieces.iter().map(|piece| piece.causes[cause]).sum();
            assert!((sum - account.shares[cause]).abs() < 1e-9);
        }
        assert!(
            line.pieces.iter().all(|piece| piece.causes.iter().sum::<f64>() < line.width + 1e-9)
        );
    }
}
