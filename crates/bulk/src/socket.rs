//! A UDP socket that waits to the microsecond, takes datagrams in batches, and carries ECN.

use bytes::BytesMut;
use noq_proto::EcnCodepoint;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Bytes that the system may hold for us, if it lets us have them.
const BUFFER: usize = 4 << 20;
/// Bytes of the largest datagram, if the system does not join several.
const LARGEST: usize = 1500;
/// The system wakes a sleeper some fifty microseconds late; shorter waits spin.
const SPIN: Duration = Duration::from_micros(60);

pub(crate) struct Socket {
    udp: UdpSocket,
    state: UdpSocketState,
    room: Vec<u8>,
    metas: [RecvMeta; BATCH_SIZE],
}

/// A datagram that has arrived.
pub(crate) struct Arrived {
    pub(crate) from: SocketAddr,
    pub(crate) to: Option<IpAddr>,
    pub(crate) ecn: Option<EcnCodepoint>,
    pub(crate) bytes: BytesMut,
}

impl Socket {
    pub(crate) fn bind(address: &str) -> io::Result<Self> {
        let udp = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&udp).into())?;
        // What the system does not grant it does not grant.
        let _ = state.set_send_buffer_size((&udp).into(), BUFFER);
        let _ = state.set_recv_buffer_size((&udp).into(), BUFFER);
        let room = vec![0; BATCH_SIZE * state.gro_segments() * LARGEST];
        Ok(Self { udp, state, room, metas: [RecvMeta::default(); BATCH_SIZE] })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Sends a datagram; false if there is no room for it now. One that cannot be sent, whatever
    /// the reason, is lost, as others are on the way: it may answer a stranger's forged address, or
    /// look for a larger MTU.
    pub(crate) fn send(&self, transmit: &noq_proto::Transmit, contents: &[u8]) -> bool {
        let transmit = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        let sent = self.state.try_send((&self.udp).into(), &transmit);
        sent.map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |()| true)
    }

    /// Hands each datagram that has arrived to `each`; false if there was none.
    pub(crate) fn receive(&mut self, mut each: impl FnMut(Arrived)) -> io::Result<bool> {
        let size = self.room.len() / BATCH_SIZE;
        let mut rooms = self.room.chunks_exact_mut(size);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = std::array::from_fn(|_| {
            IoSliceMut::new(rooms.next().expect("the room was divided into this many"))
        });
        let got = match self.state.recv((&self.udp).into(), &mut slices, &mut self.metas) {
            Ok(got) => got,
            Err(error) if error.kind() == ErrorKind::WouldBlock || is_passing(&error) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        for (meta, room) in self.metas[..got].iter().zip(&slices) {
            for bytes in room[..meta.len].chunks(meta.stride.max(1)) {
                let ecn = meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
                each(Arrived { from: meta.addr, to: meta.dst_ip, ecn, bytes: bytes.into() });
            }
        }
        Ok(got > 0)
    }

    /// Waits until a datagram arrives, or, if `for_room`, until one can be sent, but no longer than
    /// `most`.
    pub(crate) fn wait(&self, most: Duration, for_room: bool) -> io::Result<()> {
        if most < SPIN && !for_room {
            return Ok(());
        }
        let room = if for_room { PollFlags::OUT } else { PollFlags::empty() };
        let most = Timespec::try_from(most.saturating_sub(SPIN))
            .map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        match poll(&mut [PollFd::new(&self.udp, PollFlags::IN | room)], Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// True for what the network says of one datagram.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::Interrupted
    )
}
