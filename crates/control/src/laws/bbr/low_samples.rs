//! Samples that ProbeRTT makes low: they say nothing of the path (§5.3.4.3,
//! MarkConnectionAppLimited; `bbr_update_min_rtt` in Linux's net/ipv4/tcp_bbr.c).

use crate::RateSample;

/// Packets that left while `delivered` lay in this closed range left in ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::laws) struct LowSamples(Option<(f64, f64)>);

impl LowSamples {
    /// Samples of packets that leave from now on, with `delivered` packets delivered, until the
    /// `in_flight` packets under way are delivered, do not count as the path's.
    pub fn ignore(&mut self, delivered: f64, in_flight: f64) {
        let from = self.0.filter(|(_, to)| *to >= delivered).map_or(delivered, |(from, _)| from);
        self.0 = Some((from, delivered + in_flight));
    }

    /// The sample, application-limited if its packet left in ProbeRTT.
    pub fn judge(&self, sample: RateSample) -> RateSample {
        let low = self.0.is_some_and(|(from, to)| {
            from <= sample.prior_delivered && sample.prior_delivered <= to
        });
        RateSample { app_limited: sample.app_limited || low, ..sample }
    }
}
