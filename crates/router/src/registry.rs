//! Every queue by name, with its settings: for the parser, `narrows list` and the documentation.

pub use crate::entry::{Entry, Placement};

use crate::queues;

/// Every queue, by name.
pub static QUEUES: &[Entry] = queues::ALL;

/// The queue whose name or alias is `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    QUEUES.iter().find(|queue| queue.name == name || queue.aliases.contains(&name))
}

/// The name of each queue.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    QUEUES.iter().map(|queue| queue.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::{RedSettings, XcpSettings};
    use crate::{Discipline, Limit};
    use narrows_settings::{Given, SettingError};

    const PLACE: Placement = Placement { limit: Limit::Packets(120), packet: 1000 };

    fn build(name: &str, parts: &[&str], place: Placement) -> Result<Discipline, SettingError> {
        let given = Given::parse(parts.iter().copied()).expect("name=value");
        find(name).expect("a queue").build(&given, &place)
    }

    fn red(parts: &[&str]) -> RedSettings {
        let Ok(Discipline::Red(red)) = build("red", parts, PLACE) else { panic!("{parts:?}") };
        red
    }

    fn xcp(parts: &[&str]) -> XcpSettings {
        let Ok(Discipline::Xcp(xcp)) = build("xcp", parts, PLACE) else { panic!("{parts:?}") };
        xcp
    }

    #[test]
    fn every_queue_is_built_with_its_defaults_and_its_names_are_its_own() {
        assert!(names().is_sorted());
        for queue in QUEUES {
            assert!(queue.build(&Given::default(), &PLACE).is_ok(), "{}", queue.name);
            for name in queue.aliases.iter().chain([&queue.name]) {
                assert_eq!(find(name).map(|found| found.name), Some(queue.name));
            }
        }
    }

    #[test]
    fn defaults_that_depend_on_the_place_are_those_listed() {
        let of_120 = red(&[]);
        assert_eq!((of_120.min, of_120.max, of_120.mean_packet), (10.0, 30.0, 1000.0));
        assert_eq!(red(&["min=10", "max=30", "mean_packet=1000"]).min, of_120.min);
        let given = red(&["p_max=5%", "max=50"]);
        assert_eq!((given.min, given.max, given.options.p_max.value()), (10.0, 50.0, 0.05));
        let bytes = red(&["bytes=on"]);
        assert_eq!((bytes.min, bytes.max), (10_000.0, 30_000.0));
        let listed = ["alpha=0.4", "beta=0.226", "gamma=0.1", "capacity=1"];
        assert_eq!(xcp(&listed), xcp(&[]));
        let listed = ["conservative=on", "alpha=0.2", "beta=0.056", "gamma=0.05", "capacity=0.9"];
        assert_eq!(xcp(&listed), xcp(&["conservative=on"]));
        let changed = XcpSettings { gamma: 0.1, ..XcpSettings::CONSERVATIVE };
        assert_eq!(xcp(&["conservative=on", "gamma=0.1"]), changed);
    }

    #[test]
    fn mistakes_are_named() {
        let error =
            |name, parts: &[&str], place| build(name, parts, place).unwrap_err().to_string();
        assert_eq!(error("rr", &["quantum=3"], PLACE), "rr has no settings; leave out \"quantum\"");
        assert_eq!(
            error("codel", &["targt=3ms"], PLACE),
            "unknown setting of codel \"targt\"; did you mean \"target\"? \
             known: target, interval, ecn, ce_threshold, ce_selector"
        );
        assert_eq!(
            error("fq-codel", &["ce_selector=ect1"], PLACE),
            "ce_selector: has no effect without ce_threshold; write that, or leave ce_selector out"
        );
        assert_eq!(error("codel", &["target=5"], PLACE), "target: \"5\" is not a time; try 5ms");
        assert_eq!(error("codel", &["target=0s"], PLACE), "target: 0s is not above 0; try 5ms");
        assert_eq!(error("red", &["min=40"], PLACE), "min: 40 packets is not below max, 30");
        assert_eq!(
            error("red", &["ecn=off", "mark_above=on"], PLACE),
            "mark_above: has no effect without ecn=true; write that, or leave mark_above out"
        );
        assert_eq!(
            error("gwa-rr", &["flows=3", "tau=1s"], PLACE),
            "tau: has no effect beside flows; leave one of them out"
        );
        let unlimited = Placement { limit: Limit::Unlimited, ..PLACE };
        assert_eq!(error("gwa-rr", &[], unlimited), "gwa-rr needs a buffer, like \"100p\"");
    }
}
