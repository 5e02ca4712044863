//! Tail loss probe (RFC 8985 §7): if nothing comes back for two round trips, a packet is sent to
//! find out whether the last ones were lost.

use super::rack::TIMER_SLACK;
use super::scoreboard::LostPacket;
use narrows_control::Rtt;
use narrows_units::Duration;

/// A probe that has left, until an acknowledgement tells what it found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// One past the highest number sent when the probe had left (TLP.end_seq).
    pub end: u64,
    /// The probe, if it is the last packet once more (TLP.is_retrans).
    pub resent: Option<LostPacket>,
}

/// What an acknowledgement says about a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing yet.
    Open,
    /// Nothing was lost, or a recovery will find it.
    Nothing,
    /// The probe has repaired the loss of this packet.
    Repaired(LostPacket),
}

impl Probe {
    /// What is known when everything below `number` is acknowledged; `repeated` if the
    /// acknowledgement reports or is a duplicate (§7.4.2; `tcp_process_tlp_ack` in Linux's
    /// net/ipv4/tcp_input.c).
    pub fn judge(&self, number: u64, repeated: bool) -> Finding {
        match self.resent {
            _ if number < self.end => Finding::Open,
            None => Finding::Nothing,
            Some(_) if repeated => Finding::Nothing,
            Some(packet) if number > self.end => Finding::Repaired(packet),
            Some(_) => Finding::Open,
        }
    }
}

/// How long to wait for an acknowledgement: two round trips, and with a single packet outstanding
/// the delay of its acknowledgement, `delayed`; `initial` before there is an RTT sample (§7.2, with
/// Linux's numbers, `tcp_schedule_loss_probe` in net/ipv4/tcp_output.c).
pub(super) fn timeout(
    rtt: Option<Rtt>,
    outstanding: u64,
    delayed: Duration,
    initial: Duration,
) -> Duration {
    let Some(rtt) = rtt else { return initial };
    rtt.smoothed * 2 + if outstanding == 1 { delayed } else { TIMER_SLACK }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: LostPacket = LostPacket { number: 9, transmission: 12, in_flight: 3, again: true };
    const RESENT: Probe = Probe { end: 10, resent: Some(LAST) };

    #[test]
    fn a_probe_of_new_data_finds_nothing_by_itself() {
        let probe = Probe { end: 11, resent: None };
        assert_eq!(probe.judge(10, false), Finding::Open);
        assert_eq!(probe.judge(11, false), Finding::Nothing);
    }

    #[test]
    fn a_repeated_packet_was_lost_unless_it_arrives_twice() {
        assert_eq!(RESENT.judge(9, false), Finding::Open);
        assert_eq!(RESENT.judge(10, false), Finding::Open, "the original or the probe");
        assert_eq!(RESENT.judge(10, true), Finding::Nothing);
        assert_eq!(RESENT.judge(11, false), Finding::Repaired(LAST));
        assert_eq!(RESENT.judge(11, true), Finding::Nothing);
    }

    #[test]
    fn it_waits_two_round_trips_and_for_a_delayed_acknowledgement() {
        let ms = Duration::from_millis;
        let rtt = Rtt { latest: ms(1), smoothed: ms(50), minimum: ms(1), maximum: ms(1) };
        assert_eq!(timeout(Some(rtt), 2, ms(200), ms(1000)), ms(102));
        assert_eq!(timeout(Some(rtt), 1, ms(200), ms(1000)), ms(300));
        assert_eq!(timeout(None, 1, ms(200), ms(1000)), ms(1000));
    }
}
