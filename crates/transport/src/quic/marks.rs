//! What a sender knows of marks, if its controller or its user asks for ECN (RFC 9002, §7.1; RFC
//! 9000, §13.4.2).

use narrows_control::Needs;
use narrows_signal::Ecn;

/// The marks of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// The ECN bits that packets carry.
    pub leaves_as: Ecn,
    /// If true, the transport asks for marks, and a mark is answered as a loss; otherwise the
    /// controller does, and answers them in its own way.
    pub classic: bool,
    /// The latest value seen of the receiver's count.
    counted: u16,
    /// A mark of this packet or a later one belongs to a new round trip.
    pub answered_to: u64,
}

impl Marks {
    /// `None` if nobody asks for ECN.
    pub fn new(needs: Needs, asked: bool) -> Option<Self> {
        let own = needs.ecn.is_capable();
        let leaves_as = if own { needs.ecn } else { Ecn::Capable };
        (own || asked).then_some(Self { leaves_as, classic: !own, counted: 0, answered_to: 0 })
    }

    /// Packets marked since the acknowledgement with the largest count so far. The count of an
    /// acknowledgement that was overtaken is behind it (RFC 9000, §13.4.2.1: such counts are not
    /// used).
    pub fn newly(&mut self, marked: u16) -> f64 {
        let new = marked.wrapping_sub(self.counted);
        if new > u16::MAX / 2 {
            return 0.0;
        }
        self.counted = marked;
        f64::from(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_that_was_overtaken_counts_no_mark_twice() {
        let mut marks = Marks::new(Needs::default(), true).expect("the user asks");
        let counts = [1, 3, 2, 3, 5, 30_005, 60_005, 4];
        // 2 comes late: the third mark has been counted. After 65,535 comes 0.
        let expected = [1.0, 2.0, 0.0, 0.0, 2.0, 30_000.0, 30_000.0, 5535.0];
        assert_eq!(counts.map(|count| marks.newly(count)), expected);
    }
}
