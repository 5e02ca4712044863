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
