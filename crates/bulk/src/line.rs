//! QUIC over a socket of its own, turned by whoever waits on it: one connection has the line, which
//! is the first to prove that it knows the secret.

use crate::error::Broken;
use crate::identity::{Identity, SERVER};
use crate::socket::{Arrived, Socket};
use crate::ticket::{HALF, Ticket};
use crate::tls::{PROOF, proves};
use crate::watch::{Event, Watched};
use crate::{Error, tls};
use bytes::Bytes;
use narrows_adapters::StackLaw;
use narrows_adapters::noq::{Factory, Pace};
use narrows_units::text;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    EndpointEvent, FourTuple, PathId, PathStats, ReadError, ServerConfig, StreamEvent, StreamId,
    Transmit, TransportConfig, VarInt, WriteError,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After this long without a packet a connection is lost.
const SILENCE: Duration = Duration::from_secs(10);
/// Packets leave at least this often, so that a slow disk is not held for silence.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// The longest wait of a turn that somebody watches.
const TURN: Duration = Duration::from_millis(100);
/// The longest wait while a disk works.
const BRIEF: Duration = Duration::from_millis(5);
/// How often the other side hears that a disk works.
const BEAT: Duration = Duration::from_millis(200);
/// Bytes of flow control: 1 Gbps at half a second.
const WINDOW: u32 = 64 << 20;
/// Bytes that wait for the sender's law, and that it sends beyond what the receiver holds.
pub(crate) const SEND_WINDOW: u64 = 64 << 20;
/// With this code a sender says that its file has changed.
const CHANGED: VarInt = VarInt::from_u32(1);
/// Bytes beyond a missing piece for which a stranger, who may send them one by one, gets memory.
const UNPROVEN: u64 = 8 << 10;
/// A stranger has this long to prove that it knows the secret.
const PROOF_WITHIN: Duration = Duration::from_secs(5);
/// What a closed connection says leaves within this time, or not at all.
const PARTING: Duration = Duration::from_millis(500);
/// Who has sent nothing for this long has heard that a connection is closed, or never will.
const QUIET: Duration = Duration::from_millis(100);
/// Connections that may try to prove it at a time, beside as many that have been closed and not yet
/// heard of it; each takes some kilobytes.
const MOST_STRANGERS: usize = 2048;
/// With these codes a receiver says that a proof was wrong, that none came, and that another sender
/// has the line.
const WRONG: VarInt = VarInt::from_u32(2);
const SILENT: VarInt = VarInt::from_u32(3);
const BUSY: VarInt = VarInt::from_u32(4);
/// Bytes that are taken from a stream at once.
const MOST: usize = 1 << 20;

/// A socket, the connection that has the line, and those that have proven nothing yet.
pub(crate) struct Line {
    socket: Socket,
    endpoint: Endpoint,
    live: Option<Live>,
    /// Connections of which none has proven that it knows the secret, while nobody has the line.
    strangers: Vec<Stranger>,
    /// Datagrams for which the socket had no room.
    unsent: Vec<(Transmit, Vec<u8>)>,
}

/// A connection and its one stream.
struct Live {
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    /// Asked before each packet of a sender's.
    pace: Option<Pace>,
    lost: Option<Broken>,
    /// What has come before its turn, by its place in the stream.
    early: BTreeMap<u64, Bytes>,
    /// Bytes of the stream that have been taken.
    taken: u64,
    /// Bytes beyond a missing piece that the other side may have sent.
    most_early: u64,
    /// Its end has been seen once, and what arrived before it can be taken.
    is_over: bool,
    /// It is over, and the endpoint has forgotten it: its handle may be another connection's.
    is_forgotten: bool,
}

impl Live {
    fn new(handle: ConnectionHandle, connection: Connection, pace: Option<Pace>) -> Self {
        Self {
            handle,
            connection,
            stream: None,
            pace,
            lost: None,
            early: BTreeMap::new(),
            taken: 0,
            most_early: UNPROVEN,
            is_over: false,
            is_forgotten: false,
        }
    }

    /// Makes `endpoint` forget it, unless it has.
    fn forget(&mut self, endpoint: &mut Endpoint) {
        if !std::mem::replace(&mut self.is_forgotten, true) {
            endpoint.handle_event(self.handle, EndpointEvent::drained());
        }
    }

    /// Lets time pass.
    fn pass(&mut self, now: Instant) {
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
    }

    /// What the connection says.
    fn hear(&mut self, endpoint: &mut Endpoint) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            self.is_forgotten |= event.is_drained();
            if let Some(event) = endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
        while let Some(event) = self.connection.poll() {
            match event {
                noq_proto::Event::Connected if self.connection.side().is_client() => {
                    self.stream = self.connection.streams().open(Dir::Bi);
                }
                noq_proto::Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    self.stream = self.stream.or_else(|| self.connection.streams().accept(Dir::Bi));
                }
                noq_proto::Event::ConnectionLost { reason } => {
                    self.lost.get_or_insert(said(&reason));
                }
                _ => {}
            }
        }
    }

    /// The next datagram that may leave.
    fn datagram(&mut self, now: Instant) -> Option<(Transmit, Vec<u8>)> {
        if let Some(pace) = &self.pace {
            pace.at(now);
        }
        let mut contents = Vec::with_capacity(1500);
        let one = self.connection.poll_transmit(now, NonZeroUsize::MIN, &mut contents);
        one.map(|transmit| (transmit, contents))
    }

    fn wakes_at(&mut self) -> Option<Instant> {
        let paced = self.pace.as_ref().and_then(Pace::opens_at);
        self.connection.poll_timeout().into_iter().chain(paced).min()
    }

    /// Adds what has arrived on the stream to `bytes`; true if nothing follows.
    ///
    /// # Errors
    /// If the other side gave it up.
    fn take(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Broken> {
        let Self { connection, stream: Some(stream), early, taken, most_early, .. } = self else {
            return Ok(false);
        };
        let mut stream = connection.recv_stream(*stream);
        // noq ends a connection on which more than 1024 pieces wait for what is missing between
        // them, as they do when slow start overshoots a long path; so they wait here.
        let Ok(mut chunks) = stream.read(false) else { return Ok(true) };
        let ended = loop {
            match chunks.next(MOST) {
                Ok(Some(chunk)) => early.insert(chunk.offset, chunk.bytes),
                Ok(None) => break Ok(true),
                Err(ReadError::Blocked) => break Ok(false),
                Err(error @ ReadError::Reset(_)) => break Err(Broken::Lost(error.to_string())),
            };
            while let Some(first) = early.first_entry().filter(|first| first.key() == taken) {
                let piece = first.remove();
                *taken += piece.len() as u64;
                bytes.extend_from_slice(&piece);
            }
            if bytes.len() >= MOST {
                break Ok(false);
            }
            if early.last_key_value().is_some_and(|(last, _)| last - *taken > *most_early) {
                break Err(Broken::Lost("a piece of the file never came".to_owned()));
            }
        };
        // Flow control's frames are queued, and leave at the next turn.
        let _ = chunks.finalize();
        ended
    }
}

/// A connection that has proven nothing yet. There may be thousands, so that those to which nothing
/// happens cost a look at these fields only.
struct Stranger {
    live: Box<Live>,
    handle: ConnectionHandle,
    /// Something has come, or is due: since the last turn, and since it was judged.
    is_stirred: bool,
    has_news: bool,
    /// Its next timer.
    wakes_at: Option<Instant>,
    since: Instant,
    from: IpAddr,
    heard: Vec<u8>,
    /// It is closed: until when what says so may leave, for which noq's pacer may wait.
    parts_by: Option<Instant>,
}

/// What became of a stranger.
enum Judged {
    Waits,
    Proves,
    Fails,
    Leaves,
}

impl Stranger {
    fn new(live: Live, since: Instant, from: IpAddr) -> Self {
        Self {
            handle: live.handle,
            live: Box::new(live),
            is_stirred: true,
            has_news: true,
            wakes_at: None,
            since,
            from,
            heard: Vec::new(),
            parts_by: None,
        }
    }

    fn stir(&mut self) {
        (self.is_stirred, self.has_news) = (true, true);
    }

    /// The turn is over.
    fn settle(&mut self) {
        if std::mem::take(&mut self.is_stirred) {
            self.wakes_at = self.live.wakes_at();
        }
    }

    /// What its bytes say, of which the first are its proof.
    fn judge(&mut self, now: Instant, secret: &[u8; HALF]) -> Judged {
        let is_late = now.duration_since(self.since) > PROOF_WITHIN;
        if self.parts_by.is_some() || !(std::mem::take(&mut self.has_news) || is_late) {
            return Judged::Waits;
        }
        if self.live.lost.is_some() || self.live.take(&mut self.heard).is_err() {
            return Judged::Leaves;
        }
        match self.heard.split_at_checked(PROOF) {
            Some((proof, _)) if proves(&self.live.connection, secret, proof) => Judged::Proves,
            Some(_) => Judged::Fails,
            None if is_late => Judged::Leaves,
            None => Judged::Waits,
        }
    }
}

impl Line {
    /// A line that takes connections at `address`.
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub(crate) fn listen(address: &str, identity: &Identity) -> Result<Self, Error> {
        let crypto = QuicServerConfig::try_from(tls::server(identity)?);
        let crypto = crypto.map_err(|error| Error::Tls(error.to_string()))?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport()));
        let mut endpoint = EndpointConfig::new(Arc::new(identity.reset_key()));
        // A receiver that is started again must know its connection IDs, or it drops packets of
        // before instead of resetting their connection (RFC 9000, §10.3).
        let key = identity.connection_id_key();
        endpoint.cid_generator(Arc::new(move || {
            Box::new(noq_proto::HashedConnectionIdGenerator::from_key(key))
        }));
        Self::over(address, endpoint, Some(config))
    }

    /// A line with a connection to the ticket's receiver, which is only just begun; `found` is told
    /// the fingerprint of a certificate that is not the ticket's.
    ///
    /// # Errors
    /// If there is no socket to send from.
    pub(crate) fn connect(
        ticket: &Ticket,
        remote: SocketAddr,
        law: &StackLaw,
    ) -> Result<(Self, tls::Found), Error> {
        let (crypto, found) = tls::client(ticket.fingerprint)?;
        let crypto = QuicClientConfig::try_from(crypto);
        let crypto = crypto.map_err(|error| Error::Tls(error.to_string()))?;
        let seed = u64::from_le_bytes(crate::identity::random()?);
        let (factory, pace) = Factory::new(law.clone()).seeded(seed).paced();
        let mut transport = transport();
        transport.congestion_controller_factory(factory.shared());
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let any = if remote.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let key: [u8; 32] = crate::identity::random()?;
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
        let mut line = Self::over(any, EndpointConfig::new(Arc::new(key)), None)?;
        let begun = line.endpoint.connect(Instant::now(), config, remote, SERVER);
        let failed = |error: noq_proto::ConnectError| Error::Socket {
            address: ticket.address.clone(),
            error: std::io::Error::other(error),
        };
        let (handle, connection) = begun.map_err(failed)?;
        line.live = Some(Live::new(handle, connection, Some(pace)));
        Ok((line, found))
    }

    fn over(
        address: &str,
        config: EndpointConfig,
        server: Option<ServerConfig>,
    ) -> Result<Self, Error> {
        let socket = Socket::bind(address);
        let failed = |error| Error::Socket { address: address.to_owned(), error };
        let endpoint = Endpoint::new(Arc::new(config), server.map(Arc::new), true);
        Ok(Self {
            socket: socket.map_err(failed)?,
            endpoint,
            live: None,
            strangers: Vec::new(),
            unsent: Vec::new(),
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> Result<SocketAddr, Error> {
        let failed = |error| Error::Socket { address: "the socket".to_owned(), error };
        self.socket.address().map_err(failed)
    }

    /// The connection, if there is one.
    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.live.as_ref().map(|live| &live.connection)
    }

    /// Whether both sides can use the stream.
    pub(crate) fn is_open(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.stream.is_some())
    }

    /// The address of the other side.
    pub(crate) fn remote(&self) -> Option<SocketAddr> {
        Some(self.connection()?.network_path(PathId::ZERO).ok()?.remote())
    }

    /// What the connection has counted.
    pub(crate) fn stats(&mut self) -> Option<PathStats> {
        self.live.as_mut()?.connection.path_stats(PathId::ZERO)
    }

    /// The law's window in packets; 0 if there is none.
    pub(crate) fn window(&self) -> f64 {
        let pace = self.live.as_ref().and_then(|live| live.pace.as_ref());
        pace.map_or(0.0, Pace::window)
    }

    /// Takes what has arrived, sends what may leave, and if that was nothing waits until there is
    /// something, but no longer than a watch would.
    ///
    /// # Errors
    /// If the connection ends or the socket fails.
    pub(crate) fn turn(&mut self) -> Result<(), Broken> {
        self.turn_within(TURN)
    }

    /// As [`turn`](Self::turn), but waits no longer than `most`.
    pub(crate) fn turn_within(&mut self, most: Duration) -> Result<(), Broken> {
        let failed =
            |error| Broken::Failed(Error::Socket { address: "the socket".to_owned(), error });
        let mut has_moved = self.arrive().map_err(failed)?;
        self.time_passes();
        has_moved |= self.leave();
        if self.unsent.is_empty() {
            self.strangers.iter_mut().for_each(Stranger::settle);
        }
        if let Some(live) = self.live.as_mut().filter(|live| live.lost.is_some()) {
            // What arrived before the end is taken first.
            if !std::mem::replace(&mut live.is_over, true) {
                return Ok(());
            }
            let lost = live.lost.take();
            self.forget();
            return lost.map_or(Ok(()), Err);
        }
        if !has_moved {
            let until = self.wakes_at();
            let most = until.map_or(most, |at| most.min(at.duration_since(Instant::now())));
            self.socket.wait(most, !self.unsent.is_empty()).map_err(failed)?;
        }
        Ok(())
    }

    /// Turns until `is_done`, while somebody watches.
    ///
    /// # Errors
    /// As [`turn`](Self::turn)'s, and if the watch stops it.
    pub(crate) fn turn_until(
        &mut self,
        watched: &mut Watched<'_, '_>,
        mut is_done: impl FnMut(&mut Self) -> Result<bool, Broken>,
    ) -> Result<(), Broken> {
        while !is_done(self)? {
            self.turn()?;
            watched.tell_now_and_then(Event::Idle)?;
        }
        Ok(())
    }

    /// Does `work`, which may keep a disk busy, keeps the connection alive meanwhile, and says
    /// `beat` now and then. If that fails, `work` is told that it is in vain.
    ///
    /// # Errors
    /// As [`turn`](Self::turn)'s.
    pub(crate) fn meanwhile<T: Send>(
        &mut self,
        watched: &mut Watched<'_, '_>,
        beat: &[u8],
        work: impl FnOnce(&AtomicBool) -> T + Send,
    ) -> Result<T, Broken> {
        let in_vain = AtomicBool::new(false);
        let mut said = Instant::now();
        let mut turn = || -> Result<(), Broken> {
            self.turn_within(BRIEF)?;
            if said.elapsed() > BEAT {
                said = Instant::now();
                self.put(beat)?;
            }
            Ok(watched.tell_now_and_then(Event::Idle)?)
        };
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| work(&in_vain));
            while !worker.is_finished() {
                turn().inspect_err(|_| in_vain.store(true, Ordering::Relaxed))?;
            }
            Ok(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn arrive(&mut self) -> std::io::Result<bool> {
        let Self { socket, endpoint, live, strangers, unsent, .. } = self;
        let now = Instant::now();
        socket.receive(|Arrived { from, to, ecn, bytes }| {
            let mut answer = Vec::new();
            let path = FourTuple::new(from, to);
            match endpoint.handle(now, path, ecn, bytes, &mut answer) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(live) =
                        live.as_mut().filter(|live| live.handle == handle && !live.is_forgotten)
                    {
                        live.connection.handle_event(event);
                    } else if let Some(stranger) =
                        strangers.iter_mut().find(|stranger| stranger.handle == handle)
                    {
                        stranger.stir();
                        stranger.live.connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    if live.is_some() || strangers.len() >= 2 * MOST_STRANGERS {
                        let transmit = endpoint.refuse(incoming, &mut answer);
                        unsent.push((transmit, answer));
                    } else if incoming.may_retry() {
                        // A forged address must take no memory (RFC 9000, §8.1.2).
                        if let Ok(transmit) = endpoint.retry(incoming, &mut answer) {
                            unsent.push((transmit, answer));
                        }
                    } else if let Ok((handle, connection)) =
                        endpoint.accept(incoming, now, &mut answer, None)
                    {
                        let live = Live::new(handle, connection, None);
                        strangers.push(Stranger::new(live, now, from.ip().to_canonical()));
                    }
                }
                Some(DatagramEvent::Response(transmit)) => unsent.push((transmit, answer)),
                None => {}
            }
        })
    }

    /// Lets time pass, and then says what the connections say.
    fn time_passes(&mut self) {
        let now = Instant::now();
        for stranger in &mut self.strangers {
            if stranger.wakes_at.is_some_and(|at| at <= now) {
                stranger.stir();
            }
        }
        let Self { endpoint, live, strangers, .. } = self;
        let strangers = strangers.iter_mut().filter(|stranger| stranger.is_stirred);
        let strangers = strangers.map(|stranger| &mut *stranger.live);
        for live in live.iter_mut().chain(strangers) {
            live.pass(now);
            live.hear(endpoint);
        }
    }

    /// Sends what may leave now; true if that was anything.
    fn leave(&mut self) -> bool {
        let has_left = self.leave_now();
        self.forget_parted();
        has_left
    }

    fn leave_now(&mut self) -> bool {
        let mut has_left = false;
        let mut number: usize = 0;
        loop {
            while let Some((transmit, contents)) = self.unsent.last() {
                if !self.socket.send(transmit, &contents[..transmit.size]) {
                    return has_left;
                }
                self.unsent.pop();
                has_left = true;
            }
            let live = match number.checked_sub(1) {
                None => self.live.as_mut(),
                Some(stranger) => {
                    let stranger = self.strangers.get_mut(stranger).filter(|it| it.is_stirred);
                    stranger.map(|it| &mut *it.live)
                }
            };
            match live.and_then(|live| live.datagram(Instant::now())) {
                Some(one) => {
                    self.unsent.push(one);
                    // Of a closed connection that is its last word.
                    if let Some(stranger) =
                        number.checked_sub(1).and_then(|it| self.strangers.get_mut(it))
                        && let Some(by) = &mut stranger.parts_by
                    {
                        *by = Instant::now();
                        number += 1;
                    }
                }
                None if number >= self.strangers.len() => return has_left,
                None => number += 1,
            }
        }
    }

    fn wakes_at(&mut self) -> Option<Instant> {
        let ends = self.strangers.iter();
        let ends = ends.flat_map(|it| {
            let end = it.parts_by.unwrap_or(it.since + PROOF_WITHIN);
            [Some(end), it.wakes_at].into_iter().flatten()
        });
        let first = ends.min();
        self.live.as_mut().and_then(Live::wakes_at).into_iter().chain(first).min()
    }

    /// Turns until a connection has proven that it knows `secret`, which then has the line; returns
    /// what it has said after its proof. Wrong proofs are told to `watched`, and close at once; who
    /// proves nothing in time is forgotten.
    ///
    /// # Errors
    /// As [`turn`](Self::turn)'s, and if the watch stops it.
    pub(crate) fn proven(
        &mut self,
        secret: &[u8; HALF],
        watched: &mut Watched<'_, '_>,
    ) -> Result<Vec<u8>, Broken> {
        let mut refused = None;
        loop {
            let now = Instant::now();
            let mut number = 0;
            while number < self.strangers.len() {
                match self.strangers[number].judge(now, secret) {
                    Judged::Waits => number += 1,
                    Judged::Leaves => self.part_from(number, SILENT),
                    Judged::Fails => {
                        let from = self.strangers[number].from;
                        self.part_from(number, WRONG);
                        refused = Some(format!("{from}: refused: {}", Error::WRONG_SECRET));
                    }
                    Judged::Proves => {
                        let Stranger { mut live, heard, .. } = self.strangers.swap_remove(number);
                        live.most_early = 2 * SEND_WINDOW;
                        for other in 0..self.strangers.len() {
                            if self.strangers[other].parts_by.is_none() {
                                self.part_from(other, BUSY);
                            }
                        }
                        self.live = Some(*live);
                        return Ok(heard[PROOF..].to_vec());
                    }
                }
            }
            let waiting = self.strangers.iter().filter(|it| it.parts_by.is_none()).count();
            for _ in MOST_STRANGERS..waiting {
                self.part_from(self.oldest_of_most(), BUSY);
            }
            self.turn()?;
            // Whoever watches may end it all, so that what was refused is told first.
            if self.strangers.iter().all(|it| it.parts_by.is_none())
                && let Some(text) = refused.take()
            {
                watched.tell_sparingly(&text)?;
            }
            watched.tell_now_and_then(Event::Idle)?;
        }
    }

    /// The oldest connection of the address that has the most, so that one stranger does not take
    /// the room of all others.
    fn oldest_of_most(&self) -> usize {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for stranger in self.strangers.iter().filter(|it| it.parts_by.is_none()) {
            *counts.entry(stranger.from).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(from, _)| from);
        let of_it = self.strangers.iter().enumerate();
        let of_it = of_it.filter(|(_, it)| Some(it.from) == most && it.parts_by.is_none());
        of_it.min_by_key(|(_, stranger)| stranger.since).map_or(0, |(number, _)| number)
    }

    /// Closes a stranger's connection, and says why once; then it is forgotten.
    fn part_from(&mut self, number: usize, why: VarInt) {
        let now = Instant::now();
        let stranger = &mut self.strangers[number];
        stranger.live.connection.close(now, why, Bytes::new());
        stranger.is_stirred = true;
        stranger.parts_by = Some(now + PARTING);
    }

    fn forget_parted(&mut self) {
        let now = Instant::now();
        let endpoint = &mut self.endpoint;
        self.strangers.retain_mut(|stranger| {
            let stays = stranger.parts_by.is_none_or(|by| by > now);
            if !stays {
                stranger.live.forget(endpoint);
            }
            !stranger.live.is_forgotten
        });
    }

    /// Gives the stream as many of `bytes` as it takes, and returns their number.
    ///
    /// # Errors
    /// If the other side takes no more, or the connection has ended.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let Some((connection, stream)) = self.stream() else { return Ok(0) };
        match connection.send_stream(stream).write(bytes) {
            Ok(written) => Ok(written),
            // The other side says why on its half of the stream.
            Err(WriteError::Blocked | WriteError::Stopped(_)) => Ok(0),
            Err(error @ WriteError::ClosedStream) => Err(Broken::Lost(error.to_string())),
        }
    }

    /// Says that nothing follows.
    pub(crate) fn finish(&mut self) {
        if let Some((connection, stream)) = self.stream() {
            // It fails if the other side wants no more, and says so.
            let _ = connection.send_stream(stream).finish();
        }
    }

    /// Adds what has arrived on the stream to `bytes`; true if nothing follows.
    ///
    /// # Errors
    /// If the other side gave it up.
    pub(crate) fn take(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Broken> {
        self.live.as_mut().map_or(Ok(false), |live| live.take(bytes))
    }

    fn stream(&mut self) -> Option<(&mut Connection, StreamId)> {
        let live = self.live.as_mut()?;
        Some((&mut live.connection, live.stream?))
    }

    /// Ends the connection and says so, once: if that is lost, the other side waits for a silence.
    pub(crate) fn close(&mut self) {
        self.say_closed(VarInt::from_u32(0));
        self.forget();
    }

    /// Ends the connection in the middle of it all, and says so again to what still comes, for a
    /// moment: a receiver that is busy with its disk may lose the first word.
    pub(crate) fn break_off(&mut self) {
        self.break_off_because(VarInt::from_u32(0));
    }

    /// As [`break_off`](Self::break_off), because the file is not what was offered.
    pub(crate) fn break_off_as_changed(&mut self) {
        self.break_off_because(CHANGED);
    }

    fn break_off_because(&mut self, code: VarInt) {
        self.say_closed(code);
        let (begun, mut came_at) = (Instant::now(), Instant::now());
        while self.live.is_some() && begun.elapsed() < PARTING && came_at.elapsed() < QUIET {
            match self.arrive() {
                Ok(true) => came_at = Instant::now(),
                Ok(false) if self.socket.wait(QUIET, false).is_ok() => {}
                _ => break,
            }
            self.time_passes();
            self.leave();
        }
        self.forget();
    }

    fn say_closed(&mut self, code: VarInt) {
        if let Some(live) = &mut self.live {
            live.connection.close(Instant::now(), code, Bytes::new());
            self.leave();
        }
    }

    /// Makes room for another connection.
    fn forget(&mut self) {
        if let Some(mut live) = self.live.take() {
            live.forget(&mut self.endpoint);
        }
    }
}

fn transport() -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(SEND_WINDOW)
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_idle_timeout(Some(SILENCE.try_into().expect("ten seconds are few for QUIC")))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .enable_segmentation_offload(false);
    config
}

/// Why a connection ended, for people.
fn said(reason: &noq_proto::ConnectionError) -> Broken {
    use noq_proto::ConnectionError as Reason;
    Broken::Lost(match reason {
        Reason::ApplicationClosed(closed) if closed.error_code == CHANGED => {
            return Broken::Changed;
        }
        Reason::ApplicationClosed(closed) if closed.error_code == WRONG => {
            return Broken::Failed(Error::Refused(Error::WRONG_SECRET.to_owned()));
        }
        Reason::ApplicationClosed(closed) if closed.error_code == SILENT => {
            "the proof of the ticket's secret came too late".to_owned()
        }
        Reason::ApplicationClosed(closed) if closed.error_code == BUSY => {
            "busy with another sender".to_owned()
        }
        Reason::TimedOut => format!("silent for {} s", SILENCE.as_secs()),
        Reason::Reset => "the other side was started again".to_owned(),
        Reason::ApplicationClosed(_) => "the other side closed the connection".to_owned(),
        Reason::ConnectionClosed(closed)
            if closed.error_code == noq_proto::TransportErrorCode::CONNECTION_REFUSED =>
        {
            "busy with another sender".to_owned()
        }
        // What the other side wrote beside the code is a stranger's text.
        Reason::ConnectionClosed(closed) => {
            format!("the other side broke off: {:?}", closed.error_code)
        }
        other => text::plain(&other.to_string()),
    })
}
