//! What cannot be changed while it runs, and what is said of it.

use narrows_scenario::{Running, Scenario};
use narrows_units::{Duration, Time};

const DUMBBELL: &str = "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\n";

fn running(dumbbell: &str, flows: &str) -> Result<Running, String> {
    let text = format!("duration = \"5s\"\n{DUMBBELL}{dumbbell}\n[[flows]]\n{flows}\n");
    let scenario = Scenario::from_toml(&text).expect("a scenario");
    Running::new(scenario, Duration::from_millis(20)).map_err(|error| error.to_string())
}

/// What is said of a change after one second.
fn change(dumbbell: &str, link: &str, fields: &str) -> String {
    let mut running = running(dumbbell, "").expect("it runs");
    running.run_until(Time::ZERO + Duration::from_millis(1000)).expect("all flows are there");
    let change = serde_json::from_str(&format!("{{\"at\": \"0s\", {fields}}}")).expect("a change");
    let before = running.scenario().clone();
    let said =
        running.change(link, change).map_or_else(|error| error.to_string(), |at| at.to_string());
    assert!(said.ends_with('s') && said.starts_with('1') || *running.scenario() == before);
    said
}

fn join(dumbbell: &str, flows: &str) -> String {
    let mut running = running(dumbbell, flows).expect("it runs");
    running.run_until(Time::ZERO + Duration::from_millis(1000)).expect("all flows are there");
    let group = serde_json::from_str("{\"cc\": \"reno\"}").expect("a group");
    running.join(group).map_or_else(|error| error.to_string(), |at| at.to_string())
}

#[test]
fn what_cannot_be_is_said() {
    let twenty = "buffer = \"20p\"";
    assert_eq!(change(twenty, "bottleneck", "\"buffer\": \"5p\""), "1.000001s");
    assert_eq!(
        change(twenty, "bottlenek", "\"buffer\": \"5p\""),
        "link: no link \"bottlenek\" of the scenario can be changed"
    );
    assert_eq!(
        change(twenty, "bottleneck", "\"loss\": \"100%\""),
        "dumbbell.changes[0].loss: everything would be lost; try \"0.1%\""
    );
    assert_eq!(
        change("buffer = \"20p\"\nqueue = \"pie\"", "bottleneck", "\"rate\": \"5Mbps\""),
        "rate: PIE measures a rate that changes in another way; give a change of rate at the start"
    );
    let shaped = "buffer = \"20p\"\nshaper = { rate = \"5Mbps\", burst = \"9kB\" }\n\
                  changes = [{ at = \"3s\", rate = \"9Mbps\" }]";
    assert_eq!(change(shaped, "bottleneck", "\"buffer\": \"5p\""), "1.000001s");
    assert_eq!(
        change(shaped, "bottleneck", "\"rate\": \"5Mbps\""),
        "rate: a shaper remembers; give a change of rate at the start"
    );
    assert_eq!(
        join("buffer = \"20p\"\nrtt_step = \"1ms\"", "count = 3"),
        "rtt_step: deals RTTs to all flows anew; leave it out"
    );
    assert_eq!(
        join("buffer = \"1bdp/sqrt(n)\"", "count = 3"),
        "buffer: would have been another with more flows; give it in packets"
    );
    let arriving = "arrivals = { load = 0.3, sizes = \"web-search:max=1MB\" }";
    assert_eq!(
        join(twenty, arriving),
        "flows: nobody joins arrivals or users of several connections; give all flows at the start"
    );
    assert_eq!(
        join(twenty, "count = 4\nweb = { connections = 2 }"),
        "flows: nobody joins arrivals or users of several connections; give all flows at the start"
    );
}

#[test]
fn groups_leave_once_and_the_end_is_the_end() {
    let mut running = running("buffer = \"20p\"", "count = 3").expect("it runs");
    running.run_until(Time::ZERO + Duration::from_millis(1000)).expect("all flows are there");
    let say = |error: narrows_scenario::ScenarioError| error.to_string();
    assert_eq!(
        running.leave(1, 9).map_err(say),
        Err("flows[1].stop: there is no such group".into())
    );
    assert!(running.leave(0, 9).is_ok());
    assert_eq!(
        running.leave(0, 9).map_err(say),
        Err("flows[0].stop: the group has stopped".into())
    );
    running.run_until(Time::ZERO + Duration::from_millis(9000)).expect("all flows are there");
    let change = serde_json::from_str("{\"at\": \"0s\", \"buffer\": \"5p\"}").expect("a change");
    let over = "duration: the run of 5s is over; give more, and begin anew";
    assert_eq!(running.change("bottleneck", change).map_err(say), Err(over.into()));
}

#[test]
fn a_transfer_that_finds_no_flow_is_told() {
    let arriving = "count = 2\narrivals = { load = 0.9, sizes = \"web-search:max=1MB\" }";
    let mut running = running("buffer = \"20p\"", arriving).expect("it runs");
    let said = running.run_until(Time::ZERO + Duration::from_millis(5000));
    let said = said.expect_err("two are too few").to_string();
    assert!(said.contains("all 2 flows are busy"), "{said}");
}
