//! Windows below one packet: one packet is in flight at a time, and packets leave further apart
//! than a round trip.

use narrows_control::{Ack, Controller, Gaps, Idle, Loss, Needs, Pacing, Timeout};
use narrows_transport::congestion::Path;
use narrows_transport::tcp::{Habits, RecoveryKind, TcpSettings};
use narrows_transport::{AckHeader, Header, Segment, Sender};
use narrows_units::{Duration, Stream, Time};
use std::sync::{Arc, Mutex};

/// What a quarter of a packet per round trip has been told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    window_limited: Option<bool>,
    unused: u32,
    long_silences: u32,
}

#[derive(Clone)]
struct Quarter {
    flight_limit: f64,
    told: Arc<Mutex<Told>>,
}

impl Quarter {
    fn with_flight_limit(packets: f64) -> Self {
        Self { flight_limit: packets, told: Arc::default() }
    }

    fn told(&self) -> Told {
        *self.told.lock().expect("one thread")
    }

    fn note(&self, what: impl FnOnce(&mut Told)) {
        what(&mut self.told.lock().expect("one thread"));
    }
}

impl Controller for Quarter {
    fn on_ack(&mut self, ack: &Ack) {
        self.note(|told| told.window_limited = Some(ack.window_limited));
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn on_restart(&mut self, idle: &Idle) {
        self.note(|told| told.long_silences += u32::from(idle.is_long()));
    }

    fn on_unused(&mut self, _used: f64) {
        self.note(|told| told.unused += 1);
    }

    fn window(&self) -> f64 {
        0.25
    }

    fn least_window(&self) -> f64 {
        0.25
    }

    fn ssthresh(&self) -> f64 {
        0.25
    }

    fn flight_limit(&self) -> f64 {
        self.flight_limit
    }

    fn needs(&self) -> Needs {
        Needs { burst: Some(Duration::from_micros(250)), ..Needs::default() }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Window { gain: 1.0, gaps: Gaps::Even }
    }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn answer(now: Time, number: u64, stamp: Time, header: Header) -> Segment {
    Segment { number, stamp: now, echoed_stamp: stamp, bytes: 52, header }
}

/// The sender over a path of 100 ms with `packets` to send, for `millis`: when each packet left.
fn departures(law: &Quarter, packets: u64, millis: u64) -> (Sender, Vec<Time>) {
    let settings = TcpSettings::new(RecoveryKind::Sack, Arc::new(Habits::LINUX), 1000);
    let mut sender = Sender::new(settings, Box::new(law.clone()), Path::new(Stream::new(1, 1, 1)));
    sender.offer(packets);
    let trip = Duration::from_millis(100);
    let (mut left, mut arriving) = (Vec::new(), Vec::new());
    for now in (0..millis).map(at) {
        sender.on_wakeup(now);
        while let Some(&(due, segment)) = arriving.first().filter(|(due, _)| *due <= now) {
            arriving.remove(0);
            sender.on_ack(due, &segment);
        }
        while let Some(segment) = sender.poll_transmit(now) {
            let data = segment.header != Header::SYN;
            let header = if data { Header::Ack(AckHeader::default()) } else { Header::SYN_ACK };
            let number = segment.number + u64::from(data);
            arriving.push((now + trip, answer(now + trip, number, now, header)));
            left.extend(data.then_some(now));
            assert!(sender.in_flight() <= 1, "{} in flight", sender.in_flight());
        }
    }
    (sender, left)
}

/// A quarter of a packet per 100 ms is a packet each 400 ms, from the handshake's answer on.
#[test]
fn packets_leave_further_apart_than_a_round_trip() {
    for flight_limit in [0.25, 2.0] {
        let (sender, left) = departures(&Quarter::with_flight_limit(flight_limit), 100, 2000);
        assert_eq!(left, [100, 500, 900, 1300, 1700].map(at), "{flight_limit}");
        let counters = sender.counters();
        assert_eq!(
            (counters.timeouts, counters.retransmitted),
            (0, 0),
            "a timer took it for a loss"
        );
    }
}

/// The window, not the application, held it back; the pauses are longer than a timeout of 300 ms,
/// but not for want of data.
#[test]
fn its_window_counts_as_used() {
    for flight_limit in [0.25, 2.0] {
        let law = Quarter::with_flight_limit(flight_limit);
        departures(&law, 100, 5000);
        let told = law.told();
        assert_eq!((told.window_limited, told.unused), (Some(true), 0), "{flight_limit}");
        assert_eq!(told.long_silences, 12, "a law may keep its window in these");
    }
}
