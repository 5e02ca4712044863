//! Web users: what they ask for arrives, in the time it takes, over connections of their own.

use narrows_scenario::{Checked, Results, Scenario};
use std::ops::ControlFlow;

/// Users over a link that is never full, RTT 100 ms.
fn run(cc: &str, users: u32, persistent: &str) -> Results {
    run_over(1, cc, users, persistent)
}

/// The same, each over so many connections.
fn run_over(connections: u32, cc: &str, users: u32, persistent: &str) -> Results {
    let flows = connections * users;
    let text = format!(
        "duration = \"200s\"\nwarmup = \"0s\"\ntcp = \"ns2\"\n[dumbbell]\nrate = \"10Gbps\"\nrtt = \"100ms\"\nbuffer = \"1bdp\"\n\
         [[flows]]\ncc = \"{cc}\"\ncount = {flows}\n\
         web = {{ think = \"5s\", persistent = \"{persistent}\", \
         connections = {connections} }}\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a scenario");
    narrows_scenario::run(&checked, 3, None, |_| ControlFlow::Continue(()))
        .expect("nothing stops it")
}

#[test]
fn what_users_asked_for_is_what_arrived() {
    for cc in ["newreno", "etcp", "bbr"] {
        let results = run(cc, 50, "15%");
        let got: u64 = results.transfers.bytes.iter().sum();
        let arrived: u64 = results.flows.iter().map(|flow| flow.summary.arrived * 960).sum();
        let most =
            u64::from(*results.transfers.flow.iter().max().expect("somebody got something")) + 1;
        assert!(
            got <= arrived && arrived - got < most * 10_000_000,
            "{cc}: {got} of {arrived} bytes are of finished objects"
        );
        assert!(
            results.transfers.bytes.len() > 2_000,
            "{cc}: {} objects",
            results.transfers.bytes.len()
        );
    }
}

#[test]
fn a_small_object_takes_the_round_trips_of_its_connection() {
    // A new connection: a round trip for its beginning, half for the request, half for the data. An
    // open one: one in all.
    let fresh = run("newreno", 30, "0%").transfers;
    let small = |transfers: &narrows_scenario::Transfers| {
        let pairs = transfers.bytes.iter().zip(&transfers.completion_time);
        pairs
            .filter(|(bytes, _)| **bytes <= 1920)
            .map(|(_, seconds)| *seconds)
            .collect::<Vec<f64>>()
    };
    assert!(
        small(&fresh).iter().all(|seconds| (seconds - 0.2).abs() < 1e-4),
        "{:?}",
        &small(&fresh)[..5]
    );
    let open = run("newreno", 30, "100%").transfers;
    let at_once = small(&open).iter().filter(|seconds| (*seconds - 0.1).abs() < 1e-4).count();
    assert!(
        at_once * 2 > small(&open).len(),
        "{at_once} of {} came over an open connection",
        small(&open).len()
    );
}

#[test]
fn over_several_connections_a_page_is_there_sooner_and_nothing_else_is_asked_for() {
    let (one, four) = (run_over(1, "newreno", 40, "0%"), run_over(4, "newreno", 40, "0%"));
    let over = |results: &Results, connection: u32| {
        results.transfers.flow.iter().filter(|flow| *flow % 4 == connection).count()
    };
    let counts = [0, 1, 2, 3].map(|connection| over(&four, connection));
    assert!(
        counts.is_sorted_by(|more, less| more > less),
        "the page comes over the first: {counts:?}"
    );
    assert!(counts[3] > 50, "{counts:?}");
    // An object is asked for when the one before it is there, a page when the user has thought:
    // more objects in the same time, as fewer are waited for.
    let objects = [&one, &four].map(|results| results.transfers.bytes.len());
    assert!(objects[1] > objects[0], "{objects:?}");
    let got: u64 = four.transfers.bytes.iter().sum();
    let arrived: u64 = four.flows.iter().map(|flow| flow.summary.arrived * 960).sum();
    assert!(got <= arrived && arrived - got < 160 * 10_000_000, "{got} of {arrived} bytes");
}
