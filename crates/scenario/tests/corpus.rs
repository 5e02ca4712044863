//! What fuzzing has found, and what it starts from: nothing of it panics, and all of it keeps the
//! facts of `fuzz/src/lib.rs`. `make fuzz` looks for more.

#[path = "../../../fuzz/src/lib.rs"]
mod facts;

use std::path::{Path, PathBuf};

/// The files of `folder` below the repository, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the corpus is part of the repository");
    let paths = entries.map(|entry| entry.expect("a folder's entries can be read").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    assert!(!files.is_empty(), "{}: nothing to try", folder.display());
    files
}

/// Calls `fact` with each file of `folder` that is text.
fn texts(folder: &str, fact: impl Fn(&str)) {
    for file in files(folder) {
        let bytes = std::fs::read(&file).expect("a file of the corpus can be read");
        if let Ok(text) = std::str::from_utf8(&bytes) {
            fact(text);
        }
    }
}

#[test]
fn scenarios_are_read_or_refused() {
    texts("fuzz/corpus/scenario", facts::scenario);
    texts("examples", facts::scenario);
}

#[test]
fn controllers_run_or_are_refused() {
    texts("fuzz/corpus/cc", facts::controller);
}

#[test]
fn queues_carry_packets_or_are_refused() {
    texts("fuzz/corpus/queue", facts::queue);
}

#[test]
fn a_sender_keeps_what_it_hears_of_blocks() {
    for file in files("fuzz/corpus/sack") {
        facts::sack(&std::fs::read(&file).expect("a file of the corpus can be read"));
    }
}

#[test]
fn traces_serve_packets_or_are_refused() {
    texts("fuzz/corpus/trace", facts::trace);
    texts("examples/traces", facts::trace);
}

#[test]
fn courses_serve_what_their_rates_allow() {
    for file in files("fuzz/corpus/course") {
        facts::course(&std::fs::read(&file).expect("a file of the corpus can be read"));
    }
}

/// Random courses, a few thousand: what `make fuzz` does for longer.
#[test]
fn random_courses_serve_what_their_rates_allow() {
    let mut stream = narrows_units::Stream::new(7, 0, 0);
    for _ in 0..3000 {
        let length = stream.bits() % 60;
        let bytes: Vec<u8> = (0..length).map(|_| stream.bits() as u8).collect();
        facts::course(&bytes);
    }
}
