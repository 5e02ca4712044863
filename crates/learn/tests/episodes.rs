//! Episodes against what their links must do to packets that leave at a constant rate.

use narrows_learn::{Action, Below, COLUMNS, Episode, Laid, Places, StepError, Wanted, after};
use narrows_scenario::{Own, Scenario};
use narrows_units::Time;

fn scenario(link: &str, flows: &str) -> Scenario {
    let text = format!("duration = \"600s\"\nwarmup = \"0s\"\n[dumbbell]\n{link}\n{flows}");
    Scenario::from_toml(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

const LEARNS: &str = "[[flows]]\ncc = \"learner\"\n";

fn begin(link: &str, flows: &str, first: Wanted, below: Option<&str>) -> Episode {
    let Wanted { window, rate, seconds } = first;
    let first = Action { window, rate, until: after(Time::ZERO, seconds) };
    let below = below.map(|below| Below::new(below).expect("it can be set"));
    let laid = Laid::new(scenario(link, flows), 7, Own::default(), below);
    laid.and_then(|laid| {
        let all = vec![first; laid.learners()];
        laid.begin(all)
    })
    .unwrap_or_else(|error| panic!("{link}: {error}"))
}

fn paced(rate: f64, seconds: f64) -> Wanted {
    Wanted { window: 1e6, rate, seconds }
}

fn column(row: &[f64; COLUMNS.len()], name: &str) -> f64 {
    row[COLUMNS.iter().position(|known| *known == name).expect("a column")]
}

/// The rows of `steps` intervals with the same action.
fn rows(episode: Episode, wanted: Wanted, steps: usize) -> Vec<[f64; COLUMNS.len()]> {
    let mut places = Places::new(1, 1, 1);
    places.put(0, episode);
    places.step(&[0], None, false, &|| ()).expect("the first");
    let mut rows = Vec::new();
    for _ in 0..steps {
        places.step(&[0], Some(&[wanted]), wanted.window.is_nan(), &|| ()).expect("a step");
        rows.push(places.get(0).expect("it goes on").row(0));
    }
    rows
}

/// 150 of 300 packets per second in half a second; a packet takes 1/300 s beyond 300 ms.
#[test]
fn below_capacity_what_leaves_arrives() {
    let link = "rate = \"3.6Mbps\"\nrtt = \"300ms\"\nbuffer = \"100p\"";
    let steady = paced(200.0, 0.75);
    // Linux lets two leave together, of which the second waits for the first.
    let flows = format!("{LEARNS}quantum = 1\n");
    let rows = rows(begin(link, &flows, steady, None), steady, 40);
    for row in &rows[4..] {
        let (sent, acked) = (column(row, "sent"), column(row, "acked"));
        assert!((sent - 150.0).abs() <= 1.0 && (acked - sent).abs() <= 2.0, "{sent} {acked}");
        let rtt = column(row, "rtt");
        assert!((rtt - (0.3 + 1.0 / 300.0)).abs() < 5e-4, "{rtt}");
        assert_eq!((column(row, "lost"), column(row, "timeouts")), (0.0, 0.0));
        // A request for the connection is shorter than a packet.
        let (least, ever) = (column(row, "rtt_min"), column(row, "conn_min_rtt"));
        assert!(ever < least && least - ever < 1.0 / 300.0, "{ever} {least}");
        assert!((column(row, "limited") - 1.0).abs() < 0.01, "the pacer is the limit");
    }
}

/// Above it the queue fills to 100 packets, a third of a second, and 1 − 1/1.076 of what leaves is
/// lost.
#[test]
fn above_capacity_the_rest_is_lost() {
    let link = "rate = \"3.6Mbps\"\nrtt = \"300ms\"\nbuffer = \"100p\"";
    let steady = paced(1.076 * 300.0, 1.0);
    let rows = rows(begin(link, LEARNS, steady, None), steady, 120);
    let settled = &rows[30..];
    let sum = |name| settled.iter().map(|row| column(row, name)).sum::<f64>();
    let lost = sum("lost") / sum("sent");
    assert!((lost - (1.0 - 1.0 / 1.076)).abs() < 1e-3, "{lost}");
    assert!((sum("acked") / sum("duration") / 300.0 - 1.0).abs() < 2e-3, "{}", sum("acked"));
    let rtt = sum("rtt") / settled.len() as f64;
    assert!((rtt - (0.3 + 100.0 / 300.0)).abs() < 0.01, "{rtt}");
}

/// With wire losses and a competitor: whoever stops to look more often sees the same run.
#[test]
fn threads_and_neighbours_change_nothing() {
    let link = "rate = \"12Mbps\"\nrtt = \"40ms\"\nbuffer = \"30p\"\nloss = \"1%\"";
    let flows = "[[flows]]\ncc = \"learner\"\ncount = 2\n[[flows]]\ncc = \"cubic\"\n";
    let run = |threads, neighbours: usize| {
        let mut places = Places::new(neighbours, 2, threads);
        let all: Vec<usize> = (0..neighbours).collect();
        for place in &all {
            places.put(*place, begin(link, flows, paced(200.0 + *place as f64, 0.05), None));
        }
        places.step(&all, None, false, &|| ()).expect("the first");
        let mut seen = Vec::new();
        for step in 0..200 {
            let rate = 200.0 + f64::from(step);
            let wanted = [paced(rate, 0.03), paced(2.0 * rate, 0.03)].repeat(neighbours);
            places.step(&all, Some(&wanted), false, &|| ()).expect("a step");
            let episode = places.get(0).expect("it goes on");
            seen.extend([episode.row(0), episode.row(1)]);
        }
        (seen, places.delivered())
    };
    let (alone, few) = run(1, 1);
    assert!(few > 1000, "{few}");
    let (one, many) = run(1, 5);
    let (two, same) = run(2, 5);
    assert_eq!(alone, one);
    assert_eq!(one, two);
    assert_eq!(many, same);
}

/// Orca: CUBIC goes on between decisions, from the window that is set.
#[test]
fn a_law_below_goes_on_from_its_window() {
    let link = "rate = \"12Mbps\"\nrtt = \"100ms\"\nbuffer = \"500p\"";
    let keep = Wanted { window: f64::NAN, rate: 0.0, seconds: 0.5 };
    let free = rows(begin(link, LEARNS, keep, Some("cubic")), keep, 8);
    assert!(column(&free[7], "window") > 50.0, "slow start went on: {:?}", free[7]);
    let set = Wanted { window: 20.0, rate: 0.0, seconds: 0.02 };
    let held = rows(begin(link, LEARNS, keep, Some("cubic")), set, 60);
    let window = column(&held[59], "window");
    assert!((20.0..30.0).contains(&window), "{window} after 20 ms from 20 packets");
    let said = Below::new("bbr").err().expect("bbr is not set from outside");
    assert_eq!(said, "bbr has no window that could be set; try \"cubic\"");
}

#[test]
fn what_is_wrong_is_said_before_anything_moves() {
    let link = "rate = \"12Mbps\"\nrtt = \"40ms\"\nbuffer = \"30p\"";
    let mut places = Places::new(2, 1, 1);
    assert_eq!(places.step(&[0], None, false, &|| ()), Err(StepError::Nobody(0)));
    for place in [0, 1] {
        places.put(place, begin(link, LEARNS, paced(100.0, 0.1), None));
    }
    places.step(&[0, 1], None, false, &|| ()).expect("the first");
    let now = places.get(0).expect("it is there").now();
    for (wrong, says) in [
        (paced(f64::NAN, 0.1), "a rate of NaN packets/s is not from 1e-3 to 1e12; 0 is none"),
        (paced(100.0, 0.0), "0.0 s until the next decision; take from 1e-6 to 1e6"),
        (
            Wanted { window: 0.5, rate: 0.0, seconds: 0.1 },
            "a window of 0.5 is not from 1 to 1e7 packets; for an agent that only paces take 1e6",
        ),
    ] {
        let told = places.step(&[0, 1], Some(&[paced(100.0, 0.1), wrong]), false, &|| ());
        let error = told.expect_err("it is wrong").to_string();
        assert_eq!(error, format!("place 1, learner 0: {says}"));
        assert_eq!(places.get(0).expect("it is there").now(), now);
    }
    assert_eq!(places.step(&[1, 1], None, false, &|| ()), Err(StepError::Nobody(1)));
    let nobody = scenario(link, "[[flows]]\n");
    let said = Laid::new(nobody, 1, Own::default(), None).err().expect("nobody");
    assert_eq!(said.to_string(), "flows: nobody learns; give a flow cc = \"learner\"");
}

/// One that comes later has its zeros until then; the truth is that of the link.
#[test]
fn a_late_flow_and_the_truth() {
    let link = "rate = \"12Mbps\"\nrtt = \"40ms\"\nbuffer = \"30p\"\nloss = \"2%\"";
    let flows = format!("{LEARNS}start = \"1s\"\n[[flows]]\ncc = \"reno\"\n");
    let steady = paced(100.0, 0.3);
    let mut places = Places::new(1, 1, 1);
    places.put(0, begin(link, &flows, steady, None));
    places.step(&[0], None, false, &|| ()).expect("the first");
    let mut running = Vec::new();
    for _ in 0..6 {
        places.step(&[0], Some(&[steady]), false, &|| ()).expect("a step");
        let episode = places.get(0).expect("it goes on");
        running.push(episode.is_running(0));
        let row = episode.row(0);
        assert_eq!(column(&row, "now"), episode.now().seconds());
        assert!((column(&row, "sent") > 0.0) == episode.is_running(0), "{row:?}");
    }
    assert_eq!(running, [false, false, true, true, true, true]);
    let truth = places.truth(0, 0).expect("it has a bottleneck");
    assert_eq!((truth.capacity, truth.flows, truth.buffer), (1000.0, 2, 30.0));
    assert_eq!((truth.wire_loss, truth.base_rtt.seconds()), (0.02, 0.04));
    assert!(truth.queue <= 31);
}

/// What an episode did is what a run of its scenario does in which all was decided before.
#[test]
fn it_is_run_again_as_it_was() {
    let link = "rate = \"12Mbps\"\nrtt = \"40ms\"\nbuffer = \"30p\"\nloss = \"1%\"";
    let flows = "[[flows]]\ncc = \"learner\"\ncount = 2\n[[flows]]\ncc = \"cubic\"\n";
    for below in [None, Some("cubic")] {
        let mut places = Places::new(1, 2, 1);
        let keep = Wanted { window: 30.0, rate: 0.0, seconds: 0.05 };
        places.put(0, begin(link, flows, keep, below));
        places.step(&[0], None, below.is_some(), &|| ()).expect("the first");
        let mut sums = [[0.0; 3]; 2];
        for step in 0..100_u32 {
            let wanted = [10, 25].map(|least| Wanted {
                window: f64::from(least + step % 30),
                rate: if below.is_some() { 0.0 } else { 800.0 },
                seconds: 0.04,
            });
            places.step(&[0], Some(&wanted), below.is_some(), &|| ()).expect("a step");
        }
        // What was told of the first interval is gone; its rows are not summed.
        let episode = places.get(0).expect("it goes on");
        let (checked, seed) = episode.again(narrows_units::Duration::ZERO).expect("it is right");
        let results =
            narrows_scenario::run(&checked, seed, None, |_| std::ops::ControlFlow::Continue(()));
        let results = results.expect("it runs");
        for (learner, sums) in sums.iter_mut().enumerate() {
            let sender = results.flows[learner].summary.sender;
            let known = episode.counters(learner);
            *sums = [sender.sent as f64, f64::from(sender.lost), sender.rtt_sum];
            let seen = [known.sent as f64, f64::from(known.lost), known.rtt_sum];
            assert_eq!(*sums, seen, "learner {learner} over {below:?}");
        }
        // What is on its way to receivers counts as there while a run stands still.
        assert!(places.delivered() - results.delivered < 100);
    }
}

/// The intervals of a whole run add up to what its sender counted, timeouts and outages included.
#[test]
fn intervals_add_up() {
    for loss in ["0%", "3%", "30%"] {
        let link =
            format!("rate = \"12Mbps\"\nrtt = \"40ms\"\nbuffer = \"30p\"\nloss = \"{loss}\"");
        let mut places = Places::new(1, 1, 1);
        places.put(0, begin(&link, LEARNS, paced(300.0, 0.05), None));
        places.step(&[0], None, false, &|| ()).expect("the first");
        let mut sums = [0.0; 5];
        const NAMES: [&str; 5] = ["sent", "lost", "timeouts", "epochs", "acked"];
        for step in 0..400_u32 {
            let episode = places.get(0).expect("it goes on");
            let row = episode.row(0);
            for (sum, name) in sums.iter_mut().zip(NAMES) {
                *sum += column(&row, name);
            }
            let rate = 100.0 + 10.0 * f64::from(step % 150);
            places.step(&[0], Some(&[paced(rate, 0.037)]), false, &|| ()).expect("a step");
        }
        let episode = places.get(0).expect("it goes on");
        for (sum, name) in sums.iter_mut().zip(NAMES) {
            *sum += column(&episode.row(0), name);
        }
        let known = episode.counters(0);
        assert!(known.sent > 5000, "{known:?}");
        let counted =
            [known.sent as f64, known.lost.into(), known.timeouts.into(), known.epochs.into()];
        assert_eq!(sums[..4], counted, "at {loss}");
        assert!(
            sums[4] <= places.delivered() as f64,
            "nothing is acknowledged that has not arrived"
        );
    }
}
