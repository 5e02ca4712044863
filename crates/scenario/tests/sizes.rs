//! Sizes in bytes are sizes in bytes: the last packet of a flow may be short.

use narrows_scenario::{Checked, FlowResult, Scenario, run};
use std::ops::ControlFlow;

/// One flow of `size` bytes over 10 Mbps and 40 ms.
fn sent(size: u64, cc: &str) -> FlowResult {
    let text = format!(
        "duration = \"10s\"\nwarmup = \"0s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\n\
         buffer = \"20p\"\n[[flows]]\ncc = \"{cc}\"\nsize = \"{size}B\"\n"
    );
    let scenario = Scenario::from_toml(&text).expect("a scenario");
    let checked = Checked::new(scenario).expect("checked");
    let results = run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("nothing is traced");
    results.flows[0].clone()
}

#[test]
fn the_last_packet_takes_the_time_of_its_bytes() {
    for cc in ["cubic", "etcp"] {
        let time = |size| sent(size, cc).completion_time.expect("it ends");
        // 1348 bytes less at 10 Mbps; the other links are of 100 Gbps.
        let less = time(1448) - time(100);
        assert!((less - 1348.0 * 8.0 / 10e6).abs() < 1e-6, "{cc}: {less} s");
        // A packet more, of one byte and 52 of headers, behind the first.
        let more = time(1449) - time(1448);
        assert!((more - 53.0 * 8.0 / 10e6).abs() < 1e-6, "{cc}: {more} s");
    }
}

#[test]
fn goodput_is_of_the_bytes_that_were_asked_for() {
    for size in [1, 100, 1448, 1449, 100_000] {
        let goodput = sent(size, "cubic").goodput;
        assert!((goodput - size as f64 * 8.0 / 10.0).abs() < 1e-9, "{size} B: {goodput} bit/s");
    }
}
