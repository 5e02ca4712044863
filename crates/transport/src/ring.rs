//! Rings of records, one for each packet outstanding, which take little more memory than they need.

use std::collections::VecDeque;

/// Adds `item` to `ring`. One that is full grows by a quarter: of what doubling adds, half would
/// never be used, and with many flows rings are much of the memory.
#[inline]
pub(crate) fn push<T>(ring: &mut VecDeque<T>, item: T) {
    if ring.len() == ring.capacity() {
        make_room(ring);
    }
    ring.push_back(item);
}

#[cold]
#[inline(never)]
fn make_room<T>(ring: &mut VecDeque<T>) {
    const LEAST: usize = 4;
    ring.reserve_exact(LEAST.max(ring.len() / 4));
}

/// Leaves `ring` half as much room again as it needs: a ring is written all around, and so takes as
/// much of a cache as it has room. One that is empty needs none.
pub(crate) fn fit<T>(ring: &mut VecDeque<T>) {
    const LEAST: usize = 16;
    if ring.is_empty() {
        *ring = VecDeque::new();
    } else if ring.capacity() > LEAST.max(2 * ring.len()) {
        ring.shrink_to(ring.len() + ring.len() / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_little_more_room_than_it_needs() {
        let mut ring = VecDeque::new();
        for item in 0..1000u64 {
            push(&mut ring, item);
            assert!(ring.capacity() <= ring.len().max(4) * 5 / 4 + 3, "{}", ring.capacity());
        }
        assert!(ring.iter().copied().eq(0..1000));
        ring.drain(..900);
        fit(&mut ring);
        assert!(ring.capacity() <= 150 && ring.iter().copied().eq(900..1000));
        ring.clear();
        fit(&mut ring);
        assert_eq!(ring.capacity(), 0);
    }
}
