//! The stacks in a network: the same twice, on threads of their own; books that balance; data that
//! arrives; ends that end.

use narrows_hosts::stacks;
use narrows_scenario::{Checked, Own, Results, Scenario, run};
use std::ops::ControlFlow;

fn own() -> Own {
    Own { laws: Vec::new(), stacks: stacks() }
}

fn results(text: &str, seed: u64) -> Results {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let checked = Checked::with_own(scenario, &own());
    let checked = checked.unwrap_or_else(|error| panic!("{text}: {error}"));
    run(&checked, seed, None, |_| ControlFlow::Continue(())).expect("it runs")
}

fn dumbbell(buffer: &str, flows: &[&str]) -> String {
    let flows: String = flows.iter().map(|flow| format!("[[flows]]\n{flow}\n")).collect();
    format!(
        "duration = \"8s\"\nwarmup = \"3s\"\n{flows}\
         [dumbbell]\nrate = \"100Mbps\"\nrtt = \"40ms\"\nbuffer = \"{buffer}\"\n"
    )
}

/// Every controller of every stack that is built in, but for those that draw from the system if
/// this build lets them.
fn controllers() -> Vec<String> {
    let stacks = stacks();
    let all = stacks.iter().flat_map(|stack| {
        stack.controllers().iter().map(|controller| format!("{}:{controller}", stack.name()))
    });
    all.collect()
}

#[test]
fn each_does_the_same_twice_bit_for_bit() {
    for cc in controllers() {
        if cc.contains("bbr") && !narrows_hosts::deterministic::is_in_force() {
            continue;
        }
        let text = dumbbell("0.2bdp", &[&format!("cc = \"{cc}\"")]);
        let once = results(&text, 3).flows[0].summary.hosted.clone().expect("it is hosted");
        let again = results(&text, 3).flows[0].summary.hosted.clone().expect("it is hosted");
        assert_eq!(once, again, "{cc}");
        assert!(once.near.bits != 0 && once.far.turns > 100, "{cc}: {once:?}");
    }
}

/// Each sends what its application offers, no earlier, and ends with it.
#[test]
fn each_waits_for_its_application() {
    let offers =
        "offers = [{ at = \"0s\", bytes = \"300kB\" }, { at = \"4s\", bytes = \"150kB\" }]";
    for cc in ["quinn:cubic", "noq:cubic", "smoltcp:reno", "s2n:cubic"] {
        if !controllers().iter().any(|known| known == cc) {
            continue;
        }
        let text = dumbbell("1bdp", &[&format!("cc = \"{cc}\"\n{offers}")]);
        let result = results(&text, 3);
        let (flow, at) = (&result.flows[0], result.flows[0].completion_time);
        // From 3 s to 8 s only the second offer is sent.
        let arrived = flow.goodput * 5.0 / 8.0;
        assert!((arrived - 150e3).abs() < 1500.0, "{cc}: {arrived} bytes");
        assert!(at.is_some_and(|at| (3.9..4.5).contains(&at)), "{cc}: {at:?}");
    }
}

#[test]
fn each_fills_the_path_with_a_buffer_of_its_bdp_or_says_why_not() {
    // Least utilisation; smoltcp without a controller loses nearly everything.
    for (cc, least) in [
        ("quinn:cubic", 0.97),
        ("quinn:newreno", 0.97),
        ("noq:cubic", 0.97),
        ("noq:newreno", 0.97),
        ("smoltcp:reno", 0.4),
        ("s2n:cubic", 0.97),
        ("s2n:bbr", 0.9),
    ] {
        if !controllers().contains(&cc.to_owned()) {
            continue;
        }
        let results = results(&dumbbell("1bdp", &[&format!("cc = \"{cc}\"")]), 1);
        let used = results.bottleneck().summary.utilisation;
        assert!(used >= least, "{cc}: {used}");
        let near = results.flows[0].summary.hosted.as_ref().expect("it is hosted").near.clone();
        assert_eq!(near.ended, None, "{cc}");
    }
}

#[test]
fn a_transfer_ends_and_all_its_bytes_are_there() {
    for cc in controllers() {
        if cc == "smoltcp:none" {
            continue;
        }
        let text = dumbbell("100p", &[&format!("cc = \"{cc}\"\nsize = \"3MB\"")]);
        let text = text.replace("warmup = \"3s\"", "warmup = \"0s\"");
        let results = results(&text, 1);
        let flow = &results.flows[0];
        assert!(flow.completion_time.is_some_and(|time| (0.2..8.0).contains(&time)), "{cc}");
        let far = &flow.summary.hosted.as_ref().expect("it is hosted").far;
        assert_eq!((far.delivered, &far.ended), (3_000_000, &None), "{cc}");
    }
}

/// Without those whose losses do not slow them: beside quinn's BBR and smoltcp without a controller
/// 46 % of the packets are lost, and a flow that has timed out may get nothing for seconds.
#[test]
fn they_share_a_queue_with_our_own_and_with_each_other() {
    let controllers = controllers();
    let heeding = controllers.iter().filter(|cc| !["smoltcp:none", "quinn:bbr"].contains(&&***cc));
    let flows: Vec<String> = heeding.map(|cc| format!("cc = \"{cc}\"\ncount = 2")).collect();
    let flows: Vec<&str> = flows.iter().map(String::as_str).chain(["cc = \"cubic\""]).collect();
    for seed in 1..=3 {
        for flow in results(&dumbbell("1bdp", &flows), seed).flows {
            assert!(flow.goodput > 0.0, "{} with seed {seed}", flow.cc);
        }
    }
}

#[test]
fn what_a_stack_decides_itself_is_refused_and_what_is_not_built_in_is_named() {
    let error = |flow: &str| {
        let scenario = Scenario::from_toml(&dumbbell("20p", &[flow])).expect("it can be read");
        Checked::with_own(scenario, &own()).map(|_| ()).expect_err("it is refused").to_string()
    };
    if controllers().iter().any(|cc| cc.starts_with("quinn")) {
        assert_eq!(
            error("cc = \"quinn:vegas\""),
            "flows[0].cc: unknown controller of quinn \"vegas\"; known: cubic, newreno, bbr"
        );
        assert_eq!(
            error("cc = \"quinn\"\nack_every = 2"),
            "flows[0].ack_every: has no effect: quinn decides that itself; leave it out"
        );
    }
    let plain = Scenario::from_toml(&dumbbell("20p", &["cc = \"quinn:cubic\""])).expect("read");
    assert_eq!(
        Checked::new(plain).map(|_| ()).expect_err("it is refused").to_string(),
        "flows[0].cc: \"quinn\" is a stack that this build goes without; Linux wheels have \
         it, and in a checkout make hosts builds it"
    );
}

/// Over real TLS the same data packets leave as over the null handshake, at the same times in each
/// run, though their bytes differ.
#[cfg(all(feature = "tls", feature = "quinn"))]
#[test]
fn real_tls_changes_bytes_and_nothing_else() {
    use narrows_hosts::quinn::{pair, pair_with_tls, usual};
    use narrows_scenario::{Stack, StackEnds, Transfer, Wish};
    use std::sync::Arc;

    struct Tls(bool);
    impl Stack for Tls {
        fn name(&self) -> &str {
            "it"
        }
        fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
            let (config, transfer): (_, &Transfer) = (|| usual("cubic"), &wish.transfer);
            let (near, far) =
                if self.0 { pair_with_tls(config, transfer)? } else { pair(config, transfer)? };
            Ok((near, far))
        }
    }
    let near = |tls| {
        let own = Own { laws: Vec::new(), stacks: vec![Arc::new(Tls(tls))] };
        let text = dumbbell("1bdp", &["host = \"it\""]);
        let scenario = Scenario::from_toml(&text).expect("it can be read");
        let checked = Checked::with_own(scenario, &own).expect("it can be run");
        let results = run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs");
        results.flows[0].summary.hosted.clone().expect("it is hosted").near
    };
    let (null, once, again) = (near(false), near(true), near(true));
    assert_eq!((once.times, once.datagrams), (again.times, again.datagrams));
    assert_ne!(once.bits, again.bits);
    assert_eq!(once.datagrams.sent, null.datagrams.sent);
}

#[test]
fn a_host_and_a_cc_are_not_both_asked_for() {
    let text = dumbbell("20p", &["cc = \"smoltcp:reno\"\nhost = \"smoltcp\""]);
    let scenario = Scenario::from_toml(&text).expect("it can be read");
    let error = Checked::with_own(scenario, &own()).map(|_| ()).expect_err("it is refused");
    assert!(error.to_string().starts_with("flows[0].cc: \"smoltcp:reno\" beside host"), "{error}");
}
