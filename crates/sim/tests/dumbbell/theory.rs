//! The simulator against closed forms.

use crate::dumbbell::{BOTTLENECK, Dumbbell, Sends};
use narrows_control::Gaps;
use narrows_router::Limit;
use narrows_sim::{
    Ahead, Crossing, Datagrams, Endpoints, FlowSettings, Gap, HostSettings, LinkSettings, Loss,
    Network, RunSettings, Simulation, Tap, TapPoint,
};
use narrows_transport::tcp::Habits;
use narrows_units::{Duration, Rate, Time};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Share of arrivals that an M/D/1/K queue drops at load `rho`, where K is the room in packets,
/// including the one in service.
///
/// From the Markov chain embedded at departures: with a_j = e^−ρ ρ^j/j!, π_{j+1} = (π_j − π_0 a_j −
/// Σ_{k=1..j} π_k a_{j−k+1})/a_0 and Σ_{j<K} π_j = 1; then the loss is 1 − 1/(π_0 + ρ) (Gross,
/// Harris: "Fundamentals of Queueing Theory", §5.1.8).
fn md1k_loss(rho: f64, k: usize) -> f64 {
    let mut a = vec![(-rho).exp()];
    (1..=k).for_each(|j| a.push(a[j - 1] * rho / j as f64));
    let mut pi = vec![1.0];
    for j in 0..k - 1 {
        let inner: f64 = (1..=j).map(|i| pi[i] * a[j - i + 1]).sum();
        pi.push((pi[j] - pi[0] * a[j] - inner) / a[0]);
    }
    let total: f64 = pi.iter().sum();
    1.0 - 1.0 / (pi[0] / total + rho)
}

fn poisson_loss(rho: f64, buffer: u64, seconds: f64, seed: u64) -> f64 {
    let rate = Rate::from_megabits(1000); // 1000 bytes take 8 µs
    let link = LinkSettings {
        limit: Limit::Packets(buffer),
        ..LinkSettings::plain(rate, Duration::from_millis(1))
    };
    let flow = FlowSettings {
        from: 0,
        to: 1,
        endpoints: Endpoints::Datagrams(Datagrams::new(
            Gap::Exponential(Duration::from_secs(8e-6 / rho)),
            1000,
            None,
        )),
        start: Time::ZERO,
        stop: Time::NEVER,
        overhead: Duration::ZERO,
        host: HostSettings::default(),
        sampled: None,
    };
    let link = Arc::new(link);
    let links = vec![(0, 1, Arc::clone(&link)), (1, 0, link)];
    let network = Network { links, flows: vec![flow], ..Network::default() };
    let settings = RunSettings {
        seed,
        duration: Duration::from_secs(seconds),
        warmup: Duration::from_millis(100),
        ahead: Ahead::All,
    };
    let mut simulation = Simulation::new(network, settings).expect("a sound network");
    let _ = simulation.run(|_| ControlFlow::Continue(()));
    let (link, flow) = (simulation.link(0), simulation.flow(0));
    assert_eq!(u64::from(flow.sender.lost), link.drops, "the flow's books and the link's agree");
    // Those under way at the end of the warm-up and of the run may tip the balance.
    let unaccounted = flow.sender.sent as i64 - flow.arrived as i64 - i64::from(flow.sender.lost);
    assert!(unaccounted.unsigned_abs() < 200, "{unaccounted} neither arrived nor were lost");
    link.drops as f64 / link.arrivals as f64
}

#[test]
fn a_poisson_source_meets_the_loss_of_m_d_1_b() {
    // Checks the formula itself in a special case: K = 1 gives Erlang's loss, ρ/(1 + ρ).
    assert!((md1k_loss(0.9, 1) - 0.9 / 1.9).abs() < 1e-12);
    for (rho, tolerance) in [(0.95, 0.06), (1.0, 0.04), (1.2, 0.01)] {
        let exact = md1k_loss(rho, 20);
        let seed = 11;
        let found = poisson_loss(rho, 20, 20.0, seed);
        assert!(
            (found / exact - 1.0).abs() < tolerance,
            "seed {seed}: at load {rho}, a share of {found} is lost; theory says {exact}"
        );
    }
}

/// Utilisation of one Reno flow whose window goes from N/2 to N = P + B, over a pipe of P packets
/// and a buffer of B packets.
///
/// For windows below P, a round trip lasts T and carries W packets; above P the link is full. A
/// cycle carries 3N²/8 packets in (P − N/2)T + (N² − P²)/(2C) seconds.
fn sawtooth_utilisation(pipe: f64, buffer: f64) -> f64 {
    let n = pipe + buffer;
    let cycle_in_services =
        (pipe - n / 2.0).max(0.0) * pipe + (n * n - pipe.max(n / 2.0).powi(2)) / 2.0;
    3.0 * n * n / 8.0 / cycle_in_services
}

#[test]
fn one_reno_flow_meets_the_sawtooths_closed_form() {
    for (rtt, buffer, tolerance) in
        [(50, 20, 0.01), (100, 20, 0.01), (100, 60, 0.01), (100, 125, 0.01)]
    {
        let rate = Rate::from_megabits(10); // 1000 bytes take 0.8 ms
        let (rtt, seconds) = (Duration::from_millis(rtt), 400.0);
        let dumbbell = Dumbbell {
            rate,
            rtt,
            buffer,
            duration: Duration::from_secs(seconds),
            warmup: Duration::from_secs(100.0),
            ..Dumbbell::default()
        };
        // The transmission of the packet itself counts as part of the pipe.
        let pipe = rtt.seconds() / 0.8e-3 + 1.0;
        let theory = sawtooth_utilisation(pipe, buffer as f64 - 1.0);
        let found = dumbbell.run().link(BOTTLENECK).utilisation;
        assert!(
            (found - theory).abs() < tolerance,
            "rtt {rtt}, buffer {buffer}: utilisation {found}, theory {theory}"
        );
    }
}

#[test]
fn slow_start_without_loss_takes_the_round_trips_it_should() {
    // Windows of 2, 4, 8, 16 carry 30 packets in four round trips; the 31st needs a fifth.
    let finish = |packets| {
        let dumbbell = Dumbbell {
            rate: Rate::from_megabits(10_000),
            rtt: Duration::from_millis(100),
            buffer: 1000,
            sends: Sends::Packets(packets),
            start_spread: Duration::ZERO,
            ..Dumbbell::default()
        };
        dumbbell.run().flow(0).finished.unwrap().seconds()
    };
    // The last packet arrives half a round trip after it has left, and transmission takes a few
    // microseconds.
    assert!((finish(30) - 0.35).abs() < 1e-4, "{}", finish(30));
    assert!((finish(31) - 0.45).abs() < 1e-4, "{}", finish(31));
}

#[derive(Clone, Default)]
struct Departures(Arc<Mutex<Vec<f64>>>);

impl Tap for Departures {
    fn crossing(&mut self, crossing: &Crossing) {
        if crossing.point == TapPoint::Arrival {
            self.0.lock().expect("one thread").push(crossing.at.seconds());
        }
    }
}

/// Gaps in seconds between packets that leave a host whose window is held at 50 packets, on a path
/// with an RTT of 40 ms, from the fifth second on.
fn gaps(pacing: Gaps, quantum: u32) -> Vec<f64> {
    let dumbbell = Dumbbell {
        pacing: Some(pacing),
        window_limit: 50.0,
        quantum: Some(quantum),
        rtt: Duration::from_millis(40),
        buffer: 1000,
        duration: Duration::from_millis(60_000),
        ..Dumbbell::default()
    };
    let departures = Departures::default();
    let mut simulation =
        Simulation::new(dumbbell.network(), dumbbell.settings()).expect("a sound network");
    simulation.set_tap(vec![2], Box::new(departures.clone()));
    let _ = simulation.run(|_| ControlFlow::Continue(()));
    let times = departures.0.lock().expect("one thread");
    times.windows(2).filter(|pair| pair[0] > 5.0).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn gaps_on_the_wire_are_those_asked_for() {
    // 40 ms and a little transmission time, divided by 50 packets.
    let even = gaps(Gaps::Even, 1);
    assert!(even.iter().all(|gap| (gap / 0.8e-3 - 1.0).abs() < 0.01), "{:?}", &even[..10]);
    let bursts = gaps(Gaps::Even, 5);
    let (long, short): (Vec<f64>, Vec<f64>) = bursts.iter().partition(|gap| **gap > 1e-4);
    // A burst also waits until the window has room for all of it: up to the 0.4 ms that it took to
    // serialise the last one.
    assert!(long.iter().all(|gap| (3.99e-3..4.45e-3).contains(gap)), "{:?}", &long[..10]);
    assert!(
        (short.len() as f64 / long.len() as f64 - 4.0).abs() < 0.01,
        "bursts of five have four short gaps for each long one"
    );
}

#[test]
fn exponential_gaps_vary_as_much_as_their_mean_until_the_window_holds_them_back() {
    // The window of 50 packets cuts off runs of short gaps, so that mean and deviation are only
    // approximately those of an exponential distribution.
    let gaps = gaps(Gaps::Exponential, 1);
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!((mean / 0.8e-3 - 1.0).abs() < 0.15, "{mean}");
    assert!((deviation / mean - 1.0).abs() < 0.1, "{deviation} {mean}");
}

#[test]
fn nobody_starves() {
    for habits in [Habits::NS2, Habits::LINUX] {
        let seed = 5;
        let overhead = Duration::from_micros(80);
        let dumbbell =
            Dumbbell { flows: 20, buffer: 100, overhead, habits, seed, ..Dumbbell::default() };
        let run = dumbbell.run();
        let arrived: Vec<u64> = (0..20).map(|flow| run.flow(flow).arrived).collect();
        let share = arrived.iter().sum::<u64>() / 20;
        assert!(arrived.iter().all(|packets| *packets > share / 5), "seed {seed}: {arrived:?}");
    }
}

#[test]
fn losses_on_the_wire_are_as_many_as_asked_for() {
    for loss in [
        Loss::Bernoulli(0.01),
        Loss::GilbertElliott { enter: 0.25 / 99.0, leave: 0.25, good: 0.0, bad: 1.0 },
    ] {
        let seed = 9;
        let dumbbell = Dumbbell { flows: 20, buffer: 2000, loss, seed, ..Dumbbell::default() };
        let link = dumbbell.run().link(BOTTLENECK);
        let (lost, all) = (link.wire_losses as f64, link.departures as f64);
        // Both lose one packet in a hundred; bursts of four increase the standard deviation of the
        // count by a factor of √7.
        let deviation = (all * 0.01 * 7.0).sqrt();
        assert!(
            (lost - 0.01 * all).abs() < 4.0 * deviation,
            "seed {seed}: {loss:?} lost {lost} of {all}"
        );
    }
}

/// Runs one E-TCP flow on a link that it cannot fill, with independent losses. Returns its mean
/// window, and the losses per acknowledged packet.
fn equilibrium(law: &'static str, p: f64) -> (f64, f64) {
    let dumbbell = Dumbbell {
        law,
        rate: Rate::from_megabits(10_000),
        rtt: Duration::from_millis(100),
        buffer: 10_000,
        loss: Loss::Bernoulli(p),
        sampled: Some(Duration::from_millis(100)),
        duration: Duration::from_millis(400_000),
        warmup: Duration::from_millis(100_000),
        seed: 3,
        ..Dumbbell::default()
    };
    let run = dumbbell.run();
    let counters = run.flow(0).sender;
    let (series, _) = run.flow_series(0).expect("it is sampled");
    let settled = &series.window[series.window.len() / 4..];
    let mean = settled.iter().sum::<f64>() / settled.len() as f64;
    (mean, f64::from(counters.lost) / (counters.sent - u64::from(counters.lost)) as f64)
}

#[test]
fn etcps_window_settles_where_equation_5_says_for_the_measured_loss() {
    for p in [0.012, 0.015, 0.03] {
        let (window, measured) = equilibrium("etcp", p);
        let expected = 2.0 / (measured - 0.01);
        // The window moves by a few per cent around its mean, and the response is convex: 4 %
        // covers both effects at all three loss rates.
        assert!(
            (window / expected - 1.0).abs() < 0.04,
            "p = {measured}: window {window}, eq. 5 gives {expected}"
        );
    }
}

#[test]
fn etcps_rate_settles_where_equation_11_says_for_the_measured_loss() {
    for p in [0.012, 0.015] {
        let (window, measured) = equilibrium("etcp-rate", p);
        let (rate, expected) = (window / 0.1, 2.0 / (measured - 0.01));
        assert!(
            (rate / expected - 1.0).abs() < 0.06,
            "p = {measured}: rate {rate}, eq. 11 gives {expected}"
        );
    }
}
