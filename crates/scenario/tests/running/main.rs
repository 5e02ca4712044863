//! A run that is looked at and changed while it goes is, packet by packet, the one that its
//! scenario makes from the start.

mod refusals;
mod sessions;
