//! Every law by name: the parser, `narrows list`, Python's names, the docs' table and the tests iterate over this.

use crate::{Controller, OncePerEpoch, SlowStart, cubic, reno};
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
        parameters: &[
            Parameter { name: "beta", default: "0.7", meaning: "share of the window kept in an epoch (ratio)" },
            Parameter { name: "c", default: "0.4", meaning: "steepness (packets/s³)" },
            Parameter { name: "fast_convergence", default: "true", meaning: "a flow whose peaks fall makes room" },
            Parameter { name: "friendly", default: "true", meaning: "never below a Reno flow's window" },
            Parameter { name: "s_max", default: "inf", meaning: "most packets a second gained above W_max; 160 in Linux 2.6.22" },
        ],
        construct: |birth| {
            let params: cubic::Params = read(birth)?;
            params.check().map_err(|bound| ParameterError(bound.to_owned()))?;
            Ok(per_epoch(birth, cubic::Cubic::new(params)))
        },
    },
    Entry {
        name: "reno",
        aliases: &["TcpLinuxReno"],
        summary: "one packet more a round trip, half the window at a loss",
        source: "RFC 5681",
        parameters: &[],
        construct: |birth| Ok(per_epoch(birth, reno::Reno)),
    },
];

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
        assert_eq!(find("cubik").err().unwrap().to_string(), "unknown controller \"cubik\"; did you mean \"cubic\"? known: cubic, reno");
        assert_eq!(find("bananas").err().unwrap().to_string(), "unknown controller \"bananas\"; known: cubic, reno");
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
