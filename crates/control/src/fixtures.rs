//! Events for the tests of laws and parts.

use crate::{Ack, Loss, Rtt};
use narrows_signal::Reply;
use narrows_units::{Duration, Time};

/// One acknowledgement at `at` seconds for `packets`, RTT 100 ms.
pub(crate) fn ack(at: f64, packets: f64) -> Ack {
    let span = Duration::from_millis(100);
    let rtt = Some(Rtt { latest: span, smoothed: span, minimum: span, maximum: span });
    Ack {
        now: Time::from_secs(at),
        packets,
        newest: 0,
        next: 0,
        rtt,
        rtt_is_fresh: true,
        in_flight: 10.0,
        window_limited: true,
        recovering: false,
        marked: 0.0,
        reply: Reply::Nothing,
        rate: None,
    }
}

/// The loss of packet `transmission`, noticed when packet `next` is the next to leave.
pub(crate) fn loss(transmission: u64, next: u64) -> Loss {
    Loss {
        now: Time::ZERO,
        transmission,
        next,
        opens_epoch: false,
        again: false,
        in_flight: 1.0,
        rtt: None,
        rate: None,
    }
}
