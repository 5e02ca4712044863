//! What holds for a TCP or QUIC sender on any path, with any recovery, habits, law, pacing and
//! application; and whatever acknowledgements reach it.
//!
//! `NARROWS_CASES=1000000 cargo test --release -p narrows-transport --test properties`, or `make
//! properties`, tries that number of cases instead of 10,000. A case that fails is written to
//! `proptest-regressions/properties.txt` beside `tests`, and tried first from then on.

mod anything;
mod case;
mod law;
mod network;
mod quic;
mod run;
mod watch;

use anything::{Target, plain_story, story};
use case::{case, narrow_case, steady_case};
use narrows_signal::{Ecn, Request};
use narrows_transport::tcp::{self, AckPolicy, Habits};
use narrows_transport::{DataHeader, Header, Receiver, Segment};
use narrows_units::{Duration, Time};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use run::Run;

const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/properties.txt");

/// Tries `cases`, or with `NARROWS_CASES` as many in proportion to 10,000.
fn config(cases: u32) -> ProptestConfig {
    let factor = std::env::var("NARROWS_CASES").map_or(1.0, |text| {
        text.parse::<f64>().expect("NARROWS_CASES is a number of cases") / 10_000.0
    });
    let cases = (f64::from(cases) * factor).ceil() as u32;
    let kept = Box::new(FileFailurePersistence::Direct(KEPT));
    ProptestConfig { cases, failure_persistence: Some(kept), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(10_000))]

    /// The facts are in `run.rs` and `watch.rs`.
    #[test]
    fn on_any_path_everything_arrives_within_the_window_and_is_counted(case in case()) {
        let mut run = Run::new(&case);
        run.finish();
        run.check_counts();
        let mut again = Run::new(&case);
        again.finish();
        prop_assert_eq!(run.departures(), again.departures(), "the same case, the same packets");
    }

    /// The facts are in `quic.rs`.
    #[test]
    fn over_quic_too(case in quic::case()) {
        let mut run = quic::Run::new(&case);
        run.finish();
        run.check_counts();
        let mut again = quic::Run::new(&case);
        again.finish();
        prop_assert_eq!(run.departures(), again.departures(), "the same case, the same packets");
    }

    #[test]
    fn whatever_it_is_told_a_quic_sender_goes_on(
        case in quic::case(),
        claims in prop::collection::vec(quic::claim(), 1..100),
    ) {
        let mut run = quic::Run::misled(&case);
        claims.iter().for_each(|claim| run.suffer(claim));
    }

    #[test]
    fn whatever_it_is_told_a_sender_goes_on((case, happenings) in story()) {
        let mut target = Target::new(&case);
        happenings.iter().for_each(|happening| target.suffer(happening));
        target.make_peace();
    }

    /// The plain way through a sender changes nothing: each state that can be seen is the same.
    #[test]
    fn the_plain_way_and_the_general_one_end_in_the_same_state(
        (case, happenings) in plain_story(),
    ) {
        let (mut plain, mut general) = (Target::new(&case), Target::general(&case));
        for happening in &happenings {
            plain.suffer(happening);
            general.suffer(happening);
            prop_assert_eq!(plain.state(), general.state(), "after {:?}", happening);
        }
        plain.make_peace();
        general.make_peace();
        prop_assert_eq!(plain.state(), general.state());
    }

    /// And so for data: what is answered in its own place is answered alike, and what is in order
    /// with nothing rare before it is answered there.
    #[test]
    fn data_is_answered_in_its_own_place_as_it_is_elsewhere(
        arrivals in prop::collection::vec(
            (prop_oneof![9 => Just(0u64), 1 => 1u64..4], 0u64..5, prop::bool::weighted(0.2)),
            1..200,
        ),
        rare in prop::collection::btree_map(0usize..1000, 0usize..4, 0..4),
        (reports_duplicates, seed) in any::<(bool, u64)>(),
    ) {
        let acks = AckPolicy { reports_duplicates, ..Habits::NS2.acks };
        let receiver = || Receiver::Tcp(tcp::Receiver::new(acks, 40, 1 << 20));
        let (mut plain, mut general) = (receiver(), receiver());
        let (mut highest, mut now, mut has_been_rare) = (0, Time::ZERO, false);
        for (place, (ahead, behind, is_back)) in arrivals.into_iter().enumerate() {
            now += Duration::from_millis(1);
            // The lowest that is missing comes as often as one that is not.
            let number = match (is_back, behind) {
                (true, 0..2) => general.next(),
                (true, _) => highest.max(behind) - behind,
                (false, _) => highest + ahead,
            };
            highest = highest.max(number + 1);
            let usual = DataHeader { pushes: place % 2 == 0, ..DataHeader::default() };
            let request = Request::Rate(1e6);
            let header = match rare.get(&place) {
                None => usual,
                Some(0) => DataHeader { ecn: Ecn::Capable, ..usual },
                Some(1) => DataHeader { ecn: Ecn::Marked, ..usual },
                Some(2) => DataHeader { request, ..usual },
                Some(_) => DataHeader { retransmission: true, reduced: true, ..usual },
            };
            has_been_rare |= rare.contains_key(&place);
            let age = seed.rotate_left(place as u32) % 1_000_000_000;
            let stamp = Time::from_picos(now.picos() - age);
            let data = Segment::data(number, stamp, 1000, Header::Data(header));
            let mut own = data;
            let is_usual = number == general.next() && number == general.arrived();
            let there = general.on_data(now, &data);
            let is_answered = plain.answer_plain(now, &mut own);
            prop_assert!(is_answered || !is_usual || has_been_rare);
            let here = if is_answered {
                Some(own)
            } else {
                plain.on_data(now, &data)
            };
            prop_assert_eq!(here, there);
            let seen = |it: &Receiver| (it.next(), it.arrived(), it.duplicates(), it.wakeup());
            prop_assert_eq!(seen(&plain), seen(&general));
        }
    }
}

proptest! {
    #![proptest_config(config(1000))]

    /// An acknowledgement of the original must not be credited to its retransmission (RFC 8985
    /// §6.2, step 2): all that left before it would be taken for lost, and leave again.
    #[test]
    fn a_constant_window_lets_no_more_than_itself_leave_per_round_trip(case in steady_case()) {
        let mut run = Run::new(&case);
        run.finish();
        run.check_counts();
        run.check_rate();
    }

    #[test]
    fn nothing_leaves_beyond_the_receivers_window(case in narrow_case()) {
        Run::new(&case).finish_within_the_receivers_window();
    }
}
