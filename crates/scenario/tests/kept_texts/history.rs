//! What happened in a run, as a hash.

use narrows_scenario::{Checked, History, Results, run_tapped};

/// What happened in a run of `checked`: a hash, and the results.
pub fn history(checked: &Checked) -> (u64, Results) {
    let history = History::default();
    let results = run_tapped(checked, 1, Box::new(history.clone())).expect("nothing is traced");
    let mut hash = history.so_far();
    for flow in &results.flows {
        let counted = &flow.summary.sender;
        for number in [
            counted.sent,
            u64::from(counted.lost),
            u64::from(counted.epochs),
            u64::from(counted.timeouts),
            flow.summary.arrived,
            flow.summary.duplicates,
            flow.summary.finished.map_or(0, |time| time.picos()),
        ] {
            hash.number(number);
        }
    }
    results.transfers.completion_time.iter().for_each(|time| hash.number(time.to_bits()));
    (hash.0, results)
}
