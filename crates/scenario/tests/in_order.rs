//! `in_order` of a flow's series is what the application has: it waits for what is lost.

use narrows_scenario::{Checked, Scenario};
use std::ops::ControlFlow;

/// The most bits that have arrived and wait for a lost packet, at samples of 5 ms, and those that
/// wait at the end. 10 Mbps are offered over 100 Mbps and 100 ms for 9 of 12 s; one packet in 200
/// is lost.
fn waiting(flow: &str) -> (f64, f64) {
    let text = format!(
        "duration = \"12s\"\nsample = \"5ms\"\ntcp = \"ns2\"\npacket = \"1040B\"\n\
         [dumbbell]\nrate = \"100Mbps\"\nrtt = \"100ms\"\nbuffer = \"100p\"\nloss = \"0.5%\"\n\
         [[flows]]\n{flow}\napp = {{ rate = \"10Mbps\" }}\nstop = \"9s\"\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new).expect("a scenario");
    let results = narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(()))
        .expect("nothing stops it");
    let series = &results.flow_series;
    let (mut now, mut most) = (0.0_f64, 0.0_f64);
    for (arrived, ordered) in series.goodput.iter().zip(&series.in_order) {
        now += (arrived - ordered) * 5e-3;
        most = most.max(now);
    }
    (most, now)
}

/// What arrives while a lost packet is sent again: 10 Mbps for a round trip, 1 Mbit, and as much
/// again if it is lost again (1 in 200 of some 50).
#[test]
fn what_arrives_within_a_round_trip_waits_for_what_is_lost() {
    let (most, end) = waiting("cc = \"etcp\"");
    assert!((0.8e6..2.2e6).contains(&most), "at most {most} bits wait");
    assert!(end.abs() < 1.0, "{end} bits still wait when all has arrived");
}

#[test]
fn nothing_waits_if_delivery_keeps_no_order() {
    let (most, _) = waiting("cc = \"etcp\"\nreliable = false");
    assert!(most.abs() < 1.0, "{most} bits wait");
}
