//! What of a link varies, and what is done to packets there besides queueing. All of it is known
//! before it comes about, so that a packet's departure still is when the packet arrives.

use super::LinkSettings;
use super::memory::MemoryPort;
use super::script::Script;
use super::wire::{Hold, Jitter, Loss};
use narrows_router::service::{
    Bucket, BucketSettings, Course, Opportunities, Service, Shaper, Steps,
};
use narrows_router::{Discipline, Limit};
use narrows_units::{Duration, Rate};

/// What of a link varies.
#[derive(Clone, Debug)]
pub struct Varying {
    /// When bits leave.
    pub line: Line,
    /// A token bucket before the line: packets wait for it.
    pub shaper: Option<BucketSettings>,
    /// A token bucket before the queue: packets that find too few tokens do not pass.
    pub policer: Option<Policer>,
    /// How much the queue holds; a smaller limit drops nothing that is queued.
    pub limits: Steps<Limit>,
    /// A drop-tail queue's marking threshold in packets; `None` for any other queue.
    pub marks: Option<Steps<u64>>,
    /// The queue's discipline, whose settings change; `None` if they do not.
    pub queues: Option<Steps<Discipline>>,
    /// The largest packet in bytes.
    pub mtus: Steps<u32>,
    /// One-way propagation delay, of packets by their departure.
    pub delays: Steps<Duration>,
    /// Losses on the wire, of packets by their departure.
    pub losses: Steps<Loss>,
    /// Variation of the delay, of packets by their departure.
    pub jitters: Steps<Jitter>,
    /// Whether arrivals are dropped, because the link is down.
    pub down: Steps<bool>,
    /// Whether whatever leaves is lost on the wire.
    pub loses: Steps<bool>,
    /// Packets reach the other end at certain times only.
    pub hold: Option<Hold>,
    /// What happens to which packets.
    pub script: Script,
    /// The memory that its queue shares with others; only of queues that decide on arrival.
    pub memory: Option<MemoryPort>,
    /// Whether more may change while the run goes on than is known when it begins.
    pub is_open: bool,
}

/// When bits leave.
#[derive(Clone, Debug)]
pub enum Line {
    /// At the link's rate.
    Steady,
    /// At rates that change; `None` stands for no bits at all.
    Course(Steps<Option<Rate>>),
    /// At recorded instants.
    Trace(Opportunities),
}

/// A policer (net/sched/act_police.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Its bucket.
    pub bucket: BucketSettings,
    /// Whether packets that can be marked are, instead of dropped.
    pub marks: bool,
}

impl Varying {
    /// A link as `settings` has it, of which nothing varies yet.
    pub fn of(settings: &LinkSettings) -> Self {
        let mark = match settings.queue {
            Discipline::MarkFrom(packets) => Some(Steps::always(packets)),
            _ => None,
        };
        Self {
            line: Line::Steady,
            shaper: None,
            policer: None,
            limits: Steps::always(settings.limit),
            marks: mark,
            queues: None,
            mtus: Steps::always(settings.mtu.unwrap_or(u32::MAX)),
            delays: Steps::always(settings.delay),
            losses: Steps::always(settings.loss),
            jitters: Steps::always(settings.jitter),
            down: Steps::always(false),
            loses: Steps::always(false),
            hold: None,
            script: Script::default(),
            memory: None,
            is_open: false,
        }
    }

    /// What serves a queue in front of this; `None` if it is steady, at the link's `rate`.
    pub(super) fn service(&self, rate: Rate) -> Option<Box<dyn Service>> {
        let line: Option<Box<dyn Service>> = match &self.line {
            Line::Steady => None,
            Line::Course(rates) => Some(Box::new(Course::new(rates.clone()))),
            Line::Trace(trace) => Some(Box::new(trace.clone())),
        };
        let Some(settings) = self.shaper else { return line };
        let line = line.unwrap_or_else(|| Box::new(rate));
        Some(Box::new(Shaper::new(Bucket::new(settings), line)))
    }

    /// Whether a packet may overtake another.
    pub(crate) fn reorders(&self) -> bool {
        self.jitters.values().any(|jitter| jitter.reorders) || self.script.delays()
    }

    /// Whether anything happens on the wire besides a constant delay, or somebody asks when packets
    /// get there.
    pub(super) fn impairs(&self) -> bool {
        let loses = self.losses.values().any(|loss| loss != Loss::None)
            || self.loses.values().any(|loses| loses);
        loses || self.spaces() || self.script.delays() || self.memory.is_some()
    }

    /// Whether packets could arrive out of order, or at one instant, if the wire did not keep them
    /// apart: the delay varies, or several leave at one instant.
    pub(super) fn spaces(&self) -> bool {
        !self.delays.is_steady()
            || self.jitters.values().any(|jitter| jitter.most > Duration::ZERO)
            || self.hold.is_some()
            || matches!(self.line, Line::Trace(_))
            || self.is_open
    }
}
