//! What is accepted counts, for laws: each setting of each law, over each transport, is refused or
//! changes what happens.

mod cores;
#[path = "kept_texts/history.rs"]
mod history;
mod settings;

use cores::on_all_cores;
use history::history;
use narrows_control::registry::{Entry, LAWS, MovedBy};
use narrows_scenario::{Checked, Scenario};
use settings::{SCENES, Scene, text, values};
use std::collections::BTreeMap;

/// What happens with a flow of this `cc`; `None` if it is refused.
fn happens(cc: &str, scene: &Scene) -> Option<u64> {
    let checked = Scenario::from_toml(&text(cc, scene)).and_then(Checked::new).ok()?;
    Some(history(&checked).0)
}

/// Over what a law goes: nothing for its own, or what follows the `+`.
fn transports(law: &Entry) -> &'static [&'static str] {
    if law.moved_by == MovedBy::EachLoss { &["", "+quic"] } else { &["", "+newreno", "+quic"] }
}

/// The scenes in which settings of `law` are tried. Without its routers gwa-rate fills the access
/// link, whatever is set.
fn scenes_of(law: &Entry) -> impl Iterator<Item = (usize, &'static Scene)> {
    let needs_routers = law.name == "gwa-rate";
    let scenes = SCENES.iter().enumerate();
    scenes.filter(move |(_, (network, ..))| !needs_routers || network.contains("queue=gwa"))
}

/// How many settings of `law` over `transport` are accepted, and which of them change nothing.
fn try_settings((law, transport): &(&Entry, &str)) -> (u32, Vec<String>) {
    let mut before: BTreeMap<usize, Option<u64>> = BTreeMap::new();
    let (mut idle, mut tried) = (Vec::new(), 0);
    let plain = format!("{}{transport}", law.name);
    for setting in law.settings() {
        let mut accepted = false;
        let counts = scenes_of(law).any(|(number, scene)| {
            let usual = *before.entry(number).or_insert_with(|| happens(&plain, scene));
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
    (tried, idle)
}

#[test]
fn each_setting_of_each_law_counts_over_each_transport_or_is_refused() {
    let over = |law: &'static Entry| transports(law).iter().map(move |transport| (law, *transport));
    let pairs: Vec<(&Entry, &str)> = LAWS.iter().flat_map(over).collect();
    let (tried, idle): (Vec<u32>, Vec<Vec<String>>) =
        on_all_cores(&pairs, try_settings).into_iter().unzip();
    let (tried, idle) = (tried.iter().sum::<u32>(), idle.concat());
    assert!(idle.is_empty(), "accepted, and without effect:\n{}", idle.join("\n"));
    assert!(tried > 200, "only {tried} settings were accepted anywhere");
}
