//! One QUIC connection at a time over a socket of its own, turned by whoever waits on it.

use crate::error::Broken;
use crate::identity::{Identity, SERVER};
use crate::socket::{Arrived, Socket};
use crate::ticket::Ticket;
use crate::watch::{Event, Watched};
use crate::{Error, tls};
use bytes::Bytes;
use narrows_quic::Law;
use narrows_quic::noq::{Factory, Pace};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    EndpointEvent, FourTuple, PathId, PathStats, ReadError, ServerConfig, StreamEvent, StreamId,
    Transmit, TransportConfig, VarInt, WriteError,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
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
/// Bytes of flow control: 1 Gbps at half a second.
const WINDOW: u32 = 64 << 20;
/// Bytes that wait for the sender's law, and that it sends beyond what the receiver holds.
pub(crate) const SEND_WINDOW: u64 = 64 << 20;
/// With this code a sender says that its file has changed.
const CHANGED: VarInt = VarInt::from_u32(1);
/// Bytes beyond a missing piece for which a stranger, who may send them one by one, gets memory.
const UNPROVEN: u64 = 8 << 10;
/// Bytes that are taken from a stream at once.
const MOST: usize = 1 << 20;

/// A socket, and the connection that is over it now.
pub(crate) struct Line {
    socket: Socket,
    endpoint: Endpoint,
    live: Option<Live>,
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
        let endpoint = EndpointConfig::new(Arc::new(identity.reset_key()));
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
        law: &Law,
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
        Ok(Self { socket: socket.map_err(failed)?, endpoint, live: None, unsent: Vec::new() })
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

    fn turn_within(&mut self, most: Duration) -> Result<(), Broken> {
        let failed =
            |error| Broken::Failed(Error::Socket { address: "the socket".to_owned(), error });
        let mut has_moved = self.arrive().map_err(failed)?;
        self.time_passes();
        self.hear();
        has_moved |= self.leave();
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

    /// Does `work`, which may keep a disk busy, and keeps the connection alive meanwhile. If that
    /// fails, `work` is told that it is in vain.
    ///
    /// # Errors
    /// As [`turn`](Self::turn)'s.
    pub(crate) fn meanwhile<T: Send>(
        &mut self,
        watched: &mut Watched<'_, '_>,
        work: impl FnOnce(&AtomicBool) -> T + Send,
    ) -> Result<T, Broken> {
        let in_vain = AtomicBool::new(false);
        let mut turn = || -> Result<(), Broken> {
            self.turn_within(BRIEF)?;
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
        let Self { socket, endpoint, live, unsent } = self;
        let now = Instant::now();
        socket.receive(|Arrived { from, to, ecn, bytes }| {
            let mut answer = Vec::new();
            let path = FourTuple::new(from, to);
            match endpoint.handle(now, path, ecn, bytes, &mut answer) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(live) = live.as_mut().filter(|live| live.handle == handle) {
                        live.connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    if live.is_some() {
                        let transmit = endpoint.refuse(incoming, &mut answer);
                        unsent.push((transmit, answer));
                    } else if incoming.may_retry() {
                        // A forged address must not hold the line (RFC 9000, §8.1.2).
                        if let Ok(transmit) = endpoint.retry(incoming, &mut answer) {
                            unsent.push((transmit, answer));
                        }
                    } else if let Ok((handle, connection)) =
                        endpoint.accept(incoming, now, &mut answer, None)
                    {
                        *live = Some(Live::new(handle, connection, None));
                    }
                }
                Some(DatagramEvent::Response(transmit)) => unsent.push((transmit, answer)),
                None => {}
            }
        })
    }

    fn time_passes(&mut self) {
        let Some(live) = &mut self.live else { return };
        let now = Instant::now();
        if live.connection.poll_timeout().is_some_and(|at| at <= now) {
            live.connection.handle_timeout(now);
        }
    }

    /// What the connection says.
    fn hear(&mut self) {
        let Some(live) = &mut self.live else { return };
        while let Some(event) = live.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(live.handle, event) {
                live.connection.handle_event(event);
            }
        }
        while let Some(event) = live.connection.poll() {
            match event {
                noq_proto::Event::Connected if live.connection.side().is_client() => {
                    live.stream = live.connection.streams().open(Dir::Bi);
                }
                noq_proto::Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    live.stream = live.stream.or_else(|| live.connection.streams().accept(Dir::Bi));
                }
                noq_proto::Event::ConnectionLost { reason } => {
                    live.lost.get_or_insert(said(&reason));
                }
                _ => {}
            }
        }
    }

    /// Sends what may leave now; true if that was anything.
    fn leave(&mut self) -> bool {
        let mut has_left = false;
        loop {
            while let Some((transmit, contents)) = self.unsent.last() {
                if !self.socket.send(transmit, &contents[..transmit.size]) {
                    return has_left;
                }
                self.unsent.pop();
                has_left = true;
            }
            let Some(live) = &mut self.live else { return has_left };
            let now = Instant::now();
            if let Some(pace) = &live.pace {
                pace.at(now);
            }
            let mut contents = Vec::with_capacity(1500);
            let one = live.connection.poll_transmit(now, NonZeroUsize::MIN, &mut contents);
            let Some(transmit) = one else { return has_left };
            self.unsent.push((transmit, contents));
        }
    }

    fn wakes_at(&mut self) -> Option<Instant> {
        let live = self.live.as_mut()?;
        let paced = live.pace.as_ref().and_then(Pace::opens_at);
        live.connection.poll_timeout().into_iter().chain(paced).min()
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
        let Some(Live { connection, stream: Some(stream), early, taken, most_early, .. }) =
            &mut self.live
        else {
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

    /// The other side has proven who it is: the file may come.
    pub(crate) fn trust(&mut self) {
        if let Some(live) = &mut self.live {
            live.most_early = 2 * SEND_WINDOW;
        }
    }

    fn stream(&mut self) -> Option<(&mut Connection, StreamId)> {
        let live = self.live.as_mut()?;
        Some((&mut live.connection, live.stream?))
    }

    /// Ends the connection and says so, once: if that is lost, the other side waits for a silence.
    pub(crate) fn close(&mut self) {
        self.close_because(VarInt::from_u32(0));
    }

    /// Ends the connection, because the file is not what was offered.
    pub(crate) fn close_as_changed(&mut self) {
        self.close_because(CHANGED);
    }

    fn close_because(&mut self, code: VarInt) {
        if let Some(live) = &mut self.live {
            live.connection.close(Instant::now(), code, Bytes::new());
            self.leave();
        }
        self.forget();
    }

    /// Makes room for another connection.
    fn forget(&mut self) {
        if let Some(live) = self.live.take() {
            self.endpoint.handle_event(live.handle, EndpointEvent::drained());
        }
        self.unsent.clear();
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
        Reason::TimedOut => format!("silent for {} s", SILENCE.as_secs()),
        Reason::Reset => "the other side was started again".to_owned(),
        Reason::ApplicationClosed(_) => "the other side closed the connection".to_owned(),
        Reason::ConnectionClosed(closed)
            if closed.error_code == noq_proto::TransportErrorCode::CONNECTION_REFUSED =>
        {
            "busy with another sender".to_owned()
        }
        other => other.to_string(),
    })
}
