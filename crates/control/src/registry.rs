//! Every law by name: the parser, `narrows list`, Python's names, the docs' table and the tests iterate over this.

use crate::{Controller, OncePerEpoch, SlowStart, cubic, etcp, etcp_rate, fast, highspeed, reno, scalable};
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
            Some((name, _)) if self.parameters.is_empty() => Err(ParameterError(format!("{} has no settings, not \"{name}\"", self.name))),
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
    /// The only source of randomness.
    pub seed: u64,
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

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
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
    let guess = near.filter(|(distance, _)| *distance <= 2).map(|(_, k)| format!("; did you mean \"{k}\"?")).unwrap_or_else(|| ";".into());
    format!("unknown {kind} \"{name}\"{guess} known: {}", known.collect::<Vec<_>>().join(", "))
}

/// The law called `name`, by its name or an alias.
pub fn find(name: &str) -> Result<&'static Entry, UnknownLaw> {
    LAWS.iter().find(|law| law.name == name || law.aliases.contains(&name)).ok_or_else(|| UnknownLaw(name.to_owned()))
}

/// Every law.
pub static LAWS: &[Entry] = &[
    Entry {
        name: "cubic",
        aliases: &["TcpCubic"],
        summary: "a cubic of the time since the last loss, at least as fast as Reno",
        source: "RFC 9438",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter { name: "beta", default: "0.7", meaning: "share of the window kept in an epoch (ratio)" },
            Parameter { name: "c", default: "0.4", meaning: "steepness (packets/s³)" },
            Parameter { name: "fast_convergence", default: "true", meaning: "a flow whose peaks fall makes room" },
            Parameter { name: "friendly", default: "true", meaning: "never below a Reno flow's window" },
            Parameter { name: "s_max", default: "inf", meaning: "most packets a second gained above W_max; 160 in Linux 2.6.22" },
        ],
        construct: |birth| Ok(per_epoch(birth, cubic::Cubic::new(read_checked(birth, cubic::Params::check)?))),
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
            Ok(Box::new(etcp::Etcp::new(params, birth.initial_window).with_ssthresh(birth.initial_ssthresh)))
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
            Ok(Box::new(etcp_rate::EtcpRate::new(params, birth.initial_window).with_ssthresh(birth.initial_ssthresh)))
        },
    },
    Entry {
        name: "fast",
        aliases: &[],
        summary: "keeps a number of packets in queues, by the queueing delay",
        source: "Jin, Wei, Low, INFOCOM 2004",
        moved_by: MovedBy::Delay,
        parameters: &[
            Parameter { name: "alpha", default: "1000", meaning: "packets that a flow keeps in queues" },
            Parameter { name: "gamma", default: "0.5", meaning: "share of the way to its target in a round trip (ratio)" },
            Parameter { name: "mi_threshold", default: "0.00075", meaning: "queueing delay below which the window doubles (s)" },
        ],
        construct: |birth| Ok(Box::new(fast::Fast::new(read_checked(birth, fast::Params::check)?, birth.initial_window))),
    },
    Entry {
        name: "highspeed",
        aliases: &["hstcp", "TcpHighSpeed"],
        summary: "Reno's law with an increase and a decrease that depend on the window",
        source: "RFC 3649",
        moved_by: MovedBy::Epochs,
        parameters: &[
            Parameter { name: "low_window", default: "38", meaning: "packets up to which it is Reno's law" },
            Parameter { name: "high_window", default: "83000", meaning: "packets at high_p" },
            Parameter { name: "high_p", default: "1e-7", meaning: "loss rate at high_window (ratio)" },
            Parameter { name: "high_decrease", default: "0.1", meaning: "share of the window given up at high_window (ratio)" },
        ],
        construct: |birth| Ok(per_epoch(birth, highspeed::HighSpeed::new(read_checked(birth, highspeed::Params::check)?))),
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
            Parameter { name: "a", default: "0.01", meaning: "packets added for each acknowledged; 0.02 in Linux 2.6.22" },
            Parameter { name: "b", default: "0.125", meaning: "share of the window given up in an epoch (ratio)" },
        ],
        construct: |birth| Ok(per_epoch(birth, scalable::Scalable::new(read_checked(birth, scalable::Params::check)?))),
    },
];

const ETCP_PARAMETERS: &[Parameter] = &[
    Parameter { name: "p0", default: "0.01", meaning: "loss rate that the bottleneck is driven above (ratio)" },
    Parameter { name: "b", default: "25", meaning: "packets acknowledged for one more of window; above the buffer" },
];

fn read_checked<P: for<'de> Deserialize<'de>>(birth: &Birth, check: fn(&P) -> Result<(), &'static str>) -> Result<P, ParameterError> {
    let params = read(birth)?;
    check(&params).map_err(|bound| ParameterError(bound.to_owned()))?;
    Ok(params)
}

fn read<P: for<'de> Deserialize<'de>>(birth: &Birth) -> Result<P, ParameterError> {
    let pairs = birth.parameters.iter().map(|(name, value)| (name.as_str(), value));
    P::deserialize(MapDeserializer::new(pairs)).map_err(|error: Error| ParameterError(error.to_string()))
}

fn per_epoch<L: crate::WindowLaw + 'static>(birth: &Birth, law: L) -> Box<dyn Controller> {
    let controller = OncePerEpoch::new(birth.slow_start.clone(), law, birth.initial_window);
    Box::new(controller.with_ssthresh(birth.initial_ssthresh))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn birth(parameters: &[(&str, Value)]) -> Birth {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Birth { parameters, slow_start: SlowStart::Standard, initial_window: 10.0, initial_ssthresh: f64::INFINITY, seed: 1 }
    }

    fn error(law: &str, parameters: &[(&str, Value)]) -> String {
        find(law).unwrap().build(&birth(parameters)).err().unwrap().to_string()
    }

    #[test]
    fn an_unknown_law_is_guessed() {
        assert_eq!(
            find("cubik").err().unwrap().to_string(),
            "unknown controller \"cubik\"; did you mean \"cubic\"? known: cubic, etcp, etcp-rate, fast, highspeed, reno, scalable"
        );
        assert_eq!(
            find("bananas").err().unwrap().to_string(),
            "unknown controller \"bananas\"; known: cubic, etcp, etcp-rate, fast, highspeed, reno, scalable"
        );
    }

    #[test]
    fn settings_are_checked() {
        assert!(
            error("cubic", &[("betta", Value::Number(0.5))]).contains("unknown setting \"betta\"; did you mean \"beta\"? known: beta, c")
        );
        assert!(error("cubic", &[("beta", Value::Number(1.5))]).contains("beta: between 0 and 1"));
        assert!(error("cubic", &[("beta", Value::Switch(true))]).contains("invalid type: boolean `true`, expected f64"));
        assert!(error("reno", &[("beta", Value::Number(0.5))]).contains("reno has no settings, not \"beta\""));
    }

    #[test]
    fn every_listed_default_is_the_laws() {
        for law in LAWS {
            for parameter in law.parameters {
                let value: Value = parameter.default.parse().unwrap();
                assert!(law.build(&birth(&[(parameter.name, value)])).is_ok(), "{}:{}", law.name, parameter.name);
            }
        }
    }
}
