//! A lane: events of one place that come in order, and so wait in order.

use crate::calendar::Event;
use narrows_units::Time;

/// Events in order of time, in a ring.
pub(crate) struct Lane {
    /// The first event, which the calendar looks at most; [`Event::NONE`] if there is none.
    pub first: Event,
    /// When the last event comes.
    last: Time,
    /// The events after the first, from `head` on; as many places as a power of two.
    ring: Box<[Event]>,
    head: usize,
    /// Events in the ring.
    behind: usize,
}

/// Places of a new ring.
const FEWEST: usize = 64;

impl Lane {
    pub fn new() -> Self {
        let ring = vec![Event::NONE; FEWEST].into_boxed_slice();
        Self { first: Event::NONE, last: Time::ZERO, ring, head: 0, behind: 0 }
    }

    /// Adds an event that comes after all others; returns false, and leaves it out, if it does not.
    #[inline]
    pub fn push(&mut self, event: Event) -> bool {
        if self.first.time == Time::NEVER {
            (self.first, self.last) = (event, event.time);
            return true;
        }
        if event.time <= self.last {
            return false;
        }
        self.last = event.time;
        if self.behind == self.ring.len() {
            self.grow();
        }
        let place = (self.head + self.behind) & (self.ring.len() - 1);
        self.ring[place] = event;
        self.behind += 1;
        true
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let len = self.ring.len();
        let event = |place| {
            if place < len { self.ring[(self.head + place) & (len - 1)] } else { Event::NONE }
        };
        self.ring = (0..2 * len).map(event).collect();
        self.head = 0;
    }

    /// Removes and returns the first event.
    #[inline]
    pub fn pop(&mut self) -> Event {
        let first = self.first;
        if self.behind == 0 {
            self.first = Event::NONE;
        } else {
            self.first = self.ring[self.head];
            self.head = (self.head + 1) & (self.ring.len() - 1);
            self.behind -= 1;
        }
        first
    }

    /// The event after the first and `behind` others.
    #[inline]
    pub fn get(&self, behind: usize) -> Option<Event> {
        (behind < self.behind).then(|| self.ring[(self.head + behind) & (self.ring.len() - 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// What is taken comes out in order, whatever is refused; a model of a queue agrees.
        #[test]
        fn events_leave_in_order(
            steps in prop::collection::vec((any::<bool>(), 0u64..400), 1..600),
        ) {
            let (mut lane, mut model) = (Lane::new(), VecDeque::new());
            let mut now = 0;
            for (pushes, ahead) in steps {
                if pushes {
                    let event = Event::new(Time::from_picos(now + ahead), 7, ahead as u32);
                    let fits = model.back().is_none_or(|last: &Event| last.time < event.time);
                    prop_assert_eq!(lane.push(event), fits);
                    if fits {
                        model.push_back(event);
                    }
                } else if let Some(event) = model.pop_front() {
                    now = event.time.picos();
                    prop_assert_eq!(lane.pop(), event);
                }
                prop_assert_eq!(lane.first, model.front().copied().unwrap_or(Event::NONE));
                let behind = (ahead % 70) as usize;
                prop_assert_eq!(lane.get(behind), model.get(behind + 1).copied());
            }
        }
    }
}
