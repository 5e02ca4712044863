//! Answers of receivers' timers to queues that answers reach without events.

use super::Simulation;
use crate::calendar::{Event, arrival};
use crate::due_answers::AnswerTimer;
use crate::ends::Sink;
use crate::link::Link;
use crate::wiring::LinkId;
use narrows_units::Time;

impl Simulation {
    /// Notes that the timer of `flow`'s receiver, which is in the calendar, may have to run before,
    /// if its answer goes to a queue where that matters.
    #[cold]
    pub(super) fn expect_answer(&mut self, flow: u32, expires: Time) {
        let Sink::Connection(receiver) = &self.receivers[flow as usize].sink else { return };
        let Some(bytes) = receiver.delayed_bytes() else { return };
        let path = 2 * flow + 1;
        let (mut at, mut place) = (expires, self.paths.starts[path as usize]);
        while let Some(link) = self.paths.hops[place as usize].link() {
            let Link::Plain(plain) = &self.links[link as usize] else {
                let arrival = Event::new(at, arrival(path, self.salt), 0);
                return self.due_answers.expect(link, arrival, AnswerTimer { expires, flow });
            };
            (at, place) = (at + plain.takes(bytes), place + 1);
        }
    }

    /// Runs the timers whose answers reach `link` before a packet of `path` does at `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn answer_before(&mut self, link: LinkId, at: Time, path: u32) {
        let arrival = Event::new(at, arrival(path, self.salt), 0);
        while let Some(timer) = self.due_answers.take_before(link, &arrival) {
            self.receiver_timer(timer.flow, timer.expires);
        }
    }
}
