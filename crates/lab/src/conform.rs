//! Conformance of a stack's congestion controller, in that stack's own tests.

use crate::artefacts;
use crate::lab::Mine;
use narrows_conform::{Profile, Row, Subject, Transport, Verdict, chosen, conform};
use narrows_scenario::{Own, Stack, Transfer};
use narrows_sim::Endpoint;
use serde_json::Value;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::Arc;

/// A stack whose congestion controller is judged from what is on the wire.
///
/// ```
/// # use narrows_lab::Conform;
/// # use narrows_hosts::smoltcp;
/// Conform::of("mine", |transfer| smoltcp::pair("reno", 1500, transfer))
///     .over_tcp()
///     .as_law("reno")
///     .check("D1, T1")
///     .expect_holds();
/// ```
#[derive(Clone)]
pub struct Conform {
    subject: Subject,
    own: Own,
    skipped: Vec<&'static str>,
}

impl Conform {
    /// The stack whose ends `ends` makes, over QUIC unless [`over_tcp`](Self::over_tcp) says
    /// otherwise, as a controller of which only that is asked that is asked of all.
    pub fn of<E: Endpoint>(
        name: &str,
        ends: impl Fn(&Transfer) -> Result<(Box<E>, Box<E>), String> + Send + Sync + 'static,
    ) -> Self {
        Self::stack(Arc::new(Mine { name: name.to_owned(), ends }), name)
    }

    /// A stack by name, like those of `narrows-hosts`, with a `cc` like `quinn:cubic`.
    pub fn stack(stack: Arc<dyn Stack>, cc: &str) -> Self {
        let mut own = Own::default();
        own.stacks.push(stack);
        let (profile, transport) = (Profile::Any, Transport::Quic);
        let subject = Subject { cc: cc.to_owned(), profile, transport, fields: Vec::new() };
        Self { subject, own, skipped: Vec::new() }
    }

    /// It carries TCP: what RFC 9002 asks is not asked of it.
    #[must_use]
    pub fn over_tcp(mut self) -> Self {
        self.subject.transport = Transport::Tcp;
        self
    }

    /// What the controller is to be: `reno`, `cubic`, `bbr`, `bbr1`, `prague`, `dctcp` or `any`.
    ///
    /// # Panics
    /// If there is no such profile.
    #[must_use]
    pub fn as_law(mut self, profile: &str) -> Self {
        self.subject.profile = Profile::named(profile).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// Another field of its flow, as scenarios have it.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.subject = self.subject.with(field, value);
        self
    }

    /// Checks that are not tried, as it is known that they fail: `"G6"`, several between commas.
    ///
    /// # Panics
    /// If there is no such check.
    #[must_use]
    pub fn skip(mut self, names: &str) -> Self {
        let skipped = chosen(names).unwrap_or_else(|error| panic!("{error}"));
        self.skipped.extend(skipped.iter().map(|check| check.id));
        self
    }

    /// Tries checks: `"T1"`, `"D*"`, `"timeouts"`, several between commas, or `"all"`; if
    /// `NARROWS_ONLY` is set, those of them that it names.
    ///
    /// # Panics
    /// If there is no such check, or one cannot be run; the message says why.
    pub fn check(&self, names: &str) -> Conformance {
        let checks = |names: &str| chosen(names).unwrap_or_else(|error| panic!("{error}"));
        let mut all = checks(names);
        all.retain(|check| !self.skipped.contains(&check.id));
        if let Ok(only) = std::env::var("NARROWS_ONLY") {
            let only = checks(&only);
            all.retain(|check| only.iter().any(|other| other.id == check.id));
        }
        let rows = conform(&self.subject, &self.own, &all);
        let name = self.subject.cc.clone();
        let rows = rows.unwrap_or_else(|error| panic!("{name}: {error}"));
        Conformance { rows, name, own: self.own.clone() }
    }
}

/// What checks have found.
#[derive(Clone)]
pub struct Conformance {
    /// A row for each check.
    pub rows: Vec<Row>,
    name: String,
    own: Own,
}

impl fmt::Debug for Conformance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conformance").field("name", &self.name).field("rows", &self.rows).finish()
    }
}

impl Conformance {
    /// Ends the test if one of them fails.
    ///
    /// # Panics
    /// With what was seen of those that fail, what is asked, and by whom, and where the scenario,
    /// its packets and the stack's log are: in `target/narrows`.
    pub fn expect_holds(&self) {
        self.expect(&[Verdict::Fails]);
    }

    /// Ends the test if one of them fails, differs from what it should be, or could not be decided.
    ///
    /// # Panics
    /// With what was seen of those that do, what is asked, and by whom.
    pub fn expect_all(&self) {
        self.expect(&[Verdict::Fails, Verdict::Differs, Verdict::Undecided]);
    }

    fn expect(&self, wrong: &[Verdict]) {
        let mut told = String::new();
        for row in self.rows.iter().filter(|row| wrong.contains(&row.verdict)) {
            let Row { check, verdict, seen, bound, .. } = row;
            let words = match check.quote {
                "" => String::new(),
                quote => format!(": \"{quote}\""),
            };
            let _ = write!(
                told,
                "\n  {} {} {}: {seen}; {bound}\n    {}\n    {} {}{words}\n    again: \
                 NARROWS_ONLY={} cargo test; {}",
                check.id,
                check.name,
                verdict.as_str(),
                check.asks,
                check.source,
                check.word.as_str(),
                check.id,
                artefacts::write_check(row, &self.own),
            );
        }
        if !told.is_empty() {
            summarise(&self.name, &told);
        }
        assert!(told.is_empty(), "{}:{told}", self.name);
    }
}

/// Adds what is wrong to the summary of a forge's job, if there is one: the test fails anyway.
fn summarise(name: &str, told: &str) {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let _ = file
        .and_then(|mut file| file.write_all(format!("### {name}\n```{told}\n```\n").as_bytes()));
}

/// A test for each check of a stack, so that the runner shows and filters them: `conform::t1` and
/// so on. The expression makes a [`Conform`].
///
/// ```ignore
/// narrows_lab::conform! { Conform::of("mine", mine).as_law("cubic") }
/// ```
#[macro_export]
macro_rules! conform {
    ($of:expr) => {
        $crate::conform_tests! { $of;
            u1 u2 u3 u4 u5 u6 u7 u8 u9 g1 g2 g3 g4 g5 g6 g7 g8 d1 d2 d3 d4 d5 d6 d7 d8 d9 r1 r2 r3
            r4 r5 r6 r7 r8 r9 r10 p1 p2 p3 p4 p5 i1 i3 i4 i5 e1 e2 e3 e4 e5 e6 e7 e8 t1 t2 t3 t4
            t5 t6 t8 b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12 b13 b14 x3 x4 x5 x6 x8
        }
    };
}

/// The tests of [`conform!`](crate::conform).
#[doc(hidden)]
#[macro_export]
macro_rules! conform_tests {
    ($of:expr; $($id:ident)+) => {
        mod conform {
            #[allow(unused_imports, reason = "the expression may need what is beside it")]
            use super::*;

            $(#[test]
            fn $id() {
                ($of).check(stringify!($id)).expect_holds();
            })+
        }
    };
}

#[cfg(test)]
mod tests {
    /// The macro's list of checks is the table's.
    #[test]
    fn the_macro_has_a_test_for_each_check() {
        let text = include_str!("conform.rs");
        let list = text.split("conform_tests! { $of;").nth(1).expect("the macro").split('}').next();
        let list: Vec<&str> = list.unwrap_or_default().split_whitespace().collect();
        let all: Vec<String> =
            narrows_conform::all().map(|check| check.id.to_lowercase()).collect();
        assert_eq!(list, all);
    }
}
