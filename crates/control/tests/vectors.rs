//! The known answers of `vectors/`: every law of the registry is checked against its own.

mod known_answers;

use known_answers::{Case, Vectors};
use narrows_control::Controller;
use narrows_control::registry::{self, Birth};

fn run(entry: &registry::Entry, case: &Case) -> Box<dyn Controller> {
    // Packets of 1000 bytes are easy by hand.
    let birth = Birth {
        given: case.given(),
        initial_window: case.start.window,
        initial_ssthresh: case.initial_ssthresh(),
        packet_bytes: 1000,
        ..Birth::default()
    };
    let recipe = entry.read(&birth).expect("a vector's settings are the law's");
    let mut controller = recipe.make(1);
    case.events.iter().for_each(|event| event.tell(&mut *controller));
    controller
}

#[test]
fn every_law_gives_its_known_answers() {
    for entry in registry::LAWS {
        let (vectors, path) = Vectors::of(entry.name);
        for (number, case) in vectors.case.iter().enumerate() {
            let controller = run(entry, case);
            let place = format!("{path}, case {number}");
            assert!(
                (controller.window() / case.window - 1.0).abs() < 1e-12,
                "{place}: window {} not {}",
                controller.window(),
                case.window
            );
            if let Some(ssthresh) = case.ssthresh {
                assert_eq!(controller.ssthresh(), ssthresh, "{place}");
            }
        }
    }
}
