//! What the program `bpf/steered.bpf.c` tells of connections.

use narrows_units::Duration;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Begins,
    Ack,
    Timeout,
    Ends,
}

/// One thing that happened; counts are in packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happening {
    /// To which connection.
    pub connection: u64,
    /// Nanoseconds of the monotonic clock.
    pub now: u64,
    pub kind: Kind,
    /// Newly acknowledged, lost, and marked.
    pub acked: u32,
    pub lost: u32,
    pub marked: u32,
    /// A fresh sample.
    pub rtt: Option<Duration>,
    pub srtt: Option<Duration>,
    pub least: Option<Duration>,
    pub in_flight: u32,
    /// So far.
    pub delivered: u32,
    pub sent: u32,
    /// Packets delivered in `interval`, which the delivery rate is of.
    pub of_sample: u32,
    pub interval: Option<Duration>,
    /// By the window.
    pub limited: bool,
    pub recovers: bool,
    /// A recovery has begun.
    pub opens: bool,
    /// What was answered had left more than once.
    pub resent: bool,
}

/// Takes numbers off the front of bytes, as the program's C lays them out.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*number)
    }

    fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    /// Microseconds, of which `none` says that there are none.
    fn span(&mut self, is_none: impl Fn(u32) -> bool) -> Option<Option<Duration>> {
        let micros = self.word()?;
        Some((!is_none(micros)).then(|| Duration::from_micros(u64::from(micros))))
    }

    fn flag(&mut self) -> Option<bool> {
        self.take().map(|[flag]: [u8; 1]| flag != 0)
    }
}

impl Happening {
    /// What `bytes` tell; `None` if they are none of the program's.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut read = Reader(bytes);
        let nothing = |micros| micros == 0;
        let (connection, now) = (read.long()?, read.long()?);
        let kind = match read.word()? {
            0 => Kind::Begins,
            1 => Kind::Ack,
            2 => Kind::Timeout,
            3 => Kind::Ends,
            _ => return None,
        };
        let [acked, lost, marked] = [read.word()?, read.word()?, read.word()?];
        let rtt = read.span(|micros| micros > i32::MAX as u32)?;
        let [srtt, least] = [read.span(nothing)?, read.span(nothing)?];
        let (in_flight, _unused) = (read.word()?, read.word()?);
        let [delivered, sent, of_sample] = [read.word()?, read.word()?, read.word()?];
        let interval = read.span(nothing)?;
        let [limited, recovers, opens, resent] =
            [read.flag()?, read.flag()?, read.flag()?, read.flag()?];
        Some(Self {
            connection,
            now,
            kind,
            acked,
            lost,
            marked,
            rtt,
            srtt,
            least,
            in_flight,
            delivered,
            sent,
            of_sample,
            interval,
            limited,
            recovers,
            opens,
            resent,
        })
    }
}
