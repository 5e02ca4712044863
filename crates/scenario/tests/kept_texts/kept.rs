//! Texts that are generated, kept in the repository, and compared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The file at `path`, from the root of the repository.
pub fn read(path: &str) -> String {
    std::fs::read_to_string(at_root(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails if the file at `path`, from the root of the repository, is not `text`; with NARROWS_BLESS
/// set, writes it.
pub fn assert_is(text: &str, path: &str) {
    if std::env::var_os("NARROWS_BLESS").is_some() {
        std::fs::write(at_root(path), text).expect("a file of the repository can be written");
    }
    assert!(
        read(path) == text,
        "{path} is not what it was; if that is meant, run again with NARROWS_BLESS=1 and say why \
         in the commit:\n{}",
        difference(&read(path), text)
    );
}

/// The lines that only one of two texts has, the first twenty of each.
fn difference(before: &str, after: &str) -> String {
    let only = |sign: char, text: &str, other: &str| -> String {
        let others: BTreeSet<&str> = other.lines().collect();
        let lines = text.lines().filter(|line| !others.contains(line)).take(20);
        lines.map(|line| format!("{sign} {line}\n")).collect()
    };
    only('-', before, after) + &only('+', after, before)
}

/// Fails if the part of the page at `path` between the comments `<!-- name -->` and
/// `<!-- /name -->` is not `text`; with NARROWS_BLESS set, writes it.
pub fn assert_section_is(name: &str, text: &str, path: &str) {
    let page = read(path);
    let (begins, ends) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    let parts = page
        .split_once(&begins)
        .and_then(|(before, rest)| rest.split_once(&ends).map(|(_, after)| (before, after)));
    let (before, after) =
        parts.unwrap_or_else(|| panic!("{path}: has no part between {begins} and {ends}"));
    assert_is(&format!("{before}{begins}{text}{ends}{after}"), path);
}
