//! What runs, but hardly as it was meant, is warned of; what is served is not.

use narrows_control::Controller;
use narrows_control::registry::{Birth, LAWS, find};
use narrows_scenario::{Checked, Own, OwnLaw, Scenario};
use std::sync::Arc;

fn dumbbell(network: &str, flow: &str) -> String {
    format!(
        "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"40p\"\n{network}\n[[flows]]\n{flow}\n"
    )
}

/// The warnings of a scenario, as people read them.
fn warnings(text: &str) -> Vec<String> {
    let checked = Scenario::from_toml(text).and_then(Checked::new);
    let checked = checked.unwrap_or_else(|error| panic!("{error}:\n{text}"));
    checked.warnings.iter().map(ToString::to_string).collect()
}

/// Each law that asks for something: a queue that does not give it, one that does, and the remedy.
const SERVED: &[(&str, &str, &str, &str)] = &[
    ("cc = \"xcp\"", "", "queue = \"xcp\"", "queue = \"xcp\""),
    (
        "cc = \"xcp\"",
        "queue = \"gwa-rr\"",
        "queue = \"xcp\"",
        "none of the links on its way answers",
    ),
    ("cc = \"gwa\"", "queue = \"xcp\"", "queue = \"gwa-rr\"", "queue = \"gwa-rr\""),
    ("cc = \"ba\"", "queue = \"red\"", "queue = \"ba\"", "queue = \"ba\""),
    ("cc = \"dctcp\"", "", "mark = \"20p\"", "needs marks"),
    ("cc = \"dctcp\"", "queue = \"codel:ecn=off\"", "queue = \"codel\"", "mark = \"20p\""),
    ("cc = \"bbr:ecn=true\"", "queue = \"rr\"", "queue = \"dualpi2\"", "needs marks"),
    ("cc = \"prague\"", "", "queue = \"dualpi2\"", "give a link on its way queue = \"dualpi2\""),
    ("ecn = true", "", "queue = \"pie\"", "no queue on its way marks"),
    ("ecn = true", "queue = \"fq-codel:ecn=off\"", "queue = \"fq-codel\"", "queue = \"codel\""),
    ("ecn = true", "queue = \"red:ecn=off\"", "queue = \"red\"", "no queue on its way marks"),
    ("ecn = true", "", "script = [{ mark = 100 }]", "no queue on its way marks"),
    (
        "ecn = true",
        "policer = { rate = \"5Mbps\", burst = \"30kB\" }",
        "policer = { rate = \"5Mbps\", burst = \"30kB\", mark = true }",
        "no queue on its way marks",
    ),
];

#[test]
fn laws_over_queues_that_cannot_serve_them_are_warned_of() {
    for (flow, poor, good, remedy) in SERVED {
        let field = if flow.starts_with("cc") { "cc" } else { "ecn" };
        let found = warnings(&dumbbell(poor, flow));
        assert_eq!(found.len(), 1, "{flow} over {poor}: {found:?}");
        assert!(found[0].starts_with(&format!("flows[0].{field}: ")), "{}", found[0]);
        assert!(found[0].contains(remedy), "{remedy} is not in: {}", found[0]);
        assert_eq!(warnings(&dumbbell(good, flow)), Vec::<String>::new(), "{flow} over {good}");
    }
}

#[test]
fn a_law_that_asks_for_nothing_is_not_warned_of() {
    let asks = ["ba", "dctcp", "etcp-ecn", "gwa", "gwa-rate", "prague", "xcp"];
    for law in LAWS.iter().filter(|law| !asks.contains(&law.name)) {
        let found = warnings(&dumbbell("", &format!("cc = \"{}\"", law.name)));
        assert_eq!(found, Vec::<String>::new());
    }
}

/// Only what stands on the way of the data counts: not the way back, nor a link elsewhere.
#[test]
fn a_queue_that_is_not_on_the_way_serves_nobody() {
    let link = |from: &str, to: &str, delay: &str, queue: &str| {
        format!(
            "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10Mbps\"\nbuffer = \"20p\"\n\
             delay = \"{delay}\"\nduplex = false\nqueue = \"{queue}\"\n"
        )
    };
    let network = |direct: &str, back: &str| {
        let detour = link("a", "c", "5ms", "xcp") + &link("c", "b", "5ms", "xcp");
        detour + &link("a", "b", direct, "drop-tail") + &link("b", "a", "4ms", back)
    };
    let flow = "[[flows]]\ncc = \"xcp\"\nfrom = \"a\"\nto = \"b\"\n";
    assert_eq!(warnings(&(network("9ms", "xcp") + flow)).len(), 1);
    assert_eq!(warnings(&(network("11ms", "drop-tail") + flow)).len(), 0);
}

/// What is told, checked or sent back where nobody takes notice.
#[test]
fn what_changes_nothing_on_this_way_is_warned_of() {
    let link = |from: &str, to: &str, more: &str| {
        format!(
            "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10Mbps\"\nbuffer = \"20p\"\n\
             delay = \"5ms\"\nduplex = false\n{more}\n"
        )
    };
    let around = |out: &str, back: &str| {
        link("a", "b", out) + &link("b", "c", "") + &link("c", "s", back) + &link("s", "a", "")
    };
    let flow =
        |from: &str, cc: &str| format!("[[flows]]\nfrom = \"{from}\"\nto = \"b\"\ncc = \"{cc}\"\n");
    let backward = "queue = \"gwa-rr:backward=true\"";
    let [from_router, from_beyond] =
        ["a", "s"].map(|from| warnings(&(around(backward, "") + &flow(from, "gwa"))));
    assert_eq!(from_router, Vec::<String>::new(), "acknowledgements come back to their sender");
    assert_eq!(from_beyond.len(), 1, "they end at s: {from_beyond:?}");
    assert!(from_beyond[0].contains("backward=true has no effect"), "{}", from_beyond[0]);

    let told = |queue: &str| {
        warnings(&dumbbell(&format!("queue = \"{queue}\""), "cc = \"gwa:delay=50ms\""))
    };
    assert_eq!(told("ba"), Vec::<String>::new());
    assert_eq!(told("gwa-rr").len(), 1);

    let checked = "cc = \"etcp\"\nfrom = \"a\"\nto = \"b\"\nheader_checksum = true\n";
    let damaged = |out: &str, back: &str| warnings(&(around(out, back) + "[[flows]]\n" + checked));
    assert_eq!(damaged("loss = \"1%\"", ""), Vec::<String>::new());
    assert_eq!(damaged("", "loss = \"1%\"").len(), 1);
}

/// A card tells the TCP of its own host.
#[test]
fn a_device_that_tells_nobody_is_warned_of() {
    let link = |from: &str, to: &str, more: &str| {
        format!(
            "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10Mbps\"\nbuffer = \"20p\"\n\
             delay = \"5ms\"\n{more}\n"
        )
    };
    let network = link("a", "b", "") + &link("b", "c", "device = true");
    let found = |from: &str, flow: &str| {
        warnings(&format!("{network}[[flows]]\nfrom = \"{from}\"\nto = \"c\"\n{flow}\n"))
    };
    assert_eq!(found("b", "cc = \"cubic\""), Vec::<String>::new());
    for (from, flow) in [("a", "cc = \"cubic\""), ("b", "cc = \"cubic+quic\"")] {
        let told = found(from, flow);
        assert_eq!(told.len(), 1, "{from} {flow}: {told:?}");
        assert!(told[0].starts_with("links \"b-c\": device=true has no effect"), "{}", told[0]);
    }
}

#[test]
fn an_rtt_below_that_of_every_flow_is_warned_of() {
    let network = "[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"10ms\"\n\
                   buffer = \"1bdp\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\n";
    let found = warnings(&format!("rtt = \"1ms\"\n{network}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("rtt: 1ms is shorter than ") && found[0].contains("20ms"));
    assert_eq!(warnings(&format!("rtt = \"20ms\"\n{network}")), Vec::<String>::new());
}

struct Deaf;

impl OwnLaw for Deaf {
    fn name(&self) -> &str {
        "deaf"
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        let law = find("reno").expect("a law of the registry");
        law.read(birth).expect("it takes its defaults").make(0)
    }
}

#[test]
fn a_law_of_ones_own_that_does_not_hear_of_marks_is_not_marked() {
    let check = |flow: &str| {
        let scenario = Scenario::from_toml(&dumbbell("queue = \"codel\"", flow));
        let own = Own { laws: vec![Arc::new(Deaf)], stacks: Vec::new() };
        Checked::with_own(scenario.expect("it can be read"), &own)
    };
    assert!(check("cc = \"deaf\"").is_ok());
    let error = check("cc = \"deaf\"\necn = true").err().expect("refused").to_string();
    assert!(error.starts_with("flows[0].ecn: deaf is your own law"), "{error}");
}
