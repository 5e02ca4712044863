//! Our laws in noq, quinn and s2n-quic, over narrows' networks.

#![cfg(feature = "hosted")]

#[path = "../../scenario/tests/cores/mod.rs"]
mod cores;
#[path = "../../scenario/tests/settings/mod.rs"]
mod settings;

use cores::on_all_cores;
use narrows_adapters::{Heard, StackLaw, hosted};
use narrows_control::registry;
use narrows_scenario::{Checked, Own, Results, Scenario, Stack, StackEnds, Wish, run};
use narrows_units::{Duration, Time};
use settings::{SCENES, Scene, text, values};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

fn results(text: &str) -> Results {
    let own = Own { laws: Vec::new(), stacks: hosted::stacks() };
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let checked = Checked::with_own(scenario, &own);
    let checked = checked.unwrap_or_else(|error| panic!("{text}: {error}"));
    run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs")
}

/// The mean of the window's samples from `seconds` on, in packets.
fn mean_window(results: &Results, seconds: f64) -> f64 {
    let series = &results.flow_series;
    let windows = series.time.iter().zip(&series.window).filter(|(time, _)| **time >= seconds);
    let windows: Vec<f64> = windows.map(|(_, window)| *window).collect();
    windows.iter().sum::<f64>() / windows.len() as f64
}

#[test]
fn e_tcp_meets_its_equation_over_quic() {
    // E-TCP, eq. 5: p = p0 + 2/W for losses per acknowledged packet, with p0 = 0.01.
    for (loss, seconds) in [("1.5%", 120), ("3%", 120), ("6%", 120)] {
        let text = format!(
            "duration = \"{seconds}s\"\nwarmup = \"20s\"\n[[flows]]\ncc = \"narrows-noq:etcp\"\n\
             [dumbbell]\nrate = \"1Gbps\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\nloss = \"{loss}\"\n"
        );
        let results = results(&text);
        let summary = &results.flows[0].summary;
        let near = &summary.hosted.as_ref().expect("it is hosted").near;
        assert_eq!(near.ended, None);
        let lost = f64::from(summary.sender.lost);
        let p = lost / (summary.sender.sent as f64 - lost);
        let window = mean_window(&results, 20.0);
        let expected = 0.01 + 2.0 / window;
        assert!((p / expected - 1.0).abs() < 0.05, "p {p}, window {window}, expected {expected}");
    }
}

/// Its gaps are random, which no stack does for it, and it lives by them: of the link below it uses
/// 0.43, 0.43 and 0.61 in our own QUIC with seeds 1 to 3, and 0.28 if the gaps are even.
const RANDOM: &str = "etcp-rate";

#[test]
fn each_law_does_in_noq_what_it_does_in_our_own_quic() {
    compare("narrows-noq", &StackLaw::names().filter(|law| *law != RANDOM).collect::<Vec<_>>());
}

/// quinn spaces packets by itself, and a law that lives by its spacing is another law there.
#[test]
fn each_law_that_is_not_paced_does_in_quinn_what_it_does_in_our_own_quic() {
    let paced =
        ["bbr", "bbr1", "copa", "etcp", "etcp-rate", "etcp-sqrt", "etcp-unit", "fast", "ledbat++"];
    compare(
        "narrows-quinn",
        &StackLaw::names().filter(|law| !paced.contains(law)).collect::<Vec<_>>(),
    );
}

/// In s2n-quic timers nearer than a millisecond count as past, and every tenth packet is
/// acknowledged.
#[cfg(feature = "hosted-s2n")]
#[test]
fn each_law_does_in_s2n_what_it_does_in_our_own_quic() {
    compare("narrows-s2n", &StackLaw::names().filter(|law| *law != RANDOM).collect::<Vec<_>>());
}

fn compare(stack: &str, laws: &[&str]) {
    for law in laws {
        let used = |cc: &str| {
            let results = results(&format!(
                "duration = \"20s\"\nwarmup = \"10s\"\n[[flows]]\ncc = \"{cc}\"\n\
                 [dumbbell]\nrate = \"50Mbps\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n"
            ));
            if let Some(hosted) = &results.flows[0].summary.hosted {
                assert_eq!(hosted.near.ended, None, "{cc}");
            }
            results.bottleneck().summary.utilisation
        };
        let (theirs, ours) = (used(&format!("{stack}:{law}")), used(&format!("{law}+quic")));
        eprintln!("{law}: utilisation {theirs:.3} in {stack}, {ours:.3} in our own QUIC");
        assert!((theirs - ours).abs() < 0.1, "{law}: {theirs} in {stack}, {ours} in our own QUIC");
    }
}

/// A stack does not tell of lost probes of the MTU: they must not stay in flight for ever.
#[test]
fn a_law_forgets_what_nobody_tells_of() {
    let used = |mtu: &str| {
        let results = results(&format!(
            "duration = \"40s\"\nwarmup = \"10s\"\n[[flows]]\ncc = \"narrows-noq:bbr\"\n\
             [dumbbell]\nrate = \"20Mbps\"\nrtt = \"40ms\"\nbuffer = \"0.5bdp\"\n{mtu}"
        ));
        results.bottleneck().summary.utilisation
    };
    let (whole, small) = (used(""), used("mtu = \"1400B\"\n"));
    assert!((whole - small).abs() < 0.02, "{whole} and, with a smaller MTU, {small}");
}

/// Packets a second at which BBR leaves after two seconds in which the application had only a tenth
/// of what it had before, if the stack says so or not.
fn rate_after_a_pause(says_so: bool) -> f64 {
    const RTT: u64 = 20;
    let law = StackLaw::parse("bbr1").expect("it is a law");
    let mut heard = Heard::new(&law, 1);
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    for millisecond in 0..3000_u64 {
        let number_at = |millisecond: u64| match millisecond {
            0..1000 => Some(millisecond),
            _ => (millisecond % 10 == 0).then(|| 900 + millisecond / 10),
        };
        if let Some(arrived) = millisecond.checked_sub(RTT).and_then(number_at) {
            heard.acknowledged(at(millisecond), arrived);
            heard.counted();
            if says_so && millisecond >= 1000 {
                heard.application_limits();
            }
        }
        if let Some(number) = number_at(millisecond) {
            heard.sent(at(millisecond), number);
        }
    }
    heard.conclude();
    heard.rate().expect("BBR paces")
}

/// A packet in 10 ms is no sample of the bottleneck's rate if the application had no more.
#[test]
fn a_law_hears_that_the_application_was_the_limit() {
    let (told, untold) = (rate_after_a_pause(true), rate_after_a_pause(false));
    assert!(told > 900.0, "1000 packets a second had left before: {told}");
    assert!(untold < 200.0, "ten round trips are over since: {untold}");
}

/// noq with a law of ours and settings, which no scenario says of a stack.
struct Tried {
    noq: Arc<dyn Stack>,
    law: String,
}

impl Stack for Tried {
    fn name(&self) -> &str {
        "tried"
    }

    fn source(&self) -> &str {
        self.noq.source()
    }

    fn controllers(&self) -> &[&str] {
        &["law"]
    }

    fn packet(&self) -> u32 {
        self.noq.packet()
    }

    fn logs(&self) -> bool {
        false
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        self.noq.ends(&Wish { controller: Some(self.law.clone()), ..wish.clone() })
    }

    fn prepare(&self, seed: u64) {
        self.noq.prepare(seed);
    }
}

/// What happens with a flow of this law in noq, in numbers; `None` if it is refused.
fn happens(law: &str, scene: &Scene) -> Option<String> {
    StackLaw::parse(law).ok()?;
    let noq = hosted::stacks().into_iter().find(|stack| stack.name() == "narrows-noq")?;
    let tried = Tried { noq, law: law.to_owned() };
    let own = Own { laws: Vec::new(), stacks: vec![Arc::new(tried)] };
    let scenario = Scenario::from_toml(&text("tried:law", scene)).ok()?;
    let checked = Checked::with_own(scenario, &own).ok()?;
    let results = run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs");
    Some(format!("{:?} {:?}", results.flows[0].summary, results.bottleneck().summary))
}

/// How many settings of `law` are accepted, and which of them change nothing.
fn try_settings(law: &&str) -> (u32, Vec<String>) {
    let entry = registry::find(law).expect("it is the registry's");
    let (mut usual, mut idle, mut tried) = (BTreeMap::new(), Vec::new(), 0);
    for setting in entry.settings() {
        let cc = |value: &String| format!("{law}:{}={value}", setting.name);
        let accepted: Vec<_> = values(&setting.default)
            .iter()
            .map(cc)
            .filter(|law| StackLaw::parse(law).is_ok())
            .collect();
        let counts = SCENES.iter().enumerate().any(|(number, scene)| {
            let usual = usual.entry(number).or_insert_with(|| happens(law, scene));
            usual.is_some()
                && accepted.iter().any(|law| {
                    let there = happens(law, scene);
                    there.is_some() && there != *usual
                })
        });
        tried += u32::from(!accepted.is_empty());
        if !accepted.is_empty() && !counts {
            idle.push(format!("{law} {} ({})", setting.name, setting.default));
        }
    }
    (tried, idle)
}

/// In noq, which is told of each packet; what a law hears in quinn and s2n-quic comes through the
/// same seat.
#[test]
fn each_setting_of_each_law_counts_in_a_stack_or_is_refused() {
    let laws: Vec<&str> = StackLaw::names().collect();
    let (tried, idle): (Vec<u32>, Vec<Vec<String>>) =
        on_all_cores(&laws, try_settings).into_iter().unzip();
    let (tried, idle) = (tried.iter().sum::<u32>(), idle.concat());
    assert!(idle.is_empty(), "accepted, and without effect:\n{}", idle.join("\n"));
    assert!(tried > 50, "only {tried} settings were accepted");
}
