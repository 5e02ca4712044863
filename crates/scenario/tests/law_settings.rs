//! What is accepted counts, for laws: each setting of each law, over each transport, is refused or
//! changes what happens.

#[path = "kept_texts/history.rs"]
mod history;

use history::history;
use narrows_control::registry::{Entry, LAWS, MovedBy};
use narrows_scenario::{Checked, Scenario};
use std::collections::BTreeMap;

/// Networks, and what flows say there: losses, marks of both kinds, routers that answer, paths
/// that only single settings show.
const SCENES: &[(&str, &str, u32)] = &[
    ("10Mbps 40ms 40p loss=0.5%", "", 8),
    ("10Mbps 40ms 40p", "", 20),
    ("100Mbps 100ms 1bdp loss=0.01%", "", 20),
    ("10Mbps 40ms 40p queue=red:min=3:max=9", "ecn = true", 8),
    ("50Mbps 40ms 2bdp queue=dualpi2", "quantum = 10", 8),
    ("10Mbps 40ms 40p queue=dualpi2", "", 20),
    ("1Mbps 10ms 2p queue=dualpi2", "", 8),
    ("10Mbps 40ms 40p queue=xcp", "", 8),
    ("10Mbps 40ms 2bdp queue=gwa", "", 8),
    ("10Mbps 40ms 2bdp queue=gwa:backward=true", "", 8),
    ("10Mbps 40ms 20p queue=gwa", "count = 10", 8),
    ("10Mbps 40ms 2bdp queue=ba", "", 8),
    ("1Mbps 40ms 20p queue=ba", "count = 10", 8),
    ("10Mbps 40ms 40p loss=3% jitter=5ms", "", 30),
    ("10Mbps 40ms 40p loss=0.5%", "app_rate = \"2Mbps\"", 20),
    ("10Mbps 40ms 4p queue=red:min=1:max=2", "ecn = true\ncount = 20", 8),
];

/// What happens with a flow of this `cc`; `None` if it is refused.
fn happens(cc: &str, (network, beside, seconds): &(&str, &str, u32)) -> Option<u64> {
    let mut fields = network.split(' ');
    let mut next = || fields.next().expect("rate, RTT and buffer come first");
    let mut dumbbell = format!("rate = {:?}\nrtt = {:?}\nbuffer = {:?}\n", next(), next(), next());
    for (name, value) in fields.filter_map(|field| field.split_once('=')) {
        dumbbell += &format!("{name} = {value:?}\n");
    }
    let text = format!(
        "duration = \"{seconds}s\"\nsample = \"0s\"\n[dumbbell]\n{dumbbell}[[flows]]\ncc = \"{cc}\"\n\
         {beside}\n"
    );
    let checked = Scenario::from_toml(&text).and_then(Checked::new).ok()?;
    Some(history(&checked).0)
}

/// Values other than the `default` to try.
fn values(default: &str) -> Vec<String> {
    let digits = default.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = &default[digits.len()..];
    let mut values = match digits.parse::<f64>() {
        Ok(number) => [0.5, 2.0, 0.1, 10.0, 0.8, 1.3]
            .iter()
            .map(|factor| format!("{}{unit}", number * factor))
            .collect(),
        Err(_) => Vec::new(),
    };
    let others = ["true", "false", "0", "1", "2", "0.3", "0.9", "5", "50ms", "300ms", "2s", "inf"];
    values.extend(others.map(str::to_owned));
    values.extend(
        ["linux", "draft", "rfc", "none", "least", "smoothed", "latest"].map(str::to_owned),
    );
    values.retain(|value| value != default);
    values
}

/// Over what a law goes: nothing for its own, or what follows the `+`.
fn transports(law: &Entry) -> &'static [&'static str] {
    if law.moved_by == MovedBy::EachLoss { &["", "+quic"] } else { &["", "+newreno", "+quic"] }
}

#[test]
fn each_setting_of_each_law_counts_over_each_transport_or_is_refused() {
    let mut before: BTreeMap<(String, usize), Option<u64>> = BTreeMap::new();
    let (mut idle, mut tried) = (Vec::new(), 0);
    for law in LAWS {
        for transport in transports(law) {
            for setting in law.settings() {
                let plain = format!("{}{transport}", law.name);
                let mut accepted = false;
                let counts = SCENES.iter().enumerate().any(|(number, scene)| {
                    let usual = *before
                        .entry((plain.clone(), number))
                        .or_insert_with(|| happens(&plain, scene));
                    values(&setting.default).iter().any(|value| {
                        let cc = format!("{}:{}={value}{transport}", law.name, setting.name);
                        let there = happens(&cc, scene);
                        accepted |= there.is_some();
                        usual.is_some() && there.is_some() && there != usual
                    })
                });
                tried += u32::from(accepted);
                if accepted && !counts {
                    idle.push(format!("{plain} {} ({})", setting.name, setting.default));
                }
            }
        }
    }
    assert!(idle.is_empty(), "accepted, and without effect:\n{}", idle.join("\n"));
    assert!(tried > 200, "only {tried} settings were accepted anywhere");
}
