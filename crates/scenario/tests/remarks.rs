//! What kept senders from sending, and what the results of a run should be read with.

use narrows_scenario::{Checked, Results, Scenario, run};
use std::ops::ControlFlow;

/// Runs flows over 10 Mbps and 40 ms.
fn show(top: &str, network: &str, flows: &str) -> Results {
    let network = format!("[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\n{network}");
    let text = format!("{top}\n{network}\n{flows}");
    let checked = Scenario::from_toml(&text).and_then(Checked::new);
    let checked = checked.unwrap_or_else(|error| panic!("{error}:\n{text}"));
    run(&checked, 1, None, |_| ControlFlow::Continue(())).unwrap_or_else(|error| panic!("{error}"))
}

/// The shares of window, pacing, application, receiver and recovery of the first flow.
fn shares(results: &Results) -> [f64; 5] {
    let limited = results.flows[0].summary.limited;
    let whole = limited.whole().seconds();
    narrows_transport::SendLimit::ALL.map(|limit| limited.by(limit).seconds() / whole)
}

/// Each sender with the place of the share that must be above 0.9, worked out by hand: a window of
/// 10 packets needs 12 ms of 40 to send, an application that offers a packet every 10 ms sends at
/// once, E-TCP and BBR pace, and of 10 Mbps a receiver lets 20 packets in 40 ms.
#[test]
fn the_cause_is_told() {
    let cases = [
        ("cc = \"reno\"", 0),
        ("cc = \"cubic+quic\"\npacing = \"none\"", 0),
        ("cc = \"etcp\"", 1),
        ("cc = \"cubic\"\ntelnet = \"10ms\"", 2),
        ("cc = \"cubic\"\nmax_window = \"20p\"", 3),
        ("cc = \"cubic+quic\"\nmax_window = \"20p\"\npacing = \"none\"", 3),
    ];
    for (flow, place) in cases {
        let results =
            show("duration = \"30s\"", "buffer = \"1bdp\"", &format!("[[flows]]\n{flow}"));
        let shares = shares(&results);
        assert!(shares[place] > 0.9, "{flow}: {shares:?}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{flow}: {shares:?}");
    }
}

/// At a loss of a fifth of all packets a sender does little but repair them.
#[test]
fn repairs_are_told() {
    let flow = "[[flows]]\ncc = \"reno\"";
    let results = show("duration = \"30s\"", "buffer = \"1bdp\"\nloss = \"20%\"", flow);
    assert!(shares(&results)[4] > 0.5, "{:?}", shares(&results));
    assert!(results.warnings.contains("losses were being repaired"), "{}", results.warnings);
}

/// A flow that has nothing more to send is not limited by its application after its end: 100
/// packets, sent within some round trips of 40 ms, in a run of 30 s.
#[test]
fn the_time_after_the_end_does_not_count() {
    let flow = "[[flows]]\nsize = \"100kB\"";
    let results = show("duration = \"30s\"\nwarmup = \"0s\"", "buffer = \"1bdp\"", flow);
    let flow = &results.flows[0];
    let took = flow.completion_time.expect("100 kB leave in 30 s");
    let whole = flow.summary.limited.whole().seconds();
    assert!(whole < took, "{whole} s of {took} s: without the handshake");
    assert!(shares(&results)[2] < 0.3, "{:?}", shares(&results));
}

#[test]
fn each_remark_has_its_cause() {
    let long = "duration = \"120s\"";
    let one = "[[flows]]";
    let cases = [
        ("duration = \"10s\"", "buffer = \"1bdp\"", one, "the measured 7.5s"),
        (long, "buffer = \"1bdp\"", "[[flows]]\nmax_window = \"20p\"", "the receiver's for 100 %"),
        ("duration = \"10s\"", "buffer = \"100bdp\"", one, "its buffer of 3333 packets held"),
        (
            long,
            "buffer = \"1bdp\"",
            "[[flows]]\n[[flows]]\nstarts = [\"100s\"]",
            "flows[1]: it was",
        ),
        (long, "buffer = \"1bdp\"", "[[flows]]\n[[flows]]\nstop = \"100s\"", "flows[1]: it was"),
        (long, "buffer = \"1bdp\"", "[[flows]]\nstop = \"5s\"", "it was over before that"),
        (long, "buffer = \"20p\"", "[[flows]]\nsize = \"100MB\"", "look at completion_time"),
        (long, "buffer = \"1bdp\"\naccess_rate = \"5Mbps\"", one, "packets wait at its hosts"),
        (long, "buffer = \"20p\"", "[[flows]]\ncount = 2", "phase effects"),
        (
            long,
            "buffer = \"20p\"\nqueue = \"gwa-rr\"",
            "[[flows]]\ncc = \"gwa\"",
            "parts of the buffer's 20 packets, and its path holds 33",
        ),
    ];
    for (top, network, flows, said) in cases {
        let warnings = show(top, network, flows).warnings;
        assert!(warnings.contains(said), "{top} {network} {flows}: {said} not in {warnings:?}");
    }
}

#[test]
fn what_is_sound_is_not_remarked_on() {
    let long = "duration = \"120s\"";
    for (network, flows) in [
        ("buffer = \"20p\"", "[[flows]]"),
        ("buffer = \"20p\"", "[[flows]]\ncount = 2\noverhead = \"100us\""),
        ("buffer = \"20p\"\nrtts = [\"40ms\", \"60ms\"]", "[[flows]]\ncount = 2"),
        ("buffer = \"20p\"\njitter = \"1ms\"", "[[flows]]\ncount = 2"),
        ("buffer = \"20p\"\nqueue = \"fq-codel\"", "[[flows]]\ncount = 2"),
        ("buffer = \"20p\"", "[[flows]]\ncount = 21"),
        ("buffer = \"20p\"", "[[flows]]\ncc = \"bbr\"\ncount = 2"),
        ("buffer = \"20p\"\nloss = \"0.1%\"", "[[flows]]\ncount = 2"),
        ("buffer = \"2bdp\"\nqueue = \"gwa-rr\"", "[[flows]]\ncc = \"gwa\""),
    ] {
        let network = network.replace("rtts = [\"40ms\", \"60ms\"]", "rtt_step = \"20ms\"");
        let warnings = show(long, &network, flows).warnings;
        assert_eq!(warnings, "", "{network} {flows}");
    }
}

/// The second link carries the most, from 20 flows through a buffer of 5 packets; at the first a
/// flow with 30 packets of window waits behind a rate of a tenth.
#[test]
fn packets_that_wait_elsewhere_are_found() {
    let text = "duration = \"60s\"
        [chain]
        hops = [
            { rate = \"1Mbps\", delay = \"5ms\", buffer = \"200p\" },
            { rate = \"10Mbps\", delay = \"5ms\", buffer = \"5p\" },
        ]
        [[flows]]\ncc = \"reno\"\nover = [1, 1]\nmax_window = \"30p\"\nstop = \"55s\"
        [[flows]]\ncc = \"reno\"\nover = [2, 2]\ncount = 20";
    let checked = Scenario::from_toml(text).and_then(Checked::new);
    let checked = checked.unwrap_or_else(|error| panic!("{error}"));
    let results = run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs");
    assert_eq!(results.bottleneck().name, "link2");
    let said = "links \"link1\": packets wait here, ";
    assert!(results.warnings.contains(said), "{}", results.warnings);
}
