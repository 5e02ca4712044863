//! Whether quinn's CUBIC does what RFC 9438 and RFC 9002 ask, each check a test of its own.

use narrows_hosts::quinn::{self, End};
use narrows_lab::{Conform, Transfer};

/// Both ends of a transfer of our stack, with our configuration.
fn mine(transfer: &Transfer) -> Result<(Box<End>, Box<End>), String> {
    quinn::pair(|| quinn::usual("cubic"), transfer)
}

// quinn 0.11.19 counts time in which its application is silent as growth (docs/findings).
narrows_lab::conform! { Conform::of("mine", mine).as_law("cubic").skip("G5,G6") }
