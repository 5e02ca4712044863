//! Laws in this machine's kernel, where it lets us.
#![cfg(feature = "bpf")]

use narrows_kernel::{Asked, LAWS, load};

#[test]
fn every_law_passes_the_verifier() {
    for law in LAWS {
        let asked = Asked::parse(law).expect("a law without settings");
        match load(&asked, None) {
            Ok(loaded) => println!("{}", loaded.name()),
            Err(error) => panic!("{law}: {error}"),
        }
    }
}
