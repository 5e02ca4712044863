//! What happens to named packets, before the queue sees them.

use super::Cargo;
use narrows_units::{Duration, Time};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Lines of a script, each of which counts for itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script(pub Arc<[ScriptLine]>);

/// What happens to which packets.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptLine {
    /// What happens to them.
    pub act: Act,
    /// Packets that it admits are counted, from 1.
    pub admits: Admits,
    /// Those with these numbers are meant: in rising order, without overlap.
    pub numbers: Vec<RangeInclusive<u64>>,
    /// The count begins anew after so many; never if `None`.
    pub each: Option<u64>,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It is dropped, and takes no room in the queue.
    Drop,
    /// It is marked, if it can be.
    Mark,
    /// It arrives so much later, in whole nanoseconds and by [`Self::LATEST`] at most, by all lines
    /// together, and lets others overtake it.
    Late(Duration),
    /// A copy comes right behind it.
    Twice,
    /// Its ECN bits are taken off.
    Clear,
    /// If it is an acknowledgement of TCP, it advertises a window of so many bytes at most.
    Window(u32),
}

impl Act {
    /// The longest time by which a packet is made late.
    pub const LATEST: Duration = Duration::from_millis(4000);
}

/// Which packets are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admits {
    /// Those that arrive at this time or later …
    pub from: Time,
    /// … and before this one.
    pub until: Time,
    /// The number of the flow; any if `None`.
    pub flow: Option<u32>,
    /// The smallest size on the wire in bytes.
    pub least: u32,
}

impl Admits {
    /// All packets.
    pub const ALL: Self = Self { from: Time::ZERO, until: Time::NEVER, flow: None, least: 0 };

    fn admits(&self, now: Time, packet: &impl Cargo) -> bool {
        (self.from..self.until).contains(&now)
            && self.flow.is_none_or(|flow| flow == packet.number_of_flow())
            && packet.bytes() >= self.least
    }
}

impl Script {
    /// Whether packets are sent twice.
    pub(super) fn doubles(&self) -> bool {
        self.0.iter().any(|line| line.act == Act::Twice)
    }

    /// Whether packets are made late, and so overtaken.
    pub(super) fn delays(&self) -> bool {
        self.0.iter().any(|line| matches!(line.act, Act::Late(_)))
    }
}

/// A script as it is played: once at the entrance of its link, and if it sends packets twice, once
/// just before that, where copies are not counted.
pub(crate) struct Player {
    script: Script,
    /// Packets that each line has counted, and on how many it has acted.
    counted: Vec<(u64, u64)>,
}

/// What all lines together do to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub drops: bool,
    /// A copy comes right behind it; whoever offers packets to the link sees to that.
    pub doubles: bool,
    pub marks: bool,
    pub clears: bool,
    pub late: Duration,
    /// Bytes that an acknowledgement advertises at most.
    pub window: Option<u32>,
}

impl Player {
    pub fn new(script: Script) -> Self {
        let counted = vec![(0, 0); script.0.len()];
        Self { script, counted }
    }

    /// What happens to a packet that arrives at `now`.
    pub fn play(&mut self, now: Time, packet: &impl Cargo) -> Fate {
        let mut fate = Fate::default();
        for (line, (counted, acted)) in self.script.0.iter().zip(&mut self.counted) {
            if !line.admits.admits(now, packet) {
                continue;
            }
            *counted += 1;
            let number = line.each.map_or(*counted, |each| (*counted - 1) % each + 1);
            if !line.numbers.iter().any(|range| range.contains(&number)) {
                continue;
            }
            *acted += 1;
            match line.act {
                Act::Drop => fate.drops = true,
                Act::Mark => fate.marks = true,
                Act::Clear => fate.clears = true,
                Act::Twice => fate.doubles = true,
                Act::Late(by) => fate.late = (fate.late + by).min(Act::LATEST),
                Act::Window(bytes) => {
                    fate.window = Some(fate.window.map_or(bytes, |other| other.min(bytes)));
                }
            }
        }
        fate
    }

    /// The numbers of the lines that have done nothing so far, from 0.
    pub fn idle(&self) -> impl Iterator<Item = usize> {
        self.counted.iter().enumerate().filter(|(_, (_, acted))| *acted == 0).map(|(line, _)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Travelling;
    use narrows_signal::Reply;
    use narrows_transport::{AckHeader, DataHeader, Header, Segment};

    fn packet(path: u32, bytes: u32) -> Travelling {
        let header = Header::Data(DataHeader::default());
        Travelling { segment: Segment::data(0, Time::ZERO, bytes, header), hop: 0, path }
    }

    /// The numbers, from 1, of the packets of `bytes` at the given milliseconds on which the line
    /// acts.
    fn meant(line: ScriptLine, packets: &[(u64, u32, u32)]) -> Vec<usize> {
        let mut player = Player::new(Script([line].into()));
        let acts = |(number, (ms, path, bytes)): (usize, &(u64, u32, u32))| {
            let now = Time::ZERO + Duration::from_millis(*ms);
            player.play(now, &packet(*path, *bytes)).drops.then_some(number + 1)
        };
        packets.iter().enumerate().filter_map(acts).collect()
    }

    #[test]
    fn packets_are_counted_among_those_that_a_line_admits() {
        let line = |numbers: &[RangeInclusive<u64>], each, admits| ScriptLine {
            act: Act::Drop,
            admits,
            numbers: numbers.to_vec(),
            each,
        };
        let ten: Vec<_> = (0..10).map(|n| (n, 0, 1000)).collect();
        assert_eq!(meant(line(&[3..=3, 5..=6], None, Admits::ALL), &ten), [3, 5, 6]);
        assert_eq!(meant(line(&[1..=1], Some(4), Admits::ALL), &ten), [1, 5, 9]);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let late = Admits { from: at(4), until: at(8), ..Admits::ALL };
        assert_eq!(meant(line(&[2..=9], None, late), &ten), [6, 7, 8], "5 is the first of four");
        let mixed = [(0, 0, 40), (1, 2, 1000), (2, 2, 40), (3, 0, 1000), (4, 2, 1500)];
        let of_two = Admits { flow: Some(1), least: 400, ..Admits::ALL };
        assert_eq!(meant(line(&[1..=2], None, of_two), &mixed), [2, 5]);
    }

    #[test]
    fn a_line_that_has_done_nothing_is_told() {
        let line = |number| ScriptLine {
            act: Act::Mark,
            admits: Admits::ALL,
            numbers: vec![number..=number],
            each: None,
        };
        let mut player = Player::new(Script([line(1), line(7)].into()));
        let fate = player.play(Time::ZERO, &packet(0, 1000));
        assert_eq!(fate, Fate { marks: true, ..Fate::default() });
        assert_eq!(player.idle().collect::<Vec<_>>(), [1]);
    }

    /// Of several lines the lowest counts; data has no window to advertise.
    #[test]
    fn windows_of_acknowledgements_are_lowered() {
        let line = |bytes| ScriptLine {
            act: Act::Window(bytes),
            admits: Admits::ALL,
            numbers: vec![1..=2],
            each: None,
        };
        let mut player = Player::new(Script([line(9000), line(4000)].into()));
        let fate = player.play(Time::ZERO, &packet(1, 40));
        assert_eq!(fate, Fate { window: Some(4000), ..Fate::default() });
        let mut ack = packet(1, 40);
        ack.segment.header = Header::Ack(AckHeader::NOTHING);
        ack.advertise(4000);
        assert_eq!(ack.segment.reply().copied(), Some(Reply::Window(4000)));
        ack.advertise(9000);
        assert_eq!(ack.segment.reply().copied(), Some(Reply::Window(4000)));
        let mut data = packet(0, 1500);
        data.advertise(4000);
        assert_eq!(data.segment, packet(0, 1500).segment);
    }
}
