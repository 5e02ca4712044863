//! Congestion signalling (E-TCP, §III-B, figure 2): each packet sent is answered exactly once, as
//! received or as lost.
//!
//! | source | says | here |
//! |---|---|---|
//! | §III-B | cc_seq labels packets, cc_ack is the highest that has been answered | [`Signalling`] |
//! | §III-B | h_seq, and a bitmap of the 32 before it | [`Reception`] |
//! | fig. 2 | what lies below the bitmap is lost; a hole is lost once h_seq > s + 2; else it waits, and all behind it | [`Signalling::on_ack`] |
//!
//! Figure 2 rederived: bit k stands for h_seq − 1 − k, so the first number to answer, cc_ack + 1,
//! has bit h_seq − cc_ack − 2. The figure's shift applies if that is above zero. If cc_ack + 1 is
//! h_seq itself, which has no bit, the figure's second condition answers it.

use narrows_signal::{EtcpAck, serial};

/// A hole at most this far below h_seq may be due to reordering.
const REORDERING: u64 = 2;

/// The sender's half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signalling {
    /// The label of the next packet (cc_seq), in full; only its low 32 bits are sent.
    next: u64,
    /// The lowest label that has not been answered (cc_ack + 1).
    unanswered: u64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Received,
    /// It was lost.
    Lost,
}

impl Signalling {
    /// Starts with the label `next`, so that wrap-around can be tested close to it.
    pub fn starting_at(next: u64) -> Self {
        Self { next, unanswered: next }
    }

    /// Takes the label for a packet that leaves now.
    pub fn label(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The label of the next packet.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Packets sent and not yet answered.
    pub fn outstanding(&self) -> u64 {
        self.next - self.unanswered
    }

    /// Answers every label that `ack` settles, in order and once each. Returns h_seq in full;
    /// `None` if `ack` brings nothing new.
    pub fn on_ack(&mut self, ack: &EtcpAck, mut answer: impl FnMut(u64, Fate)) -> Option<u64> {
        let highest = ack.highest(self.unanswered);
        if highest < self.unanswered || highest >= self.next {
            return None;
        }
        let before_bitmap = highest.saturating_sub(EtcpAck::BITS);
        while self.unanswered < before_bitmap {
            answer(self.unanswered, Fate::Lost);
            self.unanswered += 1;
        }
        while self.unanswered <= highest {
            let label = self.unanswered;
            if label == highest || ack.bitmap >> (highest - 1 - label) & 1 == 1 {
                answer(label, Fate::Received);
            } else if highest > label + REORDERING {
                answer(label, Fate::Lost);
            } else {
                break;
            }
            self.unanswered += 1;
        }
        Some(highest)
    }
}

/// The receiver's half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reception {
    /// The highest label received (h_seq); `None` before the first.
    highest: Option<u64>,
    bitmap: u32,
}

impl Reception {
    /// Records the arrival of a packet with the label `cc_seq`; returns true if it has not been
    /// seen before, as far as the bitmap can tell.
    pub fn arrive(&mut self, cc_seq: u32) -> bool {
        let Some(highest) = self.highest else {
            self.highest = Some(u64::from(cc_seq));
            return true;
        };
        let label = serial::unwrap(cc_seq, highest);
        if label > highest {
            let ahead = label - highest;
            // The old h_seq gets the bit for its distance; the rest of the bitmap is shifted along.
            self.bitmap = shifted(self.bitmap, ahead) | shifted(1, ahead - 1);
            self.highest = Some(label);
            return true;
        }
        let place = highest - label;
        if place == 0 || place > EtcpAck::BITS {
            return false;
        }
        let bit = 1 << (place - 1);
        let new = self.bitmap & bit == 0;
        self.bitmap |= bit;
        new
    }

    /// h_seq as it is sent on the wire, and the bitmap.
    pub fn report(&self) -> (u32, u32) {
        (self.highest.unwrap_or(0) as u32, self.bitmap)
    }
}

/// `bits` shifted up by `by`; 0 if `by` is 32 or more.
fn shifted(bits: u32, by: u64) -> u32 {
    u32::try_from(by).ok().and_then(|by| bits.checked_shl(by)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fate::{Lost, Received};

    fn ack(h_seq: u32, received: &[u32]) -> EtcpAck {
        let bitmap = received.iter().map(|number| 1 << (h_seq - 1 - number)).sum();
        EtcpAck { h_seq, bitmap, ..EtcpAck::default() }
    }

    fn sender(sent: u64) -> Signalling {
        let mut signalling = Signalling::default();
        (0..sent).for_each(|_| {
            signalling.label();
        });
        signalling
    }

    fn answers(signalling: &mut Signalling, ack: EtcpAck) -> Vec<(u64, Fate)> {
        let mut answers = Vec::new();
        signalling.on_ack(&ack, |label, fate| answers.push((label, fate)));
        answers
    }

    #[test]
    fn in_order_each_acknowledgement_answers_one() {
        let mut signalling = sender(10);
        assert_eq!(answers(&mut signalling, ack(0, &[])), [(0, Received)]);
        assert_eq!(answers(&mut signalling, ack(1, &[0])), [(1, Received)]);
        assert_eq!(answers(&mut signalling, ack(1, &[0])), [], "a repeated acknowledgement");
        assert_eq!(answers(&mut signalling, ack(0, &[])), [], "a late acknowledgement");
    }

    #[test]
    fn lost_acknowledgements_are_made_up_for_by_the_bitmap() {
        let mut signalling = sender(10);
        assert_eq!(
            answers(&mut signalling, ack(3, &[0, 1, 2])),
            [(0, Received), (1, Received), (2, Received), (3, Received)]
        );
    }

    /// Figure 2: a hole s waits until h_seq > s + 2, and what is behind it waits too.
    #[test]
    fn a_hole_is_lost_once_three_later_packets_may_have_arrived() {
        let mut signalling = sender(10);
        answers(&mut signalling, ack(0, &[]));
        assert_eq!(answers(&mut signalling, ack(2, &[0])), [], "1 may be late: h_seq is 1 + 1");
        assert_eq!(answers(&mut signalling, ack(3, &[0, 2])), [], "h_seq is 1 + 2");
        assert_eq!(
            answers(&mut signalling, ack(4, &[0, 2, 3])),
            [(1, Lost), (2, Received), (3, Received), (4, Received)]
        );
    }

    #[test]
    fn reordering_by_two_is_no_loss() {
        let mut signalling = sender(10);
        let mut reception = Reception::default();
        let mut all = Vec::new();
        for label in [0, 2, 3, 1, 4] {
            reception.arrive(label);
            let (h_seq, bitmap) = reception.report();
            all.extend(answers(&mut signalling, EtcpAck { h_seq, bitmap, ..EtcpAck::default() }));
        }
        // When 1 arrives, h_seq is still 3 and cc_ack is still 0, so this acknowledgement answers
        // 1, 2 and 3. All five are received.
        assert_eq!(all, [0, 1, 2, 3, 4].map(|label| (label, Received)));
    }

    #[test]
    fn what_is_older_than_the_bitmap_is_lost() {
        let mut signalling = sender(100);
        let all =
            answers(&mut signalling, EtcpAck { h_seq: 40, bitmap: u32::MAX, ..EtcpAck::default() });
        assert_eq!(
            all.iter()
                .filter(|(_, fate)| *fate == Lost)
                .map(|(label, _)| *label)
                .collect::<Vec<_>>(),
            (0..8).collect::<Vec<_>>()
        );
        assert_eq!(all.len(), 41);
    }

    #[test]
    fn labels_wrap_around() {
        let start = (1 << 32) - 3;
        let mut signalling = Signalling::starting_at(start);
        let mut reception = Reception::default();
        let mut all = Vec::new();
        for _ in 0..6 {
            reception.arrive(signalling.label() as u32);
            let (h_seq, bitmap) = reception.report();
            signalling.on_ack(&EtcpAck { h_seq, bitmap, ..EtcpAck::default() }, |label, fate| {
                all.push((label, fate))
            });
        }
        assert_eq!(all, (start..start + 6).map(|label| (label, Received)).collect::<Vec<_>>());
    }
}
