//! Every queue by name, with its settings: for the parser, `narrows list` and the docs.

use crate::{
    Ba, CodelSettings, Discipline, DropTail, DualPi2Settings, FlowCountSettings, FqCodelSettings,
    Gwa, Pie, Red, Xcp,
};
use narrows_units::{Duration, Probability};

/// A queue's line in the registry.
pub struct Entry {
    /// `tc`'s name, or the paper's where `tc` has none.
    pub name: &'static str,
    /// Other names people use.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Settings, with their defaults.
    pub parameters: &'static [Parameter],
    construct: fn(&Settings) -> Result<Discipline, String>,
}

/// One setting of a queue.
pub struct Parameter {
    /// As in the source.
    pub name: &'static str,
    /// As one would write it.
    pub default: &'static str,
    /// What it is.
    pub meaning: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    Time,
    /// Between 0 and 1.
    Ratio,
    /// Any number that is not negative.
    Number,
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its limit.
    pub limit: DropTail,
    /// Bytes of a packet, in which limits are counted.
    pub packet: u64,
    /// Seeds what is hashed.
    pub seed: u64,
}

impl Place {
    /// The buffer in packets; `None` without limit.
    fn packets(&self) -> Option<f64> {
        match self.limit {
            DropTail::Unlimited => None,
            DropTail::Packets(packets) => Some(packets as f64),
            DropTail::Bytes(bytes) => Some(bytes as f64 / self.packet as f64),
        }
    }
}

/// What a queue is built from.
pub struct Settings<'a> {
    place: Place,
    entry: &'a Entry,
    given: &'a [(String, String)],
}

impl Entry {
    /// Reads the settings `given`, by name, and checks them. The error says what would have been
    /// right.
    pub fn build(&self, given: &[(String, String)], place: Place) -> Result<Discipline, String> {
        for (name, value) in given {
            let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == name)
            else {
                let known: Vec<&str> =
                    self.parameters.iter().map(|parameter| parameter.name).collect();
                let remedy = if known.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("known: {}", known.join(", "))
                };
                return Err(format!("{} has no setting \"{name}\"; {remedy}", self.name));
            };
            if parameter.kind.read(value).is_none() {
                return Err(format!(
                    "{}: \"{value}\" is no {}; try {}",
                    parameter.name,
                    parameter.kind.noun(),
                    parameter.default
                ));
            }
        }
        (self.construct)(&Settings { place, entry: self, given })
    }
}

impl Kind {
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Switch => match text {
                "true" | "on" | "yes" => Some(1.0),
                "false" | "off" | "no" => Some(0.0),
                _ => None,
            },
            Self::Time => text
                .parse()
                .ok()
                .filter(|time: &Duration| *time > Duration::ZERO)
                .map(Duration::seconds),
            Self::Ratio => text.parse().ok().map(Probability::value),
            Self::Number => {
                text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
            }
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Time => "time",
            Self::Ratio => "ratio between 0 and 1",
            Self::Number => "number",
        }
    }
}

impl Settings<'_> {
    /// A setting as given; else its default; `None` where that depends on the place.
    fn get(&self, name: &str) -> Option<f64> {
        let parameter = self
            .entry
            .parameters
            .iter()
            .find(|parameter| parameter.name == name)
            .expect("settings are those listed");
        let given =
            self.given.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        parameter.kind.read(given.unwrap_or(parameter.default))
    }

    fn number(&self, name: &str) -> f64 {
        self.get(name).expect("its default is a number")
    }

    fn time(&self, name: &str) -> Duration {
        Duration::from_secs(self.number(name))
    }

    fn switch(&self, name: &str) -> bool {
        self.number(name) != 0.0
    }

    /// The buffer in packets, which this queue cannot do without.
    fn buffer(&self) -> Result<f64, String> {
        self.place
            .packets()
            .ok_or_else(|| format!("{} needs a buffer, like \"100p\"", self.entry.name))
    }
}

/// The queue called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    QUEUES.iter().find(|queue| queue.name == name || queue.aliases.contains(&name))
}

const ECN: Parameter = Parameter {
    name: "ecn",
    default: "true",
    meaning: "marks what can be marked, in place of a drop",
    kind: Kind::Switch,
};
const CODEL_TARGET: Parameter =
    Parameter { name: "target", default: "5ms", meaning: "delay that may stand", kind: Kind::Time };
const CODEL_INTERVAL: Parameter = Parameter {
    name: "interval",
    default: "100ms",
    meaning: "for how long, about the largest RTT",
    kind: Kind::Time,
};
const FLOW_ALPHA: Parameter = Parameter {
    name: "alpha",
    default: "0.9",
    meaning: "weight of the past in the number of flows",
    kind: Kind::Ratio,
};
const TAU: Parameter = Parameter {
    name: "tau",
    default: "100ms",
    meaning: "for how long flows are counted",
    kind: Kind::Time,
};
const FLOWS: Parameter = Parameter {
    name: "flows",
    default: "0",
    meaning: "the number of flows, where it is known; 0: measured",
    kind: Kind::Number,
};

/// Every queue.
pub static QUEUES: &[Entry] = &[
    Entry {
        name: "ba",
        aliases: &[],
        summary: "drop-tail that advertises the bandwidth a flow may have, for ba",
        source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
        parameters: &[
            FLOW_ALPHA,
            TAU,
            FLOWS,
            Parameter {
                name: "gain",
                default: "1",
                meaning: "share of what is spare handed out in tau",
                kind: Kind::Ratio,
            },
        ],
        construct: |settings| {
            Ok(Discipline::Ba(Ba { flows: flow_count(settings), gain: settings.number("gain") }))
        },
    },
    Entry {
        name: "codel",
        aliases: &[],
        summary: "drops or marks while packets wait for longer than a target, more and more often",
        source: "RFC 8289",
        parameters: &[CODEL_TARGET, CODEL_INTERVAL, ECN],
        construct: |settings| Ok(Discipline::Codel(codel(settings))),
    },
    Entry {
        name: "drop-tail",
        aliases: &["pfifo", "bfifo"],
        summary: "drops what finds it full; counts packets, the one in transmission included, or bytes where the buffer is given so",
        source: "ns-2's DropTail; tc's pfifo and bfifo",
        parameters: &[],
        construct: |_| Ok(Discipline::DropTail),
    },
    Entry {
        name: "dualpi2",
        aliases: &[],
        summary: "a shallow queue for scalable senders beside one for classic ones, coupled",
        source: "RFC 9332",
        parameters: &[
            Parameter {
                name: "target",
                default: "15ms",
                meaning: "delay of the classic queue",
                kind: Kind::Time,
            },
            Parameter {
                name: "update",
                default: "16ms",
                meaning: "between steps of the probability",
                kind: Kind::Time,
            },
            Parameter {
                name: "alpha",
                default: "0.16",
                meaning: "weight of the distance to the target (Hz)",
                kind: Kind::Number,
            },
            Parameter {
                name: "beta",
                default: "3.2",
                meaning: "weight of the trend (Hz)",
                kind: Kind::Number,
            },
            Parameter {
                name: "coupling",
                default: "2",
                meaning: "k: marks a unit of p' in the scalable queue",
                kind: Kind::Number,
            },
            Parameter {
                name: "step",
                default: "800us",
                meaning: "delay at which the scalable queue begins to mark",
                kind: Kind::Time,
            },
            Parameter {
                name: "range",
                default: "400us",
                meaning: "from there to certain marks",
                kind: Kind::Time,
            },
        ],
        construct: |settings| {
            Ok(Discipline::DualPi2(DualPi2Settings {
                target: settings.time("target"),
                update: settings.time("update"),
                alpha: settings.number("alpha"),
                beta: settings.number("beta"),
                coupling: settings.number("coupling"),
                step: settings.time("step"),
                range: settings.time("range"),
            }))
        },
    },
    Entry {
        name: "fq-codel",
        aliases: &["fq_codel"],
        summary: "queues by hash of the flow, in turns by bytes, CoDel at each; new flows first",
        source: "RFC 8290",
        parameters: &[
            CODEL_TARGET,
            CODEL_INTERVAL,
            ECN,
            Parameter {
                name: "queues",
                default: "1024",
                meaning: "queues that flows are hashed to",
                kind: Kind::Number,
            },
            Parameter {
                name: "quantum",
                default: "1514",
                meaning: "bytes a turn",
                kind: Kind::Number,
            },
        ],
        construct: |settings| {
            let (queues, quantum) = (settings.number("queues"), settings.number("quantum"));
            if !(1.0..=65_536.0).contains(&queues) || !(1.0..=1e9).contains(&quantum) {
                return Err(format!(
                    "queues: {queues}, quantum: {quantum}; try queues=1024:quantum=1514"
                ));
            }
            let (queues, quantum, perturbation) =
                (queues as u32, quantum as u32, settings.place.seed);
            Ok(Discipline::FqCodel(FqCodelSettings {
                codel: codel(settings),
                queues,
                quantum,
                perturbation,
            }))
        },
    },
    Entry {
        name: "gwa-fcfs",
        aliases: &["gwa"],
        summary: "first in, first out; advertises an equal part of its free buffer, for gwa",
        source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
        parameters: &[FLOW_ALPHA, TAU, FLOWS],
        construct: |settings| gwa(settings, false),
    },
    Entry {
        name: "gwa-rr",
        aliases: &[],
        summary: "a queue for each flow, in turn; advertises each flow's part of the buffer less its queue, for gwa",
        source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
        parameters: &[FLOW_ALPHA, TAU, FLOWS],
        construct: |settings| gwa(settings, true),
    },
    Entry {
        name: "pie",
        aliases: &[],
        summary: "drops or marks with a probability that holds the delay at a target",
        source: "RFC 8033",
        parameters: &[
            Parameter {
                name: "target",
                default: "15ms",
                meaning: "delay that is aimed at",
                kind: Kind::Time,
            },
            Parameter {
                name: "update",
                default: "15ms",
                meaning: "between steps of the probability",
                kind: Kind::Time,
            },
            Parameter {
                name: "alpha",
                default: "0.125",
                meaning: "weight of the distance to the target (Hz)",
                kind: Kind::Number,
            },
            Parameter {
                name: "beta",
                default: "1.25",
                meaning: "weight of the trend (Hz)",
                kind: Kind::Number,
            },
            Parameter {
                name: "max_burst",
                default: "150ms",
                meaning: "burst that passes",
                kind: Kind::Time,
            },
            ECN,
        ],
        construct: |settings| {
            Ok(Discipline::Pie(Pie {
                target: settings.time("target"),
                update: settings.time("update"),
                alpha: settings.number("alpha"),
                beta: settings.number("beta"),
                max_burst: settings.time("max_burst"),
                ecn: settings.switch("ecn"),
            }))
        },
    },
    Entry {
        name: "red",
        aliases: &[],
        summary: "drops or marks at random as the average queue grows between two thresholds",
        source: "Floyd, Jacobson, ToN 1, 1993",
        parameters: &[
            Parameter {
                name: "min",
                default: "buffer/12",
                meaning: "lower threshold (packets)",
                kind: Kind::Number,
            },
            Parameter {
                name: "max",
                default: "buffer/4",
                meaning: "upper threshold (packets)",
                kind: Kind::Number,
            },
            Parameter {
                name: "weight",
                default: "0.002",
                meaning: "of an arrival in the average",
                kind: Kind::Ratio,
            },
            Parameter {
                name: "p_max",
                default: "0.1",
                meaning: "probability at the upper threshold",
                kind: Kind::Ratio,
            },
            Parameter {
                name: "gentle",
                default: "false",
                meaning: "above it the probability rises on to 1",
                kind: Kind::Switch,
            },
            ECN,
            Parameter {
                name: "mark_above",
                default: "false",
                meaning: "marks above the upper threshold too",
                kind: Kind::Switch,
            },
            Parameter {
                name: "wait",
                default: "false",
                meaning: "1/p packets pass between two drops, as in ns-2",
                kind: Kind::Switch,
            },
            Parameter {
                name: "bytes",
                default: "false",
                meaning: "measures bytes, and drops by size",
                kind: Kind::Switch,
            },
            Parameter {
                name: "mean_packet",
                default: "packet",
                meaning: "mean size of a packet (bytes)",
                kind: Kind::Number,
            },
        ],
        construct: red,
    },
    Entry {
        name: "rr",
        aliases: &["round-robin"],
        summary: "a queue for each flow, one packet of each in turn",
        source: "Nagle, RFC 970",
        parameters: &[],
        construct: |_| Ok(Discipline::RoundRobin),
    },
    Entry {
        name: "xcp",
        aliases: &[],
        summary: "tells each packet of an xcp sender by how much its window may grow",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
        parameters: &[
            Parameter {
                name: "conservative",
                default: "false",
                meaning: "the parameters for small buffers (C.P.)",
                kind: Kind::Switch,
            },
            Parameter {
                name: "alpha",
                default: "0.4, or 0.2",
                meaning: "share of the spare bandwidth given out",
                kind: Kind::Number,
            },
            Parameter {
                name: "beta",
                default: "0.226, or 0.056",
                meaning: "share of the persistent queue taken back",
                kind: Kind::Number,
            },
            Parameter {
                name: "gamma",
                default: "0.1, or 0.05",
                meaning: "share of the traffic shuffled",
                kind: Kind::Ratio,
            },
            Parameter {
                name: "capacity",
                default: "1, or 0.9",
                meaning: "capacity it is told, over the link's",
                kind: Kind::Number,
            },
            Parameter {
                name: "count_acks",
                default: "true",
                meaning: "counts what has no congestion header",
                kind: Kind::Switch,
            },
        ],
        construct: |settings| {
            let set =
                if settings.switch("conservative") { Xcp::CONSERVATIVE } else { Xcp::ORIGINAL };
            let xcp = Xcp {
                alpha: settings.get("alpha").unwrap_or(set.alpha),
                beta: settings.get("beta").unwrap_or(set.beta),
                gamma: settings.get("gamma").unwrap_or(set.gamma),
                capacity: settings.get("capacity").unwrap_or(set.capacity),
                count_acks: settings.switch("count_acks"),
            };
            if xcp.capacity == 0.0 {
                Err("capacity: above 0, like 0.9".to_owned())
            } else {
                Ok(Discipline::Xcp(xcp))
            }
        },
    },
];

fn flow_count(settings: &Settings) -> FlowCountSettings {
    let known = settings.number("flows");
    let known = (known >= 1.0).then_some(known);
    FlowCountSettings { alpha: settings.number("alpha"), tau: settings.time("tau"), known }
}

fn gwa(settings: &Settings, round_robin: bool) -> Result<Discipline, String> {
    let buffer = settings.buffer()? * settings.place.packet as f64;
    Ok(Discipline::Gwa(Gwa { round_robin, buffer, flows: flow_count(settings) }))
}

fn codel(settings: &Settings) -> CodelSettings {
    let mtu = settings.place.packet;
    CodelSettings {
        target: settings.time("target"),
        interval: settings.time("interval"),
        ecn: settings.switch("ecn"),
        mtu,
    }
}

fn red(settings: &Settings) -> Result<Discipline, String> {
    let threshold = |name: &str, part: f64| {
        settings.get(name).map_or_else(|| Ok(settings.buffer()? / part), Ok::<f64, String>)
    };
    let (min, max) = (threshold("min", 12.0)?, threshold("max", 4.0)?);
    if min >= max {
        return Err(format!("min: {min} packets is not below max, {max}"));
    }
    let mean_packet = settings.get("mean_packet").unwrap_or(settings.place.packet as f64);
    if mean_packet < 1.0 {
        return Err(format!("mean_packet: {mean_packet} bytes; try 1000"));
    }
    let unit = if settings.switch("bytes") { mean_packet } else { 1.0 };
    Ok(Discipline::Red(Red {
        min: min * unit,
        max: max * unit,
        weight: settings.number("weight"),
        p_max: settings.number("p_max"),
        gentle: settings.switch("gentle"),
        ecn: settings.switch("ecn"),
        mark_above: settings.switch("mark_above"),
        wait: settings.switch("wait"),
        bytes: settings.switch("bytes"),
        mean_packet,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { limit: DropTail::Packets(120), packet: 1000, seed: 1 };

    fn build(name: &str, settings: &[(&str, &str)], place: Place) -> Result<Discipline, String> {
        let given: Vec<(String, String)> = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        find(name).expect("a queue").build(&given, place)
    }

    #[test]
    fn every_queue_is_built_with_its_defaults_and_its_names_are_its_own() {
        for queue in QUEUES {
            assert!(queue.build(&[], PLACE).is_ok(), "{}", queue.name);
            for name in queue.aliases.iter().chain([&queue.name]) {
                assert_eq!(find(name).map(|found| found.name), Some(queue.name));
            }
        }
    }

    #[test]
    fn thresholds_are_parts_of_the_buffer_unless_given() {
        let Ok(Discipline::Red(red)) = build("red", &[("p_max", "5%"), ("max", "50")], PLACE)
        else {
            panic!()
        };
        assert_eq!((red.min, red.max, red.p_max), (10.0, 50.0, 0.05));
        let Ok(Discipline::Red(red)) = build("red", &[("bytes", "on")], PLACE) else { panic!() };
        assert_eq!((red.min, red.max), (10_000.0, 30_000.0));
        let Ok(Discipline::Xcp(xcp)) =
            build("xcp", &[("conservative", "on"), ("gamma", "0.1")], PLACE)
        else {
            panic!()
        };
        assert_eq!(xcp, Xcp { gamma: 0.1, ..Xcp::CONSERVATIVE });
    }

    #[test]
    fn mistakes_are_named() {
        let error =
            |name, settings: &[(&str, &str)], place| build(name, settings, place).unwrap_err();
        assert_eq!(
            error("rr", &[("quantum", "3")], PLACE),
            "rr has no setting \"quantum\"; it has none"
        );
        assert_eq!(
            error("codel", &[("targt", "3ms")], PLACE),
            "codel has no setting \"targt\"; known: target, interval, ecn"
        );
        assert_eq!(error("codel", &[("target", "5")], PLACE), "target: \"5\" is no time; try 5ms");
        assert_eq!(error("red", &[("min", "40")], PLACE), "min: 40 packets is not below max, 30");
        assert_eq!(
            error("gwa-rr", &[], Place { limit: DropTail::Unlimited, ..PLACE }),
            "gwa-rr needs a buffer, like \"100p\""
        );
    }
}
