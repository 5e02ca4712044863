//! Who comes first at equal times: a lot drawn from the time itself.
//!
//! Links of equal rates make arrivals and departures coincide to the picosecond, packet after
//! packet. A fixed order would then favour the same host each time, and lock the others out; real
//! clocks differ a little, and ns-2's times are rounded.

use crate::Time;

/// True if a packet that arrives at `at` comes before one whose last bit leaves at the same time,
/// so that it finds that packet still there.
pub fn arrival_comes_first(at: Time) -> bool {
    lot(at) >> 63 == 1
}

/// The place of event number `index` among events of its kind at `at`: as fair as a lot, and
/// different for each index below 2³⁰.
pub fn place(at: Time, index: u32) -> u32 {
    const BITS: u32 = 30;
    const MASK: u32 = (1 << BITS) - 1;
    // Each step can be undone within 30 bits, so no two indices meet.
    let lot = (lot(at) >> (64 - BITS)) as u32;
    let mixed = (index ^ lot).wrapping_mul(0x2c1b_3c6d) & MASK;
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x297a_2d39) & MASK;
    mixed ^ (mixed >> 15)
}

/// 64 bits that look random: a multiplication would not do, as times that are equally far apart
/// would give a pattern.
// If it were not cold, the compiler would compute it in advance for each packet.
#[cold]
#[inline(never)]
fn lot(at: Time) -> u64 {
    let z = (at.picos() ^ (at.picos() >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    /// Times at which packets of 1040 bytes leave a link of 100 Mbps.
    fn times() -> impl Iterator<Item = Time> {
        (0..30_000).map(|n| Time::ZERO + Duration::from_picos(83_200_000) * n)
    }

    #[test]
    fn every_second_tie_is_the_arrivals() {
        let first = times().filter(|at| arrival_comes_first(*at)).count();
        // The deviation of 30,000 tosses is 87.
        assert!(first.abs_diff(15_000) < 4 * 87, "{first}");
        let both = times().zip(times().skip(1));
        let repeats = both.filter(|(a, b)| arrival_comes_first(*a) == arrival_comes_first(*b));
        assert!(repeats.count().abs_diff(15_000) < 4 * 87, "the next toss knows nothing of this");
    }

    #[test]
    fn each_of_five_is_first_as_often() {
        let mut first = [0u32; 5];
        for at in times() {
            let winner = (0..5).min_by_key(|index| place(at, 2 * index)).expect("five");
            first[winner as usize] += 1;
        }
        // The deviation is 69.
        assert!(first.iter().all(|wins| wins.abs_diff(6000) < 4 * 69), "{first:?}");
    }

    #[test]
    fn places_differ() {
        let at = Time::ZERO + Duration::from_picos(83_200_000);
        let mut places: Vec<u32> = (0..100_000).map(|index| place(at, index)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 100_000);
        assert!(places.iter().all(|place| *place < 1 << 30));
    }
}
