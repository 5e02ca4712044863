//! Laws written as expressions, beside the same laws in Rust.

mod ran;

use narrows_control::Ack;
use narrows_control::registry::Birth;
use narrows_learn::{Formula, FormulaLaw, Written};
use narrows_scenario::OwnLaw;
use narrows_signal::Reply;
use narrows_units::Time;
use proptest::prelude::*;
use ran::ran;
use std::sync::{Arc, Mutex};

fn reno() -> Written {
    let lines = |all: &[&str]| all.iter().map(|line| (*line).to_owned()).collect();
    Written {
        state: vec![("target".to_owned(), "0".to_owned())],
        on_ack: lines(&[
            "target = if(window < ssthresh, min(window + packets, ssthresh), window + packets / window)",
            "window = if(window_limited and not recovering, target, window)",
        ]),
        on_loss: lines(&[
            "ssthresh = if(opens_epoch, max(window / 2, 2), ssthresh)",
            "window = if(timeout, 1, if(opens_epoch, ssthresh, window))",
        ]),
        on_interval: Vec::new(),
        own_recovery: false,
    }
}

fn law(written: &Written, said: &Arc<Mutex<Vec<String>>>) -> FormulaLaw {
    let said = Arc::clone(said);
    let complain = Arc::new(move |message| said.lock().expect("one thread").push(message));
    let formula = Formula::new(written).unwrap_or_else(|error| panic!("{error}"));
    FormulaLaw::new("mine".to_owned(), formula, complain)
}

/// Packet by packet the same.
#[test]
fn renos_law_is_renos() {
    let said = Arc::default();
    let (ours, theirs) = (ran("mine", Some(law(&reno(), &said))), ran("sack", None::<FormulaLaw>));
    for (ours, theirs) in ours.flows.iter().zip(&theirs.flows) {
        assert_eq!(ours.summary.sender, theirs.summary.sender);
        assert!(ours.summary.sender.sent > 10_000);
    }
    assert!(said.lock().expect("one thread").is_empty());
}

/// Packets of a law that does not look at marks are not marked: they would be no answer.
#[test]
fn only_a_law_that_names_marks_hears_them() {
    let said = Arc::default();
    assert!(!law(&reno(), &said).hears_marks());
    let halves = vec!["window = if(marked, window / 2, window + packets / window)".to_owned()];
    let of_acks = Written { on_ack: halves, ..Written::default() };
    assert!(law(&of_acks, &said).hears_marks());
    let slows = vec!["rate = if(marked > 0, rate / 2, rate + 10)".to_owned()];
    let of_intervals = Written { on_interval: slows, ..Written::default() };
    assert!(law(&of_intervals, &said).hears_marks());
}

/// Once an RTT: what arrived, a little more, twice that in flight.
#[test]
fn a_law_may_pace_once_an_rtt() {
    let lines = [
        "gain = if(rtt < 1.2 * conn_min_rtt, 1.1, 0.9)",
        "rate = if(acked > 3, delivery_rate * gain, rate)",
        "window = max(10, 2 * rate * srtt)",
    ];
    let on_interval = lines.map(str::to_owned).to_vec();
    let state = vec![("gain".to_owned(), "1".to_owned())];
    let written = Written { state, on_interval, own_recovery: true, ..Written::default() };
    let said = Arc::default();
    let results = ran("mine", Some(law(&written, &said)));
    assert!(results.goodput > 17e6, "{}", results.goodput);
    assert!(said.lock().expect("one thread").is_empty());
}

#[test]
fn what_is_out_of_bounds_is_said_once_and_holds_nothing_up() {
    let on_ack = vec!["window = window - 1".to_owned()];
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    ran("mine", Some(law(&Written { on_ack, ..Written::default() }, &said)));
    let said = said.lock().expect("one thread");
    assert_eq!(said.len(), 2, "one for each flow: {said:?}");
    let right = "from 1 to 1e7 packets; max(…, 1) keeps it there";
    assert_eq!(said[0], format!("mine: window became 0, which is not {right}"));
}

#[test]
fn what_is_wrong_is_named_by_its_place() {
    let refused = |written: &Written| Formula::new(written).expect_err("it is wrong");
    assert!(refused(&Written::default()).starts_with("nothing ever sets window or rate"));
    let on_ack = vec!["window = windw".to_owned()];
    let said = refused(&Written { on_ack, ..Written::default() });
    assert!(said.starts_with("on_ack[0]: unknown name \"windw\"; did you mean"), "{said}");
    let state = vec![("rtt".to_owned(), "1".to_owned())];
    let said = refused(&Written { state, ..reno() });
    assert_eq!(said, "state: \"rtt\" cannot be a variable; call it otherwise");
    let on_loss = vec!["now = 3".to_owned()];
    let said = refused(&Written { on_loss, ..reno() });
    assert!(said.starts_with("on_loss[0]: unknown variable \"now\""), "{said}");
}

const WORDS: [&str; 32] = [
    "window", "rate", "packets", "rtt", "1", "0", "2.5", "1e9", "-", "+", "*", "/", "(", ")", ",",
    "=", "<", ">=", "==", "!=", "and", "or", "not", "if(", "min(", "sqrt(", "log2(", "floor(", ".",
    "e", "$", "…",
];

proptest! {
    /// Whatever stands there is read or refused; what is read runs or complains.
    #[test]
    fn any_text_is_a_law_or_is_none(words in prop::collection::vec(0..WORDS.len(), 0..40)) {
        let text: Vec<&str> = words.into_iter().map(|word| WORDS[word]).collect();
        for text in [text.join(""), text.join(" "), format!("window = {}", text.join(" "))] {
            let on_ack = vec![text];
            let Ok(formula) = Formula::new(&Written { on_ack, ..Written::default() }) else {
                continue;
            };
            let law = FormulaLaw::new("any".to_owned(), formula, Arc::new(|_| ()));
            let mut controller = law.make(&Birth::default());
            let ack = Ack { packets: 1.0, in_flight: 10.0, window_limited: true, ..nothing() };
            (0..20).for_each(|_| controller.on_ack(&ack));
            prop_assert!((1.0..=1e7).contains(&controller.window()));
        }
    }
}

fn nothing() -> Ack {
    Ack {
        now: Time::ZERO,
        packets: 0.0,
        newest: 0,
        next: 1,
        rtt: None,
        rtt_is_fresh: false,
        in_flight: 0.0,
        window_limited: false,
        recovering: false,
        marked: 0.0,
        reply: Reply::default(),
        rate: None,
    }
}
