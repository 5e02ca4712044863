#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use narrows_units::*;
use narrows_transport::tcp::RecoveryKind;
fn main() {
    let ms = Duration::from_millis;
    let base = Dumbbell { rtt: ms(100), warmup: ms(0), recovery: RecoveryKind::Sack, ..Dumbbell::default() };
    let cases = [
        ("a", Dumbbell { rate: Rate::from_megabits(1000), flows: 50, buffer: 20, duration: ms(20_000), ..base.clone() }),
        ("b", Dumbbell { rate: Rate::from_megabits(1000), flows: 1, buffer: 12_000, duration: ms(20_000), ..base.clone() }),
        ("c", Dumbbell { rate: Rate::from_megabits(10_000), flows: 100, buffer: 1000, duration: ms(5_000), ..base.clone() }),
        ("d", Dumbbell { rate: Rate::from_megabits(1000), flows: 1000, buffer: 500, duration: ms(10_000), ..base.clone() }),
        ("e", Dumbbell { rate: Rate::from_megabits(1000), flows: 10_000, buffer: 500, duration: ms(10_000), ..base.clone() }),
    ];
    let only = std::env::args().nth(1);
    for (name, case) in cases {
        if only.as_deref().is_some_and(|o| o != name) { continue; }
        #[allow(clippy::disallowed_types)]
        let start = std::time::Instant::now();
        let sim = case.run();
        let wall = start.elapsed().as_secs_f64();
        let link = sim.link(BOTTLENECK);
        println!("{name}: {} packets, {:.3} s, {:.2} M/s  util {:.3} loss {:.4}", sim.delivered(), wall, sim.delivered() as f64 / wall / 1e6, link.utilisation, link.drops as f64 / link.arrivals as f64);
    }
}
