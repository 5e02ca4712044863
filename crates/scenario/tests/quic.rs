//! QUIC against TCP under the same law.

use narrows_scenario::{Checked, Scenario, run};
use std::ops::ControlFlow;

/// The utilisation of a bottleneck of `rate` and `rtt` with 1 BDP of buffer, which loses packets
/// with probability `loss`, by one flow.
fn utilisation((rate, rtt): (&str, &str), flow: &str, loss: f64, seed: u64) -> f64 {
    let text = format!(
        "duration = \"40s\"\nsample = \"0s\"\n[dumbbell]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\n\
         buffer = \"1bdp\"\nloss = \"{loss:e}\"\n[[flows]]\n{flow}\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a sound scenario");
    let results = run(&checked, seed, None, |_| ControlFlow::Continue(())).expect("it runs");
    results.bottleneck().summary.utilisation
}

/// The link loses the same packets by their order, so the same law finds the same losses. Both
/// send packet by packet, as soon as the window allows: TCP's bursts (`quantum = "auto"`) and
/// QUIC's pacing, which are the defaults, make a difference of their own (docs/quic.md).
#[test]
fn the_same_random_losses_give_the_same_utilisation_over_tcp_and_quic() {
    const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;
    let paths = [("100Mbps", "40ms"), ("100Mbps", "10ms"), ("50Mbps", "100ms"), ("20Mbps", "40ms")];
    for path in paths {
        for loss in [1e-5, 5e-5, 1e-4, 2e-4, 1e-3] {
            let mean = |flow| {
                let each = SEEDS.map(|seed| utilisation(path, flow, loss, seed));
                each.sum::<f64>() / SEEDS.count() as f64
            };
            let tcp = mean("cc = \"cubic\"\nquantum = 1");
            let quic = mean("cc = \"cubic+quic\"\npacing = \"none\"");
            println!(
                "{path:?}, {loss}: TCP {tcp:.4}, QUIC {quic:.4}, difference {:.4}",
                quic - tcp
            );
            assert!((tcp - quic).abs() < 0.02, "{path:?}, {loss}: TCP {tcp}, QUIC {quic}");
        }
    }
}

/// RFC 9002 §7.2: ten packets, but no more than 14,720 bytes or two packets, of UDP payload.
#[test]
fn the_first_flight_of_large_packets_is_two() {
    let round_trips = |size: &str, more: &str| {
        let text = format!(
            "duration = \"2s\"\n[dumbbell]\nrate = \"10Gbps\"\nrtt = \"100ms\"\n\
             buffer = \"1000p\"\n[[flows]]\ncc = \"cubic+quic\"\nsize = \"{size}\"\n\
             pacing = \"none\"\n{more}\n"
        );
        let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a sound scenario");
        let results = run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs");
        (results.flows[0].completion_time.expect("it ends") / 0.1).floor()
    };
    // The last data arrives half a round trip after it has left, which is one after the request.
    let large = "packet = \"9000B\"";
    assert_eq!(round_trips("17kB", large), 1.0, "2·8939 bytes");
    assert_eq!(round_trips("18kB", large), 2.0, "a third packet");
    assert_eq!(round_trips("26kB", &format!("{large}\ninitial_window = 3")), 1.0);
    assert_eq!((round_trips("14kB", ""), round_trips("15kB", "")), (1.0, 2.0), "10·1439 bytes");
}
