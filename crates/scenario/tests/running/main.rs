//! A run that is looked at and changed while it goes is, packet by packet, the one that its
//! scenario makes from the start.

#[path = "../kept_texts/history.rs"]
#[expect(dead_code, reason = "the other test hashes more")]
mod history;
mod refusals;
mod sessions;
