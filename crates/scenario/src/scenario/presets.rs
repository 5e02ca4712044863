//! Links that are known by name: what a dumbbell is where it does not say otherwise.

use super::names::names;
use super::network::Dumbbell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

names! {
    /// Links that are known by name.
    pub enum LinkName {
        /// A cellular link, by two made-up traces.
        Lte = "lte",
        /// Satellites in a low orbit, which hand over every 15 s.
        Starlink = "starlink",
        /// A geostationary satellite.
        Geo = "geo",
        /// A wireless link that gathers packets and pauses.
        Wifi = "wifi",
        /// A cable modem.
        Cable = "cable",
        /// Ten light minutes.
        Mars = "mars",
    }
}

impl LinkName {
    /// Its fields, with their source, as text of TOML.
    pub const fn fields(self) -> &'static str {
        match self {
            Self::Lte => include_str!("presets/lte.toml"),
            Self::Starlink => include_str!("presets/starlink.toml"),
            Self::Geo => include_str!("presets/geo.toml"),
            Self::Wifi => include_str!("presets/wifi.toml"),
            Self::Cable => include_str!("presets/cable.toml"),
            Self::Mars => include_str!("presets/mars.toml"),
        }
    }

    fn dumbbell(self) -> Dumbbell {
        super::text::read_toml(self.fields()).expect("a preset is a dumbbell")
    }
}

/// The fields that were given.
fn given(dumbbell: &Dumbbell) -> Map<String, Value> {
    match serde_json::to_value(dumbbell) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a dumbbell's types all have a JSON form"),
    }
}

impl Dumbbell {
    /// The same with what its `link` says, where it does not say otherwise, instead of that.
    #[must_use]
    pub fn spelled_out(&self) -> Self {
        let Some(link) = self.link else { return self.clone() };
        let mut fields = given(&link.dumbbell());
        let own = given(&Self { link: None, ..self.clone() });
        // A link has one of these.
        for (one, other) in [("rate", "trace"), ("trace", "rate")] {
            if own.contains_key(one) {
                fields.remove(other);
            }
        }
        fields.extend(own);
        super::text::read_value(Value::Object(fields)).expect("fields of dumbbells are right")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_counts_and_the_rest_is_the_presets() {
        for link in LinkName::ALL.iter().copied() {
            let whole: Dumbbell =
                toml::from_str(&format!("link = \"{}\"", link.as_str())).expect("TOML");
            assert_eq!(whole.spelled_out(), link.dumbbell(), "{}", link.as_str());
            assert!(whole.spelled_out().rtt.is_some() && whole.spelled_out().buffer.is_some());
        }
        let fast: Dumbbell =
            toml::from_str("link = \"lte\"\nrate = \"9Mbps\"\nbuffer = \"9p\"").expect("TOML");
        let fast = fast.spelled_out();
        assert_eq!((fast.trace, fast.link), (None, None));
        assert_eq!(fast.rtt, LinkName::Lte.dumbbell().rtt);
        assert_eq!(fast.buffer, Some("9p".parse().expect("a buffer")));
    }
}
