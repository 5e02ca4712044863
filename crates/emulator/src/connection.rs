//! One flow: a connection of the kernel, with a thread that writes and one that reads.

use crate::clock::Span;
use crate::frame::FIRST_PORT;
use crate::laws::CongestionControl;
use crate::sys::{self, TcpInfo};
use narrows_scenario::{RealFlow, RealSends};
use narrows_sim::Datagrams;
use narrows_units::{Stream, Time};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Bytes that are written at once.
const PIECE: usize = 1 << 18;
/// How long a read or write may take before somebody looks at the time.
const PATIENCE: Duration = Duration::from_millis(50);

/// A flow under way, which its threads and the sampler share.
#[derive(Default)]
pub(crate) struct Connection {
    socket: OnceLock<Socket>,
    /// Payload that the receiver has read.
    pub received: AtomicU64,
    /// Datagrams that have left.
    pub sent: AtomicU64,
    /// When the connection was asked for, and when the last byte of a given size came.
    pub started: Mutex<Option<Time>>,
    pub finished: Mutex<Option<Time>>,
}

impl Connection {
    /// What the kernel knows of it; `None` before it is asked for.
    pub fn info(&self) -> Option<TcpInfo> {
        sys::tcp_info(self.socket.get()?).ok()
    }

    /// Listens for flow `number`; to be called in the namespace of the receiver.
    pub fn listen(number: usize, address: Ipv4Addr) -> Result<TcpListener> {
        let listener = TcpListener::bind((address, port(number)))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Reads what comes in a `span`.
    pub fn receive(&self, listener: &TcpListener, flow: &RealFlow, span: Span<'_>) -> Result<()> {
        let mut stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock && span.is_over() => {
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut buffer = vec![0; PIECE];
        while !span.is_over() {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => {
                    let all =
                        self.received.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
                    if bytes_of(flow) == Some(all) {
                        *self.finished.lock().expect("nobody panics") = Some(span.clock.now());
                    }
                }
                Err(error) if is_patience(&error) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Connects when the flow starts, and writes until it has nothing more; to be called in the
    /// namespace of the sender.
    pub fn send(
        &self,
        number: usize,
        flow: &RealFlow,
        law: &CongestionControl,
        receiver: Ipv4Addr,
        span: Span<'_>,
    ) -> Result<()> {
        let (clock, span) = (span.clock, span.until(flow.stop));
        while clock.now() < flow.start && !span.is_over() {
            clock.sleep_until(flow.start);
        }
        if span.is_over() {
            return Ok(());
        }
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(law.name.as_bytes())?;
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        *self.started.lock().expect("nobody panics") = Some(clock.now());
        let address = SockAddr::from(SocketAddrV4::new(receiver, port(number)));
        let left = Duration::from_nanos(span.end.since(clock.now()).picos() / 1000);
        match socket.connect_timeout(&address, left) {
            // The run ends before anybody has answered.
            Err(error) if is_patience(&error) => return Ok(()),
            asked => asked?,
        }
        let socket = self.socket.get_or_init(|| socket);
        let piece = vec![0; PIECE];
        let mut left = bytes_of(flow).unwrap_or(u64::MAX);
        while left > 0 && !span.is_over() {
            let most = left.min(PIECE as u64) as usize;
            match (&*socket).write(&piece[..most]) {
                Ok(bytes) => left -= bytes as u64,
                Err(error) if is_patience(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if flow.stop < Time::NEVER && bytes_of(flow).is_none() {
            socket.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }
}

impl Connection {
    /// Receives datagrams of flow `number` in a `span`; to be called in the namespace of the
    /// receiver.
    pub fn receive_datagrams(
        &self,
        number: usize,
        address: Ipv4Addr,
        span: Span<'_>,
    ) -> Result<()> {
        let socket = UdpSocket::bind((address, port(number)))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut buffer = vec![0; 1 << 16];
        while !span.is_over() {
            match socket.recv(&mut buffer) {
                Ok(bytes) => {
                    self.received.fetch_add(bytes as u64, Ordering::Relaxed);
                }
                Err(error) if is_patience(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends datagrams of flow `number` from `source`, each `payload` bytes, as the simulator
    /// would; to be called in the namespace of the sender.
    pub fn send_datagrams(
        &self,
        number: usize,
        flow: &RealFlow,
        (mut source, payload): (Datagrams, usize),
        receiver: Ipv4Addr,
        (span, mut stream): (Span<'_>, Stream),
    ) -> Result<()> {
        let (clock, span) = (span.clock, span.until(flow.stop));
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect((receiver, port(number)))?;
        let piece = vec![0; payload];
        source.begin(flow.start, &mut stream);
        while !span.is_over() {
            let due = source.next_at;
            if clock.now() < due {
                clock.sleep_until(due.min(span.end));
                continue;
            }
            // The source goes by the times that were due, so being late makes a burst, and no gap.
            if source.wake(due, &mut stream).is_some() {
                match socket.send(&piece) {
                    Ok(_) => {
                        self.sent.fetch_add(1, Ordering::Relaxed);
                    }
                    // Before the receiver has its port, its kernel says so.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

/// The bytes of payload of a connection; `None` for data without an end.
fn bytes_of(flow: &RealFlow) -> Option<u64> {
    match flow.sends {
        RealSends::Bytes(_, bytes) => bytes,
        RealSends::Datagrams(..) => None,
    }
}

/// The port of a flow at its receiver.
fn port(number: usize) -> u16 {
    FIRST_PORT + number as u16
}

fn is_patience(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
