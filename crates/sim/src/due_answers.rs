//! Answers that timers of receivers will send, for queues that answers reach in order without
//! events. What is carried ahead of time to such a queue may reach it after an answer whose timer
//! is still in the calendar: that timer runs before it.

use crate::calendar::{Event, PACKET};
use crate::wiring::LinkId;
use narrows_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AnswerTimer {
    pub expires: Time,
    /// The flow.
    pub flow: u32,
}

/// How an answer arrives at its queue, if its timer expires.
type DueAnswer = (Event, AnswerTimer);

/// The page's runs have no such queues, and need none of it.
const IN_USE: bool = cfg!(not(target_arch = "wasm32"));

/// The timers of receivers that may run before their events, by the queues that their answers
/// reach.
#[derive(Default)]
pub(crate) struct DueAnswers {
    /// When the first answer reaches its queue; never if none will.
    first: Time,
    queues: Vec<(LinkId, BinaryHeap<Reverse<DueAnswer>>)>,
}

impl DueAnswers {
    /// Those that reach the queues of `links`.
    pub fn new(links: &[LinkId]) -> Self {
        let links = if IN_USE { links } else { &[] };
        let queues = links.iter().map(|link| (*link, BinaryHeap::new())).collect();
        Self { first: Time::NEVER, queues }
    }

    /// Whether there are queues that timers' answers reach without events.
    #[inline]
    pub fn matter(&self) -> bool {
        IN_USE && !self.queues.is_empty()
    }

    /// Whether an answer may reach its queue by `at`.
    #[inline]
    pub fn may_come_by(&self, at: Time) -> bool {
        IN_USE && self.first <= at
    }

    /// If `timer` expires and has not been stopped, its answer reaches `link` as `arrival` says.
    pub fn expect(&mut self, link: LinkId, arrival: Event, timer: AnswerTimer) {
        if let Some((_, queue)) = self.queues.iter_mut().find(|(other, _)| *other == link) {
            queue.push(Reverse((arrival, timer)));
            self.first = self.first.min(arrival.time);
        }
    }

    /// Takes the first timer whose answer reaches `link` before a packet does as `arrival` says.
    pub fn take_before(&mut self, link: LinkId, arrival: &Event) -> Option<AnswerTimer> {
        let (_, queue) = self.queues.iter_mut().find(|(other, _)| *other == link)?;
        queue.peek().filter(|first| first.0.0 < *arrival)?;
        let Reverse((_, timer)) = queue.pop()?;
        let firsts = self.queues.iter().filter_map(|(_, queue)| Some(queue.peek()?.0.0.time));
        self.first = firsts.min().unwrap_or(Time::NEVER);
        Some(timer)
    }
}

/// How a packet of `path` arrives at a queue at `at`, for a seed's `salt`.
pub(crate) fn arrival(at: Time, path: u32, salt: u32) -> Event {
    Event::new(at, PACKET | (path ^ salt), 0)
}
