//! E-TCP's way to congestion avoidance (E-TCP, §V-A), shared by its two laws: slow start until the
//! first loss, or, if the user chooses so, until the RTT rises (§VIII leaves that to future work).

use crate::parts::delay_start::{DelayStart, Step};
use crate::{Ack, Loss};
use narrows_settings::choice;

choice! {
    /// What ends E-TCP's slow start.
    pub enum SlowStartEnd("choice among loss and delay") {
        /// The first loss (§V-A).
        Loss = "loss",
        /// The RTT's rise, seen by short trains at twice the rate; the first loss at the latest.
        Delay = "delay",
    }
}

/// Slow start; then nothing moves until packets sent after that moment are answered; then
/// congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum EtcpStart {
    /// Up by one for each packet acknowledged.
    #[default]
    SlowStart,
    /// Doubles when a train at twice the rate has come through.
    Trains(DelayStart),
    /// "E-TCP then keeps the congestion window unchanged until it receives acknowledgement packets
    /// triggered by packets with sequence numbers larger than s."
    Holding {
        /// s + 1: the next number to leave when the first loss was noticed.
        until: u64,
    },
    /// The law is in force.
    CongestionAvoidance,
}

/// What an acknowledgement calls for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Growth {
    /// Up by one for each packet acknowledged.
    SlowStart,
    /// This many times as much.
    Times(f64),
    /// No change.
    Nothing,
    /// The law's own increase.
    Law,
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
    /// A slow start that ends with `end`.
    pub fn until(end: SlowStartEnd) -> Self {
        match end {
            SlowStartEnd::Loss => Self::SlowStart,
            SlowStartEnd::Delay => Self::Trains(DelayStart::default()),
        }
    }

    /// What `ack` calls for, at a window of `window` packets.
    #[inline]
    pub fn growth(&mut self, ack: &Ack, window: f64) -> Growth {
        if let Self::Holding { until } = *self
            && ack.newest >= until
        {
            *self = Self::CongestionAvoidance;
        }
        let held_back = !ack.window_limited || ack.recovering;
        match self {
            Self::Trains(start) => {
                let step = start.on_ack(ack, window, held_back);
                self.take(step, ack)
            }
            _ if held_back => Growth::Nothing,
            Self::SlowStart => Growth::SlowStart,
            Self::Holding { .. } => Growth::Nothing,
            Self::CongestionAvoidance => Growth::Law,
        }
    }

    fn take(&mut self, step: Step, ack: &Ack) -> Growth {
        match step {
            Step::Wait => Growth::Nothing,
            Step::Grow => Growth::SlowStart,
            Step::Double => Growth::Times(2.0),
            Step::End { times } => {
                *self = Self::Holding { until: ack.next };
                Growth::Times(times)
            }
        }
    }

    /// True while a train leaves, at twice the rate and with even gaps.
    #[inline]
    pub fn sends_train(&self) -> bool {
        matches!(self, Self::Trains(start) if start.sends_train())
    }

    /// What to do about a loss, which has had its answer if it is told again.
    pub fn answer(&mut self, loss: &Loss) -> Answer {
        match *self {
            _ if loss.again => Answer::Nothing,
            Self::SlowStart | Self::Trains(_) => {
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
