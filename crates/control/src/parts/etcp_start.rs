//! E-TCP's way from slow start to congestion avoidance (E-TCP, §V-A), shared by its two laws.

use crate::{Ack, Loss};

/// Slow start until the first loss; then nothing moves until packets sent after that moment are
/// answered; then congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EtcpStart {
    /// Up by one for each packet acknowledged.
    #[default]
    SlowStart,
    /// "E-TCP then keeps the congestion window unchanged until it receives acknowledgement packets
    /// triggered by packets with sequence numbers larger than s."
    Holding {
        /// s + 1: the next number to leave when the first loss was noticed.
        until: u64,
    },
    /// The law is in force.
    CongestionAvoidance,
}

/// What a loss calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// "On detecting the first packet loss, E-TCP halves its congestion window."
    Halve,
    /// No change: this is one of the many losses that follow slow start.
    Nothing,
    /// The law's own decrease.
    SlowDown,
}

impl EtcpStart {
    /// The phase in which `ack` arrives.
    pub fn phase_at(&mut self, ack: &Ack) -> Self {
        if let Self::Holding { until } = *self
            && ack.newest >= until
        {
            *self = Self::CongestionAvoidance;
        }
        *self
    }

    /// What to do about a loss.
    pub fn answer(&mut self, loss: &Loss) -> Answer {
        match *self {
            Self::SlowStart => {
                *self = Self::Holding { until: loss.next };
                Answer::Halve
            }
            Self::Holding { until } if loss.transmission < until => Answer::Nothing,
            Self::Holding { .. } | Self::CongestionAvoidance => {
                *self = Self::CongestionAvoidance;
                Answer::SlowDown
            }
        }
    }
}
