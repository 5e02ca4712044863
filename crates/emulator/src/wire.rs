//! One direction of the path: a thread that reads packets from one namespace, lets them through the
//! port, and writes them into the other after their delay.

use crate::clock::Span;
use crate::frame::Frame;
use crate::port::{Counts, Departed, Port};
use crate::sys;
use narrows_router::Packet;
use narrows_sim::{Histogram, Loss};
use narrows_units::{Duration, Rate, Stream, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Write};

/// A wake-up that comes so much later than asked is a stall of the machine.
const STALL: Duration = Duration::from_micros(400);
/// Packets are read in batches of this many, and then what is due is written.
const BATCH: usize = 32;
/// Somebody may stop the run: after this many nanoseconds that is noticed.
const LONGEST_WAIT: u64 = 50_000_000;
/// The longest packet.
const LONGEST: usize = 65_536;

/// What a direction does to packets.
pub(crate) struct Wire {
    pub port: Port<Frame>,
    pub rate: Rate,
    /// Each flow's delay after the port.
    pub delays: Vec<Duration>,
    pub loss: Loss,
    /// The longest random addition to the delay, which reorders nothing.
    pub jitter: Duration,
    pub stream: Stream,
    /// How often the queue is looked at; never if zero.
    pub sample: Duration,
    /// The measured time.
    pub measured: (Time, Time),
}

/// What a direction saw.
pub(crate) struct Seen {
    pub port: Port<Frame>,
    /// How late packets were delivered, in nanoseconds.
    pub late: Histogram,
    /// Wake-ups that came late, and the time lost by them.
    pub stalls: (u64, Duration),
    /// Packets that the wire lost in the measured time.
    pub lost: u64,
    /// Packets that no flow knows.
    pub strange: u64,
    /// The port's counters at each sample.
    pub samples: Vec<Counts>,
    pub rate: Rate,
}

/// Packets on their way to the other end, by when they arrive.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Arriving {
    at: Time,
    number: u64,
    bytes: Vec<u8>,
}

impl Wire {
    /// Carries packets from `from` to `to` for a `span`.
    pub fn carry(mut self, span: Span<'_>, from: &File, to: &File) -> Result<Seen> {
        let clock = span.clock;
        let mut seen = Progress::default();
        let mut buffer = vec![0; LONGEST];
        let (mut out, mut under_way) = (Departed::new(), BinaryHeap::new());
        let mut latest = vec![Time::ZERO; self.delays.len()];
        while !span.is_over() {
            let now = clock.now();
            self.look(now, &mut seen);
            self.port.advance(now, &mut out);
            self.send_off(&mut out, &mut under_way, &mut latest, &mut seen);
            deliver(&mut under_way, to, now, &mut seen)?;
            let next =
                under_way.peek().map_or(Time::NEVER, |Reverse(it): &Reverse<Arriving>| it.at);
            let due = next.min(self.port.next()).min(span.end);
            let asked = (due.since(clock.now()).picos() / 1000).min(LONGEST_WAIT);
            let readable = sys::wait_readable(from, asked)?;
            let woken = clock.now();
            if !readable && asked < LONGEST_WAIT && woken > due + STALL {
                seen.stalls.0 += 1;
                seen.stalls.1 += woken.since(due);
            }
            for _ in 0..BATCH {
                match (&*from).read(&mut buffer) {
                    Ok(length) => match Frame::parse(&buffer[..length]) {
                        Some(frame) if (frame.flow() as usize) < self.delays.len() => {
                            self.port.arrive(clock.now(), frame, &mut out);
                        }
                        _ => seen.strange += 1,
                    },
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        let Progress { late, stalls, lost, strange, samples, .. } = seen;
        Ok(Seen { port: self.port, late, stalls, lost, strange, samples, rate: self.rate })
    }

    /// Takes the samples that are due.
    fn look(&mut self, now: Time, seen: &mut Progress) {
        while self.sample > Duration::ZERO && seen.sampled + self.sample <= now {
            seen.sampled += self.sample;
            seen.samples.push(self.port.counts(seen.sampled));
        }
    }

    /// Sends what has left the port on its way.
    fn send_off(
        &mut self,
        out: &mut VecDeque<(Time, Frame)>,
        under_way: &mut BinaryHeap<Reverse<Arriving>>,
        latest: &mut [Time],
        seen: &mut Progress,
    ) {
        while let Some((departure, frame)) = out.pop_front() {
            if let Loss::Bernoulli(p) = self.loss
                && self.stream.happens(p)
            {
                let (from, to) = self.measured;
                seen.lost += u64::from(from <= departure && departure <= to);
                continue;
            }
            let flow = frame.flow() as usize;
            let added = self.jitter.scale(self.stream.uniform());
            let at = (departure + self.delays[flow] + added).max(latest[flow]);
            latest[flow] = at;
            seen.number += 1;
            under_way.push(Reverse(Arriving { at, number: seen.number, bytes: frame.bytes }));
        }
    }
}

/// What has been seen so far.
#[derive(Default)]
struct Progress {
    late: Histogram,
    stalls: (u64, Duration),
    lost: u64,
    strange: u64,
    samples: Vec<Counts>,
    sampled: Time,
    number: u64,
}

/// Writes what has arrived by `now`.
fn deliver(
    under_way: &mut BinaryHeap<Reverse<Arriving>>,
    mut to: &File,
    now: Time,
    seen: &mut Progress,
) -> Result<()> {
    while under_way.peek().is_some_and(|Reverse(next)| next.at <= now) {
        let Some(Reverse(packet)) = under_way.pop() else { break };
        match to.write(&packet.bytes) {
            Ok(_) => seen.late.add(now.since(packet.at).picos() / 1000),
            // A host takes no packet while its device is down.
            Err(error) if error.kind() == ErrorKind::WouldBlock => seen.strange += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
