//! The laws that move the window, and one that notes what every law is told.

use narrows_control::registry::{self, Birth};
use narrows_control::{
    Ack, Controller, Gaps, Idle, Loss, Mark, Needs, Pacing, RateSample, Timeout,
};
use narrows_signal::Request;
use narrows_units::Duration;
use std::sync::{Arc, Mutex, MutexGuard};

/// A law by name, or none.
#[derive(Clone, Copy, Debug)]
pub enum Law {
    /// The window is always this, in packets, whatever is lost.
    Constant { window: f64, own_recovery: bool },
    /// Leaves at a rate in packets per second, whatever is in flight up to `window`.
    Rate { window: f64, rate: f64, gaps: Gaps },
    /// A law of the registry.
    Named(&'static str),
}

/// The counts of what a law was told, and the last sample of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// Packets acknowledged.
    pub acked: f64,
    pub lost: u32,
    pub epochs: u32,
    pub timeouts: u32,
    pub spurious: u32,
    pub marked: f64,
    pub rate: Option<RateSample>,
}

/// Shared by the laws of successive connections and the test.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<Told>>);

impl Ledger {
    pub fn told(&self) -> Told {
        *self.open()
    }

    fn open(&self) -> MutexGuard<'_, Told> {
        self.0.lock().expect("one thread")
    }
}

impl Law {
    /// A controller whose events are noted in `ledger`, and checked against a path whose shortest
    /// round trip takes `path`.
    pub fn make(self, initial_window: f64, path: Duration, ledger: Ledger) -> Box<dyn Controller> {
        let law = match self {
            Self::Named(name) => registry::find(name)
                .and_then(|entry| entry.read(&Birth { initial_window, ..Birth::default() }))
                .expect("a registered law with its defaults")
                .make(7),
            fixed => Box::new(Fixed(fixed)),
        };
        Box::new(Noted { law, path, ledger })
    }
}

/// A window that nothing moves.
struct Fixed(Law);

impl Controller for Fixed {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> f64 {
        match self.0 {
            Law::Constant { window, .. } | Law::Rate { window, .. } => window,
            Law::Named(_) => unreachable!("made from the registry"),
        }
    }

    fn needs(&self) -> Needs {
        let own_recovery = matches!(self.0, Law::Constant { own_recovery: true, .. });
        Needs { own_recovery, ..Needs::default() }
    }

    fn pacing(&self) -> Pacing {
        match self.0 {
            Law::Rate { rate, gaps, .. } => Pacing::Rate { packets_per_second: rate, gaps },
            _ => Pacing::Unpaced,
        }
    }
}

/// A law whose events are noted and checked.
struct Noted {
    law: Box<dyn Controller>,
    path: Duration,
    ledger: Ledger,
}

impl Controller for Noted {
    fn on_ack(&mut self, ack: &Ack) {
        assert!(ack.packets >= 1.0 && ack.newest < ack.next, "{ack:?}");
        if let Some(rtt) = ack.rtt {
            assert!(
                rtt.minimum >= self.path,
                "an RTT sample of {:?} on a path of {:?}: an acknowledgement was credited to a \
                 packet that left after the one it answers",
                rtt.minimum,
                self.path
            );
            assert!(rtt.minimum <= rtt.latest && rtt.latest <= rtt.maximum, "{rtt:?}");
            assert!(rtt.minimum <= rtt.smoothed.max(rtt.minimum) && rtt.smoothed <= rtt.maximum);
        }
        if let Some(rate) = ack.rate {
            assert!(rate.prior_delivered < rate.total_delivered, "{rate:?}");
            assert!(rate.rtt.is_none_or(|rtt| rtt >= self.path), "{rate:?}");
        }
        let mut told = self.ledger.open();
        told.acked += ack.packets;
        told.marked += ack.marked;
        told.rate = ack.rate;
        drop(told);
        self.law.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        assert!(loss.transmission < loss.next && loss.in_flight >= 1.0, "{loss:?}");
        let mut told = self.ledger.open();
        told.lost += u32::from(!loss.again);
        assert!(loss.opens_epoch || !loss.again, "{loss:?}");
        told.epochs += u32::from(loss.opens_epoch);
        drop(told);
        self.law.on_loss(loss);
    }

    fn on_mark(&mut self, mark: &Mark) {
        assert!(mark.packets >= 1.0, "{mark:?}");
        self.law.on_mark(mark);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.ledger.open().timeouts += 1;
        self.law.on_timeout(timeout);
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.law.on_restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.law.on_unused(used);
    }

    fn on_spurious(&mut self) {
        self.ledger.open().spurious += 1;
        self.law.on_spurious();
    }

    fn window(&self) -> f64 {
        self.law.window()
    }

    fn least_window(&self) -> f64 {
        self.law.least_window()
    }

    fn ssthresh(&self) -> f64 {
        self.law.ssthresh()
    }

    fn flight_limit(&self) -> f64 {
        self.law.flight_limit()
    }

    fn on_moderation(&mut self, window: f64) {
        self.law.on_moderation(window);
    }

    fn needs(&self) -> Needs {
        self.law.needs()
    }

    fn request(&self) -> Request {
        self.law.request()
    }

    fn pacing(&self) -> Pacing {
        self.law.pacing()
    }
}
