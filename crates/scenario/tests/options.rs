//! What is accepted counts: each option of a flow, with each law, is refused or changes what
//! happens.

#[path = "kept_texts/history.rs"]
mod history;

use history::history;
use narrows_control::registry::LAWS;
use narrows_scenario::{Checked, Scenario};

/// Each option of a flow at a value that is far from its default.
const OPTIONS: &[(&str, &str)] = &[
    ("count", "2"),
    ("start", "\"500ms\""),
    ("start_spread", "\"0s\""),
    ("starts", "[\"700ms\"]"),
    ("stop", "\"1s\""),
    ("size", "\"50kB\""),
    ("app_rate", "\"1Mbps\""),
    ("telnet", "\"10ms\""),
    ("files", "{ off = \"100ms\" }"),
    ("web", "{ think = \"100ms\" }"),
    ("pacing", "\"even\""),
    ("pacing", "\"exponential\""),
    ("slow_start", "\"standard\""),
    ("slow_start", "\"limited\""),
    ("slow_start", "\"hystart++\""),
    ("max_ssthresh", "4"),
    ("ssthresh", "8"),
    ("ecn", "true"),
    ("tcp", "\"ns2\""),
    ("initial_window", "30"),
    ("max_window", "\"4p\""),
    ("timestamps", "false"),
    ("prr", "false"),
    ("rate_halving", "0.5"),
    ("overhead", "\"2ms\""),
    ("quantum", "4"),
    ("ack_every", "8"),
    ("ack_delay", "\"30ms\""),
    ("reliable", "false"),
    ("packet", "\"600B\""),
    ("on", "\"100ms\""),
    ("periods", "\"exponential\""),
    ("reverse", "true"),
    ("rtt", "\"80ms\""),
    ("over", "[1, 1]"),
    ("from", "\"a\""),
];

/// What happens with a flow over a lossy link whose queue marks and drops; `None` if the flow is
/// refused.
fn happens(flow: &str) -> Option<u64> {
    let text = format!(
        "duration = \"4s\"\nsample = \"0s\"\n[dumbbell]\nrate = \"10Mbps\"\nrtt = \"40ms\"\n\
         buffer = \"40p\"\nqueue = \"red:min=3:max=9\"\nloss = \"0.5%\"\n[[flows]]\n{flow}\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new).ok()?;
    Some(history(&checked).0)
}

/// True if an option says what the law does without it: its usual slow start, E-TCP's gaps.
fn repeats_the_default(cc: &str, option: &str, value: &str) -> bool {
    let usual_start = if cc.starts_with("cubic") { "\"hystart++\"" } else { "\"standard\"" };
    match option {
        "slow_start" => value == usual_start,
        "pacing" => cc.starts_with("etcp") && value == "\"exponential\"",
        _ => false,
    }
}

#[test]
fn what_is_accepted_counts() {
    let mut laws: Vec<String> = LAWS.iter().map(|law| law.name.to_owned()).collect();
    laws.extend(["newreno", "sack", "cubic+newreno"].map(str::to_owned));
    let mut flows: Vec<String> = laws.iter().map(|law| format!("cc = \"{law}\"")).collect();
    flows.push("datagrams = \"poisson\"\napp_rate = \"9Mbps\"".to_owned());
    let mut idle = Vec::new();
    for flow in &flows {
        let before = happens(flow).expect("a flow of its own is accepted");
        for (option, value) in OPTIONS {
            let cc = flow.trim_start_matches("cc = \"");
            let changed = happens(&format!("{flow}\n{option} = {value}"));
            if changed == Some(before) && !repeats_the_default(cc, option, value) {
                idle.push(format!("{flow} {option} = {value}"));
            }
        }
    }
    assert!(idle.is_empty(), "accepted, and without effect:\n{}", idle.join("\n"));
}
