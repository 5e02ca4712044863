//! Web users: they think, request a page, and then the objects embedded in it, one after the other
//! (E-TCP, §VI-H); over several connections: `browser.rs`.
//!
//! The paper draws from the empirical tables of Smith, Hernández-Campos, Jeffay, Ott ("What TCP/IP
//! protocol headers can tell us about the web", 2001), which are not available. We use instead:
//!
//! | what | distribution | source |
//! |---|---|---|
//! | size of an object, body | log-normal, median 1.8 kB, σ 1.3 | Mah 1997: median 1.5 to 2 kB, mean 8 to 10 kB |
//! | size of an object, 7 % tail | Pareto 1.2 from 20 kB, at most 10 MB | Crovella, Bestavros 1997: exponents 1.0 to 1.3; Barford, Crovella 1998: 7 % |
//! | objects embedded in a page | Pareto 2.43 from 1, less 1, at most 100 | Barford, Crovella 1998 |
//! | pages in a row over a persistent connection | geometric, mean 4 | Mah 1997 |
//! | think time | exponential | its mean is left for calibration |
//!
//! Requests are small and bypass the queues: they reach the server after half a round trip, plus
//! one round trip for a new connection.

use narrows_units::{Duration, Stream, Time};

/// The behaviour of a user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageSettings {
    /// Mean time between one page and the next.
    pub think: Duration,
    /// Factor by which the sizes drawn from the distributions are multiplied.
    pub size_factor: f64,
    /// Share of new connections that stay open for several pages (a ratio).
    pub persistent: f64,
    /// Bytes of payload in a packet.
    pub payload: u64,
}

/// The behaviour of a source of files, which sends a file, is silent, and sends the next one
/// (Katabi, Handley, Rohrs, SIGCOMM 2002, §5.2.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileSettings {
    /// Mean size in packets.
    pub mean: f64,
    /// Shape of the Pareto distribution of sizes, above 1.
    pub shape: f64,
    /// Mean of the exponential silence.
    pub off: Duration,
    /// Bytes of payload in a packet.
    pub payload: u64,
}

/// The behaviour of one of many servers that answer a query together (incast).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuerySettings {
    /// Time from one query to the next.
    pub every: Duration,
    /// Each answer leaves up to this later, uniformly.
    pub jitter: Duration,
    /// Bytes of an answer.
    pub bytes: u64,
    /// Bytes of payload in a packet.
    pub payload: u64,
}

/// What is requested, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Usage {
    /// Pages, by a user with this connection alone.
    Pages(PageSettings),
    /// Pages, by a user in [`Network::browsers`](crate::Network::browsers) with so many
    /// connections, of which this is one.
    Browses(PageSettings, u32),
    /// Files, by the sender itself.
    Files(FileSettings),
    /// Answers to queries, over one connection.
    Queries(QuerySettings),
    /// What arrives at the pool of this place in [`Network::pools`](crate::Network::pools).
    Arrivals(u32),
}

/// One object that a user requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// When the user sent the request.
    pub requested: Time,
    /// When the last packet had arrived; never if the run ended first.
    pub finished: Time,
    /// Bytes of payload; pages and files have whole packets.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// When the request reached the sender.
    pub arrived: Time,
    /// Whether it had a connection of its own.
    pub fresh: bool,
}

/// The next request of a user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Request {
    /// When the user sends the request.
    pub asked: Time,
    /// When the request reaches the server.
    pub arrives: Time,
    pub packets: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// By how many bytes the last packet is shorter than the others.
    pub shortage: u32,
    /// True if the object is sent over a connection of its own, which begins in slow start.
    pub fresh: bool,
}

impl Request {
    /// Nothing is requested.
    const NONE: Self = Self {
        asked: Time::NEVER,
        arrives: Time::NEVER,
        packets: 0,
        bytes: 0,
        shortage: 0,
        fresh: true,
    };

    /// The request at `at` for `bytes`, of which a packet carries `payload`, over a connection of
    /// its own.
    pub fn of_bytes(at: Time, bytes: u64, payload: u64) -> Self {
        let packets = bytes.div_ceil(payload);
        let shortage = (packets * payload - bytes) as u32;
        Self { asked: at, arrives: at, packets, bytes, shortage, fresh: true }
    }

    /// The request at `at` for this many packets of `payload` bytes each, over a connection of its
    /// own.
    fn of_packets(at: Time, packets: u64, payload: u64) -> Self {
        Self { asked: at, arrives: at, packets, bytes: packets * payload, ..Self::NONE }
    }
}

/// One user or source of files: its random stream, its state and its requests.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    usage: Usage,
    /// Base round-trip time.
    rtt: Duration,
    taste: Taste,
    /// Objects of this page still to be requested.
    embedded: u64,
    /// Number of pages for which the connection stays open.
    pages_left: u64,
    pub request: Request,
    pub transfers: Vec<Transfer>,
}

const BODY_MEDIAN: f64 = 1800.0;
const BODY_SIGMA: f64 = 1.3;
const TAIL_SHARE: f64 = 0.07;
const TAIL_FROM: f64 = 20_000.0;
const TAIL_EXPONENT: f64 = 1.2;
const LARGEST: f64 = 10e6;
const EMBEDDED_EXPONENT: f64 = 2.43;
const MOST_EMBEDDED: f64 = 100.0;
const PAGES_IN_A_ROW: f64 = 4.0;

impl Requester {
    /// Creates a user who begins to think at `start`, or a source whose first file leaves then, a
    /// base round-trip time of `rtt` away.
    pub fn new(usage: Usage, rtt: Duration, stream: Stream, start: Time) -> Self {
        let request = Request::NONE;
        let mut user = Self {
            usage,
            rtt,
            taste: Taste::new(stream),
            embedded: 0,
            pages_left: 0,
            request,
            transfers: Vec::new(),
        };
        user.request = match usage {
            Usage::Pages(settings) => user.think(&settings, start),
            Usage::Files(settings) => user.file(&settings, start),
            Usage::Queries(settings) => user.answer(&settings, start, start),
            Usage::Arrivals(_) | Usage::Browses(..) => request,
        };
        user
    }

    /// The pool that its requests come from, if they do.
    pub fn pool(&self) -> Option<usize> {
        if let Usage::Arrivals(pool) = self.usage { Some(pool as usize) } else { None }
    }

    /// What was asked for before `now` and has not ended, of a source that is asked whether it is
    /// busy or not: what is under way, and the queries behind it.
    pub fn unfinished(&self, now: Time) -> Vec<Transfer> {
        let every = match self.usage {
            Usage::Pages(_) | Usage::Browses(..) | Usage::Files(_) => return Vec::new(),
            Usage::Arrivals(_) => Duration::MAX,
            Usage::Queries(settings) => settings.every,
        };
        let last = self.transfer(Time::NEVER);
        let mut asked = last.requested;
        let mut left = Vec::new();
        while asked < now {
            let fresh = last.fresh && left.is_empty();
            left.push(Transfer { requested: asked, arrived: asked, fresh, ..last });
            asked += every;
        }
        left
    }

    /// What was requested last, as it has arrived at `finished`.
    fn transfer(&self, finished: Time) -> Transfer {
        let Request { asked, arrives, packets, bytes, fresh, .. } = self.request;
        // An answer that waits for another is late by that, and the first connects.
        let (arrived, fresh) = match self.usage {
            Usage::Queries(_) => (asked, self.transfers.is_empty()),
            _ => (arrives, fresh),
        };
        Transfer { requested: asked, finished, bytes, packets, arrived, fresh }
    }

    /// Records that the requested object has arrived at `now`; returns the next request.
    pub fn finish(&mut self, now: Time) -> Request {
        self.transfers.push(self.transfer(now));
        self.request = match self.usage {
            Usage::Arrivals(_) | Usage::Browses(..) => Request::NONE,
            Usage::Queries(settings) => {
                let next = self.request.asked + settings.every;
                self.answer(&settings, next, now)
            }
            Usage::Files(settings) => {
                let silence =
                    self.rtt.scale(0.5) + settings.off.scale(self.taste.stream.exponential());
                self.file(&settings, now + silence)
            }
            Usage::Pages(settings) if self.embedded > 0 => {
                self.embedded -= 1;
                self.ask(&settings, now)
            }
            Usage::Pages(settings) => {
                self.pages_left = self.pages_left.saturating_sub(1);
                self.think(&settings, now)
            }
        };
        self.request
    }

    /// The request for a file that leaves at `asked`, over a connection of its own.
    fn file(&mut self, settings: &FileSettings, asked: Time) -> Request {
        // The mean of a Pareto distribution is shape/(shape − 1) times its smallest value.
        let least = settings.mean * (settings.shape - 1.0) / settings.shape;
        let packets = self.taste.pareto(least, settings.shape).round().max(1.0) as u64;
        Request::of_packets(asked, packets, settings.payload)
    }

    /// The answer to the query at `asked`; if the one before is under way until `now`, it waits
    /// for that.
    fn answer(&mut self, settings: &QuerySettings, asked: Time, now: Time) -> Request {
        let arrives = now.max(asked + settings.jitter.scale(self.taste.stream.uniform()));
        let request = Request::of_bytes(asked, settings.bytes, settings.payload);
        Request { arrives, fresh: false, ..request }
    }

    fn think(&mut self, settings: &PageSettings, now: Time) -> Request {
        let thought = self.taste.thinks(settings);
        self.embedded = self.taste.embedded();
        self.ask(settings, now + thought)
    }

    fn ask(&mut self, settings: &PageSettings, asked: Time) -> Request {
        self.taste.request(settings, asked, self.rtt, &mut self.pages_left)
    }
}

/// What users draw at random.
#[derive(Clone, Debug)]
pub(crate) struct Taste {
    stream: Stream,
}

impl Taste {
    pub fn new(stream: Stream) -> Self {
        Self { stream }
    }

    /// How long a user thinks.
    pub fn thinks(&mut self, settings: &PageSettings) -> Duration {
        settings.think.scale(self.stream.exponential())
    }

    /// How many objects are embedded in a page.
    pub fn embedded(&mut self) -> u64 {
        (self.pareto(1.0, EMBEDDED_EXPONENT).min(MOST_EMBEDDED) - 1.0).round() as u64
    }

    /// The request at `asked` for an object, over a connection that stays open for `pages_left`
    /// pages and has a base round-trip time of `rtt`.
    pub fn request(
        &mut self,
        settings: &PageSettings,
        asked: Time,
        rtt: Duration,
        pages_left: &mut u64,
    ) -> Request {
        let fresh = *pages_left == 0;
        if fresh && self.stream.happens(settings.persistent) {
            *pages_left = 1 + (self.stream.exponential() * (PAGES_IN_A_ROW - 1.0)).round() as u64;
        }
        let setup = if fresh { rtt } else { Duration::ZERO };
        let packets =
            (self.size() * settings.size_factor / settings.payload as f64).ceil().max(1.0) as u64;
        let request = Request::of_packets(asked, packets, settings.payload);
        Request { arrives: asked + setup + rtt.scale(0.5), fresh, ..request }
    }

    /// Draws the size of an object in bytes.
    fn size(&mut self) -> f64 {
        if self.stream.happens(TAIL_SHARE) {
            self.pareto(TAIL_FROM, TAIL_EXPONENT).min(LARGEST)
        } else {
            BODY_MEDIAN * libm::exp(BODY_SIGMA * self.normal())
        }
    }

    fn pareto(&mut self, from: f64, exponent: f64) -> f64 {
        from * libm::exp(self.stream.exponential() / exponent)
    }

    /// Draws from the standard normal distribution (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        libm::sqrt(2.0 * self.stream.exponential())
            * libm::cos(std::f64::consts::TAU * self.stream.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(persistent: f64) -> Requester {
        let settings = PageSettings {
            think: Duration::from_millis(10_000),
            size_factor: 1.0,
            persistent,
            payload: 1000,
        };
        let rtt = Duration::from_millis(100);
        Requester::new(Usage::Pages(settings), rtt, Stream::new(4, 1, 1), Time::ZERO)
    }

    #[test]
    fn sizes_have_the_body_and_the_tail_they_should() {
        let mut user = user(0.0);
        let mut sizes: Vec<f64> = (0..200_000).map(|_| user.taste.size()).collect();
        sizes.sort_by(f64::total_cmp);
        let above = |bytes: f64| {
            sizes.iter().filter(|size| **size > bytes).count() as f64 / sizes.len() as f64
        };
        // The median of a distribution that is 93 % log-normal with the other 7 % above the median:
        // the normal quantile of 0.5/0.93 is 0.0945, so the median is 1800·e^(1.3·0.0945) = 2035.
        assert!((sizes[100_000] / 2035.0 - 1.0).abs() < 0.03, "median {}", sizes[100_000]);
        // The body has almost nothing above 200 kB, so the share there is 0.07·10^−1.2.
        assert!(
            (above(200_000.0) / (0.07 * 10f64.powf(-1.2)) - 1.0).abs() < 0.1,
            "{}",
            above(200_000.0)
        );
        assert!(sizes[sizes.len() - 1] <= LARGEST);
    }

    #[test]
    fn files_have_the_mean_and_the_shape_they_should_and_silence_between_them() {
        let ms = Duration::from_millis;
        let settings = FileSettings { mean: 30.0, shape: 2.5, off: ms(200), payload: 1000 };
        let mut source = Requester::new(
            Usage::Files(settings),
            ms(80),
            Stream::new(4, 1, 1),
            Time::ZERO + ms(7),
        );
        assert_eq!(source.request.arrives, Time::ZERO + ms(7), "the first file leaves at once");
        let (mut packets, mut silence, mut long) = (0.0, 0.0, 0.0);
        for _ in 0..100_000 {
            let now = source.request.arrives;
            let next = source.finish(now);
            packets += next.packets as f64 / 1e5;
            silence += next.arrives.since(now).seconds() / 1e5;
            long += f64::from(u8::from(next.packets > 180)) / 1e5;
        }
        assert!(
            (packets / 30.0 - 1.0).abs() < 0.02 && (silence / 0.24 - 1.0).abs() < 0.02,
            "{packets} {silence}"
        );
        // The smallest file has 30·1.5/2.5 = 18 packets; a share of 10^−2.5 of the files is more
        // than ten times as long.
        assert!((long / 10f64.powf(-2.5) - 1.0).abs() < 0.15, "{long}");
    }

    #[test]
    fn a_new_connection_costs_a_round_trip_more_than_an_open_one() {
        let (mut closing, mut staying) = (user(0.0), user(1.0));
        for _ in 0..100 {
            let request = closing.finish(closing.request.arrives);
            assert!(request.fresh);
            assert_eq!(request.arrives.since(request.asked), Duration::from_millis(150));
        }
        let requests: Vec<Request> =
            (0..1000).map(|_| staying.finish(staying.request.arrives)).collect();
        let open: Vec<&Request> = requests.iter().filter(|request| !request.fresh).collect();
        assert!(
            open.iter()
                .all(|request| request.arrives.since(request.asked) == Duration::from_millis(50))
        );
        assert!(
            open.len() > 700,
            "{} of 1000 requests went over a connection that stayed open",
            open.len()
        );
    }
}
