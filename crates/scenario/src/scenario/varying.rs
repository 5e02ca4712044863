//! What of a link varies, as written.

use super::names::names;
use super::numbers::Numbers;
use super::written::written;
use narrows_units::{Buffer, Bytes, Duration, Probability, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

written! {
    /// A change of a link. What is not given stays as it is.
    pub struct Change {
        required {
            /// When.
            at: Duration,
        }
        optional {
            /// The rate from then on: bits in transmission go on at it.
            rate: Rate,
            /// With `rate`: it goes there evenly for so long, in steps of a hundredth, of 10ms at
            /// the least.
            ramp: Duration,
            /// The one-way delay of packets that leave from then on; in a dumbbell give `rtt`.
            delay: Duration,
            /// In a dumbbell, the base round-trip time: half of the difference to that given at
            /// first goes to each direction.
            rtt: Duration,
            /// The buffer for packets that arrive from then on; nothing in it is dropped. Units of
            /// time and of bdp are of the rate given at first.
            buffer: Buffer,
            /// The marking threshold for packets that arrive from then on.
            mark: Buffer,
            /// The settings of its queue for packets that arrive from then on, like "red:min=9"; it
            /// stays of the same kind.
            queue: String,
            /// The losses of packets that leave from then on.
            loss: Probability,
            /// With `loss`: the mean length of a burst of losses in packets.
            loss_burst: f64,
            /// The variation of the delay of packets that leave from then on.
            jitter: Duration,
            /// The largest packet from then on.
            mtu: Bytes,
        }
    }
}

written! {
    /// A time at which a link carries nothing.
    pub struct Outage {
        required {
            /// When it begins.
            at: Duration,
            /// How long it lasts.
            r#for: Duration,
        }
        optional {
            /// It comes again after each such time.
            every: Duration,
            /// What becomes of packets; "lose" unless given.
            does: Does,
        }
    }
}

names! {
    /// What an outage does.
    pub enum Does {
        /// What leaves is lost on the wire; the transmitter goes on.
        Lose = "lose",
        /// Nothing leaves; what arrives waits in the queue.
        Hold = "hold",
        /// Nothing leaves, and what arrives is dropped.
        Down = "down",
    }
}

written! {
    /// At regular times a link is out, and then another, with another rate and delay.
    pub struct Handovers {
        required {
            /// The time between them.
            every: Duration,
        }
        optional {
            /// The first; after `every` unless given.
            first: Duration,
            /// The least and the largest rate, between which each is drawn (evenly in their
            /// logarithms).
            rate: (Rate, Rate),
            /// The least and the largest one-way delay, between which each is drawn.
            delay: (Duration, Duration),
            /// How long each is an outage; "0s" unless given.
            gap: Duration,
            /// What becomes of packets in it; "lose" unless given.
            does: Does,
            /// Until the next the delay grows by this, in steps of 100ms.
            drift: Duration,
            /// The rate and the delay after each, in turn, instead of drawn ones.
            slots: Vec<(Rate, Duration)>,
        }
    }
}

written! {
    /// Packets reach a link's other end at certain times only, those that have come since the last
    /// together.
    pub struct Hold {
        required {
            /// The time from one to the next, like "4ms", or { mean = "4ms" } for times that are
            /// exponentially distributed.
            every: Every,
        }
        optional {
            /// Packets at one time, at most.
            most: u64,
            /// The wire is closed for so long before each, and open otherwise.
            r#for: Duration,
            /// The first; at `every` unless given.
            phase: Duration,
        }
    }
}

/// A time, or the mean of times that are exponentially distributed.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Every {
    /// Always so long.
    Exactly(Duration),
    /// So long on average.
    OnAverage(Mean),
}

written! {
    /// A mean.
    pub struct Mean {
        required {
            /// The mean.
            mean: Duration,
        }
        optional {}
    }
}

impl<'de> Deserialize<'de> for Every {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Every;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a time, like \"4ms\", or { mean = \"4ms\" }")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Every, E> {
                text.parse().map(Every::Exactly).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Every, A::Error> {
                Mean::deserialize(MapAccessDeserializer::new(map)).map(Every::OnAverage)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Every {
    fn schema_name() -> Cow<'static, str> {
        "Every".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Duration>();
        let mean = generator.subschema_for::<Mean>();
        json_schema!({ "anyOf": [time, mean] })
    }
}

written! {
    /// A token bucket before a queue.
    pub struct Policer {
        required {
            /// How fast it fills.
            rate: Rate,
            /// How much it holds.
            burst: Bytes,
        }
        optional {
            /// Whether packets that can be marked are, instead of dropped.
            mark: bool,
        }
    }
}

written! {
    /// A token bucket behind a queue.
    pub struct Shaper {
        required {
            /// How fast it fills.
            rate: Rate,
            /// How much it holds; larger packets are dropped.
            burst: Bytes,
        }
        optional {}
    }
}

written! {
    /// What happens to packets by their number, before the queue sees them: one of `drop`, `mark`,
    /// `twice`, `clear`, `late` and `window`. Packets that the other fields admit are counted as
    /// they arrive, from 1.
    pub struct ScriptLine {
        required {}
        optional {
            /// Those with these numbers are dropped, like 3, "40-43" or [3, "40-43"].
            drop: Numbers,
            /// Those with these numbers are marked, if they can be.
            mark: Numbers,
            /// A copy of those with these numbers comes right behind them, which other lines count.
            twice: Numbers,
            /// The ECN bits of those with these numbers are taken off.
            clear: Numbers,
            /// Those with the numbers of `packets` arrive so much later, overtaken by others.
            late: Duration,
            /// Those with the numbers of `packets` that acknowledge TCP's data advertise so much
            /// room at most, as a receiver with less does; a later line opens the window again.
            window: Bytes,
            /// With `late` or `window`: the numbers.
            packets: Numbers,
            /// The first count that arrive then or later.
            from: Duration,
            /// Those count that arrive before.
            until: Duration,
            /// Only packets of this flow count, numbered from 0 in the order of the scenario; its
            /// data on its way, its acknowledgements on their way back.
            flow: u32,
            /// Only packets of so many bytes or more count.
            least: Bytes,
            /// After so many the count begins anew.
            each: u64,
        }
    }
}
