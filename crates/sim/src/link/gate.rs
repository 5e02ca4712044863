//! What judges a packet that arrives at a drop-tail queue, if anything does.

use super::entrance::Entrance;
use super::{Books, Cargo};
use narrows_router::service::KnownRate;
use narrows_router::{Fifo, OnArrival, Verdict};
use narrows_units::{Duration, Stream, Time};

/// The entrance of a link that varies, and a discipline that decides on arrival.
pub(super) struct Gate {
    entrance: Option<Entrance>,
    discipline: Option<OnArrival>,
    /// The random stream of the discipline.
    chances: Stream,
    /// The rate of a link that varies, as the discipline knows it.
    known: KnownRate,
}

impl Gate {
    /// `None` if every packet passes; `chances` is the random stream of the discipline.
    pub fn new(
        entrance: Option<Entrance>,
        discipline: Option<OnArrival>,
        chances: Stream,
    ) -> Option<Box<Self>> {
        let judges = entrance.is_some() || discipline.is_some();
        judges
            .then(|| Box::new(Self { entrance, discipline, chances, known: KnownRate::default() }))
    }

    /// What a packet meets first; `None` unless the link varies.
    pub fn entrance(&self) -> Option<&Entrance> {
        self.entrance.as_ref()
    }

    /// The same, to be changed.
    pub fn entrance_mut(&mut self) -> Option<&mut Entrance> {
        self.entrance.as_mut()
    }

    /// What a discipline does as time goes by, it has done by `now`. To be called before the queue
    /// is asked what it holds: that forgets what it held before.
    pub fn catch_up(&mut self, now: Time, fifo: &mut Fifo) {
        if let Some(discipline) = &mut self.discipline {
            discipline.catch_up(now, fifo);
        }
    }

    /// Judges a packet that arrives at `now`, which may be marked; returns false if it is dropped.
    pub fn judge(
        &mut self,
        now: Time,
        packet: &mut impl Cargo,
        fifo: &mut Fifo,
        books: &mut Books,
        counts: bool,
    ) -> bool {
        let (mut late, mut marked) = (Duration::ZERO, false);
        if let Some(entrance) = &mut self.entrance {
            fifo.set_limit(entrance.limit(now));
            if let (Some(discipline), Some(next)) = (&mut self.discipline, entrance.retuned(now)) {
                // What it does as time goes by, it has done as before.
                discipline.catch_up(now, fifo);
                discipline.retune(next);
            }
            match entrance.pass(now, packet) {
                Err(why) => {
                    self.catch_up(now, fifo);
                    books.see(now, fifo.backlog(now), counts);
                    books.refuse(now, counts, why);
                    return false;
                }
                Ok(passed) => (late, marked) = (passed.late, passed.marked),
            }
            if let Some(packets) = entrance.marks_from(now) {
                self.discipline = Some(OnArrival::MarkFrom(packets));
            }
        }
        let is_admitted = self.ask(now, packet, fifo, books, counts);
        if marked && is_admitted {
            fifo.backlog(now);
            if fifo.admits(packet.bytes()) {
                books.mark(now, counts);
            }
        }
        if let Some(wire) = books.wire.as_mut().filter(|_| is_admitted) {
            wire.late = late;
        }
        is_admitted
    }

    /// Asks the discipline.
    fn ask(
        &mut self,
        now: Time,
        packet: &mut impl Cargo,
        fifo: &mut Fifo,
        books: &mut Books,
        counts: bool,
    ) -> bool {
        let Some(discipline) = &mut self.discipline else {
            return books.fits(packet.bytes()) || refuse(now, fifo, books, counts);
        };
        if discipline.knows_rate()
            && let Some(rate) = self.known.news(fifo.server(), now)
        {
            discipline.follow(rate);
        }
        let verdict = discipline.judge(now, fifo, packet, &mut self.chances);
        let bytes = packet.bytes();
        if verdict == Verdict::Drop || !books.fits(bytes) {
            return refuse(now, fifo, books, counts);
        }
        if verdict == Verdict::Mark && fifo.admits(bytes) {
            books.mark(now, counts);
        }
        true
    }
}

/// Drops a packet that arrives at `now`; returns false.
pub(super) fn refuse(now: Time, fifo: &mut Fifo, books: &mut Books, counts: bool) -> bool {
    books.see(now, fifo.backlog(now), counts);
    books.drop(now, counts);
    false
}
