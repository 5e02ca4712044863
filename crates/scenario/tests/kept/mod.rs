//! Texts that are generated, kept in the repository, and compared.

use std::path::Path;

/// Fails where the file at `path`, from the root of the repository, is not `text`; with
/// NARROWS_BLESS set, writes it.
pub fn assert_is(text: &str, path: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("NARROWS_BLESS").is_some() {
        std::fs::write(&file, text).expect("a file of the repository can be written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(
        kept == text,
        "{path} is not what it was; if that is meant, run again with NARROWS_BLESS=1 and say why in the commit:\n{text}"
    );
}
