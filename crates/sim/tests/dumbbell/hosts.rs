//! Hosts that are not ideal: batches of arrivals, coarse timers, stalls.

use crate::dumbbell::{BOTTLENECK, Dumbbell};
use narrows_control::Gaps;
use narrows_sim::{Crossing, HostSettings, Simulation, Stalls, Tap, TapPoint};
use narrows_transport::tcp::{AckPolicy, Habits};
use narrows_units::{Duration, Time};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The first flow's links: from its sender and to it, to its receiver and from it.
const FROM_SENDER: u32 = 2;
const TO_SENDER: u32 = 3;
const TO_RECEIVER: u32 = 4;
const FROM_RECEIVER: u32 = 5;

/// When packets come to a link and leave it.
#[derive(Clone, Default)]
struct Times(Arc<Mutex<Vec<(u32, TapPoint, Time)>>>);

impl Tap for Times {
    fn crossing(&mut self, crossing: &Crossing) {
        let Crossing { at, link, point, .. } = *crossing;
        self.0.lock().expect("one thread").push((link, point, at));
    }
}

impl Times {
    fn at(&self, link: u32, point: TapPoint) -> Vec<Time> {
        let seen = self.0.lock().expect("one thread");
        seen.iter().filter(|row| (row.0, row.1) == (link, point)).map(|row| row.2).collect()
    }
}

/// The times at the first flow's links, and the simulation at its end.
fn watched(dumbbell: &Dumbbell) -> (Times, Simulation) {
    let times = Times::default();
    let mut simulation =
        Simulation::new(dumbbell.network(), dumbbell.settings()).expect("a sound network");
    let links = vec![FROM_SENDER, TO_SENDER, TO_RECEIVER, FROM_RECEIVER];
    simulation.set_tap(links, Box::new(times.clone()));
    let _ = simulation.run(|_| ControlFlow::Continue(()));
    (times, simulation)
}

/// A flow whose window, held at 900 packets, keeps the bottleneck busy whatever its hosts do: a
/// packet every 80 µs.
fn busy(host: HostSettings, seconds: u64) -> Dumbbell {
    Dumbbell {
        host,
        window_limit: 900.0,
        buffer: 1000,
        duration: Duration::from_millis(1000 * seconds),
        ..Dumbbell::default()
    }
}

/// A batch of 1 ms begins with its first packet. The packets are 80 µs apart, so twelve more arrive
/// within it, and the thirteen acknowledgements leave together; the next batch begins with the
/// fourteenth packet, 1.04 ms after the first.
#[test]
fn a_batch_of_a_millisecond_merges_arrivals() {
    let host = HostSettings { batch: Duration::from_millis(1), ..HostSettings::default() };
    let (times, simulation) = watched(&busy(host, 20));
    let left = times.at(FROM_RECEIVER, TapPoint::Arrival);
    let late = left.iter().position(|time| *time > Time::from_secs(5.0)).expect("it lasts 20 s");
    let together = |pair: &[Time]| pair[1].since(pair[0]) < Duration::from_micros(1);
    let apart = left[late..].windows(2).filter(|pair| !together(pair));
    let gaps: Vec<Duration> = apart.map(|pair| pair[1].since(pair[0])).collect();
    assert!(gaps.len() > 10_000, "{} batches", gaps.len());
    for gap in &gaps {
        let micros = gap.seconds() * 1e6;
        assert!((micros - 1040.0).abs() < 0.1, "two batches are {micros} µs apart");
    }
    let batch = (left.len() - late) as f64 / gaps.len() as f64;
    assert!((batch - 13.0).abs() < 0.01, "{batch} acknowledgements leave together");
    assert!(simulation.link(BOTTLENECK).utilisation > 0.999);
}

/// Gaps in seconds between packets that leave a host with a tick of `tick` milliseconds, whose
/// pacer spreads 100 packets evenly over a round trip. Few acknowledgements come between two ticks:
/// one for 50 packets.
fn paced(tick: u64) -> Vec<f64> {
    let delay = Duration::from_millis(40);
    let acks = AckPolicy { every: 50, delay, quick: 0, ..Habits::NS2.acks };
    let dumbbell = Dumbbell {
        host: HostSettings { tick: Duration::from_millis(tick), ..HostSettings::default() },
        pacing: Some(Gaps::Even),
        window_limit: 100.0,
        buffer: 1000,
        habits: Habits { acks, ..Habits::NS2 },
        ..Dumbbell::default()
    };
    let (times, _) = watched(&dumbbell);
    let left = times.at(FROM_SENDER, TapPoint::Arrival);
    left.windows(2)
        .filter(|pair| pair[0] > Time::from_secs(5.0))
        .map(|pair| pair[1].since(pair[0]).seconds())
        .collect()
}

/// The pacer asks for a packet every 0.8 to 0.9 ms; four or five are due between two ticks. It
/// keeps its timetable: no fewer packets leave but for the RTT, which is up to a tick longer.
#[test]
fn a_tick_of_four_milliseconds_makes_a_pacer_leave_trains() {
    let (fine, coarse) = (paced(0), paced(4));
    let shortest = fine.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(shortest > 0.7e-3, "without a tick, two packets leave within {shortest} s");
    let apart: Vec<f64> = coarse.iter().copied().filter(|gap| *gap > 1e-6).collect();
    let train = coarse.len() as f64 / apart.len() as f64;
    assert!((3.5..5.0).contains(&train), "{train} packets leave together");
    let at_ticks =
        apart.iter().filter(|gap| (*gap / 4e-3).fract().min(1.0 - (*gap / 4e-3).fract()) < 1e-3);
    let share = at_ticks.count() as f64 / apart.len() as f64;
    assert!(share > 0.8, "{share} of the gaps between trains are whole ticks");
    let slower = 1.0 - coarse.len() as f64 / fine.len() as f64;
    assert!((0.0..0.1).contains(&slower), "{slower} fewer packets leave");
}

/// A receiver that sees arrivals at a steady rate stands still for L on average, every E on
/// average, both exponential: a share L/(E + L) of arrivals come during a stall, and wait for what
/// is left of it, L again on average.
#[test]
fn a_stall_delays_all_by_what_is_left_of_it() {
    let (every, length) = (Duration::from_millis(20), Duration::from_millis(2));
    let host = HostSettings { stalls: Some(Stalls { every, length }), ..HostSettings::default() };
    let dumbbell = busy(host, 100);
    let (times, simulation) = watched(&dumbbell);
    let access = dumbbell.rtt.scale(0.05);
    let arrived = times.at(TO_RECEIVER, TapPoint::Departure);
    let answered = times.at(FROM_RECEIVER, TapPoint::Arrival);
    let receiver = waits(&arrived, &answered, access);
    // Each acknowledgement frees the packet that is a window ahead.
    let arrived = times.at(TO_SENDER, TapPoint::Departure);
    let sent = times.at(FROM_SENDER, TapPoint::Arrival);
    let sender = waits(&arrived[10_000..], &sent[10_900..], access);
    let theory = length.seconds() * length.seconds() / (every + length).seconds();
    // 4545 stalls, whose squares have a relative deviation of √5: five standard errors are 17 %.
    for (end, waits) in [("receiver", &receiver), ("sender", &sender)] {
        let mean = waits.iter().map(|(wait, _)| wait).sum::<f64>() / waits.len() as f64;
        assert!((mean / theory - 1.0).abs() < 0.17, "{end}: {mean} s; theory says {theory} s");
    }
    let shared = long_stalls(&receiver).intersection(&long_stalls(&sender)).count();
    assert!(shared < 20, "{shared} stalls of the two ends end within the same microsecond");
    assert!(simulation.link(BOTTLENECK).utilisation > 0.999);
}

/// The microseconds in which the stalls end that made an arrival wait for a millisecond.
fn long_stalls(waits: &[(f64, Time)]) -> BTreeSet<u64> {
    let long = waits.iter().filter(|(wait, _)| *wait > 1e-3);
    let ends: BTreeSet<u64> = long.map(|(_, acted)| acted.picos() / 1_000_000).collect();
    assert!(ends.len() > 1000, "{} stalls are long", ends.len());
    ends
}

/// Seconds from each arrival at a host, `access` after it left the link there, to what the host
/// does about it, and when that is; panics if it acts earlier.
fn waits(left: &[Time], acted: &[Time], access: Duration) -> Vec<(f64, Time)> {
    let wait = |(left, acted): (&Time, &Time)| {
        let arrived = *left + access;
        assert!(*acted >= arrived, "it acts at {acted:?}, before the arrival at {arrived:?}");
        (acted.since(arrived).seconds(), *acted)
    };
    left.iter().zip(acted).map(wait).collect()
}
