//! A check: what is asked, by whom, and what was found.

use crate::subject::Subject;
use crate::trial::Trial;
use serde_json::{Value, json};
use std::fmt;

/// What the checks of one group are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The start of a connection.
    Start,
    /// Congestion avoidance.
    Growth,
    /// The answer to a loss.
    Decrease,
    /// What happens until a loss is repaired.
    Recovery,
    /// How packets are spread.
    Pacing,
    /// What comes after silence, and while the application limits.
    Idle,
    /// Congestion marks.
    Ecn,
    /// Timers.
    Timeouts,
    /// BBR.
    Bbr,
    /// Paths that are unusual.
    Robustness,
}

impl Group {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Growth => "growth",
            Self::Decrease => "decrease",
            Self::Recovery => "recovery",
            Self::Pacing => "pacing",
            Self::Idle => "idle",
            Self::Ecn => "ecn",
            Self::Timeouts => "timeouts",
            Self::Bbr => "bbr",
            Self::Robustness => "robustness",
        }
    }
}

/// How strongly it is asked for (RFC 2119).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// MUST, MUST NOT.
    Must,
    /// SHOULD, SHOULD NOT.
    Should,
    /// RECOMMENDED.
    Recommended,
    /// MAY.
    May,
    /// The source describes it without such a word, or it follows from what the source asks.
    Follows,
}

impl Word {
    /// As RFCs write it; "-" for what follows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Recommended => "RECOMMENDED",
            Self::May => "MAY",
            Self::Follows => "-",
        }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as asked.
    Holds,
    /// It is not, and must be: by the word MUST, or because a profile is defined by it.
    Fails,
    /// It is not, and should be.
    Differs,
    /// A number, of which nothing is asked.
    Info,
    /// It was not found out, because what it needs did not come about.
    Undecided,
    /// It is not asked of this subject.
    NotAsked,
}

impl Verdict {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Differs => "differs",
            Self::Info => "info",
            Self::Undecided => "undecided",
            Self::NotAsked => "not asked",
        }
    }
}

/// A check.
pub struct Check {
    /// A letter for its group, and a number.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its group.
    pub group: Group,
    /// How strongly the source asks for it.
    pub word: Word,
    /// Who asks for it.
    pub source: &'static str,
    /// The words of one of them; empty if they are nobody's.
    pub quote: &'static str,
    /// What is asked here, in a sentence; numbers that the words do not have are ours.
    pub asks: &'static str,
    /// Whether it is asked of a subject; if not, why.
    pub(crate) applies: fn(&Subject) -> Result<(), &'static str>,
    /// Takes its number.
    pub(crate) measure: fn(&mut Trial<'_>) -> Result<Finding, Stop>,
}

impl Check {
    /// The check as one object.
    pub fn record(&self) -> Value {
        let Self { id, name, group, word, source, quote, asks, .. } = self;
        let (group, word) = (group.as_str(), word.as_str());
        json!({
            "id": id, "name": name, "group": group, "word": word, "source": source, "quote": quote,
            "asks": asks,
        })
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

/// Why there is no number.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What the number needs did not come about.
    Undecided(String),
    /// It is not asked of this subject.
    NotAsked(String),
    /// It could not be run.
    Failed(String),
}

/// From where to where a number is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    least: f64,
    most: f64,
}

impl Range {
    pub fn between(least: f64, most: f64) -> Self {
        Self { least, most }
    }

    pub fn at_most(most: f64) -> Self {
        Self { least: f64::NEG_INFINITY, most }
    }

    pub fn at_least(least: f64) -> Self {
        Self { least, most: f64::INFINITY }
    }

    fn contains(self, number: f64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least.is_finite(), self.most.is_finite()) {
            (true, true) => write!(f, "{} .. {}", short(self.least), short(self.most)),
            (true, false) => write!(f, ">= {}", short(self.least)),
            _ => write!(f, "<= {}", short(self.most)),
        }
    }
}

/// The number that a check has taken, and where it must lie.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub number: f64,
    /// The number with its unit.
    pub seen: String,
    /// What it must be.
    pub must: Option<Range>,
    /// What it should be.
    pub should: Option<Range>,
}

impl Finding {
    /// A number of a `unit`, which may be empty.
    pub fn of(number: f64, unit: &str) -> Self {
        let unit = if number.is_finite() { unit } else { "" };
        let seen = format!("{} {unit}", short(number)).trim_end().to_owned();
        Self { number, seen, must: None, should: None }
    }

    /// It must lie there.
    pub fn must(self, range: Range) -> Self {
        Self { must: Some(range), ..self }
    }

    /// It should lie there.
    pub fn should(self, range: Range) -> Self {
        Self { should: Some(range), ..self }
    }

    /// With more words about what was seen.
    pub fn told(mut self, words: impl fmt::Display) -> Self {
        self.seen = format!("{}, {words}", self.seen);
        self
    }

    pub fn verdict(&self) -> Verdict {
        let breaks = |range: Option<Range>| range.is_some_and(|it| !it.contains(self.number));
        if breaks(self.must) {
            Verdict::Fails
        } else if breaks(self.should) {
            Verdict::Differs
        } else if self.must.or(self.should).is_some() {
            Verdict::Holds
        } else {
            Verdict::Info
        }
    }

    /// Where it lies if all is right; empty if anything is.
    pub fn bound(&self) -> String {
        let ranges: Vec<String> =
            self.must.into_iter().chain(self.should).map(|range| range.to_string()).collect();
        ranges.join(", ")
    }
}

/// A number for people: three digits and more, and none that mean nothing.
pub(crate) fn short(number: f64) -> String {
    if number.is_infinite() {
        return "never".to_owned();
    }
    // What is summed of nothing is −0.
    let number = number + 0.0;
    let text = match number.abs() {
        0.0..10.0 => format!("{number:.3}"),
        10.0..100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
