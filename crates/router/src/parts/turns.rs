//! Flows by hash, in turns by bytes, new ones first (RFC 8290 §4.1 and §4.2; Linux's `sch_fq.c`
//! does the same).

use super::hash::place;
use crate::Packet;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
struct Turn<Q> {
    queue: Q,
    /// Bytes that it may still send in this turn.
    credit: i64,
    active: bool,
}

/// Queues that take turns.
#[derive(Clone, Debug)]
pub struct Turns<Q> {
    queues: Vec<Turn<Q>>,
    perturbation: u64,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl<Q: Default> Turns<Q> {
    /// `count` empty queues with `credit` bytes each; `perturbation` changes which flow is hashed
    /// to which.
    pub fn new(count: u32, credit: i64, perturbation: u64) -> Self {
        let turn = |_| Turn { queue: Q::default(), credit, active: false };
        let queues = (0..count).map(turn).collect();
        Self { queues, perturbation, new: VecDeque::new(), old: VecDeque::new() }
    }
}

impl<Q> Turns<Q> {
    /// Which queue is that of `flow`.
    pub fn place(&self, flow: u32) -> usize {
        place(flow, self.perturbation, self.queues.len())
    }

    /// The queue at `place`.
    pub fn at(&mut self, place: usize) -> &mut Q {
        &mut self.queues[place].queue
    }

    /// All queues.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Q> {
        self.queues.iter_mut().map(|turn| &mut turn.queue)
    }

    /// The queue at `place` has packets: if it has been idle it joins the new ones, and `credit`
    /// makes of its credit in bytes what it begins with.
    pub fn join(&mut self, place: usize, credit: impl FnOnce(i64) -> i64) {
        let turn = &mut self.queues[place];
        if !turn.active {
            turn.active = true;
            turn.credit = credit(turn.credit);
            self.new.push_back(place as u32);
        }
    }

    /// The next packet, of a turn of `quantum` bytes, that `take` removes from a queue; a queue
    /// that has none to give waits until it joins again.
    pub fn next<P: Packet>(
        &mut self,
        quantum: u32,
        mut take: impl FnMut(&mut Q) -> Option<P>,
    ) -> Option<P> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let turn = &mut self.queues[place as usize];
            if turn.credit <= 0 {
                turn.credit += i64::from(quantum);
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            if let Some(packet) = take(&mut turn.queue) {
                turn.credit -= i64::from(packet.bytes());
                return Some(packet);
            }
            list.pop_front();
            // §4.2: an empty new queue waits once among the old ones, so that it does not come back
            // as new again and again.
            if is_new && !self.old.is_empty() {
                self.old.push_back(place);
            } else {
                turn.active = false;
            }
        }
    }
}
