//! What is made from the sources and kept in the repository is what the sources say: fingerprints,
//! tables, pages. `NARROWS_BLESS=1 cargo test -p narrows-scenario --test kept_texts` writes it anew.

mod fingerprint;
mod kept;
mod pages;
