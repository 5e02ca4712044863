//! The message for an unknown name, with a guess at what was meant.

/// A known name is guessed if it is at most this many insertions, deletions, substitutions and
/// swaps away, and at most half of what was written, whatever the case.
const NEAR: usize = 2;
/// The letters of a name that are shown.
const MOST_SHOWN: usize = 60;

/// `unknown KIND "NAME"; did you mean "…"? known: …`
pub fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let letters = name.chars().count();
    let lower = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&lower, &known.to_lowercase());
    let near = known.clone().map(|known| (distance(known), known)).min();
    let guess = match near {
        Some((distance, known)) if distance <= NEAR.min(letters / 2) && distance < letters => {
            format!(" did you mean \"{known}\"?")
        }
        _ => String::new(),
    };
    let shown: String = name.chars().take(MOST_SHOWN).collect();
    let rest = if letters > MOST_SHOWN { "…" } else { "" };
    format!(
        "unknown {kind} \"{shown}{rest}\";{guess} known: {}",
        known.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_guessed() {
        let say = |name: &str| unknown("queue", name, ["codel", "pie"].into_iter());
        assert_eq!(
            say("codle"),
            "unknown queue \"codle\"; did you mean \"codel\"? known: codel, pie"
        );
        assert!(say("CODEL").contains("did you mean \"codel\"?"));
        assert_eq!(say("p"), "unknown queue \"p\"; known: codel, pie");
        assert_eq!(say("日本"), "unknown queue \"日本\"; known: codel, pie");
        let long = "a".repeat(99);
        assert!(say(&long).contains(&format!("\"{}…\";", &long[..MOST_SHOWN])));
        assert_eq!(say("bananas"), "unknown queue \"bananas\"; known: codel, pie");
    }
}
