//! Recovery from selective acknowledgements (RFC 6675), with or without proportional rate reduction (RFC 9937).
//!
//! Counted in packets. Departures: a lost retransmission is left to the timeout, as in the RFC; rule 4 of NextSeg,
//! the rescue retransmission, is optional there and left out.

use super::prr::Prr;
use super::scoreboard::{Delivered, Scoreboard};
use super::sender::{Answer, Ears, Next};
use crate::Segment;
use narrows_units::Time;

/// SACK's sender side, between the window and the wire.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    board: Scoreboard,
    recovery: Option<Episode>,
    /// One past the highest sent when the last recovery or timeout began: below it no new recovery begins (RFC 6675 §5, §5.1).
    recovery_point: u64,
    with_prr: bool,
}

/// One recovery.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// The fast retransmission has yet to leave; it does not wait for the pipe (RFC 6675 §5, step 4.3).
    resend_now: bool,
    /// When it left; `None` before, and once it is known whether it was needed.
    resent_at: Option<Time>,
    prr: Option<Prr>,
}

impl Selective {
    pub fn new(with_prr: bool) -> Self {
        Self { board: Scoreboard::default(), recovery: None, recovery_point: 0, with_prr }
    }

    pub fn first(&self) -> u64 {
        self.board.first()
    }

    pub fn end(&self) -> u64 {
        self.board.end()
    }

    pub fn in_flight(&self) -> u64 {
        u64::from(self.board.pipe())
    }

    pub fn recovering(&self) -> bool {
        self.recovery.is_some()
    }

    pub fn on_ack(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
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
            self.meter(&delivered, advanced, ears);
            return Answer { delivered, restarts_timer: advanced };
        }
        for block in sack.iter(ack.number) {
            self.board.sack(block, &mut delivered);
        }
        ears.arrived(&delivered);
        let (lossless, begins) = self.judge(ears);
        self.meter(&delivered, advanced && lossless, ears);
        Answer { delivered, restarts_timer: advanced || begins }
    }

    /// Ends the recovery where all that was outstanding has arrived, or where it turns out to have been needless.
    fn leave_where_over(&mut self, ack: &Segment, first: u64, ears: &mut Ears) {
        let Some(episode) = &mut self.recovery else { return };
        if ears.is_older(ack.echo, episode.resent_at.take()) {
            self.recovery = None;
            self.board.forgive(self.board.extent_above(first));
            ears.spurious();
        } else if ack.number >= self.recovery_point {
            self.recovery = None;
            self.board.shrink();
        }
    }

    /// Finds new losses: whether there were none, and whether a recovery begins.
    fn judge(&mut self, ears: &mut Ears) -> (bool, bool) {
        let flight = f64::from(self.board.pipe());
        let may_begin = self.recovery.is_none() && self.board.first() >= self.recovery_point;
        let mut losses = 0;
        self.board.judge(|number, transmission, in_flight| {
            ears.lost(number, transmission, in_flight, may_begin && losses == 0);
            losses += 1;
        });
        let begins = may_begin && losses > 0;
        if begins {
            self.recovery_point = self.board.end();
            let prr = self.with_prr.then(|| Prr::new(flight));
            self.recovery = Some(Episode { resend_now: true, resent_at: None, prr });
        }
        (losses == 0, begins)
    }

    fn meter(&mut self, delivered: &Delivered, safe: bool, ears: &Ears) {
        if let Some(Episode { prr: Some(prr), .. }) = &mut self.recovery {
            prr.on_ack(delivered.packets as f64, f64::from(self.board.pipe()), ears.controller.window(), safe);
        }
    }

    /// Everything that has not arrived is lost (RFC 6675 §5.1).
    pub fn on_timeout(&mut self) {
        self.recovery = None;
        self.recovery_point = self.board.end();
        self.board.lose_everything();
    }

    /// What the window of `window` packets lets leave next, of `offered` packets of data (RFC 6675 §4, NextSeg, rules 1 to 3).
    pub fn next(&mut self, window: f64, offered: u64) -> Next {
        let may_send = match &self.recovery {
            Some(Episode { resend_now: true, .. }) => true,
            Some(Episode { prr: Some(prr), .. }) => prr.may_send(),
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

    /// The packet `number` leaves as `transmission`.
    pub fn sent(&mut self, number: u64, transmission: u64, now: Time) {
        if number == self.board.end() {
            self.board.sent(transmission);
        } else {
            self.board.sent_again(number, transmission);
        }
        if let Some(episode) = &mut self.recovery {
            if episode.resend_now {
                episode.resend_now = false;
                episode.resent_at = Some(now);
            }
            if let Some(prr) = &mut episode.prr {
                prr.on_sent();
            }
        }
    }
}
