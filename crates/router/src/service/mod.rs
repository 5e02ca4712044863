//! What a transmitter does when its rate is not the same all the time. All of it is known when a
//! run begins, so a packet's departure is known as soon as the packet arrives.

mod bucket;
mod course;
mod opportunities;
mod shaper;
mod steps;

pub use bucket::{Bucket, BucketSettings};
pub use course::Course;
pub use opportunities::{Opportunities, TraceError};
pub use shaper::Shaper;
pub use steps::Steps;

use crate::Server;
use narrows_units::{Bytes, Rate, Time};
use std::fmt::Debug;

/// When a packet leaves that never does: later than any run, and early enough to count on from.
pub const HELD: Time = Time::from_picos(1 << 63);

/// How packets are served, one after the other.
pub trait Service: Debug + Send {
    /// Serves a packet of `bytes` that came at `came` and is next from `from` on; neither is before
    /// what it was for the packet before. Returns when its last bit leaves, after `from`; [`HELD`]
    /// if it never does.
    fn send(&mut self, came: Time, from: Time, bytes: u32) -> Time;

    /// The rate that a router knows of at `at`: that of the moment, or the last if that is none.
    fn rate(&self, at: Time) -> Rate;

    /// Bits that could have left in `from..to`, the end not included, at `most` all the time.
    fn offered(&self, from: Time, to: Time, most: Option<Rate>) -> f64;
}

/// The rate of a service, as a queue knows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownRate(Option<Rate>);

impl KnownRate {
    /// The rate that `server` has at `now`, if that varies and the queue does not know it yet.
    pub fn news(&mut self, server: &Server, now: Time) -> Option<Rate> {
        let rate = server.rate_now(now)?;
        (self.0.replace(rate) != Some(rate)).then_some(rate)
    }
}

/// A rate that stays.
impl Service for Rate {
    fn send(&mut self, _came: Time, from: Time, bytes: u32) -> Time {
        from + self.time_to_send(Bytes::new(bytes.into()))
    }

    fn rate(&self, _at: Time) -> Rate {
        *self
    }

    fn offered(&self, from: Time, to: Time, most: Option<Rate>) -> f64 {
        let rate = most.map_or(*self, |most| most.min(*self));
        rate.bits_per_second() as f64 * to.since(from).seconds()
    }
}
