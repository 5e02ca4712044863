//! Our laws as s2n-quic's controllers (s2n-quic-core 0.91.0, behind its feature
//! `unstable-congestion-controller`).
//!
//! s2n-quic tells of each packet that leaves or is lost, and of acknowledgements by their bytes and
//! the newest packet: a law hears of the packets up to that one, the newest first, until the bytes
//! are used up. When a packet leaves is the controller's alone; a time nearer than a millisecond
//! counts as now, so packets leave in bunches of a millisecond whatever a law's gaps. A law that is
//! not paced gets 1.25 windows in a round trip, as s2n-quic's own have. Marks are counted, and only
//! the first of a round trip is told.

use crate::heard::Heard;
use crate::stack_law::StackLaw;
use narrows_control::{Gaps, Pacing};
use narrows_transport::Pacer;
use narrows_units::{Duration, Stream, Time};
use s2n_quic_core::random;
use s2n_quic_core::recovery::congestion_controller::{Endpoint, PathInfo, Publisher};
use s2n_quic_core::recovery::{CongestionController, RttEstimator};
use s2n_quic_core::time::Timestamp;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// How fast packets of a law that is not paced leave (RFC 9002, §7.7, suggests 1.25).
const USUAL: Pacing = Pacing::Window { gain: 1.25, gaps: Gaps::Even };
/// The random stream of gaps.
const GAP_STREAMS: u64 = 1;

/// Makes s2n-quic's controllers of a law.
#[derive(Clone)]
pub struct Controllers {
    law: StackLaw,
    seed: u64,
}

impl Controllers {
    /// Controllers of `law`.
    pub fn new(law: StackLaw) -> Self {
        Self { law, seed: 0 }
    }

    /// With randomness from `seed`.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "narrows' {}", self.law.name())
    }
}

impl Endpoint for Controllers {
    type CongestionController = OfS2n;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> OfS2n {
        OfS2n(Arc::new(Mutex::new(State {
            heard: Heard::new(&self.law, self.seed),
            mtu: path.max_datagram_size,
            begun: None,
            packets: VecDeque::new(),
            first: 0,
            in_flight: 0,
            pacer: Pacer::new(Stream::new(self.seed, GAP_STREAMS, 0)),
        })))
    }
}

/// A law as s2n-quic sees it.
#[derive(Clone)]
pub struct OfS2n(Arc<Mutex<State>>);

/// A packet in flight.
struct Packet {
    bytes: u32,
    is_settled: bool,
}

/// A controller's state.
struct State {
    heard: Heard,
    /// Bytes of a full datagram.
    mtu: u16,
    /// When the first packet left.
    begun: Option<Timestamp>,
    /// By the numbers that we give them, from `first` on.
    packets: VecDeque<Packet>,
    first: u64,
    /// Bytes.
    in_flight: u32,
    pacer: Pacer,
}

impl State {
    fn time(&mut self, at: Timestamp) -> Time {
        let begun = *self.begun.get_or_insert(at);
        let nanos = at.saturating_duration_since(begun).as_nanos() as u64;
        Time::ZERO + Duration::from_picos(nanos * 1000)
    }

    /// The window in bytes, at least one datagram.
    fn window(&mut self) -> u32 {
        self.heard.conclude();
        let bytes = self.heard.flight_limit() * f64::from(self.mtu);
        (bytes.min(f64::from(u32::MAX)) as u32).max(u32::from(self.mtu))
    }

    fn is_full(&mut self) -> bool {
        self.window() < self.in_flight.saturating_add(u32::from(self.mtu))
    }

    /// The number of the next packet.
    fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    fn sent(&mut self, now: Time, bytes: u32) {
        let number = self.next();
        self.packets.push_back(Packet { bytes, is_settled: false });
        self.in_flight += bytes;
        self.heard.sent(now, number);
        let pacing = match self.heard.pacing() {
            Pacing::Unpaced => USUAL,
            paced => paced,
        };
        // s2n-quic sends up to a millisecond early: the next packet is due a gap after this was.
        let due = now.max(self.pacer.ready_at());
        self.pacer.sent(due, 1, pacing, self.heard.window(), self.heard.rtt().as_ref());
    }

    /// The place of the last packet before number `end`, unless it is forgotten.
    fn last_before(&self, end: u64) -> Option<usize> {
        (end.min(self.next()).checked_sub(self.first)? as usize).checked_sub(1)
    }

    /// True if the packet at `place` had not been settled.
    fn settle(&mut self, place: usize) -> bool {
        let packet = &mut self.packets[place];
        let is_new = !std::mem::replace(&mut packet.is_settled, true);
        if is_new {
            self.in_flight -= packet.bytes;
        }
        is_new
    }

    /// `bytes` of the packets before number `end` are acknowledged.
    fn acknowledged(&mut self, now: Time, end: u64, mut bytes: u32) {
        let Some(newest) = self.last_before(end) else { return };
        let mut oldest = newest;
        for place in (0..=newest).rev().filter(|place| !self.packets[*place].is_settled) {
            oldest = place;
            bytes = bytes.saturating_sub(self.packets[place].bytes);
            if bytes == 0 {
                break;
            }
        }
        for place in oldest..=newest {
            if self.settle(place) {
                self.heard.acknowledged(now, self.first + place as u64);
            }
        }
        self.heard.counted();
        self.forget();
    }

    /// The last packet before number `end` is lost. If it was held for acknowledged, an older one
    /// was.
    fn lost(&mut self, now: Time, end: u64) {
        let Some(newest) = self.last_before(end) else { return };
        let lost = (0..=newest).rev().find(|place| !self.packets[*place].is_settled);
        let Some(lost) = lost else { return };
        self.settle(lost);
        self.heard.lost(now, self.first + lost as u64);
    }

    fn forget(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.is_settled) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

impl OfS2n {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no thread panics while it holds a controller")
    }
}

impl fmt::Debug for OfS2n {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a law of narrows")
    }
}

impl CongestionController for OfS2n {
    /// The number that comes after it, among those packets that do not only acknowledge: one that
    /// does may be the newest that is acknowledged.
    type PacketInfo = u64;

    fn congestion_window(&self) -> u32 {
        self.state().window()
    }

    fn bytes_in_flight(&self) -> u32 {
        self.state().in_flight
    }

    fn is_congestion_limited(&self) -> bool {
        self.state().is_full()
    }

    fn requires_fast_retransmission(&self) -> bool {
        false
    }

    fn on_packet_sent<P: Publisher>(
        &mut self,
        at: Timestamp,
        bytes: usize,
        app_limited: Option<bool>,
        _: &RttEstimator,
        _: &mut P,
    ) -> u64 {
        let mut state = self.state();
        let now = state.time(at);
        if bytes > 0 {
            state.sent(now, bytes as u32);
        }
        // Whether window or pacer holds it back, more would leave (RFC 9002, §7.8).
        match app_limited {
            Some(false) => state.heard.full(),
            Some(true) => state.heard.application_limits(),
            None => {}
        }
        state.next()
    }

    /// The RTT is made of what is acknowledged.
    fn on_rtt_update<P: Publisher>(
        &mut self,
        _: Timestamp,
        _: Timestamp,
        _: &RttEstimator,
        _: &mut P,
    ) {
    }

    fn on_ack<P: Publisher>(
        &mut self,
        _: Timestamp,
        bytes: usize,
        end: u64,
        _: &RttEstimator,
        _: &mut dyn random::Generator,
        at: Timestamp,
        _: &mut P,
    ) {
        let mut state = self.state();
        let now = state.time(at);
        state.acknowledged(now, end, bytes as u32);
    }

    fn on_packet_lost<P: Publisher>(
        &mut self,
        bytes: u32,
        end: u64,
        persistent_congestion: bool,
        _: bool,
        _: &mut dyn random::Generator,
        at: Timestamp,
        _: &mut P,
    ) {
        let mut state = self.state();
        let now = state.time(at);
        if bytes > 0 {
            state.lost(now, end);
        }
        if persistent_congestion {
            state.heard.collapsed(now);
        }
    }

    fn on_explicit_congestion<P: Publisher>(&mut self, _: u64, at: Timestamp, _: &mut P) {
        let mut state = self.state();
        let now = state.time(at);
        state.heard.marked(now, now);
    }

    fn on_mtu_update<P: Publisher>(&mut self, mtu: u16, _: &mut P) {
        self.state().mtu = mtu;
    }

    /// Packets of the handshake, the oldest of those in flight.
    fn on_packet_discarded<P: Publisher>(&mut self, bytes: usize, _: &mut P) {
        let mut state = self.state();
        let mut left = bytes as u32;
        while left > 0
            && let Some(place) = state.packets.iter().position(|packet| !packet.is_settled)
        {
            left = left.saturating_sub(state.packets[place].bytes);
            state.settle(place);
        }
        if state.in_flight == 0 {
            state.heard.settle_all();
        }
        state.forget();
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        let state = self.state();
        let wait = state.pacer.ready_at().since(Time::ZERO).picos().div_ceil(1000);
        Some(state.begun? + std::time::Duration::from_nanos(wait))
    }

    fn send_quantum(&self) -> Option<usize> {
        Some(usize::from(self.state().mtu))
    }
}
