//! Which discipline a queue has, and the machines of those that decide on arrival and on departure.

use crate::{
    Ba, BaQueue, Backlog, Codel, CodelSettings, DropTail, Drops, DualPi2, DualPi2Settings, Fifo,
    FqCodel, FqCodelSettings, Gwa, GwaQueue, Packet, Pie, PieQueue, Red, RedQueue, RoundRobin,
    TimedQueue, Verdict, Xcp, XcpQueue,
};
use narrows_units::{Rate, Stream, Time};

/// A queue's discipline, beside its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// Drops what finds it full.
    DropTail,
    /// Marks what finds so many packets before it (DCTCP's K; RFC 8257 §3.1).
    MarkFrom(u64),
    /// Random early detection.
    Red(Red),
    /// PIE.
    Pie(Pie),
    /// Advertises bandwidth.
    Ba(Ba),
    /// A queue for each flow, in turn.
    RoundRobin,
    /// Advertises buffer.
    Gwa(Gwa),
    /// CoDel.
    Codel(CodelSettings),
    /// FQ-CoDel.
    FqCodel(FqCodelSettings),
    /// DualPI2.
    DualPi2(DualPi2Settings),
    /// XCP's router.
    Xcp(Xcp),
}

impl Discipline {
    /// True where what leaves, and how, is decided when it leaves.
    pub const fn decides_on_departure(&self) -> bool {
        !matches!(
            self,
            Self::DropTail | Self::MarkFrom(_) | Self::Red(_) | Self::Pie(_) | Self::Ba(_)
        )
    }

    /// The machine of one that decides on arrival, in front of a transmitter of `rate`; `None` for
    /// drop-tail and for the others.
    pub fn on_arrival(&self, rate: Rate) -> Option<OnArrival> {
        Some(match *self {
            Self::MarkFrom(packets) => OnArrival::MarkFrom(packets),
            Self::Red(red) => OnArrival::Red(RedQueue::new(red, rate.bytes_per_second())),
            Self::Pie(pie) => OnArrival::Pie(PieQueue::new(pie)),
            Self::Ba(ba) => OnArrival::Ba(BaQueue::new(ba, rate.bytes_per_second())),
            _ => return None,
        })
    }

    /// The machine of one that decides on departure; `None` for the others.
    pub fn on_departure<P: Packet>(
        &self,
        rate: Rate,
        stream: &mut Stream,
    ) -> Option<OnDeparture<P>> {
        Some(match *self {
            Self::RoundRobin => OnDeparture::RoundRobin(RoundRobin::default()),
            Self::Gwa(gwa) => OnDeparture::Gwa(GwaQueue::new(gwa)),
            Self::Codel(settings) => OnDeparture::Codel {
                settings,
                codel: Codel::default(),
                queue: TimedQueue::default(),
            },
            Self::FqCodel(settings) => OnDeparture::FqCodel(FqCodel::new(settings)),
            Self::DualPi2(settings) => OnDeparture::DualPi2(DualPi2::new(settings)),
            Self::Xcp(xcp) => OnDeparture::Xcp(XcpQueue::new(xcp, rate.bytes_per_second(), stream)),
            _ => return None,
        })
    }
}

/// Disciplines that decide on arrival: they judge what a [`Fifo`] then takes.
#[derive(Clone, Debug)]
pub enum OnArrival {
    /// Marks from so many packets on.
    MarkFrom(u64),
    /// RED.
    Red(RedQueue),
    /// PIE.
    Pie(PieQueue),
    /// BA.
    Ba(BaQueue),
}

impl OnArrival {
    /// A packet arrives at `now` at `fifo`. A mark has been put on it when this returns.
    pub fn judge<P: Packet>(
        &mut self,
        now: Time,
        fifo: &mut Fifo,
        packet: &mut P,
        stream: &mut Stream,
    ) -> Verdict {
        let ecn = packet.ecn();
        let verdict = match self {
            Self::MarkFrom(packets)
                if ecn.is_capable() && fifo.backlog(now).packets >= *packets =>
            {
                Verdict::Mark
            }
            Self::MarkFrom(_) => Verdict::Admit,
            Self::Red(red) => {
                let waiting = fifo.waiting(now);
                red.judge(waiting, now.since(fifo.busy_until()), packet.bytes(), ecn, stream)
            }
            Self::Pie(pie) => {
                let backlog = fifo.backlog(now);
                pie.judge(now, fifo.busy_until(), backlog, ecn, stream)
            }
            Self::Ba(ba) => {
                let backlog = fifo.backlog(now);
                ba.stamp(now, backlog, packet);
                Verdict::Admit
            }
        };
        if verdict == Verdict::Mark {
            packet.mark();
        }
        verdict
    }
}

/// Disciplines that decide on departure.
#[derive(Clone, Debug)]
pub enum OnDeparture<P> {
    /// In turn.
    RoundRobin(RoundRobin<P>),
    /// GWA.
    Gwa(GwaQueue<P>),
    /// CoDel.
    Codel {
        /// How it is set up.
        settings: CodelSettings,
        /// Its state.
        codel: Codel,
        /// What waits.
        queue: TimedQueue<P>,
    },
    /// FQ-CoDel.
    FqCodel(FqCodel<P>),
    /// DualPI2.
    DualPi2(DualPi2<P>),
    /// XCP.
    Xcp(XcpQueue<P>),
}

impl<P: Packet> OnDeparture<P> {
    /// What waits, without what is in transmission.
    pub fn backlog(&self) -> Backlog {
        match self {
            Self::RoundRobin(queue) => queue.backlog(),
            Self::Gwa(queue) => queue.backlog(),
            Self::Codel { queue, .. } => queue.backlog(),
            Self::FqCodel(queue) => queue.backlog(),
            Self::DualPi2(queue) => queue.backlog(),
            Self::Xcp(queue) => queue.backlog(),
        }
    }

    /// A packet arrives at `now`, while `in_transmission` leaves; beyond `limit` it, or another,
    /// goes to `dropped`.
    pub fn enqueue(
        &mut self,
        now: Time,
        mut packet: P,
        in_transmission: Backlog,
        limit: DropTail,
        dropped: &mut Drops<P>,
    ) {
        if let Self::Xcp(queue) = self {
            queue.observe(now, &mut packet);
        }
        let has_room = limit.admits(self.backlog() + in_transmission, packet.bytes());
        if !has_room && !matches!(self, Self::FqCodel(_)) {
            return dropped.push(packet);
        }
        match self {
            Self::RoundRobin(queue) => queue.enqueue(packet),
            Self::Gwa(queue) => queue.enqueue(now, packet),
            Self::Codel { queue, .. } => queue.push(now, packet),
            Self::DualPi2(queue) => queue.enqueue(now, packet),
            Self::Xcp(queue) => queue.enqueue(now, packet),
            Self::FqCodel(queue) => {
                queue.enqueue(now, packet);
                if !has_room {
                    queue.relieve(dropped);
                }
            }
        }
    }

    /// The next packet to leave at `now`; those given up on the way go to `dropped`.
    pub fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
        match self {
            Self::RoundRobin(queue) => queue.dequeue(),
            Self::Gwa(queue) => queue.dequeue(now),
            Self::Codel { settings, codel, queue } => codel.dequeue(settings, now, queue, dropped),
            Self::FqCodel(queue) => queue.dequeue(now, dropped),
            Self::DualPi2(queue) => queue.dequeue(now, dropped),
            Self::Xcp(queue) => queue.dequeue(now),
        }
    }
}
