//! One end: s2n's endpoint without I/O, and an application that waits for it, polled in turn.

use crate::application::{Application, earlier};
use narrows_signal::Ecn;
use narrows_sim::{Endpoint as Door, Told, Transmit};
use narrows_units::{Duration, Time};
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::event::{self, api};
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{
    ExplicitCongestionNotification, IpV4Address, SocketAddress, SocketAddressV4,
};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{Handle as _, RemoteAddress, mtu};
use s2n_quic_core::time::Timestamp;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Time zero: s2n counts from 1 us, and subtracts.
const BASE: std::time::Duration = std::time::Duration::from_secs(1);
/// Datagrams that s2n may write before they are asked for.
const MOST: usize = 64;
/// Bytes of the largest datagram.
const ROOM: usize = 65_535;
pub(super) const UNPOISONED: &str = "no thread panics while it holds what an end tells";

/// `now` in whole microseconds.
fn timestamp(now: Time) -> Timestamp {
    let micros = std::time::Duration::from_micros(now.picos() / 1_000_000);
    #[expect(unsafe_code, reason = "s2n asks for a promise that the time is not zero")]
    // SAFETY: it is at least `BASE`.
    unsafe {
        Timestamp::from_duration(BASE + micros)
    }
}

/// A deadline, exactly.
fn time(at: Timestamp) -> Time {
    #[expect(unsafe_code, reason = "s2n asks for a promise that it is read as a duration only")]
    // SAFETY: it is.
    let at = unsafe { at.as_duration() };
    Time::from_picos(at.saturating_sub(BASE).as_micros() as u64 * 1_000_000)
}

/// The address of an end, near 1 or far 2.
pub(super) fn address(host: u8) -> SocketAddress {
    SocketAddressV4::new(IpV4Address::new([10, 0, 0, host]), 4433).into()
}

/// What an application returns if it ends.
pub(super) type App = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The time, as an application reads it.
#[derive(Clone, Default)]
pub(super) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub fn now(&self) -> Time {
        Time::from_picos(self.0.load(Relaxed))
    }

    fn set(&self, now: Time) {
        self.0.store(now.picos(), Relaxed);
    }
}

/// An endpoint of any configuration.
pub(super) struct Machine(Box<dyn Works>);

trait Works: Send {
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp);
    fn transmit(&mut self, outbox: &mut Outbox, now: Timestamp);
    fn poll_wakeups(&mut self, cx: &mut Context<'_>, now: Timestamp) -> Poll<bool>;
    fn timeout(&self) -> Option<Timestamp>;
}

impl<E: Endpoint<PathHandle = RemoteAddress>> Works for E {
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp) {
        Endpoint::receive(self, inbox, &now);
    }
    fn transmit(&mut self, outbox: &mut Outbox, now: Timestamp) {
        Endpoint::transmit(self, outbox, &now);
    }
    fn poll_wakeups(&mut self, cx: &mut Context<'_>, now: Timestamp) -> Poll<bool> {
        Endpoint::poll_wakeups(self, cx, &now).map(|outcome| outcome.is_ok())
    }
    fn timeout(&self) -> Option<Timestamp> {
        Endpoint::timeout(self)
    }
}

impl Machine {
    pub fn of<E: Endpoint<PathHandle = RemoteAddress>>(mut endpoint: E, mtu: mtu::Config) -> Self {
        // It is what does I/O that knows.
        endpoint.set_mtu_config(mtu);
        Self(Box::new(endpoint))
    }
}

/// The datagram that arrives.
struct Inbox {
    from: RemoteAddress,
    ecn: ExplicitCongestionNotification,
    datagram: Option<Vec<u8>>,
}

impl rx::Queue for Inbox {
    type Handle = RemoteAddress;

    fn for_each<F: FnMut(Header<RemoteAddress>, &mut [u8])>(&mut self, mut take: F) {
        if let Some(mut datagram) = self.datagram.take() {
            take(Header { path: self.from, ecn: self.ecn }, &mut datagram);
        }
    }

    fn is_empty(&self) -> bool {
        self.datagram.is_none()
    }
}

/// Datagrams that wait to be asked for.
struct Outbox {
    ready: VecDeque<(Vec<u8>, Ecn)>,
    room: Vec<u8>,
}

impl tx::Queue for Outbox {
    type Handle = RemoteAddress;
    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = RemoteAddress>>(
        &mut self,
        mut message: M,
    ) -> Result<tx::Outcome, tx::Error> {
        let index = self.ready.len();
        if index >= MOST {
            return Err(tx::Error::AtCapacity);
        }
        let ecn = bits(message.ecn());
        let len = message.write_payload(tx::PayloadBuffer::new(&mut self.room), 0)?;
        self.ready.push_back((self.room[..len].to_vec(), ecn));
        Ok(tx::Outcome { len, index })
    }

    fn capacity(&self) -> usize {
        MOST.saturating_sub(self.ready.len())
    }
}

fn bits(ecn: ExplicitCongestionNotification) -> Ecn {
    match ecn {
        ExplicitCongestionNotification::NotEct => Ecn::NotCapable,
        ExplicitCongestionNotification::Ect1 => Ecn::Scalable,
        ExplicitCongestionNotification::Ect0 => Ecn::Capable,
        ExplicitCongestionNotification::Ce => Ecn::Marked,
    }
}

fn codepoint(ecn: Ecn) -> ExplicitCongestionNotification {
    match ecn {
        Ecn::NotCapable => ExplicitCongestionNotification::NotEct,
        Ecn::Scalable => ExplicitCongestionNotification::Ect1,
        Ecn::Capable => ExplicitCongestionNotification::Ect0,
        Ecn::Marked => ExplicitCongestionNotification::Ce,
    }
}

/// What s2n's events and the application say of an end.
#[derive(Debug, Default)]
pub(super) struct Tells {
    pub delivered: u64,
    pub complete: bool,
    window: Option<u64>,
    in_flight: Option<u64>,
    rtt: Option<std::time::Duration>,
    lost: u64,
    ended: Option<String>,
}

/// Hears s2n's events.
pub(super) struct Listener(pub Arc<Mutex<Tells>>);

impl event::Subscriber for Listener {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &api::ConnectionMeta, _: &api::ConnectionInfo) {}

    fn on_recovery_metrics(
        &mut self,
        (): &mut (),
        _: &api::ConnectionMeta,
        event: &api::RecoveryMetrics,
    ) {
        let mut tells = self.0.lock().expect(UNPOISONED);
        tells.window = Some(u64::from(event.congestion_window));
        tells.in_flight = Some(u64::from(event.bytes_in_flight));
        tells.rtt = Some(event.smoothed_rtt);
    }

    fn on_packet_lost(&mut self, (): &mut (), _: &api::ConnectionMeta, _: &api::PacketLost) {
        self.0.lock().expect(UNPOISONED).lost += 1;
    }

    fn on_connection_closed(
        &mut self,
        (): &mut (),
        _: &api::ConnectionMeta,
        event: &api::ConnectionClosed,
    ) {
        self.0.lock().expect(UNPOISONED).ended.get_or_insert(event.error.to_string());
    }
}

/// Notes that the application is to be polled.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// One end of a transfer.
pub struct End {
    machine: Machine,
    /// `None` once it has ended.
    app: Option<App>,
    flag: Arc<Flag>,
    inbox: Inbox,
    outbox: Outbox,
    /// Something happened since s2n was asked for datagrams last.
    is_due: bool,
    is_closed: bool,
    tells: Arc<Mutex<Tells>>,
    /// What the application is offered over time, if it is a near end's, and its time.
    offered: Option<(Application, Clock)>,
}

impl End {
    pub(super) fn new(machine: Machine, app: App, peer: u8, tells: Arc<Mutex<Tells>>) -> Self {
        let from = RemoteAddress::from_remote_address(address(peer).into());
        let ecn = ExplicitCongestionNotification::NotEct;
        Self {
            machine,
            app: Some(app),
            flag: Arc::new(Flag(AtomicBool::new(true))),
            inbox: Inbox { from, ecn, datagram: None },
            outbox: Outbox { ready: VecDeque::new(), room: vec![0; ROOM] },
            is_due: false,
            is_closed: false,
            tells,
            offered: None,
        }
    }

    /// The same with an application that is offered what it sends, and that reads `clock`.
    pub(super) fn offered(self, application: Application, clock: Clock) -> Self {
        Self { offered: Some((application, clock)), ..self }
    }

    /// The time is `now`, and the application may have been offered more.
    fn set(&mut self, now: Time) {
        let Some((application, clock)) = &self.offered else { return };
        let more = application.next(clock.now()).is_some_and(|at| at <= now);
        clock.set(now);
        if more {
            self.flag.0.store(true, Relaxed);
        }
    }

    /// Polls application and endpoint until neither moves; true if one did.
    fn settle(&mut self, now: Timestamp) -> bool {
        let waker = Waker::from(Arc::clone(&self.flag));
        let mut moved = false;
        loop {
            let mut moves = self.flag.0.swap(false, Relaxed);
            if moves
                && let Some(app) = &mut self.app
                && let Poll::Ready(outcome) = app.as_mut().poll(&mut Context::from_waker(&waker))
            {
                self.app = None;
                let mut tells = self.tells.lock().expect(UNPOISONED);
                tells.ended = tells.ended.take().or(outcome.err());
            }
            let mut nobody = Context::from_waker(Waker::noop());
            if !self.is_closed
                && let Poll::Ready(is_open) = self.machine.0.poll_wakeups(&mut nobody, now)
            {
                self.is_closed = !is_open;
                moves = true;
            }
            if !moves {
                return moved;
            }
            moved = true;
        }
    }
}

impl Door for End {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        self.set(now);
        let now = timestamp(now);
        self.inbox.ecn = codepoint(ecn);
        self.inbox.datagram = Some(std::mem::take(datagram));
        self.machine.0.receive(&mut self.inbox, now);
        self.settle(now);
        self.is_due = true;
    }

    /// Its timers go off when it is asked for what leaves.
    fn handle_timeout(&mut self, now: Time) {
        self.set(now);
        self.settle(timestamp(now));
        self.is_due = true;
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        while self.outbox.ready.is_empty() {
            if !std::mem::take(&mut self.is_due) || self.is_closed {
                return None;
            }
            let now = timestamp(now);
            self.machine.0.transmit(&mut self.outbox, now);
            self.is_due = self.outbox.ready.len() == MOST;
            self.is_due |= self.settle(now);
        }
        let (bytes, ecn) = self.outbox.ready.pop_front()?;
        *datagram = bytes;
        Some(Transmit::udp(datagram, ecn))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        if self.is_closed {
            return None;
        }
        let offer = self.offered.as_ref().and_then(|(it, clock)| it.next(clock.now()));
        earlier(self.machine.0.timeout().map(time), offer)
    }

    fn tell(&self) -> Told {
        let tells = self.tells.lock().expect(UNPOISONED);
        let micros = |rtt: std::time::Duration| Duration::from_micros(rtt.as_micros() as u64);
        Told {
            delivered: tells.delivered,
            complete: tells.complete,
            window: tells.window,
            rtt: tells.rtt.map(micros),
            in_flight: tells.in_flight,
            lost: Some(tells.lost),
            ended: tells.ended.clone(),
        }
    }
}
