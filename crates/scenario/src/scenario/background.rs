//! What others hold of a memory, as people write it: `"2MB"`, or a list of times and sizes.

use narrows_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What others hold of a memory.
#[derive(Clone, Debug, Serialize, JsonSchema, PartialEq)]
#[serde(untagged)]
pub enum Background {
    /// Always as much.
    Always(Bytes),
    /// From each time on so much.
    Changing(Vec<(Duration, Bytes)>),
}

impl<'de> Deserialize<'de> for Background {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Background;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a size, like \"2MB\", or times and sizes, like [[\"0s\", \"2MB\"]]")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Background, E> {
        text.parse().map(Background::Always).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Background, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Background::Changing)
    }
}
