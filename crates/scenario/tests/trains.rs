//! `quantum = "auto"` makes the trains that Linux's autosizing makes: those that reached the
//! bottleneck in the runs of Linux 6.18 with default senders (`train_mean` in
//! validation/linux.jsonl: a train ends with a gap of 15 µs or another flow's packet).

use narrows_scenario::{Checked, Scenario, run_tapped};
use narrows_sim::{Crossing, Tap, TapPoint};
use std::sync::{Arc, Mutex};

/// Counts packets and trains at the bottleneck from 6 s on.
#[derive(Clone, Default)]
struct Trains(Arc<Mutex<Counted>>);

#[derive(Default)]
struct Counted {
    last: Option<(u32, f64)>,
    packets: f64,
    trains: f64,
}

impl Tap for Trains {
    fn crossing(&mut self, crossing: &Crossing) {
        let at = crossing.at.seconds();
        if crossing.point != TapPoint::Arrival || crossing.link != 0 || at < 6.0 {
            return;
        }
        let mut counted = self.0.lock().expect("one thread");
        let goes_on =
            counted.last.is_some_and(|(flow, before)| flow == crossing.flow && at - before < 15e-6);
        counted.last = Some((crossing.flow, at));
        counted.packets += 1.0;
        counted.trains += if goes_on { 0.0 } else { 1.0 };
    }
}

/// Mean train of `flows` CUBIC flows.
fn mean_train(flows: u32, rate: &str, rtt: &str, buffer: &str) -> f64 {
    let text = format!(
        "duration = \"20s\"\nsample = \"0s\"\n[dumbbell]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\n\
         buffer = \"{buffer}\"\n[[flows]]\ncc = \"cubic\"\ncount = {flows}\n"
    );
    let scenario = Scenario::from_toml(&text).expect("a scenario");
    let trains = Trains::default();
    let checked = Checked::new(scenario).expect("checked");
    run_tapped(&checked, 1, Box::new(trains.clone())).expect("nothing is traced");
    let counted = trains.0.lock().expect("one thread");
    counted.packets / counted.trains
}

#[test]
fn trains_are_as_long_as_linuxs_within_a_fifth() {
    let linux = [
        (1, "50Mbps", "20ms", "20p", 3.67),
        (4, "50Mbps", "20ms", "20p", 2.01),
        (1, "100Mbps", "40ms", "0.5bdp", 8.55),
        (4, "100Mbps", "40ms", "0.5bdp", 2.23),
        (4, "100Mbps", "40ms", "1bdp", 2.33),
    ];
    for (flows, rate, rtt, buffer, theirs) in linux {
        let ours = mean_train(flows, rate, rtt, buffer);
        assert!(
            (ours / theirs - 1.0).abs() < 0.2,
            "{flows} flows, {rate}, {rtt}, {buffer}: {ours:.2} packets, in Linux {theirs}"
        );
    }
}
