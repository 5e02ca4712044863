//! Who comes first at equal times: a lot drawn from the time itself.
//!
//! Links of equal rates make arrivals and departures coincide to the picosecond, packet after
//! packet. A fixed order would then favour the same host each time, and lock the others out. Real
//! clocks drift against each other, so that the order stays for a while and then changes; so does
//! this one, every 8.6 ms. Lots drawn anew for each packet spread the losses of a burst over all
//! hosts: ten Reno flows and ten Telnets, whose timers tick at 0.1 s, over links of 100 Mbps into
//! one of 100 Mbps and 30 kB (GWA, figure 3) then fill 77 % of it, with an order that stays 88 %,
//! and 89 % if the hosts' links are slower by a thousandth, so that nothing coincides.

use crate::Time;

/// True if a packet that arrives at `at` comes before one whose last bit leaves at the same time,
/// so that it finds that packet still there. `salt` tells links and seeds apart.
pub fn arrival_comes_first(at: Time, salt: u32) -> bool {
    lot(at, salt) >> 63 == 1
}

/// Whether a packet whose last bit leaves at `leaves` has left when another arrives at `now`.
#[inline]
pub fn has_left(leaves: Time, now: Time, salt: u32) -> bool {
    leaves < now || leaves == now && !arrival_comes_first(now, salt)
}

/// The place of event number `index` among events of its kind at `at`: as fair as a lot, and
/// different for each index below 2³⁰.
pub fn place(at: Time, index: u32) -> u32 {
    const BITS: u32 = 30;
    const MASK: u32 = (1 << BITS) - 1;
    // Each step can be undone within 30 bits, so no two indices meet.
    let lot = (lot(at, 0) >> (64 - BITS)) as u32;
    let mixed = (index ^ lot).wrapping_mul(0x2c1b_3c6d) & MASK;
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x297a_2d39) & MASK;
    mixed ^ (mixed >> 15)
}

/// The order stays for 2³³ ps.
const STAYS: u32 = 33;

/// 64 bits that look random, the same for 8.6 ms.
// If it were not cold, the compiler would compute it in advance for each packet.
#[cold]
#[inline(never)]
fn lot(at: Time, salt: u32) -> u64 {
    let spell = at.picos() >> STAYS;
    let z = (spell ^ (u64::from(salt) << 32)).wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    /// A time in each of 30,000 spells.
    fn times() -> impl Iterator<Item = Time> {
        (0..30_000).map(|n| Time::ZERO + Duration::from_picos((1 << STAYS) + 83_200_000) * n)
    }

    #[test]
    fn the_order_stays_for_a_while() {
        let spell = |n: u64| Duration::from_picos(1 << STAYS) * n;
        for (n, packet) in (0..100).flat_map(|n| (0..103).map(move |packet| (n, packet))) {
            let (begins, at) = (Time::ZERO + spell(n), Duration::from_picos(83_200_000) * packet);
            assert_eq!(arrival_comes_first(begins, 5), arrival_comes_first(begins + at, 5));
            assert_eq!(place(begins, 7), place(begins + at, 7));
        }
    }

    #[test]
    fn every_second_tie_is_the_arrivals() {
        let first = times().filter(|at| arrival_comes_first(*at, 5)).count();
        // The deviation of 30,000 tosses is 87.
        assert!(first.abs_diff(15_000) < 4 * 87, "{first}");
        let both = times().zip(times().skip(1));
        let repeats =
            both.filter(|(a, b)| arrival_comes_first(*a, 5) == arrival_comes_first(*b, 5));
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
