//! The sender.

use crate::error::Broken;
use crate::line::{Line, SEND_WINDOW};
use crate::message::{CHUNK, Inbox, Offer, Reply, bytes_follow, frame, strange};
use crate::partial::checked;
use crate::receive::of_tree;
use crate::source::Source;
use crate::ticket::Ticket;
use crate::tls::proof;
use crate::tree::Tree;
use crate::watch::{Event, Watch, Watched};
use crate::{Error, StackLaw};
use narrows_units::text;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What is sent where, and how.
pub struct Sending<'a> {
    /// The file, or a directory with all its files.
    pub file: &'a Path,
    /// The receiver.
    pub to: &'a Ticket,
    /// What decides how fast.
    pub law: StackLaw,
    /// For how long a receiver that does not answer is waited for and tried again.
    pub patience: Duration,
}

/// A file, or the files of a directory, that were sent, and how that went.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Name of the file or directory.
    pub name: String,
    /// Files that the receiver has.
    pub files: u64,
    /// Files that it would not take, and why.
    pub refused: Vec<(String, String)>,
    /// Bytes of the files.
    pub size: u64,
    /// BLAKE3, in hexadecimal digits: of a file; of several that of a line for each, as b3sum
    /// writes them.
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
/// Files that are offered before the first of them is whole.
pub(crate) const AHEAD: usize = 64;
/// Bytes that wait for the stream.
const WAITING: usize = 4 * CHUNK;
/// Files up to this many bytes are read for their hash without a thread of their own.
const SMALL: u64 = 1 << 20;

/// Sends a file, or all files of a directory.
///
/// # Errors
/// If a file cannot be read or changes, if the receiver shows another certificate, refuses, or does
/// not answer for as long as `sending` says, or if `watch` stops it.
pub fn send(sending: &Sending<'_>, watch: &mut Watch<'_>) -> Result<Sent, Error> {
    let mut watched = Watched::new(watch);
    let tree = Tree::of(sending.file)?;
    for path in &tree.left_out {
        let text = format!("{}: left out: neither a file nor a directory", path.display());
        watched.tell(Event::Notice(&text))?;
    }
    let mut sender = Sender::new(sending, tree)?;
    // Whatever cannot be read is said before anybody is called.
    let mut first = sender.open_next(&mut watched)?;
    let begun = Instant::now();
    sender.heard_at = begun;
    loop {
        let why = match sender.attempt(first.take(), &mut watched) {
            Ok(()) => break,
            Err(Broken::Failed(error)) => return Err(error),
            Err(Broken::Changed) => return Err(Error::Changed(sending.file.to_owned())),
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
    sender.finished(begun.elapsed())
}

/// What has become of a file.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Open,
    There,
    Refused(String),
}

struct Sender<'a> {
    sending: &'a Sending<'a>,
    tree: Tree,
    fates: Vec<Fate>,
    /// The offer of each file whose hash is known.
    offers: Vec<Option<Offer>>,
    /// Of which files the receiver has said what it has of them.
    answered: Vec<bool>,
    sent: Sent,
    /// When the receiver last said something, or when all began.
    heard_at: Instant,
}

/// A file that has been offered.
struct Offered {
    number: usize,
    source: Source,
}

/// What goes over one connection.
struct Turns {
    line: Line,
    inbox: Inbox,
    /// The next file to look at.
    next: usize,
    /// A file that has been opened and not yet offered.
    opened: Option<Offered>,
    /// Files that are offered and not yet answered, asked for and not yet sent, and sent.
    offered: VecDeque<Offered>,
    asked: VecDeque<Offered>,
    whole: VecDeque<Offered>,
    /// What waits for the stream, from `given` on.
    out: Vec<u8>,
    given: usize,
    /// Bytes of files that were put into `out`, that the receiver holds of these, and that it had
    /// before or that were finished.
    put: u64,
    kept: u64,
    had: u64,
    has_ended: bool,
}

impl<'a> Sender<'a> {
    fn new(sending: &'a Sending<'a>, tree: Tree) -> Result<Self, Error> {
        let top = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let Some((_, first)) = tree.files.first() else {
            let why = "has no files to send";
            return Err(Error::at(sending.file)(std::io::Error::other(why)));
        };
        let name = top(first);
        let mut size = 0;
        for (path, name) in &tree.files {
            checked(name).map_err(Error::Refused)?;
            size += std::fs::metadata(path).map_err(Error::at(path))?.len();
        }
        let sent = Sent {
            name,
            files: 0,
            refused: Vec::new(),
            size,
            blake3: String::new(),
            resumed_at: 0,
            took: Duration::ZERO,
            connections: 0,
            packets: 0,
            lost: 0,
            rtt: Duration::ZERO,
            window: 0.0,
        };
        let count = tree.files.len();
        let (fates, offers, answered) =
            (vec![Fate::Open; count], vec![None; count], vec![false; count]);
        Ok(Self { sending, tree, fates, offers, answered, sent, heard_at: Instant::now() })
    }

    /// The first file that is neither there nor refused, opened and read for its hash.
    fn open_next(&mut self, watched: &mut Watched<'_, '_>) -> Result<Option<Offered>, Error> {
        let Some(number) = self.fates.iter().position(|fate| *fate == Fate::Open) else {
            return Ok(None);
        };
        let (path, name) = &self.tree.files[number];
        let reading = |done, size| watched.tell_now_and_then(Event::Reading { done, size });
        let source = Source::open(path, name, reading)?;
        self.offers[number] = Some(source.offer.clone());
        Ok(Some(Offered { number, source }))
    }

    /// One connection, to the receiver's last word.
    fn attempt(
        &mut self,
        first: Option<Offered>,
        watched: &mut Watched<'_, '_>,
    ) -> Result<(), Broken> {
        let line = self.connected(watched)?;
        let is_there = |fate: &&(&Fate, &Option<Offer>)| *fate.0 != Fate::Open;
        let had = self.fates.iter().zip(&self.offers).collect::<Vec<_>>();
        let had = had.iter().filter(is_there).filter_map(|(_, offer)| offer.as_ref());
        let mut turns = Turns {
            line,
            inbox: Inbox::default(),
            next: first.as_ref().map_or(0, |offered| offered.number + 1),
            opened: first,
            offered: VecDeque::new(),
            asked: VecDeque::new(),
            whole: VecDeque::new(),
            out: Vec::new(),
            given: 0,
            put: 0,
            kept: 0,
            had: had.map(|offer| offer.size).sum(),
            has_ended: false,
        };
        let outcome = self.converse(&mut turns, watched);
        self.count(&mut turns.line);
        match &outcome {
            Ok(()) => turns.line.close(),
            Err(Broken::Failed(Error::Changed(_))) => turns.line.break_off_as_changed(),
            Err(_) => turns.line.break_off(),
        }
        outcome
    }

    /// A connection on which the receiver has a proof that we know its secret.
    fn connected(&mut self, watched: &mut Watched<'_, '_>) -> Result<Line, Broken> {
        let ticket = self.sending.to;
        let address = ticket.resolved(self.sent.connections as usize)?;
        let (mut line, found) = Line::connect(ticket, address, &self.sending.law)?;
        self.sent.connections += 1;
        let opened = line.turn_until(watched, |line| {
            self.is_patient()?;
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
        Ok(line)
    }

    fn is_patient(&self) -> Result<(), Broken> {
        if self.heard_at.elapsed() < self.sending.patience {
            Ok(())
        } else {
            Err(Broken::Lost("no answer".to_owned()))
        }
    }

    fn converse(&mut self, turns: &mut Turns, watched: &mut Watched<'_, '_>) -> Result<(), Broken> {
        loop {
            turns.line.take(turns.inbox.room())?;
            while let Some(reply) = turns.inbox.next()? {
                self.heard_at = Instant::now();
                if self.answered(reply, turns, watched)? {
                    return Ok(());
                }
            }
            self.is_patient()?;
            self.give(turns, watched)?;
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
        let mut offered = || turns.offered.pop_front().ok_or_else(strange);
        match reply {
            Reply::From(byte) => {
                let mut file = offered()?;
                if byte > file.source.offer.size {
                    return Err(strange().into());
                }
                file.source.seek(byte)?;
                self.has(file.number, byte, turns);
                let is_whole = file.source.left() == 0;
                if is_whole && turns.asked.is_empty() {
                    turns.whole.push_back(file);
                } else {
                    turns.asked.push_back(file);
                }
            }
            Reply::There => {
                let file = offered()?;
                self.fates[file.number] = Fate::There;
                self.has(file.number, file.source.offer.size, turns);
            }
            Reply::Not(why) => {
                let file = offered()?;
                self.fates[file.number] = Fate::Refused(text::plain(&why));
                turns.had += file.source.offer.size;
            }
            Reply::Kept(bytes) if bytes > turns.put => return Err(strange().into()),
            Reply::Kept(bytes) => turns.kept = bytes,
            Reply::Working => {}
            Reply::Done => {
                let file = turns.whole.pop_front().ok_or_else(strange)?;
                self.fates[file.number] = Fate::There;
            }
            Reply::All if self.fates.contains(&Fate::Open) => return Err(strange().into()),
            Reply::All => {
                self.tell(self.sent.size, turns, watched)?;
                return Ok(true);
            }
            Reply::Refused(why) => {
                let mut sources = turns.whole.iter().chain(&turns.asked);
                if let Some(file) = sources.find(|file| file.source.has_changed()) {
                    return Err(file.source.changed().into());
                }
                return Err(Error::Refused(text::plain(&why)).into());
            }
        }
        self.tell(turns.had + turns.kept, turns, watched)?;
        Ok(false)
    }

    /// The receiver has these bytes of a file from before, or, if it has answered for that file
    /// over an earlier connection, from then.
    fn has(&mut self, number: usize, bytes: u64, turns: &mut Turns) {
        turns.had += bytes;
        if !std::mem::replace(&mut self.answered[number], true) {
            self.sent.resumed_at += bytes;
        }
    }

    fn tell(&self, kept: u64, turns: &Turns, watched: &mut Watched<'_, '_>) -> Result<(), Error> {
        let current = turns.whole.front().or(turns.asked.front());
        let name = current.map_or(self.sent.name.as_str(), |file| file.source.offer.name.as_str());
        watched.tell(Event::Progress { name, kept: kept.min(self.sent.size), size: self.sent.size })
    }

    /// Gives the stream offers and bytes, as much as it takes.
    fn give(&mut self, turns: &mut Turns, watched: &mut Watched<'_, '_>) -> Result<(), Broken> {
        loop {
            while turns.out.len() < WAITING && self.add(turns, watched)? {}
            if turns.out.is_empty() {
                if turns.is_over(&self.fates) && !std::mem::replace(&mut turns.has_ended, true) {
                    turns.line.finish();
                }
                return Ok(());
            }
            turns.given += turns.line.put(&turns.out[turns.given..])?;
            if turns.given < turns.out.len() {
                return Ok(());
            }
            turns.out.clear();
            turns.given = 0;
        }
    }

    /// Adds an offer or bytes of a file to what waits for the stream; false if there is nothing to
    /// add now.
    fn add(&mut self, turns: &mut Turns, watched: &mut Watched<'_, '_>) -> Result<bool, Broken> {
        let pending = turns.offered.len() + turns.asked.len() + turns.whole.len();
        // Bytes go first unless the receiver is about to run out of offers.
        let wants_offer = pending < AHEAD && (turns.asked.is_empty() || turns.offered.len() < 8);
        if wants_offer && self.offer(turns, watched)? {
            return Ok(true);
        }
        let Some(file) = turns.asked.front_mut() else { return Ok(false) };
        let room = (turns.kept.saturating_add(SEND_WINDOW)).saturating_sub(turns.put);
        if room == 0 {
            return Ok(false);
        }
        let most = CHUNK.min(room as usize);
        let start = turns.out.len();
        turns.out.extend([0; 4]);
        let count = file.source.read(&mut turns.out, most)?;
        turns.out[start..start + 4].copy_from_slice(&bytes_follow(count));
        turns.put += count as u64;
        while turns.asked.front().is_some_and(|file| file.source.left() == 0) {
            turns.whole.extend(turns.asked.pop_front());
        }
        Ok(true)
    }

    /// Offers the next file; false if there is none.
    fn offer(&mut self, turns: &mut Turns, watched: &mut Watched<'_, '_>) -> Result<bool, Broken> {
        while turns.opened.is_none() {
            let number = turns.next;
            let Some((path, name)) = self.tree.files.get(number) else { return Ok(false) };
            turns.next += 1;
            if self.fates[number] != Fate::Open {
                continue;
            }
            let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            let open = |_: &_| Source::open(path, name, |_, _| Ok(()));
            let source = if size <= SMALL {
                open(&AtomicBool::new(false))?
            } else {
                turns.line.meanwhile(watched, &[], open)??
            };
            self.offers[number] = Some(source.offer.clone());
            turns.opened = Some(Offered { number, source });
        }
        let Some(file) = turns.opened.take() else { return Ok(false) };
        turns.out.extend(frame(&file.source.offer));
        turns.offered.push_back(file);
        Ok(true)
    }

    /// What to say of it all.
    fn finished(mut self, took: Duration) -> Result<Sent, Error> {
        let mut hasher = blake3::Hasher::new();
        self.sent.took = took;
        self.sent.size = 0;
        for (fate, offer) in self.fates.into_iter().zip(self.offers) {
            let Some(offer) = offer else { continue };
            match fate {
                Fate::Refused(why) if !self.tree.is_directory => return Err(Error::Refused(why)),
                Fate::Refused(why) => self.sent.refused.push((offer.name, why)),
                Fate::There | Fate::Open => {
                    self.sent.files += 1;
                    self.sent.size += offer.size;
                    self.sent.blake3 = of_tree(&mut hasher, &offer, self.sent.files);
                }
            }
        }
        Ok(self.sent)
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

impl Turns {
    /// Whether everything has been offered and answered, and all that was asked for is given.
    fn is_over(&self, fates: &[Fate]) -> bool {
        let has_more = fates.iter().skip(self.next).any(|fate| *fate == Fate::Open);
        let waits = !self.offered.is_empty() || !self.asked.is_empty();
        self.opened.is_none() && !has_more && !waits
    }
}
