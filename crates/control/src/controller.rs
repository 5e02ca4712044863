//! The shape of every congestion controller.

use crate::{Ack, Loss, Mark};
use narrows_signal::{Ecn, Request};
use narrows_units::{Duration, Time};

/// A congestion controller: told what happened, it answers with a window in packets.
///
/// Whether an epoch opens, whether the window was the limit and what the RTT is, the transport
/// decides; window inflation and the metering of a recovery belong to the transport too.
pub trait Controller: Send {
    /// Packets were acknowledged.
    fn on_ack(&mut self, ack: &Ack);

    /// A packet was lost.
    fn on_loss(&mut self, loss: &Loss);

    /// Packets arrived with a mark; only told where [`needs`](Self::needs) or the user asks for
    /// ECN.
    fn on_mark(&mut self, _mark: &Mark) {}

    /// The retransmission timer went off.
    fn on_timeout(&mut self, now: Time);

    /// A packet is about to leave while nothing is in flight.
    fn on_restart(&mut self, _now: Time) {}

    /// The first packet leaves after a silence of `idle`, longer than the retransmission timeout.
    fn on_resume(&mut self, _now: Time, _idle: Duration) {}

    /// All packets thought lost in this epoch have arrived after all.
    fn on_spurious(&mut self) {}

    /// The congestion window in packets: finite, at least 1.
    fn window(&self) -> f64;

    /// The slow-start threshold in packets; infinite where there is none.
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    /// Packets that may be in flight; infinite for a controller that only paces.
    fn flight_limit(&self) -> f64 {
        self.window()
    }

    /// A recovery ends with so little in flight that the transport moderates the burst to come: the
    /// window is at most `window` packets, and slow start brings it back to the threshold (Linux's
    /// tcp_moderate_cwnd).
    fn on_moderation(&mut self, _window: f64) {}

    /// What the transport must do for it beside sending: asked once, at birth.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What a departing packet asks of the routers on its way; only asked where
    /// [`needs`](Self::needs) says so.
    fn request(&self) -> Request {
        Request::Nothing
    }

    /// How packets are to be spaced.
    fn pacing(&self) -> Pacing {
        Pacing::Unpaced
    }

    /// Shows the law's own quantities by name, besides window and threshold: they become the table
    /// `law_series`.
    fn probe(&self, _show: &mut dyn FnMut(&'static str, f64)) {}
}

/// What a controller asks of the transport; what nobody asks for costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Packets leave with these bits, and marks are counted one by one (RFC 9768); not capable:
    /// nothing of the kind.
    pub ecn: Ecn,
    /// Acknowledgements and losses come with samples of the delivery rate; needs selective
    /// acknowledgements.
    pub rate_samples: bool,
    /// Packets carry a [`request`](Controller::request) to routers.
    pub routers: bool,
}

/// How departing packets are spaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// As soon as the window allows.
    Unpaced,
    /// A window a round-trip time: mean gap RTT / (gain · window).
    Window {
        /// Multiple of a window that leaves in a round-trip time.
        gain: f64,
        /// Constant or exponential gaps.
        gaps: Gaps,
    },
    /// At a rate of the controller's own.
    Rate {
        /// Packets a second.
        packets_per_second: f64,
        /// Constant or exponential gaps.
        gaps: Gaps,
    },
}

/// The distribution of the gaps between paced packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// All of the mean length.
    Even,
    /// Exponentially distributed (E-TCP, §V-B).
    Exponential,
}
