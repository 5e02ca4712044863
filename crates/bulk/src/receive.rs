//! The receiver.

use crate::Error;
use crate::error::Broken;
use crate::identity::Identity;
use crate::line::Line;
use crate::message::{Inbox, Offer, Reply, Said, frame, strange};
use crate::partial::{Begun, Partial};
use crate::send::AHEAD;
use crate::ticket::Ticket;
use crate::watch::{Event, Watch, Watched};
use narrows_units::text;
use std::collections::VecDeque;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Takes files from senders that have its ticket.
pub struct Receiver {
    line: Line,
    identity: Identity,
    directory: PathBuf,
}

/// A file, or a directory of files, that has arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Where it is.
    pub path: PathBuf,
    /// Files that are there.
    pub files: u64,
    /// Their bytes.
    pub size: u64,
    /// BLAKE3, in hexadecimal digits: of a file; of several that of a line for each, as b3sum
    /// writes them.
    pub blake3: String,
    /// Bytes that were there when the last sender came.
    pub resumed_at: u64,
    /// Time from the last sender's offer until the file had its name.
    pub took: Duration,
    /// The sender's address.
    pub from: SocketAddr,
}

/// A sender that has proven who it is has this long to say what it has.
const OFFER_WITHIN: Duration = Duration::from_secs(5);
/// A sender that has had the last word has this long to hang up.
const GOODBYE_WITHIN: Duration = Duration::from_secs(10);
/// How often a sender is told how much there is.
const TOLD_EVERY: Duration = Duration::from_millis(100);
/// Files up to this many bytes are looked at without a thread of their own.
const SMALL: u64 = 1 << 20;

/// What a connection brings.
struct Taking {
    inbox: Inbox,
    /// Bytes of a file that follow in the stream.
    chunk_left: usize,
    /// Files that were asked for; the bytes that come are the first's.
    open: VecDeque<Box<Partial>>,
    /// Files that are whole and have no name yet.
    ready: Vec<Partial>,
    /// Bytes of files that have come over this connection.
    arrived: u64,
    refused: u64,
    received: Received,
    /// Of a directory, the hash of its files' hashes and names.
    hasher: blake3::Hasher,
}

impl Taking {
    fn new(heard: Vec<u8>, directory: &Path, from: SocketAddr) -> Self {
        let received = Received {
            path: directory.to_owned(),
            files: 0,
            size: 0,
            blake3: String::new(),
            resumed_at: 0,
            took: Duration::ZERO,
            from,
        };
        Self {
            inbox: Inbox::new(heard),
            chunk_left: 0,
            open: VecDeque::new(),
            ready: Vec::new(),
            arrived: 0,
            refused: 0,
            received,
            hasher: blake3::Hasher::new(),
        }
    }

    /// A file is taken, of which `kept` bytes are there.
    fn has(&mut self, offer: &Offer, kept: u64) {
        let received = &mut self.received;
        let first = offer.name.split('/').next().unwrap_or_default();
        if received.files == 0 {
            received.path.push(first);
        }
        received.files += 1;
        received.size += offer.size;
        received.resumed_at += kept;
        received.blake3 = of_tree(&mut self.hasher, offer, received.files);
    }

    /// Moves files of which nothing is missing to those that get their names.
    fn set_ready(&mut self) -> Result<(), Broken> {
        while self.chunk_left == 0 && self.open.front().is_some_and(|partial| partial.left() == 0) {
            let partial = self.open.pop_front().expect("it was there");
            if !partial.is_right() {
                let why = format!(
                    "what has arrived of {} does not have its hash, and was removed: it changed \
                     while it was sent, or what was kept of it was not right",
                    partial.offer().name
                );
                return Err(Error::Refused(why).into());
            }
            self.ready.push(*partial);
        }
        Ok(())
    }
}

/// The hash that people compare once file number `count` has been added: a file's own, and of
/// several that of a line with hash and name for each.
pub(crate) fn of_tree(hasher: &mut blake3::Hasher, offer: &Offer, count: u64) -> String {
    hasher.update(format!("{}  {}\n", offer.blake3, offer.name).as_bytes());
    if count == 1 { offer.blake3.clone() } else { hasher.finalize().to_hex().to_string() }
}

impl Receiver {
    /// Listens at `address` (`host:port`; port 0 is any that is free) for files that go into
    /// `directory`, which is made if need be.
    ///
    /// # Errors
    /// If there can be no such directory or the address cannot be listened at.
    pub fn listen(directory: &Path, address: &str, identity: Identity) -> Result<Self, Error> {
        std::fs::create_dir_all(directory).map_err(Error::at(directory))?;
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
        let heard = self.line.proven(&self.identity.secret, watched)?;
        let from = self.line.remote();
        let name = from.map_or("a sender".to_owned(), |from| from.to_string());
        let from = from.ok_or_else(|| Broken::Lost("gone".to_owned()))?;
        let mut taking = Taking::new(heard, &self.directory, from);
        let outcome = self.conversation(&mut taking, watched);
        if let (Err(Broken::Changed), Some(partial)) = (&outcome, taking.open.front()) {
            partial.remove();
        }
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
        let outcome = outcome.and_then(|received| match received.files {
            0 => Err(Broken::Lost("none of its files was taken".to_owned())),
            _ => Ok(received),
        });
        outcome.map_err(|broken| match broken {
            Broken::Lost(why) => Broken::Lost(format!("{name}: {why}")),
            Broken::Failed(Error::Refused(why)) => {
                Broken::Failed(Error::Refused(format!("{name}: refused: {why}")))
            }
            other => other,
        })
    }

    /// Takes files until the sender has no more.
    fn conversation(
        &mut self,
        taking: &mut Taking,
        watched: &mut Watched<'_, '_>,
    ) -> Result<Received, Broken> {
        let (begun, mut told) = (Instant::now(), Instant::now());
        let mut heard_at = Instant::now();
        loop {
            let has_ended = self.line.take(taking.inbox.room())?;
            while self.heed(taking, watched)? {
                heard_at = Instant::now();
            }
            self.finish(taking, watched)?;
            if has_ended {
                if !taking.open.is_empty() || !taking.inbox.rest().is_empty() {
                    return Err(Broken::Lost("the sender ended before its files did".to_owned()));
                }
                taking.received.took = begun.elapsed();
                self.say(&Reply::All)?;
                return Ok(taking.received.clone());
            }
            if taking.received.files + taking.refused == 0
                && taking.open.is_empty()
                && heard_at.elapsed() > OFFER_WITHIN
            {
                return Err(Broken::Lost("no offer".to_owned()));
            }
            self.line.turn()?;
            if told.elapsed() > TOLD_EVERY {
                told = Instant::now();
                self.say(&Reply::Kept(taking.arrived))?;
                if let Some(partial) = taking.open.front() {
                    let Offer { name, size, .. } = partial.offer();
                    let kept = partial.kept();
                    watched.tell(Event::Progress { name, kept, size: *size })?;
                }
            }
            watched.tell_now_and_then(Event::Idle)?;
        }
    }

    /// Heeds the next thing that the sender has said; false if it is not whole.
    fn heed(&mut self, taking: &mut Taking, watched: &mut Watched<'_, '_>) -> Result<bool, Broken> {
        if taking.chunk_left > 0 {
            let count = taking.chunk_left.min(taking.inbox.rest().len());
            let partial = taking.open.front_mut().ok_or_else(strange)?;
            if count as u64 > partial.left() {
                return Err(strange().into());
            }
            partial.keep(&taking.inbox.rest()[..count]).map_err(Error::Refused)?;
            taking.inbox.skip(count);
            taking.chunk_left -= count;
            taking.arrived += count as u64;
            taking.set_ready()?;
            return Ok(count > 0);
        }
        match taking.inbox.said()? {
            None => Ok(false),
            Some(Said::Bytes(count)) => {
                taking.chunk_left = count;
                Ok(true)
            }
            Some(Said::Offer(offer)) => {
                if taking.open.len() + taking.ready.len() >= 2 * AHEAD {
                    return Err(strange().into());
                }
                self.begin(taking, &offer, watched)?;
                Ok(true)
            }
        }
    }

    /// Answers an offer.
    fn begin(
        &mut self,
        taking: &mut Taking,
        offer: &Offer,
        watched: &mut Watched<'_, '_>,
    ) -> Result<(), Broken> {
        let directory = &self.directory;
        let begin = |in_vain: &_| Partial::begin(directory, offer, in_vain);
        let found = if offer.size <= SMALL {
            begin(&AtomicBool::new(false))
        } else {
            self.line.meanwhile(watched, &frame(&Reply::Working), begin)?
        };
        let reply = match found {
            Ok(Begun::There) => {
                taking.has(offer, offer.size);
                Reply::There
            }
            Ok(Begun::At(partial)) => {
                let kept = partial.kept();
                taking.has(offer, kept);
                taking.open.push_back(partial);
                Reply::From(kept)
            }
            Err(why) => {
                taking.refused += 1;
                let why = text::plain(&why);
                watched.tell(Event::Notice(&format!("refused: {why}")))?;
                Reply::Not(why)
            }
        };
        self.say(&reply)?;
        taking.set_ready()
    }

    /// Gives what is whole its name, several files at a time, and says so.
    fn finish(&mut self, taking: &mut Taking, watched: &mut Watched<'_, '_>) -> Result<(), Broken> {
        let ready = std::mem::take(&mut taking.ready);
        if ready.is_empty() {
            return Ok(());
        }
        let beat = frame(&Reply::Working);
        let finished = self.line.meanwhile(watched, &beat, |_| Partial::finish_all(&ready))?;
        for finished in finished {
            finished.map_err(Error::Refused)?;
            self.say(&Reply::Done)?;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls;
    use narrows_adapters::StackLaw;
    use std::ops::ControlFlow;
    use std::sync::atomic::Ordering;
    use std::thread::JoinHandle;

    fn receiving(to: &Path, identity: &Identity, address: &str) -> (Ticket, JoinHandle<Received>) {
        let mut receiver =
            Receiver::listen(to, address, identity.clone()).expect("an address to listen at");
        let ticket = receiver.ticket("127.0.0.1").expect("a ticket");
        let mut receive = move || receiver.receive(&mut |_| ControlFlow::Continue(()));
        (ticket, std::thread::spawn(move || receive().expect("a file")))
    }

    fn sending(file: &Path, to: &Ticket) -> crate::Sent {
        let law = StackLaw::parse("cubic").expect("a law");
        let patience = Duration::from_secs(60);
        let sending = crate::Sending { file, to, law, patience };
        crate::send(&sending, &mut |_| ControlFlow::Continue(())).expect("sent")
    }

    /// Strangers that say nothing, or the wrong thing, keep nobody from the line: the sender gets
    /// it with its first connection.
    #[test]
    fn strangers_do_not_keep_a_sender_from_the_line() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("data");
        std::fs::write(&file, b"abc").expect("written");
        let identity = Identity::fresh().expect("an identity");
        let (ticket, receiver) = receiving(&place.path().join("in"), &identity, "127.0.0.1:0");
        let law = StackLaw::parse("cubic").expect("a law");
        let address = ticket.resolved(0).expect("an address");
        let mut strangers: Vec<Line> =
            (0..300).map(|_| Line::connect(&ticket, address, &law).expect("a socket").0).collect();
        let over = AtomicBool::new(false);
        let sent = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for (number, line) in strangers.iter_mut().enumerate() {
                        // Each tenth is open and says nonsense; a closed one has had its answer.
                        if number % 10 == 0 && line.is_open() {
                            let _ = line.put(&[7; tls::PROOF]);
                        }
                        let _ = line.turn_within(Duration::ZERO);
                    }
                }
            });
            std::thread::sleep(Duration::from_millis(500));
            let sent = sending(&file, &ticket);
            over.store(true, Ordering::Relaxed);
            sent
        });
        assert_eq!(sent.connections, 1);
        assert_eq!(receiver.join().expect("no panic").size, 3);
    }

    /// RFC 9000, §10.3: who is started again resets connections of before.
    #[test]
    fn a_receiver_that_is_started_again_says_so_at_once() {
        let place = tempfile::tempdir().expect("a directory");
        let identity = Identity::fresh().expect("an identity");
        let law = StackLaw::parse("cubic").expect("a law");
        let mut first = Line::listen("127.0.0.1:0", &identity).expect("listening");
        let ticket = Ticket {
            address: first.address().expect("one").to_string(),
            fingerprint: identity.fingerprint(),
            secret: identity.secret,
        };
        let (mut sender, _) =
            Line::connect(&ticket, first.address().expect("one"), &law).expect("a socket");
        while !sender.is_open() {
            for line in [&mut first, &mut sender] {
                line.turn_within(Duration::from_millis(1)).expect("a turn");
            }
        }
        let address = first.address().expect("one").to_string();
        drop(first);
        let mut second = Line::listen(&address, &identity).expect("listening");
        let begun = Instant::now();
        let why = loop {
            sender.put(b"anything").expect("a stream");
            second.turn_within(Duration::from_millis(1)).expect("a turn");
            match sender.turn_within(Duration::from_millis(1)) {
                Err(Broken::Lost(why)) => break why,
                Err(other) => panic!("{other:?}"),
                Ok(()) => assert!(begun.elapsed() < Duration::from_secs(9), "nothing was said"),
            }
        };
        assert_eq!(why, "the other side was started again");
        drop(place);
    }

    /// A directory's files arrive below the receiver's, and what is there is not sent again.
    #[test]
    fn a_directory_arrives_and_goes_on_file_by_file() {
        let place = tempfile::tempdir().expect("a directory");
        let (from, to) = (place.path().join("many"), place.path().join("in"));
        for number in 0..300_usize {
            let name = from.join(format!("{}/{number}", number % 7));
            std::fs::create_dir_all(name.parent().expect("one")).expect("made");
            std::fs::write(name, vec![number as u8; number * 37]).expect("written");
        }
        std::fs::write(from.join("large"), vec![3; 3 << 20]).expect("written");
        let identity = Identity::fresh().expect("an identity");
        let (ticket, receiver) = receiving(&to, &identity, "127.0.0.1:0");
        let sent = sending(&from, &ticket);
        let received = receiver.join().expect("no panic");
        assert_eq!((sent.files, sent.connections, sent.resumed_at), (301, 1, 0));
        assert_eq!((received.files, received.size), (301, sent.size));
        assert_eq!(received.blake3, sent.blake3);
        assert_eq!(received.path, to.join("many"));
        for number in 0..300_usize {
            let name = to.join(format!("many/{}/{number}", number % 7));
            assert_eq!(std::fs::read(name).expect("a file"), vec![number as u8; number * 37]);
        }
        std::fs::remove_file(to.join("many/3/3")).expect("removed");
        std::fs::write(to.join("many/4/4"), "mine").expect("written");
        let (ticket, receiver) = receiving(&to, &identity, "127.0.0.1:0");
        let sent = sending(&from, &ticket);
        receiver.join().expect("no panic");
        assert_eq!(sent.files, 300);
        assert_eq!(sent.refused.len(), 1, "{:?}", sent.refused);
        assert_eq!(sent.resumed_at, sent.size - 3 * 37);
        assert_eq!(std::fs::read(to.join("many/4/4")).expect("a file"), b"mine");
    }
}
