//! The receiver.

use crate::Error;
use crate::error::Broken;
use crate::identity::Identity;
use crate::line::Line;
use crate::message::{Inbox, Offer, Reply, frame};
use crate::partial::{Begun, Partial};
use crate::ticket::Ticket;
use crate::tls::{PROOF, proves};
use crate::watch::{Event, Watch, Watched};
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Takes files from senders that have its ticket.
pub struct Receiver {
    line: Line,
    identity: Identity,
    directory: PathBuf,
}

/// A file that has arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
    /// Its BLAKE3 hash, in hexadecimal digits.
    pub blake3: String,
    /// Bytes that were there when its last sender came; all of them if it was there already.
    pub resumed_at: u64,
    /// Time from the last sender's offer until the file had its name.
    pub took: Duration,
    /// The sender's address.
    pub from: SocketAddr,
}

/// A sender has this long to prove that it knows the secret, so that strangers do not keep others
/// from the line.
const PROOF_WITHIN: Duration = Duration::from_secs(5);
/// A sender that has had the last word has this long to hang up.
const GOODBYE_WITHIN: Duration = Duration::from_secs(10);
/// How often a sender is told how much there is.
const TOLD_EVERY: Duration = Duration::from_millis(100);

impl Receiver {
    /// Listens at `address` (`host:port`; port 0 is any that is free) for files that go into
    /// `directory`.
    ///
    /// # Errors
    /// If there is no such directory or the address cannot be listened at.
    pub fn listen(directory: &Path, address: &str, identity: Identity) -> Result<Self, Error> {
        if !std::fs::metadata(directory).map_err(Error::at(directory))?.is_dir() {
            return Err(Error::at(directory)(std::io::Error::other("not a directory")));
        }
        let line = Line::listen(address, &identity)?;
        Ok(Self { line, identity, directory: directory.to_owned() })
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.line.address()
    }

    /// What a sender must know, who finds this machine under the name or address `host`.
    ///
    /// # Errors
    /// If `host` is not a name or address, or the system does not say at which port it listens.
    pub fn ticket(&self, host: &str) -> Result<Ticket, Error> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let host = match bare.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => host.to_owned(),
        };
        let is_one = |c: char| c.is_alphanumeric() || "[]:.-_".contains(c);
        if host.is_empty() || !host.chars().all(is_one) || (host.contains(':') && bare == host) {
            return Err(Error::Host(host));
        }
        Ok(Ticket {
            address: format!("{host}:{}", self.address()?.port()),
            fingerprint: self.identity.fingerprint(),
            secret: self.identity.secret,
        })
    }

    /// Waits until a file has arrived. Connections that end before that, strangers, and offers that
    /// are refused are told to `watch`, and it goes on waiting.
    ///
    /// # Errors
    /// If the socket fails, or if `watch` stops it.
    pub fn receive(&mut self, watch: &mut Watch<'_>) -> Result<Received, Error> {
        let mut watched = Watched::new(watch);
        loop {
            match self.attempt(&mut watched) {
                Ok(received) => return Ok(received),
                Err(Broken::Failed(Error::Refused(why)) | Broken::Lost(why)) => {
                    watched.tell(Event::Notice(&why))?;
                }
                Err(Broken::Changed) => {
                    watched.tell(Event::Notice("the file changed while it was sent"))?;
                }
                Err(Broken::Failed(error)) => {
                    self.line.close();
                    return Err(error);
                }
            }
        }
    }

    /// One connection.
    fn attempt(&mut self, watched: &mut Watched<'_, '_>) -> Result<Received, Broken> {
        self.line.turn_until(watched, |line| Ok(line.connection().is_some()))?;
        let from = self.line.remote();
        let name = from.map_or("a sender".to_owned(), |from| from.to_string());
        let outcome = self.conversation(watched, from);
        let refused = match &outcome {
            Err(Broken::Failed(Error::Refused(why))) => Some(why.clone()),
            _ => None,
        };
        let says = refused.map(|why| self.say(&Reply::Refused(why)));
        if says.is_some_and(|said| said.is_ok()) || outcome.is_ok() {
            let parted = self.part(watched);
            // A file that is there is there, even if somebody loses patience now.
            if outcome.is_err() {
                parted?;
            }
        }
        self.line.close();
        outcome.map_err(|broken| match broken {
            Broken::Lost(why) => Broken::Lost(format!("{name}: {why}")),
            Broken::Failed(Error::Refused(why)) => {
                Broken::Failed(Error::Refused(format!("{name}: refused: {why}")))
            }
            other => other,
        })
    }

    fn conversation(
        &mut self,
        watched: &mut Watched<'_, '_>,
        from: Option<SocketAddr>,
    ) -> Result<Received, Broken> {
        let offer = self.offer(watched)?;
        let begun = Instant::now();
        let directory = &self.directory;
        let found =
            self.line.meanwhile(watched, |in_vain| Partial::begin(directory, &offer, in_vain))?;
        let mut received = Received {
            path: PathBuf::new(),
            size: offer.size,
            blake3: offer.blake3.clone(),
            resumed_at: offer.size,
            took: Duration::ZERO,
            from: from.ok_or_else(|| Broken::Lost("gone".to_owned()))?,
        };
        match found.map_err(Error::Refused)? {
            Begun::There(path) => received.path = path,
            Begun::At(mut partial) => {
                received.resumed_at = partial.kept();
                let filled = self.fill(&mut partial, &offer, watched);
                if matches!(filled, Err(Broken::Changed)) {
                    partial.remove();
                }
                received.path = filled?;
            }
        }
        received.took = begun.elapsed();
        self.say(&Reply::Done)?;
        Ok(received)
    }

    /// What the sender has, after it has proven that it knows the secret.
    fn offer(&mut self, watched: &mut Watched<'_, '_>) -> Result<Offer, Broken> {
        let (begun, mut inbox) = (Instant::now(), Inbox::default());
        let in_time = || match begun.elapsed() > PROOF_WITHIN {
            true => Err(Broken::Lost("no proof of the ticket's secret, or no offer".to_owned())),
            false => Ok(()),
        };
        self.line.turn_until(watched, |line| {
            line.take(&mut inbox.0)?;
            in_time()?;
            Ok(inbox.0.len() >= PROOF)
        })?;
        let proof: Vec<u8> = inbox.0.drain(..PROOF).collect();
        let connection = self.line.connection();
        if !connection.is_some_and(|open| proves(open, &self.identity.secret, &proof)) {
            let why = "the ticket's secret is not this receiver's".to_owned();
            return Err(Error::Refused(why).into());
        }
        self.line.trust();
        let mut offer = None;
        self.line.turn_until(watched, |line| {
            line.take(&mut inbox.0)?;
            in_time()?;
            offer = inbox.next()?;
            Ok(offer.is_some())
        })?;
        offer.ok_or_else(|| Broken::Lost("no offer".to_owned()))
    }

    /// Takes what is missing, and gives the file its name.
    fn fill(
        &mut self,
        partial: &mut Partial,
        offer: &Offer,
        watched: &mut Watched<'_, '_>,
    ) -> Result<PathBuf, Broken> {
        self.say(&Reply::From(partial.kept()))?;
        let (mut bytes, mut told) = (Vec::new(), Instant::now());
        let mut has_ended = false;
        while partial.left() > 0 {
            if has_ended {
                return Err(Broken::Lost("the sender ended before the file did".to_owned()));
            }
            has_ended = self.line.take(&mut bytes)?;
            partial.keep(&bytes).map_err(Error::Refused)?;
            bytes.clear();
            self.line.turn()?;
            if told.elapsed() > TOLD_EVERY {
                told = Instant::now();
                let kept = partial.kept();
                self.say(&Reply::Kept(kept))?;
                watched.tell(Event::Progress { name: &offer.name, kept, size: offer.size })?;
            }
            watched.tell_now_and_then(Event::Idle)?;
        }
        if !partial.is_right() {
            let why = format!(
                "what has arrived of {} does not have its hash, and was removed: it changed while \
                 it was sent, or what was kept of it was not right",
                offer.name
            );
            return Err(Error::Refused(why).into());
        }
        let finished = self.line.meanwhile(watched, |_| partial.finish())?;
        Ok(finished.map_err(Error::Refused)?)
    }

    fn say(&mut self, reply: &Reply) -> Result<(), Broken> {
        // Replies are few and short: a stream always has room for them.
        self.line.put(&frame(reply)).map(|_| ())
    }

    /// Lets what was said last arrive: the sender hangs up when it has.
    fn part(&mut self, watched: &mut Watched<'_, '_>) -> Result<(), Error> {
        let begun = Instant::now();
        let is_over = |_: &mut Line| Ok(begun.elapsed() > GOODBYE_WITHIN);
        let parted = match self.line.connection() {
            Some(_) => self.line.turn_until(watched, is_over),
            None => Ok(()),
        };
        match parted {
            Err(Broken::Failed(error)) => Err(error),
            Err(Broken::Lost(_) | Broken::Changed) | Ok(()) => Ok(()),
        }
    }
}
