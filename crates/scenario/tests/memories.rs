//! Memory that queues share: what each holds when all are full, and what a queue loses when its
//! neighbours fill.

use narrows_scenario::{Checked, Results, Scenario};
use narrows_sim::{Crossing, Tap};
use std::ops::ControlFlow;

/// Datagrams of 1500 bytes at 1.2 times the rate of each of `ports` links of 1 Gbps, over `memory`.
fn overloaded(ports: usize, memory: &str, links: &str) -> Checked {
    let mut text = format!(
        "duration = \"2s\"\nwarmup = \"1s\"\nsample = \"10ms\"\n[[memories]]\nname = \"chip\"\n{memory}\n"
    );
    for port in 0..ports {
        text += &format!(
            "[[links]]\nfrom = \"in{port}\"\nto = \"out{port}\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
             memory = \"chip\"\n{links}\nduplex = false\n\
             [[links]]\nfrom = \"out{port}\"\nto = \"in{port}\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
             duplex = false\n\
             [[flows]]\nfrom = \"in{port}\"\nto = \"out{port}\"\ndatagrams = \"poisson\"\n\
             app = {{ rate = \"1.2Gbps\" }}\n"
        );
    }
    Scenario::from_toml(&text).and_then(Checked::new).unwrap_or_else(|error| panic!("{error}"))
}

fn run(checked: &Checked) -> Results {
    narrows_scenario::run(checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs")
}

/// The mean queues of the links that are overloaded, in bytes.
fn queues(results: &Results) -> Vec<f64> {
    let loaded = results.links.iter().filter(|link| link.summary.utilisation > 0.5);
    loaded.map(|link| link.summary.mean_queue * 1500.0).collect()
}

/// αB/(1 + αm) for each of m ports.
#[test]
fn overloaded_ports_share_what_leaves_one_part_free() {
    for (alpha, ports) in [(1.0, 1), (1.0, 3), (8.0, 2), (0.125, 4)] {
        let checked = overloaded(ports, &format!("bytes = \"2MB\"\nalpha = {alpha}"), "");
        let expected = alpha * 2e6 / (1.0 + alpha * ports as f64);
        let held = queues(&run(&checked));
        assert_eq!(held.len(), ports);
        for held in held {
            // Overloaded by a fifth, a queue is a few packets below its threshold now and then.
            let away = (held - expected) / 1500.0;
            assert!((-8.0..1.0).contains(&away), "α {alpha}, {ports}: {held}, not {expected}");
        }
    }
}

/// What others hold is not there; what is a link's own is.
#[test]
fn others_take_and_reserves_stay() {
    let mean = |memory: &str, links: &str| queues(&run(&overloaded(1, memory, links)))[0];
    let alone = mean("bytes = \"2MB\"", "");
    let beside = mean("bytes = \"2MB\"\nbackground = \"1MB\"", "");
    let later = mean("bytes = \"2MB\"\nbackground = [[\"0s\", \"0B\"], [\"500ms\", \"1MB\"]]", "");
    let own = mean("bytes = \"2MB\"\nbackground = \"2MB\"", "reserved = \"300kB\"");
    let capped = mean("bytes = \"2MB\"", "buffer = \"100p\"");
    for (held, expected) in
        [(alone, 1e6), (beside, 0.5e6), (later, 0.5e6), (own, 0.3e6), (capped, 0.15e6)]
    {
        assert!((held - expected).abs() < 8.0 * 1500.0, "{held}, not {expected}");
    }
}

struct Nobody;

impl Tap for Nobody {
    fn crossing(&mut self, _: &Crossing) {}
}

/// The way back begins at another switch.
#[test]
fn the_way_back_has_no_part_in_it() {
    let text = "duration = \"2s\"\nwarmup = \"1s\"\n[[memories]]\nname = \"chip\"\nbytes = \"1MB\"\n\
                [[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
                memory = \"chip\"\nreserved = \"400kB\"\n\
                [[flows]]\nfrom = \"a\"\nto = \"b\"\ndatagrams = \"poisson\"\n\
                app = { rate = \"1.2Gbps\" }\n";
    let checked = Scenario::from_toml(text).and_then(Checked::new).expect("a scenario");
    // q ≤ 600 − (q − 400): 500.
    let held = queues(&run(&checked))[0];
    assert!((held - 500e3).abs() < 8.0 * 1500.0, "{held}");
}

/// Ports hear of each other in the order of time, however hops are computed.
#[test]
fn eager_hops_change_nothing() {
    let checked = overloaded(3, "bytes = \"300kB\"\ncell = \"208B\"", "");
    let scheduled = narrows_scenario::run_tapped(&checked, 1, Box::new(Nobody)).expect("it runs");
    let eager = run(&checked);
    let shown = |results: &Results| {
        results.links.iter().map(|link| link.summary.clone()).collect::<Vec<_>>()
    };
    assert!(shown(&eager) == shown(&scheduled));
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |memories: &str, link: &str| {
        let text = format!(
            "{memories}[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\n{link}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        Scenario::from_toml(&text).and_then(Checked::new).map(|_| ()).expect_err(&text).to_string()
    };
    let chip = |more: &str| format!("[[memories]]\nname = \"chip\"\nbytes = \"1MB\"\n{more}\n");
    let member = "memory = \"chip\"";
    for (memories, link, said) in [
        (String::new(), member, "add [[memories]]"),
        (chip(""), "memory = \"chop\"", "did you mean"),
        (chip(""), "", "no link has memory = \"chip\""),
        (chip("") + &chip(""), member, "two memories are called"),
        (chip("alpha = 0"), member, "memories[0].alpha"),
        (chip("cell = \"0B\""), member, "memories[0].cell"),
        (chip("background = [[\"1s\", \"2MB\"]]"), member, "must rise from 0s"),
        (chip("background = 3"), member, "a size, like"),
        (chip(""), "memory = \"chip\"\nreserved = \"2MB\"", "memories[0].bytes"),
        (chip(""), "memory = \"chip\"\nqueue = \"codel\"", "decide on arrival"),
        (String::new(), "reserved = \"2kB\"", "of which memory?"),
    ] {
        let error = wrong(&memories, link);
        assert!(error.contains(said), "{said}: {error}");
    }
}
