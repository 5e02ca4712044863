//! A host that is not ideal: its timers are coarse, its network card interrupts it seldom, and now
//! and then it stands still.
//!
//! Each end of a flow is such a host, with a random stream of its own. What a host does to arrivals
//! depends only on their order and on that stream, so a hop that ends at a host may be eager.

use narrows_transport::Ticks;
use narrows_units::{Duration, Stream, Time};
use std::collections::VecDeque;

/// How a host differs from an ideal one, which sees everything when it happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Timers (pacing, retransmission, delayed acknowledgements) go off at multiples of this,
    /// counted from a random offset, as the clocks of two hosts are not in step; at once if zero.
    pub tick: Duration,
    /// The first packet that arrives starts a batch, which the host sees this much later, together
    /// with all that have arrived by then, as with a network card's `rx-usecs`.
    pub batch: Duration,
    /// Mean of a further time until it sees a batch, or a packet without batches, which is
    /// exponential: an interrupt finds the processor busy.
    pub wait: Duration,
    /// The times at which it stands still, if it does.
    pub stalls: Option<Stalls>,
    /// The time that a hosted end's processor takes; none if it is not given. Our own ends take
    /// none.
    pub cpu: Option<Cpu>,
}

/// What datagrams cost the processor of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Time for each datagram that is received or sent.
    pub datagram: Duration,
    /// At most so many datagrams are handed to the link together, as segmentation offload does:
    /// they leave when the last of them is ready. Between two trains the host sees what has
    /// arrived.
    pub train: u32,
}

/// How often and how long a host stands still: what arrives or expires meanwhile it sees at the
/// end, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// Mean of the time from the end of a stall to the beginning of the next, which is exponential.
    pub every: Duration,
    /// Mean of the length of a stall, which is exponential too.
    pub length: Duration,
}

impl HostSettings {
    /// True if it sees everything when it happens.
    pub fn is_ideal(&self) -> bool {
        *self == Self::default()
    }

    /// True if packets wait before the host sees them.
    pub(crate) fn delays_arrivals(&self) -> bool {
        self.batch > Duration::ZERO || self.wait > Duration::ZERO || self.stalls.is_some()
    }
}

/// The state of a host. An ideal one has none to speak of, and is usually left out.
#[derive(Default)]
pub(crate) struct Host {
    tick: Duration,
    /// The first tick after the start of the run.
    offset: Duration,
    batch: Duration,
    waits: Option<Waits>,
    standstills: Option<Standstills>,
    /// When the batch that has begun is seen; all that arrives until then belongs to it.
    batch_ends: Time,
    /// When the latest packet to have arrived is seen.
    last_seen: Time,
    /// The latest time at which the host did anything.
    reached: Time,
}

impl Host {
    /// `None` if the host is ideal; else it draws from `stream`.
    pub fn new(settings: HostSettings, mut stream: Stream) -> Option<Box<Self>> {
        let HostSettings { tick, batch, wait, stalls, cpu: _ } = settings;
        let offset = tick.scale(stream.uniform());
        let waits = (wait > Duration::ZERO)
            .then(|| Waits { mean: wait, stream: Stream::new(stream.bits(), 0, 0) });
        (!settings.is_ideal()).then(|| {
            Box::new(Self {
                tick,
                offset,
                batch,
                waits,
                standstills: stalls.map(|stalls| Standstills::new(stalls, stream)),
                batch_ends: Time::ZERO,
                last_seen: Time::ZERO,
                reached: Time::ZERO,
            })
        })
    }

    /// The clock of its timers.
    pub fn ticks(&self) -> Ticks {
        Ticks { length: self.tick, offset: self.offset }
    }

    /// When the host sees a packet that arrives at `at`; to be called once for each, in order.
    /// Those of one batch are a picosecond apart, so that they have an order.
    pub fn sees(&mut self, at: Time) -> Time {
        if at > self.batch_ends || self.batch == Duration::ZERO && self.waits.is_none() {
            let handled_at = self.handled_at(at);
            self.batch_ends = self.awake(handled_at);
        }
        let after_the_last = self.last_seen + Duration::from_picos(1);
        self.last_seen = self.batch_ends.max(after_the_last);
        self.last_seen
    }

    /// When the batch that a packet begins at `at` is seen, unless the host stands still then.
    pub fn handled_at(&mut self, at: Time) -> Time {
        at + self.batch + self.waits.as_mut().map_or(Duration::ZERO, Waits::draw)
    }

    /// When a timer for `deadline` goes off; never if that is never.
    pub fn expires(&mut self, deadline: Time) -> Time {
        if deadline == Time::NEVER || self.tick == Duration::ZERO {
            return self.wakes(deadline);
        }
        let ticks = deadline.since(Time::ZERO + self.offset).picos().div_ceil(self.tick.picos());
        self.wakes(Time::ZERO + self.offset + self.tick * ticks)
    }

    /// When the host can do what is due at `at` but needs no timer; never if that is never.
    pub fn wakes(&mut self, at: Time) -> Time {
        if at == Time::NEVER {
            return at;
        }
        // A deadline can pass while the host stands still before it is set: it is due at once.
        self.awake(at).max(self.reached)
    }

    /// The due time of a packet that waited for its pacer until `paced` and may leave at `now`: a
    /// pacer keeps its timetable over a tick, so that what was due since the last one leaves at
    /// once. It does not make up for a stall, as in Linux, where `tcp_wstamp_ns` is never behind
    /// the clock when a packet leaves (`tcp_write_xmit` and `tcp_update_skb_after_send` in
    /// net/ipv4/tcp_output.c).
    pub fn due(&self, paced: Time, now: Time) -> Time {
        let last_tick = Time::ZERO + now.since(Time::ZERO + self.tick);
        now.min(paced.max(last_tick))
    }

    /// Records that the host did something at `now`; stalls before it are forgotten.
    pub fn reach(&mut self, now: Time) {
        self.reached = self.reached.max(now);
        if let Some(standstills) = &mut self.standstills {
            standstills.forget(now);
        }
    }

    fn awake(&mut self, at: Time) -> Time {
        self.standstills.as_mut().map_or(at, |standstills| standstills.awake(at))
    }
}

/// The times that batches wait until they are seen.
struct Waits {
    mean: Duration,
    stream: Stream,
}

impl Waits {
    fn draw(&mut self) -> Duration {
        self.mean.scale(self.stream.exponential())
    }
}

/// What came during a stall keeps its order at the end: the host handles what came in 66 ns of it
/// (2¹⁶ ps) within a picosecond.
const ORDER_SHIFT: u32 = 16;

/// One stall.
#[derive(Clone, Copy, Debug)]
struct Standstill {
    begins: Time,
    ends: Time,
}

impl Standstill {
    /// When the host sees what happened at `at`, if that is not before the stall.
    fn sees(&self, at: Time) -> Time {
        let waited = at.min(self.ends).since(self.begins).picos() >> ORDER_SHIFT;
        at.max(self.ends + Duration::from_picos(waited))
    }
}

/// The stalls of a host, drawn as far as they have been asked for.
struct Standstills {
    settings: Stalls,
    stream: Stream,
    /// In order; the last begins later than any time that has been asked about.
    known: VecDeque<Standstill>,
}

impl Standstills {
    fn new(settings: Stalls, stream: Stream) -> Self {
        let mut stalls = Self { settings, stream, known: VecDeque::new() };
        stalls.draw(Time::ZERO);
        stalls
    }

    /// Draws the stall after `ends`.
    fn draw(&mut self, ends: Time) {
        let begins = ends + self.settings.every.scale(self.stream.exponential());
        let ends = begins + self.settings.length.scale(self.stream.exponential());
        self.known.push_back(Standstill { begins, ends });
    }

    /// When the host sees what happens at `at`.
    fn awake(&mut self, at: Time) -> Time {
        while let Some(last) = self.known.back().copied().filter(|last| last.begins <= at) {
            self.draw(last.ends);
        }
        let later = self.known.partition_point(|stall| stall.begins <= at);
        let before = later.checked_sub(1).and_then(|place| self.known.get(place));
        before.map_or(at, |stall| stall.sees(at))
    }

    /// Forgets the stalls of which everything has been seen before `now`.
    fn forget(&mut self, now: Time) {
        while self.known.len() > 1 && self.known[0].sees(self.known[0].ends) < now {
            self.known.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn host(tick: u64, batch: u64, stalls: Option<(u64, u64)>) -> Box<Host> {
        let span = Duration::from_micros;
        let stalls =
            stalls.map(|(every, length)| Stalls { every: span(every), length: span(length) });
        let settings = HostSettings {
            tick: span(tick),
            batch: span(batch),
            stalls,
            ..HostSettings::default()
        };
        Host::new(settings, Stream::new(1, 1, 1)).expect("it is not ideal")
    }

    #[test]
    fn an_ideal_host_has_no_state() {
        assert!(Host::new(HostSettings::default(), Stream::new(1, 1, 1)).is_none());
    }

    /// Packets far apart wait for 50 us in the mean, each anew; what comes while one waits is seen
    /// with it.
    #[test]
    fn what_arrives_waits_for_a_random_time() {
        let settings = HostSettings { wait: Duration::from_micros(50), ..HostSettings::default() };
        let mut host = Host::new(settings, Stream::new(1, 1, 1)).expect("it is not ideal");
        let waits: Vec<_> = (1..=10_000)
            .map(|number| at(number * 10_000))
            .map(|arrival| 1e6 * host.sees(arrival).since(arrival).seconds())
            .collect();
        let mean = waits.iter().sum::<f64>() / 10_000.0;
        assert!((48.5..51.5).contains(&mean), "{mean}: five standard errors from 50");
        let beyond = waits.iter().filter(|wait| **wait > 150.0).count();
        assert!((400..600).contains(&beyond), "{beyond} above three means, not 498");
        let first = host.sees(at(200_000_000));
        assert_eq!(host.sees(at(200_000_000)), first + Duration::from_picos(1));
    }

    #[test]
    fn the_first_of_a_batch_waits_longest_and_the_next_batch_begins_with_the_next_arrival() {
        let mut host = host(0, 100, None);
        let picos = Duration::from_picos;
        let seen = [10, 50, 110, 111, 300].map(|micros| host.sees(at(micros)));
        let expected = [at(110), at(110) + picos(1), at(110) + picos(2), at(211), at(400)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn timers_go_off_a_whole_number_of_ticks_apart_and_never_early() {
        let mut host = host(4000, 0, None);
        let tick = Duration::from_micros(4000);
        let first = host.expires(at(1));
        assert!(at(1) <= first && first < at(1) + tick, "{first:?}");
        assert_eq!(host.expires(first), first);
        assert_eq!(host.expires(first + Duration::from_picos(1)), first + tick);
        assert_eq!(host.expires(first + tick * 7), first + tick * 7);
        assert_eq!(host.expires(Time::NEVER), Time::NEVER);
    }

    #[test]
    fn a_stall_keeps_the_order_of_what_came_meanwhile() {
        let mut host = host(0, 0, Some((1000, 1000)));
        // An arrival every 3 µs, and a timer between each two.
        let mut before = Time::ZERO;
        let (mut together, mut forced) = (0, 0);
        for number in 0..100_000 {
            let arrives = at(10 + 3 * number);
            let sees = host.sees(arrives);
            let deadline = arrives + Duration::from_micros(2);
            let wakes = host.wakes(deadline);
            assert!(before < sees && sees <= wakes, "{before:?} {sees:?} {wakes:?}");
            assert!(arrives <= sees && deadline <= wakes);
            together += u64::from(sees.since(before) < Duration::from_micros(1));
            forced += u64::from(sees > arrives + Duration::from_micros(1));
            before = wakes;
            host.reach(sees);
        }
        // Half of the time it stands still.
        assert!((40_000..60_000).contains(&forced), "{forced}");
        assert!((40_000..60_000).contains(&together), "{together}");
    }

    #[test]
    fn stalls_have_the_means_that_were_asked_for() {
        let settings =
            Stalls { every: Duration::from_millis(100), length: Duration::from_millis(2) };
        let mut stalls = Standstills::new(settings, Stream::new(2, 1, 1));
        stalls.awake(Time::from_secs(2040.0));
        let n = stalls.known.len() as f64;
        let length: f64 =
            stalls.known.iter().map(|stall| stall.ends.since(stall.begins).seconds()).sum();
        // 20,000 stalls: five standard errors of a mean are 3.5 %.
        assert!((n / 20_000.0 - 1.0).abs() < 0.035, "{n} stalls in 20,000 times 102 ms");
        assert!((length / n / 0.002 - 1.0).abs() < 0.035, "{} s", length / n);
        stalls.forget(Time::from_secs(2000.0));
        assert!(stalls.known.len() < 1000);
    }
}
