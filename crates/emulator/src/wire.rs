//! One direction of the path: a thread that reads packets from one namespace, lets them through the
//! port, and writes them into the other after their delay.

use crate::clock::Span;
use crate::frame::Frame;
use crate::port::{Counts, Departed, Port};
use crate::sys;
use crate::window::{Rewriter, Rooms};
use narrows_router::Packet;
use narrows_signal::Ecn;
use narrows_sim::{Histogram, LinkSummary};
use narrows_units::{Bytes, Duration, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// A wake-up that comes so much later than asked is a stall of the machine.
pub(crate) const STALL: Duration = Duration::from_micros(400);
/// Packets are read in batches of this many, and then what is due is written.
const BATCH: usize = 32;
/// Somebody may stop the run: after this many nanoseconds that is noticed.
const LONGEST_WAIT: u64 = 50_000_000;
/// The priority of a direction's thread, where the machine allows one.
const PRIORITY: i32 = 10;
/// The longest packet.
const LONGEST: usize = 65_536;

/// How often a direction says how it is.
const TOLD_EVERY: Duration = Duration::from_millis(100);

/// How a direction is at present; written by its thread, read by others.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub queue: AtomicU64,
    pub arrivals: AtomicU64,
    pub drops: AtomicU64,
    pub marks: AtomicU64,
    pub bytes: AtomicU64,
    /// Quantiles of lateness in nanoseconds: 50 %, 99 %, 99.9 %.
    pub late: [AtomicU64; 3],
    pub stalls: AtomicU64,
}

/// What a direction does to packets.
pub(crate) struct Wire {
    /// Reads a packet; `None` if it does not belong here.
    pub parse: fn(&[u8]) -> Option<Frame>,
    pub port: Port<Frame>,
    /// Each flow's delay after the port.
    pub delays: Vec<Duration>,
    /// How often the queue is looked at; never if zero.
    pub sample: Duration,
    /// Whether each packet is written down.
    pub logs: bool,
}

/// What the two directions tell each other.
#[derive(Clone, Copy)]
pub(crate) enum Told<'a> {
    /// Nothing.
    Nothing,
    /// This one's queue tells its room …
    Room(&'a Rooms),
    /// … and the other lowers windows to it in packets of this size.
    Windows(&'a Rooms, Bytes),
}

/// A packet that came to a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossed {
    /// When it came.
    pub came: Time,
    /// When it reached the other end; never if it was lost on the way.
    pub arrived: Time,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Its ECN bits as it came.
    pub ecn: Ecn,
    /// Whether it was marked on the way.
    pub marked: bool,
    /// Whether all of its payload, which is TCP's, had come before.
    pub repeats: bool,
}

/// What a direction writes down of each packet.
#[derive(Default)]
struct Log {
    crossed: Vec<Crossed>,
    /// TCP's sequence number behind all that has come.
    newest: Option<u32>,
}

impl Log {
    /// A packet comes; returns its number.
    fn came(&mut self, at: Time, frame: &Frame) -> usize {
        let ends = frame.ends_at();
        // Sequence numbers go round.
        let is_older = |(end, newest): (u32, u32)| newest.wrapping_sub(end) < 1 << 31;
        let repeats = ends.zip(self.newest).is_some_and(is_older);
        if !repeats {
            self.newest = ends.or(self.newest);
        }
        let (bytes, ecn) = (frame.bytes(), frame.ecn());
        let never = Time::NEVER;
        self.crossed.push(Crossed { came: at, arrived: never, bytes, ecn, marked: false, repeats });
        self.crossed.len() - 1
    }

    /// It has passed, and will arrive at `at`; of one that comes twice the first counts.
    fn passed(&mut self, at: Time, frame: &Frame) {
        if let Some(crossed) = self.crossed.get_mut(frame.number) {
            crossed.marked |= crossed.ecn != Ecn::Marked && frame.ecn() == Ecn::Marked;
            crossed.arrived = crossed.arrived.min(at);
        }
    }
}

/// What a direction saw.
pub(crate) struct Seen {
    /// What happened in the measured time.
    pub link: LinkSummary,
    /// Packets that the queue dropped in it, by flow.
    pub drops: Vec<u64>,
    /// How late packets were delivered, in nanoseconds.
    pub late: Histogram,
    /// Wake-ups that came late, and the time lost by them.
    pub stalls: (u64, Duration),
    /// Packets that no flow knows.
    pub strange: u64,
    /// The port's counters at each sample.
    pub samples: Vec<Counts>,
    /// Each packet, as they came, if they were to be written down.
    pub crossed: Vec<Crossed>,
}

/// Packets on their way to the other end, by when they arrive.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Arriving {
    at: Time,
    number: u64,
    flow: usize,
    bytes: Vec<u8>,
}

impl Wire {
    /// Carries packets from `from` to `to` for a `span`, before other threads where the machine
    /// allows that, and says how it is by `live`, if somebody listens.
    pub fn carry(
        mut self,
        span: Span<'_>,
        (from, to): (&File, &File),
        told: Told<'_>,
        live: Option<&Live>,
    ) -> Result<Seen> {
        sys::hurry(PRIORITY);
        let clock = span.clock;
        let mut rewriter = match told {
            Told::Windows(rooms, packet) => Some(Rewriter::new(rooms, packet)),
            _ => None,
        };
        let mut seen = Progress { log: self.logs.then(Log::default), ..Progress::default() };
        let (mut buffer, mut arrived) = (vec![0; LONGEST], Vec::with_capacity(BATCH));
        let (mut out, mut under_way) = (Departed::new(), BinaryHeap::new());
        while !span.is_over() {
            let now = clock.now();
            self.look(now, &mut seen);
            if let Some(live) = live
                && now >= seen.told + TOLD_EVERY
            {
                self.tell(now, &mut seen, live);
            }
            self.port.advance(now, &mut out);
            self.send_off(&mut out, &mut under_way, &mut seen);
            if let Told::Room(rooms) = told {
                rooms.set(|flow| self.port.room_now(now, flow).unwrap_or(u64::MAX));
            }
            deliver(&mut under_way, to, now, &mut rewriter, &mut seen)?;
            let next =
                under_way.peek().map_or(Time::NEVER, |Reverse(it): &Reverse<Arriving>| it.at);
            let now = clock.now();
            let due = next.min(self.port.next()).min(span.end).max(now);
            let asked = (due.since(now).picos() / 1000).min(LONGEST_WAIT);
            sys::wait_readable(from, asked)?;
            let woken = clock.now();
            let is_late = asked < LONGEST_WAIT && woken > due + STALL;
            if is_late {
                seen.stalls.0 += 1;
                seen.stalls.1 += woken.since(due);
            }
            let most = if is_late { usize::MAX } else { BATCH };
            self.read((from, most), &mut buffer, &mut arrived, &mut seen)?;
            // Nobody saw when packets came while the machine stood still: not all at its end.
            let when = match arrived.len() as u64 {
                packets if is_late && packets > 0 => (due, woken.since(due).picos() / packets),
                _ => (clock.now(), 0),
            };
            self.arrive(&mut arrived, when, &mut seen, &mut out);
        }
        let Progress { late, stalls, strange, samples, log, .. } = seen;
        let (link, drops) = self.port.finish();
        let crossed = log.unwrap_or_default().crossed;
        Ok(Seen { link, drops, late, stalls, strange, samples, crossed })
    }

    /// Packets come to the port, each so many picoseconds after the one before.
    fn arrive(
        &mut self,
        arrived: &mut Vec<Frame>,
        (first, step): (Time, u64),
        seen: &mut Progress,
        out: &mut Departed<Frame>,
    ) {
        for (place, mut frame) in arrived.drain(..).enumerate() {
            let at = first + Duration::from_picos(step * place as u64);
            if let Some(log) = &mut seen.log {
                frame.number = log.came(at, &frame);
            }
            self.port.arrive(at, frame, out);
        }
    }

    /// Reads what has come, so many packets at most.
    fn read(
        &self,
        (mut from, most): (&File, usize),
        buffer: &mut [u8],
        arrived: &mut Vec<Frame>,
        seen: &mut Progress,
    ) -> Result<()> {
        for _ in 0..most {
            match from.read(buffer) {
                Ok(length) => match (self.parse)(&buffer[..length]) {
                    Some(frame) if (frame.flow() as usize) < self.delays.len() => {
                        arrived.push(frame);
                    }
                    _ => seen.strange += 1,
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes the samples that are due.
    fn look(&mut self, now: Time, seen: &mut Progress) {
        while self.sample > Duration::ZERO && seen.sampled + self.sample <= now {
            seen.sampled += self.sample;
            seen.samples.push(self.port.counts(seen.sampled));
        }
    }

    /// Says how it is.
    fn tell(&mut self, now: Time, seen: &mut Progress, live: &Live) {
        seen.told = now;
        let counts = self.port.counts(now);
        let late = [0.5, 0.99, 0.999].map(|share| seen.late.quantile(share));
        for (place, value) in [
            (&live.queue, counts.queue),
            (&live.arrivals, counts.arrivals),
            (&live.drops, counts.drops),
            (&live.marks, counts.marks),
            (&live.bytes, counts.bytes),
            (&live.late[0], late[0]),
            (&live.late[1], late[1]),
            (&live.late[2], late[2]),
            (&live.stalls, seen.stalls.0),
        ] {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Sends what has passed the port on its way.
    fn send_off(
        &mut self,
        out: &mut VecDeque<(Time, Frame)>,
        under_way: &mut BinaryHeap<Reverse<Arriving>>,
        seen: &mut Progress,
    ) {
        while let Some((passed, frame)) = out.pop_front() {
            let flow = frame.flow() as usize;
            let at = passed + self.delays[flow];
            seen.number += 1;
            if let Some(log) = &mut seen.log {
                log.passed(at, &frame);
            }
            let bytes = frame.bytes;
            under_way.push(Reverse(Arriving { at, number: seen.number, flow, bytes }));
        }
    }
}

/// What has been seen so far.
#[derive(Default)]
struct Progress {
    late: Histogram,
    stalls: (u64, Duration),
    strange: u64,
    samples: Vec<Counts>,
    sampled: Time,
    told: Time,
    number: u64,
    log: Option<Log>,
}

/// Writes what has arrived by `now`.
fn deliver(
    under_way: &mut BinaryHeap<Reverse<Arriving>>,
    mut to: &File,
    now: Time,
    rewriter: &mut Option<Rewriter<'_>>,
    seen: &mut Progress,
) -> Result<()> {
    while under_way.peek().is_some_and(|Reverse(next)| next.at <= now) {
        let Some(Reverse(mut packet)) = under_way.pop() else { break };
        if let Some(rewriter) = rewriter {
            rewriter.rewrite(&mut packet.bytes, packet.flow);
        }
        match to.write(&packet.bytes) {
            Ok(_) => seen.late.add(now.since(packet.at).picos() / 1000),
            // A host takes no packet while its device is down.
            Err(error)
                if error.kind() == ErrorKind::WouldBlock
                    || error.raw_os_error() == Some(libc::EIO) =>
            {
                seen.strange += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TCP with ten bytes of payload from `sequence` on, or with none.
    fn frame(sequence: u32, payload: usize) -> Frame {
        let mut bytes = vec![0; 40 + payload];
        (bytes[0], bytes[9], bytes[32]) = (0x45, 6, 0x50);
        bytes[20..24].copy_from_slice(&[0xc0, 0, 0x4e, 0x20]);
        bytes[24..28].copy_from_slice(&sequence.to_be_bytes());
        Frame::parse(&bytes).expect("it is TCP")
    }

    /// A packet repeats if all of it has come; sequence numbers go round at 2^32.
    #[test]
    fn what_has_come_before_repeats() {
        let mut log = Log::default();
        let sent = [(u32::MAX - 14, 10), (u32::MAX - 4, 10), (5, 10), (5, 0), (u32::MAX - 4, 10)];
        for (sequence, payload) in sent {
            log.came(Time::ZERO, &frame(sequence, payload));
        }
        let repeats: Vec<bool> = log.crossed.iter().map(|it| it.repeats).collect();
        assert_eq!(repeats, [false, false, false, false, true]);
    }

    #[test]
    fn of_one_that_comes_twice_the_first_counts() {
        let mut log = Log::default();
        let mut packet = frame(7, 10);
        packet.number = log.came(Time::ZERO, &packet);
        assert_eq!(log.crossed[0].arrived, Time::NEVER, "it may be lost");
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        log.passed(at(20), &packet);
        log.passed(at(30), &packet);
        assert_eq!(log.crossed[0].arrived, at(20));
    }
}
