//! The message for an unknown name, with a guess at what was meant.

/// A known name is guessed if it is at most this many insertions, deletions, substitutions and
/// swaps away, and at most half of what was written, whatever the case.
const NEAR: usize = 2;

/// `unknown KIND "NAME"; did you mean "…"? known: …`
pub fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let lower = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&lower, &known.to_lowercase());
    let near = known.clone().map(|known| (distance(known), known)).min();
    let guess = match near {
        Some((distance, known)) if distance <= NEAR.min(name.len() / 2) => {
            format!(" did you mean \"{known}\"?")
        }
        _ => String::new(),
    };
    format!("unknown {kind} \"{name}\";{guess} known: {}", known.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_guessed() {
        let say = |name| unknown("queue", name, ["codel", "pie"].into_iter());
        assert_eq!(
            say("codle"),
            "unknown queue \"codle\"; did you mean \"codel\"? known: codel, pie"
        );
        assert!(say("CODEL").contains("did you mean \"codel\"?"));
        assert_eq!(say("p"), "unknown queue \"p\"; known: codel, pie");
        assert_eq!(say("bananas"), "unknown queue \"bananas\"; known: codel, pie");
    }
}
