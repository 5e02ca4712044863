//! Sizes of transfers: distributions over bytes.

use narrows_units::Stream;
use std::sync::Arc;

/// A distribution of sizes in bytes of payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    shape: Shape,
    /// No size is above this; infinite if there is no limit.
    most: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Fixed(f64),
    Pareto { least: f64, shape: f64 },
    Table(Arc<[Knot]>),
}

/// A point of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knot {
    /// Bytes.
    pub bytes: f64,
    /// The share of sizes up to these (a ratio).
    pub share: f64,
}

/// Terms of a sum over all packets of a transfer; an integral has the rest.
const TERMS: u32 = 1 << 20;

impl Sizes {
    /// All sizes are `bytes`, at least 1.
    pub fn fixed(bytes: f64) -> Self {
        assert!(bytes >= 1.0, "{bytes} bytes are no size");
        Self { shape: Shape::Fixed(bytes), most: f64::INFINITY }
    }

    /// Pareto-distributed sizes with this mean in bytes, and a `shape` above 1.
    pub fn pareto(mean: f64, shape: f64) -> Self {
        assert!(shape > 1.0, "a Pareto distribution with shape {shape} has no mean");
        // The mean is shape/(shape − 1) times the smallest value.
        let least = mean * (shape - 1.0) / shape;
        Self { shape: Shape::Pareto { least, shape }, most: f64::INFINITY }
    }

    /// Sizes between the knots, uniformly from each to the next. `None` unless bytes and shares
    /// never fall, the shares begin at 0 and end at 1, and the last size is at least 1 byte.
    pub fn table(knots: impl IntoIterator<Item = Knot>) -> Option<Self> {
        let knots: Arc<[Knot]> = knots.into_iter().collect();
        let rises = knots.is_sorted_by(|a, b| a.bytes <= b.bytes && a.share <= b.share);
        let (first, last) = (knots.first()?, knots.last()?);
        let is_whole = first.share == 0.0 && last.share == 1.0;
        let is_size = first.bytes >= 0.0 && last.bytes >= 1.0 && last.bytes.is_finite();
        (rises && is_whole && is_size)
            .then_some(Self { shape: Shape::Table(knots), most: f64::INFINITY })
    }

    /// The same among those of at most `bytes`; `None` if there are none.
    pub fn at_most(self, bytes: f64) -> Option<Self> {
        let limited = Self { most: self.most.min(bytes), ..self };
        let is_there = match limited.shape {
            Shape::Fixed(size) => size <= bytes,
            _ => limited.share_up_to(bytes) > 0.0,
        };
        (is_there && bytes >= 1.0).then_some(limited)
    }

    /// Draws a size in bytes, at least 1.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        self.quantile(stream.uniform()).round().max(1.0) as u64
    }

    /// The size in bytes that the share `u` of sizes, from 0 to 1, does not exceed.
    pub fn quantile(&self, u: f64) -> f64 {
        let u = if self.most.is_finite() { u * self.share_up_to(self.most) } else { u };
        match &self.shape {
            Shape::Fixed(bytes) => *bytes,
            Shape::Pareto { least, shape } => least * libm::pow(1.0 - u, -1.0 / shape),
            Shape::Table(knots) => {
                let above = knots.partition_point(|knot| knot.share <= u);
                let Some(next) = knots.get(above) else { return knots[above - 1].bytes };
                let before = knots[above - 1];
                let part = (u - before.share) / (next.share - before.share);
                before.bytes + part * (next.bytes - before.bytes)
            }
        }
    }

    /// Mean size in bytes.
    pub fn mean(&self) -> f64 {
        let whole = if self.most.is_finite() { self.share_up_to(self.most) } else { 1.0 };
        match &self.shape {
            Shape::Fixed(bytes) => *bytes,
            Shape::Pareto { least, shape } => {
                let all = least * shape / (shape - 1.0);
                // Those above the limit have shape/(shape − 1) times that as their mean.
                let above = self.most * shape / (shape - 1.0) * (1.0 - whole);
                if self.most.is_finite() { (all - above) / whole } else { all }
            }
            Shape::Table(knots) => {
                let sum: f64 = knots
                    .windows(2)
                    .map(|pair| {
                        let [from, to] = pair else { unreachable!("windows of two") };
                        let end = to.bytes.min(self.most);
                        let share = self.whole_share_up_to(end) - from.share;
                        share.max(0.0) * (from.bytes + end) / 2.0
                    })
                    .sum();
                sum / whole
            }
        }
    }

    /// Mean number of packets that carry up to `payload` bytes each.
    pub fn mean_packets(&self, payload: f64) -> f64 {
        if let Shape::Fixed(bytes) = self.shape {
            return (bytes / payload).ceil();
        }
        let whole = self.share_up_to(self.most);
        let above = |bytes: f64| ((whole - self.share_up_to(bytes)) / whole).max(0.0);
        let mut sum = 0.0;
        for packets in 0..TERMS {
            let more = above(f64::from(packets) * payload);
            if more <= 0.0 {
                return sum;
            }
            sum += more;
        }
        // Only a Pareto distribution without a limit, or a table beyond a gigabyte, comes here.
        let from = f64::from(TERMS) * payload;
        sum + (self.mean() - self.mean_below(from)) / payload - above(from) * f64::from(TERMS)
    }

    /// The part of the mean that sizes of at most `bytes` make.
    fn mean_below(&self, bytes: f64) -> f64 {
        let share = self.share_up_to(bytes) / self.share_up_to(self.most);
        let part = Self { shape: self.shape.clone(), most: self.most.min(bytes) };
        part.mean() * share
    }

    /// The share of sizes up to `bytes`, among all without the limit.
    fn share_up_to(&self, bytes: f64) -> f64 {
        self.whole_share_up_to(bytes.min(self.most))
    }

    fn whole_share_up_to(&self, bytes: f64) -> f64 {
        match &self.shape {
            Shape::Fixed(size) => f64::from(u8::from(*size <= bytes)),
            Shape::Pareto { least, .. } if bytes <= *least => 0.0,
            Shape::Pareto { least, shape } => 1.0 - libm::pow(least / bytes, *shape),
            Shape::Table(knots) => {
                let above = knots.partition_point(|knot| knot.bytes <= bytes);
                let Some(before) = above.checked_sub(1) else { return 0.0 };
                let before = knots[before];
                let Some(next) = knots.get(above) else { return 1.0 };
                let part = (bytes - before.bytes) / (next.bytes - before.bytes);
                before.share + part * (next.share - before.share)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(knots: &[(f64, f64)]) -> Sizes {
        let knots =
            knots.iter().map(|(bytes, percent)| Knot { bytes: *bytes, share: percent / 100.0 });
        Sizes::table(knots).expect("a distribution")
    }

    #[test]
    fn a_table_is_linear_between_its_knots() {
        let sizes = table(&[(0.0, 0.0), (100.0, 50.0), (300.0, 100.0)]);
        for (u, bytes) in [(0.0, 0.0), (0.25, 50.0), (0.5, 100.0), (0.75, 200.0)] {
            assert_eq!(sizes.quantile(u), bytes);
        }
        // ½·50 + ½·200.
        assert_eq!(sizes.mean(), 125.0);
        // More than 0: 1; than 100: ½; than 200: ¼; of 100 bytes a packet.
        assert_eq!(sizes.mean_packets(100.0), 1.75);
        // Up to 200 bytes are ¾: a third of these are above 100, with mean 150.
        let short = sizes.at_most(200.0).expect("some are");
        assert!((short.mean() - (50.0 * 2.0 + 150.0) / 3.0).abs() < 1e-9, "{}", short.mean());
        assert_eq!(short.quantile(1.0 - 1e-12).round(), 200.0);
        assert!((short.mean_packets(100.0) - 4.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_pareto_distribution_has_the_mean_that_it_was_given() {
        let sizes = Sizes::pareto(30_000.0, 1.35);
        assert!((sizes.mean() - 30_000.0).abs() < 1e-6);
        let drawn = |sizes: &Sizes| {
            let mut stream = Stream::new(5, 0, 0);
            (0..200_000).map(|_| sizes.draw(&mut stream) as f64).sum::<f64>() / 2e5
        };
        let short = sizes.clone().at_most(1e6).expect("some are");
        // Its integral: a·l^a·(l^(1−a) − m^(1−a))/(a − 1), over the share up to m.
        let (l, a, m) = (30_000.0 * 0.35 / 1.35f64, 1.35f64, 1e6f64);
        let mean = a * l.powf(a) * (l.powf(1.0 - a) - m.powf(1.0 - a))
            / (a - 1.0)
            / (1.0 - (l / m).powf(a));
        assert!((short.mean() / mean - 1.0).abs() < 1e-12, "{} {mean}", short.mean());
        assert!((drawn(&short) / mean - 1.0).abs() < 0.02, "{}", drawn(&short));
        let packets: f64 =
            (0..2_000_000).map(|k| (1.0f64).min((l / (f64::from(k) * 1000.0)).powf(a))).sum();
        let tail = 2e9 * (l / 2e9).powf(a) / (a - 1.0) / 1000.0;
        let got = sizes.mean_packets(1000.0);
        assert!((got / (packets + tail) - 1.0).abs() < 1e-4, "{got} {}", packets + tail);
    }

    #[test]
    fn all_fixed_sizes_are_one() {
        let sizes = Sizes::fixed(2500.0);
        assert_eq!((sizes.draw(&mut Stream::new(1, 1, 1)), sizes.mean()), (2500, 2500.0));
        assert_eq!(sizes.mean_packets(1000.0), 3.0);
        assert_eq!(sizes.at_most(2000.0), None);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let knots = |list: &[(f64, f64)]| {
            Sizes::table(list.iter().map(|(bytes, share)| Knot { bytes: *bytes, share: *share }))
        };
        assert_eq!(knots(&[]), None);
        assert_eq!(knots(&[(0.0, 0.1), (9.0, 1.0)]), None);
        assert_eq!(knots(&[(0.0, 0.0), (9.0, 0.9)]), None);
        assert_eq!(knots(&[(5.0, 0.0), (4.0, 1.0)]), None);
        assert_eq!(knots(&[(0.0, 0.0), (0.0, 1.0)]), None);
        assert!(knots(&[(5.0, 0.0), (5.0, 1.0)]).is_some());
    }
}
