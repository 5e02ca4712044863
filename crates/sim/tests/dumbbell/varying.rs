//! Links of which everything may vary, drawn at random.

use narrows_router::Limit;
use narrows_router::service::{BucketSettings, Opportunities, Steps};
use narrows_sim::{
    Act, Admits, Every, Hold, Jitter, Line, LinkSettings, Loss, Policer, Script, ScriptLine,
    Varying,
};
use narrows_units::{Bytes, Duration, Rate, Stream, Time};

/// `link` with what varies of its direction `number` drawn from `seed`; nothing if that is 0.
pub fn drawn(link: &LinkSettings, seed: u64, number: u32) -> Varying {
    let steady = Varying::of(link);
    if seed == 0 {
        return steady;
    }
    let mut draw = Draw(Stream::new(seed, 88, number.into()));
    let packets = |limit| match limit {
        Limit::Packets(packets) => packets,
        _ => 50,
    };
    let most = packets(link.limit);
    let orders = !link.jitter.reorders;
    let line = draw.line(link.rate);
    // A trace shapes by itself.
    let is_shaped = draw.seldom() && !matches!(line, Line::Trace(_));
    Varying {
        line,
        shaper: is_shaped.then(|| draw.bucket(link.rate, 3000)),
        policer: draw
            .seldom()
            .then(|| Policer { bucket: draw.bucket(link.rate, 6000), marks: draw.seldom() }),
        limits: draw.steps(link.limit, |draw| Limit::Packets(1 + draw.below(2 * most))),
        marks: steady.marks.clone(),
        queues: None,
        mtus: draw.steps(u32::MAX, |draw| [1500, 1200, 900][draw.below(3) as usize]),
        delays: draw.steps(link.delay, |draw| Duration::from_micros(draw.below(60_000))),
        losses: draw.steps(link.loss, |draw| Loss::Bernoulli(draw.0.uniform() * 0.02)),
        jitters: draw.steps(link.jitter, |draw| Jitter {
            most: Duration::from_micros(draw.below(2000)),
            reorders: !orders,
        }),
        down: draw.spans(),
        loses: draw.spans(),
        hold: (orders && draw.seldom()).then(|| draw.hold()),
        script: draw.script(orders),
        memory: None,
        is_open: false,
    }
}

struct Draw(Stream);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0.bits() % most.max(1)
    }

    fn seldom(&mut self) -> bool {
        self.below(3) == 0
    }

    /// Rising times within three seconds.
    fn times(&mut self) -> Vec<Time> {
        let count = self.below(6);
        let mut times: Vec<_> =
            (0..count).map(|_| Time::from_picos(1 + self.below(3_000_000_000_000))).collect();
        times.sort();
        times.dedup();
        times
    }

    fn steps<T: Copy>(&mut self, first: T, mut value: impl FnMut(&mut Self) -> T) -> Steps<T> {
        let times = if self.seldom() { self.times() } else { Vec::new() };
        let period = self.seldom().then_some(Duration::from_millis(3001));
        let changes: Vec<_> = times.into_iter().map(|at| (at, value(self))).collect();
        Steps::new(first, changes, period)
    }

    fn spans(&mut self) -> Steps<bool> {
        let mut is_out = false;
        let times = if self.seldom() { self.times() } else { Vec::new() };
        // Outages are short, or hardly anything would happen.
        let changes = times
            .into_iter()
            .flat_map(|at| [(at, true), (at + Duration::from_micros(40_000), false)]);
        let mut spans: Vec<(Time, bool)> = Vec::new();
        for (at, out) in changes {
            if spans.last().is_none_or(|(last, _)| *last < at) && out != is_out {
                is_out = out;
                spans.push((at, out));
            }
        }
        Steps::new(false, spans, None)
    }

    fn line(&mut self, rate: Rate) -> Line {
        match self.below(4) {
            0 => Line::Steady,
            1 => Line::Trace(self.trace()),
            _ => {
                let bits = rate.bits_per_second();
                Line::Course(
                    self.steps(Some(rate), |draw| {
                        Rate::from_bits_per_second(draw.below(5) * bits / 2)
                    }),
                )
            }
        }
    }

    fn trace(&mut self) -> Opportunities {
        let (mut at, mut text) = (0, String::new());
        for _ in 0..1 + self.below(400) {
            at += self.below(4);
            text.push_str(&format!("{at}\n"));
        }
        text.push_str(&format!("{}\n", at + 1));
        Opportunities::parse(&text).expect("a trace")
    }

    fn bucket(&mut self, rate: Rate, least: u64) -> BucketSettings {
        let bits = (rate.bits_per_second() as f64 * (0.3 + self.0.uniform())) as u64;
        let rate = Rate::from_bits_per_second(bits).expect("above 0");
        BucketSettings { rate, burst: Bytes::new(least + self.below(20_000)) }
    }

    fn hold(&mut self) -> Hold {
        let gap = Duration::from_micros(500 + self.below(8000));
        let every = if self.seldom() { Every::OnAverage(gap) } else { Every::Exactly(gap) };
        let closed = self.seldom().then(|| gap.scale(0.4));
        Hold { every, most: 1 + self.below(40), closed, phase: gap.scale(self.0.uniform()) }
    }

    fn script(&mut self, orders: bool) -> Script {
        let lines = if self.seldom() { self.below(4) } else { 0 };
        let line = |draw: &mut Self| {
            let first = 1 + draw.below(300);
            let late = Act::Late(Duration::from_micros(draw.below(30_000)));
            let act = [Act::Drop, Act::Mark, Act::Twice, if orders { Act::Drop } else { late }];
            ScriptLine {
                act: act[draw.below(4) as usize],
                admits: Admits { least: draw.below(600) as u32, ..Admits::ALL },
                numbers: vec![first..=first + draw.below(5)],
                each: draw.seldom().then(|| first + 5 + draw.below(200)),
            }
        };
        Script((0..lines).map(|_| line(self)).collect::<Vec<_>>().into())
    }
}
