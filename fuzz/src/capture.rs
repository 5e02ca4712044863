//! What holds of a capture, whatever it says.

use narrows_capture::{CaptureError, why};

/// A capture is read, or refused in words; shares and intervals are such, and what is kept is
/// bounded.
pub fn capture(bytes: &[u8]) {
    let report = match why(|| Ok(bytes), 2, |_| true) {
        Ok(report) => report,
        Err(CaptureError::Read(error)) => panic!("{error}"),
        Err(error) => return assert!(!error.to_string().trim().is_empty()),
    };
    for flow in &report.flows {
        let sum: f64 = flow.shares.iter().sum();
        let are_shares = sum < 1.0 + 1e-9 && flow.shares.iter().all(|share| *share >= 0.0);
        assert!(are_shares, "{:?}", flow.shares);
        assert!(flow.goodput.is_finite() && flow.seconds >= 0.0, "{flow:?}");
        for it in [flow.base_rtt, flow.rate, flow.buffer].into_iter().flatten() {
            assert!(it.low <= it.value && it.value <= it.high && it.high.is_finite(), "{it:?}");
        }
        assert!(flow.timeline.as_ref().is_none_or(|line| line.pieces.len() <= 512));
    }
}
