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
    /// Offers at given times.
    Offered(Arc<[Offer]>),
    /// Sends what is requested.
    Requests(Usage, Service),
}

/// Data that an application offers all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// When: in order, each later than the one before.
    pub at: Time,
    /// Packets; `None` for no end.
    pub packets: Option<u64>,
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
            Self::Offered(ref offers) => Application::Offered(Arc::clone(offers)),
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
    maker: Maker,
    /// Bytes of one on the wire.
    pub bytes: u32,
    /// When the next datagram leaves; never before the source begins, and after its stop.
    pub next_at: Time,
    /// How many have left.
    pub sent: u64,
}

impl Datagrams {
    /// A source that has not begun, of datagrams of `bytes` on the wire.
    pub fn new(gap: Gap, bytes: u32, periods: Option<Periods>) -> Self {
        Self::made(Making { periods, ..Making::packets(gap) }, bytes)
    }

    /// The same of datagrams that are made so.
    pub fn made(making: Making, bytes: u32) -> Self {
        Self { maker: Maker::new(making), bytes, next_at: Time::NEVER, sent: 0 }
    }

    /// Datagrams per second while it is not silent.
    pub fn packets_per_second(&self) -> f64 {
        self.maker.making().packets_per_second()
    }

    /// Begins to send, unless the source is already sending; the first datagram is made after a
    /// gap.
    pub fn begin(&mut self, now: Time, stream: &mut Stream) {
        if self.next_at == Time::NEVER {
            self.maker.begin(now, stream);
            self.next_at = self.maker.make(now, stream).1;
        }
    }

    /// Sends no more.
    pub fn stop(&mut self) {
        self.next_at = Time::NEVER;
    }

    /// Handles a deadline; returns the number of the datagram that leaves at `now`, if one does.
    pub fn wake(&mut self, now: Time, stream: &mut Stream) -> Option<u64> {
        let leaves = self.next_at <= now;
        if leaves {
            self.next_at = self.maker.make(now, stream).1;
            self.sent += 1;
        }
        leaves.then(|| self.sent - 1)
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
    /// Those from a place on are still to come.
    Given(Arc<[Offer]>, usize),
    Asked,
}

impl From<&Application> for Offers {
    fn from(application: &Application) -> Self {
        match application {
            Application::Endless => Self::Endless,
            Application::Packets { count, .. } => Self::Packets(*count),
            Application::Made(making) => Self::Made(Box::new(Maker::new(making.clone()))),
            Application::Offered(offers) => Self::Given(Arc::clone(offers), 0),
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

    /// The application stops at `stop`, which is still to come and before it would have.
    pub fn stop_at(&mut self, stop: Time) {
        self.stop = stop;
        // Who serves requests stops at the first that comes later.
        if !matches!(self.offers, Offers::Asked) {
            self.acts_at = self.acts_at.min(stop);
        }
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
            Offers::Given(offers, place) => {
                let due = offers[*place..].iter().take_while(|offer| offer.at <= self.acts_at);
                let packets = due.map(|offer| offer.packets.unwrap_or(ENDLESS));
                let (count, packets) =
                    packets.fold((0, 0), |(count, sum), it| (count + 1, sum + it));
                *place += count;
                (packets, offers.get(*place).map_or(self.stop, |offer| offer.at.min(self.stop)))
            }
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
        match &self.offers {
            Offers::Packets(packets) => Some(*packets),
            Offers::Given(offers, _) => offers.iter().map(|offer| offer.packets).sum(),
            _ => None,
        }
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
        while source.next_at < Time::ZERO + millis(240) {
            let now = source.next_at;
            left.extend(source.wake(now, &mut stream).map(|_| now.picos() / 1_000_000_000));
        }
        // Half of one is made before each silence, and finished after it.
        assert_eq!(left, [10, 20, 30, 105, 115, 125, 135, 210, 220, 230]);
    }

    /// What was offered before the flow begins is offered as it begins.
    #[test]
    fn offers_come_at_their_times() {
        let second = |s| Time::from_secs(f64::from(s));
        let offer = |at, packets| Offer { at: second(at), packets };
        let offers: Arc<[Offer]> = [offer(0, Some(3)), offer(1, Some(4)), offer(5, None)].into();
        let stream = &mut Stream::new(1, 1, 1);
        let mut offering = Offering::new(Offers::Given(offers, 0), second(2), second(9), stream);
        let mut acts = Vec::new();
        while offering.acts_at < Time::NEVER {
            acts.push((offering.acts_at, offering.act(stream)));
        }
        let expected =
            [(second(2), Act::Offer(7)), (second(5), Act::Offer(ENDLESS)), (second(9), Act::Stop)];
        assert_eq!(acts, expected);
        assert_eq!(offering.total(), None);
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
