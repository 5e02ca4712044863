//! Answers that timers of receivers will send, for queues that answers reach in order without
//! events. What is carried ahead of time to such a queue may reach it after an answer whose timer
//! is still in the calendar: that timer runs before it.

use crate::calendar::Event;
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

/// The page's runs have no such queues, and need none of it.
const IN_USE: bool = cfg!(not(target_arch = "wasm32"));

/// The timers of receivers that may run before their events, by the queues that their answers
/// reach. Those that have run, or were stopped, stay until a packet reaches the queue.
pub(crate) struct DueAnswers {
    queues: Vec<DueAtQueue>,
    /// When the first answer reaches each queue that some may reach, with the queue's place; those
    /// that are first no more are taken off once they come first here.
    firsts: BinaryHeap<Reverse<(Time, usize)>>,
    /// The least of those; never if there is none.
    first: Time,
}

/// How answers arrive at a queue, if their timers expire.
struct DueAtQueue {
    link: LinkId,
    due: BinaryHeap<Reverse<(Event, AnswerTimer)>>,
}

impl DueAtQueue {
    fn first(&self) -> Option<&Event> {
        Some(&self.due.peek()?.0.0)
    }
}

impl DueAnswers {
    /// Those that reach the queues of `links`, which are in order.
    pub fn new(links: &[LinkId]) -> Self {
        let links = if IN_USE { links } else { &[] };
        let queue = |link: &LinkId| DueAtQueue { link: *link, due: BinaryHeap::new() };
        let queues = links.iter().map(queue).collect();
        Self { queues, firsts: BinaryHeap::new(), first: Time::NEVER }
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
        let Some(place) = self.place(link) else { return };
        self.change(place, |due| due.push(Reverse((arrival, timer))));
    }

    /// Takes the first timer whose answer reaches `link` before a packet does as `arrival` says.
    pub fn take_before(&mut self, link: LinkId, arrival: &Event) -> Option<AnswerTimer> {
        let place = self.place(link)?;
        self.queues[place].first().filter(|first| *first < arrival)?;
        let Reverse((_, timer)) = self.change(place, BinaryHeap::pop)?;
        Some(timer)
    }

    fn place(&self, link: LinkId) -> Option<usize> {
        self.queues.binary_search_by_key(&link, |queue| queue.link).ok()
    }

    /// Changes what is due at the queue in `place`.
    fn change<T>(
        &mut self,
        place: usize,
        change: impl FnOnce(&mut BinaryHeap<Reverse<(Event, AnswerTimer)>>) -> T,
    ) -> T {
        let queue = &mut self.queues[place];
        let before = queue.first().map(|first| first.time);
        let changed = change(&mut queue.due);
        let after = queue.first().map(|first| first.time);
        if before != after {
            self.firsts.extend(after.map(|time| Reverse((time, place))));
            self.first = self.least();
        }
        changed
    }

    /// The least of the firsts.
    fn least(&mut self) -> Time {
        while let Some(Reverse((time, place))) = self.firsts.peek() {
            if self.queues[*place].first().is_some_and(|first| first.time == *time) {
                return *time;
            }
            self.firsts.pop();
        }
        Time::NEVER
    }
}
