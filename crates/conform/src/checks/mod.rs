//! The checks, a file a group.

mod bbr;
mod bbr_paths;
mod decrease;
mod ecn;
mod growth;
mod idle;
mod pacing;
mod recovery;
mod robustness;
mod start;
mod timeouts;

use crate::check::{Check, Finding, Range, Stop};
use crate::network::{Network, Stimulus};
use crate::subject::{Profile, Subject, Transport};
use crate::trial::Trial;
use crate::wire::{Packet, Wire};
use narrows_sim::Transmit;
use std::sync::{Arc, LazyLock};

/// All checks, in the order of their groups and numbers.
pub fn all() -> impl Iterator<Item = &'static Check> {
    static ALL: LazyLock<Vec<&'static Check>> = LazyLock::new(|| {
        let groups: [&[Check]; 11] = [
            start::CHECKS,
            growth::CHECKS,
            decrease::CHECKS,
            recovery::CHECKS,
            pacing::CHECKS,
            idle::CHECKS,
            ecn::CHECKS,
            timeouts::CHECKS,
            bbr::CHECKS,
            bbr_paths::CHECKS,
            robustness::CHECKS,
        ];
        let mut all: Vec<&Check> = groups.into_iter().flatten().collect();
        let number = |check: &Check| check.id[1..].parse::<u32>().unwrap_or(u32::MAX);
        all.sort_by_key(|check| (check.group as u8, number(check)));
        all
    });
    ALL.iter().copied()
}

/// The checks that `names` means, between commas: numbers like `T1`, groups like `timeouts` or
/// `T*`, or `all`. Fails if one means none.
pub fn chosen(names: &str) -> Result<Vec<&'static Check>, String> {
    let mut chosen = vec![false; all().count()];
    for name in names.split(',').map(str::trim) {
        let means = |check: &Check| {
            let family = name
                .strip_suffix('*')
                .is_some_and(|start| check.id.starts_with(&start.to_uppercase()));
            name == "all"
                || check.id.eq_ignore_ascii_case(name)
                || check.group.as_str() == name
                || family
        };
        let found: Vec<bool> = all().map(means).collect();
        if !found.contains(&true) {
            return Err(format!("\"{name}\" is no check; try D1, D*, decrease, or --list"));
        }
        chosen.iter_mut().zip(found).for_each(|(chosen, found)| *chosen |= found);
    }
    Ok(all().zip(chosen).filter_map(|(check, chosen)| chosen.then_some(check)).collect())
}

/// When the stimulus of most checks comes, in seconds.
const THEN: f64 = 8.0;
/// The window that a ratio of windows needs, in packets.
const LARGE: f64 = 60.0;

/// Asked of all.
fn always(_: &Subject) -> Result<(), &'static str> {
    Ok(())
}

/// Asked of what answers each loss with a smaller window.
fn if_it_reduces(subject: &Subject) -> Result<(), &'static str> {
    if subject.profile.reduces() { Ok(()) } else { Err("not asked of this profile") }
}

fn if_cubic(subject: &Subject) -> Result<(), &'static str> {
    if subject.profile == Profile::Cubic { Ok(()) } else { Err("asked of CUBIC only") }
}

fn if_reno(subject: &Subject) -> Result<(), &'static str> {
    if subject.profile == Profile::Reno { Ok(()) } else { Err("asked of Reno only") }
}

fn if_bbr(subject: &Subject) -> Result<(), &'static str> {
    if subject.profile.is_bbr() { Ok(()) } else { Err("asked of BBR only") }
}

/// What RFCs ask of TCP and QUIC is not asked of E-TCP, whose recovery is that of its paper.
fn if_rfc(subject: &Subject) -> Result<(), &'static str> {
    if subject.transport == Transport::Etcp { Err("asked of TCP and QUIC") } else { Ok(()) }
}

fn if_quic(subject: &Subject) -> Result<(), &'static str> {
    if subject.transport == Transport::Quic { Ok(()) } else { Err("asked of QUIC only") }
}

/// A flow on network F in congestion avoidance.
fn avoidance(until: f64) -> Stimulus {
    Stimulus::on(Network::F, until).avoidance(200)
}

/// Data packets with these numbers from 8 s on are lost, of a flow in congestion avoidance: what is
/// on the wire, and the first of them.
fn losing(trial: &mut Trial<'_>, numbers: &[u64]) -> Result<(Arc<Wire>, Packet), Stop> {
    let wire = trial.run(&avoidance(THEN + 0.7).lose(THEN, numbers))?;
    let first = first_lost(&wire, THEN)?;
    Ok((wire, first))
}

/// The first packet that was lost from about `from` seconds on.
fn first_lost(wire: &Wire, from: f64) -> Result<Packet, Stop> {
    let lost = wire.lost(from - 0.1).next().copied();
    lost.ok_or_else(|| Stop::Undecided(format!("nothing was sent after {from} s")))
}

/// A window of so many packets. Fails if that is too small for a ratio.
fn large(packets: f64) -> Result<f64, Stop> {
    let why = || format!("the window was {packets:.0} packets; {LARGE:.0} are needed");
    if packets < LARGE { Err(Stop::Undecided(why())) } else { Ok(packets) }
}

/// The window in the round before anything that happened to `packet` could be known.
fn before(wire: &Wire, packet: &Packet) -> Result<f64, Stop> {
    large(wire.window(packet.sent, packet.sent + 0.95 * wire.rtt))
}

/// The window from three rounds after `packet` on over that before it.
fn ratio(wire: &Wire, packet: &Packet) -> Result<f64, Stop> {
    let (at, round) = (packet.sent, wire.rtt);
    Ok(wire.window(at + 3.0 * round, at + 4.0 * round) / before(wire, packet)?)
}

/// The value in the middle; NaN without any.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Over QUIC it should be at most so much; TCP is not asked to pace.
fn of_quic(trial: &Trial<'_>, found: Finding, most: f64) -> Finding {
    if trial.subject.transport == Transport::Quic {
        found.should(Range::at_most(most))
    } else {
        found
    }
}

/// The packets that may leave one behind the other: an initial window, ten or 14,720 bytes of
/// payload (RFC 9002, §7.7, §7.2).
fn at_once(wire: &Wire) -> f64 {
    let payload = wire.size - f64::from(Transmit::UDP_HEADERS);
    (14_720.0 / payload).floor().max(10.0)
}

/// When the first flight of data leaves. Over QUIC a flight of one or two packets before it is the
/// handshake's.
fn first_flight(trial: &Trial<'_>, wire: &Wire) -> Result<f64, Stop> {
    let none = || Stop::Undecided("nothing was sent".to_owned());
    let first = wire.packets.first().ok_or_else(none)?.sent;
    let ends = first + 0.9 * wire.rtt;
    if trial.subject.transport != Transport::Quic || wire.sent(first, ends).len() > 2 {
        return Ok(first);
    }
    wire.sent(ends, f64::INFINITY).first().map(|packet| packet.sent).ok_or_else(none)
}
