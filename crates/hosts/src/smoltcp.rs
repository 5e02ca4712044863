//! smoltcp 0.14.0: TCP for embedded machines.
//!
//! Its receiver keeps four holes, unless the build has its feature `assembler-max-segment-count-32`
//! or another of that kind, which changes results. Its times and sizes do not depend on the seed.
//! It tells neither its window nor its RTT.

use crate::WINDOW;
use crate::application::{Application, earlier};
use crate::named::{Named, any};
use narrows_scenario::Transfer;
use narrows_settings::unknown;
use narrows_signal::Ecn;
use narrows_sim::{Endpoint, Told, Transmit};
use narrows_units::Time;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};
use std::collections::VecDeque;

/// smoltcp's controllers, the usual one first; `none` is its own default.
pub const CONTROLLERS: [&str; 3] = ["cubic", "reno", "none"];
/// Bytes of a packet, headers included, unless wished for otherwise.
const PACKET: u32 = 1500;
/// The port that the far end listens at.
const PORT: u16 = 5001;

/// The controller called `name`. Fails if there is none.
fn controller(name: &str) -> Result<CongestionControl, String> {
    match name {
        "cubic" => Ok(CongestionControl::Cubic),
        "reno" => Ok(CongestionControl::Reno),
        "none" => Ok(CongestionControl::None),
        other => Err(unknown("controller of smoltcp", other, CONTROLLERS.into_iter())),
    }
}

/// The network card: packets in memory.
struct Card {
    arrived: Option<Vec<u8>>,
    leaving: VecDeque<Vec<u8>>,
    mtu: usize,
}

struct Arrived(Vec<u8>);
struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl phy::TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let outcome = write(&mut packet);
        self.0.push_back(packet);
        outcome
    }
}

impl Device for Card {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        Some((Arrived(self.arrived.take()?), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

/// One end of a transfer.
pub struct End {
    is_near: bool,
    card: Card,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    has_begun: bool,
    now: Time,
    application: Application,
    delivered: u64,
    is_complete: bool,
    ended: Option<String>,
}

/// `now` in whole microseconds.
fn instant(now: Time) -> Instant {
    Instant::from_micros((now.picos() / 1_000_000) as i64)
}

fn address(is_near: bool) -> IpAddress {
    IpAddress::v4(10, 0, 0, if is_near { 1 } else { 2 })
}

/// The two ends of a transfer with packets of `mtu` bytes.
///
/// # Errors
/// If there is no controller of that name, or no room for data in such packets.
pub fn pair(
    controller: &str,
    mtu: u32,
    transfer: &Transfer,
) -> Result<(Box<End>, Box<End>), String> {
    let control = self::controller(controller)?;
    if mtu < 576 {
        return Err(format!("{mtu} bytes are fewer than any host must take, 576 (RFC 791)"));
    }
    let end = |is_near| Box::new(End::new(is_near, control, mtu as usize, transfer));
    Ok((end(true), end(false)))
}

impl End {
    fn new(is_near: bool, control: CongestionControl, mtu: usize, transfer: &Transfer) -> Self {
        let mut card = Card { arrived: None, leaving: VecDeque::new(), mtu };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = transfer.seed ^ u64::from(is_near) << 63;
        let mut interface = Interface::new(config, &mut card, Instant::ZERO);
        interface.update_ip_addrs(|own| {
            // There is room for two.
            let _ = own.push(IpCidr::new(address(is_near), 24));
        });
        let window = WINDOW as usize;
        let (received, sent) = if is_near { (1 << 16, window) } else { (window, 1 << 12) };
        let buffer = |bytes| SocketBuffer::new(vec![0; bytes]);
        let mut socket = Socket::new(buffer(received), buffer(sent));
        socket.set_congestion_control(control);
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let socket = sockets.add(socket);
        Self {
            is_near,
            card,
            interface,
            sockets,
            socket,
            has_begun: false,
            now: Time::ZERO,
            application: Application::new(transfer),
            delivered: 0,
            is_complete: false,
            ended: None,
        }
    }

    /// Its socket, which tells its state.
    pub fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.socket)
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let far = IpEndpoint::new(address(false), PORT);
        let own = IpEndpoint::new(address(true), 40_000);
        let socket = self.sockets.get_mut::<Socket>(self.socket);
        let begun = if self.is_near {
            socket.connect(self.interface.context(), far, own).map_err(|error| error.to_string())
        } else {
            socket.listen(PORT).map_err(|error| error.to_string())
        };
        self.ended = begun.err();
    }

    /// Lets the application act.
    fn settle(&mut self) {
        let socket = self.sockets.get_mut::<Socket>(self.socket);
        if self.is_near {
            while socket.can_send() && !self.application.is_done() {
                let most = self.application.ready(self.now, usize::MAX);
                let room = |bytes: &mut [u8]| {
                    let taken = bytes.len().min(most);
                    (taken, taken)
                };
                let Ok(taken @ 1..) = socket.send(room) else { break };
                self.application.wrote(taken);
                if self.application.is_done() {
                    socket.close();
                }
            }
        } else {
            while socket.can_recv() {
                let Ok(taken) = socket.recv(|bytes| (bytes.len(), bytes.len())) else { break };
                self.delivered += taken as u64;
            }
            self.is_complete |= self.delivered > 0 && !socket.may_recv();
        }
        // A socket that has sent all and closes is no error.
        if self.has_begun && !socket.is_open() && !self.application.is_done() && !self.is_complete {
            self.ended.get_or_insert_with(|| "the connection was reset".to_owned());
        }
    }
}

impl Endpoint for End {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, _: Ecn) {
        self.now = now;
        self.begin();
        self.card.arrived = Some(std::mem::take(datagram));
        self.interface.poll_ingress_single(instant(now), &mut self.card, &mut self.sockets);
        self.settle();
    }

    /// Its timers go off when it is asked for what leaves.
    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        self.begin();
        self.settle();
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        self.now = now;
        // What an arrival is answered with lies in the card's queue already; a poll puts one more
        // packet there at the most.
        if self.card.leaving.is_empty() {
            self.interface.poll_egress(instant(now), &mut self.card, &mut self.sockets);
        }
        *datagram = self.card.leaving.pop_front()?;
        Some(Transmit::ip(datagram, Ecn::NotCapable))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        // "Now" is instant 0.
        let timer = self.interface.poll_at(instant(self.now), &self.sockets);
        let timer = timer.map(|at| Time::from_picos(at.total_micros() as u64 * 1_000_000));
        let offer = self.is_near.then(|| self.application.next(self.now)).flatten();
        earlier(timer, offer)
    }

    fn tell(&self) -> Told {
        Told {
            delivered: self.delivered,
            complete: self.is_complete,
            ended: self.ended.clone(),
            ..Told::default()
        }
    }
}

/// smoltcp by name, for scenarios.
pub fn stack() -> Named {
    Named {
        name: "smoltcp",
        source: "smoltcp 0.14.0",
        controllers: CONTROLLERS.to_vec(),
        packet: PACKET,
        logs: false,
        ends: |controller, wish| {
            if wish.ecn {
                return Err("it neither sends nor answers ECN's bits; leave ecn out".to_owned());
            }
            pair(controller, wish.packet.unwrap_or(PACKET), &wish.transfer).map(any)
        },
    }
}
