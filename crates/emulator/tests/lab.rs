//! Real connections over a real path, where the machine allows it; each test says what it left out
//! where it does not.

use narrows_emulator::{Join, Measured, doctor, lab};
use narrows_scenario::{Checked, Scenario};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// A path in real time wants the machine for itself.
static ALONE: Mutex<()> = Mutex::new(());

/// Who calls the program's own laws, of which there are none.
fn no_own_law() -> Join {
    Arc::new(|| ())
}

fn run(text: &str) -> Option<Measured> {
    let missing: Vec<_> =
        doctor().into_iter().filter(|check| check.is_needed && !check.is_there).collect();
    if let Some(check) = missing.first() {
        eprintln!("left out 1 test of the lab: {}: {}", check.name, check.told);
        return None;
    }
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}"));
    let checked = Checked::new(scenario.clone()).unwrap_or_else(|error| panic!("{error}"));
    let measured = lab(&scenario, &checked, 1, &no_own_law(), |_| ControlFlow::Continue(()));
    Some(measured.unwrap_or_else(|error| panic!("{error}")))
}

const SMALL: &str =
    "duration = \"4s\"\nwarmup = \"1s\"\n[dumbbell]\nrate = \"20Mbps\"\nrtt = \"20ms\"\n";

/// What the queue drops is what the kernel sends again, but for what is under way at the ends.
#[test]
fn drops_are_heard() {
    let text = format!("{SMALL}buffer = \"20p\"\n[[flows]]\ncc = \"cubic\"\ncount = 2\n");
    let Some(Measured { results, doubt, .. }) = run(&text) else { return };
    let drops = results.links[0].summary.drops;
    let again: u32 = results.flows.iter().map(|flow| flow.summary.sender.retransmitted).sum();
    let again = u64::from(again);
    assert!(drops > 0, "20 packets are few");
    assert!(again + 10 + drops / 5 >= drops, "{drops} drops, {again} again");
    // Where the machine stood still, timers go off and the kernel sends again what was not dropped.
    let is_quiet = doubt.is_none();
    assert!(!is_quiet || again <= drops + 10 + drops / 5, "{drops} drops, {again} again");
    // Wherever the machine stood still, no more left than the rate allows.
    let utilisation = results.links[0].summary.utilisation;
    assert!(utilisation > 0.2 && utilisation <= 1.001, "{utilisation}");
    assert!(results.links[0].summary.max_queue <= Some(20));
    let goodput: f64 = results.flows.iter().map(|flow| flow.goodput).sum();
    assert!(goodput <= 20e6 * 1448.0 / 1500.0 * 1.01, "{goodput}");
}

/// A file of a size ends, is as long as it should be, and takes at least two round trips and the
/// time that its bits take.
#[test]
fn a_size_is_sent_to_the_byte() {
    let text = format!("{SMALL}buffer = \"1bdp\"\n[[flows]]\ncc = \"reno\"\nsize = \"1MB\"\n");
    let Some(Measured { results, .. }) = run(&text) else { return };
    let took = results.flows[0].completion_time.expect("1 MB arrives in 4 s");
    assert!(took > 0.04 + 8e6 / 20e6, "{took}");
}

/// CoDel on real packets: it drops long before the buffer is full.
#[test]
fn other_queues_work_on_real_packets() {
    for queue in ["codel", "fq-codel", "pie", "red", "rr"] {
        let text = format!(
            "{SMALL}buffer = \"500p\"\nqueue = \"{queue}\"\n[[flows]]\ncc = \"cubic\"\ncount = 2\n"
        );
        let Some(Measured { results, .. }) = run(&text) else { return };
        let link = &results.links[0].summary;
        assert!(link.departures > 100 && link.utilisation > 0.2, "{queue}: {link:?}");
        // Without an eye on the queue it is hundreds of packets; round robin has none.
        assert!(queue == "rr" || link.mean_queue < 150.0, "{queue}: {link:?}");
        assert!(queue != "rr" || link.mean_queue > 150.0, "{queue}: {link:?}");
    }
}

/// A rate that falls, an outage that holds, a trace, a policer: real packets take no more than
/// there is, and what there was is told.
#[test]
fn links_that_vary_carry_real_packets() {
    for (link, offered, least) in [
        ("rate = \"20Mbps\"\nchanges = [{ at = \"2s\", rate = \"5Mbps\" }]", 30e6, 0.5),
        (
            "rate = \"20Mbps\"\noutages = [{ at = \"2s\", for = \"1s\", does = \"hold\" }]",
            40e6,
            0.2,
        ),
        ("trace = \"narrows:made-up-lte.down\"", 0.0, 0.2),
        ("rate = \"20Mbps\"\npolicer = { rate = \"5Mbps\", burst = \"100kB\" }", 60e6, 0.0),
    ] {
        let text = format!(
            "duration = \"4s\"\nwarmup = \"1s\"\n[dumbbell]\nrtt = \"20ms\"\nbuffer = \"200p\"\n\
             {link}\n[[flows]]\ncc = \"cubic\"\n"
        );
        let Some(Measured { results, .. }) = run(&text) else { return };
        let summary = &results.links[0].summary;
        let used = summary.departed_bytes as f64 * 8.0;
        let found = used / summary.utilisation;
        assert!(offered == 0.0 || (found / offered - 1.0).abs() < 1e-6, "{link}: {found}");
        assert!((least..=1.001).contains(&summary.utilisation), "{link}: {}", summary.utilisation);
        if link.contains("policer") {
            // The bucket holds a burst and fills for three seconds.
            assert!(summary.policed > 0 && used <= 15e6 + 0.8e6, "{summary:?}");
        }
    }
}

#[test]
fn what_a_kernel_cannot_do_is_refused_with_its_field() {
    let scenario =
        |top: &str, flow: &str| format!("{top}{SMALL}buffer = \"20p\"\n[[flows]]\n{flow}\n");
    let on_path = |line: &str| format!("{SMALL}buffer = \"20p\"\n{line}\n[[flows]]\n");
    for (text, said) in [
        (
            scenario("", "cc = \"ledbat++\""),
            "flows[0].cc: \"ledbat++\" is not a law of this kernel; it has: ",
        ),
        (
            scenario("", "cc = \"cubic:beta=0.8\""),
            "flows[0].cc: \"cubic:beta=0.8\" is the kernel's own",
        ),
        (
            scenario("", "cc = \"cubic+newreno\""),
            "flows[0].cc: \"cubic+newreno\": a kernel's recovery",
        ),
        (scenario("", "quantum = 4"), "flows[0].quantum: 4 is not 1"),
        (scenario("", "ecn = true\n[[flows]]\ncc = \"reno\""), "flows[0].ecn: is of a whole host"),
        (scenario("", "cc = \"cubic\"\noverhead = \"1ms\""), "flows[0].overhead: is of simulated"),
        (scenario("tcp = \"ns2\"\n", ""), "tcp: a kernel has its own habits"),
        (scenario("", "cc = \"bbr\""), "flows[0].cc: \"bbr\" is version 3"),
        (on_path("access_rate = \"1Gbps\""), "dumbbell.access_rate: hosts have no links"),
        (on_path("jitter = \"1ms\"\nreorder = true"), "dumbbell.reorder: a lab keeps"),
        (on_path("script = [{ drop = 5 }]"), "dumbbell.script: is of single packets"),
        (
            on_path("shaper = { rate = \"1Mbps\", burst = \"9kB\" }"),
            "dumbbell.shaper: is of single packets",
        ),
        (on_path("changes = [{ at = \"1s\", mtu = \"900B\" }]"), "dumbbell.changes: a lab's path"),
        (on_path("queue = \"xcp\""), "dumbbell.queue: answers what packets ask"),
        (on_path("queue = \"gwa-rr:backward=true\""), "dumbbell.queue: backward=true answers"),
        (on_path("[trace]\nflows = [0]"), "trace: a lab writes no traces"),
    ] {
        let scenario = Scenario::from_toml(&text).unwrap_or_else(|error| panic!("{error}"));
        let checked = Checked::new(scenario.clone()).unwrap_or_else(|error| panic!("{error}"));
        let refused = lab(&scenario, &checked, 1, &no_own_law(), |_| ControlFlow::Continue(()));
        let error = refused.err().expect("a kernel cannot").to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

/// GWA lowers the window of a kernel that knows nothing of it: over a path that is shorter than its
/// buffer nothing overflows.
#[test]
fn a_kernel_obeys_lowered_windows() {
    let text = |queue: &str| {
        format!(
            "duration = \"3s\"\nwarmup = \"1s\"\n[dumbbell]\nrate = \"20Mbps\"\nrtt = \"5ms\"\n\
             buffer = \"20p\"\nqueue = \"{queue}\"\n[[flows]]\ncc = \"reno\"\ncount = 2\n"
        )
    };
    let Some(dropping) = run(&text("rr")) else { return };
    let Some(lowered) = run(&text("gwa-rr:flows=2")) else { return };
    let drops = [&dropping, &lowered].map(|it| it.results.links[0].summary.drops);
    assert!(drops[0] > 0 && drops[1] * 10 < drops[0], "{drops:?}");
    let windows = lowered.results.links[0].summary.utilisation;
    assert!(windows > 0.5, "{windows}");
}

/// Datagrams leave as often as they should, and nobody answers them.
#[test]
fn datagrams_are_sent_and_counted() {
    let text = format!(
        "{SMALL}buffer = \"50p\"\n[[flows]]\ndatagrams = \"poisson\"\napp = {{ rate = \"10Mbps\" }}\n"
    );
    let Some(Measured { results, .. }) = run(&text) else { return };
    let link = &results.links[0].summary;
    // 2500 in three seconds; a Poisson number of them within five deviations.
    assert!(link.arrivals.abs_diff(2500) < 250, "{link:?}");
    let sender = &results.flows[0].summary;
    assert!(sender.arrived.abs_diff(link.departures) < 30, "{sender:?}");
    assert_eq!(results.links[1].summary.arrivals, 0);
}
