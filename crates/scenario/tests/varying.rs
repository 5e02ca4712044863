//! Links that vary, from a scenario's text to its results.

use narrows_scenario::{Checked, LinkName, Results, Scenario, ScenarioError};
use std::ops::ControlFlow;

fn check(link: &str, rest: &str) -> Result<Checked, ScenarioError> {
    let text = format!(
        "duration = \"20s\"\nwarmup = \"0s\"\n[dumbbell]\nrtt = \"40ms\"\nbuffer = \"60p\"\n{link}\n\
         {rest}\n[[flows]]\ncc = \"cubic\"\n"
    );
    Scenario::from_toml(&text).and_then(Checked::new)
}

fn run(link: &str) -> Results {
    let checked = check(link, "").unwrap_or_else(|error| panic!("{link}: {error}"));
    narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs")
}

/// Mean capacity of the bottleneck in megabits per second, from `from` to `to` seconds.
fn capacity(results: &Results, from: f64, to: f64) -> f64 {
    let series = &results.link_series;
    let rows = (0..series.time.len()).filter(|row| {
        let time = series.time[*row];
        series.link[*row] == 0 && time > from + 1e-9 && time <= to + 1e-9
    });
    let found: Vec<f64> = rows.map(|row| series.capacity[row]).collect();
    found.iter().sum::<f64>() / found.len() as f64 / 1e6
}

#[test]
fn a_rate_changes_and_begins_anew() {
    let results = run(
        "rate = \"50Mbps\"\nchanges = [{ at = \"2s\", rate = \"10Mbps\" }, { at = \"4s\", ramp = \
         \"1s\", rate = \"30Mbps\" }]\nrepeat = \"10s\"",
    );
    let found = [(0.0, 2.0), (2.0, 4.0), (4.0, 5.0), (5.0, 10.0), (10.0, 12.0), (12.0, 14.0)]
        .map(|(from, to)| capacity(&results, from, to));
    for (found, expected) in found.into_iter().zip([50.0, 10.0, 20.0, 30.0, 50.0, 10.0]) {
        assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
    }
    let link = &results.links[0];
    // 2·(100 + 20 + 20 + 150) Mbit in 20 s; what left is goodput and headers, and all of it there.
    let offered = 580e6;
    let used = link.summary.departed_bytes as f64 * 8.0 / offered;
    assert!((link.summary.utilisation - used).abs() < 1e-9);
    assert!((0.9..=1.0).contains(&used), "{used}");
}

#[test]
fn an_outage_of_each_kind_takes_its_time() {
    let lost = run("rate = \"20Mbps\"\noutages = [{ at = \"8s\", for = \"1s\" }]");
    assert!(lost.links[0].summary.wire_losses > 0);
    assert!((capacity(&lost, 8.0, 9.0) - 20.0).abs() < 1e-6, "the transmitter goes on");
    let held = run("rate = \"20Mbps\"\noutages = [{ at = \"8s\", for = \"1s\", does = \"hold\" }]");
    assert_eq!((capacity(&held, 8.0, 9.0), held.links[0].summary.wire_losses), (0.0, 0));
    // Whoever was in the queue when it began waited for a second.
    assert!(held.links[0].delay_quantile(1.0) > 0.99);
    let down = run(
        "rate = \"20Mbps\"\noutages = [{ at = \"8s\", for = \"1s\", every = \"4s\", does = \"down\" }]",
    );
    assert!(down.links[0].summary.drops > 0);
    for from in [8.0, 12.0, 16.0] {
        assert_eq!(capacity(&down, from, from + 1.0), 0.0);
    }
    assert!((capacity(&down, 9.0, 12.0) - 20.0).abs() < 1e-6);
}

#[test]
fn an_rtt_changes_on_both_ways() {
    let results = run("rate = \"20Mbps\"\nchanges = [{ at = \"10s\", rtt = \"80ms\" }]");
    let series = &results.flow_series;
    let rtt = |from: f64, to: f64| {
        let rows = (0..series.time.len()).filter(|row| (from..to).contains(&series.time[*row]));
        rows.map(|row| series.rtt[row]).fold(f64::INFINITY, f64::min)
    };
    assert!((0.039..0.07).contains(&rtt(1.0, 10.0)), "{}", rtt(1.0, 10.0));
    assert!((0.08..0.12).contains(&rtt(12.0, 20.0)), "{}", rtt(12.0, 20.0));
}

/// What handovers do not say goes as the changes say; both ways begin anew.
#[test]
fn changes_go_on_beside_handovers_and_both_ways_repeat() {
    let results = run(
        "rate = \"50Mbps\"\nchanges = [{ at = \"5s\", rate = \"10Mbps\" }]\nhandovers = { every = \
         \"15s\", delay = [\"10ms\", \"20ms\"], gap = \"80ms\" }",
    );
    assert!((capacity(&results, 6.0, 14.0) - 10.0).abs() < 1e-6);
    let results =
        run("rate = \"20Mbps\"\nchanges = [{ at = \"2s\", rtt = \"200ms\" }]\nrepeat = \"6s\"");
    let series = &results.flow_series;
    let least = |from: f64, to: f64| {
        let rows = (0..series.time.len()).filter(|row| (from..to).contains(&series.time[*row]));
        rows.map(|row| series.rtt[row]).fold(f64::INFINITY, f64::min)
    };
    assert!(least(6.5, 8.0) < 0.1 && least(12.5, 14.0) < 0.1, "{}", least(6.5, 8.0));
    assert!(least(4.0, 6.0) > 0.18);
}

/// Whether samples are taken, and how often, changes nothing of what happens.
#[test]
fn watching_a_link_that_varies_changes_nothing() {
    let seen = |sample: &str, queue: &str| {
        let text = format!(
            "duration = \"30s\"\nsample = \"{sample}\"\n[dumbbell]\nrtt = \"40ms\"\nbuffer = \"90p\"\n\
             rate = \"2Mbps\"\nqueue = \"{queue}\"\nchanges = [{{ at = \"10s\", rate = \"1Mbps\" }}]\n\
             [[flows]]\ncc = \"cubic\"\ncount = 3\n"
        );
        let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a scenario");
        let run = narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(()));
        run.expect("it runs").links[0].summary.clone()
    };
    for queue in ["pie", "red", "drop-tail", "codel"] {
        let few = seen("100ms", queue);
        assert_eq!(few, seen("1ms", queue), "{queue}");
        assert_eq!(few, seen("7ms", queue), "{queue}");
    }
}

#[test]
fn a_shaper_bounds_each_moment() {
    let results = run(
        "rate = \"100Mbps\"\nshaper = { rate = \"10Mbps\", burst = \"30kB\" }\nchanges = [{ at = \
         \"10s\", rate = \"1Mbps\" }]",
    );
    let utilisation = results.links[0].summary.utilisation;
    assert!((0.9..1.01).contains(&utilisation), "{utilisation}");
}

#[test]
fn handovers_are_drawn_from_the_seed_and_are_the_same_for_every_law() {
    let link = "rate = \"50Mbps\"\nhandovers = { every = \"3s\", first = \"2s\", rate = [\"20Mbps\", \
                \"100Mbps\"], delay = [\"10ms\", \"30ms\"], gap = \"80ms\" }";
    let capacities = |head: &str, cc: &str| {
        let text = format!(
            "duration = \"20s\"\n{head}\n[dumbbell]\nrtt = \"40ms\"\nbuffer = \"60p\"\n{link}\n\
             [[flows]]\ncc = \"{cc}\"\n"
        );
        let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a scenario");
        let seed = checked.seed;
        let run = narrows_scenario::run(&checked, seed, None, |_| ControlFlow::Continue(()));
        let results = run.expect("it runs");
        [3.0, 6.0, 9.0].map(|from| capacity(&results, from, from + 1.0))
    };
    let first = capacities("", "cubic");
    assert!(first.iter().all(|rate| (20.0..=100.0).contains(rate)), "{first:?}");
    assert!(first[0] != first[1] && first[1] != first[2]);
    assert_eq!(first, capacities("", "reno"));
    assert_ne!(first, capacities("seed = 2", "cubic"));
}

/// Each carries what a flow sends; what the file gives itself counts.
#[test]
fn links_are_known_by_name() {
    for link in LinkName::ALL.iter().copied() {
        let name = link.as_str();
        let length = if link == LinkName::Mars { "9000s" } else { "40s" };
        let text = format!(
            "duration = \"{length}\"\n[dumbbell]\nlink = \"{name}\"\n[[flows]]\ncc = \"cubic\"\n"
        );
        let scenario = Scenario::from_toml(&text).expect("TOML");
        let spelled_out = scenario.canonical(true).to_toml();
        assert!(!spelled_out.contains("link =") && spelled_out.contains("rtt ="), "{spelled_out}");
        let checked = Checked::new(scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
        let run = narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(()));
        let results = run.expect("it runs");
        assert!(results.links[0].summary.departures > 100, "{name}");
        assert_eq!(results.warnings.matches("pile up").count(), 0, "{}", results.warnings);
    }
    let text = "[dumbbell]\nlink = \"geo\"\nrate = \"1Mbps\"\n[[flows]]\ncc = \"cubic\"\n";
    let checked = Scenario::from_toml(text).and_then(Checked::new).expect("a scenario");
    assert_eq!(checked.links[0].rate.to_string(), "1Mbps");
    let error = Scenario::from_toml(&text.replace("geo", "gio")).expect_err("no such link");
    assert!(error.to_string().contains("did you mean \"geo\"?"), "{error}");
}

#[test]
fn a_policer_drops_and_a_shaper_does_not() {
    let bucket = "{ rate = \"10Mbps\", burst = \"30kB\" }";
    let policed = run(&format!("rate = \"50Mbps\"\npolicer = {bucket}"));
    let summary = &policed.links[0].summary;
    assert!(summary.policed > 0 && summary.drops == 0);
    let shaped = run(&format!("rate = \"50Mbps\"\nshaper = {bucket}"));
    let summary = &shaped.links[0].summary;
    assert!(summary.policed == 0 && summary.drops > 0, "the queue overflows");
    let rate = summary.departed_bytes as f64 * 8.0 / 20.0;
    assert!((0.9e7..1.002e7).contains(&rate), "{rate}");
    assert!(policed.goodput < shaped.goodput);
}

/// RED that lets the queue be longer from 10 s on, and CoDel and PIE that do.
#[test]
fn settings_of_queues_change() {
    let mean = |results: &Results, from: f64, to: f64| {
        let series = &results.link_series;
        let rows = (0..series.time.len())
            .filter(|row| series.link[*row] == 0 && (from..to).contains(&series.time[*row]));
        let queue: Vec<f64> = rows.map(|row| series.queue[row]).collect();
        queue.iter().sum::<f64>() / queue.len() as f64
    };
    for (before, after) in [
        ("red:min=2:max=6:weight=0.02", "red:min=20:max=40:weight=0.02"),
        ("pie:target=2ms", "pie:target=20ms"),
        ("codel:target=1ms", "codel:target=20ms:interval=200ms"),
        ("fq-codel:target=1ms", "fq-codel:target=20ms:interval=200ms"),
    ] {
        let results = run(&format!(
            "rate = \"20Mbps\"\nqueue = \"{before}\"\n\
             changes = [{{ at = \"10s\", queue = \"{after}\" }}]"
        ));
        let (short, long) = (mean(&results, 3.0, 10.0), mean(&results, 12.0, 20.0));
        assert!(long > 1.5 * short, "{before} {after}: {short} and {long} packets");
    }
    for (queue, change, said) in [
        ("", "codel", "another kind"),
        ("queue = \"codel\"", "pie", "another kind"),
        ("queue = \"fq-codel:queues=8\"", "fq-codel:queues=9", "another kind"),
        ("queue = \"red\"", "red:mini=3", "mini"),
    ] {
        let link = format!(
            "rate = \"20Mbps\"\n{queue}\nchanges = [{{ at = \"10s\", queue = \"{change}\" }}]"
        );
        let error = check(&link, "").map(|_| ()).expect_err(change).to_string();
        assert!(error.contains("changes[0].queue") && error.contains(said), "{error}");
    }
}

/// Each copy reaches the receiver, over queues of both kinds.
#[test]
fn a_script_sends_packets_twice() {
    for queue in ["drop-tail", "codel", "fq-codel"] {
        let script = "script = [{ twice = [100, \"200-202\"] }]";
        let link = format!("rate = \"20Mbps\"\nqueue = \"{queue}\"\n{script}");
        let (plain, twice) = (run(&link.replace(script, "")), run(&link));
        let duplicates = |results: &Results| -> u64 {
            results.flows.iter().map(|flow| flow.summary.duplicates).sum()
        };
        assert_eq!(duplicates(&twice) - duplicates(&plain), 4, "{queue}");
        assert!(!twice.warnings.contains("script"), "{}", twice.warnings);
    }
}

#[test]
fn a_script_counts_beside_drops_and_idle_lines_are_told() {
    let results = run(
        "rate = \"20Mbps\"\nscript = [{ drop = [100, \"200-202\"] }, { from = \"19s\", flow = 0, \
         least = \"9kB\", drop = 1 }]",
    );
    assert_eq!(results.links[0].summary.scripted, 4);
    let told = "script[1]";
    assert!(results.warnings.contains(told), "{}", results.warnings);
    assert!(!results.warnings.contains("script[0]"), "{}", results.warnings);
}

#[test]
fn a_trace_is_the_rate() {
    let folder = std::env::temp_dir().join("narrows-trace-test");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("twelve.mahimahi");
    std::fs::write(&file, "1\n").expect("a file");
    let results = run(&format!("trace = \"{}\"", file.display()));
    assert!((results.links[0].rate - 12e6).abs() < 1.0);
    assert!((capacity(&results, 5.0, 10.0) - 12.0).abs() < 1e-6);
    assert!(results.links[0].summary.utilisation > 0.95);
    let error = check(&format!("rate = \"1Mbps\"\ntrace = \"{}\"", file.display()), "");
    assert_eq!(
        error.err().expect("refused").to_string(),
        "dumbbell.rate: 1Mbps is not asked for: the trace has the rate; leave it out"
    );
    std::fs::write(&file, "1\n\n").expect("a file");
    let error = check(&format!("trace = \"{}\"", file.display()), "").err().expect("refused");
    assert!(
        error
            .to_string()
            .ends_with("line 2: \"\" is no whole number of milliseconds; write one, like 17"),
        "{error}"
    );
}

/// Each link is refused with this place and these words.
fn are_refused(cases: &[(&str, &str, &str)]) {
    for (link, place, part) in cases {
        let has_rate =
            link.contains("rate = \"1Mbps\"\n") || link.starts_with("trace") || link.is_empty();
        let rate = if has_rate { "" } else { "rate = \"50Mbps\"" };
        let error =
            check(rate, link).err().unwrap_or_else(|| panic!("{link} is taken")).to_string();
        assert!(error.contains(place) && error.contains(part), "{link}\n{error}");
    }
}

#[test]
fn changes_and_outages_that_do_not_hold_together_are_refused_with_a_remedy() {
    are_refused(&[
        ("rate = \"1Mbps\"\nrepeat = \"9s\"", "dumbbell.repeat", "is for changes"),
        ("changes = [{ at = \"1s\" }]", "dumbbell.changes[0]", "changes nothing"),
        ("changes = [{ at = \"0s\", rate = \"1Mbps\" }]", "dumbbell.changes[0].at", "not after 0s"),
        ("changes = [{ at = \"20s\", rate = \"1Mbps\" }]", "dumbbell.changes[0].at", "ends at 20s"),
        (
            "outages = [{ at = \"0s\", for = \"18446744s\", does = \"hold\" }]",
            "dumbbell.outages",
            "no time at which anything passes",
        ),
        (
            "changes = [{ at = \"3s\", mtu = \"900B\" }, { at = \"2s\", mtu = \"800B\" }]",
            "dumbbell.changes[1].at",
            "in order",
        ),
        (
            "changes = [{ at = \"3s\", ramp = \"1s\", loss = \"1%\" }]",
            "changes[0].ramp",
            "for a rate",
        ),
        ("changes = [{ at = \"3s\", delay = \"1ms\" }]", "changes[0].delay", "give rtt"),
        ("changes = [{ at = \"3s\", rtt = \"1ms\" }]", "changes[0].rtt", "below the round trip"),
        ("changes = [{ at = \"3s\", mark = \"5p\" }]", "changes[0].mark", "give the link a mark"),
        ("changes = [{ at = \"3s\", loss = \"100%\" }]", "changes[0].loss", "everything"),
        (
            "changes = [{ at = \"3s\", rate = \"2Mbps\" }]\nrepeat = \"3s\"",
            "dumbbell.repeat",
            "not after the last change",
        ),
        ("outages = [{ at = \"3s\", for = \"0s\" }]", "outages[0].for", "above 0"),
        (
            "outages = [{ at = \"1s\", for = \"1us\", every = \"10us\" }]",
            "[0].every",
            "1000000 outages",
        ),
        (
            "changes = [{ at = \"9us\", rate = \"2Mbps\" }]\nrepeat = \"10us\"",
            "dumbbell.repeat",
            "below 1ms",
        ),
        ("outages = [{ at = \"30s\", for = \"1s\" }]", "outages[0].at", "not within the run"),
        (
            "outages = [{ at = \"3s\", for = \"2s\", every = \"2s\" }]",
            "outages[0].every",
            "no longer than the outage",
        ),
        (
            "outages = [{ at = \"3s\", for = \"2s\", does = \"los\" }]",
            "does",
            "did you mean \"lose\"",
        ),
    ]);
}

#[test]
fn other_links_that_do_not_hold_together_are_refused_with_a_remedy() {
    are_refused(&[
        ("handovers = { every = \"15s\" }", "dumbbell.handovers", "change nothing"),
        ("handovers = { every = \"5s\", gap = \"5s\" }", "handovers.gap", "not shorter"),
        (
            "handovers = { every = \"5s\", drift = \"2ms\", gap = \"1ms\" }",
            "handovers.drift",
            "add one",
        ),
        (
            "handovers = { every = \"5s\", does = \"hold\", rate = [\"1Mbps\", \"2Mbps\"] }",
            "does",
            "gap",
        ),
        ("handovers = { every = \"5s\", rate = [\"2Mbps\", \"1Mbps\"] }", "handovers.rate", "swap"),
        (
            "handovers = { every = \"5s\", rate = [\"1Mbps\", \"2Mbps\"] }\nchanges = [{ at = \"3s\", \
             rate = \"2Mbps\" }]",
            "dumbbell.handovers",
            "cannot go with changes of rate",
        ),
        ("hold = { every = \"0s\" }", "hold.every", "below 1us"),
        ("handovers = { every = \"1us\", gap = \"1ns\" }", "handovers.every", "1000000 handovers"),
        ("hold = { every = 4 }", "hold.every", "{ mean = \"4ms\" }"),
        ("hold = { every = \"4ms\", most = 0 }", "hold.most", "nothing would pass"),
        ("hold = { every = \"4ms\", for = \"4ms\" }", "hold.for", "below the 4ms"),
        (
            "jitter = \"1ms\"\nreorder = true\nhold = { every = \"4ms\" }",
            "dumbbell.hold",
            "reorder",
        ),
        ("policer = { rate = \"1Mbps\", burst = \"1kB\" }", "policer.burst", "a packet of 1.5kB"),
        ("shaper = { rate = \"1Mbps\", burst = \"1kB\" }", "shaper.burst", "a packet of 1.5kB"),
        ("script = [{ from = \"1s\" }]", "dumbbell.script[0]", "one of drop, mark"),
        ("script = [{ drop = 1, mark = 2 }]", "dumbbell.script[0]", "one of drop, mark"),
        ("script = [{ late = \"1ms\" }]", "script[0].late", "packets = 1"),
        ("script = [{ late = \"5s\", packets = 1 }]", "script[0].late", "4s at most"),
        ("script = [{ drop = 0 }]", "script[0].drop", "numbers from 1"),
        ("script = [{ late = \"0s\", packets = 1 }]", "script[0].late", "not above 0"),
        ("script = [{ drop = 1, flow = 99 }]", "script[0].flow", "there is no flow 99"),
        ("script = [{ drop = 5, each = 4 }]", "script[0].each", "begins anew"),
        (
            "script = [{ drop = 5, from = \"3s\", until = \"2s\" }]",
            "script[0].until",
            "not after 3s",
        ),
        ("reverse_buffer = \"5p\"", "dumbbell", "reverse = { buffer = \"20p\" }"),
        ("trace = \"nowhere\"", "dumbbell.trace", "cannot be read"),
        ("", "dumbbell", "missing field \"rate\""),
    ]);
}
