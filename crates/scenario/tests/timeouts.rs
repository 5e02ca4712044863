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
