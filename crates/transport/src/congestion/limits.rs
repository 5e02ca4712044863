//! What keeps a sender from sending, and for how long (RFC 4898's tcpEStatsPerfSndLimTime;
//! `tcp_chrono` in Linux's net/ipv4/tcp_output.c, which knows the receiver's window and the
//! sender's buffer only).

use narrows_units::{Duration, Time};

/// What keeps the next packet from leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// The congestion window.
    Window,
    /// The pacer.
    Pacing,
    /// The application, which has nothing to send, or waits for room in the send buffer.
    Application,
    /// The receiver's window.
    Receiver,
    /// Losses are being repaired, whatever else may be missing, unless the law decides then, too;
    /// with the silence before a timeout.
    Recovery,
}

impl SendLimit {
    /// Each limit, in the order of [`Limited`].
    pub const ALL: [Self; 5] =
        [Self::Window, Self::Pacing, Self::Application, Self::Receiver, Self::Recovery];
}

/// Time spent under each limit, in the order of [`SendLimit::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited([Duration; SendLimit::ALL.len()]);

impl Limited {
    /// Time spent under `limit`.
    pub fn by(&self, limit: SendLimit) -> Duration {
        self.0[limit as usize]
    }

    /// Time spent under any limit.
    pub fn whole(&self) -> Duration {
        self.0.into_iter().fold(Duration::ZERO, |sum, part| sum + part)
    }

    /// The difference to an `earlier` time; nothing if that is later.
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|place| self.0[place].saturating_sub(earlier.0[place])))
    }

    /// The same without `unused` of the application's time, or all of that.
    pub fn without_idle(mut self, unused: Duration) -> Self {
        let idle = &mut self.0[SendLimit::Application as usize];
        *idle = idle.saturating_sub(unused);
        self
    }
}

/// Keeps the account of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    current: SendLimit,
    /// Since when; never before the sender first waits.
    since: Time,
    spent: Limited,
}

impl Limits {
    pub fn new() -> Self {
        Self { current: SendLimit::Window, since: Time::NEVER, spent: Limited::default() }
    }

    /// From `now` on it is `limit`.
    #[inline]
    pub fn set(&mut self, limit: SendLimit, now: Time) {
        if self.current != limit || self.since == Time::NEVER {
            self.change(limit, now);
        }
    }

    fn change(&mut self, limit: SendLimit, now: Time) {
        self.spent = self.spent(now);
        (self.current, self.since) = (limit, now);
    }

    /// A timer has gone off at `now` after `silence`, in which losses were waiting for it.
    #[cold]
    pub fn timed_out(&mut self, silence: Duration, now: Time) {
        let from = Time::from_picos(now.picos().saturating_sub(silence.picos()));
        self.change(SendLimit::Recovery, from.max(self.since.min(now)));
    }

    /// The account up to `now`.
    pub fn spent(&self, now: Time) -> Limited {
        let mut spent = self.spent;
        if self.since <= now {
            spent.0[self.current as usize] += now.since(self.since);
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_counts_for_the_limit_of_that_moment() {
        let ms = Duration::from_millis;
        let at = |millis| Time::ZERO + ms(millis);
        let mut limits = Limits::new();
        assert_eq!(limits.spent(at(5)), Limited::default(), "it has not begun to send");
        limits.set(SendLimit::Window, at(10));
        limits.set(SendLimit::Window, at(20));
        limits.set(SendLimit::Pacing, at(30));
        limits.set(SendLimit::Application, at(31));
        let spent = limits.spent(at(41));
        assert_eq!(SendLimit::ALL.map(|limit| spent.by(limit)), [20, 1, 10, 0, 0].map(ms));
        assert_eq!(spent.whole(), ms(31));
        let mut late = limits;
        late.timed_out(ms(4), at(50));
        assert_eq!(late.spent(at(52)).since(&spent).by(SendLimit::Recovery), ms(6));
        late.timed_out(ms(400), at(60));
        assert_eq!(late.spent(at(60)).whole(), limits.spent(at(60)).whole());
        let later = limits.spent(at(50)).since(&spent);
        assert_eq!(later.by(SendLimit::Application), ms(9));
        assert_eq!(later.without_idle(ms(4)).whole(), ms(5));
    }
}
