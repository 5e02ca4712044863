//! Packets whose retransmission is lost: they lie below what the scoreboard looks at next, which
//! else would begin again there for each of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Numbers, the lowest first; those that wait no longer may still be among them.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "few connections have one, and all are smaller by it")]
pub(super) struct LostAgain(Option<Box<BinaryHeap<Reverse<u64>>>>);

impl LostAgain {
    /// Nothing.
    pub const fn new() -> Self {
        Self(None)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn push(&mut self, number: u64) {
        self.0.get_or_insert_default().push(Reverse(number));
    }

    /// The lowest that still `waits`; those that do not, and are lower, are forgotten.
    pub fn lowest(&mut self, waits: impl Fn(u64) -> bool) -> Option<u64> {
        let heap = self.0.as_mut()?;
        while let Some(Reverse(number)) = heap.peek().copied() {
            if waits(number) {
                return Some(number);
            }
            heap.pop();
        }
        self.0 = None;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_that_waits_comes_first_and_an_empty_one_takes_nothing() {
        let mut again = LostAgain::new();
        [7, 3, 9, 3, 5].into_iter().for_each(|number| again.push(number));
        assert_eq!(again.lowest(|_| true), Some(3));
        assert_eq!(again.lowest(|number| number > 4), Some(5), "both threes have gone");
        assert_eq!(again.lowest(|_| true), Some(5));
        assert_eq!(again.lowest(|number| number == 8), None);
        assert!(again.is_empty());
    }
}
