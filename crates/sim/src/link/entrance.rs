//! What a packet meets before the queue of a link that varies.

use super::memory::MemoryPort;
use super::script::Player;
use super::{Cargo, Varying};
use narrows_router::service::{Bucket, Steps};
use narrows_router::{Discipline, Limit};
use narrows_units::{Duration, Time};

/// The entrance to a link that varies: its script, its policer, and what of the queue changes.
pub(super) struct Entrance {
    script: Player,
    policer: Option<(Bucket, bool)>,
    down: Steps<bool>,
    mtus: Steps<u32>,
    /// The largest packet that a shaper's bucket holds.
    largest: u64,
    limits: Steps<Limit>,
    marks: Option<Steps<u64>>,
    /// The queue's settings, and those that it has.
    queues: Option<(Steps<Discipline>, Discipline)>,
    memory: Option<MemoryPort>,
}

/// Why a packet does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The script drops it.
    Scripted,
    /// The policer drops it.
    Policed,
    /// The link is down, the packet too large for it, or the memory too full.
    NotCarried,
}

/// A packet that passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Whether it has been marked.
    pub marked: bool,
    /// By how much it will arrive later.
    pub late: Duration,
}

impl Entrance {
    pub fn new(varying: &Varying) -> Self {
        let policer = varying.policer.map(|it| (Bucket::new(it.bucket), it.marks));
        Self {
            script: Player::new(varying.script.clone()),
            policer,
            down: varying.down.clone(),
            mtus: varying.mtus.clone(),
            largest: varying.shaper.map_or(u64::MAX, |shaper| shaper.burst.count()),
            limits: varying.limits.clone(),
            marks: varying.marks.clone(),
            queues: varying.queues.clone().map(|queues| {
                let first = queues.get(Time::ZERO);
                (queues, first)
            }),
            memory: varying.memory.clone(),
        }
    }

    /// Changes from now on as `varying` says, which up to now says what has been.
    pub fn follow(&mut self, varying: &Varying) {
        self.mtus = varying.mtus.clone();
        self.limits = varying.limits.clone();
        self.marks = varying.marks.clone();
        self.queues = varying.queues.clone().map(|queues| {
            let has = self.queues.as_ref().map_or(queues.get(Time::ZERO), |(_, has)| *has);
            (queues, has)
        });
    }

    /// A packet arrives at `now`. The script comes first, then the outage, the packet's size, the
    /// policer, and the memory.
    pub fn pass(&mut self, now: Time, packet: &mut impl Cargo) -> Result<Passed, Refusal> {
        let fate = self.script.play(now, packet);
        if fate.drops {
            return Err(Refusal::Scripted);
        }
        let bytes = packet.bytes();
        let is_too_large = bytes > self.mtus.get(now) || u64::from(bytes) > self.largest;
        if self.down.get(now) || is_too_large {
            return Err(Refusal::NotCarried);
        }
        if fate.clears {
            packet.clear();
        }
        if let Some(bytes) = fate.window {
            packet.advertise(bytes);
        }
        let mut marks = fate.marks;
        if let Some((bucket, marks_instead)) = &mut self.policer
            && !bucket.take(now, bytes)
        {
            if !(*marks_instead && packet.ecn().is_capable()) {
                return Err(Refusal::Policed);
            }
            marks = true;
        }
        if self.memory.as_ref().is_some_and(|memory| !memory.admits(now, bytes)) {
            return Err(Refusal::NotCarried);
        }
        let marked = marks && packet.ecn().is_capable();
        if marked {
            packet.mark();
        }
        let late = Duration::from_picos(fate.late.picos() / 1000 * 1000);
        Ok(Passed { marked, late })
    }

    /// How much the queue holds at `now`.
    pub fn limit(&self, now: Time) -> Limit {
        self.limits.get(now)
    }

    /// From how many packets on a drop-tail queue marks at `now`.
    pub fn marks_from(&self, now: Time) -> Option<u64> {
        Some(self.marks.as_ref()?.get(now))
    }

    /// The settings that the queue has from now on, if they have changed by `now`.
    pub fn retuned(&mut self, now: Time) -> Option<Discipline> {
        let (queues, has) = self.queues.as_mut()?;
        let next = queues.get(now);
        (next != *has).then(|| {
            *has = next;
            next
        })
    }

    /// The lines of the script that have done nothing so far.
    pub fn idle_lines(&self) -> impl Iterator<Item = usize> {
        self.script.idle()
    }
}
