//! BBR on a path that loses packets at random.

use narrows_scenario::{Checked, Scenario, run};
use std::ops::ControlFlow;

/// Mean utilisation over three seeds of one flow at 100 Mbps, 40 ms, a buffer of 1 BDP and `loss`.
fn utilisation(loss: &str) -> f64 {
    let text = format!(
        "duration = \"15s\"\nsample = \"0s\"\n[dumbbell]\nrate = \"100Mbps\"\nrtt = \"40ms\"\n\
         buffer = \"1bdp\"\nloss = \"{loss}\"\n[[flows]]\ncc = \"bbr\"\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a scenario");
    let of = |seed| run(&checked, seed, None, |_| ControlFlow::Continue(())).expect("a run");
    (1..=3).map(|seed| of(seed).bottleneck().summary.utilisation).sum::<f64>() / 3.0
}

/// BBR takes up to 2 % of losses for chance (draft-ietf-ccwg-bbr §5.5.10.2). With proportional rate
/// reduction between its window and the wire it could not raise its flight in a recovery, and took
/// the rate that it then saw for the path's.
#[test]
fn losses_below_its_threshold_do_not_slow_it_down() {
    for (loss, least) in [("0.1%", 0.85), ("1%", 0.7)] {
        let found = utilisation(loss);
        assert!(found > least, "{loss}: {found:.3}, not above {least}");
    }
}
