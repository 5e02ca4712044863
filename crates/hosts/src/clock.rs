//! Virtual time in the system's instants, as quinn and noq count it.

use narrows_units::{Duration, Time};
use std::sync::OnceLock;
use std::time::Instant;

/// Time zero: a day ahead, as stacks subtract from instants. What happens does not depend on it.
pub fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(|| Instant::now() + std::time::Duration::from_secs(86_400))
}

/// `now` in whole nanoseconds.
pub fn instant(now: Time) -> Instant {
    base() + std::time::Duration::from_nanos(now.picos() / 1000)
}

/// A deadline, exactly.
pub fn time(at: Instant) -> Time {
    let nanos = at.saturating_duration_since(base()).as_nanos();
    Time::from_picos(u64::try_from(nanos * 1000).unwrap_or(u64::MAX))
}

/// A span of time.
pub fn span(span: std::time::Duration) -> Duration {
    Duration::from_picos(u64::try_from(span.as_nanos() * 1000).unwrap_or(u64::MAX))
}
