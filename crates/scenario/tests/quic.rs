//! QUIC against TCP under the same law.

use narrows_scenario::{Checked, Scenario, run};
use std::ops::ControlFlow;

/// The utilisation of a bottleneck of 100 Mbps, 40 ms and 1 BDP with such losses, by one flow.
fn utilisation(cc: &str, loss: &str, seed: u64) -> f64 {
    let text = format!(
        "duration = \"40s\"\nsample = \"0s\"\n[dumbbell]\nrate = \"100Mbps\"\nrtt = \"40ms\"\n\
         buffer = \"1bdp\"\nloss = \"{loss}\"\n[[flows]]\ncc = \"{cc}\"\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a sound scenario");
    let results = run(&checked, seed, None, |_| ControlFlow::Continue(())).expect("it runs");
    results.bottleneck().summary.utilisation
}

/// The link loses the same packets by their order, so the same law finds the same losses, and only
/// the transport differs.
#[test]
fn the_same_random_losses_give_the_same_utilisation_over_tcp_and_quic() {
    for loss in ["0.001%", "0.01%", "0.1%"] {
        for seed in 1..=2 {
            let (tcp, quic) =
                (utilisation("cubic", loss, seed), utilisation("cubic+quic", loss, seed));
            assert!((tcp - quic).abs() < 0.02, "{loss}, seed {seed}: TCP {tcp}, QUIC {quic}");
        }
    }
}
