//! A link that is its host's device: TCP is told when it is full, everybody else loses packets.

use narrows_scenario::{Checked, Results, Scenario};
use std::ops::ControlFlow;

/// Flows over a card of 100 Mbps with a queue of 50 packets, RTT 40 ms.
fn text(device: bool, flows: &str) -> String {
    format!(
        "duration = \"30s\"\nwarmup = \"0s\"\nsample = \"0s\"\n\
         [[links]]\nfrom = \"host\"\nto = \"peer\"\nname = \"card\"\nrate = \"100Mbps\"\n\
         delay = \"20ms\"\nbuffer = \"50p\"\nduplex = false\ndevice = {device}\n\
         [[links]]\nfrom = \"peer\"\nto = \"host\"\nrate = \"1Gbps\"\ndelay = \"20ms\"\n\
         duplex = false\n{flows}"
    )
}

fn flow(settings: &str) -> String {
    format!("[[flows]]\nfrom = \"host\"\nto = \"peer\"\n{settings}\n")
}

fn run(device: bool, flows: &str) -> Results {
    run_text(&text(device, flows))
}

fn run_text(text: &str) -> Results {
    let checked = Scenario::from_toml(text).and_then(Checked::new);
    let checked = checked.unwrap_or_else(|error| panic!("{error}"));
    narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs")
}

fn drops(results: &Results) -> u64 {
    results.links.iter().map(|link| link.summary.drops).sum()
}

/// Two flows of each recovery fill the card without a packet lost, where a router's queue drops.
#[test]
fn tcp_keeps_its_packets_and_fills_the_card() {
    for cc in ["sack", "newreno", "cubic", "reno+reno", "bbr", "ltcp"] {
        for tcp in ["linux", "linux24", "ns2"] {
            // Its samples of rates need a finer clock than 2.4 had.
            if cc == "bbr" && tcp == "linux24" {
                continue;
            }
            let flows = flow(&format!("cc = \"{cc}\"\ntcp = \"{tcp}\"\ncount = 2"));
            let told = run(true, &flows);
            let sent_again: u32 =
                told.flows.iter().map(|flow| flow.summary.sender.retransmitted).sum();
            assert!(drops(&told) <= 2, "{cc} {tcp}: {}", drops(&told));
            assert!(sent_again <= 2, "{cc} {tcp}: {sent_again} were sent again");
            let goodput: f64 = told.flows.iter().map(|flow| flow.goodput).sum();
            assert!(goodput > 60e6, "{cc} {tcp}: {goodput}");
            if cc != "bbr" {
                assert!(drops(&run(false, &flows)) > 20, "{cc} {tcp}: a router's queue drops");
            }
        }
    }
}

/// The window answers as to a loss: Reno's falls to half, after slow start and whenever the card is
/// full again.
#[test]
fn a_full_card_reduces_the_window() {
    let flows = flow("cc = \"sack\"\ntcp = \"linux24\"");
    let text = text(true, &flows).replace("sample = \"0s\"", "sample = \"10ms\"");
    let windows = run_text(&text.replace("\"30s\"", "\"60s\"")).flow_series.window;
    let falls: Vec<f64> =
        windows.windows(2).map(|pair| pair[1] / pair[0]).filter(|ratio| *ratio < 0.9).collect();
    assert!(falls.len() >= 3, "{falls:?}");
    // A sample of the first is of a window that still doubled.
    assert!(falls[1..].iter().all(|ratio| (ratio - 0.5).abs() < 0.001), "{falls:?}");
}

/// TCP hears of the room that there is, which a change has made less.
#[test]
fn a_card_whose_queue_becomes_shorter_tells_of_that() {
    let text = text(true, &flow("cc = \"sack\"\ncount = 2"));
    let changes = "changes = [{ at = \"500ms\", buffer = \"20p\" }, { at = \"1500ms\", buffer = \"50p\" }]\n\
                   repeat = \"2s\"\ndevice = true";
    let results = run_text(&text.replace("device = true", changes));
    assert!(drops(&results) <= 2, "{}", drops(&results));
}

/// UDP is told nothing.
#[test]
fn datagrams_and_quic_lose_packets_there() {
    for settings in
        ["cc = \"cubic+quic\"", "datagrams = \"constant\"\napp = { rate = \"120Mbps\" }"]
    {
        let flows = flow(settings);
        assert!(drops(&run(true, &flows)) > 20, "{settings}");
        assert_eq!(drops(&run(true, &flows)), drops(&run(false, &flows)), "{settings}");
    }
}

#[test]
fn a_device_has_a_queue_that_can_be_full() {
    let wrong = |from: &str, to: &str| {
        let text = text(true, &flow("cc = \"sack\"")).replace(from, to);
        Scenario::from_toml(&text).and_then(Checked::new).err().expect("an error").to_string()
    };
    let unlimited = wrong("buffer = \"50p\"\n", "");
    assert!(unlimited.starts_with("links[0].device: has no effect"), "{unlimited}");
    let codel = wrong("buffer = \"50p\"\n", "buffer = \"50p\"\nqueue = \"codel\"\n");
    assert!(codel.starts_with("links[0].device: is for drop-tail"), "{codel}");
}
