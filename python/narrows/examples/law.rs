//! Reno as a WebAssembly module, for `narrows judge law.wasm` and `--cc wasm:law.wasm`:
//!
//!     rustc --edition 2024 --target wasm32-unknown-unknown --crate-type cdylib -O examples/law.rs
//!
//! Each connection has memory of its own. Numbers are 64-bit floats; truths are 0 and 1.
//! docs/judge.md says what each means.

#![no_std]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that calls share.
struct Number(AtomicU64);

impl Number {
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }
}

/// Packets.
static WINDOW: Number = Number(AtomicU64::new(0));
static SSTHRESH: Number = Number(AtomicU64::new(f64::INFINITY.to_bits()));

/// A connection begins.
#[unsafe(no_mangle)]
pub extern "C" fn begin(initial_window: f64) {
    WINDOW.set(initial_window);
}

/// An acknowledgement of `packets` arrived; times are in seconds, rates in packets per second.
#[unsafe(no_mangle)]
#[allow(unused_variables, clippy::too_many_arguments)]
pub extern "C" fn on_ack(
    now: f64,
    packets: f64,
    rtt: f64,
    srtt: f64,
    min_rtt: f64,
    in_flight: f64,
    window_limited: f64,
    recovering: f64,
    marked: f64,
    delivery_rate: f64,
    delivered: f64,
) {
    if window_limited == 0.0 || recovering != 0.0 {
        return;
    }
    let (window, ssthresh) = (WINDOW.get(), SSTHRESH.get());
    WINDOW.set(if window < ssthresh {
        (window + packets).min(ssthresh)
    } else {
        window + packets / window
    });
}

/// A packet was lost, or the retransmission timer went off.
#[unsafe(no_mangle)]
#[allow(unused_variables)]
pub extern "C" fn on_loss(now: f64, opens_epoch: f64, timeout: f64, in_flight: f64) {
    if opens_epoch != 0.0 {
        SSTHRESH.set((WINDOW.get() / 2.0).max(2.0));
        WINDOW.set(SSTHRESH.get());
    }
    if timeout != 0.0 {
        WINDOW.set(1.0);
    }
}

/// What it answers after each, in packets.
#[unsafe(no_mangle)]
pub extern "C" fn window() -> f64 {
    WINDOW.get()
}

/// The slow-start threshold, in packets.
#[unsafe(no_mangle)]
pub extern "C" fn ssthresh() -> f64 {
    SSTHRESH.get()
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
