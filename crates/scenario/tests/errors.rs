//! What cannot be run is said with the place, the value and what would be right.

use narrows_scenario::{Checked, Scenario};
use proptest::prelude::*;

const NETWORK: &str = "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n";

fn error(text: &str) -> String {
    match Scenario::from_toml(text).and_then(Checked::new) {
        Ok(_) => panic!("this is a scenario:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// A scenario whose only fault is in the head, the network or the flow given.
fn faulty(head: &str, network: &str, flow: &str) -> String {
    let network = if network.is_empty() { NETWORK } else { network };
    error(&format!("{head}\n{network}[[flows]]\n{flow}\n"))
}

fn assert_names(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn wrong_units_name_the_field_the_value_and_an_example() {
    let network = |rate, rtt, buffer| {
        format!("[dumbbell]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}\"\n")
    };
    assert_names(
        &faulty("", &network("10", "40ms", "20p"), ""),
        &["dumbbell.rate", "\"10\"", "1Gbps"],
    );
    assert_names(&faulty("", &network("10mbps", "40ms", "20p"), ""), &["dumbbell.rate", "mbps"]);
    assert_names(
        &faulty("", &network("10Mbps", "40", "20p"), ""),
        &["dumbbell.rtt", "\"40\"", "ms"],
    );
    assert_names(
        &faulty("", &network("10Mbps", "40ms", "20 pkts"), ""),
        &["dumbbell.buffer", "20 pkts", "20p"],
    );
    assert_names(&faulty("", &network("-1Mbps", "40ms", "20p"), ""), &["dumbbell.rate", "-1Mbps"]);
    assert_names(&faulty("", &network("0Mbps", "40ms", "20p"), ""), &["dumbbell.rate", "0Mbps"]);
    assert_names(&faulty("", &network("10Mbps", "40ms", "0p"), ""), &["dumbbell.buffer"]);
    assert_names(&faulty("", &network("10Mbps", "0ms", "20p"), ""), &["dumbbell.rtt"]);
}

#[test]
fn unknown_names_are_guessed() {
    assert_names(
        &faulty("", "", "cc = \"cubik\""),
        &["flows[0].cc", "\"cubik\"", "did you mean \"cubic\"?", "known: "],
    );
    assert_names(&faulty("", "", "cc = \"cubic:betta=0.5\""), &["flows[0].cc", "betta", "beta"]);
    assert_names(&faulty("", "", "pacing = \"evenly\""), &["flows[0].pacing", "evenly", "even"]);
    assert_names(&faulty("durations = \"5s\"", "", ""), &["durations", "duration"]);
}

#[test]
fn times_that_cannot_be_are_named() {
    assert_names(&faulty("duration = \"0s\"", "", ""), &["duration"]);
    assert_names(
        &faulty("duration = \"10s\"\nwarmup = \"10s\"", "", ""),
        &["warmup", "10s", "past the end"],
    );
    assert_names(&faulty("duration = \"-10s\"", "", ""), &["duration", "-10s"]);
}

#[test]
fn a_network_that_does_not_hold_together_is_named() {
    assert_names(&error("[[flows]]\ncc = \"cubic\"\n"), &["no network", "[dumbbell]"]);
    assert_names(&error(NETWORK), &["flows", "nobody sends"]);
    let two = format!(
        "{NETWORK}[parking_lot]\nhops = 2\nrate = \"1Mbps\"\ndelay = \"1ms\"\nbuffer = \"20p\"\n"
    );
    assert_names(&faulty("", &two, ""), &["parking_lot", "there is a dumbbell already"]);
    let link = |from, to| {
        format!(
            "[[links]]
from = \"{from}\"
to = \"{to}\"
rate = \"1Mbps\"
\
             delay = \"1ms\"
buffer = \"20p\"
"
        )
    };
    let island = format!(
        "rtt = \"4ms\"
{}{}",
        link("a", "b"),
        link("c", "d")
    );
    assert_names(
        &faulty("", &island, "from = \"a\"\nto = \"d\""),
        &["flows[0]", "no path from \"a\" to \"d\""],
    );
    assert_names(&faulty("", &island, "from = \"a\"\nto = \"e\""), &["flows[0].to", "\"e\""]);
}

#[test]
fn what_a_transport_cannot_do_is_named() {
    assert_names(
        &faulty("", "", "cc = \"etcp\"\nack_every = 2"),
        &["flows[0].ack_every", "is TCP's", "etcp"],
    );
    assert_names(
        &faulty("", "", "cc = \"cubic\"\nreliable = false"),
        &["flows[0].reliable", "etcp", "cubic runs over TCP"],
    );
    assert_names(&faulty("", "", "cc = \"etcp+sack\""), &["flows[0].cc", "leave out"]);
    assert_names(
        &faulty("", "", "size = \"1MB\"\nweb = {}"),
        &["flows[0].size", "one kind of data, and has web already"],
    );
}

#[test]
fn a_one_way_delay_is_told_from_a_round_trip() {
    let network = "[dumbbell]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nbuffer = \"20p\"\n";
    assert_names(&faulty("", network, ""), &["delay", "rtt", "there and back"]);
}

#[test]
fn a_run_that_would_not_fit_into_memory_is_refused() {
    assert_names(&faulty("", "", "count = 4000000000"), &["GB of memory", "fewer flows"]);
}

proptest! {
    #[test]
    fn any_text_for_a_quantity_is_read_or_refused(
        rate in ".{0,12}",
        rtt in "[-+0-9.eE]{0,8}[a-zA-Zµ%]{0,4}",
        buffer in "[-0-9.]{0,6}[a-zA-Z()/ ]{0,12}",
    ) {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let (rate, rtt, buffer) = (quoted(&rate), quoted(&rtt), quoted(&buffer));
        let network = format!("rate = {rate}\nrtt = {rtt}\nbuffer = {buffer}\n");
        let text = format!("duration = \"1s\"\n[dumbbell]\n{network}[[flows]]\n");
        if let Err(error) = Scenario::from_toml(&text).and_then(Checked::new) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
