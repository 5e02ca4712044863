//! Nothing that a file holds makes the reading panic or say what cannot be.

use crate::writing::{Link, Said, capture};
use narrows_capture::{CaptureError, why};
use proptest::prelude::*;

fn said() -> impl Strategy<Value = Said> {
    let numbers = (any::<u32>(), prop::option::of(any::<u32>()), 0usize..70);
    let near = (0u32..5000, prop::option::of(0u32..5000), 0usize..2000);
    let block = (0u32..6000, 0u32..6000);
    (
        0u64..3_000_000,
        any::<[bool; 2]>(),
        prop_oneof![1 => numbers, 4 => near],
        prop::sample::select(vec![0u16, 1, 5000, 65_535]),
        prop::option::of((0u32..4000, 0u32..4000)),
        prop::collection::vec(block, 0..3),
    )
        .prop_map(
            |(at, [by_client, syn], (number, acknowledged, payload), window, stamps, blocks)| {
                let syn = syn && payload % 7 == 0;
                Said { at, by_client, number, acknowledged, payload, syn, window, stamps, blocks }
            },
        )
}

fn check(file: &[u8]) -> Result<(), TestCaseError> {
    let report = match why(|| Ok(file), 2, |_| true) {
        Ok(report) => report,
        Err(CaptureError::Neither | CaptureError::Broken(_)) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    for flow in &report.flows {
        let sum: f64 = flow.shares.iter().sum();
        prop_assert!(
            sum < 1.0 + 1e-9 && flow.shares.iter().all(|share| *share >= 0.0),
            "{:?}",
            flow.shares
        );
        prop_assert!(flow.goodput.is_finite() && flow.seconds >= 0.0);
        for it in [flow.base_rtt, flow.rate, flow.buffer].into_iter().flatten() {
            prop_assert!(
                it.low <= it.value && it.value <= it.high && it.high.is_finite(),
                "{it:?}"
            );
        }
        if let Some(line) = &flow.timeline {
            prop_assert!(line.pieces.len() <= 512);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_segments_have_shares_and_intervals(
        said in prop::collection::vec(said(), 0..120), in_order in any::<bool>(), kept in 20usize..200
    ) {
        let mut said = said;
        if in_order {
            said.sort_by_key(|it| it.at);
        }
        check(&capture(&said, Link::Ethernet, kept))?;
    }

    #[test]
    fn any_bytes_are_a_capture_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes)?;
    }

    #[test]
    fn a_capture_with_any_byte_changed_is_read(
        said in prop::collection::vec(said(), 1..20), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let mut file = capture(&said, Link::Ethernet, 120);
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        check(&file)?;
    }
}
