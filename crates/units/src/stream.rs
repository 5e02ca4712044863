//! Seeded randomness: each flow and each link has a stream of its own, so that adding one changes
//! no other.

/// A pseudo-random sequence: SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
///
/// Eight bytes of state, no dependency, the same bits on every machine.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Stream number `index` of the family `family` under `seed`. Streams with different numbers
    /// are unrelated.
    pub fn new(seed: u64, family: u64, index: u64) -> Self {
        let mut start = Self(seed);
        for number in [family, index] {
            start = Self(start.bits() ^ number.wrapping_mul(Self::GOLDEN_GAMMA));
        }
        Self(start.bits())
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GOLDEN_GAMMA);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number uniformly from [0, 1), with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws an exponentially distributed number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        // Not the system's logarithm: its last bit differs from machine to machine, and every run
        // would differ with it.
        -libm::log(1.0 - self.uniform())
    }

    /// True with probability `p`.
    pub fn happens(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_those_of_splitmix64() {
        // First outputs for state 1234567, from the reference implementation by S. Vigna.
        let mut stream = Stream(1_234_567);
        assert_eq!(
            [stream.bits(), stream.bits(), stream.bits()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn streams_of_one_family_do_not_resemble_each_other() {
        let n = 20_000;
        let (mut a, mut b) = (Stream::new(1, 2, 3), Stream::new(1, 2, 4));
        let products: f64 = (0..n).map(|_| (a.uniform() - 0.5) * (b.uniform() - 0.5)).sum();
        // Each product has variance 1/144: the sum stays within five standard deviations.
        assert!(products.abs() < 5.0 * (f64::from(n) / 144.0).sqrt(), "{products}");
    }

    #[test]
    fn an_exponential_has_mean_and_deviation_one() {
        let mut stream = Stream::new(7, 0, 0);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.016 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
