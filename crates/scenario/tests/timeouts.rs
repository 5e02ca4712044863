//! Needless timeouts in the network of the README's picture, with Linux's habits.

use narrows_scenario::{Checked, Results, Scenario, run};
use std::ops::ControlFlow;

/// 50 paced CUBIC flows over 1 Gbps, 100 ms and 20 packets, from the first packet on.
fn flows(seed: u64) -> Results {
    let text = "duration = \"8s\"\nwarmup = \"0s\"\nsample = \"0s\"\n[dumbbell]\nrate = \"1Gbps\"\n\
                rtt = \"100ms\"\nbuffer = \"20p\"\n[[flows]]\ncount = 50\npacing = \"even\"\n";
    let checked = Scenario::from_toml(text).and_then(Checked::new).expect("a scenario");
    run(&checked, seed, None, |_| ControlFlow::Continue(())).expect("a run")
}

/// With the least timeout as a bound of the sum, RFC 6298's form, there were 21, 22 and 18, nearly
/// all needless: the queue and a recovery take an RTT of 100 ms beyond 200 ms at once.
#[test]
fn there_are_next_to_none() {
    for seed in 1..=3 {
        let timeouts: u32 = flows(seed).flows.iter().map(|f| f.summary.sender.timeouts).sum();
        assert!(timeouts <= 1, "seed {seed}: {timeouts} timeouts");
    }
}

/// When a transfer of one packet of 1000 bytes is over whose first packet, or request, is lost.
fn after_a_loss(flow: &str) -> f64 {
    let text = format!(
        "duration = \"30s\"\nwarmup = \"0s\"\nsample = \"0s\"\npacket = \"1000B\"\n[dumbbell]\n\
         rate = \"1Gbps\"\nrtt = \"100ms\"\nbuffer = \"20p\"\nscript = [{{ drop = 1 }}]\n\
         [[flows]]\nsize = \"900B\"\nstart_spread = \"0s\"\n{flow}\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new);
    let checked = checked.unwrap_or_else(|error| panic!("{flow}: {error}"));
    let results = run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("a run");
    results.flows[0].completion_time.expect("it ends")
}

/// The first timeout by the hosts' year; half a round trip later the data is there, with a
/// handshake a whole one and a half.
#[test]
fn the_first_timeout_is_that_of_the_year() {
    let cases = [
        ("tcp = \"ns2\"\ncc = \"reno+reno\"", 3.05),
        ("tcp = \"ns2-2005\"\ncc = \"reno+reno\"", 6.05),
        ("tcp = \"ns2-2000\"\ncc = \"reno+reno\"", 6.05),
        ("tcp = \"ns2\"\ncc = \"reno+reno\"\ninitial_rto = \"500ms\"", 0.55),
        ("tcp = \"linux\"", 1.15),
        ("tcp = \"linux24\"", 3.15),
    ];
    for (flow, expected) in cases {
        let found = after_a_loss(flow);
        assert!((found - expected).abs() < 0.002, "{flow}: {found} s, not {expected}");
    }
}
