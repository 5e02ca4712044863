//! Our own laws conform, but for departures that docs/conformance.md names.

use narrows_conform::{Row, Subject, Verdict, all, chosen, conform};
use narrows_control::registry::Birth;
use narrows_control::{Ack, Controller, Loss, Timeout};
use narrows_scenario::{Own, OwnLaw};
use std::sync::Arc;

fn rows(cc: &str, profile: Option<&str>, only: &str) -> Vec<Row> {
    let subject = Subject::new(cc, profile).expect("the profile is there");
    conform(&subject, &Own::default(), &chosen(only).expect("they are checks")).expect("it runs")
}

fn red(rows: &[Row]) -> String {
    let is_red =
        |row: &&Row| matches!(row.verdict, Verdict::Fails | Verdict::Differs | Verdict::Undecided);
    rows.iter().filter(is_red).map(|row| row.check.id).collect::<Vec<_>>().join(" ")
}

#[test]
fn our_laws_depart_where_it_is_said() {
    for (cc, departures) in [
        ("sack", "D9 X3"),
        ("cubic", "U6 X3"),
        ("quic", "E5"),
        ("cubic+quic", "U5 E5"),
        ("bbr", "B14"),
        ("bbr:as=draft", "B6 B14"),
        ("bbr2", "B1 B3 B14"),
        ("bbr+quic", "B14"),
        ("bbr1", ""),
        ("bbr1+quic", "B8"),
        ("bbr2+quic", "B1 B3 B5 B12 B14"),
        ("etcp", "T6"),
        ("etcp-rate", "R10 T6"),
        ("etcp-sqrt", "T6"),
        ("etcp-unit", "T6"),
        ("etcp+quic", "I1"),
        ("etcp-rate+quic", "U1 R9 R10 P2 P3 I1"),
        ("etcp-sqrt+quic", "I1"),
        ("etcp-unit+quic", "I1"),
        ("etcp-ecn", "U2 G7"),
        ("etcp-ecn+quic", "I1"),
        ("dctcp", ""),
        ("dctcp+quic", "E5 E6"),
        ("prague+quic", "E5"),
        ("newreno", "D7 D9 R4 R6 R9 E3"),
        ("reno+reno", "D4 D5 D7 D9 R4 R6 R9 E3"),
        ("copa", "T2"),
        ("copa+quic", "I1"),
        ("fast", ""),
        ("fast+quic", "I1 E5"),
        ("ledbat++", "R4"),
        ("ledbat+++quic", "R4 E5"),
        ("vegas", ""),
        ("vegas+quic", "R10 E5"),
    ] {
        let rows = rows(cc, None, "all");
        let told: Vec<String> =
            rows.iter().map(|row| format!("{} {}", row.check.id, row.seen)).collect();
        assert_eq!(red(&rows), departures, "{cc}: {told:?}");
        assert!(
            rows.iter().filter(|row| row.verdict == Verdict::Holds).count() >= 7,
            "{cc}: {told:?}"
        );
    }
}

/// Of these only that is asked which is asked of every controller.
#[test]
fn laws_of_the_high_speed_family_depart_in_nothing_but_quics_ecn() {
    for law in
        ["aimd", "bic", "highspeed", "htcp", "illinois", "ltcp", "multcp", "scalable", "westwood"]
    {
        for (cc, departures) in [(law.to_owned(), ""), (format!("{law}+quic"), "E5")] {
            let rows = rows(&cc, None, "all");
            assert_eq!(red(&rows), departures, "{cc}");
            assert!(rows.iter().filter(|row| row.verdict == Verdict::Holds).count() >= 7, "{cc}");
        }
    }
}

/// The checks that the small stack of `mutants` cannot turn red are turned red by settings.
#[test]
fn settings_that_are_no_longer_the_law_are_red() {
    for (cc, profile, expected) in [
        ("cubic:c=0.2", "cubic", "G2"),
        ("cubic:friendly=off", "cubic", "G4"),
        ("sack", "cubic", "G2"),
        ("sack", "cubic", "U5"),
        ("aimd:alpha=30", "cubic", "G3"),
        ("sack", "bbr", "B1"),
        ("sack", "bbr", "B2"),
        ("bbr1", "bbr", "B3"),
        ("sack", "bbr", "B14"),
        ("sack", "bbr", "B7"),
        ("cubic:beta=0.9", "prague", "E8"),
        ("sack", "dctcp", "E6"),
        ("sack", "bbr", "B6"),
        ("sack", "bbr", "B9"),
        ("aimd:alpha=100", "bbr", "B8"),
        ("bbr1", "bbr", "B12"),
        ("aimd:beta=0.05+quic", "bbr", "B13"),
    ] {
        let rows = rows(cc, Some(profile), expected);
        assert_eq!(red(&rows), expected, "{cc} as {profile}: {}", rows[0].seen);
    }
}

#[test]
fn a_repair_that_may_be_marked_is_red() {
    let checks = chosen("E4").expect("it is a check");
    for (repairs, expected) in [(false, ""), (true, "E4")] {
        let subject = Subject::new("cubic", None).expect("it is there");
        let subject = subject.with("ecn_retransmit", repairs);
        let rows = conform(&subject, &Own::default(), &checks).expect("it runs");
        assert_eq!(red(&rows), expected, "{}", rows[0].seen);
    }
}

#[test]
fn a_path_that_is_not_filled_is_red() {
    let small = Subject::new("bbr", None).expect("it is there").with("max_window", "100p");
    let checks = chosen("B4,B5,B10,B11,T8").expect("they are checks");
    let rows = conform(&small, &Own::default(), &checks).expect("it runs");
    assert_eq!(red(&rows), "T8 B4 B5 B10 B11");
}

/// A law that grows by what is acknowledged, whether its window is used or not.
struct Greedy;

struct Window(f64);

impl OwnLaw for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        Box::new(Window(birth.initial_window))
    }
}

impl Controller for Window {
    fn on_ack(&mut self, ack: &Ack) {
        self.0 += ack.packets;
    }

    fn on_loss(&mut self, _: &Loss) {
        self.0 = (self.0 / 2.0).max(2.0);
    }

    fn on_timeout(&mut self, _: &Timeout) {
        self.0 = 1.0;
    }

    fn window(&self) -> f64 {
        self.0
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
}

/// A window that grows while the receiver is the limit is red. In QUIC's acknowledgements nobody
/// can lower a window.
#[test]
fn a_window_that_grows_while_the_receiver_limits_is_red() {
    let own = Own { laws: vec![Arc::new(Greedy)], stacks: Vec::new() };
    for (cc, expected) in
        [("cubic", Verdict::Holds), ("greedy", Verdict::Differs), ("cubic+quic", Verdict::NotAsked)]
    {
        let subject = Subject::new(cc, Some("cubic")).expect("the profile is there");
        let checks = chosen("U9").expect("it is a check");
        let row = conform(&subject, &own, &checks).expect("it runs").remove(0);
        assert_eq!(row.verdict, expected, "{cc}: {}", row.seen);
    }
}

/// What is chosen is found by number, by group, and by the beginning of its number.
#[test]
fn checks_are_chosen_by_name() {
    let ids = |names: &str| -> Vec<&str> {
        chosen(names).expect("they are checks").iter().map(|check| check.id).collect()
    };
    assert_eq!(ids("t1, D1"), ["D1", "T1"], "in the order of the table");
    assert_eq!(ids("pacing"), ids("P*"));
    assert_eq!(ids("all").len(), all().count());
    assert!(chosen("D1,").is_err() && chosen("Q1").is_err());
    let mut unique = ids("all");
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), all().count());
}
