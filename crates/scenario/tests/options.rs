//! What is accepted counts: each option of a flow, with each law, is refused or changes what
//! happens.

mod cores;
#[path = "kept_texts/history.rs"]
mod history;

use cores::on_all_cores;
use history::history;
use narrows_control::registry::LAWS;
use narrows_scenario::{Checked, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// Each option of a flow at a value that is far from its default, and what has to be given beside
/// it.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("count", "2", ""),
    ("start", "\"500ms\"", ""),
    ("start_spread", "\"0s\"", ""),
    ("starts", "[\"700ms\"]", ""),
    ("stop", "\"1s\"", ""),
    ("stops", "[\"1s\"]", ""),
    ("size", "\"50kB\"", ""),
    ("app", "{ rate = \"1Mbps\" }", ""),
    ("app", "{ rate = \"1Mbps\", on = \"100ms\", off = \"300ms\" }", ""),
    ("app", "{ rate = \"1Mbps\", silent = [[\"200ms\", \"900ms\"]] }", ""),
    ("app", "{ rate = \"1Mbps\", frames = 30 }", ""),
    ("arrivals", "{ sizes = \"fixed:50kB\", load = 0.3 }", ""),
    ("offers", "[{ at = \"100ms\", bytes = \"50kB\" }]", ""),
    ("incast", "{ size = \"50kB\", every = \"300ms\" }", ""),
    ("telnet", "\"10ms\"", ""),
    ("files", "{ off = \"100ms\" }", ""),
    ("web", "{ think = \"100ms\" }", ""),
    ("pacing", "\"none\"", ""),
    ("pacing", "\"even\"", ""),
    ("pacing", "\"exponential\"", ""),
    ("pacing", "\"uniform\"", ""),
    ("pacing", "\"fq\"", ""),
    ("pacing", "\"westwood\"", ""),
    ("pacing", "\"four-hop\"", ""),
    ("pacing_bucket", "4", "pacing = \"even\""),
    ("ack_pacing", "true", ""),
    ("slow_start", "\"standard\"", ""),
    ("slow_start", "\"limited\"", ""),
    ("slow_start", "\"hystart\"", ""),
    ("slow_start", "\"hystart++\"", ""),
    ("max_ssthresh", "4", ""),
    ("max_ssthresh", "4", "slow_start = \"limited\""),
    ("ssthresh", "8", ""),
    ("ecn", "true", ""),
    ("ecn_retransmit", "true", "ecn = true"),
    ("tcp", "\"ns2\"", ""),
    ("initial_window", "30", ""),
    ("max_window", "\"4p\"", ""),
    ("send_buffer", "\"8kB\"", ""),
    ("write_size", "\"2kB\"", "send_buffer = \"20kB\""),
    ("timestamps", "false", ""),
    ("tick", "\"300ms\"", UNSTAMPED),
    ("tick_integers", "true", "tick = \"100ms\"\ntcp = \"ns2\"\ncount = 24"),
    ("initial_rto", "\"30ms\"", ""),
    ("min_rto", "\"5s\"", UNSTAMPED),
    ("limited_transmit", "false", SHORT),
    ("abc", "false", ""),
    ("prr", "false", ""),
    ("prr", "true", "tcp = \"ns2\""),
    ("rack", "false", ""),
    ("rack", "true", "tcp = \"ns2\""),
    ("tlp", "false", SHORT),
    ("frto", "false", UNSTAMPED),
    ("dsack", "false", UNSTAMPED),
    ("sack_compression", "false", SHORT),
    ("handshake", "false", ""),
    ("handshake", "true", "tcp = \"ns2\""),
    ("cwnd_validation", "false", SLOW),
    ("slow_start_after_idle", "false", PAGES),
    ("rate_halving", "0.5", ""),
    ("halving_stalls", "true", "rate_halving = 0.5"),
    ("overhead", "\"2ms\"", ""),
    // A tick counts if a timer goes off: a delayed acknowledgement's, a pacer's.
    ("host", "{ tick = \"7ms\" }", "ack_every = 8\nack_delay = \"5ms\""),
    ("host", "{ tick = \"7ms\" }", "reliable = false"),
    ("host", "{ batch = \"1ms\" }", ""),
    ("host", "{ wait = \"1ms\" }", ""),
    ("host", "{ stall = { every = \"50ms\", length = \"2ms\" } }", ""),
    ("quantum", "4", ""),
    ("quantum", "\"auto\"", "tcp = \"ns2\""),
    ("ack_every", "8", ""),
    ("ack_every", "\"gro\"", ""),
    ("ack_delay", "\"30ms\"", ""),
    ("ack_delay", "\"2ms\"", "ack_every = 8"),
    ("ack_size", "\"1kB\"", ""),
    ("reliable", "false", ""),
    ("raptorq", "100", ""),
    ("header_checksum", "true", ""),
    ("packet", "\"600B\"", ""),
    ("reverse", "true", ""),
    ("rtt", "\"80ms\"", ""),
    ("rtt_spread", "\"80ms\"", "count = 2"),
];

/// Short transfers, some of which end with a loss.
const SHORT: &str = "files = { off = \"1ms\", mean = 20 }";
/// Without stamps only new data shows that a timeout was needless. BBR version 1 seldom times out.
const UNSTAMPED: &str = "timestamps = false\ncount = 24";
/// An application that does not always fill its window.
const SLOW: &str = "app = { rate = \"700kbps\" }";
/// A user who thinks for longer than a timeout, over connections that stay.
const PAGES: &str = "web = { think = \"500ms\", size_factor = 15, persistent = \"100%\" }";

/// The options that tell the flows below apart, those of other networks, and the one that only
/// names.
const ELSEWHERE: [&str; 6] = ["cc", "datagrams", "over", "from", "to", "name"];

const DUMBBELL: &str = "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"40p\"\n\
                        queue = \"red:min=3:max=9\"\nloss = \"0.5%\"\n";
const LOSSY: &str = "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"40p\"\n\
                     loss = \"3%\"\njitter = \"5ms\"\nreorder = true\n";
const LATE: &str = "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"40p\"\n\
                    loss = \"25%\"\njitter = \"400ms\"\nreorder = true\n";
const ROW: &str = "[parking_lot]\nhops = 2\nrate = \"10Mbps\"\ndelay = \"5ms\"\nbuffer = \"20p\"\n";
const LINKS: &str = "[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"9Mbps\"\ndelay = \"5ms\"\n\
                     [[links]]\nfrom = \"b\"\nto = \"c\"\nrate = \"5Mbps\"\ndelay = \"5ms\"\n";

/// What happens with a flow in a network; `None` if the flow is refused.
fn happens(network: &str, flow: &str) -> Option<u64> {
    let seconds = if network.starts_with(LATE) || network.starts_with(LOSSY) { 30 } else { 4 };
    let text = format!("duration = \"{seconds}s\"\nsample = \"0s\"\n{network}[[flows]]\n{flow}\n");
    let checked = Scenario::from_toml(&text).and_then(Checked::new).ok()?;
    Some(history(&checked).0)
}

/// True if an option says what the law does without it: its usual slow start, E-TCP's gaps.
fn repeats_the_default(cc: &str, option: &str, value: &str) -> bool {
    let usual_start = if cc.starts_with("cubic") { "\"hystart\"" } else { "\"standard\"" };
    match option {
        "slow_start" => value == usual_start,
        "pacing" if value == "\"none\"" => {
            let quics = cc.starts_with("quic") || cc.contains("+quic");
            !quics || ["bbr", "etcp", "prague"].iter().any(|law| cc.starts_with(law))
        }
        "pacing" => cc.starts_with("etcp") && value == "\"exponential\"",
        // At 10 Mbps its bursts of at most 250 µs are one packet, whatever is asked for.
        "quantum" => cc.starts_with("prague"),
        _ => false,
    }
}

/// Every law, some over other recoveries, and datagrams.
fn flows() -> Vec<String> {
    let mut laws: Vec<String> = LAWS.iter().map(|law| law.name.to_owned()).collect();
    laws.extend(["newreno", "sack", "cubic+newreno"].map(str::to_owned));
    laws.extend(["quic", "cubic+quic", "bbr+quic", "etcp+quic"].map(str::to_owned));
    laws.extend(["dctcp+quic", "prague+quic", "etcp-rate+quic"].map(str::to_owned));
    let mut flows: Vec<String> = laws.iter().map(|law| format!("cc = \"{law}\"")).collect();
    flows.push("datagrams = \"poisson\"\napp = { rate = \"9Mbps\" }".to_owned());
    flows
}

/// The timer of a source of datagrams goes off when each is due.
#[test]
fn a_tick_counts_for_datagrams() {
    let flow = "datagrams = \"poisson\"\napp = { rate = \"9Mbps\" }\n";
    let ticks = happens(DUMBBELL, &format!("{flow}host = {{ tick = \"7ms\" }}"));
    assert!(ticks.is_some() && ticks != happens(DUMBBELL, flow));
}

/// The network with routers that say how much room there is, for a law that without them fills the
/// access link.
fn with_its_routers(cc: &str, network: &str) -> String {
    match cc.starts_with("gwa-rate") {
        true if network.contains("queue") => network.replace("red:min=3:max=9", "gwa-rr"),
        true => format!("{network}queue = \"gwa-rr\"\n"),
        false => network.to_owned(),
    }
}

/// The options that are accepted for `flow`, and those that change nothing.
fn try_options(flow: &String) -> (BTreeSet<&'static str>, Vec<String>) {
    let (mut idle, mut accepted) = (Vec::new(), BTreeSet::new());
    let mut without: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    let cc = flow.trim_start_matches("cc = \"");
    for (option, value, beside) in OPTIONS {
        let network = match *beside {
            SHORT | SLOW => LOSSY,
            UNSTAMPED => LATE,
            _ => DUMBBELL,
        };
        let network = &with_its_routers(cc, network);
        let unchanged = || happens(network, &format!("{flow}\n{beside}"));
        let before = *without.entry(beside).or_insert_with(unchanged);
        let changed = happens(network, &format!("{flow}\n{beside}\n{option} = {value}"));
        if changed.is_none() {
            continue;
        }
        accepted.insert(*option);
        if changed == before && !repeats_the_default(cc, option, value) {
            idle.push(format!("{flow} {beside} {option} = {value}"));
        }
    }
    (accepted, idle)
}

#[test]
fn what_is_accepted_counts() {
    let flows = flows();
    let (accepted, idle): (Vec<BTreeSet<&str>>, Vec<Vec<String>>) =
        on_all_cores(&flows, try_options).into_iter().unzip();
    let accepted: BTreeSet<&str> = accepted.into_iter().flatten().collect();
    let idle = idle.concat();
    assert!(idle.is_empty(), "accepted, and without effect:\n{}", idle.join("\n"));
    let never = OPTIONS.iter().filter(|(option, ..)| !accepted.contains(option));
    assert_eq!(never.count(), 0, "each is accepted for some flow, but only {accepted:?} were");
}

#[test]
fn every_option_is_tried() {
    let schema: serde_json::Value = serde_json::from_str(&Scenario::schema()).unwrap();
    let fields = schema["$defs"]["Flow"]["properties"].as_object().unwrap();
    let tried: BTreeSet<&str> =
        OPTIONS.iter().map(|(option, ..)| *option).chain(ELSEWHERE).collect();
    assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), tried);
}

#[test]
fn where_a_flow_goes_counts() {
    let in_row = |flow| happens(ROW, flow).expect("a flow in a row");
    assert_ne!(in_row(""), in_row("over = [1, 1]"));
    let in_links = |flow| happens(LINKS, flow).expect("a flow between nodes");
    let there = in_links("from = \"a\"\nto = \"b\"");
    assert_ne!(there, in_links("from = \"a\"\nto = \"c\""));
    assert_ne!(there, in_links("from = \"c\"\nto = \"b\""));
    assert_ne!(there, in_links("from = \"a\"\nto = \"b\"\nreverse = true"));
}
