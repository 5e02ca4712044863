//! The sender.

use crate::error::Broken;
use crate::line::{Line, SEND_WINDOW};
use crate::message::{Inbox, Reply, frame};
use crate::source::Source;
use crate::ticket::Ticket;
use crate::tls::proof;
use crate::watch::{Event, Watch, Watched};
use crate::{Error, Law};
use std::path::Path;
use std::time::{Duration, Instant};

/// What is sent where, and how.
pub struct Sending<'a> {
    /// The file.
    pub file: &'a Path,
    /// The receiver.
    pub to: &'a Ticket,
    /// What decides how fast.
    pub law: Law,
    /// For how long a receiver that does not answer is tried again.
    pub patience: Duration,
}

/// A file that was sent, and how that went.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Name of the file.
    pub name: String,
    /// Bytes of the file.
    pub size: u64,
    /// Its BLAKE3 hash, in hexadecimal digits.
    pub blake3: String,
    /// Bytes that the receiver had before the first attempt.
    pub resumed_at: u64,
    /// Time from the first attempt to the receiver's last word.
    pub took: Duration,
    /// Connections that it took.
    pub connections: u32,
    /// QUIC packets that left.
    pub packets: u64,
    /// QUIC packets that were lost, but for those that looked for a larger MTU.
    pub lost: u64,
    /// The smoothed RTT at the end.
    pub rtt: Duration,
    /// The law's window in packets, at the end.
    pub window: f64,
}

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Sends a file.
///
/// # Errors
/// If the file cannot be read or changes, if the receiver shows another certificate, refuses, or
/// does not answer for as long as `sending` says, or if `watch` stops it.
pub fn send(sending: &Sending<'_>, watch: &mut Watch<'_>) -> Result<Sent, Error> {
    let mut watched = Watched::new(watch);
    let source = Source::open(sending.file, &mut watched)?;
    let mut sender = Sender::new(sending, source);
    let begun = Instant::now();
    loop {
        let why = match sender.attempt(&mut watched) {
            Ok(()) => break,
            Err(Broken::Failed(error)) => return Err(error),
            Err(Broken::Changed) => return Err(sender.source.changed()),
            Err(Broken::Lost(why)) => why,
        };
        let tried = sender.heard_at.elapsed();
        if tried >= sending.patience {
            return Err(Error::Silent { address: sending.to.address.clone(), tried, why });
        }
        watched.tell(Event::Notice(&format!("{}: {why}; trying again", sending.to.address)))?;
        let paused = Instant::now();
        while paused.elapsed() < PAUSE {
            std::thread::sleep(PAUSE / 5);
            watched.tell(Event::Idle)?;
        }
    }
    sender.sent.took = begun.elapsed();
    Ok(sender.sent)
}

struct Sender<'a> {
    sending: &'a Sending<'a>,
    source: Source,
    sent: Sent,
    /// Bytes that the receiver said it holds.
    kept: u64,
    /// Whether the receiver has said where to begin.
    has_begun: bool,
    /// When it said so, or when all began.
    heard_at: Instant,
}

/// What goes over one connection.
struct Turns {
    line: Line,
    inbox: Inbox,
    /// Bytes read and not yet given to the stream, from `given` on.
    piece: Vec<u8>,
    given: usize,
    /// The place in the file of the next byte that the stream is given.
    at: u64,
    /// Whether the receiver has said from where it wants the file.
    is_asked: bool,
}

impl<'a> Sender<'a> {
    fn new(sending: &'a Sending<'a>, source: Source) -> Self {
        let offer = source.offer.clone();
        let sent = Sent {
            name: offer.name,
            size: offer.size,
            blake3: offer.blake3,
            resumed_at: 0,
            took: Duration::ZERO,
            connections: 0,
            packets: 0,
            lost: 0,
            rtt: Duration::ZERO,
            window: 0.0,
        };
        Self { sending, source, sent, kept: 0, has_begun: false, heard_at: Instant::now() }
    }

    /// One connection, to the receiver's last word.
    fn attempt(&mut self, watched: &mut Watched<'_, '_>) -> Result<(), Broken> {
        let line = self.connected(watched)?;
        let (inbox, piece) = (Inbox::default(), Vec::new());
        let mut turns = Turns { line, inbox, piece, given: 0, at: 0, is_asked: false };
        let outcome = self.converse(&mut turns, watched);
        self.count(&mut turns.line);
        match &outcome {
            Err(Broken::Failed(Error::Changed(_))) => turns.line.close_as_changed(),
            _ => turns.line.close(),
        }
        outcome
    }

    /// A connection on which the receiver has been told what there is.
    fn connected(&mut self, watched: &mut Watched<'_, '_>) -> Result<Line, Broken> {
        let ticket = self.sending.to;
        let address = ticket.resolved(self.sent.connections as usize)?;
        let (mut line, found) = Line::connect(ticket, address, &self.sending.law)?;
        self.sent.connections += 1;
        let (begun, patience) = (self.heard_at, self.sending.patience);
        let opened = line.turn_until(watched, |line| {
            if begun.elapsed() > patience {
                return Err(Broken::Lost("no answer".to_owned()));
            }
            Ok(line.is_open())
        });
        if let Some(found) = found.take() {
            let (found, expected) = (found.to_string(), ticket.fingerprint.to_string());
            return Err(Error::Fingerprint { address, found, expected }.into());
        }
        opened?;
        let proof = line.connection().and_then(|open| proof(open, &ticket.secret));
        let proof = proof.ok_or_else(|| Error::Tls("no proof of the secret".to_owned()))?;
        line.put(proof.as_ref())?;
        line.put(&frame(&self.source.offer))?;
        Ok(line)
    }

    fn converse(&mut self, turns: &mut Turns, watched: &mut Watched<'_, '_>) -> Result<(), Broken> {
        loop {
            turns.line.take(&mut turns.inbox.0)?;
            while let Some(reply) = turns.inbox.next()? {
                if self.answered(reply, turns, watched)? {
                    return Ok(());
                }
            }
            if turns.is_asked {
                self.give(turns)?;
            }
            turns.line.turn()?;
            watched.tell_now_and_then(Event::Idle)?;
        }
    }

    /// True if `reply` is the last one.
    fn answered(
        &mut self,
        reply: Reply,
        turns: &mut Turns,
        watched: &mut Watched<'_, '_>,
    ) -> Result<bool, Broken> {
        match reply {
            Reply::From(byte) => {
                if !std::mem::replace(&mut self.has_begun, true) {
                    self.sent.resumed_at = byte;
                }
                self.source.seek(byte)?;
                turns.at = byte;
                turns.is_asked = true;
                self.holds(byte, watched)?;
            }
            Reply::Kept(bytes) => self.holds(bytes, watched)?,
            Reply::Done => {
                self.holds(self.sent.size, watched)?;
                return Ok(true);
            }
            Reply::Refused(_) if self.source.has_changed() => {
                return Err(self.source.changed().into());
            }
            Reply::Refused(why) => return Err(Error::Refused(why).into()),
        }
        Ok(false)
    }

    fn holds(&mut self, kept: u64, watched: &mut Watched<'_, '_>) -> Result<(), Error> {
        (self.kept, self.heard_at) = (kept, Instant::now());
        watched.tell(Event::Progress { name: &self.sent.name, kept, size: self.sent.size })
    }

    /// Gives the stream as much of the file as it takes.
    fn give(&mut self, turns: &mut Turns) -> Result<(), Broken> {
        loop {
            if turns.given == turns.piece.len() {
                self.source.read(&mut turns.piece)?;
                turns.given = 0;
                if turns.piece.is_empty() {
                    turns.line.finish();
                    turns.is_asked = false;
                    return Ok(());
                }
            }
            let room = (self.kept + SEND_WINDOW).saturating_sub(turns.at);
            let rest = &turns.piece[turns.given..];
            let rest = &rest[..rest.len().min(room as usize)];
            let taken = turns.line.put(rest)?;
            turns.given += taken;
            turns.at += taken as u64;
            if turns.given < turns.piece.len() {
                return Ok(());
            }
        }
    }

    fn count(&mut self, line: &mut Line) {
        if let Some(stats) = line.stats() {
            self.sent.packets += stats.sent_packets;
            self.sent.lost += stats.lost_packets - stats.lost_plpmtud_probes;
            self.sent.rtt = stats.rtt;
            self.sent.window = line.window();
        }
    }
}
