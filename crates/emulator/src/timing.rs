//! What this machine does to timing, as the simulator's `host` describes it.

use crate::sys;
use crate::wire::STALL;
use narrows_sim::Histogram;
use narrows_units::Duration;
use std::io::{Result, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Nanoseconds between two looks at a timer, and between two packets for somebody who waits.
const EVERY: u64 = 1_000_000;

/// What was measured, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct HostTiming {
    /// How late a timer of a thread before all others goes off: 50 %, 99 %, 99.9 %.
    pub timer: [u64; 3],
    /// How long after something came for it an ordinary thread runs: 50 %, 90 %, 99 %.
    pub wake_up: [u64; 3],
    /// How often the machine stood still for more than 0.4 ms, and for how long altogether.
    pub stalls: (u64, Duration),
    /// For how long it was measured.
    pub measured: Duration,
}

/// Measures for `span`; `watch` is shown the share done, and may stop it.
pub fn measure_host(
    span: Duration,
    mut watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<HostTiming> {
    let begun = sys::monotonic_nanos();
    let end = begun + span.picos() / 1000;
    let stop = AtomicBool::new(false);
    let is_over = || stop.load(Ordering::Relaxed) || sys::monotonic_nanos() >= end;
    let (reader, mut writer) = std::io::pipe()?;
    let reader = std::fs::File::from(std::os::fd::OwnedFd::from(reader));
    let written = AtomicU64::new(0);
    thread::scope(|scope| {
        let timer = scope.spawn(|| {
            sys::hurry(1);
            timer(&is_over, &reader_of_nothing()?)
        });
        let waiting = scope.spawn(|| -> Result<Histogram> {
            let mut wake_up = Histogram::default();
            let mut byte = [0];
            while !is_over() {
                if sys::wait_readable(&reader, 10 * EVERY)? {
                    std::io::Read::read_exact(&mut (&reader), &mut byte)?;
                    let came = written.load(Ordering::Acquire);
                    wake_up.add(sys::monotonic_nanos().saturating_sub(came));
                }
            }
            Ok(wake_up)
        });
        while !is_over() {
            thread::sleep(std::time::Duration::from_nanos(EVERY));
            written.store(sys::monotonic_nanos(), Ordering::Release);
            writer.write_all(&[1])?;
            let done = (sys::monotonic_nanos() - begun) as f64 / (end - begun) as f64;
            if watch(done.min(1.0)).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let (late, stalls) = timer.join().expect("a timer does not panic")?;
        let wake_up = waiting.join().expect("a wait does not panic")?;
        Ok(HostTiming {
            timer: [0.5, 0.99, 0.999].map(|share| late.quantile(share)),
            wake_up: [0.5, 0.9, 0.99].map(|share| wake_up.quantile(share)),
            stalls,
            measured: Duration::from_picos((sys::monotonic_nanos() - begun) * 1000),
        })
    })
}

/// A descriptor on which nothing ever comes.
fn reader_of_nothing() -> Result<(std::fs::File, std::io::PipeWriter)> {
    let (reader, writer) = std::io::pipe()?;
    Ok((std::fs::File::from(std::os::fd::OwnedFd::from(reader)), writer))
}

/// Waits again and again; returns how late it woke, and the stalls.
fn timer(
    is_over: &impl Fn() -> bool,
    (nothing, _open): &(std::fs::File, std::io::PipeWriter),
) -> Result<(Histogram, (u64, Duration))> {
    let (mut late, mut stalls) = (Histogram::default(), (0, Duration::ZERO));
    while !is_over() {
        let due = sys::monotonic_nanos() + EVERY;
        sys::wait_readable(nothing, EVERY)?;
        let by = sys::monotonic_nanos().saturating_sub(due);
        late.add(by);
        let by = Duration::from_picos(by * 1000);
        if by > STALL {
            stalls.0 += 1;
            stalls.1 += by;
        }
    }
    Ok((late, stalls))
}
