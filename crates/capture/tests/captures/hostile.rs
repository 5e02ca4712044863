//! Nothing that a file holds makes the reading panic or say what cannot be.

use crate::facts;
use crate::writing::{Link, Said, capture};
use proptest::prelude::*;

fn said() -> impl Strategy<Value = Said> {
    let numbers = (any::<u32>(), prop::option::of(any::<u32>()), 0usize..70);
    let near = (0u32..5000, prop::option::of(0u32..5000), 0usize..2000);
    let block = (0u32..6000, 0u32..6000);
    (
        0u64..3_000_000,
        any::<[bool; 3]>(),
        prop_oneof![1 => numbers, 4 => near],
        prop::sample::select(vec![0u16, 1, 5000, 65_535]),
        prop::option::of((0u32..4000, 0u32..4000)),
        prop::collection::vec(block, 0..3),
    )
        .prop_map(
            |(
                at,
                [by_client, syn, pushes],
                (number, acknowledged, payload),
                window,
                stamps,
                blocks,
            )| {
                let syn = syn && payload % 7 == 0;
                Said {
                    at,
                    by_client,
                    number,
                    acknowledged,
                    payload,
                    syn,
                    pushes,
                    window,
                    stamps,
                    blocks,
                }
            },
        )
}

#[test]
fn what_fuzzing_has_found_and_starts_from_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/capture");
    let entries = std::fs::read_dir(folder).expect("the corpus is part of the repository");
    let mut tried = 0;
    for entry in entries {
        let path = entry.expect("a folder's entries can be read").path();
        facts::capture(&std::fs::read(path).expect("a file of the corpus can be read"));
        tried += 1;
    }
    assert!(tried > 0, "{folder}: nothing to try");
}

proptest! {
    #[test]
    fn any_segments_have_shares_and_intervals(
        said in prop::collection::vec(said(), 0..120),
        in_order in any::<bool>(),
        kept in 20usize..200,
    ) {
        let mut said = said;
        if in_order {
            said.sort_by_key(|it| it.at);
        }
        facts::capture(&capture(&said, Link::Ethernet, kept));
    }

    #[test]
    fn any_bytes_are_a_capture_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        facts::capture(&bytes);
    }

    #[test]
    fn a_capture_with_any_byte_changed_is_read(
        said in prop::collection::vec(said(), 1..20),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut file = capture(&said, Link::Ethernet, 120);
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        facts::capture(&file);
    }
}
