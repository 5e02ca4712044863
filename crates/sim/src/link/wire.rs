//! A wire: losses, a delay that varies, reordering, and packets that are held.

use super::memory::MemoryPort;
use super::{LinkSettings, Varying};
use narrows_router::service::{HELD, Steps};
use narrows_units::{Duration, Stream, Time};

/// Which packets a wire loses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each with the same probability (a ratio).
    Bernoulli(f64),
    /// In bursts: Gilbert and Elliott's Markov chain with a good and a bad state; all probabilities
    /// are per packet.
    GilbertElliott {
        /// Probability of going from the good to the bad state.
        enter: f64,
        /// Probability of going from the bad to the good state.
        leave: f64,
        /// Probability of loss in the good state.
        good: f64,
        /// Probability of loss in the bad state.
        bad: f64,
    },
}

/// How a wire's delay varies: by an addition drawn uniformly between 0 and `most`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// The longest addition.
    pub most: Duration,
    /// Whether a packet may overtake another.
    pub reorders: bool,
}

/// Packets reach the other end at certain times only: a link that gathers them (as Wi-Fi's
/// aggregation), or that is closed for a part of each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The time from one instant to the next.
    pub every: Every,
    /// Packets that are let go at one instant.
    pub most: u64,
    /// How long the wire is closed before each instant, after which it is open; `None` if it opens
    /// for the instants only.
    pub closed: Option<Duration>,
    /// The first instant.
    pub phase: Duration,
}

/// How far instants are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Always so far.
    Exactly(Duration),
    /// By times drawn from an exponential distribution with this mean.
    OnAverage(Duration),
}

/// What is let go at the instants of a [`Hold`].
struct Gate {
    hold: Hold,
    /// The next instant, and how many packets have been let go at it.
    next: Time,
    gone: u64,
    /// When the last packet was let go.
    last: Time,
}

impl Gate {
    fn new(hold: Hold) -> Self {
        Self { hold, next: Time::ZERO + hold.phase, gone: 0, last: Time::ZERO }
    }

    /// Moves on to the next instant.
    fn step(&mut self, stream: &mut Stream) {
        let gap = match self.hold.every {
            Every::Exactly(gap) => gap,
            Every::OnAverage(mean) => mean.scale(stream.exponential()),
        };
        (self.next, self.gone) = (self.next + gap.max(Duration::from_picos(1)), 0);
    }

    /// When a packet is let go that would arrive at `at`, no earlier than any before it.
    fn passes(&mut self, at: Time, stream: &mut Stream) -> Time {
        let passes = self.instant_for(at, stream);
        self.last = passes.max(self.last + Duration::from_picos(1));
        self.last
    }

    fn instant_for(&mut self, at: Time, stream: &mut Stream) -> Time {
        self.skip_to(at);
        while self.next < at {
            self.step(stream);
        }
        let closes = self.hold.closed.map(|closed| self.next.since(Time::ZERO + closed));
        if self.gone == 0 && closes.is_some_and(|closes| at < Time::ZERO + closes) {
            return at;
        }
        if self.gone >= self.hold.most {
            self.step(stream);
        }
        self.gone += 1;
        self.next
    }

    /// Goes past instants that are long over, without a step for each.
    fn skip_to(&mut self, at: Time) {
        if let Every::Exactly(gap) = self.hold.every
            && self.next + gap < at
        {
            let instants = at.since(self.next).picos() / gap.picos();
            (self.next, self.gone) = (self.next + gap * instants, 0);
        }
    }
}

/// What happens to a packet after its departure, besides a constant delay.
pub(crate) struct Wire {
    delays: Steps<Duration>,
    losses: Steps<Loss>,
    jitters: Steps<Jitter>,
    loses_all: Steps<bool>,
    gate: Option<Gate>,
    stream: Stream,
    in_bad_state: bool,
    /// When the last packet arrived, or came to the gate.
    last_arrival: Time,
    /// When the last packet departed, and how many had at that instant before it.
    departed: (Time, u64),
    /// Whether packets are kept in order, and apart.
    spaces: bool,
    /// Where packets have been until they departed, if that is shared.
    pub memory: Option<MemoryPort>,
    /// By how much the packet that departs next arrives later, overtaken by others.
    pub late: Duration,
    pub losses_in_window: u64,
}

impl Wire {
    /// `None` if nothing happens to packets.
    pub fn new(settings: &LinkSettings, stream: Stream) -> Option<Self> {
        let steady;
        let varying = match &settings.varying {
            Some(varying) => varying,
            None => {
                steady = Varying::of(settings);
                &steady
            }
        };
        varying.impairs().then(|| Self {
            spaces: varying.spaces(),
            delays: varying.delays.clone(),
            losses: varying.losses.clone(),
            jitters: varying.jitters.clone(),
            loses_all: varying.loses.clone(),
            gate: varying.hold.map(Gate::new),
            stream,
            in_bad_state: false,
            last_arrival: Time::ZERO,
            departed: (Time::NEVER, 0),
            memory: varying.memory.clone(),
            late: Duration::ZERO,
            losses_in_window: 0,
        })
    }

    /// Changes from now on as `varying` says, which up to now says what has been.
    pub fn follow(&mut self, varying: &Varying) {
        self.delays = varying.delays.clone();
        self.losses = varying.losses.clone();
        self.jitters = varying.jitters.clone();
    }

    /// Whether a packet is lost that departs at `departure`.
    pub fn loses(&mut self, departure: Time) -> bool {
        if self.loses_all.get(departure) {
            return true;
        }
        match self.losses.get(departure) {
            Loss::None => {
                self.in_bad_state = false;
                false
            }
            Loss::Bernoulli(ratio) => {
                self.in_bad_state = false;
                self.stream.happens(ratio)
            }
            Loss::GilbertElliott { enter, leave, good, bad } => {
                let changes = self.stream.happens(if self.in_bad_state { leave } else { enter });
                self.in_bad_state ^= changes;
                self.stream.happens(if self.in_bad_state { bad } else { good })
            }
        }
    }

    /// When a packet arrives that departs at `departure`.
    pub fn arrival(&mut self, departure: Time) -> Time {
        let late = std::mem::take(&mut self.late);
        let plain = departure + self.delays.get(departure);
        if !self.spaces || departure >= HELD {
            return plain + late;
        }
        // Packets that leave at one instant, as a trace lets them, do not arrive at one.
        let before = if self.departed.0 == departure { self.departed.1 + 1 } else { 0 };
        self.departed = (departure, before);
        let jitter = self.jitters.get(departure);
        let mut arrival = plain + Duration::from_picos(before);
        if jitter.most > Duration::ZERO {
            arrival += jitter.most.scale(self.stream.uniform());
        }
        if !jitter.reorders {
            arrival = arrival.max(self.last_arrival + Duration::from_picos(1));
            self.last_arrival = arrival;
        }
        // What keeps the order so far keeps it behind a gate.
        if let Some(gate) = &mut self.gate {
            arrival = gate.passes(arrival, &mut self.stream);
        }
        arrival + late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn every(millis: u64) -> Hold {
        let every = Every::Exactly(Duration::from_millis(millis));
        Hold { every, most: u64::MAX, closed: None, phase: Duration::ZERO }
    }

    fn let_go(hold: Hold, arrivals: &[u64]) -> Vec<Time> {
        let (mut gate, mut stream) = (Gate::new(hold), Stream::new(1, 1, 1));
        arrivals.iter().map(|micros| gate.passes(at(*micros), &mut stream)).collect()
    }

    #[test]
    fn all_that_came_since_the_last_instant_are_let_go_at_the_next() {
        let after = |micros, picos| at(micros) + Duration::from_picos(picos);
        let four = let_go(every(4), &[500, 1000, 3900, 4000, 4100]);
        assert_eq!(
            four,
            [after(4000, 0), after(4000, 1), after(4000, 2), after(4000, 3), at(8000)]
        );
        let two_at_most = Hold { most: 2, ..every(4) };
        let found = let_go(two_at_most, &[500, 1000, 3900, 4000, 4100]);
        assert_eq!(found, [at(4000), after(4000, 1), at(8000), after(8000, 1), at(12_000)]);
        assert_eq!(let_go(every(4), &[1_000_001]), [at(1_004_000)]);
    }

    #[test]
    fn a_wire_may_be_closed_for_a_part_of_each_period() {
        let half = Duration::from_millis(50);
        let hold = Hold { closed: Some(half), phase: half, ..every(100) };
        let found = let_go(hold, &[10_000, 20_000, 60_000, 99_000, 120_000, 151_000]);
        let just_after = at(50_000) + Duration::from_picos(1);
        assert_eq!(
            found,
            [at(50_000), just_after, at(60_000), at(99_000), at(150_000), at(151_000)]
        );
    }

    /// Packets a picosecond apart, as they are behind a trace or a shorter delay.
    #[test]
    fn a_wire_that_opens_keeps_the_order() {
        let half = Duration::from_millis(50);
        let hold = Hold { closed: Some(half), phase: half, ..every(100) };
        let (mut gate, mut stream) = (Gate::new(hold), Stream::new(1, 1, 1));
        let mut last = Time::ZERO;
        for picos in 0..100 {
            let passes =
                gate.passes(Time::from_picos(at(50_000).picos() - 50 + picos), &mut stream);
            assert!(passes > last, "{passes} after {last}");
            last = passes;
        }
    }

    proptest! {
        /// Poisson arrivals wait half of the time between instants; no order is changed.
        #[test]
        fn packets_wait_half_of_the_time_between_instants(
            seed in any::<u64>(), mean in any::<bool>(),
        ) {
            let gap = Duration::from_millis(3);
            let every = if mean { Every::OnAverage(gap) } else { Every::Exactly(gap) };
            let hold = Hold { every, most: u64::MAX, closed: None, phase: gap };
            let (mut gate, mut stream) = (Gate::new(hold), Stream::new(seed, 1, 2));
            let mut arrivals = Stream::new(seed, 1, 3);
            let (mut now, mut last, mut waited) = (Time::ZERO, Time::ZERO, 0.0);
            for _ in 0..20_000 {
                now += Duration::from_micros(1000).scale(arrivals.exponential());
                let passes = gate.passes(now, &mut stream);
                prop_assert!(passes >= now && passes > last);
                last = passes;
                waited += passes.since(now).seconds();
            }
            // Residual life: half of the gap, or all of it if gaps are exponential. About 6700
            // instants: five standard errors are 6 % of an exponential mean.
            let expected = if mean { 3e-3 } else { 1.5e-3 };
            prop_assert!((waited / 20_000.0 / expected - 1.0).abs() < 0.08, "{waited}");
        }
    }
}
