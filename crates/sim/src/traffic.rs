//! Applications: when they offer data, and how much.

use crate::making::{Maker, Making};
use crate::requests::Usage;
use narrows_control::Controller;
use narrows_units::{Duration, Stream, Time};
use std::sync::Arc;

/// What the application at a connection does between its start and its stop. Who serves requests is
/// known once a flow has its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Application<Service = Served> {
    /// Always has more to send.
    Endless,
    /// Sends this many packets, of which the last has `last_bytes` on the wire.
    Packets {
        /// Their number.
        count: u64,
        /// Bytes of the last, headers included.
        last_bytes: u32,
    },
    /// Offers what it has made, so that the application limits the sender. The delay of each packet
    /// is measured.
    Made(Making),
    /// Sends what is requested.
    Requests(Usage, Service),
}

/// How requests are served.
pub struct Served {
    /// Base round-trip time: a request takes half of it, and the sender of files learns half of it
    /// later that one has arrived.
    pub rtt: Duration,
    /// Bytes of a full data packet on the wire.
    pub packet_bytes: u32,
    /// Makes the controller of each connection but the first.
    pub make: ControllerMaker,
}

impl<Service> Application<Service> {
    /// The same, with requests served by what `by` returns.
    pub fn served_by<Other>(&self, by: impl FnOnce() -> Other) -> Application<Other> {
        match *self {
            Self::Endless => Application::Endless,
            Self::Packets { count, last_bytes } => Application::Packets { count, last_bytes },
            Self::Made(ref making) => Application::Made(making.clone()),
            Self::Requests(usage, _) => Application::Requests(usage, by()),
        }
    }
}

impl Application {
    /// The number of the last packet and its bytes on the wire, if the data ends.
    pub(crate) fn last_packet(&self) -> Option<(u64, u32)> {
        match self {
            Self::Packets { count, last_bytes } => Some((count.checked_sub(1)?, *last_bytes)),
            _ => None,
        }
    }
}

/// Makes a controller for a new connection.
pub type ControllerMaker = Box<dyn Fn() -> Box<dyn Controller> + Send>;

/// The gaps between packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// All equal.
    Constant(Duration),
    /// Exponential with this mean: a Poisson source.
    Exponential(Duration),
}

impl Gap {
    /// Its mean.
    pub fn mean(self) -> Duration {
        let (Self::Constant(mean) | Self::Exponential(mean)) = self;
        mean
    }

    pub(crate) fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Constant(gap) => gap,
            Self::Exponential(mean) => mean.scale(stream.exponential()),
        }
    }
}

/// Alternating periods of sending and silence, starting with sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Periods {
    /// Length of a period of sending.
    pub on: Gap,
    /// Length of a period of silence.
    pub off: Gap,
}

/// A source of datagrams, which nobody answers: told when a deadline has come, it says whether one
/// leaves.
#[derive(Clone, Debug)]
pub struct Datagrams {
    gap: Gap,
    /// Bytes of one on the wire.
    pub bytes: u32,
    periods: Option<Periods>,
    /// Further silences, each from a time to another, in order and apart.
    silent: Arc<[(Time, Time)]>,
    /// When the next datagram leaves; never while the source is silent.
    pub next_at: Time,
    /// When the source becomes silent or sends again; never if it has no periods.
    pub turns_at: Time,
    /// How many have left.
    pub sent: u64,
}

impl Datagrams {
    /// A source that has not begun, of datagrams of `bytes` on the wire.
    pub fn new(gap: Gap, bytes: u32, periods: Option<Periods>) -> Self {
        let (silent, never) = (Arc::default(), Time::NEVER);
        Self { gap, bytes, periods, silent, next_at: never, turns_at: never, sent: 0 }
    }

    /// The same, silent at these times as well, which are in order and apart.
    #[must_use]
    pub fn silent_at(mut self, times: Arc<[(Time, Time)]>) -> Self {
        self.silent = times;
        self
    }

    /// Datagrams per second while it is not silent.
    pub fn packets_per_second(&self) -> f64 {
        1.0 / self.gap.mean().seconds()
    }

    /// Begins to send, unless the source is already sending.
    pub fn begin(&mut self, now: Time, stream: &mut Stream) {
        if self.next_at == Time::NEVER && self.turns_at == Time::NEVER {
            self.send_from(now, stream);
        }
    }

    /// Sends no more.
    pub fn stop(&mut self) {
        (self.next_at, self.turns_at) = (Time::NEVER, Time::NEVER);
    }

    /// Handles a deadline; returns the number of the datagram that leaves at `now`, if one does.
    pub fn wake(&mut self, now: Time, stream: &mut Stream) -> Option<u64> {
        let leaves = self.next_at <= now;
        if leaves {
            self.next_at = self.next_after(now, stream);
            self.sent += 1;
        }
        if self.turns_at <= now {
            self.turn(now, stream);
        }
        leaves.then(|| self.sent - 1)
    }

    /// A gap after `now`; if that is in a silence, a gap after its end.
    fn next_after(&self, now: Time, stream: &mut Stream) -> Time {
        let mut next = now + self.gap.draw(stream);
        for (from, to) in &*self.silent {
            if (*from..*to).contains(&next) {
                next = *to + self.gap.draw(stream);
            }
        }
        next
    }

    fn turn(&mut self, now: Time, stream: &mut Stream) {
        let Some(periods) = self.periods else { return };
        if self.next_at == Time::NEVER {
            self.send_from(now, stream);
        } else {
            self.next_at = Time::NEVER;
            self.turns_at = now + periods.off.draw(stream);
        }
    }

    fn send_from(&mut self, now: Time, stream: &mut Stream) {
        self.next_at = self.next_after(now, stream);
        self.turns_at = self.periods.map_or(Time::NEVER, |periods| now + periods.on.draw(stream));
    }
}

/// The state of an application.
#[derive(Clone, Debug)]
pub(crate) struct Offering {
    offers: Offers,
    stop: Time,
    /// When the application acts next; never if it has nothing more to do.
    pub acts_at: Time,
    /// Packets requested.
    pub asked: u64,
}

/// What an application offers.
#[derive(Clone, Debug)]
pub(crate) enum Offers {
    Endless,
    Packets(u64),
    Made(Box<Maker>),
    Asked,
}

impl From<&Application> for Offers {
    fn from(application: &Application) -> Self {
        match application {
            Application::Endless => Self::Endless,
            Application::Packets { count, .. } => Self::Packets(*count),
            Application::Made(making) => Self::Made(Box::new(Maker::new(making.clone()))),
            Application::Requests(..) => Self::Asked,
        }
    }
}

/// What an application does when it acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Offer(u64),
    Stop,
}

/// More packets than any run sends.
const ENDLESS: u64 = u64::MAX / 4;

impl Offering {
    pub fn new(mut offers: Offers, start: Time, stop: Time, stream: &mut Stream) -> Self {
        let acts_at = match &mut offers {
            Offers::Made(maker) => maker.begin(start, stream).min(stop),
            _ => start,
        };
        Self { offers, stop, acts_at, asked: 0 }
    }

    /// When the application stops; never if it does not.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// Performs the action that is due.
    pub fn act(&mut self, stream: &mut Stream) -> Act {
        if self.acts_at >= self.stop {
            self.acts_at = Time::NEVER;
            return Act::Stop;
        }
        let (packets, next) = match &mut self.offers {
            Offers::Endless => (ENDLESS, self.stop),
            Offers::Packets(packets) => (*packets, self.stop),
            Offers::Asked => (self.asked, Time::NEVER),
            Offers::Made(maker) => {
                let (packets, next) = maker.make(self.acts_at, stream);
                (packets, next.min(self.stop))
            }
        };
        self.acts_at = next;
        Act::Offer(packets)
    }

    /// Number of packets after which the data is complete; `None` unless it is known in advance.
    pub fn total(&self) -> Option<u64> {
        if let Offers::Packets(packets) = self.offers { Some(packets) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_leave_by_turns_with_silence() {
        let millis = |n: u64| Duration::from_millis(n);
        let periods = Periods { on: Gap::Constant(millis(35)), off: Gap::Constant(millis(65)) };
        let mut source = Datagrams::new(Gap::Constant(millis(10)), 1000, Some(periods));
        let mut stream = Stream::new(1, 1, 1);
        source.begin(Time::ZERO, &mut stream);
        let mut left = Vec::new();
        loop {
            let now = source.next_at.min(source.turns_at);
            if now > Time::ZERO + millis(240) {
                break;
            }
            if source.wake(now, &mut stream).is_some() {
                left.push(now.picos() / 1_000_000_000);
            }
        }
        assert_eq!(left, [10, 20, 30, 110, 120, 130, 210, 220, 230]);
    }

    #[test]
    fn datagrams_that_are_due_in_a_silence_leave_a_gap_after_it() {
        let at = |n: u64| Time::ZERO + Duration::from_millis(n);
        let gap = Gap::Constant(Duration::from_millis(10));
        let silent = [(at(15), at(32)), (at(40), at(45))];
        let mut source = Datagrams::new(gap, 1000, None).silent_at(silent.into());
        let stream = &mut Stream::new(1, 1, 1);
        source.begin(Time::ZERO, stream);
        let mut left = Vec::new();
        while source.next_at < at(70) {
            let now = source.next_at;
            left.extend(source.wake(now, stream).map(|_| now.picos() / 1_000_000_000));
        }
        assert_eq!(left, [10, 55, 65]);
    }

    #[test]
    fn an_application_that_offers_a_packet_every_so_often_stops_when_told() {
        let second = |s| Time::from_secs(f64::from(s));
        let making = Making::packets(Gap::Constant(Duration::from_millis(1000)));
        let offers = Offers::Made(Box::new(Maker::new(making)));
        let stream = &mut Stream::new(1, 1, 1);
        let mut offering = Offering::new(offers, second(1), second(3), stream);
        let mut acts = Vec::new();
        while offering.acts_at < Time::NEVER {
            acts.push((offering.acts_at, offering.act(stream)));
        }
        assert_eq!(
            acts,
            [(second(1), Act::Offer(1)), (second(2), Act::Offer(1)), (second(3), Act::Stop)]
        );
    }
}
