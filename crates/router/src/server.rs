//! What serves a queue: a transmitter of one rate, or of one that varies.

use crate::service::Service;
use crate::transmitter::Pace;
use narrows_units::{Duration, Rate, Time};

/// The end of a queue. A service that varies costs one of a single rate nothing: it is asked where
/// a rate that is no whole number of picoseconds a byte is divided.
#[derive(Debug)]
pub struct Server {
    pace: Pace,
    busy_until: Time,
    service: Option<Box<dyn Service>>,
}

impl Server {
    /// A server of `rate`, idle. Panics if that is 2⁶³ bit/s or more.
    pub fn new(rate: Rate) -> Self {
        Self { pace: Pace::of(rate), busy_until: Time::ZERO, service: None }
    }

    /// A server of a `service` that varies, of `rate` by name.
    pub fn varying(rate: Rate, service: Box<dyn Service>) -> Self {
        Self { pace: Pace::odd(rate), busy_until: Time::ZERO, service: Some(service) }
    }

    /// Is a `service` from now on, which up to when it is busy says what has been.
    pub fn follow(&mut self, service: Box<dyn Service>) {
        self.pace = Pace::odd(self.rate());
        self.service = Some(service);
    }

    /// Serves a packet of `bytes` that came at `came` and is next from `now` on, after those before
    /// it; returns when its last bit leaves.
    #[inline]
    pub fn send(&mut self, came: Time, now: Time, bytes: u32) -> Time {
        let from = self.busy_until.max(now);
        self.busy_until = match self.pace.whole() {
            Some(picos) => from + picos * u64::from(bytes),
            None => self.send_slowly(came, from, bytes),
        };
        self.busy_until
    }

    #[cold]
    #[inline(never)]
    fn send_slowly(&mut self, came: Time, from: Time, bytes: u32) -> Time {
        match &mut self.service {
            Some(service) => service.send(came, from, bytes),
            None => from + self.pace.time_to_send(bytes),
        }
    }

    /// When the last bit of the last packet leaves, or left.
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Its rate by name.
    pub fn rate(&self) -> Rate {
        self.pace.rate()
    }

    /// The rate that varies, as a router knows it at `now`; `None` if it does not.
    pub fn rate_now(&self, now: Time) -> Option<Rate> {
        Some(self.service.as_ref()?.rate(now))
    }

    /// Bits that could have left from `from` to `to`, that instant included.
    pub fn offered_up_to(&self, from: Time, to: Time) -> f64 {
        let to = if self.service.is_some() { to + Duration::from_picos(1) } else { to };
        self.offered(from, to)
    }

    /// Bits that could have left in `from..to`, the end not included.
    pub fn offered(&self, from: Time, to: Time) -> f64 {
        match &self.service {
            Some(service) => service.offered(from, to, None),
            None => self.rate().bits_per_second() as f64 * to.since(from).seconds(),
        }
    }
}
