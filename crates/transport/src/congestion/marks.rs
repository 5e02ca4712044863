//! What a sender knows of marks, if its law or its user asks for ECN (RFC 3168, RFC 9768; RFC 9000,
//! §13.4.2).

use crate::AckHeader;
use narrows_signal::Ecn;

/// What the user asks of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnOfUser {
    /// Packets are ECN-capable and marks are answered as losses (RFC 3168; RFC 9002, §7.1), unless
    /// the law asks for marks of its own kind.
    pub asked: bool,
    /// Retransmissions are ECN-capable, too, as RFC 2481 lets them and ns-2 has them; RFC 3168
    /// §6.1.5 forbids it.
    pub on_retransmissions: bool,
}

impl EcnOfUser {
    /// ECN as of RFC 3168 and RFC 9002.
    pub const ASKED: Self = Self { asked: true, on_retransmissions: false };
}

/// What the law asks of ECN, see [`Needs`](narrows_control::Needs).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnOfLaw {
    pub marks: Ecn,
    pub echoed: bool,
    pub own_recovery: bool,
    pub stops: bool,
}

/// The marks of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// The ECN bits that new data carries.
    pub leaves_as: Ecn,
    /// Retransmissions carry them, too (RFC 2481).
    pub on_retransmissions: bool,
    /// If true, an echo of the receiver's is answered as of RFC 3168; otherwise the law hears how
    /// many packets were marked.
    pub classic: bool,
    /// If true, that is what an acknowledgement with an echo delivers; otherwise what the receiver
    /// counts (RFC 9768).
    echoed: bool,
    /// The latest value seen of the receiver's counter.
    counted: u16,
    /// A mark or a loss of this transmission or a later one belongs to a new window of data.
    pub answered_to: u64,
    /// The law hears of each recovery that begins, even if it has answered a mark in that window.
    own_recovery: bool,
    /// The next new packet tells the receiver that the sender has responded to its echo.
    pub says_reduced: bool,
    /// Whether a mark at a window of one packet stops the sender (RFC 3168 §6.1.2).
    stops: bool,
    /// Nothing leaves until the retransmission timer goes off.
    pub stopped: bool,
    /// The last answer to a mark was at a window of one packet, and marks go on.
    goes_on: bool,
}

impl Marks {
    /// `None` if neither the law nor the user asks for ECN.
    pub fn new(law: &EcnOfLaw, user: EcnOfUser) -> Option<Self> {
        let own = law.marks.is_capable();
        (own || user.asked).then_some(Self {
            leaves_as: if own { law.marks } else { Ecn::Capable },
            on_retransmissions: user.on_retransmissions,
            classic: !own,
            echoed: law.echoed,
            counted: 0,
            answered_to: 0,
            own_recovery: law.own_recovery,
            says_reduced: false,
            stops: law.stops,
            stopped: false,
            goes_on: false,
        })
    }

    /// A loss of an earlier transmission is in a window of data whose marks have been answered: the
    /// window is not cut again (RFC 3168 §6.1.2; Linux's `tcp_enter_recovery` in CWR).
    pub fn answers_losses_to(&self) -> u64 {
        if self.own_recovery { 0 } else { self.answered_to }
    }

    /// The ECN bits of a packet that leaves, for the first time or `again`, and whether it tells
    /// the receiver that the window has been reduced. A retransmission is not ECN-capable (RFC 3168
    /// §6.1.5), unless RFC 2481 is asked for, and except for L4S, whose packets all are (RFC 8311
    /// as cited in draft-briscoe-iccrg-prague-congestion-control-00, §Packet Identification), so
    /// that they stay in one queue.
    pub fn on_departure(&mut self, again: bool) -> (Ecn, bool) {
        match (again && !self.on_retransmissions, self.leaves_as) {
            (false, _) => (self.leaves_as, std::mem::take(&mut self.says_reduced)),
            (true, Ecn::Scalable) => (Ecn::Scalable, false),
            (true, _) => (Ecn::NotCapable, false),
        }
    }

    /// A new connection begins, whose window no mark has met. The receiver goes on echoing marks
    /// until it hears that they have been answered.
    pub fn renew(&mut self) {
        (self.stopped, self.goes_on) = (false, false);
    }

    /// A mark has been answered at a window of `packets`; true if the timer is to be backed off,
    /// because the one before was answered at one packet, too.
    pub fn answered_at(&mut self, packets: f64) -> bool {
        self.stopped = self.stops && packets < 2.0;
        let at_one = self.stops && packets <= 1.0;
        std::mem::replace(&mut self.goes_on, at_one) && at_one
    }

    /// True if an acknowledgement with this echo keeps the timer's back-off.
    pub fn keeps_back_off(&self, echo: bool) -> bool {
        self.goes_on && echo
    }

    /// An acknowledgement without an echo lets the sender go on.
    pub fn heard(&mut self, echo: bool) {
        self.stopped &= echo;
        self.goes_on &= echo;
    }

    /// Packets of which an acknowledgement that delivers `delivered` says that they were marked. An
    /// echo is one mark, as far as a sender knows that answers it as of RFC 3168.
    pub fn told(&mut self, ack: &AckHeader, delivered: u64) -> f64 {
        self.heard(ack.ece);
        let counted = self.newly(ack.marked);
        match (self.classic, self.echoed) {
            (true, _) => f64::from(u8::from(ack.ece)),
            (false, true) => {
                if ack.ece {
                    delivered as f64
                } else {
                    0.0
                }
            }
            (false, false) => counted,
        }
    }

    /// Packets marked since the acknowledgement with the largest count so far. The count of an
    /// acknowledgement that was overtaken is behind it (RFC 9000, §13.4.2.1: such counts are not
    /// used).
    pub fn newly(&mut self, counted: u16) -> f64 {
        let new = counted.wrapping_sub(self.counted);
        if new > u16::MAX / 2 {
            return 0.0;
        }
        self.counted = counted;
        f64::from(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_that_was_overtaken_counts_no_mark_twice() {
        let mut marks = Marks::new(&EcnOfLaw::default(), EcnOfUser::ASKED).expect("the user asks");
        let counts = [1, 3, 2, 3, 5, 30_005, 60_005, 4];
        // 2 comes late: the third mark has been counted. After 65,535 comes 0.
        let expected = [1.0, 2.0, 0.0, 0.0, 2.0, 30_000.0, 30_000.0, 5535.0];
        assert_eq!(counts.map(|count| marks.newly(count)), expected);
    }

    /// RFC 3168 §6.1.2: "reset the retransmit timer on receiving the ECN-Echo packet when the
    /// congestion window is one"; it backs off from the second of these on, as in ns-2.
    #[test]
    fn a_mark_at_one_packet_stops_the_sender_if_asked_for() {
        let law = EcnOfLaw { stops: true, ..EcnOfLaw::default() };
        let mut marks = Marks::new(&law, EcnOfUser::ASKED).expect("the user asks for ECN");
        assert!(!marks.answered_at(3.0) && !marks.stopped, "two packets may leave");
        assert!(!marks.answered_at(1.0) && marks.stopped && marks.keeps_back_off(true));
        assert!(marks.answered_at(1.0) && marks.stopped, "the timer backs off");
        marks.heard(true);
        assert!(marks.stopped);
        marks.heard(false);
        assert!(!marks.stopped && !marks.keeps_back_off(true), "marks have ended");
        let mut usual =
            Marks::new(&EcnOfLaw::default(), EcnOfUser::ASKED).expect("the user asks for ECN");
        assert!(!usual.answered_at(1.0) && !usual.stopped);
    }

    /// RFC 3168 §6.1.5, RFC 2481, and the draft on Prague, §Packet Identification.
    #[test]
    fn a_retransmission_is_capable_for_l4s_or_if_asked_for() {
        let departures = |ecn, on_retransmissions| {
            let law = EcnOfLaw { marks: ecn, ..EcnOfLaw::default() };
            let marks = Marks::new(&law, EcnOfUser { asked: false, on_retransmissions });
            let mut marks = marks.expect("the law asks for ECN");
            marks.says_reduced = true;
            [true, false, false].map(|again| marks.on_departure(again))
        };
        let (l4s, classic) = (Ecn::Scalable, Ecn::Capable);
        assert_eq!(departures(l4s, false), [(l4s, false), (l4s, true), (l4s, false)]);
        assert_eq!(
            departures(classic, false),
            [(Ecn::NotCapable, false), (classic, true), (classic, false)],
            "new data says that the window was reduced"
        );
        let as_rfc_2481 = departures(classic, true).map(|(ecn, _)| ecn);
        assert_eq!(as_rfc_2481, [classic; 3]);
    }
}
