//! quinn's CUBIC over small buffers: alone, beside others, and on any path.

use narrows_hosts::quinn::{self, End};
use narrows_lab::{Lab, Path, Transfer};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Both ends of a transfer of our stack, with our configuration.
fn mine(transfer: &Transfer) -> Result<(Box<End>, Box<End>), String> {
    quinn::pair(|| quinn::usual("cubic"), transfer)
}

#[test]
fn fills_a_small_buffer_and_leaves_cubic_room() {
    let small = Path::new("100Mbps", "40ms", 0.2);
    Lab::on(&small)
        .span(10.0, 40.0)
        .host("mine", mine)
        .run()
        .expect("90 % of the path", |alone| alone.utilisation > 0.9)
        .expect("few drops", |alone| alone.drops < 0.001);
    Lab::on(&small)
        .span(10.0, 40.0)
        .host("mine", mine)
        .native("cubic")
        .run_seeds(4)
        .expect("30 % for CUBIC", 0.75, |both| both.share("cubic") > 0.3);
}

#[test]
fn does_so_on_a_host_like_tokio() {
    let small = Path::new("100Mbps", "40ms", 0.2);
    let lab = Lab::on(&small).span(10.0, 30.0).host("mine", mine).hosts_like("tokio");
    lab.run().expect("90 % of the path", |alone| alone.utilisation > 0.9);
}

/// The flows of the file say `host = "mine"`, so one file serves the command line and this test.
#[test]
fn shares_a_parking_lot() {
    let lab = Lab::file("tests/parking-lot.toml").expect("it is a scenario").host("mine", mine);
    lab.run().expect("a share over three hops", |lot| lot.share("mine") > 0.02);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/paths.txt"))),
        ..ProptestConfig::default()
    })]

    /// With flow control's windows of 16 MB, quinn 0.11.19 gives up its connection where slow start
    /// overshoots by more than 1024 gaps; these paths are too short for that.
    #[test]
    fn no_short_path_ends_a_transfer(mbps in 1u64..100, rtt in 1u64..60, buffer in 1u32..10) {
        let path = Path::of(mbps, rtt, f64::from(buffer) / 10.0);
        let report = Lab::on(&path).span(0.0, 3.0).host("mine", mine).run();
        prop_assert!(report.flows[0].ended.is_none(), "{report}");
    }
}
