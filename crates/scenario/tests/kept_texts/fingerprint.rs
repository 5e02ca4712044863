//! Some sixty scenarios, and a hash of what happens in each: every packet that crosses a link
//! between routers, and what the flows counted. Work on speed leaves the hashes alone; a change of
//! behaviour changes them in the commit that says why:
//! `NARROWS_BLESS=1 cargo test -p narrows-scenario --test kept_texts`.
//!
//! What tables show is pinned apart from it, a line for each column, so that a new column only adds
//! lines, and voids no cache.

use crate::history::history;
use crate::kept;

use narrows_control::registry::LAWS;
use narrows_router::registry::QUEUES;
use narrows_scenario::{Checked, Fingerprint, Results, Scenario, TABLES, engine, table};

/// Each scenario by name: what its head, `[dumbbell]` and `[[flows]]` say besides the same small
/// bottleneck.
const SCENARIOS: &[(&str, &str, &str, &str)] = &[
    ("reno", "", "", "cc = \"reno+reno\"\ncount = 3"),
    ("newreno", "", "", "cc = \"newreno\"\ncount = 3"),
    ("sack", "", "", "cc = \"sack\"\ncount = 3"),
    ("cubic", "", "", "cc = \"cubic\"\ncount = 3"),
    ("cubic over newreno", "", "", "cc = \"cubic:beta=0.8:s_max=160+newreno\"\ncount = 3"),
    ("ns2 sack", "tcp = \"ns2\"", "", "cc = \"sack\"\ncount = 3"),
    ("ns2 newreno", "tcp = \"ns2\"", "", "cc = \"newreno\"\ncount = 3"),
    ("ns2 reno, paced", "tcp = \"ns2\"", "", "cc = \"reno+reno\"\ncount = 3\npacing = \"even\""),
    ("exponential pacing", "", "", "cc = \"sack\"\ncount = 3\npacing = \"exponential\""),
    ("overhead", "", "", "cc = \"sack\"\ncount = 3\noverhead = \"1ms\""),
    ("batches", "", "", "cc = \"cubic\"\ncount = 3\nhost.batch = \"1ms\""),
    ("waits", "", "", "cc = \"cubic\"\ncount = 3\nhost.wait = \"200us\""),
    (
        "ticks and stalls",
        "",
        "",
        "cc = \"cubic\"\ncount = 3\npacing = \"even\"\n[flows.host]\ntick = \"4ms\"\n\
         stall = { every = \"50ms\", length = \"2ms\" }",
    ),
    ("RTTs", "", "rtt_step = \"10ms\"", "cc = \"cubic\"\ncount = 5"),
    (
        "two ways",
        "",
        "",
        "cc = \"cubic\"\ncount = 2\n[[flows]]\ncc = \"sack\"\nreverse = true\ncount = 2",
    ),
    ("wire losses", "", "loss = \"0.5%\"", "cc = \"cubic\"\ncount = 3"),
    ("bursts of losses", "", "loss = \"0.5%\"\nloss_burst = 4", "cc = \"newreno\"\ncount = 3"),
    ("reordering", "", "jitter = \"5ms\"\nreorder = true", "cc = \"sack\"\ncount = 3"),
    ("short flows", "", "", "cc = \"cubic\"\ncount = 20\nsize = \"200kB\"\nstart_spread = \"2s\""),
    ("application-limited", "", "", "cc = \"cubic\"\ncount = 3\napp = { rate = \"1Mbps\" }"),
    ("offload", "", "", "cc = \"cubic\"\ncount = 3\nquantum = 8\nack_every = 8"),
    ("limited slow start", "", "buffer = \"200p\"", "cc = \"sack\"\nmax_ssthresh = 20"),
    ("etcp", "", "", "cc = \"etcp\"\ncount = 3"),
    (
        "etcp, unreliable, even gaps",
        "",
        "",
        "cc = \"etcp\"\ncount = 3\nreliable = false\npacing = \"even\"",
    ),
    ("etcp-rate", "", "rtt_step = \"10ms\"", "cc = \"etcp-rate\"\ncount = 3"),
    ("highspeed", "", "buffer = \"200p\"", "cc = \"highspeed\"\nmax_ssthresh = 100"),
    ("scalable", "", "buffer = \"200p\"", "cc = \"scalable\"\nmax_ssthresh = 100"),
    ("fast", "", "buffer = \"200p\"", "cc = \"fast:alpha=20\"\ncount = 3"),
    (
        "web users",
        "",
        "",
        "cc = \"cubic\"\ncount = 20\nweb = { think = \"1s\", persistent = \"20%\" }",
    ),
    ("quic", "", "", "cc = \"cubic+quic\"\ncount = 3"),
    (
        "quic, lossy and reordering",
        "",
        "loss = \"0.5%\"\njitter = \"5ms\"\nreorder = true",
        "cc = \"quic\"\ncount = 3\nquantum = 4\nack_every = 4",
    ),
    ("bbr over quic", "", "", "cc = \"bbr+quic\"\ncount = 3"),
    ("etcp over quic", "", "", "cc = \"etcp+quic\"\ncount = 3"),
    (
        "web users over quic",
        "",
        "",
        "cc = \"cubic+quic\"\ncount = 20\nweb = { think = \"1s\", persistent = \"20%\" }",
    ),
    (
        "ECN over quic",
        "",
        "buffer = \"60p\"\nqueue = \"red\"",
        "cc = \"cubic+quic\"\ncount = 3\necn = true",
    ),
    ("aimd", "", "", "cc = \"aimd:alpha=2:beta=0.7\"\ncount = 3"),
    ("bbr", "", "", "cc = \"bbr\"\ncount = 3"),
    ("bbr with losses", "", "loss = \"0.5%\"", "cc = \"bbr\"\ncount = 3"),
    ("bbr of the draft", "", "", "cc = \"bbr:as=draft\"\ncount = 3"),
    ("bbr2", "", "", "cc = \"bbr2\"\ncount = 3"),
    ("bbr2 with losses", "", "loss = \"0.5%\"", "cc = \"bbr2\"\ncount = 3"),
    ("bbr with marks", "", "rtt = \"4ms\"\nmark = \"5p\"", "cc = \"bbr:ecn=true\"\ncount = 3"),
    ("bbr1", "", "", "cc = \"bbr1\"\ncount = 3"),
    ("copa", "", "", "cc = \"copa\"\ncount = 3"),
    ("ledbat++", "", "", "cc = \"ledbat++\"\ncount = 3"),
    ("bbr, application-limited", "", "", "cc = \"bbr\"\ncount = 3\napp = { rate = \"1Mbps\" }"),
    ("bic", "", "buffer = \"200p\"", "cc = \"bic\"\ncount = 2"),
    ("dctcp", "", "mark = \"5p\"", "cc = \"dctcp\"\ncount = 3"),
    ("htcp", "", "buffer = \"50p\"", "cc = \"htcp\"\ncount = 2"),
    (
        "htcp, its options",
        "",
        "buffer = \"50p\"",
        "cc = \"htcp:throughput_ratio=true:rtt_scaling=true\"\ncount = 2",
    ),
    ("ns2 htcp", "tcp = \"ns2\"", "buffer = \"20p\"", "cc = \"htcp\""),
    ("illinois", "", "buffer = \"50p\"", "cc = \"illinois\"\ncount = 2"),
    ("ltcp", "", "buffer = \"200p\"", "cc = \"ltcp\"\ncount = 2"),
    ("ltcp, geometric", "", "buffer = \"200p\"", "cc = \"ltcp:geometric=true\"\ncount = 2"),
    (
        "rate halving",
        "tcp = \"ns2\"",
        "",
        "cc = \"scalable\"\ncount = 2\nrate_halving = 0.5\nmax_ssthresh = 20",
    ),
    ("vegas", "", "", "cc = \"vegas\"\ncount = 2"),
    ("westwood", "", "", "cc = \"westwood\"\ncount = 2"),
    (
        "datagrams by turns",
        "",
        "",
        "datagrams = \"constant\"\napp = { rate = \"12Mbps\", on = \"500ms\", off = \"300ms\", periods = \"exponential\" }",
    ),
    (
        "ECN through RED",
        "",
        "buffer = \"60p\"\nqueue = \"red\"",
        "cc = \"cubic\"\ncount = 3\necn = true",
    ),
    (
        "RED as ns-2's",
        "tcp = \"ns2\"",
        "buffer = \"60p\"\nqueue = \"red:wait=true:gentle=true\"",
        "cc = \"reno+reno\"\ncount = 3",
    ),
    ("round robin", "", "queue = \"rr\"", "cc = \"cubic\"\ncount = 3"),
    ("codel", "", "buffer = \"100p\"\nqueue = \"codel\"", "cc = \"cubic\"\ncount = 3"),
    (
        "fq-codel",
        "",
        "buffer = \"100p\"\nqueue = \"fq-codel\"",
        "cc = \"cubic\"\ncount = 3\n[[flows]]\ntelnet = \"20ms\"",
    ),
    (
        "thresholds of fq-codel",
        "",
        "buffer = \"100p\"\nqueue = \"fq-codel:ce_threshold=1ms:ce_selector=ect1\"",
        "cc = \"prague\"\n[[flows]]\ncc = \"cubic\"\necn = true",
    ),
    (
        "fq",
        "",
        "buffer = \"100p\"\nqueue = \"fq:ce_threshold=2ms\"",
        "cc = \"cubic\"\necn = true\ncount = 3\n[[flows]]\ncc = \"cubic\"",
    ),
    ("pie", "", "buffer = \"100p\"\nqueue = \"pie\"", "cc = \"cubic\"\ncount = 3"),
    (
        "prague",
        "",
        "buffer = \"100p\"\nqueue = \"dualpi2\"",
        "cc = \"prague\"\ncount = 3\n[[flows]]\ncc = \"cubic\"\necn = true",
    ),
    (
        "dualpi2",
        "",
        "buffer = \"100p\"\nqueue = \"dualpi2\"",
        "cc = \"dctcp:l4s=true\"\n[[flows]]\necn = true",
    ),
    (
        "xcp",
        "tcp = \"ns2\"",
        "buffer = \"100p\"\nqueue = \"xcp\"",
        "cc = \"xcp+reno\"\ncount = 3\n[[flows]]\ncc = \"xcp:halve=false\"\npacing = \"even\"\nreverse = true",
    ),
    (
        "gwa, round robin",
        "",
        "buffer = \"50p\"\nqueue = \"gwa-rr\"",
        "cc = \"gwa\"\ncount = 3\n[[flows]]\ncc = \"gwa\"\ntelnet = \"20ms\"",
    ),
    (
        "gwa, first in, first out",
        "",
        "buffer = \"50p\"\nqueue = \"gwa-fcfs\"",
        "cc = \"gwa\"\ncount = 3",
    ),
    ("ba", "", "buffer = \"50p\"\nqueue = \"ba\"", "cc = \"ba\"\ncount = 3"),
    ("files", "", "", "cc = \"sack\"\ncount = 10\nfiles = { off = \"200ms\" }"),
    ("datagrams", "", "", "datagrams = \"poisson\"\napp = { rate = \"12Mbps\" }"),
    (
        "habits of linux5",
        "tcp = \"linux5\"",
        "",
        "cc = \"bbr2\"\ncount = 2\n[[flows]]\ncc = \"cubic\"\ncount = 2",
    ),
    (
        "habits of l4steam",
        "tcp = \"l4steam\"",
        "queue = \"dualpi2\"",
        "cc = \"prague\"\ncount = 2\n[[flows]]\ncc = \"cubic\"\ncount = 2",
    ),
    ("habits of linux24", "tcp = \"linux24\"", "", "cc = \"reno\"\ncount = 3"),
];

/// Whole scenarios by name. They give as little as they can, so that what is not given is pinned as
/// well; and they have networks other than a dumbbell whose flows are alike.
const WHOLE: &[(&str, &str)] = &[
    (
        "defaults",
        "[dumbbell]\nrate = \"1Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n[[flows]]\n[[flows]]\nstart = \"1s\"\n",
    ),
    (
        "ns2 defaults",
        "tcp = \"ns2\"\n[dumbbell]\nrate = \"1Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n[[flows]]\n",
    ),
    (
        "web defaults",
        "[dumbbell]\nrate = \"2Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n[[flows]]\ncount = 20\nweb = {}\n",
    ),
    (
        "limited slow start by default",
        "duration = \"3s\"\n[dumbbell]\nrate = \"50Mbps\"\nrtt = \"40ms\"\nbuffer = \"400p\"\n[[flows]]\ncc = \"sack\"\nslow_start = \"limited\"\n",
    ),
    (
        "delayed acknowledgements by default",
        "duration = \"3s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n[[flows]]\nack_every = 64\n",
    ),
    (
        "RTTs of its own",
        "duration = \"4s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\nreverse = { buffer = \"5p\" }\naccess_rate = \"50Mbps\"\n[[flows]]\ncount = 3\nrtt_spread = \"30ms\"\n[[flows]]\nrtt = \"90ms\"\nstarts = [\"500ms\"]\nstop = \"3s\"\n[[flows]]\nreverse = true\n",
    ),
    (
        "a send buffer",
        "duration = \"5s\"\n[dumbbell]\nrate = \"20Mbps\"\nrtt = \"60ms\"\nbuffer = \"40p\"\n[[flows]]\ncount = 2\nsend_buffer = \"150kB\"\n[[flows]]\ncc = \"bbr1\"\ntcp = \"linux5\"\nsend_buffer = \"150kB\"\nwrite_size = \"40kB\"\n",
    ),
    (
        "halving that stalls",
        "tcp = \"ns2\"\nduration = \"6s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n[[flows]]\ncc = \"scalable\"\ncount = 2\nrate_halving = 0.5\noverhead = \"1ms\"\nhalving_stalls = true\n",
    ),
    (
        "parking lot",
        "duration = \"4s\"\n[parking_lot]\nhops = 3\nrate = \"10Mbps\"\ndelay = \"5ms\"\nbuffer = \"0.5bdp\"\naccess_delay = \"2ms\"\n[[flows]]\ncount = 2\n[[flows]]\nover = [2, 2]\nrtt = \"60ms\"\n[[flows]]\nover = [1, 2]\nreverse = true\nweb = { think = \"200ms\" }\n",
    ),
    (
        "chain",
        "duration = \"4s\"\n[chain]\naccess_rate = \"40Mbps\"\n[[chain.hops]]\nrate = \"10Mbps\"\ndelay = \"5ms\"\nbuffer = \"20p\"\n[[chain.hops]]\nrate = \"5Mbps\"\ndelay = \"15ms\"\nbuffer = \"30kB\"\nqueue = \"codel\"\n[[flows]]\ncount = 2\n[[flows]]\nover = [2, 2]\nrtt_spread = \"10ms\"\ncount = 2\n",
    ),
    (
        "links",
        "duration = \"4s\"\nrtt = \"30ms\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"20Mbps\"\ndelay = \"5ms\"\n[[links]]\nfrom = \"b\"\nto = \"c\"\nrate = \"10Mbps\"\ndelay = \"10ms\"\nbuffer = \"0.5bdp\"\nmark = \"10p\"\nduplex = false\n[[links]]\nfrom = \"c\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"20ms\"\nbuffer = \"50p\"\nduplex = false\n[[flows]]\nfrom = \"a\"\nto = \"c\"\ncount = 2\necn = true\nmax_window = \"1bdp\"\n[[flows]]\nfrom = \"c\"\nto = \"a\"\nfiles = { off = \"100ms\" }\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nreverse = true\nsize = \"500kB\"\n",
    ),
];

/// The scenarios whose tables are pinned: together they fill every column.
const SHOWN: &[&str] = &["two ways", "web users", "application-limited", "ECN through RED", "bbr"];

/// A scenario for each queue of the registry that has none of its own.
fn queues() -> Vec<(String, Checked)> {
    let is_named = |queue: &&str| {
        let named = format!("\"{queue}");
        SCENARIOS.iter().any(|(_, _, dumbbell, _)| dumbbell.contains(&named))
    };
    let names = QUEUES.iter().map(|queue| queue.name).filter(|queue| !is_named(queue));
    let build = |queue| {
        let network = format!("buffer = \"50p\"\nqueue = \"{queue}\"");
        (format!("queue {queue}"), scenario("", &network, "cc = \"cubic\"\ncount = 3"))
    };
    names.map(build).collect()
}

fn scenario(head: &str, dumbbell: &str, flows: &str) -> Checked {
    let unless_given = |field: &str, value: &str| {
        if dumbbell.contains(&format!("{field} = \"")) {
            String::new()
        } else {
            format!("{field} = \"{value}\"")
        }
    };
    let (buffer, rtt) = (unless_given("buffer", "20p"), unless_given("rtt", "40ms"));
    let text = format!(
        "duration = \"6s\"\n{head}\n[dumbbell]\nrate = \"10Mbps\"\n{rtt}\n{buffer}\n\
         {dumbbell}\n[[flows]]\n{flows}\n"
    );
    checked(&text)
}

fn checked(text: &str) -> Checked {
    Scenario::from_toml(text)
        .and_then(Checked::new)
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// The name of the engine's revision among the defaults.
const REVISION: &str = "engine revision";

/// The times that a scenario has without giving them, which no history shows, and the defaults of
/// all settings.
fn defaults() -> String {
    let (name, text) = WHOLE[0];
    let scenario = checked(text);
    let engine = engine();
    let (revision, _) = engine.split_once('-').expect("a revision and a hash");
    let mut lines = vec![
        format!("{REVISION} {revision}"),
        format!("{name} duration {}", scenario.duration),
        format!("{name} warmup {}", scenario.warmup),
        format!("{name} sample {}", scenario.sample.unwrap_or_default()),
        format!("{name} seed {}", scenario.seed),
    ];
    let laws = LAWS.iter().map(|law| (law.name, law.settings()));
    let queues = QUEUES.iter().map(|queue| (queue.name, queue.settings()));
    for (owner, settings) in laws.chain(queues) {
        for setting in settings {
            lines.push(format!("{owner} {} {}", setting.name, setting.default));
        }
    }
    lines.join("\n") + "\n"
}

/// Kept runs are found by what was given, so a default that changes needs another version of the
/// engine; one that is added does not.
#[test]
fn a_default_that_changes_voids_kept_runs() {
    const KEPT: &str = "crates/scenario/tests/defaults.txt";
    let (now, before) = (defaults(), kept::read(KEPT));
    let value_in = |text: &'_ str, name: &str| {
        let mut lines = text.lines().filter_map(|line| line.rsplit_once(' '));
        lines.find_map(|(known, value)| (known == name).then(|| value.to_owned()))
    };
    let version = |text: &str| value_in(text, REVISION);
    for (name, value) in before.lines().filter_map(|line| line.rsplit_once(' ')) {
        let changed = value_in(&now, name).is_some_and(|now| now != value);
        assert!(
            !changed || version(&now) != version(&before),
            "the default of {name} was {value} and is another now: raise REVISION in \
             crates/scenario/src/engine.rs, for runs that are kept had the old one"
        );
    }
    kept::assert_is(&now, KEPT);
}

/// A line for each column of each table, with a hash of what it shows.
fn columns(name: &str, results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for name_of_table in TABLES {
        let table = table(results, name_of_table).expect("TABLES names tables");
        for (field, column) in table.schema().fields().iter().zip(table.columns()) {
            let mut hash = Fingerprint::EMPTY;
            for buffer in column.to_data().buffers() {
                hash.bytes(buffer.as_slice());
            }
            lines.push(format!("{:016x} {name}/{name_of_table}.{}", hash.0, field.name()));
        }
    }
    lines
}

#[test]
fn what_happens_is_what_happened() {
    let named = SCENARIOS
        .iter()
        .map(|(name, head, dumbbell, flows)| ((*name).to_owned(), scenario(head, dumbbell, flows)));
    let whole = WHOLE.iter().map(|(name, text)| ((*name).to_owned(), checked(text)));
    let mut lines: Vec<(String, u64)> = named
        .chain(whole)
        .chain(queues())
        .map(|(name, checked)| (name, history(&checked).0))
        .collect();
    lines.sort();
    let text: String = lines.iter().map(|(name, hash)| format!("{hash:016x} {name}\n")).collect();
    kept::assert_is(&text, "crates/scenario/fingerprints.txt");
}

#[test]
fn tables_show_what_they_showed() {
    let shown = SCENARIOS.iter().filter(|(name, ..)| SHOWN.contains(name));
    let lines: Vec<String> = shown
        .flat_map(|(name, head, dumbbell, flows)| {
            columns(name, &history(&scenario(head, dumbbell, flows)).1)
        })
        .collect();
    kept::assert_is(&(lines.join("\n") + "\n"), "crates/scenario/tests/columns.txt");
}
