//! What a recovery is to the sender: finds out what was lost, and says what may leave next.

use super::cumulative::Cumulative;
use super::rate_sampler::RateSampler;
use super::scoreboard::Delivered;
use super::selective::Selective;
use super::{Habits, RecoveryKind};
use crate::{Counters, Segment};
use narrows_control::{Controller, Loss, Rtt};
use narrows_units::Time;

/// A recovery, between the window and the wire.
pub(super) trait Recovery {
    /// The lowest number that is not acknowledged.
    fn first(&self) -> u64;

    /// One past the highest number sent.
    fn end(&self) -> u64;

    /// Packets thought to be in flight.
    fn in_flight(&self) -> u64;

    /// True while a recovery is under way.
    fn recovering(&self) -> bool;

    /// True while the window is below what the controller allows after a recovery.
    fn regrowing(&self) -> bool {
        false
    }

    /// An acknowledgement arrived; the losses that it reveals are told to `ears`.
    fn on_ack(&mut self, ack: &Segment, ears: &mut Ears) -> Answer;

    /// The retransmission timer went off.
    fn on_timeout(&mut self);

    /// What the window of `window` packets lets leave next, of `offered` packets of data.
    fn next(&mut self, window: f64, offered: u64) -> Next;

    /// The packet `number` leaves as `transmission`.
    fn sent(&mut self, number: u64, transmission: u64, now: Time);
}

/// What a recovery lets leave next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next packet of new data.
    New,
    /// This packet, once more.
    Again(u64),
    /// The window is full.
    WaitForWindow,
    /// The application has nothing to send.
    WaitForData,
}

/// What an acknowledgement did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answer {
    pub delivered: Delivered,
    pub restarts_timer: bool,
}

/// The controller's ears: through them a recovery tells losses, in the order of the contract.
pub(super) struct Ears<'a> {
    pub controller: &'a mut dyn Controller,
    pub counters: &'a mut Counters,
    pub now: Time,
    pub next: u64,
    pub rtt: Option<Rtt>,
    pub timestamps: bool,
    pub sampler: Option<&'a mut RateSampler>,
}

impl Ears<'_> {
    /// What an acknowledgement brought, before the losses that it reveals.
    pub fn arrived(&mut self, delivered: &Delivered) {
        if let Some(sampler) = &mut self.sampler {
            sampler.arrived(delivered, self.now, self.rtt.map(|rtt| rtt.minimum));
        }
    }

    pub fn lost(&mut self, number: u64, transmission: u64, in_flight: u32, opens_epoch: bool) {
        self.counters.lost += 1;
        self.counters.epochs += u32::from(opens_epoch);
        let in_flight = f64::from(in_flight);
        let rate = self.sampler.as_mut().map(|sampler| sampler.lost(number));
        self.controller.on_loss(&Loss {
            now: self.now,
            transmission,
            next: self.next,
            opens_epoch,
            in_flight,
            rtt: self.rtt,
            rate,
        });
    }

    pub fn spurious(&mut self) {
        self.counters.spurious += 1;
        self.controller.on_spurious();
    }

    /// True where timestamps prove that an acknowledgement answers what left before the
    /// retransmission at `resent_at` (RFC 3522 §3.2).
    pub fn is_older(&self, echoed_stamp: Time, resent_at: Option<Time>) -> bool {
        self.timestamps && resent_at.is_some_and(|resent_at| echoed_stamp < resent_at)
    }
}

/// One of the recoveries.
#[derive(Clone, Debug)]
pub(super) enum AnyRecovery {
    /// Reno's and NewReno's.
    Cumulative(Cumulative),
    /// SACK's.
    Selective(Selective),
}

impl AnyRecovery {
    /// The recovery of `kind`, with these habits.
    pub fn new(kind: RecoveryKind, habits: &Habits) -> Self {
        match kind {
            RecoveryKind::Reno => Self::Cumulative(Cumulative::new(false, habits.limited_transmit)),
            RecoveryKind::NewReno => {
                Self::Cumulative(Cumulative::new(true, habits.limited_transmit))
            }
            RecoveryKind::Sack => {
                Self::Selective(Selective::new(habits.metering, habits.lost_retransmissions))
            }
        }
    }
}

/// Calls one method of whichever recovery it is.
macro_rules! either {
    ($self:expr, $recovery:ident => $call:expr) => {
        match $self {
            AnyRecovery::Cumulative($recovery) => $call,
            AnyRecovery::Selective($recovery) => $call,
        }
    };
}

impl Recovery for AnyRecovery {
    fn first(&self) -> u64 {
        either!(self, recovery => recovery.first())
    }

    fn end(&self) -> u64 {
        either!(self, recovery => recovery.end())
    }

    fn in_flight(&self) -> u64 {
        either!(self, recovery => recovery.in_flight())
    }

    fn recovering(&self) -> bool {
        either!(self, recovery => recovery.recovering())
    }

    fn regrowing(&self) -> bool {
        either!(self, recovery => recovery.regrowing())
    }

    fn on_ack(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
        either!(self, recovery => recovery.on_ack(ack, ears))
    }

    fn on_timeout(&mut self) {
        either!(self, recovery => recovery.on_timeout());
    }

    fn next(&mut self, window: f64, offered: u64) -> Next {
        either!(self, recovery => recovery.next(window, offered))
    }

    fn sent(&mut self, number: u64, transmission: u64, now: Time) {
        either!(self, recovery => recovery.sent(number, transmission, now));
    }
}
