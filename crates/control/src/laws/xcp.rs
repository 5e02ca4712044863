//! XCP's sender (Katabi, Handley, Rohrs, SIGCOMM 2002, §3.3).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §3.3 | cwnd ← max(cwnd + H_feedback, s), in bytes, for each acknowledgement | [`Xcp::on_ack`] |
//! | §3.2, §3.3 | H_cwnd, H_rtt, and H_feedback, the change that is wanted: here without limit | [`Xcp::request`] |
//! | §3.3 | losses are answered as TCP answers them: half the window, one packet after a timeout | [`Xcp::on_loss`] |
//!
//! s is the bytes of a packet on the wire. ns-2's sender answers losses with Reno's recovery, and
//! meanwhile ignores the feedback of duplicate acknowledgements; `xcp+reno` does the same. With
//! `halve=false` a loss does not move the window, because routers report congestion. Together with
//! selective acknowledgements (`xcp`), which use the feedback of each acknowledgement, this is the
//! clean way. The window of ns-2's sender is whole packets to all who ask (TcpAgent::window() is an
//! int): in H_cwnd, which makes many flows with small windows oscillate together, in flight, and to
//! a pacer (Alparslan, Arakawa, Murata, §4.2.2); `whole=true` does the same. The paper is silent
//! about a sender that is: here the window restarts and shrinks as TCP's does, because routers take
//! H_cwnd/H_rtt for the sender's rate, and would divide what it does not use. Departure: if no
//! router spoke, the feedback comes back as it left, and the law is Reno's (RFC 5681), without slow
//! start.

use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::{Ack, CongestionWindow, Controller, Idle, Loss, Mark, Needs, Timeout};
use narrows_settings::{Settings, settings};
use narrows_signal::{CongestionHeader, Reply, Request};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "xcp",
    aliases: &[],
    summary: "changes the window by the feedback that routers write into each packet; needs `xcp` \
              queues",
    source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
    moved_by: MovedBy::Routers,
    start: Start::Own,
    settings: Params::list,
    construct: |birth| {
        let params = birth.settings()?;
        Ok(Recipe::clones(Xcp::new(params, birth.packet_bytes, birth.initial_window)))
    },
};

settings! {
    /// Settings of XCP's sender.
    pub struct Params {
        /// Whether a recovery epoch halves the window, as in TCP (§3.3).
        halve: bool = true;
        /// Whether the window is whole packets to all who ask for it, as in ns-2: in H_cwnd, in
        /// flight, and to a pacer.
        whole: bool = false;
    }
}

/// The sender's state.
#[derive(Clone, Debug)]
pub struct Xcp {
    params: Params,
    /// In bytes, without a threshold.
    cwnd: CongestionWindow,
    /// Bytes of a packet.
    s: f64,
    /// Smoothed, in seconds; 0 before the first sample.
    rtt: f64,
}

impl Xcp {
    /// The sender with `params`, packets of `packet_bytes`, and `initial_window` of them at first.
    pub fn new(params: Params, packet_bytes: u32, initial_window: f64) -> Self {
        let s = f64::from(packet_bytes);
        Self { params, cwnd: CongestionWindow::new(initial_window * s), s, rtt: 0.0 }
    }

    /// cwnd/2 for an epoch of losses, or of marks by a queue that is not XCP's (§3.3).
    fn halve(&mut self) {
        if self.params.halve {
            self.cwnd.window = (self.cwnd.window / 2.0).max(self.s);
        }
    }
}

impl Controller for Xcp {
    /// cwnd ← max(cwnd + H_feedback, s) (§3.3).
    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = ack.rtt.map_or(0.0, |rtt| rtt.smoothed.seconds());
        match ack.reply {
            Reply::Feedback(feedback) if feedback.is_finite() => {
                self.cwnd.window = (self.cwnd.window + f64::from(feedback)).max(self.s)
            }
            Reply::Feedback(_) if ack.window_limited && !ack.recovering => {
                self.cwnd.window += ack.packets * self.s * self.s / self.cwnd.window
            }
            _ => {}
        }
    }

    /// cwnd/2 when an epoch opens, unless `halve` is false (§3.3).
    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch {
            self.cwnd.remember();
            self.halve();
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        if mark.opens_epoch {
            self.cwnd.settle();
            self.halve();
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.opens_epoch {
            self.cwnd.remember();
        }
        self.cwnd.window = (timeout.in_flight + 1.0) * self.s;
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used * self.s);
    }

    fn on_spurious(&mut self) {
        self.cwnd.undo();
    }

    fn window(&self) -> f64 {
        let packets = self.cwnd.window / self.s;
        if self.params.whole { packets.floor() } else { packets }
    }

    fn needs(&self) -> Needs {
        Needs { routers: true, ..Needs::default() }
    }

    fn request(&self) -> Request {
        Request::Feedback(CongestionHeader {
            cwnd: (self.window() * self.s) as f32,
            rtt: self.rtt as f32,
            feedback: f32::INFINITY,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_whole_packets_if_asked_for() {
        for (whole, cwnd) in [(false, 5830.0), (true, 5000.0)] {
            let mut xcp = Xcp::new(Params { whole, ..Params::default() }, 1000, 2.0);
            xcp.cwnd.window = 5830.0;
            let Request::Feedback(header) = xcp.request() else { panic!() };
            assert_eq!((header.cwnd, header.rtt, header.feedback), (cwnd, 0.0, f32::INFINITY));
            assert_eq!(xcp.window(), f64::from(cwnd) / 1000.0);
        }
    }
}
