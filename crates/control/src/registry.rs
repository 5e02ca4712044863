//! Every law by name: the parser, `narrows list`, Python's names, the docs' table and the tests
//! iterate over this.

use crate::{Advertised, Bound, Controller, OncePerEpoch, SlowStart};
use crate::{
    aimd, ba, bbr, bic, cubic, dctcp, etcp, etcp_rate, fast, gwa, highspeed, htcp, illinois, ltcp,
    reno, scalable, vegas, westwood, xcp,
};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, MapDeserializer};
use std::fmt;

/// A law's line in the registry.
pub struct Entry {
    /// Linux's name, or the paper's where Linux has none.
    pub name: &'static str,
    /// Other names people use: ns-2's, ns-3's.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// What moves it.
    pub moved_by: MovedBy,
    /// Settings, with their defaults.
    pub parameters: &'static [Parameter],
    construct: fn(&Birth) -> Result<Box<dyn Controller>, ParameterError>,
}

impl Entry {
    /// Checks the settings and builds the controller.
    pub fn build(&self, birth: &Birth) -> Result<Box<dyn Controller>, ParameterError> {
        let known = self.parameters.iter().map(|parameter| parameter.name);
        match birth.parameters.iter().find(|(name, _)| !known.clone().any(|known| known == name)) {
            Some((name, _)) if self.parameters.is_empty() => {
                Err(ParameterError(format!("{} has no settings, not \"{name}\"", self.name)))
            }
            Some((name, _)) => Err(ParameterError(unknown("setting", name, known))),
            None => (self.construct)(birth),
        }
    }
}

/// What moves a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedBy {
    /// Acknowledgements up, the first loss of a recovery epoch down.
    Epochs,
    /// Acknowledgements up, each lost packet down: needs E-TCP's signalling.
    EachLoss,
    /// Round-trip times, both ways.
    Delay,
    /// Samples of the delivery rate, both ways: needs selective acknowledgements.
    DeliveryRate,
    /// Feedback of routers, both ways.
    Routers,
}

/// One setting of a law.
pub struct Parameter {
    /// As in the paper's equations.
    pub name: &'static str,
    /// As one would write it.
    pub default: &'static str,
    /// What it is, and its unit.
    pub meaning: &'static str,
}

/// What a controller is born with.
#[derive(Clone, Debug)]
pub struct Birth {
    /// Settings given by the user, by name.
    pub parameters: Vec<(String, Value)>,
    /// The slow start to compose with.
    pub slow_start: SlowStart,
    /// Packets.
    pub initial_window: f64,
    /// Packets; infinite where there is no threshold yet.
    pub initial_ssthresh: f64,
    /// Bytes of a packet on the wire.
    pub packet_bytes: u32,
    /// The receiver's own window in packets; infinite where it is no limit.
    pub receive_window: f64,
    /// The only source of randomness.
    pub seed: u64,
}

impl Default for Birth {
    /// As Linux begins, without settings, threshold or limit.
    fn default() -> Self {
        Self {
            parameters: Vec::new(),
            slow_start: SlowStart::Standard,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            packet_bytes: 1500,
            receive_window: f64::INFINITY,
            seed: 1,
        }
    }
}

/// A setting's value as a user writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `beta=0.8`
    Number(f64),
    /// `fast_convergence=false`
    Switch(bool),
}

impl std::str::FromStr for Value {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "true" | "on" | "yes" => Ok(Self::Switch(true)),
            "false" | "off" | "no" => Ok(Self::Switch(false)),
            _ => text.parse().map(Self::Number).map_err(drop),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Switch(switch) => switch.fmt(f),
        }
    }
}

impl<'de> IntoDeserializer<'de, Error> for &Value {
    type Deserializer = ValueDeserializer;
    fn into_deserializer(self) -> ValueDeserializer {
        ValueDeserializer(self.clone())
    }
}

/// Reads a [`Value`] into a setting.
pub struct ValueDeserializer(Value);

impl<'de> serde::Deserializer<'de> for ValueDeserializer {
    type Error = Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Number(number) => visitor.visit_f64(number),
            Value::Switch(switch) => visitor.visit_bool(switch),
        }
    }

    fn deserialize_option<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A setting that the law does not have, or a value out of bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError(String);

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ParameterError {}

/// A name that no law has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLaw(String);

impl fmt::Display for UnknownLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&unknown("controller", &self.0, LAWS.iter().map(|law| law.name)))
    }
}

impl std::error::Error for UnknownLaw {}

/// `unknown KIND "NAME"; did you mean "…"? known: …`
pub fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = known.clone().map(|k| (strsim::damerau_levenshtein(name, k), k)).min();
    let guess = near
        .filter(|(distance, _)| *distance <= 2)
        .map(|(_, k)| format!("; did you mean \"{k}\"?"))
        .unwrap_or_else(|| ";".into());
    format!("unknown {kind} \"{name}\"{guess} known: {}", known.collect::<Vec<_>>().join(", "))
}

/// The law called `name`, by its name or an alias.
pub fn find(name: &str) -> Result<&'static Entry, UnknownLaw> {
    LAWS.iter()
        .find(|law| law.name == name || law.aliases.contains(&name))
        .ok_or_else(|| UnknownLaw(name.to_owned()))
}

/// Every law.
pub static LAWS: &[Entry] = &[
    Entry {
        name: "aimd",
        aliases: &[],
        summary: "so many packets more a round trip, so large a share kept at a loss: Reno's law with any two parameters",
        source: "Chiu, Jain, 1989; H-TCP, §2",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter { name: "alpha", default: "1", meaning: "packets gained in a round trip" },
            Parameter {
                name: "beta",
                default: "0.5",
                meaning: "share of the window kept in an epoch (ratio)",
            },
        ],
        construct: |birth| {
            Ok(per_epoch(birth, aimd::Aimd::new(read_checked(birth, aimd::Params::check)?)))
        },
    },
    Entry {
        name: "ba",
        aliases: &["ba-tcp"],
        summary: "Reno's law below the bandwidth that routers advertise times the least RTT; needs queues that are ba",
        source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
        moved_by: MovedBy::Epochs,
        parameters: &[],
        construct: |birth| Ok(bounded(birth, ba::Ba::new(birth.packet_bytes))),
    },
    Entry {
        name: "bbr",
        aliases: &["bbr3", "bbrv3"],
        summary: "BBR version 3: models the path's bandwidth and RTT, paces at the one, keeps in flight what both allow",
        source: "draft-ietf-ccwg-bbr-06",
        moved_by: MovedBy::DeliveryRate,
        parameters: &[
            Parameter {
                name: "ecn",
                default: "false",
                meaning: "packets are ECN-capable and marks are answered",
            },
            Parameter {
                name: "quantum",
                default: "1",
                meaning: "packets that leave together: the flow's quantum",
            },
        ],
        construct: |birth| {
            Ok(Box::new(bbr::Bbr::new(
                read_checked(birth, bbr::Params::check)?,
                birth.initial_window,
                birth.seed,
            )))
        },
    },
    Entry {
        name: "bic",
        aliases: &["TcpBic"],
        summary: "searches for the window of the last loss, a quarter of the distance a round trip, then probes beyond it",
        source: "Xu, Harfoush, Rhee, INFOCOM 2004; Linux's tcp_bic",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter {
                name: "beta",
                default: "0.7998046875",
                meaning: "share of the window kept in an epoch (ratio)",
            },
            Parameter {
                name: "low_window",
                default: "14",
                meaning: "packets up to which it is Reno's law",
            },
            Parameter {
                name: "max_increment",
                default: "16",
                meaning: "most packets gained in a round trip (S_max)",
            },
            Parameter {
                name: "smooth_part",
                default: "20",
                meaning: "round trips for the last four packets before W_max",
            },
            Parameter {
                name: "fast_convergence",
                default: "true",
                meaning: "a flow whose peaks fall makes room",
            },
            Parameter {
                name: "delayed_ack",
                default: "1",
                meaning: "growth is so many times as fast; 1.9375 in ns-2's Linux 2.6.22",
            },
        ],
        construct: |birth| {
            Ok(per_epoch(birth, bic::Bic::new(read_checked(birth, bic::Params::check)?)))
        },
    },
    Entry {
        name: "cubic",
        aliases: &["TcpCubic"],
        summary: "a cubic of the time since the last loss, at least as fast as Reno",
        source: "RFC 9438",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter {
                name: "beta",
                default: "0.7",
                meaning: "share of the window kept in an epoch (ratio)",
            },
            Parameter { name: "c", default: "0.4", meaning: "steepness (packets/s³)" },
            Parameter {
                name: "fast_convergence",
                default: "true",
                meaning: "a flow whose peaks fall makes room",
            },
            Parameter {
                name: "friendly",
                default: "true",
                meaning: "never below a Reno flow's window",
            },
            Parameter {
                name: "s_max",
                default: "inf",
                meaning: "most packets a second gained above W_max; 160 in Linux 2.6.22",
            },
        ],
        construct: |birth| {
            Ok(per_epoch(birth, cubic::Cubic::new(read_checked(birth, cubic::Params::check)?)))
        },
    },
    Entry {
        name: "dctcp",
        aliases: &["TcpDctcp"],
        summary: "gives up half the share of packets that came with a mark; needs queues that mark",
        source: "RFC 8257",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter {
                name: "g",
                default: "0.0625",
                meaning: "weight of a new window in the share of marks (ratio)",
            },
            Parameter {
                name: "alpha",
                default: "1",
                meaning: "the share of marks at birth (ratio)",
            },
            Parameter {
                name: "l4s",
                default: "false",
                meaning: "packets leave as ECT(1), for queues like dualpi2",
            },
        ],
        construct: |birth| {
            Ok(per_epoch(birth, dctcp::Dctcp::new(read_checked(birth, dctcp::Params::check)?)))
        },
    },
    Entry {
        name: "etcp",
        aliases: &["e-tcp"],
        summary: "drives the bottleneck to a small constant loss rate; answers each lost packet, paces, never waits for a window",
        source: "Gu, Towsley, Hollot, Zhang, §III",
        moved_by: MovedBy::EachLoss,
        parameters: ETCP_PARAMETERS,
        construct: |birth| {
            let params: etcp::Params = read_checked(birth, etcp::Params::check)?;
            Ok(Box::new(
                etcp::Etcp::new(params, birth.initial_window).with_ssthresh(birth.initial_ssthresh),
            ))
        },
    },
    Entry {
        name: "etcp-rate",
        aliases: &["e-tcp-rate"],
        summary: "as etcp, but moves a rate instead of a window: flows of any RTT get the same",
        source: "Gu, Towsley, Hollot, Zhang, §VII",
        moved_by: MovedBy::EachLoss,
        parameters: ETCP_PARAMETERS,
        construct: |birth| {
            let params: etcp::Params = read_checked(birth, etcp::Params::check)?;
            Ok(Box::new(
                etcp_rate::EtcpRate::new(params, birth.initial_window)
                    .with_ssthresh(birth.initial_ssthresh),
            ))
        },
    },
    Entry {
        name: "fast",
        aliases: &[],
        summary: "keeps a number of packets in queues, by the queueing delay",
        source: "Jin, Wei, Low, INFOCOM 2004",
        moved_by: MovedBy::Delay,
        parameters: &[
            Parameter {
                name: "alpha",
                default: "1000",
                meaning: "packets that a flow keeps in queues",
            },
            Parameter {
                name: "gamma",
                default: "0.5",
                meaning: "share of the way to its target in a round trip (ratio)",
            },
            Parameter {
                name: "mi_threshold",
                default: "0.00075",
                meaning: "queueing delay below which the window doubles (s)",
            },
        ],
        construct: |birth| {
            Ok(Box::new(fast::Fast::new(
                read_checked(birth, fast::Params::check)?,
                birth.initial_window,
            )))
        },
    },
    Entry {
        name: "gwa",
        aliases: &["gwa-tcp"],
        summary: "Reno's law below the window that routers advertise; needs queues that are gwa-rr or gwa-fcfs",
        source: "Gerla, Lo Cigno, Mascolo, Weng",
        moved_by: MovedBy::Epochs,
        parameters: &[],
        construct: |birth| {
            Ok(bounded(birth, gwa::Gwa::new(birth.packet_bytes, birth.receive_window)))
        },
    },
    Entry {
        name: "highspeed",
        aliases: &["hstcp", "TcpHighSpeed"],
        summary: "Reno's law with an increase and a decrease that depend on the window",
        source: "RFC 3649",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter {
                name: "low_window",
                default: "38",
                meaning: "packets up to which it is Reno's law",
            },
            Parameter { name: "high_window", default: "83000", meaning: "packets at high_p" },
            Parameter {
                name: "high_p",
                default: "1e-7",
                meaning: "loss rate at high_window (ratio)",
            },
            Parameter {
                name: "high_decrease",
                default: "0.1",
                meaning: "share of the window given up at high_window (ratio)",
            },
        ],
        construct: |birth| {
            Ok(per_epoch(
                birth,
                highspeed::HighSpeed::new(read_checked(birth, highspeed::Params::check)?),
            ))
        },
    },
    Entry {
        name: "htcp",
        aliases: &["h-tcp", "TcpHtcp"],
        summary: "grows faster the longer the last loss is past, backs off by how much of the RTT is queue",
        source: "Leith, Shorten, §3",
        moved_by: MovedBy::Epochs,
        parameters: HTCP_PARAMETERS,
        construct: |birth| {
            Ok(per_epoch(birth, htcp::Htcp::new(read_checked(birth, htcp::Params::check)?)))
        },
    },
    Entry {
        name: "illinois",
        aliases: &["TcpIllinois"],
        summary: "grows fast and gives up little while queues are short, Reno's way when they are long",
        source: "Liu, Başar, Srikant, Performance Evaluation 65, 2008",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter {
                name: "alpha_min",
                default: "0.3",
                meaning: "packets a round trip at the largest delay",
            },
            Parameter {
                name: "alpha_max",
                default: "10",
                meaning: "packets a round trip without delay",
            },
            Parameter {
                name: "beta_min",
                default: "0.125",
                meaning: "share given up at a loss without delay (ratio)",
            },
            Parameter {
                name: "beta_max",
                default: "0.5",
                meaning: "share given up at a loss with delay (ratio)",
            },
            Parameter {
                name: "w_thresh",
                default: "15",
                meaning: "packets below which it is Reno's law",
            },
        ],
        construct: |birth| {
            Ok(per_epoch(
                birth,
                illinois::Illinois::new(read_checked(birth, illinois::Params::check)?),
            ))
        },
    },
    Entry {
        name: "ltcp",
        aliases: &[],
        summary: "adds layers as the window grows; at layer K it gains K packets a round trip",
        source: "Bhandarkar, Jain, Reddy, §III, §IV",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter {
                name: "w_t",
                default: "50",
                meaning: "packets at which the second layer begins",
            },
            Parameter {
                name: "beta",
                default: "0.15",
                meaning: "share of the window given up in an epoch (ratio); 0.5 if geometric",
            },
            Parameter {
                name: "geometric",
                default: "false",
                meaning: "the alternate rule W_K = alpha·W_(K−1)",
            },
            Parameter {
                name: "alpha",
                default: "2",
                meaning: "the alternate rule's ratio, above 1.5",
            },
        ],
        construct: |birth| {
            let params: ltcp::Params = read_checked(birth, ltcp::Params::check)?;
            Ok(if params.geometric {
                per_epoch(birth, ltcp::Ltcp::alternate(params))
            } else {
                per_epoch(birth, ltcp::Ltcp::new(params))
            })
        },
    },
    Entry {
        name: "reno",
        aliases: &["TcpLinuxReno"],
        summary: "one packet more a round trip, half the window at a loss",
        source: "RFC 5681",
        moved_by: MovedBy::Epochs,
        parameters: &[],
        construct: |birth| Ok(per_epoch(birth, reno::Reno)),
    },
    Entry {
        name: "scalable",
        aliases: &["stcp", "TcpScalable"],
        summary: "a fixed share more a round trip, a fixed share less at a loss",
        source: "Kelly, CCR 33, 2003",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter {
                name: "a",
                default: "0.01",
                meaning: "packets added for each acknowledged; 0.02 in Linux 2.6.22",
            },
            Parameter {
                name: "b",
                default: "0.125",
                meaning: "share of the window given up in an epoch (ratio)",
            },
        ],
        construct: |birth| {
            Ok(per_epoch(
                birth,
                scalable::Scalable::new(read_checked(birth, scalable::Params::check)?),
            ))
        },
    },
    Entry {
        name: "vegas",
        aliases: &["TcpVegas"],
        summary: "keeps two to four packets of its own in queues, by the round-trip time",
        source: "Brakmo, Peterson, JSAC 13, 1995",
        moved_by: MovedBy::Delay,
        parameters: &[
            Parameter {
                name: "alpha",
                default: "2",
                meaning: "packets of its own in queues below which it grows",
            },
            Parameter {
                name: "beta",
                default: "4",
                meaning: "packets of its own in queues above which it shrinks",
            },
            Parameter {
                name: "gamma",
                default: "1",
                meaning: "packets of its own in queues that end slow start",
            },
        ],
        construct: |birth| {
            let params: vegas::Params = read_checked(birth, vegas::Params::check)?;
            Ok(Box::new(
                vegas::Vegas::new(params, birth.initial_window)
                    .with_ssthresh(birth.initial_ssthresh),
            ))
        },
    },
    Entry {
        name: "westwood",
        aliases: &["TcpWestwood", "TcpWestwoodPlus"],
        summary: "Reno's law that falls to the bandwidth-delay product it has measured",
        source: "Grieco, Mascolo, CCR 34, 2004",
        moved_by: MovedBy::Epochs,
        parameters: &[],
        construct: |birth| Ok(per_epoch(birth, westwood::Westwood::default())),
    },
    Entry {
        name: "xcp",
        aliases: &[],
        summary: "its window grows and shrinks by what routers say in each packet; needs queues that are xcp",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
        moved_by: MovedBy::Routers,
        parameters: &[
            Parameter {
                name: "halve",
                default: "true",
                meaning: "a recovery epoch halves the window, as TCP's",
            },
            Parameter {
                name: "whole",
                default: "false",
                meaning: "the header counts whole packets of the window, as ns-2's",
            },
        ],
        construct: |birth| {
            Ok(Box::new(xcp::Xcp::new(read(birth)?, birth.packet_bytes, birth.initial_window)))
        },
    },
];

const HTCP_PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "delta_l",
        default: "1",
        meaning: "seconds after a loss for which it is Reno's law",
    },
    Parameter {
        name: "a0",
        default: "1",
        meaning: "eq. 17's first coefficient (packets a round trip)",
    },
    Parameter {
        name: "a1",
        default: "10",
        meaning: "eq. 17's second coefficient (packets a round trip and second)",
    },
    Parameter {
        name: "a2",
        default: "0.25",
        meaning: "eq. 17's third coefficient (packets a round trip and second²)",
    },
    Parameter { name: "adaptive", default: "true", meaning: "the back-off adapts to the queue" },
    Parameter {
        name: "beta",
        default: "0.5",
        meaning: "least share of the window kept, and after a reset (ratio)",
    },
    Parameter { name: "beta_max", default: "0.8", meaning: "largest share kept (ratio)" },
    Parameter {
        name: "reset",
        default: "0.2",
        meaning: "how far the throughput may move between epochs (ratio)",
    },
    Parameter {
        name: "throughput_ratio",
        default: "false",
        meaning: "eq. 22 in place of RTT_min/RTT_max",
    },
    Parameter {
        name: "rtt_scaling",
        default: "false",
        meaning: "growth in proportion to the RTT, within [0.5, 10] of that at 100 ms",
    },
];

const ETCP_PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "p0",
        default: "0.01",
        meaning: "loss rate that the bottleneck is driven above (ratio)",
    },
    Parameter {
        name: "b",
        default: "25",
        meaning: "packets acknowledged for one more of window; above the buffer",
    },
];

fn read_checked<P: for<'de> Deserialize<'de>>(
    birth: &Birth,
    check: fn(&P) -> Result<(), &'static str>,
) -> Result<P, ParameterError> {
    let params = read(birth)?;
    check(&params).map_err(|bound| ParameterError(bound.to_owned()))?;
    Ok(params)
}

fn read<P: for<'de> Deserialize<'de>>(birth: &Birth) -> Result<P, ParameterError> {
    let pairs = birth.parameters.iter().map(|(name, value)| (name.as_str(), value));
    P::deserialize(MapDeserializer::new(pairs))
        .map_err(|error: Error| ParameterError(error.to_string()))
}

fn per_epoch<L: crate::WindowLaw + 'static>(birth: &Birth, law: L) -> Box<dyn Controller> {
    Box::new(once_per_epoch(birth, law))
}

fn bounded<B: Bound + 'static>(birth: &Birth, bound: B) -> Box<dyn Controller> {
    Box::new(Advertised::new(bound, once_per_epoch(birth, reno::Reno)))
}

fn once_per_epoch<L: crate::WindowLaw>(birth: &Birth, law: L) -> OncePerEpoch<L> {
    OncePerEpoch::new(birth.slow_start.clone(), law, birth.initial_window)
        .with_ssthresh(birth.initial_ssthresh)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn birth(parameters: &[(&str, Value)]) -> Birth {
        let parameters =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Birth { parameters, ..Birth::default() }
    }

    fn error(law: &str, parameters: &[(&str, Value)]) -> String {
        find(law).unwrap().build(&birth(parameters)).err().unwrap().to_string()
    }

    #[test]
    fn an_unknown_law_is_guessed() {
        assert_eq!(
            find("cubik").err().unwrap().to_string(),
            "unknown controller \"cubik\"; did you mean \"cubic\"? known: aimd, ba, bbr, bic, cubic, dctcp, etcp, etcp-rate, fast, gwa, highspeed, htcp, illinois, ltcp, reno, scalable, vegas, westwood, xcp"
        );
        assert_eq!(
            find("bananas").err().unwrap().to_string(),
            "unknown controller \"bananas\"; known: aimd, ba, bbr, bic, cubic, dctcp, etcp, etcp-rate, fast, gwa, highspeed, htcp, illinois, ltcp, reno, scalable, vegas, westwood, xcp"
        );
    }

    #[test]
    fn settings_are_checked() {
        assert!(
            error("cubic", &[("betta", Value::Number(0.5))])
                .contains("unknown setting \"betta\"; did you mean \"beta\"? known: beta, c")
        );
        assert!(error("cubic", &[("beta", Value::Number(1.5))]).contains("beta: between 0 and 1"));
        assert!(
            error("cubic", &[("beta", Value::Switch(true))])
                .contains("invalid type: boolean `true`, expected f64")
        );
        assert!(
            error("reno", &[("beta", Value::Number(0.5))])
                .contains("reno has no settings, not \"beta\"")
        );
    }

    #[test]
    fn every_listed_default_is_the_laws() {
        for law in LAWS {
            for parameter in law.parameters {
                let value: Value = parameter.default.parse().unwrap();
                assert!(
                    law.build(&birth(&[(parameter.name, value)])).is_ok(),
                    "{}:{}",
                    law.name,
                    parameter.name
                );
            }
        }
    }
}
