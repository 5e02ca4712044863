//! What the delay laws Copa and LEDBAT++ do, held against what their sources say of them.

use narrows_scenario::{Checked, Results, Scenario, run};
use std::ops::ControlFlow;

/// A run over a dumbbell: `head` is what stands above it, `path` its rate, RTT and buffer, `flows`
/// the groups of flows.
fn show(head: &str, path: [&str; 3], flows: &[&str], seed: u64) -> Results {
    let [rate, rtt, buffer] = path;
    let flows: String = flows.iter().map(|flow| format!("[[flows]]\n{flow}\n")).collect();
    let text = format!(
        "{head}\n[dumbbell]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}\"\n{flows}"
    );
    let checked = Scenario::from_toml(&text)
        .and_then(Checked::new)
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    run(&checked, seed, None, |_| ControlFlow::Continue(())).expect("nothing stops or traces it")
}

/// `count` flows of Copa without its competitive mode, packet by packet, on 100 Mbps and 100 ms.
fn copas(count: u32) -> Results {
    let flows = format!(
        "cc = \"copa:competitive=false\"\ncount = {count}\nquantum = 1\nack_every = 1\n\
         start_spread = \"1s\""
    );
    let head = "duration = \"80s\"\nwarmup = \"40s\"\nsample = \"2ms\"";
    show(head, ["100Mbps", "100ms", "1bdp"], &[&flows], 1)
}

/// §3: between 0 and 2.5/δ packets for each flow, so half of that on average; δ is 1/2. One more
/// packet is in transmission, which the paper's fluid queue leaves out. One tenth: the paper counts
/// no whole packets (one in eleven with two flows) and takes the RTT for RTTmin (50 packets of
/// queue are 6 % of the path's 833).
#[test]
fn copas_queue_is_between_nothing_and_five_packets_per_flow() {
    for count in [1, 2, 5, 10] {
        let results = copas(count);
        let bottleneck = results.bottleneck();
        let flows = f64::from(count);
        for (found, expected) in [
            (bottleneck.summary.mean_queue, 2.5 * flows + 1.0),
            (bottleneck.max_queue(), 5.0 * flows + 1.0),
        ] {
            assert!(
                (found / expected - 1.0).abs() < 0.1,
                "{count} flows: {found:.1} packets, not {expected:.1}"
            );
        }
        assert!(bottleneck.summary.utilisation > 0.999, "{count} flows");
    }
}

/// §2.2, §3: the queue is empty once in five round trips. One packet of six is in transmission, and
/// a sample is taken every fiftieth of a round trip: within a tenth.
#[test]
fn copas_queue_is_empty_once_in_five_round_trips() {
    let results = copas(1);
    let series = &results.link_series;
    let number = results.bottleneck().number;
    let samples = (0..series.time.len()).filter(|at| series.link[*at] == number);
    let (mut has_filled, mut emptied) = (false, Vec::new());
    for at in samples.filter(|at| series.time[*at] > 40.0) {
        has_filled |= series.queue[at] > 3.0;
        if has_filled && series.queue[at] <= 1.0 {
            emptied.push(series.time[at]);
            has_filled = false;
        }
    }
    let span = emptied[emptied.len() - 1] - emptied[0];
    let round_trips = span / (emptied.len() - 1) as f64 / 0.1;
    assert!((4.5..=5.5).contains(&round_trips), "{round_trips:.2} round trips");
}

/// In the default mode a loss says nothing (§2.2): what is lost is 1 % of the link.
#[test]
fn random_losses_do_not_slow_copa_down() {
    for seed in 1..=3 {
        let head = "duration = \"20s\"\nwarmup = \"5s\"\nsample = \"0s\"";
        let path = ["100Mbps", "40ms", "1bdp\"\nloss = \"1%"];
        let of = |cc: &str| {
            let flow = format!("cc = \"{cc}\"");
            show(head, path, &[&flow], seed).bottleneck().summary.utilisation
        };
        let (copa, cubic) = (of("copa"), of("cubic"));
        assert!(copa > 0.97 && cubic < 0.1, "seed {seed}: copa {copa:.3}, cubic {cubic:.3}");
    }
}

/// Goodput of the first flow over that of the second.
fn ratio(results: &Results) -> f64 {
    results.flows[0].goodput / results.flows[1].goodput
}

/// §2.2: the competitive mode exists because without it Copa starves beside a law that fills the
/// buffer. Fair is within a factor of two.
#[test]
fn copa_holds_its_own_beside_cubic_by_its_competitive_mode() {
    let head = "duration = \"60s\"\nwarmup = \"20s\"\nsample = \"0s\"";
    let beside = |cc: &str| {
        let flows = [format!("cc = \"{cc}\""), "cc = \"cubic\"".to_owned()];
        ratio(&show(head, ["100Mbps", "20ms", "2bdp"], &[&flows[0], &flows[1]], 1))
    };
    let (with, without) = (beside("copa"), beside("copa:competitive=false"));
    assert!((0.5..=2.0).contains(&with), "{with:.2} of CUBIC's goodput");
    assert!(without < 0.1, "{without:.2} of CUBIC's goodput without the mode");
}

/// §4.3, §4.4: the queueing delay stays at TARGET, and slowdowns take at most a tenth of the link.
#[test]
fn ledbat_plus_plus_fills_the_link_up_to_its_target() {
    let head = "duration = \"120s\"\nwarmup = \"40s\"\nsample = \"0s\"";
    let results = show(head, ["20Mbps", "40ms", "3bdp"], &["cc = \"ledbat++\""], 1);
    let bottleneck = results.bottleneck();
    let utilisation = bottleneck.summary.utilisation;
    assert!((0.9..1.0).contains(&utilisation), "{utilisation:.3}");
    // A round trip gains a third of a packet, 0.2 ms, and a burst of 1 ms may be in the queue.
    let delay = 1e3 * bottleneck.delay_quantile(0.99);
    assert!((58.0..=62.0).contains(&delay), "{delay:.1} ms");
}

/// The goodput of CUBIC beside LEDBAT++, and alone, in a buffer of twice the target; `background`
/// and `foreground` are what else the flows of LEDBAT++ and CUBIC say.
fn cubic_beside(background: &str, foreground: &str) -> (f64, f64) {
    let head = "duration = \"60s\"\nwarmup = \"20s\"\nsample = \"0s\"";
    let path = ["20Mbps", "40ms", "200p"];
    let cubic = format!("cc = \"cubic\"\n{foreground}");
    let ledbat = format!("cc = \"ledbat++\"\n{background}");
    let beside = show(head, path, &[&cubic, &ledbat], 1).flows[0].goodput;
    (beside, show(head, path, &["cc = \"cubic\""], 1).flows[0].goodput)
}

/// §1: background traffic is to leave others alone. What it keeps is the least window, two packets
/// of 267 that fit path and buffer, and what slowdowns bring back: within 3 %.
#[test]
fn ledbat_plus_plus_yields_to_a_cubic_that_comes_later() {
    let (beside, alone) = cubic_beside("", "start = \"10s\"");
    assert!(beside > 0.97 * alone, "{:.3} of what it has alone", beside / alone);
}

/// Of a path that CUBIC has filled before it, it never sees the base delay (§3.1), and does not
/// yield.
#[test]
fn ledbat_plus_plus_does_not_yield_to_a_cubic_that_was_there() {
    let (beside, alone) = cubic_beside("start = \"10s\"", "");
    assert!(beside < 0.9 * alone, "{:.3} of what it has alone", beside / alone);
}

/// §4.4: slowdowns let a latecomer see the base delay, and multiplicative decrease makes windows
/// equal: they approach by a factor of e in ΣW/(n·GAIN) = 167/(4/3) = 125 round trips of 100 ms,
/// and the last flow began 110 s before the measurement. Without slowdowns the last two have all.
#[test]
fn slowdowns_make_latecomers_of_ledbat_plus_plus_fair() {
    let head = "duration = \"300s\"\nwarmup = \"200s\"\nsample = \"0s\"";
    let jain = |cc: &str| {
        let flow = |start: u32| format!("cc = \"{cc}\"\nstart = \"{start}s\"");
        let flows = [0, 30, 60, 90].map(flow);
        let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
        show(head, ["20Mbps", "40ms", "1000p"], &flows, 1).jain
    };
    let (with, without) = (jain("ledbat++"), jain("ledbat++:slowdowns=false"));
    assert!(with > 0.95, "{with:.3}");
    assert!(without < 0.5, "{without:.3}");
}

/// §4.2: if both see the same losses and no delay, its throughput is √GAIN of Reno's. Six runs of
/// some hundred epochs each; 15 % are three standard errors.
#[test]
fn its_gain_is_its_share_of_renos_throughput() {
    for (rtt, divisor) in [("10ms", 12.0), ("20ms", 6.0), ("40ms", 3.0), ("150ms", 1.0_f64)] {
        let goodput = |cc: &str| {
            let head = "duration = \"100s\"\nwarmup = \"5s\"\nsample = \"0s\"\ntcp = \"ns2\"";
            let path = ["1Gbps", rtt, "1000p\"\nloss = \"0.1%"];
            let flow = format!("cc = \"{cc}\"");
            (1..=3).map(|seed| show(head, path, &[&flow], seed).flows[0].goodput).sum::<f64>()
        };
        let found = goodput("ledbat++:slowdowns=false") / goodput("reno+reno");
        let expected = 1.0 / f64::sqrt(divisor);
        assert!((found / expected - 1.0).abs() < 0.15, "{rtt}: {found:.3}, not {expected:.3}");
    }
}
