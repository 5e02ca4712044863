//! Laws of this process for connections of the kernel: a program tells what happens to them, and
//! does what the law has answered.
//!
//! Who steers looks every millisecond, so this is for laws that decide at times of their own, and
//! not at each acknowledgement.
#![expect(unsafe_code, reason = "reading the monotonic clock is a system call")]

use crate::load::{KernelError, Loaded, load_program, refused};
use crate::told::{Happening, Kind};
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBufferBuilder};
use narrows_control::{Ack, Controller, Loss, Pacing, RateSample, Rtt, Steer, Tick, Timeout};
use narrows_signal::Reply;
use narrows_units::{Duration, Time};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

const PROGRAM: &[u8] = include_bytes!("../objects/steered.bpf.o");
/// How often it looks.
const LOOKS: std::time::Duration = std::time::Duration::from_millis(1);
/// How often it looks at the end whether a law has come back.
const PATIENCE: u32 = 1000;
/// Windows and rates beyond are cut: what the program multiplies stays below 2⁶⁴.
const MOST_WINDOW: f64 = 1e6;
const MOST_RATE: f64 = 1e9;
/// A law that asks to be woken this soon is woken at once: it stands between two decisions.
const AT_ONCE: Duration = Duration::from_picos(1_000_000);

/// Makes the law of each connection.
pub type Make = Box<dyn Fn() -> Box<dyn Controller> + Send>;

/// A law that steers connections of the kernel; they keep what it answered last when it goes.
pub struct Steered {
    loaded: Loaded,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Steered {
    /// Its name in the kernel.
    pub fn name(&self) -> &str {
        self.loaded.name()
    }
}

impl Drop for Steered {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        for _ in 0..PATIENCE {
            if thread.is_finished() {
                break;
            }
            thread::sleep(LOOKS);
        }
        // A law that does not come back is left alone: the kernel's program goes without it.
        if thread.is_finished() {
            // A law's panic has been told of.
            let _ = thread.join();
        }
    }
}

/// Brings a congestion control called `name` into the kernel, whose connections are steered by laws
/// that `make` makes, on a thread that first calls `join`. Fails if the kernel refuses, or if the
/// name is taken.
pub fn steer(
    name: String,
    make: Make,
    join: impl FnOnce() + Send + 'static,
) -> Result<Steered, KernelError> {
    let loaded = load_program(name, PROGRAM, &[])?;
    let (happenings, answers) = (loaded.map("happenings")?, loaded.map("answers")?);
    let ends = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&ends);
    let thread = thread::Builder::new().name(loaded.name().to_owned()).spawn(move || {
        join();
        // The ring was there a moment ago.
        let _ = serve(&happenings, answers, make, &until);
    });
    let thread = thread.map_err(|error| refused("a thread", error))?;
    Ok(Steered { loaded, ends, thread: Some(thread) })
}

/// Tells laws what happens, and the kernel what they answer, until `ends`.
fn serve(
    happenings: &MapHandle,
    answers: MapHandle,
    make: Make,
    ends: &AtomicBool,
) -> libbpf_rs::Result<()> {
    let all = RefCell::new(Connections { laws: BTreeMap::new(), make, answers });
    let mut ring = RingBufferBuilder::new();
    ring.add(happenings, |bytes| {
        if let Some(happening) = Happening::read(bytes) {
            all.borrow_mut().hear(&happening);
        }
        0
    })?;
    let ring = ring.build()?;
    while !ends.load(Ordering::Relaxed) {
        ring.consume()?;
        all.borrow_mut().decide(monotonic());
        thread::sleep(LOOKS);
    }
    Ok(())
}

/// Nanoseconds of the clock that programs read.
fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it fills in what it is given, and Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

struct Connections {
    laws: BTreeMap<u64, Seat>,
    make: Make,
    answers: MapHandle,
}

impl Connections {
    fn hear(&mut self, happening: &Happening) {
        match happening.kind {
            Kind::Begins => {
                self.laws.insert(happening.connection, Seat::new((self.make)(), happening.now));
            }
            Kind::Ends => {
                self.laws.remove(&happening.connection);
                // The program has taken the answer away; one that came after goes, too.
                let _ = self.answers.delete(&happening.connection.to_ne_bytes());
            }
            Kind::Ack | Kind::Timeout => {
                if let Some(seat) = self.laws.get_mut(&happening.connection) {
                    seat.hear(happening);
                }
            }
        }
    }

    fn decide(&mut self, now: u64) {
        for (connection, seat) in &mut self.laws {
            seat.wake(now);
            if let Some(answer) = seat.new_answer() {
                let bytes: Vec<u8> = answer.iter().flat_map(|it| it.to_ne_bytes()).collect();
                // It goes on by the answer before if the map is full.
                let _ = self.answers.update(&connection.to_ne_bytes(), &bytes, MapFlags::ANY);
            }
        }
    }
}

/// One connection's law.
struct Seat {
    law: Box<dyn Controller>,
    /// When it began, in nanoseconds: its time is counted from there.
    began: u64,
    rtt: Option<Rtt>,
    sent: u64,
    /// What was answered last: rate and window as the program reads them.
    answered: Option<[u64; 2]>,
}

impl Seat {
    fn new(law: Box<dyn Controller>, began: u64) -> Self {
        Self { law, began, rtt: None, sent: 0, answered: None }
    }

    fn time(&self, nanos: u64) -> Time {
        Time::ZERO + Duration::from_picos(nanos.saturating_sub(self.began) * 1000)
    }

    fn hear(&mut self, it: &Happening) {
        let now = self.time(it.now);
        self.sent = u64::from(it.sent);
        self.measure(it);
        for number in 0..it.lost {
            self.law.on_loss(&Loss {
                now,
                transmission: self.sent,
                next: self.sent + 1,
                opens_epoch: it.opens && number == 0,
                again: false,
                in_flight: f64::from(it.in_flight),
                rtt: self.rtt,
                rate: None,
            });
        }
        if it.kind == Kind::Timeout {
            let in_flight = f64::from(it.in_flight);
            self.law.on_timeout(&Timeout { now, opens_epoch: true, in_flight });
            return;
        }
        self.law.on_ack(&Ack {
            now,
            packets: f64::from(it.acked),
            newest: self.sent,
            next: self.sent + 1,
            rtt: self.rtt,
            rtt_is_fresh: it.rtt.is_some(),
            in_flight: f64::from(it.in_flight),
            window_limited: it.limited,
            recovering: it.recovers,
            marked: f64::from(it.marked),
            reply: Reply::Nothing,
            rate: Some(sample(it)),
        });
    }

    fn measure(&mut self, it: &Happening) {
        let (Some(smoothed), Some(minimum)) = (it.srtt, it.least) else { return };
        let before = self.rtt;
        let latest = it.rtt.or(before.map(|rtt| rtt.latest)).unwrap_or(smoothed);
        let maximum = before.map_or(latest, |rtt| rtt.maximum.max(latest));
        self.rtt = Some(Rtt { latest, smoothed, minimum, maximum });
    }

    /// Wakes the law as often as its time has come.
    fn wake(&mut self, nanos: u64) {
        let now = self.time(nanos);
        for _ in 0..2 {
            let at = self.law.wakes_at();
            if at > now + AT_ONCE {
                return;
            }
            // That the window or the pacer is the limit cannot be seen from here.
            let held = now.since(Time::ZERO);
            self.law.on_timer(&Tick { now: now.max(at), sent: self.sent, held });
        }
    }

    /// What it answers, if that is new.
    fn new_answer(&mut self) -> Option<[u64; 2]> {
        let steer = Steer::of(&*self.law);
        let window = if steer.flight_limit.is_finite() { steer.flight_limit } else { MOST_WINDOW };
        let rate = match steer.pacing {
            Pacing::Unpaced => 0.0,
            Pacing::Rate { packets_per_second, .. } => packets_per_second,
            Pacing::Window { gain, .. } => {
                self.rtt.map_or(0.0, |rtt| gain * steer.window / rtt.smoothed.seconds())
            }
        };
        let rate = (rate.min(MOST_RATE) * 1024.0).ceil() as u64;
        let answer = [rate, window.clamp(1.0, MOST_WINDOW) as u64];
        let is_new = self.answered != Some(answer);
        self.answered = Some(answer);
        is_new.then_some(answer)
    }
}

fn sample(it: &Happening) -> RateSample {
    let rate = it.interval.map(|interval| f64::from(it.of_sample) / interval.seconds());
    RateSample {
        total_delivered: f64::from(it.delivered),
        prior_delivered: f64::from(it.delivered.saturating_sub(it.of_sample)),
        delivery_rate: rate,
        rtt: it.rtt.filter(|_| !it.resent),
        newly_lost: f64::from(it.lost),
        repairing: it.recovers,
        ..RateSample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_control::{Gaps, Needs};

    /// Doubles its rate each 20 ms, and notes what it was told.
    struct Doubling {
        rate: f64,
        wakes_at: Time,
        told: Arc<std::sync::Mutex<Vec<String>>>,
    }

    impl Controller for Doubling {
        fn on_ack(&mut self, ack: &Ack) {
            let rtt = ack.rate.and_then(|rate| rate.rtt);
            let told = format!("{} {} {rtt:?}", ack.packets, ack.now.seconds());
            self.told.lock().expect("one thread").push(told);
        }

        fn on_loss(&mut self, loss: &Loss) {
            let told = format!("lost, opens {}", loss.opens_epoch);
            self.told.lock().expect("one thread").push(told);
        }

        fn on_timeout(&mut self, _: &Timeout) {
            self.told.lock().expect("one thread").push("timeout".to_owned());
        }

        fn on_timer(&mut self, tick: &Tick) {
            self.rate *= 2.0;
            self.wakes_at = tick.now + Duration::from_millis(20);
        }

        fn wakes_at(&self) -> Time {
            self.wakes_at
        }

        fn window(&self) -> f64 {
            1e7
        }

        fn pacing(&self) -> Pacing {
            Pacing::Rate { packets_per_second: self.rate, gaps: Gaps::Even }
        }

        fn needs(&self) -> Needs {
            Needs { timer: true, own_recovery: true, ..Needs::default() }
        }
    }

    fn happening(kind: Kind, now: u64) -> Happening {
        Happening {
            connection: 1,
            now,
            kind,
            acked: 2,
            lost: 2,
            marked: 0,
            rtt: Some(Duration::from_micros(900)),
            srtt: Some(Duration::from_micros(800)),
            least: Some(Duration::from_micros(700)),
            in_flight: 8,
            delivered: 50,
            sent: 60,
            of_sample: 10,
            interval: Some(Duration::from_micros(1000)),
            limited: true,
            recovers: true,
            opens: true,
            resent: false,
        }
    }

    #[test]
    fn a_law_hears_in_its_own_time_and_answers_when_something_is_new() {
        let told = Arc::default();
        let law = Doubling { rate: 100.0, wakes_at: Time::ZERO + AT_ONCE, told: Arc::clone(&told) };
        assert!(law.needs().timer && law.needs().own_recovery);
        let mut seat = Seat::new(Box::new(law), 1_000_000_000);
        assert_eq!(seat.new_answer(), Some([102_400, 1_000_000]), "100 packets a second");
        assert_eq!(seat.new_answer(), None);
        seat.hear(&happening(Kind::Ack, 1_250_000_000));
        seat.hear(&happening(Kind::Timeout, 1_500_000_000));
        let told = told.lock().expect("one thread");
        let rtt = Duration::from_micros(900);
        let ack = format!("2 0.25 {:?}", Some(rtt));
        let losses = ["lost, opens true", "lost, opens false"];
        assert_eq!(told[..], [&losses[..], &[&ack], &losses, &["timeout"]].concat());
        seat.wake(1_000_000_000);
        assert_eq!(seat.new_answer(), Some([204_800, 1_000_000]), "woken once, at once");
        seat.wake(1_010_000_000);
        assert_eq!(seat.new_answer(), None, "not before its time");
        let sample = sample(&happening(Kind::Ack, 0));
        assert_eq!(sample.delivery_rate, Some(10_000.0));
        assert_eq!(sample.delivered(), 10.0);
    }
}
