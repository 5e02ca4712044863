//! How many decisions a second: `cargo run --release -p narrows-learn --example steps`. Each is of
//! an agent that paces at the rate of its link, over links as Aurora's, an interval of half an RTT.

#![expect(clippy::disallowed_types, reason = "it measures wall time")]

use narrows_learn::{Action, Laid, Places, Wanted, after};
use narrows_scenario::{Own, Scenario};
use narrows_units::Time;
use std::time::Instant;

const PLACES: usize = 16;
const STEPS: u32 = 2000;

fn main() {
    let mut places = Places::new(PLACES, 1, 1);
    let mut wanted = Vec::new();
    for place in 0..PLACES {
        let (rate, rtt) = (1.2 + 0.3 * place as f64, 100.0 + 50.0 * place as f64);
        let text = format!(
            "duration = \"100000s\"\nwarmup = \"0s\"\nsample = \"0s\"\n[dumbbell]\n\
             rate = \"{rate}Mbps\"\nrtt = \"{rtt}ms\"\nbuffer = \"100p\"\nloss = \"2%\"\n\
             [[flows]]\ncc = \"learner\"\n"
        );
        let scenario = Scenario::from_toml(&text).expect("a scenario");
        let laid = Laid::new(scenario, 1, Own::default(), None).expect("it is right");
        let one = Wanted { window: 1e6, rate: rate * 1e6 / 12000.0, seconds: rtt / 2000.0 };
        let until = after(Time::ZERO, one.seconds);
        let first = Action { window: one.window, rate: one.rate, until };
        places.put(place, laid.begin(vec![first]).expect("it is right"));
        wanted.push(one);
    }
    let all: Vec<usize> = (0..PLACES).collect();
    places.step(&all, None, false, &|| ()).expect("the first");
    let (begun, before) = (Instant::now(), places.delivered());
    for _ in 0..STEPS {
        places.step(&all, Some(&wanted), false, &|| ()).expect("a step");
    }
    let (seconds, packets) = (begun.elapsed().as_secs_f64(), places.delivered() - before);
    let steps = f64::from(STEPS) * PLACES as f64;
    println!(
        "{:.0} decisions/s, {:.2} million packets/s, {:.0} packets a decision",
        steps / seconds,
        packets as f64 / seconds / 1e6,
        packets as f64 / steps
    );
}
