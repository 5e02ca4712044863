//! Numbers of packets as people write them: `3`, `"40-43"`, or a list of these.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

/// Numbers from 1, in ranges that rise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(Vec<RangeInclusive<u64>>);

impl Numbers {
    /// The ranges, in rising order.
    pub fn ranges(&self) -> &[RangeInclusive<u64>] {
        &self.0
    }

    fn of(mut ranges: Vec<RangeInclusive<u64>>) -> Self {
        ranges.sort_by_key(|range| *range.start());
        Self(ranges)
    }
}

const EXPECTED: &str = "numbers from 1, like 3, \"40-43\" or [3, \"40-43\"]";

fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0);
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(first..=last)
}

/// One number or range.
struct One(RangeInclusive<u64>);

struct OneVisitor;

impl Visitor<'_> for OneVisitor {
    type Value = One;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(EXPECTED)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<One, E> {
        if number == 0 {
            return Err(E::invalid_value(Unexpected::Unsigned(number), &self));
        }
        Ok(One(number..=number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<One, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<One, E> {
        range(text).map(One).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneVisitor)
    }
}

struct Several;

impl<'de> Visitor<'de> for Several {
    type Value = Numbers;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(EXPECTED)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Numbers, E> {
        OneVisitor.visit_u64(number).map(|One(range)| Numbers(vec![range]))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Numbers, E> {
        OneVisitor.visit_i64(number).map(|One(range)| Numbers(vec![range]))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Numbers, E> {
        OneVisitor.visit_str(text).map(|One(range)| Numbers(vec![range]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Numbers, A::Error> {
        let mut ranges = Vec::new();
        while let Some(One(range)) = list.next_element()? {
            ranges.push(range);
        }
        if ranges.is_empty() {
            return Err(A::Error::invalid_length(0, &self));
        }
        Ok(Numbers::of(ranges))
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Several)
    }
}

impl Serialize for One {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (first, last) = (self.0.start(), self.0.end());
        if first == last {
            serializer.serialize_u64(*first)
        } else {
            serializer.serialize_str(&format!("{first}-{last}"))
        }
    }
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [only] = &self.0[..] {
            return One(only.clone()).serialize(serializer);
        }
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for range in &self.0 {
            list.serialize_element(&One(range.clone()))?;
        }
        list.end()
    }
}

impl JsonSchema for Numbers {
    fn schema_name() -> Cow<'static, str> {
        "Numbers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" },
            ]
        });
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_were_read() {
        for (text, again) in [
            ("3", "3"),
            ("\"40-43\"", "\"40-43\""),
            ("\"7\"", "7"),
            ("[17, \"4-6\", 2]", "[2,\"4-6\",17]"),
        ] {
            let numbers: Numbers = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&numbers).expect("JSON"), again);
        }
        for text in ["0", "-1", "\"\"", "\"9-3\"", "\"0-3\"", "[]", "[0]", "true", "\"a\""] {
            let error = serde_json::from_str::<Numbers>(text).expect_err(text).to_string();
            assert!(error.contains("numbers from 1, like 3"), "{error}");
        }
    }
}
