//! The scripts: what the path and the application do. Most have 1000 packets per second and 40 ms,
//! so that 40 packets fill the path.

use crate::path::{Path, Steps};
use narrows_units::Duration;

/// A script.
pub struct Script {
    pub name: &'static str,
    /// What to look at.
    pub shows: &'static str,
    pub path: Path,
    /// Seconds.
    pub lasts: f64,
}

const RATE: f64 = 1000.0;

fn base(buffer: usize) -> Path {
    Path::new(RATE, millis(40), buffer)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// All scripts.
pub fn all() -> Vec<Script> {
    let script = |name, shows, lasts, path| Script { name, shows, path, lasts };
    let changed = |buffer, change: fn(Path) -> Path| change(base(buffer));
    vec![
        script("clean", "Startup, Drain and CRUISE on a path that loses nothing", 2.0, base(400)),
        script("startup-loss", "a queue of 10 packets ends Startup by losses", 3.0, base(10)),
        script("cycle", "DOWN, CRUISE, REFILL, UP with room for what UP sends", 12.0, base(80)),
        script("too-high", "probes that overflow a queue of 10 packets", 12.0, base(10)),
        script(
            "rtt-step",
            "40 ms become 60 ms at 3 s: ProbeRTT, and min_rtt at 10 s",
            16.0,
            changed(120, |path| Path {
                rtt: Steps::always(millis(40)).then(3.0, millis(60)),
                ..path
            }),
        ),
        script(
            "idle",
            "nothing to send from 2 s to 9 s: no ProbeRTT as it resumes",
            12.0,
            changed(80, |path| Path {
                offers: Steps::always(f64::INFINITY).then(2.0, 0.0).then(9.0, f64::INFINITY),
                ..path
            }),
        ),
        script(
            "app-limited",
            "200 packets per second for 4 s: Startup goes on; then all it can",
            8.0,
            changed(80, |path| Path {
                offers: Steps::always(200.0).then(4.0, f64::INFINITY),
                ..path
            }),
        ),
        script(
            "spurious",
            "ten packets come 30 ms late at 1.5 s: a recovery without a loss",
            4.0,
            changed(80, |path| Path {
                late: Steps::always(Duration::ZERO)
                    .then(1.5, millis(30))
                    .then(1.51, Duration::ZERO),
                ..path
            }),
        ),
        script(
            "random-loss",
            "1 % of random loss from 2 s on: the short-term bounds, and undershoot",
            12.0,
            changed(80, |path| Path { loss: Steps::always(0.0).then(2.0, 0.01), ..path }),
        ),
        script(
            "half-rate",
            "the rate falls to 500 at 4 s",
            14.0,
            changed(40, |path| Path { rate: Steps::always(RATE).then(4.0, 500.0), ..path }),
        ),
        script(
            "double-rate",
            "the rate rises to 2000 at 4 s",
            14.0,
            changed(40, |path| Path { rate: Steps::always(RATE).then(4.0, 2000.0), ..path }),
        ),
        script(
            "aggregation",
            "acknowledgements arrive every 20 ms",
            8.0,
            changed(80, |path| Path { hold: Steps::always(millis(20)), ..path }),
        ),
        script("tiny", "10 packets per second, 40 ms: 0.4 packets fill the path", 20.0, {
            Path::new(10.0, millis(40), 20)
        }),
    ]
}

/// The known comparison: 100 Mbit/s, 40 ms, `buffer` packets.
pub fn known(buffer: usize) -> Path {
    Path::new(100e6 / 12_000.0, millis(40), buffer)
}
