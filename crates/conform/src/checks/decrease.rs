//! The answer to a loss.

use super::{THEN, avoidance, before, first_lost, idle, if_it_reduces, losing, ratio};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::subject::{Profile, Subject, Transport};
use crate::trial::Trial;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "D1",
        name: "beta",
        group: Group::Decrease,
        word: Word::Should,
        source: "RFC 9438 §4.6; RFC 9002 §7.3.2, RFC 5681 §3.2 (step 2)",
        quote: "The parameter β_cubic SHOULD be set to 0.7, which is different from the \
               multiplicative decrease factor used in [RFC5681] (and [RFC6675]) during fast \
               recovery.",
        asks: "A loss reduces the window to 0.7 of it (CUBIC), or to a half (Reno, a MUST).",
        applies: if_it_reduces,
        measure: |trial| after(trial, &[1]),
    },
    Check {
        id: "D2",
        name: "beta below W_max",
        group: Group::Decrease,
        word: Word::Should,
        source: "RFC 9438 §4.7, §4.6; RFC 9002 §7.3.2",
        quote: "With fast convergence, when a congestion event occurs, W_max is updated as \
               follows, before the window reduction described in Section 4.6.",
        asks: "A loss below the last W_max reduces the window by the same factor: fast convergence \
               moves W_max, not cwnd.",
        applies: if_it_reduces,
        measure: |trial| {
            let stimulus = avoidance(8.2).lose(6.0, &[1]).lose(7.5, &[1]);
            let wire = trial.run(&stimulus)?;
            let lost = first_lost(&wire, 7.5)?;
            Ok(reduced(trial.subject, ratio(&wire, &lost)?))
        },
    },
    Check {
        id: "D3",
        name: "fast convergence",
        group: Group::Decrease,
        word: Word::Should,
        source: "RFC 9438 §4.7",
        quote: "To speed up this bandwidth release by existing flows, the following fast \
               convergence mechanism SHOULD be implemented.",
        asks: "After a loss below the last W_max the next is (1 + β)/2 = 0.85 of the window: there \
               the curve is flat. (Where only one flow of CUBIC is, as here, it should be turned \
               off; what is asked is whether it is there.)",
        applies: super::if_cubic,
        measure: |trial| {
            let losses = Stimulus::on(Network::L, 18.0).avoidance(400);
            let wire = trial.run(&losses.lose(THEN, &[1]).lose(10.5, &[1]))?;
            let peak = before(&wire, &first_lost(&wire, THEN)?)?;
            let lost = first_lost(&wire, 10.5)?;
            let window = before(&wire, &lost)?;
            if window > 0.97 * peak {
                let why = format!("the window was {window:.0} packets again, of {peak:.0}");
                return Err(Stop::Undecided(why));
            }
            // K = ∛((W_max − W)/C), with W_max = 0.85 and W = 0.7 of the window.
            let k = (0.15 * window / 0.4).cbrt();
            let flat = wire.window(lost.settled + k, lost.settled + k + wire.rtt);
            let found = Finding::of(flat / window, "of the window");
            Ok(found.should(Range::between(0.8, 0.9)))
        },
    },
    Check {
        id: "D4",
        name: "two losses in a round",
        group: Group::Decrease,
        word: Word::Follows,
        source: "RFC 9002 §7.3.2, RFC 6582 §3.2",
        quote: "The recovery period aims to limit congestion window reduction to once per round \
               trip. Therefore, during a recovery period, the congestion window does not change \
               in response to new losses or increases in the ECN-CE count.",
        asks: "Two losses in one round reduce the window once.",
        applies: if_it_reduces,
        measure: |trial| {
            let (wire, lost) = losing(trial, &[1, 41])?;
            Ok(of_several(trial.subject, reduced(trial.subject, ratio(&wire, &lost)?)))
        },
    },
    Check {
        id: "D5",
        name: "a burst of losses",
        group: Group::Decrease,
        word: Word::Follows,
        source: "RFC 9002 §7.3.2, RFC 6582 §3.2",
        quote: "The recovery period aims to limit congestion window reduction to once per round \
               trip. Therefore, during a recovery period, the congestion window does not change \
               in response to new losses or increases in the ECN-CE count.",
        asks: "Four losses one behind the other reduce the window once.",
        applies: if_it_reduces,
        measure: |trial| {
            let (wire, lost) = losing(trial, &[1, 2, 3, 4])?;
            Ok(of_several(trial.subject, reduced(trial.subject, ratio(&wire, &lost)?)))
        },
    },
    Check {
        id: "D6",
        name: "losses in two rounds",
        group: Group::Decrease,
        word: Word::Must,
        source: "RFC 5681 §4.3, RFC 9438 §4.6, RFC 9002 §7.3.2",
        quote: "Loss in two successive windows of data, or the loss of a retransmission, should \
               be taken as two indications of congestion and, therefore, cwnd (and ssthresh) \
               MUST be lowered twice in this case.",
        asks: "A loss of what was sent after the reduction reduces the window again.",
        applies: if_it_reduces,
        measure: twice,
    },
    Check {
        id: "D7",
        name: "the window's floor",
        group: Group::Decrease,
        word: Word::Recommended,
        source: "RFC 9002 §7.2, RFC 9438 §4.6",
        quote: "The minimum congestion window is the smallest value the congestion window can \
               attain in response to loss, an increase in the peer-reported ECN-CE count, or \
               persistent congestion. The RECOMMENDED value is 2 * max_datagram_size.",
        asks: "While every 20th packet is lost the window stays at one packet or more, half of what \
               is recommended, and it grows again afterwards: five seconds later it is three times \
               as large.",
        applies: if_it_reduces,
        measure: floor,
    },
    Check {
        id: "D8",
        name: "one loss in a hundred",
        group: Group::Decrease,
        word: Word::Follows,
        source: "RFC 9438 §4.3 (figure 3), §5.1 (tables 1, 2)",
        quote: "CUBIC is designed to behave very similarly to Reno in the above two types of \
               networks. The following two tables show the average window sizes of Reno TCP, \
               HSTCP, and CUBIC TCP.",
        asks: "If every 100th packet is lost, Reno's window is 12.2 packets on average, 1.22/√p, and \
               CUBIC's is the same in its Reno-friendly region.",
        applies: if_it_reduces,
        measure: |trial| {
            let stimulus = avoidance(38.0).each("drop", (THEN, 38.0), 100);
            let wire = trial.run(&stimulus)?;
            let bytes: f64 = wire.sent(14.0, 38.0).iter().map(|it| f64::from(it.bytes)).sum();
            let mean = bytes / wire.size * wire.rtt / 24.0;
            Ok(Finding::of(mean, "packets").should(Range::between(9.2, 15.3)))
        },
    },
    Check {
        id: "D9",
        name: "a loss of a limited application",
        group: Group::Decrease,
        word: Word::Must,
        source: "RFC 5681 §3.2 (step 2), §3.1 (eq. 4)",
        quote: "When the third duplicate ACK is received, a TCP MUST set ssthresh to no more \
               than the value given in equation (4).",
        asks: "What is reduced is the flight, not a window that is not used: a second after a loss \
               twice the flight may be sent. Asked of Reno over TCP; RFC 9438 (§4.6) and RFC 9002 \
               let the window be reduced.",
        applies: if_it_reduces,
        measure: of_limited,
    },
];

/// The largest flight of a flow after its application has limited it to 2 Mbps, and a packet of
/// that was lost.
fn of_limited(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let limited = idle::limited(trial, 7.0, 0.05)?.till(7.2).lose(6.0, &[1]);
    let wire = trial.run(&limited.endless_from(7.0))?;
    let round = idle::is_limited(&wire, 5.9, 20.0)?;
    first_lost(&wire, 6.0)?;
    let most = idle::peak(&wire, 7.0);
    let found = Finding::of(most, "packets").told(format!("of {round:.0} a round before"));
    let most = Range::at_most((2.0 * round).max(10.0) + 2.0);
    Ok(if trial.subject.is_reno_over_tcp() { found.must(most) } else { found })
}

/// Where the ratio of windows lies that a loss should give, growth of up to three rounds included.
pub(super) fn range(subject: &Subject) -> Range {
    match subject.profile {
        Profile::Cubic => Range::between(0.68, 0.74),
        _ => Range::between(0.49, 0.54),
    }
}

fn reduced(subject: &Subject, ratio: f64) -> Finding {
    Finding::of(ratio, "").must(range(subject))
}

/// What is found after several losses: TCP need not know that they are one event, as RFC 6582 is an
/// option of it.
pub(super) fn of_several(subject: &Subject, found: Finding) -> Finding {
    match subject.transport {
        Transport::Tcp => Finding { should: found.must, must: None, ..found },
        _ => found,
    }
}

/// The ratio of windows after the loss of these packets.
fn after(trial: &mut Trial<'_>, numbers: &[u64]) -> Result<Finding, Stop> {
    let (wire, lost) = losing(trial, numbers)?;
    Ok(reduced(trial.subject, ratio(&wire, &lost)?))
}

/// The ratio of windows after a loss, and another two rounds after it.
fn twice(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let (wire, first) = losing(trial, &[1])?;
    let round = wire.rtt;
    let again = first.sent + 2.0 * round + 2e-3;
    let stimulus = avoidance(THEN + 1.0).lose(THEN, &[1]).lose(again, &[1]);
    let wire = trial.run(&stimulus)?;
    let first = first_lost(&wire, THEN)?;
    let before = before(&wire, &first)?;
    let after = wire.window(again + 3.0 * round, again + 4.0 * round);
    let beta: f64 = if trial.subject.profile == Profile::Cubic { 0.7 } else { 0.5 };
    let range = Range::between(beta.powi(2) - 0.05, beta.powi(2) + 0.05);
    Ok(Finding::of(after / before, "").must(range))
}

/// The window five seconds after ten seconds of many losses, over the least in these.
fn floor(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let wire =
        trial.run(&Stimulus::on(Network::F, 23.2).avoidance(200).each("drop", (THEN, 18.0), 20))?;
    let rounds = (0..(10.0 / wire.rtt) as u32).map(|place| THEN + f64::from(place) * wire.rtt);
    let windows = rounds.map(|at| wire.window(at, at + wire.rtt));
    let least = windows.fold(f64::INFINITY, f64::min);
    let after = wire.window(23.0, 23.0 + wire.rtt);
    let told = format!("from {least:.0} to {after:.0} packets");
    if least < 1.0 {
        return Ok(Finding::of(least, "packets").should(Range::at_least(1.0)).told(told));
    }
    Ok(Finding::of(after / least, "").must(Range::at_least(3.0)).told(told))
}
