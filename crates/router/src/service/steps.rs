//! A value that changes at given times.

use narrows_units::{Duration, Time};
use std::sync::Arc;

/// A value that changes at given times, and may do so again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<T> {
    /// From each time on, the first of them 0, until the next.
    at: Arc<[(Time, T)]>,
    /// After such a time all begins anew.
    period: Option<Duration>,
}

impl<T: Copy> Steps<T> {
    /// `first`, and from each time of `changes` on what stands there; with a `period`, all begins
    /// anew after each. Panics unless the times rise, from above 0 and to below the period.
    pub fn new(
        first: T,
        changes: impl IntoIterator<Item = (Time, T)>,
        period: Option<Duration>,
    ) -> Self {
        let at: Arc<[(Time, T)]> = [(Time::ZERO, first)].into_iter().chain(changes).collect();
        assert!(at.is_sorted_by(|(before, _), (after, _)| before < after), "times rise");
        let last = at.last().map_or(Time::ZERO, |(at, _)| *at);
        assert!(period.is_none_or(|period| last < Time::ZERO + period), "a period holds all");
        Self { at, period }
    }

    /// `value` all the time.
    pub fn always(value: T) -> Self {
        Self::new(value, [], None)
    }

    /// True if it never changes.
    pub fn is_steady(&self) -> bool {
        self.at.len() == 1
    }

    /// The value at `now`.
    pub fn get(&self, now: Time) -> T {
        self.at[self.place(self.phase(now))].1
    }

    /// The same with each value made into another.
    pub fn map<U: Copy>(&self, into: impl Fn(T) -> U) -> Steps<U> {
        let at = self.at.iter().map(|(at, value)| (*at, into(*value))).collect();
        Steps { at, period: self.period }
    }

    /// All values that it ever has.
    pub fn values(&self) -> impl Iterator<Item = T> {
        self.at.iter().map(|(_, value)| *value)
    }

    /// Every step that holds in `from..end`, with the time at which it begins.
    pub fn between(&self, from: Time, end: Time) -> impl Iterator<Item = (Time, T)> {
        let phase = self.phase(from);
        let place = self.place(phase);
        let begins = from.picos() - phase.since(self.begins(place)).picos();
        let first = (Time::from_picos(begins), place);
        let next = |(begins, place): &(Time, usize)| {
            let length = self.step(*place).1;
            (length < Duration::MAX).then(|| (*begins + length, self.after(*place)))
        };
        let steps = std::iter::successors(Some(first), next);
        steps
            .take_while(move |(begins, _)| *begins < end)
            .map(|(begins, place)| (begins, self.at[place].1))
    }

    /// Every step up to `end`, with the time at which it begins.
    pub fn until(&self, end: Time) -> impl Iterator<Item = (Time, T)> {
        self.between(Time::ZERO, end)
    }

    /// After how long all begins anew; `None` if it never does.
    pub fn period(&self) -> Option<Duration> {
        self.period
    }

    /// How many steps there are up to `end`, about.
    pub fn count_until(&self, end: Time) -> u64 {
        let periods = self.period.map_or(0, |period| end.picos() / period.picos());
        (periods + 1).saturating_mul(self.at.len() as u64)
    }

    /// How far `now` lies in its period.
    pub(super) fn phase(&self, now: Time) -> Time {
        match self.period {
            Some(period) => Time::from_picos(now.picos() % period.picos()),
            None => now,
        }
    }

    /// The number of the step that holds at `phase`.
    pub(super) fn place(&self, phase: Time) -> usize {
        self.at.partition_point(|(at, _)| *at <= phase) - 1
    }

    /// The value of step number `place`, and how long it holds; [`Duration::MAX`] if for ever.
    pub(super) fn step(&self, place: usize) -> (T, Duration) {
        let (begins, value) = self.at[place];
        let end = match (self.at.get(place + 1), self.period) {
            (Some((next, _)), _) => next.since(begins),
            (None, Some(period)) => (Time::ZERO + period).since(begins),
            (None, None) => Duration::MAX,
        };
        (value, end)
    }

    /// When step number `place` begins in its period.
    pub(super) fn begins(&self, place: usize) -> Time {
        self.at[place].0
    }

    /// The number of the step after step number `place`.
    pub(super) fn after(&self, place: usize) -> usize {
        (place + 1) % self.at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn each_value_holds_from_its_time_on() {
        let steps = Steps::new('a', [(at(20), 'b'), (at(30), 'c')], None);
        let just_before = Time::from_picos(at(20).picos() - 1);
        let found = [at(0), just_before, at(20), at(29), at(30), at(5000)];
        assert_eq!(found.map(|at| steps.get(at)), ['a', 'a', 'b', 'b', 'c', 'c']);
        assert_eq!(steps.until(at(30)).collect::<Vec<_>>(), [(at(0), 'a'), (at(20), 'b')]);
    }

    #[test]
    fn after_a_period_all_begins_anew() {
        let period = Some(Duration::from_millis(50));
        let steps = Steps::new('a', [(at(20), 'b')], period);
        let found = [at(49), at(50), at(69), at(70), at(1020)].map(|at| steps.get(at));
        assert_eq!(found, ['b', 'a', 'a', 'b', 'b']);
        let late: Vec<_> = steps.between(at(60), at(75)).collect();
        assert_eq!(late, [(at(50), 'a'), (at(70), 'b')]);
        let all: Vec<_> = steps.until(at(110)).map(|(at, _)| at).collect();
        assert_eq!(all, [0, 20, 50, 70, 100].map(at));
        assert_eq!(steps.step(1), ('b', Duration::from_millis(30)));
    }
}
