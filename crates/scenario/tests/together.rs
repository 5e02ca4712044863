//! Mechanisms that meet: what each does alone still holds beside the others.

use narrows_scenario::{Checked, Results, Scenario};
use std::ops::ControlFlow;

fn run(text: &str) -> Results {
    let checked = Scenario::from_toml(text)
        .and_then(Checked::new)
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(()))
        .expect("nothing stops or traces it")
}

/// One minute of `flow` over `network`, between two nodes or in a dumbbell.
fn minute(network: &str, flow: &str) -> Results {
    run(&format!("duration = \"60s\"\nwarmup = \"0s\"\n{network}\n[[flows]]\n{flow}\n"))
}

fn dumbbell(rate: &str, more: &str) -> String {
    format!("[dumbbell]\nrate = \"{rate}\"\nrtt = \"100ms\"\nbuffer = \"100p\"\n{more}")
}

/// Files, and the time that each took in seconds, of those that are complete.
fn files(results: &Results) -> Vec<f64> {
    results.transfers.completion_time.iter().copied().filter(|time| time.is_finite()).collect()
}

/// Four of ten answers are lost, and with them what they say of damage and of decoded blocks: the
/// sender then believes blocks complete that are not.
#[test]
fn coded_data_arrives_although_damage_and_answers_get_lost() {
    let link = |from: &str, to: &str, loss: &str| {
        format!(
            "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nduplex = false\nrate = \"10Mbps\"\n\
             delay = \"20ms\"\nbuffer = \"200p\"\nloss = \"{loss}\"\n"
        )
    };
    let network = link("a", "b", "10%") + &link("b", "a", "40%");
    let flow = "from = \"a\"\nto = \"b\"\ncc = \"etcp\"\nsize = \"1MB\"\nraptorq = 100\n\
                header_checksum = true";
    let flow = &minute(&network, flow).flows[0].summary;
    assert!(flow.finished.is_some(), "{flow:?}");
}

/// Short files over a queue that marks nearly everything: each connection's last mark is met at one
/// packet, and must not stop the next.
#[test]
fn a_mark_at_one_packet_does_not_stop_the_next_connection() {
    let network = dumbbell("1Mbps", "mark = \"1p\"");
    let flow = |cc: &str| {
        format!(
            "count = 6\ntcp = \"ns2\"\nhandshake = true\ninitial_window = 1\ncc = \"{cc}\"\n\
             ecn = true\nfiles = {{ off = \"300ms\", mean = 3 }}"
        )
    };
    let [usual, stops] = ["reno+reno", "reno:mark_stops=true+reno"]
        .map(|cc| files(&minute(&network, &flow(cc))).len());
    assert!(2 * stops > usual, "{stops} files, and {usual} if a mark does not stop");
}

/// Half a minute of silence is not a round trip: the first acknowledgements after it are not spread
/// over as long.
#[test]
fn paced_acknowledgements_do_not_take_a_silence_for_a_round_trip() {
    let flow = "count = 4\ncc = \"reno+reno\"\nfiles = { off = \"10s\", mean = 100 }\n";
    let network = dumbbell("20Mbps", "");
    let longest = |flow: &str| files(&minute(&network, flow)).into_iter().fold(0.0, f64::max);
    let (usual, paced) = (longest(flow), longest(&format!("{flow}ack_pacing = true")));
    assert!(paced < 3.0 * usual, "{paced} s, and {usual} s without");
}

/// The gaps that a user asks for are those between a window's packets; a train that measures the
/// path keeps its own.
#[test]
fn gaps_leave_trains_even() {
    let network = dumbbell("20Mbps", "");
    let [usual, told] = ["", "pacing = \"exponential\""].map(|pacing| {
        let results = minute(&network, &format!("cc = \"etcp:start=delay\"\n{pacing}"));
        results.flow_series.window
    });
    assert_eq!(usual, told, "exponential gaps are the law's own");
}

/// BBR leaves its start by samples that the application does not limit: Linux 6.18 stays in it for
/// good under iperf3, which asks again each time that it has written 1.3 MB, and leaves it under a
/// program that waits in each write (windows of 5100 and 3380 packets from the third second on).
#[test]
fn a_program_that_asks_again_keeps_bbr_in_its_start() {
    let network = "[dumbbell]\nrate = \"100Mbps\"\nrtt = \"200ms\"\nbuffer = \"3000p\"";
    let median = |more: &str| {
        let flow = format!("cc = \"bbr1\"\nsend_buffer = \"4194304B\"\n{more}");
        let mut windows = minute(network, &flow).flow_series.window;
        windows.sort_by(f64::total_cmp);
        windows[windows.len() / 2]
    };
    let (iperf3, waits) = (median("write_size = \"1310720B\""), median(""));
    assert!(iperf3 > 4800.0 && waits < 3500.0, "{iperf3} and {waits}");
}
