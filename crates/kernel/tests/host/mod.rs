//! The laws of `laws/*.h`, compiled for this machine, as controllers.
#![expect(unsafe_code, reason = "calls of our own C functions, whose arguments live in this file")]

use narrows_control::slow_start::SlowStart;
use narrows_control::{Ack, Controller, Idle, Loss, OncePerEpoch, Rounds, Timeout, WindowLaw};
use narrows_kernel::KernelLaw;
use narrows_units::{Duration, Time};
use std::ffi::c_void;

const ONE: f64 = 4294967296.0;
/// Bytes that hold the state of any law.
const STATE: usize = 128;

/// `struct event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    now: u64,
    acked: u32,
    rtt: u32,
    least: u32,
    recovers: u32,
    round: u32,
    pad: u32,
}

impl Event {
    fn of(ack: &Ack, round: bool) -> Self {
        let rtt = ack.rtt;
        Self {
            now: time(ack.now),
            acked: ack.packets as u32,
            rtt: rtt.filter(|_| ack.rtt_is_fresh).map_or(0, |rtt| micros(rtt.latest)),
            least: rtt.map_or(0, |rtt| micros(rtt.minimum)),
            recovers: u32::from(ack.recovering),
            round: u32::from(round),
            pad: 0,
        }
    }
}

fn micros(span: Duration) -> u32 {
    (span.picos() / 1_000_000) as u32
}

fn time(now: Time) -> u64 {
    now.since(Time::ZERO).picos() / 1_000_000
}

fn fixed(window: f64) -> u64 {
    (window * ONE) as u64
}

type Settings = *const u64;
type State = *mut c_void;

/// `struct window_law`.
#[repr(C)]
struct Functions {
    settings: u64,
    state: u64,
    start: unsafe extern "C" fn(Settings, State),
    increase: unsafe extern "C" fn(Settings, State, *const Event, u64) -> u64,
    decrease: unsafe extern "C" fn(Settings, State, u64, u64) -> u64,
    observe: Option<unsafe extern "C" fn(Settings, State, *const Event, u64)>,
    forget: Option<unsafe extern "C" fn(Settings, State)>,
    restart: Option<unsafe extern "C" fn(Settings, State, u64)>,
}

/// `struct paced_law`.
#[repr(C)]
struct PacedFunctions {
    settings: u64,
    state: u64,
    start: unsafe extern "C" fn(Settings, State, u64, u32),
    ack: unsafe extern "C" fn(Settings, State, *const Event, u32),
    loss: unsafe extern "C" fn(Settings, State, u32),
    timeout: unsafe extern "C" fn(Settings, State, u32, u32),
    window: unsafe extern "C" fn(State, u32) -> u64,
}

#[link(name = "laws", kind = "static")]
// SAFETY: as laws/host.c has them; they are constant.
unsafe extern "C" {
    safe static nw_bic: Functions;
    safe static nw_fast: Functions;
    safe static nw_highspeed: Functions;
    safe static nw_htcp: Functions;
    safe static nw_ltcp: Functions;
    safe static nw_scalable: Functions;
    safe static nw_etcp: PacedFunctions;
    safe static nw_etcp_rate: PacedFunctions;
    safe fn nw_log2(x: u64) -> u64;
    safe fn nw_exp2(x: u64) -> u64;
    safe fn nw_ratio(a: u64, b: u64) -> u64;
}

/// log2(x) for x of at least 1, as the headers have it.
pub fn log2(x: f64) -> f64 {
    nw_log2(fixed(x)) as f64 / ONE
}

/// 2^x for x from 0 to 20.
pub fn exp2(x: f64) -> f64 {
    nw_exp2(fixed(x)) as f64 / ONE
}

/// a/b in 2^-32.
pub fn ratio(a: u64, b: u64) -> u64 {
    nw_ratio(a, b)
}

/// `asked` as a controller with a window of `window` packets and that threshold.
pub fn controller(asked: &KernelLaw, window: f64, ssthresh: f64) -> Box<dyn Controller> {
    match asked.law {
        "fast" => Box::new(FastHeader { law: WindowHeader::new(&nw_fast, asked), window }),
        "etcp" => Box::new(PacedHeader::new(&nw_etcp, asked, window, ssthresh)),
        "etcp-rate" => Box::new(PacedHeader::new(&nw_etcp_rate, asked, window, ssthresh)),
        _ => {
            let law = OncePerEpoch::new(SlowStart::Standard, window_law(asked), window);
            Box::new(law.with_ssthresh(ssthresh))
        }
    }
}

/// `asked`, which is a law of two formulas.
pub fn window_law(asked: &KernelLaw) -> impl WindowLaw + 'static + use<> {
    let functions = match asked.law {
        "bic" => &nw_bic,
        "highspeed" => &nw_highspeed,
        "htcp" => &nw_htcp,
        "ltcp" => &nw_ltcp,
        _ => &nw_scalable,
    };
    WindowHeader::new(functions, asked)
}

/// State that C reads and writes.
#[repr(C, align(8))]
#[derive(Clone)]
struct Memory([u8; STATE]);

impl Memory {
    fn new(bytes: u64) -> Self {
        assert!(bytes <= STATE as u64, "{bytes} bytes of state");
        Self([0; STATE])
    }

    fn place(&mut self) -> State {
        self.0.as_mut_ptr().cast()
    }
}

#[derive(Clone)]
struct WindowHeader {
    functions: &'static Functions,
    settings: Vec<u64>,
    memory: Memory,
    rounds: Rounds,
}

impl WindowHeader {
    fn new(functions: &'static Functions, asked: &KernelLaw) -> Self {
        assert_eq!(8 * asked.settings.len() as u64, functions.settings, "{}", asked.law);
        let (settings, mut memory) = (asked.settings.clone(), Memory::new(functions.state));
        // SAFETY: `settings` and `memory` have the sizes that the law wants.
        unsafe { (functions.start)(settings.as_ptr(), memory.place()) };
        Self { functions, settings, memory, rounds: Rounds::default() }
    }
}

impl WindowLaw for WindowHeader {
    fn observe(&mut self, ack: &Ack) {
        self.observe_at(ack, 0.0);
    }

    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        let event = Event::of(ack, false);
        let window = fixed(window);
        // SAFETY: as in `new`; the event lives until the call returns.
        let after = unsafe {
            let (settings, memory) = (self.settings.as_ptr(), self.memory.place());
            (self.functions.increase)(settings, memory, &raw const event, window)
        };
        after as f64 / ONE
    }

    fn decrease(&mut self, window: f64, now: Time) -> f64 {
        let (settings, memory) = (self.settings.as_ptr(), self.memory.place());
        // SAFETY: as in `new`.
        let after =
            unsafe { (self.functions.decrease)(settings, memory, time(now), fixed(window)) };
        after as f64 / ONE
    }

    fn forget(&mut self) {
        if let Some(forget) = self.functions.forget {
            // SAFETY: as in `new`.
            unsafe { forget(self.settings.as_ptr(), self.memory.place()) };
        }
    }

    fn restart(&mut self, idle: &Idle) {
        if let Some(restart) = self.functions.restart.filter(|_| idle.is_long()) {
            let idle = u64::from(micros(idle.length));
            // SAFETY: as in `new`.
            unsafe { restart(self.settings.as_ptr(), self.memory.place(), idle) };
        }
    }
}

impl WindowHeader {
    fn observe_at(&mut self, ack: &Ack, window: f64) {
        let event = Event::of(ack, self.rounds.ends_with(ack));
        if let Some(observe) = self.functions.observe {
            let (settings, memory) = (self.settings.as_ptr(), self.memory.place());
            // SAFETY: as in `increase`.
            unsafe { observe(settings, memory, &raw const event, fixed(window)) };
        }
    }
}

/// FAST has no slow start and no threshold.
#[derive(Clone)]
struct FastHeader {
    law: WindowHeader,
    window: f64,
}

impl Controller for FastHeader {
    fn on_ack(&mut self, ack: &Ack) {
        self.law.observe_at(ack, self.window);
        if ack.window_limited && !ack.recovering {
            self.window = self.law.increase(self.window, ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch {
            self.window = self.law.decrease(self.window, loss.now).max(2.0);
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.window = timeout.in_flight + 1.0;
    }

    fn window(&self) -> f64 {
        self.window
    }
}

struct PacedHeader {
    functions: &'static PacedFunctions,
    settings: Vec<u64>,
    memory: Memory,
    rtt: u32,
    /// The next transmission when the first loss was noticed.
    holds: Option<u64>,
}

impl PacedHeader {
    fn new(
        functions: &'static PacedFunctions,
        asked: &KernelLaw,
        window: f64,
        ssthresh: f64,
    ) -> Self {
        assert_eq!(8 * asked.settings.len() as u64, functions.settings, "{}", asked.law);
        let (settings, mut memory) = (asked.settings.clone(), Memory::new(functions.state));
        let past = u32::from(window >= ssthresh);
        // SAFETY: `settings` and `memory` have the sizes that the law wants.
        unsafe { (functions.start)(settings.as_ptr(), memory.place(), fixed(window), past) };
        Self { functions, settings, memory, rtt: 0, holds: None }
    }
}

impl Controller for PacedHeader {
    fn on_ack(&mut self, ack: &Ack) {
        let mut event = Event::of(ack, false);
        event.rtt = ack.rtt.map_or(0, |rtt| micros(rtt.smoothed));
        self.rtt = event.rtt;
        let is_new = u32::from(self.holds.is_some_and(|next| ack.newest >= next));
        if !ack.window_limited || ack.recovering {
            event.acked = 0;
        }
        // SAFETY: as in `new`; the event lives until the call returns.
        unsafe {
            let (settings, memory) = (self.settings.as_ptr(), self.memory.place());
            (self.functions.ack)(settings, memory, &raw const event, is_new);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.holds.get_or_insert(loss.next);
        // SAFETY: as in `new`.
        unsafe { (self.functions.loss)(self.settings.as_ptr(), self.memory.place(), self.rtt) };
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        let (settings, memory) = (self.settings.as_ptr(), self.memory.place());
        let opens = u32::from(timeout.opens_epoch);
        // SAFETY: as in `new`.
        unsafe { (self.functions.timeout)(settings, memory, opens, self.rtt) };
    }

    fn window(&self) -> f64 {
        let mut memory = self.memory.clone();
        // SAFETY: as in `new`; the law only reads.
        unsafe { (self.functions.window)(memory.place(), self.rtt) as f64 / ONE }
    }
}
