//! What it takes to have the same run twice: a guide, and what of it a library can do.
//!
//! 1. **Give a stack all that it takes**: seeds, connection ids, keys of tokens. The `pair`s of
//!    this crate do.
//! 2. **What it draws from the system all the same** (quinn's BBR and noq's BBRv3 seed themselves
//!    with `rand::rng()`, quinn issue 1684) comes from the crate getrandom, which a whole build can
//!    point elsewhere, but no library: put into `.cargo/config.toml` of the workspace that is built
//!
//!    ```toml
//!    [build]
//!    rustflags = ["--cfg", "getrandom_backend=\"custom\""]
//!    ```
//!
//!    This module then answers: on a thread that has [begun](begin) with numbers from its seed, on
//!    all others with the system's. An environment variable `RUSTFLAGS` replaces that line.
//! 3. **A fresh thread for each run**, as `rand` seeds itself once a thread: [`on_fresh_thread`].
//!    Runs of narrows-scenario and narrows-lab have one.
//! 4. **Real TLS** draws from ring, which no setting reaches: bytes then differ from run to run,
//!    but times and sizes are the same, and so are results.

use crate::streams::stream;
use narrows_units::Stream;
use std::cell::Cell;

/// The stream of a thread; those of ends have other numbers.
const THREAD: u64 = 0;

thread_local! {
    /// The numbers of this thread; `None` for the system's.
    static NUMBERS: Cell<Option<Stream>> = const { Cell::new(None) };
}

/// True if this build draws from here what the crate getrandom is asked for.
pub const fn is_in_force() -> bool {
    cfg!(getrandom_backend = "custom")
}

/// From now on this thread draws numbers that `seed` decides.
pub fn begin(seed: u64) {
    NUMBERS.set(Some(stream(seed, THREAD)));
}

/// Runs `run` on a thread that has done nothing else, and draws numbers that `seed` decides.
pub fn on_fresh_thread<T: Send>(seed: u64, run: impl FnOnce() -> T + Send) -> T {
    let outcome = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            begin(seed);
            run()
        });
        thread.join()
    });
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Fills `bytes` with the next numbers of this thread; false if it draws from the system.
#[cfg(any(getrandom_backend = "custom", test))]
fn drawn(bytes: &mut [u8]) -> bool {
    let mut stream = NUMBERS.take();
    stream.iter_mut().for_each(|stream| crate::streams::fill(stream, bytes));
    let draws = stream.is_some();
    NUMBERS.set(stream);
    draws
}

#[cfg(getrandom_backend = "custom")]
mod backend {
    use std::io::Read as _;

    /// What getrandom 0.3 and 0.4 call if they are pointed elsewhere.
    ///
    /// # Safety
    /// `bytes` are `length` bytes that may be written.
    #[expect(unsafe_code, reason = "getrandom says what it is called like, and with a pointer")]
    #[unsafe(no_mangle)]
    unsafe extern "Rust" fn __getrandom_v03_custom(
        bytes: *mut u8,
        length: usize,
    ) -> Result<(), getrandom::Error> {
        // SAFETY: getrandom hands over memory of that length; it may not be initialised.
        let bytes = unsafe {
            std::ptr::write_bytes(bytes, 0, length);
            std::slice::from_raw_parts_mut(bytes, length)
        };
        if super::drawn(bytes) {
            return Ok(());
        }
        let system = std::fs::File::open("/dev/urandom");
        let read = system.and_then(|mut system| system.read_exact(bytes));
        read.map_err(|_| getrandom::Error::UNEXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_thread_draws_what_its_seed_decides() {
        let next = || {
            let mut bytes = [0; 12];
            drawn(&mut bytes).then_some(bytes)
        };
        let draw = |seed| on_fresh_thread(seed, || [next(), next()]);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(std::thread::spawn(next).join().ok(), Some(None));
    }
}
