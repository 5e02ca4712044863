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
fn what_cannot_be_counted_is_refused() {
    assert_names(&faulty("", "", "ssthresh = inf"), &["flows[0].ssthresh: inf", "leave it out"]);
    assert_names(&faulty("", "", "max_ssthresh = nan"), &["flows[0].max_ssthresh: nan"]);
    assert_names(&faulty("", "", "initial_window = 1e9"), &["flows[0].initial_window", "100000"]);
    assert_names(&faulty("", "", "telnet = \"1ns\""), &["flows[0].telnet", "1ns is below 1us"]);
}

/// Halving used to stall whenever there was an overhead; a file of before has to say it now.
#[test]
fn what_used_to_follow_from_another_option_is_asked_for() {
    let flow = "rate_halving = 0.5\noverhead = \"1ms\"";
    assert_names(&faulty("", "", flow), &["flows[0].halving_stalls: missing", "true or false"]);
    for stalls in [true, false] {
        let text = format!("{NETWORK}[[flows]]\n{flow}\nhalving_stalls = {stalls}\n");
        assert!(Scenario::from_toml(&text).and_then(Checked::new).is_ok(), "{stalls}");
    }
}

#[test]
fn a_bdp_between_nodes_needs_an_rtt() {
    let link = "[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"9Mbps\"\ndelay = \"1ms\"\n";
    let flow = "from = \"a\"\nto = \"b\"\n";
    let marking = format!("{link}mark = \"0.5bdp\"\n");
    assert_names(&faulty("", &marking, flow), &["links[0].mark", "rtt = "]);
    let limited = format!("{flow}max_window = \"1bdp\"");
    assert_names(&faulty("", link, &limited), &["flows[0].max_window", "rtt = "]);
}

#[test]
fn two_links_of_one_name_are_refused() {
    let link = |from: &str, to: &str| {
        format!(
            "[[links]]\nname = \"x\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10Mbps\"\n\
             delay = \"1ms\"\n"
        )
    };
    let twice = format!("{}{}", link("a", "b"), link("b", "c"));
    assert_names(
        &faulty("", &twice, "from = \"a\"\nto = \"c\""),
        &["links: ", "two links are called \"x", "another name"],
    );
}

#[test]
fn what_a_transport_cannot_do_is_named() {
    assert_names(
        &faulty("", "", "cc = \"etcp\"\nack_every = 2"),
        &["flows[0].ack_every", "has a transport of its own", "etcp"],
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
    assert_names(
        &faulty("", "", "count = 7\nweb = { connections = 3 }"),
        &["flows[0].web.connections", "7 flows", "try count = 9"],
    );
    assert_names(
        &faulty("", "", "web = { connections = 0 }"),
        &["flows[0].web.connections", "try 6"],
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

#[test]
fn a_host_that_cannot_be_is_named() {
    let host = |fields: &str| faulty("", "", &format!("host = {{ {fields} }}"));
    assert_names(&host("tick = \"4\""), &["flows[0].host.tick", "\"4\"", "100ms"]);
    assert_names(&host("ticks = \"4ms\""), &["flows[0].host", "ticks", "tick"]);
    assert_names(&host("batch = \"11s\""), &["flows[0].host.batch: 11s is above 10s", "50us"]);
    assert_names(&host("wait = \"11s\""), &["flows[0].host.wait: 11s is above 10s", "50us"]);
    assert_names(&host("tick = \"1m\""), &["flows[0].host.tick", "1m"]);
    assert_names(&host("stall = { every = \"1ms\" }"), &["flows[0].host.stall", "length"]);
    assert_names(
        &host("stall = { every = \"0s\", length = \"1ms\" }"),
        &["flows[0].host.stall.every", "below 100us", "100ms"],
    );
    assert_names(
        &host("stall = { every = \"1s\", length = \"0s\" }"),
        &["flows[0].host.stall.length", "above 0", "1ms"],
    );
    let datagrams = "datagrams = \"constant\"\napp = { rate = \"1Mbps\" }\nhost.batch = \"1ms\"";
    assert_names(&faulty("", "", datagrams), &["flows[0].host.batch: ", "datagrams"]);
}

/// Each option that does not count where it stands: the flow, the field, and what to do.
const IDLE: &[(&str, &str, &str)] = &[
    ("cc = \"fast\"\nslow_start = \"limited\"", "slow_start", "fast has a slow start of its own"),
    ("cc = \"fast\"\nmax_ssthresh = 100", "max_ssthresh", "leave it out"),
    ("cc = \"fast\"\nssthresh = 64", "ssthresh", "fast starts without a threshold"),
    ("cc = \"bbr\"\nslow_start = \"standard\"", "slow_start", "bbr has a slow start of its own"),
    ("cc = \"bbr\"\nprr = true", "prr", "bbr decides by itself what leaves in a recovery"),
    ("cc = \"bbr\"\nssthresh = 64", "ssthresh", "leave it out"),
    ("cc = \"bbr\"\npacing = \"even\"", "pacing", "bbr paces by itself"),
    ("cc = \"bbr\"\npacing_bucket = 4", "pacing_bucket", "is for even gaps"),
    ("cc = \"reno\"\npacing = \"fq\"\npacing_bucket = 4", "pacing_bucket", "is for even gaps"),
    ("cc = \"reno\"\npacing = \"even\"\npacing_bucket = 0", "pacing_bucket", "at least 1 token"),
    ("cc = \"etcp\"\npacing = \"westwood\"", "pacing", "a transport of its own"),
    ("cc = \"cubic+quic\"\npacing = \"four-hop\"", "pacing", "\"four-hop\" is TCP's"),
    ("cc = \"reno\"\ntimestamps = false\nack_pacing = true", "ack_pacing", "timestamps = true"),
    ("cc = \"cubic+quic\"\nack_pacing = true", "ack_pacing", "is TCP's"),
    ("send_buffer = \"2999B\"", "send_buffer", "at least 3000 bytes, 2 of"),
    ("tcp = \"linux24\"\nsend_buffer = \"4MB\"", "send_buffer", "tcp = \"linux\""),
    ("write_size = \"128kB\"", "write_size", "needs a send_buffer"),
    ("send_buffer = \"4MB\"\nwrite_size = \"1kB\"", "write_size", "at least 1500 bytes, 1 of"),
    ("cc = \"cubic+quic\"\nsend_buffer = \"4MB\"", "send_buffer", "is TCP's"),
    ("cc = \"bbr:ecn=true\"\necn = true", "ecn", "marks of its own kind"),
    ("cc = \"dctcp\"\necn = true", "ecn", "marks of its own kind"),
    ("cc = \"cubic:beta_ecn=0.85\"", "cc", "beta_ecn has no effect without marks"),
    ("cc = \"reno:mark_stops=true+quic\"\necn = true", "cc", "mark_stops is TCP's"),
    ("cc = \"bbr2:ecn=true:echo=true+quic\"", "cc", "hears an echo of marks, and QUIC cannot"),
    ("cc = \"bbr2:echo=true\"", "cc", "ecn=true"),
    ("cc = \"bbr\"\ntick = \"100ms\"", "tick", "needs exact RTTs"),
    ("cc = \"ba\"\ntick = \"100ms\"", "tick", "ba:delay=40ms"),
    ("cc = \"dctcp\"\necn_retransmit = true", "ecn_retransmit", "marks of its own"),
    (
        "cc = \"gwa:syn=true:cwnd=false\"\nhandshake = true\ninitial_window = 30",
        "initial_window",
        "starts with what routers say",
    ),
    (
        "cc = \"ledbat++\"\ninitial_window = 10",
        "initial_window",
        "ledbat++ starts with at most 2 packets",
    ),
    ("cc = \"gwa-rate\"\npacing = \"fq\"", "pacing", "gwa-rate paces by itself"),
    ("cc = \"xcp\"\nslow_start = \"standard\"", "slow_start", "xcp has a slow start of its own"),
    ("cc = \"xcp\"\nssthresh = 64", "ssthresh", "leave it out"),
    ("cc = \"vegas\"\nslow_start = \"hystart++\"", "slow_start", "vegas has a slow start"),
    ("cc = \"vegas\"\nmax_ssthresh = 100", "max_ssthresh", "leave it out"),
    ("cc = \"etcp\"\nslow_start = \"standard\"", "slow_start", "etcp has a slow start"),
    ("cc = \"etcp-rate\"\nmax_ssthresh = 100.0", "max_ssthresh", "etcp-rate has a slow start"),
    ("cc = \"etcp\"\nmax_ssthresh = 100", "max_ssthresh", "leave it out"),
    ("cc = \"etcp\"\nssthresh = 64", "ssthresh", "64 packets do not count"),
    ("cc = \"etcp\"\nprr = true", "prr", "a recovery of its own"),
    ("cc = \"etcp\"\nrate_halving = 0.5", "rate_halving", "a recovery of its own"),
    ("cc = \"etcp\"\nquantum = 2", "quantum", "has a transport of its own"),
    ("cc = \"newreno\"\nprr = true", "prr", "write reno+sack"),
    ("cc = \"reno\"\ntcp = \"ns2\"", "cc", "write reno+reno for Agent/TCP/Reno"),
    ("cc = \"reno:beta=0.6\"\ntcp = \"ns2-2000\"", "cc", "or reno+sack"),
    ("cc = \"newreno\"\nrate_halving = 0.5", "rate_halving", "write reno+sack"),
    ("cc = \"cubic\"\nhalving_stalls = true", "halving_stalls", "without rate_halving"),
    ("prr = true\nrate_halving = 0.5", "prr", "rate_halving takes its place"),
    ("slow_start = \"standard\"\nmax_ssthresh = 100", "max_ssthresh", "for limited slow start"),
    ("slow_start = \"limited\"\nmax_ssthresh = 0", "max_ssthresh", "at least 2 packets; try 100"),
    ("app = { rate = \"1Mbps\", periods = \"exponential\" }", "app.periods", "without on and off"),
    ("app = { rate = \"1Mbps\", on = \"1s\" }", "app.on", "go together"),
    ("app = { rate = \"1Mbps\", deadline = \"1s\" }", "app.deadline", "is for frames"),
    (
        "arrivals = { sizes = \"web-search\", load = 0.3 }\nstart_spread = \"1s\"",
        "start_spread",
        "at random",
    ),
    (
        "cc = \"etcp\"\nreliable = false\narrivals = { sizes = \"fixed:9kB\", rate = \"9/s\" }",
        "reliable",
        "never end",
    ),
    (
        "incast = { size = \"9kB\", every = \"1s\" }\nstart_spread = \"1s\"",
        "start_spread",
        "the same queries",
    ),
    (
        "arrivals = { sizes = \"fixed:9kB\", rate = \"9/s\", of = \"bottleneck\" }",
        "arrivals.of",
        "for load",
    ),
    ("starts = [\"1s\"]\nstart_spread = \"1s\"", "start_spread", "starts says it already"),
    ("starts = [\"1s\"]\nstart = \"2s\"", "start", "starts says it already"),
    ("over = [1, 2]", "over", "a parking_lot or a chain"),
    ("from = \"a\"", "from", "a network of [[links]]"),
];

/// What has no effect on datagrams.
const NOT_FOR_DATAGRAMS: &[(&str, &str)] = &[
    ("cc", "\"reno\""),
    ("ecn", "true"),
    ("pacing", "\"even\""),
    ("quantum", "2"),
    ("ack_every", "2"),
    ("ack_delay", "\"10ms\""),
    ("max_window", "\"20p\""),
    ("ssthresh", "64"),
    ("slow_start", "\"standard\""),
    ("initial_window", "10"),
    ("timestamps", "true"),
    ("prr", "true"),
    ("overhead", "\"1ms\""),
    ("size", "\"1MB\""),
    ("tcp", "\"ns2\""),
];

#[test]
fn an_option_that_does_not_count_is_refused() {
    for (flow, field, remedy) in IDLE {
        assert_names(&faulty("", "", flow), &[&format!("flows[0].{field}: "), remedy]);
    }
    for (field, value) in NOT_FOR_DATAGRAMS {
        let flow =
            format!("datagrams = \"constant\"\napp = {{ rate = \"1Mbps\" }}\n{field} = {value}");
        let place = format!("flows[0].{field}: ");
        assert_names(&faulty("", "", &flow), &[&place, "datagrams", "leave it out"]);
    }
    let network = |more: &str| format!("{NETWORK}{more}\n");
    assert_names(&faulty("", &network("loss_burst = 4"), ""), &["dumbbell.loss_burst", "loss"]);
    assert_names(&faulty("", &network("reorder = true"), ""), &["dumbbell.reorder", "jitter"]);
    let step = network("rtt_step = \"1ms\"");
    assert_names(&faulty("", &step, "rtt = \"60ms\""), &["dumbbell.rtt_step", "leave it out"]);
    let no_jitter = network("reorder = true\njitter = \"0s\"");
    assert_names(&faulty("", &no_jitter, ""), &["dumbbell.reorder", "jitter"]);
    let marking = network("queue = \"red\"\nmark = \"5p\"");
    assert_names(&faulty("", &marking, ""), &["dumbbell.mark", "red has rules of its own"]);
    assert_names(&faulty("rtt = \"9ms\"", "", ""), &["rtt: ", "a network of [[links]]"]);
}

/// Bursts are kept whole by what has no rule for single packets, and where there are some.
#[test]
fn super_packets_are_for_steady_drop_tail_links_that_bursts_come_to() {
    let network = |more: &str| format!("{NETWORK}super_packets = true\n{more}");
    assert_names(
        &faulty("", &network("queue = \"codel\"\n"), ""),
        &["dumbbell.super_packets", "drop-tail"],
    );
    let outage = "outages = [{ at = \"1s\", for = \"1s\" }]\n";
    assert_names(&faulty("", &network(outage), ""), &["dumbbell.super_packets", "vary"]);
    let single = faulty("", &network(""), "quantum = 1");
    assert_names(&single, &["\"bottleneck\".super_packets", "quantum = \"auto\""]);
    let slow = faulty("", &network("access_rate = \"5Mbps\"\n"), "");
    assert_names(&slow, &["\"bottleneck\".super_packets", "access_rate of 10Mbps"]);
    let back = faulty("", &format!("{NETWORK}reverse = {{ super_packets = true }}\n"), "");
    assert_names(&back, &["\"reverse\".super_packets", "no bursts of data"]);
    let hop = "rate = \"10Mbps\"\ndelay = \"5ms\"\nbuffer = \"20p\"\n";
    let hops = format!(
        "[chain]\naccess_delay = \"1ms\"\n[[chain.hops]]\n{hop}[[chain.hops]]\n{hop}\
         super_packets = true\n"
    );
    assert_names(&faulty("", &hops, "over = [1, 2]"), &["super_packets", "before it"]);
}

/// What asks for nothing may stand anywhere: files of before had every default written out.
#[test]
fn an_mtu_that_no_packet_fits_is_named() {
    let network = |mtu| format!("{NETWORK}mtu = \"{mtu}\"\n");
    assert_eq!(
        faulty("", &network("1400B"), ""),
        "flows[0].packet: packets of 1.5kB never pass the link \"bottleneck\", whose mtu is \
         1.4kB; try packet = \"1.4kB\""
    );
    assert_names(&faulty("", &network("60B"), ""), &["dumbbell.mtu", "60B", "68"]);
    // On the way back there are acknowledgements alone.
    let fits = format!("{}[[flows]]\nreverse = true\n", network("1400B"));
    assert_names(&error(&fits), &["flows[0].packet", "\"reverse\""]);
}

#[test]
fn the_host_of_a_foreign_stack_is_not_one_of_ours() {
    for (flow, says) in [
        ("host = \"mine\"", "flows[0].host: nobody brings a stack called \"mine\" along"),
        ("host = { like = \"toki\" }", "flows[0].host.like"),
        ("host = { cpu = \"2us\" }", "flows[0].host.cpu: is for a stack that others wrote"),
        ("host = { train = 3 }", "flows[0].host.train: is for a stack that others wrote"),
        ("host = 3", "a host, like { tick = \"1ms\" }, or the name of a stack"),
        ("cc = \"noq:bbr\"", "\"noq\" is a stack that this build goes without; Linux wheels"),
    ] {
        assert_names(&faulty("", "", flow), &[says]);
    }
}

#[test]
fn files_of_before_are_read() {
    let of_before = "seed = 1\nduration = \"1s\"\ntcp = \"linux\"\n\
         [dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nrtt_step = \"0s\"\nbuffer = \"20p\"\n\
         access_rate = \"100Gbps\"\nloss = \"0e0\"\nloss_burst = 1.0\njitter = \"0s\"\n\
         reorder = false\n";
    let flow = |cc: &str| {
        format!(
            "[[flows]]\ncc = \"{cc}\"\ncount = 1\nstart = \"0s\"\nstart_spread = \"100ms\"\n\
             pacing = \"none\"\noverhead = \"0s\"\nhost = {{}}\nquantum = 1\nreliable = true\n\
             reverse = false\n"
        )
    };
    for cc in ["cubic", "etcp", "bbr", "xcp", "newreno", "fast"] {
        let text = format!("{of_before}{}", flow(cc));
        let starts = text.replace("start = ", "starts = [\"0s\"]\nstart = ");
        let datagrams = "datagrams = \"constant\"\napp = { rate = \"1Mbps\" }\n";
        for text in [starts, text.replace("\"etcp\"\n", &format!("\"cubic\"\n{datagrams}"))] {
            let read = Scenario::from_toml(&text).and_then(Checked::new);
            assert!(read.is_ok(), "{text}: {:?}", read.err());
        }
        let read = Scenario::from_toml(&text).and_then(Checked::new);
        assert!(read.is_ok(), "{cc}: {}", read.err().map(|e| e.to_string()).unwrap_or_default());
    }
}

/// The text that is kept is what was given: a new field with a default changes none of it.
#[test]
fn nothing_is_written_that_was_not_given() {
    let text = "[dumbbell]\nrtt = \"40ms\"\nrate = \"10Mbps\"\nbuffer = \"20p\"\n\n[[flows]]\n";
    let scenario = Scenario::from_toml(text).expect("a scenario");
    let mut written: Vec<String> = scenario.to_toml().lines().map(str::to_owned).collect();
    let mut given: Vec<String> = text.lines().map(str::to_owned).collect();
    written.sort();
    given.sort();
    assert_eq!(written, given);
    assert_eq!(scenario.canonical(false).to_toml().lines().next(), Some("sample = \"0s\""));
    assert_eq!(scenario.canonical(true), scenario);
}

#[test]
fn a_patch_changes_what_it_names() {
    let scenario = Scenario::from_toml(&format!("{NETWORK}[[flows]]\n")).expect("a scenario");
    let patch = |path: &str, value: &str| scenario.patched(&[(path.to_owned(), value.to_owned())]);
    let patched = patch("flows[0].cc", "\"reno\"").expect("a flow has a cc");
    assert_eq!(patched.flows[0].cc.as_deref(), Some("reno"));
    assert_eq!(patch("trace.flows", "[0]").expect("made").trace.map(|t| t.flows), Some(vec![0]));
    assert_names(&patch("flows[3].cc", "\"reno\"").unwrap_err().to_string(), &["there is no [3]"]);
    let wrong = patch("dumbbell.buffer", "\"20 pkts\"").unwrap_err().to_string();
    assert_names(&wrong, &["dumbbell.buffer", "20 pkts", "20p"]);
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
