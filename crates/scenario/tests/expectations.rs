//! What a run is expected to show: how it is written, what is refused, what it amounts to.

use narrows_scenario::{Checked, Results, Scenario, run};
use proptest::prelude::*;
use std::ops::ControlFlow;

const BASE: &str = "
duration = \"2s\"
[dumbbell]
rate = \"10Mbps\"
rtt = \"20ms\"
buffer = \"20p\"
[[flows]]
name = \"video\"
cc = \"cubic\"
count = 2
[[flows]]
name = \"bulk\"
cc = \"reno\"
";

fn checked(more: &str) -> Result<Checked, String> {
    let scenario = Scenario::from_toml(&format!("{BASE}{more}")).map_err(|it| it.to_string())?;
    Checked::new(scenario).map_err(|error| error.to_string())
}

fn results(checked: &Checked) -> Results {
    run(checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs to its end")
}

/// Number and bound of each expectation, under seed 1.
fn read(more: &str) -> Vec<[f64; 2]> {
    let checked = checked(more).expect("it can be run");
    let references = checked.expectations.references.iter();
    let references: Vec<Results> = references.map(|it| results(&it.checked)).collect();
    let own = results(&checked);
    let runs: Vec<&Results> = [&own].into_iter().chain(&references).collect();
    checked.expectations.all.iter().map(|it| it.read(&runs)).collect()
}

#[test]
fn a_bound_is_read_in_the_units_of_its_number() {
    for (line, bound) in [
        ("utilisation = '>= 0.9'", 0.9),
        ("loss_rate = '<= 1.5%'", 0.015),
        ("delay_p99 = '<= 5ms + 2ms'", 0.007),
        ("goodput = '> 0.5 * 8Mbps'", 4e6),
        ("max_queue = '<= 20p'", 20.0),
        ("'links.bottleneck.departed_bytes' = '< 3MB'", 3e6),
        ("'flows[2].timeouts' = '== 0'", 0.0),
        ("'groups[1].share' = '<= max(0.2, 0.4) - 0.1'", 0.4 - 0.1),
        ("mean_queue = '<= 2 * (1 + 3)'", 8.0),
        ("utilisation = '>= -1'", -1.0),
    ] {
        let [[value, read]] = read(&format!("[expect]\n{line}"))[..] else { panic!("{line}") };
        assert!((read - bound).abs() < 1e-12 && value.is_finite(), "{line}: {value} {read}");
    }
}

#[test]
fn numbers_of_the_run_and_of_references_are_read_where_they_are() {
    let found = read(
        "[expect]
         'groups.video.share' = '>= 0.5 * groups.bulk.share'
         utilisation = '>= reno - 0.01'
         'flows[0].goodput' = '<= 0.9 * alone.goodput'
         [reference]
         reno = { cc = 'reno' }
         alone = { without = 'bulk', 'flows[0].count' = 1 }",
    );
    let [reno, alone] = ["[[flows]]\ncc = 'reno'\ncount = 3", "[[flows]]\ncc = 'cubic'\ncount = 1"]
        .map(|flows| {
            let text = format!("{}{flows}", BASE.split("[[flows]]").next().unwrap());
            Checked::new(Scenario::from_toml(&text).unwrap()).unwrap()
        });
    let own = results(&checked("").unwrap());
    // By name: flows[0].goodput, groups.video.share, utilisation.
    let one = results(&alone);
    assert_eq!(found[0], [own.flows[0].goodput, 0.9 * one.goodput]);
    assert_eq!(found[1], [own.groups[0].share, 0.5 * own.groups[1].share]);
    assert_eq!(found[2][0], own.bottleneck().summary.utilisation);
    let all_reno = results(&reno).bottleneck().summary.utilisation;
    assert!((found[2][1] - (all_reno - 0.01)).abs() < 0.02, "start times differ by group only");
}

#[test]
fn a_part_of_the_run_is_measured_as_a_run_that_ends_there() {
    let found = read(
        "[expect]
         goodput = [
             { bound = '>= 0.5 * reno', during = ['500ms', '1s'] },
             { bound = '>= 0.5 * reno', during = ['1s', '2s'] },
             '>= 1Mbps',
         ]
         [reference]
         reno = { cc = 'reno' }",
    );
    let of = |cc: &str, warmup: &str, duration: &str| {
        let text = format!("warmup = '{warmup}'\nduration = '{duration}'\n{BASE}")
            .replace("duration = \"2s\"\n", "")
            .replace("\"cubic\"", &format!("\"{cc}\""));
        results(&Checked::new(Scenario::from_toml(&text).unwrap()).unwrap()).goodput
    };
    assert_eq!(found[0], [of("cubic", "0.5s", "1s"), 0.5 * of("reno", "0.5s", "1s")]);
    assert_eq!(found[1], [of("cubic", "1s", "2s"), 0.5 * of("reno", "1s", "2s")]);
    assert_eq!(found[2], [of("cubic", "0.5s", "2s"), 1e6]);
    let expected = checked("[expect]\ngoodput = { bound = '>= 0', during = ['1s', '2s'] }");
    assert_eq!(expected.unwrap().expectations.references.len(), 1, "and no other");
}

#[test]
fn harm_is_the_loss_as_a_part_of_the_better_of_the_two() {
    let found = read(
        "[expect]
         'groups.video.goodput.harm' = '<= reno + 5%'
         'links.bottleneck.delay_p99.harm' = '<= 0.9'
         [reference]
         reno = { cc = 'reno' }
         alone = { without = 'bulk' }",
    );
    let shown = |text: &str| results(&Checked::new(Scenario::from_toml(text).unwrap()).unwrap());
    let own = shown(BASE);
    let reno = shown(&BASE.replace("\"cubic\"", "\"reno\""));
    let alone = shown(BASE.split("[[flows]]\nname = \"bulk\"").next().unwrap());
    let harm = |run: &Results| 1.0 - run.groups[0].goodput / alone.groups[0].goodput;
    assert!(harm(&own) > 0.1, "{}", harm(&own));
    assert!((found[0][0] - harm(&own)).abs() < 1e-12);
    assert!((found[0][1] - harm(&reno) - 0.05).abs() < 1e-12);
    let delays = [&own, &alone].map(|run| run.links[0].delay_quantile(0.99));
    assert!((found[1][0] - (delays[0] - delays[1]) / delays[0]).abs() < 1e-12);
}

#[test]
fn tables_in_tables_say_the_same_as_a_name_in_quotation_marks() {
    let text = |expect: &str| Scenario::from_toml(&format!("{BASE}[expect]\n{expect}")).unwrap();
    let nested = text("links.bottleneck.drops = { bound = '<= 9', why = 'small' }");
    assert_eq!(nested, text("'links.bottleneck.drops' = { bound = '<= 9', why = 'small' }"));
    assert_eq!(nested, Scenario::from_toml(&nested.to_toml()).unwrap());
    assert_eq!(nested, Scenario::from_json(&nested.to_json()).unwrap());
    let several = text("jain = ['>= 0.5', { bound = '<= 1', during = ['1s', '2s'] }]");
    assert_eq!(several, Scenario::from_toml(&several.to_toml()).unwrap());
    assert_eq!(nested.canonical(true), text("utilisation = '> 0'").canonical(true));
}

#[test]
fn parts_and_harm_that_cannot_be_are_refused() {
    for (more, said) in [
        (
            "[expect]\nutilisation = { bound = '>= 0.9', during = ['1s', '3s'] }",
            "expect.utilisation: during: 1s to 3s is no part of the run; it goes from 0s to 2s",
        ),
        (
            "[expect]\n'groups.bulk.goodput.harm' = '<= 0.5'",
            "harm is what differs from a reference called alone; add alone = { without",
        ),
    ] {
        let error = checked(more).err().expect(more);
        assert!(error.contains(said), "{more}: {error}");
    }
}

#[test]
fn what_cannot_be_expected_is_refused_with_a_place_and_a_remedy() {
    for (more, said) in [
        (
            "[expect]\nutilization = '>= 0.9'",
            "expect.utilization: unknown metric \"utilization\"; did you mean \"utilisation\"?",
        ),
        (
            "[expect]\nutilisation = '0.9'",
            "begins with none of <=, >=, <, > and ==; try \">= 0.9\"",
        ),
        ("[expect]\nutilisation = '>= 0.9 0.8'", "\"0.8\" is too much"),
        ("[expect]\nutilisation = '>='", "the bound ends too early"),
        ("[expect]\ndelay_p99 = '<= 5'", "delay_p99 is a time; compare it with one, like 5ms"),
        ("[expect]\nutilisation = '<= 5ms'", "utilisation is a plain number"),
        ("[expect]\ngoodput = '<= 5Mbps + 3ms'", "what is added must be of one kind"),
        ("[expect]\ngoodput = '<= 5Mbps * 3ms'", "of two factors one is a plain number"),
        ("[expect]\nutilisation = '>= 0.9 * sack'", "unknown metric \"sack\""),
        ("[expect]\n'links.x.drops' = '<= 1'", "unknown link \"x\"; known: bottleneck, reverse"),
        ("[expect]\n'flows[7].sent' = '> 1'", "there is no flow 7; they are numbered from 0 to 2"),
        (
            "[expect]\n'groups.video.shares' = '> 1'",
            "unknown metric \"shares\"; did you mean \"share\"?",
        ),
        ("[expect]\n'host.x' = '> 1'", "is no number of a run"),
        ("[expect]\nutilisation = 0.9", "utilisation: 0.9 is not a bound"),
        (
            "[expect]\nutilisation = { bound = '> 0', wy = 'x' }",
            "unknown field \"wy\"; did you mean \"why\"?",
        ),
        ("[seeds]\ncount = 3", "seeds: seeds are those of expectations"),
        ("[expect]\nutilisation = '> 0'\n[seeds]\ncount = 0", "seeds.count: 0 is not from 1"),
        ("[expect]\nutilisation = '> 0'\n[seeds]\nconfidence = '100%'", "seeds.confidence"),
        ("[reference]\na = { cc = 'reno' }", "reference: bounds speak of references"),
        (
            "[expect]\nutilisation = '> a'\n[reference]\na = { c = 1 }",
            "reference.a: c: unknown field \"c\"",
        ),
        (
            "[expect]\nutilisation = '> a'\n[reference]\na = {}",
            "reference.a: nothing differs in it",
        ),
        (
            "[expect]\nutilisation = '> a'\n[reference]\na = { without = 'x' }",
            "no group is called \"x\"; known: video, bulk",
        ),
        ("[expect]\nutilisation = '<= 1e400'", "1e400 is not a number to compare with"),
        (
            "[expect]\nutilisation = '> 0'\n[reference]\na = { cc = 'reno' }",
            "reference.a: no bound speaks of it; leave it out",
        ),
        (
            "[expect]\nutilisation = '> flows'\n[reference]\nflows = { cc = 'reno' }",
            "choose another name",
        ),
    ] {
        let error = checked(more).err().unwrap_or_else(|| panic!("{more} is taken"));
        assert!(error.contains(said), "{more}: {error}");
    }
}

#[test]
fn what_a_run_does_not_show_is_no_number() {
    let [[value, _]] = read("[expect]\nmean_completion_time = '<= 1s'")[..] else { panic!() };
    assert!(value.is_nan(), "{value}");
}

/// What stands in a bound.
fn word() -> impl Strategy<Value = String> {
    let words = [
        "<=",
        ">",
        "==",
        "0.9",
        "5ms",
        "1%",
        "20p",
        "3MB",
        "50Mbps",
        "1e9",
        ".",
        "+",
        "-",
        "*",
        "(",
        ")",
        ",",
        "min",
        "max(",
        "reno",
        "reno.goodput",
        "utilisation",
        "flows[0].sent",
        "groups.bulk.share",
        "links[9].drops",
        "µ",
        "[",
        "-1",
        "nan",
        "inf",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    /// Whatever a bound says, it is refused with its place, or amounts to something in a run.
    #[test]
    fn any_bound_is_refused_or_read(
        words in prop::collection::vec(word(), 0..9),
        tight in any::<bool>(),
    ) {
        let bound = words.join(if tight { "" } else { " " });
        let expect = format!("[expect]\nutilisation = '>= {bound}'\njain = '>= 0.1 * reno'\n");
        let more = expect + "[reference]\nreno = { cc = 'reno' }";
        match checked(&more) {
            Ok(checked) => {
                let own = results(&checked);
                let reno = results(&checked.expectations.references[0].checked);
                let [value, _] = checked.expectations.all[1].read(&[&own, &reno]);
                prop_assert!(value.is_finite());
            }
            Err(error) => {
                prop_assert!(error.starts_with("expect.utilisation: "), "{bound}: {error}");
            }
        }
    }
}

#[test]
fn harm_is_to_the_same_group_also_where_one_before_it_is_left_out() {
    let found = read(
        "[[flows]]
         name = 'third'
         cc = 'cubic'
         [expect]
         'groups.bulk.goodput.harm' = '<= 1'
         [reference]
         alone = { without = 'video' }",
    );
    let run = |text: &str| results(&Checked::new(Scenario::from_toml(text).unwrap()).unwrap());
    let third = "[[flows]]\nname = 'third'\ncc = 'cubic'\n";
    let own = run(&format!("{BASE}{third}"));
    let [head, _, bulk] = BASE.split("[[flows]]").collect::<Vec<_>>()[..] else { panic!() };
    let alone = run(&format!("{head}[[flows]]{bulk}{third}"));
    let harm = 1.0 - own.groups[1].goodput / alone.groups[0].goodput;
    assert!((found[0][0] - harm).abs() < 0.02, "{} {harm}", found[0][0]);
}

#[test]
fn harm_to_what_is_not_there_or_means_nothing_is_refused() {
    for (name, without, said) in [
        ("groups.video.goodput.harm", "video", "in the reference alone: unknown group \"video\""),
        ("groups.bulk.epochs.harm", "video", "epochs is neither better nor worse"),
        ("links.bottleneck.burstiness.harm", "video", "burstiness is neither better nor worse"),
    ] {
        let more = format!(
            "[expect]\n'{name}' = '<= 1'\n[reference]\nalone = {{ without = '{without}' }}"
        );
        let error = checked(&more).err().expect("it means nothing");
        assert!(error.contains(said), "{error}");
    }
}
