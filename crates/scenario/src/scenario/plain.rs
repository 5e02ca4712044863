//! What the readers of TOML and JSON say of a wrong field, in plain words.

use narrows_settings::unknown;

/// `message` with its last line in plain words; the lines before it show the place.
pub(super) fn plain(message: &str) -> String {
    let message = message.trim_end();
    match message.rsplit_once('\n') {
        Some((place, last)) => format!("{place}\n{}", sentence(last)),
        None => sentence(message),
    }
}

/// Fields of versions before, and what says it now.
const OF_BEFORE: &[(&str, &str)] = &[
    ("reverse_buffer", "the way back has fields of its own: reverse = { buffer = \"20p\" }"),
    ("app_rate", "an application has fields of its own: app = { rate = \"1Mbps\" }"),
    ("on", "it is the application's: app = { rate = \"1Mbps\", on = \"5s\", off = \"5s\" }"),
    ("off", "it is the application's: app = { rate = \"1Mbps\", on = \"5s\", off = \"5s\" }"),
    ("periods", "it is the application's: app = { …, periods = \"exponential\" }"),
];

fn sentence(said: &str) -> String {
    if let Some(rest) = said.strip_prefix("unknown field ") {
        let names = quoted(rest);
        if names.first() == Some(&"delay") && names.contains(&"rtt") {
            let rtt = "a dumbbell has an rtt, there and back, not a one-way delay: rtt = \"100ms\"";
            return format!("unknown field \"delay\"; {rtt}");
        }
        let old = |(name, _): &&(&str, &str)| names.first() == Some(name);
        if let Some((name, instead)) = OF_BEFORE.iter().find(old) {
            return format!("unknown field \"{name}\"; {instead}");
        }
        return of_known("field", &names);
    }
    if let Some(rest) = said.strip_prefix("unknown variant ") {
        return of_known("value", &quoted(rest));
    }
    if let Some(name) = said.strip_prefix("missing field ") {
        return format!("missing field {}; add it", name.replace('`', "\""));
    }
    if said == "wanted string or table" || said == "wanted exactly 1 element" {
        return "not a name; write it as text, like \"constant\"".to_owned();
    }
    [
        ("struct App", "a table, like { rate = \"1Mbps\" }"),
        ("struct Arrivals", "a table, like { sizes = \"web-search\", load = 0.3 }"),
        ("struct Incast", "a table, like { size = \"32kB\", every = \"100ms\" }"),
        ("struct Files", "a table, like { off = \"1s\" }"),
        ("struct Web", "a table, like { think = \"40s\" }"),
        ("a tuple of size 2", "a pair, like [1, 2] or [\"8s\", \"13s\"]"),
        ("u32", "a whole number, like 1"),
        ("u64", "a whole number, like 1"),
        ("f64", "a number, like 1.5"),
        ("a boolean", "true or false"),
    ]
    .iter()
    .find_map(|(kind, words)| Some(format!("{}expected {words}", end(said, kind)?)))
    .unwrap_or_else(|| said.to_owned())
}

/// What comes before "expected `kind`" at the end of a sentence.
fn end<'a>(said: &'a str, kind: &str) -> Option<&'a str> {
    said.strip_suffix(kind)?.strip_suffix("expected ")
}

/// The names between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The first name is unknown; the others are known.
fn of_known(kind: &str, names: &[&str]) -> String {
    let (name, known) = names.split_first().map_or(("", names), |(name, known)| (*name, known));
    unknown(kind, name, known.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_said_plainly() {
        for (said, plainly) in [
            (
                "at line 3\nunknown field `bufer`, expected one of `rate`, `buffer`",
                "at line 3\nunknown field \"bufer\"; did you mean \"buffer\"? known: rate, buffer",
            ),
            (
                "unknown variant `evn`, expected one of `none`, `even`",
                "unknown value \"evn\"; did you mean \"even\"? known: none, even",
            ),
            ("unknown variant `a`, expected `b`", "unknown value \"a\"; known: b"),
            ("missing field `rtt`", "missing field \"rtt\"; add it"),
            (
                "invalid type: string \"x\", expected u32",
                "invalid type: string \"x\", expected a whole number, like 1",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(plain(said), plainly);
        }
    }
}
