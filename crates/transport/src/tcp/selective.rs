//! Recovery from selective acknowledgements (RFC 6675), with or without proportional rate reduction
//! (RFC 9937).
//!
//! Everything is counted in packets. Departures from RFC 6675: the RFC leaves a lost retransmission
//! to the timeout, but with the habit `lost_retransmissions` its loss is detected when enough
//! packets that left after it have arrived. Rule 4 of NextSeg, the rescue retransmission, is
//! optional in the RFC and left out.

use super::Metering;
use super::prr::Prr;
use super::rate_halving::RateHalving;
use super::recovery::{Answer, Ears, Next, Recovery};
use super::scoreboard::{Delivered, Scoreboard};
use crate::Segment;
use narrows_units::Time;

/// The sender side of SACK recovery, between the window and the wire.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    board: Scoreboard,
    recovery: Option<Episode>,
    /// One past the highest number sent when the last recovery or timeout began; no new recovery
    /// begins until everything below it is acknowledged (RFC 6675 §5, §5.1).
    recovery_point: u64,
    metering: Metering,
    finds_lost_retransmissions: bool,
    /// The newest transmission that has arrived.
    newest: u64,
}

/// One recovery.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// The fast retransmission has yet to leave; it does not wait for the pipe (RFC 6675 §5, step
    /// 4.3).
    resend_now: bool,
    /// The packet of the fast retransmission, and when it left; `None` before it has left, and once
    /// it is known whether it was needed.
    resent: Option<(u64, Time)>,
    prr: Option<Prr>,
    halving: Option<RateHalving>,
}

impl Selective {
    pub fn new(metering: Metering, finds_lost_retransmissions: bool) -> Self {
        Self {
            board: Scoreboard::default(),
            recovery: None,
            recovery_point: 0,
            metering,
            finds_lost_retransmissions,
            newest: 0,
        }
    }

    /// Ends the recovery if everything that was outstanding has arrived, or if the recovery turns
    /// out to have been needless.
    fn leave_where_over(&mut self, ack: &Segment, first: u64, ears: &mut Ears) {
        let Some(episode) = &mut self.recovery else { return };
        // Only an acknowledgement of that packet tells: holes below it may have been filled by
        // retransmissions of the previous recovery.
        let resent = episode.resent.take_if(|(number, _)| *number < ack.number);
        if ears.is_older(ack.echoed_stamp, resent.map(|(_, at)| at)) {
            self.recovery = None;
            self.board.forgive(self.board.extent_above(first));
            ears.spurious();
        } else if ack.number >= self.recovery_point {
            let ssthresh = ears.controller.window();
            let left = episode
                .halving
                .and_then(|halving| halving.left_with(f64::from(self.board.pipe()), ssthresh));
            if let Some(window) = left {
                ears.controller.on_moderation(window);
            }
            self.recovery = None;
            self.board.shrink();
        }
    }

    /// Detects new losses; returns how many there are and whether a recovery begins.
    fn judge(&mut self, ears: &mut Ears) -> (u32, bool) {
        let flight = f64::from(self.board.pipe());
        let window = ears.controller.window();
        let may_begin = self.recovery.is_none() && self.board.first() >= self.recovery_point;
        let mut losses = 0;
        self.board.judge(|number, transmission, in_flight| {
            ears.lost(number, transmission, in_flight, may_begin && losses == 0);
            losses += 1;
        });
        let begins = may_begin && losses > 0;
        if self.finds_lost_retransmissions {
            self.board.judge_resent(self.newest, |number, transmission, in_flight| {
                ears.lost(number, transmission, in_flight, false);
                losses += 1;
            });
        }
        if begins {
            self.recovery_point = self.board.end();
            let (prr, halving) = match self.metering {
                Metering::ByPipe => (None, None),
                Metering::Prr => (Some(Prr::new(flight)), None),
                Metering::RateHalving { share, stalls } => {
                    (None, Some(RateHalving::new(share, stalls, window)))
                }
            };
            self.recovery = Some(Episode { resend_now: true, resent: None, prr, halving });
        }
        (losses, begins)
    }

    fn meter(&mut self, delivered: &Delivered, safe: bool, losses: u32, ears: &Ears) {
        let pipe = f64::from(self.board.pipe());
        let Some(episode) = &mut self.recovery else { return };
        if let Some(prr) = &mut episode.prr {
            prr.on_ack(delivered.packets as f64, pipe, ears.controller.window(), safe);
        }
        if let Some(halving) = &mut episode.halving {
            halving.on_ack(pipe, f64::from(losses));
        }
    }
}

impl Recovery for Selective {
    fn first(&self) -> u64 {
        self.board.first()
    }

    fn end(&self) -> u64 {
        self.board.end()
    }

    fn in_flight(&self) -> u64 {
        u64::from(self.board.pipe())
    }

    fn recovering(&self) -> bool {
        self.recovery.is_some()
    }

    fn on_ack(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
        let mut delivered = Delivered::default();
        let first = self.board.first();
        let advanced = ack.number > first;
        if advanced {
            self.board.acknowledge(ack.number, &mut delivered);
            self.leave_where_over(ack, first, ears);
        }
        let sack = ack.sack();
        if sack.is_empty() && !self.board.has_sacked() {
            ears.arrived(&delivered);
            self.meter(&delivered, advanced, 0, ears);
            return Answer { delivered, restarts_timer: advanced };
        }
        for block in sack.iter(ack.number) {
            self.board.sack(block, &mut delivered);
        }
        ears.arrived(&delivered);
        self.newest = self.newest.max(delivered.newest);
        let (losses, begins) = self.judge(ears);
        self.meter(&delivered, advanced && losses == 0, losses, ears);
        Answer { delivered, restarts_timer: advanced || begins }
    }

    /// Marks everything that has not arrived as lost (RFC 6675 §5.1).
    fn on_timeout(&mut self) {
        self.recovery = None;
        self.recovery_point = self.board.end();
        self.board.lose_everything();
    }

    /// Decides what may leave next, with a window of `window` packets and `offered` packets of data
    /// (RFC 6675 §4, NextSeg, rules 1 to 3).
    fn next(&mut self, window: f64, offered: u64) -> Next {
        let may_send = match &self.recovery {
            Some(Episode { resend_now: true, .. }) => true,
            Some(Episode { prr: Some(prr), .. }) => prr.may_send(),
            Some(Episode { halving: Some(halving), .. }) => {
                halving.may_send(f64::from(self.board.pipe()), window)
            }
            // RFC 6675 §5, step C: cwnd − pipe must be at least a whole packet.
            _ => f64::from(self.board.pipe()) + 1.0 <= window,
        };
        if !may_send {
            return Next::WaitForWindow;
        }
        if let Some(number) = self.board.next_retransmission() {
            return Next::Again(number);
        }
        if self.board.end() < offered {
            return Next::New;
        }
        let speculative = self.recovery.and_then(|_| self.board.speculative());
        speculative.map_or(Next::WaitForData, Next::Again)
    }

    /// Records that packet `number` leaves as transmission number `transmission`.
    fn sent(&mut self, number: u64, transmission: u64, now: Time) {
        if number == self.board.end() {
            self.board.sent(transmission);
        } else {
            self.board.sent_again(number, transmission);
        }
        if let Some(episode) = &mut self.recovery {
            if episode.resend_now {
                episode.resend_now = false;
                episode.resent = Some((number, now));
            }
            if let Some(prr) = &mut episode.prr {
                prr.on_sent();
            }
            if let Some(halving) = &mut episode.halving {
                halving.on_sent(f64::from(self.board.pipe()));
            }
        }
    }
}
