//! Sessions, and the files that they leave.

use narrows_router::registry::QUEUES;
use narrows_scenario::{Change, Checked, Flow, History, Running, Scenario, run_tapped};
use narrows_units::{Duration, Time};
use proptest::prelude::*;

const ROW: Duration = Duration::from_millis(20);

/// The hash of a run from the start, of that seed which the scenario gives.
fn from_the_start(scenario: &Scenario) -> u64 {
    let checked = Checked::new(scenario.clone()).expect("what has run is right");
    let history = History::default();
    run_tapped(&checked, checked.seed, Box::new(history.clone())).expect("it runs");
    history.so_far().0
}

fn open(scenario: &Scenario) -> (Running, History) {
    let mut running = Running::new(scenario.clone(), ROW).expect("it can be changed");
    let history = History::default();
    running.set_tap(Box::new(history.clone()));
    (running, history)
}

fn change(fields: &str) -> Change {
    serde_json::from_str(&format!("{{\"at\": \"0s\", {fields}}}")).expect("a change")
}

fn flow(fields: &str) -> Flow {
    serde_json::from_str(&format!("{{{fields}}}")).expect("a group of flows")
}

#[test]
fn examples_do_not_mind_being_open_and_looked_at() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).expect("the examples") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text").replace("\r", "");
        let Ok(scenario) = Scenario::from_toml(&text) else { continue };
        let shorter = Scenario { duration: None, warmup: None, trace: None, ..scenario };
        let values = [("duration", "\"4s\""), ("warmup", "\"1s\"")];
        let values = values.map(|(path, value)| (path.to_owned(), value.to_owned()));
        let shorter = shorter.patched(&values).expect("they are durations");
        let Ok(checked) = Checked::new(shorter.clone()) else { continue };
        let (mut running, history) = open(&shorter);
        for slice in 1..=40 {
            running
                .run_until(Time::ZERO + Duration::from_millis(101) * slice)
                .expect("all flows are there");
        }
        assert_eq!(history.so_far().0, from_the_start(&shorter), "{}", path.display());
        assert!(running.now() == Time::ZERO + checked.duration);
        let moments = running.take_moments();
        assert_eq!(moments.len(), 200, "{}", path.display());
        tried += 1;
    }
    assert!(tried > 20, "{tried} examples");
}

/// What somebody does.
#[derive(Clone, Debug)]
enum Deed {
    Change(&'static str),
    Join(&'static str),
    Leave(usize, u32),
}

fn deeds() -> impl Strategy<Value = Vec<(u64, Deed)>> {
    let changes = [
        "\"buffer\": \"3p\"",
        "\"buffer\": \"90p\"",
        "\"rate\": \"3Mbps\"",
        "\"rate\": \"33Mbps\"",
        "\"rate\": \"7777777bps\"",
        "\"loss\": \"2%\"",
        "\"loss\": \"0%\"",
        "\"rtt\": \"31ms\"",
        "\"rtt\": \"90ms\", \"buffer\": \"10p\"",
        "\"jitter\": \"2ms\"",
        "\"mtu\": \"1500B\", \"loss\": \"1%\", \"loss_burst\": 3",
    ];
    let groups = [
        "\"cc\": \"cubic\"",
        "\"cc\": \"bbr\", \"count\": 3",
        "\"cc\": \"reno\", \"pacing\": \"even\", \"count\": 2",
        "\"cc\": \"dctcp\"",
        "\"cc\": \"cubic+quic\"",
        "\"cc\": \"etcp\", \"start_spread\": \"0s\"",
        "\"cc\": \"vegas\", \"reverse\": true",
        "\"datagrams\": \"poisson\", \"app\": { \"rate\": \"1Mbps\" }",
    ];
    let deed = prop_oneof![
        5 => prop::sample::select(changes.to_vec()).prop_map(Deed::Change),
        2 => prop::sample::select(groups.to_vec()).prop_map(Deed::Join),
        2 => (0usize..4, 1u32..7).prop_map(|(group, count)| Deed::Leave(group, count)),
    ];
    prop::collection::vec((1u64..900_000, deed), 1..11)
}

fn anything() -> impl Strategy<Value = Scenario> {
    let laws = ["cubic", "reno", "bbr", "bbr1", "etcp", "cubic+quic", "prague", "htcp"];
    let queues: Vec<&str> =
        QUEUES.iter().map(|queue| queue.name).filter(|name| !name.starts_with("gwa")).collect();
    let flows = (prop::sample::select(laws.to_vec()), 1u32..6);
    (prop::collection::vec(flows, 1..3), prop::sample::select(queues), 2u32..80, 1u64..1000)
        .prop_map(|(groups, queue, buffer, seed)| {
            let mut text = format!(
                "seed = {seed}\nduration = \"6s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\n\
                 buffer = \"{buffer}p\"\nqueue = \"{queue}\"\n"
            );
            for (law, count) in groups {
                text += &format!("[[flows]]\ncc = \"{law}\"\ncount = {count}\n");
            }
            Scenario::from_toml(&text).expect("a scenario")
        })
}

#[test]
fn flows_of_a_group_leave_one_by_one() {
    let text = "duration = \"5s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n\
                [[flows]]\ncount = 4\nstops = [\"4s\"]\n";
    let (mut running, history) = open(&Scenario::from_toml(text).expect("a scenario"));
    let at = |millis| Time::ZERO + Duration::from_millis(millis);
    running.run_until(at(1000)).expect("all flows are there");
    running.leave(0, 1).expect("four are there");
    assert!(running.scenario().to_toml().contains("stops = [\"1.000001s\"]"));
    running.run_until(at(2000)).expect("all flows are there");
    running.leave(0, 2).expect("three are there");
    let stops = "stops = [\"1.000001s\", \"2.000001s\", \"2.000001s\"]";
    assert!(running.scenario().to_toml().contains(stops));
    running.run_until(at(3000)).expect("all flows are there");
    running.take_moments();
    running.run_until(at(3900)).expect("all flows are there");
    for moment in running.take_moments() {
        let delivered: Vec<u64> = moment.flows.iter().map(|flow| flow.delivered).collect();
        assert!(delivered[0] > 0 && delivered[1..] == [0; 3], "{}: {delivered:?}", moment.at);
    }
    running.leave(0, 2).expect("one is there");
    assert!(running.scenario().to_toml().contains("\nstop = \"3.900001s\""), "all have left");
    running.run_until(at(5000)).expect("all flows are there");
    assert_eq!(history.so_far().0, from_the_start(running.scenario()));
}

/// What a file says of later times stays where it is.
#[test]
fn a_change_comes_before_those_of_the_file_that_are_still_to_come() {
    let text = "duration = \"5s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n\
                [[dumbbell.changes]]\nat = \"1s\"\nrate = \"8Mbps\"\nramp = \"500ms\"\n\
                [[dumbbell.changes]]\nat = \"3s\"\nbuffer = \"9p\"\n[[flows]]\ncount = 3\n";
    let (mut running, history) = open(&Scenario::from_toml(text).expect("a scenario"));
    let at = |millis| Time::ZERO + Duration::from_millis(millis);
    let mut tried = Vec::new();
    for (millis, fields) in
        [(500, "\"buffer\": \"50p\""), (1200, "\"loss\": \"1%\""), (2000, "\"rate\": \"5Mbps\"")]
    {
        running.run_until(at(millis)).expect("all flows are there");
        tried.push(running.change("bottleneck", change(fields)).expect("it is exact").to_string());
    }
    running.run_until(at(5000)).expect("all flows are there");
    assert_eq!(tried[..2], ["500.001ms", "1.500001s"], "a ramp ends first");
    let file = running.scenario().to_toml();
    assert!(file.find("5Mbps") < file.find("9p"), "{file}");
    assert_eq!(history.so_far().0, from_the_start(running.scenario()), "{file}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn a_session_is_what_its_file_makes(scenario in anything(), deeds in deeds()) {
        let (mut running, history) = open(&scenario);
        let mut now = Time::ZERO;
        let mut done = 0;
        for (micros, deed) in &deeds {
            now += Duration::from_micros(*micros);
            running.run_until(now).expect("all flows are there");
            let done_at = match deed {
                Deed::Change(fields) => running.change("bottleneck", change(fields)),
                Deed::Join(fields) => running.join(flow(fields)),
                Deed::Leave(group, count) => running.leave(*group, *count),
            };
            if let Ok(at) = done_at {
                done += 1;
                prop_assert!(Time::ZERO + at > now, "{at} is over");
            }
        }
        running.run_until(Time::ZERO + Duration::from_millis(6000)).expect("all flows are there");
        let file = running.scenario().to_toml();
        let read = Scenario::from_toml(&file).expect("what is written can be read");
        prop_assert_eq!(&read, running.scenario(), "{}", file);
        prop_assert_eq!(history.so_far().0, from_the_start(&read), "{} deeds:\n{}", done, file);
    }

    #[test]
    fn moments_do_not_depend_on_slices(slices in prop::collection::vec(1u64..700, 1..30)) {
        let text = "duration = \"3s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\n\
                    buffer = \"20p\"\n[[flows]]\ncount = 3\n[[flows]]\ncc = \"bbr\"\n";
        let scenario = Scenario::from_toml(text).expect("a scenario");
        let whole = Time::ZERO + Duration::from_millis(3000);
        let (mut one, _) = open(&scenario);
        one.run_until(whole).expect("all flows are there");
        let (mut other, _) = open(&scenario);
        let mut now = Time::ZERO;
        for slice in slices {
            now += Duration::from_millis(slice);
            other.run_until(now).expect("all flows are there");
        }
        other.run_until(whole).expect("all flows are there");
        let told = |moment: &narrows_scenario::Moment| format!("{moment:?}");
        let (one, other) = (one.take_moments(), other.take_moments());
        prop_assert_eq!(one.len(), 150);
        for (one, other) in one.iter().zip(&other) {
            prop_assert_eq!(told(one), told(other));
        }
    }
}

#[test]
fn what_moments_say_adds_up() {
    let text = "duration = \"10s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\n\
                [[flows]]\ncount = 3\n[[flows]]\ncc = \"bbr\"\n";
    let (mut running, _) = open(&Scenario::from_toml(text).expect("a scenario"));
    running.run_until(Time::ZERO + Duration::from_millis(5000)).expect("all flows are there");
    running.join(flow("\"cc\": \"reno\"")).expect("it joins");
    running.run_until(Time::ZERO + Duration::from_millis(10_000)).expect("all flows are there");
    let moments = running.take_moments();
    let late: Vec<_> = moments.iter().skip(400).collect();
    let delivered: u64 = late.iter().flat_map(|it| &it.groups).map(|group| group.delivered).sum();
    let departed: u64 = late.iter().map(|moment| moment.links[0].departed).sum();
    // What has left and what has arrived differ by what is on the way.
    let away = (delivered * 1500).abs_diff(departed);
    assert!(away < 50 * 1500, "{delivered} packets arrived, {departed} bytes left");
    assert_eq!(moments[100].groups.len(), 2);
    assert_eq!((moments[300].groups.len(), moments[300].flows.len()), (3, 5));
}
