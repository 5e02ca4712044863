//! What acknowledgements brought beyond the bandwidth (`update_ack_aggregation`).

use crate::Ack;
use narrows_units::Time;

/// `ack_epoch_acked_reset_thresh`: packets in an epoch of aggregation.
const ACK_EPOCH_ACKED_RESET_THRESH: f64 = 1_048_576.0;
/// `extra_acked_max_us`, in seconds: more than bw times this is not added to the window.
const EXTRA_ACKED_MAX: f64 = 0.1;

/// The most of two windows of rounds, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::laws) struct Aggregation {
    epoch_mstamp: Time,
    epoch_acked: f64,
    extra_acked: [f64; 2],
    win_rtts: u32,
    win_idx: usize,
}

impl Aggregation {
    /// A new epoch begins at `now`.
    pub fn restart(&mut self, now: Time) {
        (self.epoch_mstamp, self.epoch_acked) = (now, 0.0);
    }

    /// `extra_acked`: the largest of both windows.
    pub fn largest(&self) -> f64 {
        self.extra_acked[0].max(self.extra_acked[1])
    }

    /// `ack_aggregation_cwnd`: what is added to the window, on a path of `bw` packets per second.
    pub fn cwnd(&self, bw: f64) -> f64 {
        self.largest().min((bw * EXTRA_ACKED_MAX).floor())
    }

    /// Another acknowledgement, with `bw` and `cwnd`; at the start of a round also how many rounds
    /// a window has.
    pub fn update(&mut self, ack: &Ack, round_of: Option<u32>, bw: f64, cwnd: f64) {
        if let Some(win_rtts) = round_of {
            self.win_rtts += 1;
            if self.win_rtts >= win_rtts {
                self.win_rtts = 0;
                self.win_idx = 1 - self.win_idx;
                self.extra_acked[self.win_idx] = 0.0;
            }
        }
        let epoch = ack.now.since(self.epoch_mstamp).seconds();
        let mut expected = (bw * epoch).floor();
        if self.epoch_acked <= expected
            || self.epoch_acked + ack.packets >= ACK_EPOCH_ACKED_RESET_THRESH
        {
            self.restart(ack.now);
            expected = 0.0;
        }
        self.epoch_acked += ack.packets;
        let extra = (self.epoch_acked - expected).min(cwnd);
        self.extra_acked[self.win_idx] = self.extra_acked[self.win_idx].max(extra);
    }
}
