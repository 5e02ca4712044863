//! Transfers that arrive at random, queries that many answer, applications that make their data:
//! against theory and values worked out by hand.

use narrows_scenario::{Checked, Results, RunError, Scenario};
use std::ops::ControlFlow;

fn checked(text: &str) -> Checked {
    Scenario::from_toml(text)
        .and_then(Checked::new)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(text: &str) -> Results {
    narrows_scenario::run(&checked(text), 1, None, |_| ControlFlow::Continue(())).expect("it runs")
}

/// One link that serves all in turn, packet by packet, with windows that never bind: processor
/// sharing, whose mean slowdown is 1/(1 − ρ) whatever the sizes (M/G/1-PS; Kleinrock, 1976, §4.4).
fn shared(load: f64, sizes: &str, seconds: u32) -> Results {
    run(&format!(
        "duration = \"{seconds}s\"\nwarmup = \"2s\"\nsample = \"0s\"\ntcp = \"ns2\"\n\
         packet = \"1040B\"\n\
         [[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"800Mbps\"\ndelay = \"50us\"\nqueue = \"rr\"\n\
         duplex = false\n\
         [[links]]\nfrom = \"b\"\nto = \"a\"\nrate = \"100Gbps\"\ndelay = \"50us\"\nduplex = false\n\
         [[flows]]\ncc = \"reno+reno\"\nfrom = \"a\"\nto = \"b\"\ninitial_window = 100000\n\
         arrivals = {{ sizes = \"{sizes}\", load = {load} }}\n"
    ))
}

#[test]
fn the_mean_slowdown_of_processor_sharing_does_not_depend_on_sizes() {
    for (load, seconds) in [(0.3, 25), (0.5, 25), (0.7, 50)] {
        for sizes in ["fixed:200kB", "pareto:mean=200kB,shape=1.5:max=2MB"] {
            let results = shared(load, sizes, seconds);
            let group = &results.groups[0].transfers;
            let expected = 1.0 / (1.0 - load);
            let got = group.slowdown.mean;
            assert!(group.finished > 3000, "{} transfers", group.finished);
            assert!(
                (got / expected - 1.0).abs() < 0.05,
                "{sizes} at {load}: {got}, not {expected}"
            );
            let used = results.bottleneck().summary.utilisation;
            assert!((used / load - 1.0).abs() < 0.04, "{sizes} at {load}: {used} used");
            for class in results.size_classes.iter().filter(|it| it.transfers.finished > 1000) {
                let got = class.transfers.slowdown.mean;
                let (name, from) = (class.class, class.transfers.finished);
                assert!(
                    (got / expected - 1.0).abs() < 0.1,
                    "{name}, {from}: {got}, not {expected}"
                );
            }
        }
    }
}

const DUMBBELL: &str = "duration = \"20s\"\nwarmup = \"0s\"\n[dumbbell]\nrate = \"100Mbps\"\n\
                        rtt = \"20ms\"\nbuffer = \"1bdp\"\n[[flows]]\n";

/// What arrives is the same for every law, transport and number of flows.
#[test]
fn what_arrives_does_not_depend_on_the_law() {
    let arrived = |flow: &str| {
        let results = run(&format!(
            "{DUMBBELL}{flow}\narrivals = {{ sizes = \"web-search:max=1MB\", load = 0.5 }}\n"
        ));
        let all = &results.transfers;
        let mut rows: Vec<_> =
            all.requested.iter().map(|at| at.to_bits()).zip(all.bytes.iter().copied()).collect();
        rows.sort_unstable();
        rows
    };
    let cubic = arrived("cc = \"cubic\"");
    assert!(cubic.len() > 500, "{}", cubic.len());
    // A load counts headers, so that QUIC's are fewer; frequencies are not of headers.
    for flow in
        ["cc = \"reno+reno\"", "cc = \"bbr\"", "cc = \"etcp\"", "cc = \"cubic\"\ncount = 300"]
    {
        assert_eq!(arrived(flow), cubic, "{flow}");
    }
}

/// Bytes are whole bytes: one of 1449 takes two packets, of which the last carries one.
#[test]
fn a_transfer_has_the_bytes_that_it_was_given() {
    let results = run(&format!(
        "{DUMBBELL}cc = \"reno+reno\"\narrivals = {{ sizes = \"fixed:1449B\", rate = \"200/s\" }}\n"
    ));
    let all = &results.transfers;
    let finished = all.completion_time.iter().filter(|time| time.is_finite()).count();
    assert!(all.bytes.iter().all(|bytes| *bytes == 1449) && finished > 3800, "{finished}");
    let goodput = results.flows.iter().map(|flow| flow.goodput).sum::<f64>();
    let expected = finished as f64 * 1449.0 * 8.0 / 20.0;
    assert!((goodput / expected - 1.0).abs() < 1e-3, "{goodput} {expected}");
    // The bottleneck sees each, with two headers of 52 bytes, and the requests for connections.
    let data = (1449.0 + 104.0) * finished as f64;
    let link = &results.bottleneck().summary;
    let rest = link.departed_bytes as f64 / finished as f64 - data / finished as f64;
    assert!((0.0..130.0).contains(&rest), "{rest} bytes more a transfer");
    // A handshake, half a round trip: 30 ms; then 1553 bytes at 100 Mbps.
    let least = 30e-3 + 1553.0 * 8.0 / 100e6;
    let quick = all.completion_time.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(quick >= least && quick < least + 0.2e-3, "{quick} {least}");
    let slowdown = all.slowdown.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((1.0..1.01).contains(&slowdown), "{slowdown}");
}

#[test]
fn too_many_at_a_time_end_the_run_with_an_error() {
    let text =
        format!("{DUMBBELL}count = 20\narrivals = {{ sizes = \"fixed:1MB\", load = 1.5 }}\n");
    let outcome = narrows_scenario::run(&checked(&text), 1, None, |_| ControlFlow::Continue(()));
    match outcome.map(|_| ()) {
        Err(error @ RunError::Overrun { .. }) => {
            let said = error.to_string();
            assert!(said.contains("all 20 flows are busy") && said.contains("flows[0]"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    let said = checked(&text).warnings.iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains("no steady state") && said.contains("are expected"), "{said}");
}

#[test]
fn unfinished_transfers_are_told() {
    let results = run(&format!(
        "{DUMBBELL}arrivals = {{ sizes = \"fixed:2MB\", load = 0.9 }}\nstop = \"19s\"\n"
    ));
    let group = &results.groups[0].transfers;
    let rows = results.transfers.completion_time.len() as u64;
    assert_eq!(group.finished + group.unfinished, rows);
    assert!(results.transfers.requested.iter().all(|at| *at < 19.0));
    assert!(group.unfinished > 0 && group.finished > 60, "{group:?}");
}

/// 40 answers of 32 kB over 1 Gbps take 10.6 ms at least; the buffer holds a part of them.
#[test]
fn a_query_ends_with_its_last_answer() {
    let results =
        run("duration = \"5s\"\nwarmup = \"0s\"\n[dumbbell]\nrate = \"1Gbps\"\nrtt = \"200us\"\n\
         buffer = \"64p\"\n[[flows]]\ncount = 40\n\
         incast = { size = \"32kB\", every = \"500ms\", jitter = \"10us\" }\n");
    let queries = &results.queries;
    assert_eq!(queries.asked, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5]);
    let wire = 40.0 * (32_000.0 + 23.0 * 52.0) * 8.0 / 1e9;
    for (row, time) in queries.completion_time.iter().enumerate() {
        let answers = queries.answers[row];
        assert!(answers == 40 && *time > wire && *time < 0.5, "query {row}: {answers}, {time}");
    }
    // A timeout of 200 ms is what incast is known for.
    let late = queries.completion_time.iter().filter(|time| **time > 0.2).count();
    let timeouts: u32 = results.flows.iter().map(|flow| flow.summary.sender.timeouts).sum();
    assert!(late > 0 && timeouts > 0, "{late} late, {timeouts} timeouts");
}

/// What is asked of a flow that is busy waits, and is told when it does not end: 1 MB take 0.83 s
/// of 10 Mbps and are asked for every 0.5 s.
#[test]
fn queries_that_wait_are_late_and_told() {
    let results =
        run("duration = \"10s\"\nwarmup = \"0s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"1ms\"\n\
         buffer = \"100p\"\n[[flows]]\nincast = { size = \"1MB\", every = \"500ms\" }\n");
    let queries = &results.queries;
    assert_eq!(queries.asked.len(), 20);
    let group = &results.groups[0].transfers;
    assert_eq!(group.finished + group.unfinished, 20);
    assert!((11..=12).contains(&group.finished), "{}", group.finished);
    for (number, time) in queries.completion_time.iter().take(11).enumerate() {
        // The nth ends when n + 1 have been sent.
        let expected = (number + 1) as f64 * 0.829 - number as f64 * 0.5;
        assert!((time - expected).abs() < 0.1, "query {number}: {time}, not {expected}");
        let slowdown = results.transfers.slowdown[number];
        assert!((slowdown / (time / 0.829) - 1.0).abs() < 0.02, "{slowdown}");
    }
    assert!(results.warnings.contains("1.66 times what it carries"), "{}", results.warnings);
}

/// 2 Mbps of payload for 100 of 300 ms, and nothing from 8 s to 13 s.
#[test]
fn an_application_makes_as_much_as_it_says() {
    for transport in ["cubic", "cubic+quic", "etcp"] {
        let results = run(&format!(
            "{DUMBBELL}cc = \"{transport}\"\nstart_spread = \"0s\"\n\
             app = {{ rate = \"2Mbps\", on = \"100ms\", off = \"200ms\", \
             silent = [[\"8s\", \"13s\"]] }}\n"
        ));
        let flow = &results.flows[0];
        // 15 s of 20, a third of it: 5 s at 2 Mbps. The periods at the silence's ends are cut.
        let megabits = flow.goodput * 20.0 / 1e6;
        assert!((megabits - 10.0).abs() < 0.15, "{transport}: {megabits}");
        let silent = results.flow_series.time.iter().zip(&results.flow_series.goodput);
        let sent: f64 = silent.filter(|(at, _)| (8.2..12.9).contains(*at)).map(|(_, it)| it).sum();
        assert_eq!(sent, 0.0, "{transport}");
    }
}

/// 5 Mbps of video through 4 Mbps are late; through 10 Mbps they are not.
#[test]
fn frames_that_come_too_late_are_counted() {
    let video = |rate: &str| {
        run(&format!(
            "duration = \"20s\"\nwarmup = \"2s\"\n[dumbbell]\nrate = \"{rate}\"\nrtt = \"20ms\"\n\
             buffer = \"100ms\"\n[[flows]]\nname = \"video\"\n\
             app = {{ rate = \"5Mbps\", frames = 30, deadline = \"100ms\" }}\n"
        ))
    };
    let (slow, fast) = (video("4Mbps"), video("10Mbps"));
    let frames = |results: &Results| {
        let delays = results.flows[0].summary.delays.as_ref().expect("it makes frames");
        (delays.frames(), delays.late())
    };
    assert_eq!(frames(&fast), (540, 0.0));
    let (count, late) = frames(&slow);
    assert!((430..=600).contains(&count) && late > 0.9, "{count} {late}");
    assert_eq!(slow.groups[0].late_frames, late);
    assert!(fast.flows[0].goodput / 5e6 > 0.99 && fast.flows[0].goodput / 5e6 < 1.01);
}

/// 300 kB, ten times 15 kB, and nothing else: 450 kB arrive, whoever carries them; and what ends
/// says when all has arrived.
#[test]
fn what_is_offered_arrives_and_no_more() {
    for cc in ["cubic", "cubic+quic", "etcp"] {
        let offers = "[{ at = \"0s\", bytes = \"300kB\" }, \
                      { at = \"2s\", until = \"3s\", every = \"100ms\", bytes = \"15kB\" }]";
        let results = run(&format!(
            "duration = \"6s\"\nwarmup = \"0s\"\n\
             [dumbbell]\nrate = \"50Mbps\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
             [[flows]]\ncc = \"{cc}\"\noffers = {offers}\n"
        ));
        let flow = &results.flows[0];
        let (arrived, end) = (flow.goodput * 6.0 / 8.0, flow.completion_time.unwrap_or(0.0));
        assert!((arrived - 450e3).abs() < 1500.0, "{cc}: {arrived} bytes");
        assert!((2.8..3.1).contains(&end), "{cc}: all has arrived after {end} s");
    }
}

#[test]
fn stops_that_are_none_are_named() {
    for (group, says) in [
        ("stops = [\"0s\"]", "flows[0].stops[0]: 0s is not after the start, 0s"),
        ("stops = [\"2s\", \"60s\"]", "flows[0].stops[1]: 60s is past the end of the run, 60s"),
        ("stops = [\"1s\", \"2s\", \"3s\"]", "flows[0].stops: 3 times for 2 flows"),
        ("stop = \"4s\"\nstops = [\"6s\"]", "flows[0].stops[0]: 6s is past 4s"),
        ("starts = [\"1s\", \"8s\"]\nstops = [\"3s\"]", "3s is not after the start, 8s"),
        ("web = { think = \"1s\" }\nstops = [\"3s\"]", "flows[0].stops: its flows do not"),
    ] {
        let text = format!(
            "[dumbbell]\nrate = \"50Mbps\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
             [[flows]]\ncount = 2\n{group}\n"
        );
        let error = Scenario::from_toml(&text).and_then(Checked::new).err();
        let error = error.map(|it| it.to_string()).unwrap_or_default();
        assert!(error.contains(says), "{group}: {error:?}, not {says}");
    }
}

#[test]
fn offers_that_are_none_are_named() {
    for (offers, says) in [
        ("[]", "flows[0].offers: offers nothing"),
        ("[{ at = \"0s\", bytes = \"0B\" }]", "flows[0].offers[0].bytes: 0B is nothing"),
        ("[{ at = \"99s\" }]", "flows[0].offers[0].at: 99s is past the end of the run, 60s"),
        (
            "[{ at = \"2s\", until = \"1s\", every = \"1s\", bytes = \"1kB\" }]",
            "flows[0].offers[0].until: 1s is not after 2s",
        ),
        ("[{ at = \"0s\" }, { at = \"1s\", bytes = \"1kB\" }]", "what comes after 0"),
        ("[{ at = \"0s\", every = \"1s\" }]", "flows[0].offers[0].every: what has no end"),
        ("[{ at = \"0s\", until = \"1s\" }]", "flows[0].offers[0].until: has no effect"),
        (
            "[{ at = \"0s\", every = \"1ns\", bytes = \"1kB\" }]",
            "flows[0].offers[0].every: 1ns makes more than 1000000 offers",
        ),
        ("[{ at = \"0s\", every = \"0s\", bytes = \"1kB\" }]", "0s makes more than"),
    ] {
        let text = format!(
            "[dumbbell]\nrate = \"50Mbps\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
             [[flows]]\noffers = {offers}\n"
        );
        let error =
            Scenario::from_toml(&text).and_then(Checked::new).err().map(|it| it.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains(says), "{offers}: {error}");
    }
    let twice = "[dumbbell]\nrate = \"50Mbps\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
                 [[flows]]\nsize = \"1MB\"\noffers = [{ at = \"0s\" }]\n";
    let error = Scenario::from_toml(twice).and_then(Checked::new).err().map(|it| it.to_string());
    assert!(error.unwrap_or_default().contains("sends one kind of data"));
}
