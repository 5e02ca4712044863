//! A link whose packets come when they come: departures are computed from arrivals, whenever
//! somebody looks, so that looking late delays nothing in the queue.

use narrows_sim::{Cargo, Carried, Link, LinkSettings, LinkSummary, Measured, Watch};
use narrows_units::{Stream, Time};
use std::collections::VecDeque;

/// A link as in a simulation: queue, transmitter and wire.
pub struct Port<P> {
    link: Link<P>,
    measured: Measured,
    /// When the latest packet came.
    newest: Time,
    arrivals: u64,
    departed_bytes: u64,
    /// Dropped in the measured time, by flow.
    drops: Vec<u64>,
}

/// Counters of the whole run, and the queue at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub queue: u64,
    pub arrivals: u64,
    pub drops: u64,
    pub marks: u64,
    /// Bytes whose transmission has begun.
    pub bytes: u64,
    /// Bits that could have left.
    pub offered: f64,
}

/// A packet that is not lost: when its last bit reaches the other end, and the packet.
pub(crate) type Departed<P> = VecDeque<(Time, P)>;

impl<P: Cargo> Port<P> {
    /// The port of a `link`, watched as far as histograms; its randomness comes from `seed`.
    pub fn new(link: LinkSettings, measured: Measured, seed: u64) -> Self {
        /// The family of a port's random stream.
        const FAMILY: u64 = 301;
        let mut stream = Stream::new(seed, FAMILY, 0);
        let perturbation = stream.bits();
        let settings = LinkSettings { perturbation, watch: Watch::Histograms, ..link };
        Self {
            link: Link::new(&settings, measured.from, stream),
            measured,
            newest: Time::ZERO,
            arrivals: 0,
            departed_bytes: 0,
            drops: Vec::new(),
        }
    }

    /// A packet arrives at `at`, no earlier than the one before it; what leaves by then goes to
    /// `out`, and what a queue decides on arrival goes there with the time at which it will leave.
    pub fn arrive(&mut self, at: Time, mut packet: P, out: &mut Departed<P>) {
        self.advance(at, out);
        self.newest = at;
        self.arrivals += 1;
        match &mut self.link {
            Link::Plain(link) => {
                let carried = Carried::Arrives(link.carry(at, packet.bytes()));
                self.decide(at, packet, carried, out);
            }
            Link::DropTail(link) => {
                let carried = link.carry(at, packet.bytes(), &self.measured);
                self.decide(at, packet, carried, out);
            }
            Link::Arrival(link) => {
                let carried = link.carry(at, &mut packet, &self.measured);
                self.decide(at, packet, carried, out);
            }
            Link::Departure(link) => {
                link.hold(at, packet, &self.measured);
                self.count_dropped(at);
                self.advance(at, out);
            }
        }
    }

    /// Lets everything leave whose turn comes at `now` or before.
    pub fn advance(&mut self, now: Time, out: &mut Departed<P>) {
        while let Link::Departure(link) = &mut self.link
            && link.held() > 0
            && link.busy_until() <= now
        {
            // An idle transmitter takes a packet when that comes.
            let turn = link.busy_until().max(self.newest);
            let released = link.release(turn, &self.measured);
            self.count_dropped(turn);
            let Some((packet, carried)) = released else { break };
            self.decide(turn, packet, carried, out);
        }
    }

    /// Counts what the queue has dropped by `at`, after packets came.
    fn count_dropped(&mut self, at: Time) {
        while let Some(link) = self.link.as_departure()
            && let Some(packet) = link.give_up(at, &self.measured)
        {
            self.drop(at, packet.flow());
        }
    }

    fn decide(&mut self, at: Time, packet: P, carried: Carried, out: &mut Departed<P>) {
        if matches!(carried, Carried::Dropped) {
            return self.drop(at, packet.flow());
        }
        self.departed_bytes += u64::from(packet.bytes());
        if let Carried::Arrives(arrival) = carried {
            out.push_back((arrival, packet));
        }
    }

    fn drop(&mut self, at: Time, flow: u32) {
        let flow = flow as usize;
        if self.drops.len() <= flow {
            self.drops.resize(flow + 1, 0);
        }
        self.drops[flow] += u64::from(self.measured.contains(at));
    }

    /// When it must be asked again because packets wait for the transmitter; never if none do.
    pub fn next(&self) -> Time {
        if self.link.held() > 0 { self.link.busy_until() } else { Time::NEVER }
    }

    /// What happened in the measured time, and the packets that the queue dropped in it by flow.
    pub fn finish(mut self) -> (LinkSummary, Vec<u64>) {
        self.link.finish(&self.measured);
        (self.link.summary(&self.measured), self.drops)
    }

    /// Room for a flow at `now` in bytes, that acknowledgements on their way back are told; `None`
    /// if the queue tells none.
    pub fn room_now(&mut self, now: Time, flow: u32) -> Option<u64> {
        Some(self.link.as_departure()?.room_now(now, flow)?.bytes)
    }

    /// The queue at `now`, the packet in transmission included, and the counters of the whole run.
    pub(crate) fn counts(&mut self, now: Time) -> Counts {
        Counts {
            queue: self.link.backlog(now).packets,
            arrivals: self.arrivals,
            drops: self.link.dropped(),
            marks: self.link.marked(),
            bytes: self.departed_bytes,
            offered: self.link.offered(Time::ZERO, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use narrows_router::service::{BucketSettings, Opportunities, Steps};
    use narrows_router::{Discipline, Limit};
    use narrows_sim::{Act, Admits, Every, Hold, Line, Loss, Policer, Script, ScriptLine, Varying};
    use narrows_units::{Bytes, Duration, Rate};

    fn frame(bytes: usize) -> Frame {
        let mut raw = vec![0; bytes];
        raw[0] = 0x45;
        raw[9] = 17;
        raw[20..24].copy_from_slice(&[0xc0, 0, 0x4e, 0x20]);
        Frame::parse(&raw).expect("it is UDP")
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn port(discipline: Discipline, packets: u64) -> Port<Frame> {
        let plain = LinkSettings::plain(Rate::from_megabits(8), Duration::ZERO);
        let link = LinkSettings { limit: Limit::Packets(packets), queue: discipline, ..plain };
        Port::new(link, Measured { from: Time::ZERO, to: at(1_000_000) }, 1)
    }

    /// At 8 Mbps 1000 bytes take 1 ms. Three packets come at once into a buffer of two, a fourth
    /// while the second leaves; the queue is looked at late, and that changes no departure.
    #[test]
    fn looking_late_delays_nothing() {
        for discipline in [Discipline::DropTail, Discipline::RoundRobin] {
            let mut port = port(discipline, 2);
            let mut out = Departed::new();
            for micros in [100, 100, 100, 1500] {
                port.arrive(at(micros), frame(1000), &mut out);
            }
            port.advance(at(900_000), &mut out);
            let times: Vec<Time> = out.iter().map(|(time, _)| *time).collect();
            assert_eq!(times, [1100, 2100, 3100].map(at), "{discipline:?}");
            let (summary, drops) = port.finish();
            assert_eq!((summary.arrivals, summary.drops, summary.departures), (4, 1, 3));
            assert_eq!(drops, [1]);
            // 1.0 + 2.0 + 1.6 ms in the queue, of a second.
            assert!((summary.mean_queue - 0.0046).abs() < 1e-9, "{}", summary.mean_queue);
        }
    }

    /// When packets of these bytes arrive that come at these microseconds, in microseconds, over a
    /// link of 8 Mbps that varies as `vary` has it, behind a queue that decides on arrival and one
    /// that decides on departure; it is looked at late.
    fn arrivals(vary: impl Fn(&mut Varying), packets: &[(u64, usize)]) -> Vec<u64> {
        let [first, second] = [Discipline::DropTail, Discipline::RoundRobin].map(|queue| {
            let plain = LinkSettings::plain(Rate::from_megabits(8), Duration::ZERO);
            let link = LinkSettings { limit: Limit::Packets(100), queue, ..plain };
            let mut varying = Varying::of(&link);
            vary(&mut varying);
            let link = LinkSettings { varying: Some(varying.into()), ..link };
            let measured = Measured { from: Time::ZERO, to: at(100_000) };
            let (mut port, mut out) = (Port::new(link, measured, 1), Departed::new());
            for (micros, bytes) in packets {
                port.arrive(at(*micros), frame(*bytes), &mut out);
            }
            port.advance(at(90_000), &mut out);
            let reached = out.iter().filter(|(time, _)| *time < at(90_000));
            reached.map(|(time, _)| time.picos() / 1_000_000).collect::<Vec<_>>()
        });
        assert_eq!(first, second);
        first
    }

    fn spans(from: u64, to: u64) -> Steps<bool> {
        Steps::new(false, [(at(from), true), (at(to), false)], None)
    }

    fn course(steps: &[(u64, u64)]) -> Line {
        let rate = |megabits: u64| Rate::from_bits_per_second(megabits * 1_000_000);
        let changes = steps.iter().map(|(from, megabits)| (at(*from), rate(*megabits)));
        Line::Course(Steps::new(rate(8), changes, None))
    }

    /// The values of `shared/specs/changes.md`, by hand: 1000 bytes take 1 ms at 8 Mbps.
    #[test]
    fn what_varies_is_known_from_arrivals() {
        let six = [(0, 1000); 6];
        let slow = [(2500, 2), (6000, 0), (10_000, 8)];
        let found = arrivals(|varying| varying.line = course(&slow), &six);
        assert_eq!(found, [1000, 2000, 4500, 10_625, 11_625, 12_625]);
        let trace = || Line::Trace(Opportunities::parse("1\n3\n3\n7\n").expect("a trace"));
        let found = arrivals(|varying| varying.line = trace(), &[(0, 1500); 6]);
        assert_eq!(found, [1000, 3000, 3000, 7000, 8000, 10_000]);
        let found = arrivals(|varying| varying.line = trace(), &[(0, 500); 7]);
        assert_eq!(found, [1000, 1000, 3000, 3000, 3000, 3000, 3000]);
        let late = [(0, 1500), (0, 40), (2500, 1500), (3000, 1500), (9900, 1500)];
        let found = arrivals(|varying| varying.line = trace(), &late);
        assert_eq!(found, [1000, 3000, 3000, 7000, 10_000]);
        let shaped = |varying: &mut Varying| {
            varying.line = Line::Course(Steps::always(Rate::from_bits_per_second(80_000_000)));
            let burst = Bytes::new(3000);
            varying.shaper = Some(BucketSettings { rate: Rate::from_megabits(8), burst });
        };
        assert_eq!(arrivals(shaped, &six), [100, 200, 300, 1100, 2100, 3100]);
        let loses = arrivals(|varying| varying.loses = spans(2000, 4000), &six);
        assert_eq!(loses, [1000, 4000, 5000, 6000], "what leaves at 2 and 3 ms is lost");
        let spread: Vec<_> = (0..6).map(|n| (1000 * n, 500)).collect();
        let down = arrivals(|varying| varying.down = spans(1000, 3000), &spread);
        assert_eq!(down, [500, 3500, 4500, 5500], "what arrives at 1 and 2 ms is dropped");
        let every = Every::Exactly(Duration::from_micros(4000));
        let hold = Hold { every, most: u64::MAX, closed: None, phase: Duration::from_micros(4000) };
        let held = arrivals(|varying| varying.hold = Some(hold), &six);
        assert_eq!(held, [4000, 4000, 4000, 4000, 8000, 8000]);
    }

    #[test]
    fn what_changes_counts_from_its_time_on() {
        let eve = |micros| Time::from_picos(at(micros).picos() - 1);
        for (when, delayed) in [(eve(1000), true), (at(1000), true), (at(1001), false)] {
            let longer = Duration::from_micros(300);
            let delays = |varying: &mut Varying| {
                varying.delays = Steps::new(Duration::ZERO, [(when, longer)], None);
            };
            let found = arrivals(delays, &[(0, 1000)]);
            assert_eq!(found, [if delayed { 1300 } else { 1000 }], "the last bit leaves at 1 ms");
        }
        for (when, admitted) in [(eve(500), false), (at(500), false), (at(501), true)] {
            let limits = |varying: &mut Varying| {
                let one = Limit::Packets(1);
                varying.limits = Steps::new(Limit::Packets(9), [(when, one)], None);
            };
            let found = arrivals(limits, &[(0, 1000), (0, 1000), (500, 1000)]);
            assert_eq!(found.len(), if admitted { 3 } else { 2 }, "nothing queued is dropped");
        }
        for (when, carried) in [(eve(500), false), (at(500), false), (at(501), true)] {
            let mtus = |varying: &mut Varying| {
                varying.mtus = Steps::new(1500, [(when, 900)], None);
            };
            assert_eq!(arrivals(mtus, &[(500, 1000)]).len(), usize::from(carried));
        }
    }

    #[test]
    fn a_larger_packet_is_carried_from_its_time_on() {
        let mtus = |varying: &mut Varying| {
            varying.mtus = Steps::new(900, [(at(5000), 1500)], None);
        };
        assert_eq!(arrivals(mtus, &[(0, 1000), (6000, 1000)]), [7000]);
    }

    /// Always bad, then no losses, then a chain that never enters its bad state.
    #[test]
    fn a_chain_of_losses_begins_good_after_a_time_without_bursts() {
        let chain = |enter, leave| Loss::GilbertElliott { enter, leave, good: 0.0, bad: 1.0 };
        let losses = |varying: &mut Varying| {
            let changes = [(at(10_500), Loss::None), (at(20_500), chain(0.0, 0.0))];
            varying.losses = Steps::new(chain(1.0, 0.0), changes, None);
        };
        let packets: Vec<_> = (0..30).map(|n| (1000 * n, 1000)).collect();
        assert_eq!(arrivals(losses, &packets).len(), 20);
    }

    /// A delay that falls by 2 ms while packets leave each ms: order is kept.
    #[test]
    fn a_shorter_delay_lets_nothing_overtake() {
        let falls = |varying: &mut Varying| {
            let long = Duration::from_micros(5000);
            let short = Duration::from_micros(3000);
            varying.delays = Steps::new(long, [(at(1500), short)], None);
        };
        assert_eq!(arrivals(falls, &[(0, 1000); 3]), [6000, 6000, 6000]);
        assert_eq!(arrivals(falls, &[(0, 1000); 4])[3], 7000);
    }

    #[test]
    fn a_script_acts_before_the_queue() {
        let line = |act, numbers: &[u64]| ScriptLine {
            act,
            admits: Admits::ALL,
            numbers: numbers.iter().map(|number| *number..=*number).collect(),
            each: None,
        };
        let late = Act::Late(Duration::from_micros(2500));
        let lines: Script = Script([line(Act::Drop, &[2]), line(late, &[3])].into());
        let script = |varying: &mut Varying| varying.script = lines.clone();
        assert_eq!(arrivals(script, &[(0, 1000); 5]), [1000, 4500, 3000, 4000]);
    }

    /// A bucket of ten packets refuses as many as a queue of ten: a packet passes if what is
    /// missing from the bucket is nine packets' worth at most, in both.
    #[test]
    fn a_policer_loses_what_a_queue_without_waiting_would() {
        let end = Time::from_secs(2100.0);
        let plain = LinkSettings::plain(Rate::from_megabits(8000), Duration::ZERO);
        let mut varying = Varying::of(&plain);
        let bucket = BucketSettings { rate: Rate::from_megabits(8), burst: Bytes::new(10_000) };
        varying.policer = Some(Policer { bucket, marks: false });
        let link = LinkSettings { varying: Some(varying.into()), ..plain };
        let mut port = Port::new(link, Measured { from: Time::ZERO, to: end }, 1);
        let (mut now, mut stream, mut out) = (0.0, Stream::new(7, 1, 1), Departed::new());
        let packet = frame(1000);
        while now < 2000.0 {
            now += stream.exponential() * 1e-3 / 0.9;
            port.arrive(Time::from_secs(now), packet.clone(), &mut out);
            out.clear();
        }
        let (summary, _) = port.finish();
        let loss = summary.policed as f64 / summary.arrivals as f64;
        let theory = md1b_loss(0.9, 10);
        assert!((loss - theory).abs() < 0.06 * theory, "{loss} for {theory}");
        assert_eq!(summary.drops, 0);
    }

    /// A standing path is measured without an end.
    #[test]
    fn a_port_that_stands_can_be_closed() {
        let plain = LinkSettings::plain(Rate::from_megabits(8), Duration::ZERO);
        let mut port = Port::new(plain, Measured { from: Time::ZERO, to: Time::NEVER }, 1);
        port.arrive(at(10), frame(1000), &mut Departed::new());
        assert_eq!(port.finish().0.departures, 1);
    }

    /// M/D/1/B: 1.8 million Poisson arrivals at 0.9 of the rate, ten places. Losses come in clumps:
    /// runs of a tenth of this spread by 6 %.
    #[test]
    fn poisson_packets_meet_theory() {
        let end = Time::from_secs(2100.0);
        let plain = LinkSettings::plain(Rate::from_megabits(8), Duration::ZERO);
        let link = LinkSettings { limit: Limit::Packets(10), ..plain };
        let mut port = Port::new(link, Measured { from: Time::ZERO, to: end }, 1);
        let (mut now, mut stream, mut out) = (0.0, Stream::new(7, 1, 1), Departed::new());
        let packet = frame(1000);
        while now < 2000.0 {
            now += stream.exponential() * 1e-3 / 0.9;
            port.arrive(Time::from_secs(now), packet.clone(), &mut out);
            out.clear();
        }
        let (summary, _) = port.finish();
        let loss = summary.drops as f64 / summary.arrivals as f64;
        let theory = md1b_loss(0.9, 10);
        assert!((loss - theory).abs() < 0.06 * theory, "{loss} for {theory}");
    }

    /// Bursts begin in every fiftieth packet, and each packet of one is the last with probability
    /// ⅓: three are the mean. The queue drops none.
    #[test]
    fn a_wire_loses_in_bursts() {
        for queue in [Discipline::DropTail, Discipline::RoundRobin] {
            let plain = LinkSettings::plain(Rate::from_megabits(8), Duration::ZERO);
            let burst = Loss::GilbertElliott { enter: 0.02, leave: 1.0 / 3.0, good: 0.0, bad: 1.0 };
            let link = LinkSettings { queue, loss: burst, ..plain };
            let measured = Measured { from: Time::ZERO, to: Time::from_secs(1000.0) };
            let mut port = Port::new(link, measured, 1);
            let (mut out, mut bursts, mut was_lost) = (Departed::new(), 0, false);
            for packet in 0..200_000 {
                port.arrive(at(2000 * packet), frame(1000), &mut out);
                port.advance(at(2000 * packet + 1000), &mut out);
                let is_lost = out.pop_front().is_none();
                bursts += u64::from(is_lost && !was_lost);
                was_lost = is_lost;
            }
            let counts = port.counts(at(u64::MAX / 2_000_000));
            let (summary, drops) = port.finish();
            let lost = summary.wire_losses as f64;
            assert!((lost / bursts as f64 - 3.0).abs() < 0.15, "{lost} in {bursts}: {queue:?}");
            assert_eq!((summary.departures, summary.drops, counts.drops), (200_000, 0, 0));
            assert!(drops.is_empty(), "{drops:?}");
        }
    }

    /// The loss of M/D/1 with room for `places` packets, the one in transmission counted: the chain
    /// embedded at departures, whose steps are Poisson (Gross and Harris, §5.1).
    fn md1b_loss(load: f64, places: usize) -> f64 {
        let mut arrivals = vec![(-load).exp()];
        for k in 1..=places {
            arrivals.push(arrivals[k - 1] * load / k as f64);
        }
        // Unnormalised probabilities of what a departure leaves, 0 to places - 1.
        let mut left = vec![1.0];
        for n in 0..places - 1 {
            let sum: f64 = (1..=n).map(|j| left[j] * arrivals[n - j + 1]).sum();
            let next = (left[n] - left[0] * arrivals[n] - sum) / arrivals[0];
            left.push(next);
        }
        let empty = left[0] / left.iter().sum::<f64>();
        1.0 - 1.0 / (empty + load)
    }
}
