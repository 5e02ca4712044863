//! What is made from the sources and kept in the repository is what the sources say: fingerprints,
//! tables, pages. This writes it anew:
//! `NARROWS_BLESS=1 cargo test -p narrows-scenario --test kept_texts`.
mod fingerprint;
mod history;
mod kept;
mod pages;
