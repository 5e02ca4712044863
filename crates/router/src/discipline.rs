//! Which discipline a queue has, and the machines of those that decide on arrival and on departure.

use crate::departure::Departure;
use crate::queues::{
    AdvertisedRoom, Ba, BaSettings, CnqCodelAf, CnqCodelAfSettings, Codel, CodelSettings, DualPi2,
    DualPi2Settings, Fq, FqCodel, FqCodelSettings, FqSettings, Gwa, GwaSettings, Pie, PieSettings,
    Red, RedSettings, RoundRobin, Xcp, XcpSettings,
};
use crate::{Backlog, Drops, Fifo, Packet, Room, Verdict};
use narrows_signal::Request;
use narrows_units::{Rate, Stream, Time};

/// A queue's discipline, without its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// Drops packets that find it full.
    DropTail,
    /// Marks packets that find this many before them (DCTCP's K; RFC 8257 §3.1).
    MarkFrom(u64),
    /// Random early detection.
    Red(RedSettings),
    /// PIE.
    Pie(PieSettings),
    /// Advertises bandwidth.
    Ba(BaSettings),
    /// A queue for each flow, served in turn.
    RoundRobin,
    /// Advertises buffer.
    Gwa(GwaSettings),
    /// CoDel.
    Codel(CodelSettings),
    /// fq.
    Fq(FqSettings),
    /// FQ-CoDel.
    FqCodel(FqCodelSettings),
    /// CNQ-CoDel-AF.
    CnqCodelAf(CnqCodelAfSettings),
    /// DualPI2.
    DualPi2(DualPi2Settings),
    /// XCP's router.
    Xcp(XcpSettings),
}

/// The machine that carries out a [`Discipline`].
pub enum Machine<P> {
    /// A [`Fifo`] alone.
    DropTail,
    /// A [`Fifo`] whose arrivals are judged first.
    OnArrival(OnArrival),
    /// Packets are held until their departure is decided.
    OnDeparture(OnDeparture<P>),
}

impl Discipline {
    /// True if it answers what packets ask with `request`.
    pub fn answers(self, request: &Request) -> bool {
        matches!(
            (self, request),
            (Self::Xcp(_), Request::Feedback(_))
                | (Self::Gwa(_), Request::Window(_) | Request::WindowOver(..))
                | (Self::Ba(_), Request::Rate(_) | Request::WindowOver(..))
        )
    }

    /// True if it counts with the delays that packets tell.
    pub fn needs_delays(self) -> bool {
        matches!(self, Self::Ba(_))
    }

    /// True if it answers in the acknowledgements that pass on their way back.
    pub fn answers_backward(self) -> bool {
        matches!(self, Self::Gwa(settings) if settings.backward || settings.rewrite)
    }

    /// True if it lowers the receiver's window in them, whether or not anybody asked.
    pub fn rewrites_windows(self) -> bool {
        matches!(self, Self::Gwa(settings) if settings.rewrite)
    }

    /// Whether its machine can have the settings of `other` while packets are in it: both are of
    /// one kind, and what they count with is as large.
    pub fn can_become(self, other: Self) -> bool {
        match (self, other) {
            (Self::Red(_), Self::Red(_))
            | (Self::Pie(_), Self::Pie(_))
            | (Self::Codel(_), Self::Codel(_))
            | (Self::DualPi2(_), Self::DualPi2(_)) => true,
            (Self::FqCodel(one), Self::FqCodel(other)) => {
                one.options.queues == other.options.queues
            }
            _ => false,
        }
    }

    /// True if it marks packets that can be marked.
    pub fn marks(self) -> bool {
        match self {
            Self::MarkFrom(_) | Self::DualPi2(_) | Self::CnqCodelAf(_) => true,
            Self::Red(settings) => settings.options.ecn,
            Self::Pie(settings) => settings.ecn,
            Self::Codel(settings) => settings.options.marks(),
            Self::Fq(settings) => settings.ce_threshold.is_some(),
            Self::FqCodel(settings) => settings.options.codel.marks(),
            Self::DropTail | Self::RoundRobin | Self::Ba(_) | Self::Gwa(_) | Self::Xcp(_) => false,
        }
    }

    /// Its machine, in front of a transmitter of `rate`; `perturbation` changes its hashes, and its
    /// random numbers at birth come from `stream`.
    pub fn machine<P: Packet>(
        self,
        rate: Rate,
        perturbation: u64,
        stream: &mut Stream,
    ) -> Machine<P> {
        use Machine::{OnArrival as Arrival, OnDeparture as Departure};
        let speed = rate.bytes_per_second();
        match self {
            Self::DropTail => Machine::DropTail,
            Self::MarkFrom(packets) => Arrival(OnArrival::MarkFrom(packets)),
            Self::Red(settings) => Arrival(OnArrival::Red(Red::new(settings, speed))),
            Self::Pie(settings) => Arrival(OnArrival::Pie(Pie::new(settings))),
            Self::Ba(settings) => Arrival(OnArrival::Ba(Ba::new(settings, speed))),
            Self::RoundRobin => Departure(OnDeparture::RoundRobin(RoundRobin::default())),
            Self::Gwa(settings) => Departure(OnDeparture::Gwa(Gwa::new(settings))),
            Self::Codel(settings) => Departure(OnDeparture::Codel(Codel::new(settings))),
            Self::Fq(settings) => Departure(OnDeparture::Fq(Fq::new(settings, perturbation))),
            Self::FqCodel(settings) => {
                Departure(OnDeparture::FqCodel(FqCodel::new(settings, perturbation)))
            }
            Self::CnqCodelAf(settings) => {
                let queue = CnqCodelAf::new(settings, perturbation, stream);
                Departure(OnDeparture::CnqCodelAf(queue))
            }
            Self::DualPi2(settings) => {
                Departure(OnDeparture::DualPi2(DualPi2::new(settings, stream)))
            }
            Self::Xcp(settings) => Departure(OnDeparture::Xcp(Xcp::new(settings, speed, stream))),
        }
    }
}

/// Disciplines that decide on arrival: they judge what a [`Fifo`] then takes.
#[derive(Clone, Debug)]
pub enum OnArrival {
    /// Marks from this many packets on.
    MarkFrom(u64),
    /// RED.
    Red(Red),
    /// PIE.
    Pie(Pie),
    /// BA.
    Ba(Ba),
}

impl OnArrival {
    /// Whether it counts with the rate of its line.
    pub fn knows_rate(&self) -> bool {
        matches!(self, Self::Red(_) | Self::Ba(_))
    }

    /// The line has `rate` from now on.
    pub fn follow(&mut self, rate: Rate) {
        match self {
            Self::Red(red) => red.follow(rate.bytes_per_second()),
            Self::Ba(ba) => ba.follow(rate.bytes_per_second()),
            Self::MarkFrom(_) | Self::Pie(_) => {}
        }
    }

    /// It has the settings of `discipline` from now on, which it [can
    /// become](Discipline::can_become).
    pub fn retune(&mut self, discipline: Discipline) {
        match (self, discipline) {
            (Self::Red(red), Discipline::Red(settings)) => red.retune(settings),
            (Self::Pie(pie), Discipline::Pie(settings)) => pie.retune(settings),
            (queue, other) => unreachable!("{queue:?} does not become {other:?}"),
        }
    }

    /// Does what it does as time goes by, up to `now`.
    pub fn catch_up(&mut self, now: Time, fifo: &mut Fifo) {
        if let Self::Pie(pie) = self {
            pie.catch_up(now, |at| fifo.delay(at));
        }
    }

    /// A packet arrives at `now` at `fifo`. If the verdict is a mark, the packet already carries
    /// it.
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
                red.catch_up(now, fifo.busy_until());
                let waiting = fifo.waiting(now);
                red.judge(waiting, now.since(fifo.busy_until()), packet.bytes(), ecn, stream)
            }
            Self::Pie(pie) => {
                pie.catch_up(now, |at| fifo.delay(at));
                pie.judge(fifo.backlog(now), ecn, stream)
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
    Gwa(Gwa<P>),
    /// CoDel.
    Codel(Codel<P>),
    /// fq.
    Fq(Fq<P>),
    /// FQ-CoDel.
    FqCodel(FqCodel<P>),
    /// CNQ-CoDel-AF.
    CnqCodelAf(CnqCodelAf<P>),
    /// DualPI2.
    DualPi2(DualPi2<P>),
    /// XCP.
    Xcp(Xcp<P>),
}

/// Calls one method of whichever queue it is.
macro_rules! dispatch {
    ($self:expr, $queue:ident => $call:expr) => {
        match $self {
            Self::RoundRobin($queue) => $call,
            Self::Gwa($queue) => $call,
            Self::Codel($queue) => $call,
            Self::Fq($queue) => $call,
            Self::FqCodel($queue) => $call,
            Self::CnqCodelAf($queue) => $call,
            Self::DualPi2($queue) => $call,
            Self::Xcp($queue) => $call,
        }
    };
}

impl<P: Packet> OnDeparture<P> {
    /// Whether it counts with the rate of its line.
    pub fn knows_rate(&self) -> bool {
        matches!(self, Self::Xcp(_))
    }

    /// The line has `rate` from now on.
    pub fn follow(&mut self, rate: Rate) {
        if let Self::Xcp(xcp) = self {
            xcp.follow(rate.bytes_per_second());
        }
    }

    /// It has the settings of `discipline` from now on, which it [can
    /// become](Discipline::can_become).
    pub fn retune(&mut self, discipline: Discipline) {
        match (self, discipline) {
            (Self::Codel(queue), Discipline::Codel(settings)) => queue.retune(settings),
            (Self::FqCodel(queue), Discipline::FqCodel(settings)) => queue.retune(settings),
            (Self::DualPi2(queue), Discipline::DualPi2(settings)) => queue.retune(settings),
            (_, other) => unreachable!("nothing here becomes {other:?}"),
        }
    }

    /// Room for a flow at `now` that an acknowledgement on its way back is told; `None` if the
    /// queue tells none.
    pub fn room_now(&mut self, now: Time, flow: u32) -> Option<AdvertisedRoom> {
        if let Self::Gwa(queue) = self { Some(queue.room_now(now, flow)) } else { None }
    }

    /// What waits, not counting the packet in transmission.
    pub fn backlog(&self) -> Backlog {
        dispatch!(self, queue => Departure::backlog(queue))
    }

    /// A packet arrives at `now`. If there is no `room` for it, it or another packet goes to
    /// `dropped`.
    pub fn enqueue(&mut self, now: Time, packet: P, room: Room, dropped: &mut Drops<P>) {
        dispatch!(self, queue => Departure::enqueue(queue, now, packet, room, dropped));
    }

    /// The next packet to leave at `now`; packets dropped before it go to `dropped`.
    pub fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
        dispatch!(self, queue => Departure::dequeue(queue, now, dropped))
    }
}
