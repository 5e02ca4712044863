//! What a sender knows of marks, if its controller or its user asks for ECN.

use crate::AckHeader;
use narrows_control::Needs;
use narrows_signal::Ecn;

/// The marks of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// The ECN bits that new data carries.
    pub leaves_as: Ecn,
    /// Retransmissions carry them, too (RFC 2481).
    pub on_retransmissions: bool,
    /// If true, the receiver echoes marks (RFC 3168); otherwise it counts them (RFC 9768).
    pub classic: bool,
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
    /// `None` if nobody asks for ECN.
    pub fn new(needs: Needs, ecn: bool, on_retransmissions: bool) -> Option<Self> {
        let asked = needs.ecn;
        let leaves_as = if asked.is_capable() { asked } else { Ecn::Capable };
        let classic = ecn && !asked.is_capable();
        (classic || asked.is_capable()).then_some(Self {
            leaves_as,
            on_retransmissions,
            classic,
            counted: 0,
            answered_to: 0,
            own_recovery: needs.own_recovery,
            says_reduced: false,
            stops: needs.mark_stops,
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

    /// Packets marked since the last acknowledgement, as far as the sender knows: an echo counts as
    /// one.
    pub fn newly(&mut self, ack: &AckHeader) -> f64 {
        let new = ack.marked.wrapping_sub(self.counted);
        self.counted = ack.marked;
        if self.classic { f64::from(u8::from(ack.ece)) } else { f64::from(new) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3168 §6.1.2: "reset the retransmit timer on receiving the ECN-Echo packet when the
    /// congestion window is one"; it backs off from the second of these on, as in ns-2.
    #[test]
    fn a_mark_at_one_packet_stops_the_sender_if_asked_for() {
        let needs = Needs { mark_stops: true, ..Needs::default() };
        let mut marks = Marks::new(needs, true, false).expect("the user asks for ECN");
        assert!(!marks.answered_at(3.0) && !marks.stopped, "two packets may leave");
        assert!(!marks.answered_at(1.0) && marks.stopped && marks.keeps_back_off(true));
        assert!(marks.answered_at(1.0) && marks.stopped, "the timer backs off");
        marks.heard(true);
        assert!(marks.stopped);
        marks.heard(false);
        assert!(!marks.stopped && !marks.keeps_back_off(true), "marks have ended");
        let mut usual = Marks::new(Needs::default(), true, false).expect("the user asks for ECN");
        assert!(!usual.answered_at(1.0) && !usual.stopped);
    }

    /// RFC 3168 §6.1.5, RFC 2481, and the draft on Prague, §Packet Identification.
    #[test]
    fn a_retransmission_is_capable_for_l4s_or_if_asked_for() {
        let departures = |ecn, on_retransmissions| {
            let needs = Needs { ecn, ..Needs::default() };
            let marks = Marks::new(needs, false, on_retransmissions);
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
