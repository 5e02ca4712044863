//! When packets leave: how many together, and how bursts are spaced.

use super::autosize::{self, Quantum};
use super::estimates::{BandwidthShare, Estimate, FourHops};
use super::leaky_bucket::LeakyBucket;
use super::{Congestion, Pacer};
use narrows_control::{Gaps, Pacing, Rtt};
use narrows_units::{Duration, Stream, Time};

/// How a transport spaces packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// One window per round trip, with such gaps, unless the law paces; then such gaps in place of
    /// the law's exponential ones.
    Window(Gaps),
    /// As TCP over Linux's fq: 2.0 windows per round trip while the window is below half the
    /// threshold, then 1.2, and the first ten packets of a connection at once
    /// (`tcp_update_pacing_rate` in net/ipv4/tcp_input.c).
    Fq,
    /// One window per round trip by a token bucket that holds this many tokens.
    Bucket(u32),
    /// By Westwood's estimate of the bandwidth share, see `estimates.rs`.
    BandwidthShare,
    /// By the delay of four hops, see `estimates.rs`.
    FourHops,
    /// 1.25 windows per round trip unless the law paces, in bursts of at most this many packets,
    /// the initial window (RFC 9002, §7.7). QUIC's only.
    Recommended(u32),
}

impl Spacing {
    /// How packets are spaced: as the law says, with the user's gaps in place of exponential ones.
    /// A law that has even gaps measures by them, and keeps them.
    fn of(self, law: Pacing) -> Pacing {
        let gaps = match self {
            Self::Window(gaps) => gaps,
            Self::Bucket(_) => Gaps::Even,
            _ => return law,
        };
        match law {
            Pacing::Unpaced => Pacing::Window { gain: 1.0, gaps },
            Pacing::Window { gain, gaps: Gaps::Exponential } => Pacing::Window { gain, gaps },
            Pacing::Rate { packets_per_second, gaps: Gaps::Exponential } => {
                Pacing::Rate { packets_per_second, gaps }
            }
            paced => paced,
        }
    }

    fn pacer(self, stream: Stream) -> Pacer {
        let pacer = Pacer::new(stream);
        if let Self::Bucket(tokens) = self { pacer.with_bucket(tokens) } else { pacer }
    }

    /// Whether it depends on what acknowledgements say.
    fn hears(self) -> bool {
        matches!(self, Self::Bucket(_) | Self::BandwidthShare | Self::FourHops)
    }

    /// What paces a sender on a path of `hops` links, if it is not the window.
    fn estimate(self, hops: u32) -> Option<Box<Estimate>> {
        let estimate = match self {
            Self::BandwidthShare => Estimate::BandwidthShare(BandwidthShare::default()),
            Self::FourHops => Estimate::FourHops(FourHops::new(hops)),
            Self::Window(_) | Self::Fq | Self::Bucket(_) | Self::Recommended(_) => return None,
        };
        Some(Box::new(estimate))
    }
}

/// Where a connection is, which its settings do not say.
#[derive(Clone, Debug)]
pub struct Path {
    /// The links that a packet crosses.
    pub hops: u32,
    /// The random stream that gaps are drawn from.
    pub stream: Stream,
}

impl Path {
    /// On a path of one link, with gaps drawn from `stream`.
    pub fn new(stream: Stream) -> Self {
        Self { hops: 1, stream }
    }
}

/// What packets are spread by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// The law's window in packets, as far as the receiver's lets it be used.
    pub window: f64,
    /// Packets between the lowest not acknowledged and the highest sent.
    pub outstanding: u64,
    /// The RTT, once there is a sample.
    pub rtt: Option<Rtt>,
}

/// What a burst has room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// Packets that may be in flight.
    pub limit: f64,
    /// Packets that are.
    pub in_flight: u64,
    /// Packets that have never been sent and could leave.
    pub waiting: u64,
}

impl Spread {
    /// What packets are spread by: the law's window, of which the receiver lets `limit` packets be
    /// used.
    #[inline]
    pub fn new(congestion: &Congestion, limit: f64, outstanding: u64, rtt: Option<Rtt>) -> Self {
        Self { window: congestion.window().min(limit), outstanding, rtt }
    }
}

impl Flight {
    /// Packets that the window has room for.
    fn free(&self) -> u64 {
        (self.limit as u64).saturating_sub(self.in_flight)
    }
}

/// Decides when packets leave.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pacer: Pacer,
    hops: u32,
    spacing: Option<Spacing>,
    /// What paces it instead of the window.
    estimate: Option<Box<Estimate>>,
    /// What paces as RFC 9002 recommends, while the law does not pace by itself.
    leaky: Option<LeakyBucket>,
    /// Whether the spacing hears of acknowledgements.
    hears: bool,
    quantum: Quantum,
    /// Packets of the burst that is leaving: those still to go, and the total.
    burst: (u32, u32),
}

impl Release {
    /// Bursts of `quantum` packets, at least one, spaced as `spacing` says.
    pub fn new(spacing: Option<Spacing>, quantum: Quantum, path: Path) -> Self {
        let Path { hops, stream } = path;
        let mut release = Self {
            pacer: spacing.map_or(Pacer::new(stream.clone()), |spacing| spacing.pacer(stream)),
            hops,
            spacing,
            estimate: None,
            leaky: None,
            hears: spacing.is_some_and(Spacing::hears),
            quantum: match quantum {
                Quantum::Packets(packets) => Quantum::Packets(packets.max(1)),
                Quantum::Auto => Quantum::Auto,
            },
            burst: (0, 0),
        };
        release.begin();
        release
    }

    /// A new connection begins.
    pub fn renew(&mut self) {
        self.pacer.renew();
        self.abandon_burst();
        self.begin();
    }

    fn begin(&mut self) {
        self.estimate = self.spacing.and_then(|spacing| spacing.estimate(self.hops));
        self.leaky = match self.spacing {
            Some(Spacing::Recommended(most)) => Some(LeakyBucket::new(most)),
            _ => None,
        };
    }

    /// When the pacer lets the next burst go, whatever its length.
    #[inline]
    pub fn ready_at(&self) -> Time {
        self.pacer.ready_at()
    }

    /// When the pacer lets `packets` leave together.
    #[inline]
    pub fn burst_ready_at(&self, packets: u32, spread: impl FnOnce() -> Spread) -> Time {
        let Some(bucket) = &self.leaky else { return self.pacer.ready_at() };
        let Spread { window, rtt, .. } = spread();
        rtt.map_or(Time::ZERO, |rtt| bucket.ready_at(packets, rtt.smoothed, window))
    }

    /// Whether a burst is leaving.
    #[inline]
    pub fn is_bursting(&self) -> bool {
        self.burst.0 > 0
    }

    /// Nothing more of a burst leaves.
    pub fn abandon_burst(&mut self) {
        self.burst = (0, 0);
    }

    /// `packets` leave together from now on.
    #[inline]
    pub fn begin_burst(&mut self, packets: u32) {
        self.burst = (packets, packets);
    }

    /// A packet leaves. Returns the number of packets in the burst that it ends, if it ends one.
    #[inline]
    pub fn one_left(&mut self) -> Option<u32> {
        self.burst.0 -= 1;
        (self.burst.0 == 0).then_some(self.burst.1)
    }

    /// Packets that will leave right behind the next, of `bytes`, as one with it: the rest of the
    /// burst, in parts of up to 64 kB (`sk_gso_max_size`).
    #[inline]
    pub fn followers(&self, bytes: u32) -> u16 {
        let (to_leave, all) = self.burst;
        let behind = to_leave.saturating_sub(1);
        if behind == 0 { 0 } else { autosize::of_one(all - to_leave, behind, bytes) }
    }

    /// Whether packets are spaced at the user's wish, besides what the law says.
    pub fn is_spaced(&self) -> bool {
        self.spacing.is_some()
    }

    /// A packet leaves by itself, and the next may at once.
    #[inline]
    pub fn one_left_plain(&mut self) {
        self.burst = (0, 1);
        self.pacer.sent_unpaced(1);
    }

    /// Whether packets always leave one by one.
    #[inline]
    pub fn is_single(&self) -> bool {
        matches!(self.quantum, Quantum::Packets(1))
    }

    /// Whether bursts are of a fixed length, which always wait for room enough.
    pub fn is_fixed(&self) -> bool {
        matches!(self.quantum, Quantum::Packets(_))
    }

    /// Packets of new data that leave together now. `None` if they wait for more room, which
    /// `defers` decides from the number of packets that there is room for. `payload` is that of a
    /// packet in bytes, and `at_first` the length of a burst before there is an RTT.
    pub fn next_burst(
        &self,
        congestion: &Congestion,
        spread: &Spread,
        room: &Flight,
        (payload, at_first): (f64, f64),
        defers: impl FnOnce(u64) -> bool,
    ) -> Option<u32> {
        let longest = congestion.longest_burst(|| Self::rate(congestion, spread));
        let aim = match (self.quantum, &spread.rtt) {
            (Quantum::Packets(packets), _) => packets.min(longest.unwrap_or(u32::MAX)),
            (Quantum::Auto, None) => at_first as u32,
            (Quantum::Auto, Some(rtt)) => longest.unwrap_or_else(|| {
                let rate = Self::rate(congestion, spread).unwrap_or(0.0);
                autosize::burst(rate, rtt.minimum, payload, congestion.law().least_burst())
            }),
        };
        let half = (room.limit / 2.0).max(1.0) as u64;
        let aim = u64::from(aim).min(half).min(room.waiting);
        let free = room.free();
        if free < aim && room.in_flight > 0 && defers(free) {
            return None;
        }
        Some(aim.min(free.max(1)) as u32)
    }

    /// Packets per second that the flow is paced at, or would be as Linux counts; `None` before
    /// there is an RTT to spread a window over.
    fn rate(congestion: &Congestion, spread: &Spread) -> Option<f64> {
        let rtt = spread.rtt.as_ref()?;
        Some(match *congestion.pacing() {
            Pacing::Rate { packets_per_second, .. } => packets_per_second,
            Pacing::Window { gain, .. } => spread.window * gain / rtt.smoothed.seconds(),
            Pacing::Unpaced => as_linux(congestion, spread, rtt),
        })
    }

    /// Whether the transport spreads the window of a law that does not pace over a round trip:
    /// without the pacer's delay it would have been used (RFC 9002 §7.8). Linux's own pacing is
    /// faster, and lets the window be the limit.
    pub fn spreads_window(&self, congestion: &Congestion) -> bool {
        *congestion.pacing() == Pacing::Unpaced && !matches!(self.spacing, None | Some(Spacing::Fq))
    }

    /// A burst of `packets` left at `now`; spaces the next, by what `spread` says if anything is to
    /// be spread.
    #[inline]
    pub fn left(
        &mut self,
        now: Time,
        packets: u32,
        congestion: &Congestion,
        spread: impl FnOnce() -> Spread,
    ) {
        match (congestion.pacing(), self.spacing) {
            (Pacing::Unpaced, None) => self.pacer.sent_unpaced(packets),
            (law, None) => {
                let Spread { window, rtt, .. } = spread();
                self.pacer.sent(now, packets, *law, window, rtt.as_ref());
            }
            (law, Some(spacing)) => {
                self.space(now, packets, (*law, spacing), congestion, &spread());
            }
        }
    }

    fn space(
        &mut self,
        now: Time,
        packets: u32,
        (law, spacing): (Pacing, Spacing),
        congestion: &Congestion,
        spread: &Spread,
    ) {
        let pacing = match (law, spacing) {
            (Pacing::Unpaced, Spacing::Recommended(most)) => {
                let bucket = self.leaky.get_or_insert_with(|| LeakyBucket::new(most));
                if let Some(rtt) = &spread.rtt {
                    bucket.sent(now, packets, rtt.smoothed, spread.window);
                }
                return;
            }
            (law, Spacing::Recommended(_)) => {
                // It paces by itself from now on.
                self.leaky = None;
                law
            }
            (Pacing::Unpaced, Spacing::Fq) => {
                if let Some(rtt) = &spread.rtt {
                    let rate = as_linux(congestion, spread, rtt);
                    self.pacer.sent_over_fq(now, packets, rate);
                }
                return;
            }
            (Pacing::Unpaced, Spacing::BandwidthShare | Spacing::FourHops) => {
                self.pacing_by_estimate(congestion)
            }
            (law, spacing) => spacing.of(law),
        };
        self.pacer.sent(now, packets, pacing, spread.window, spread.rtt.as_ref());
    }

    /// The estimate's pacing; the window's before there is one.
    fn pacing_by_estimate(&self, congestion: &Congestion) -> Pacing {
        let gaps = Gaps::Even;
        let grows_fast = congestion.window() < congestion.ssthresh() / 2.0;
        let gap = self.estimate.as_ref().and_then(|estimate| estimate.gap(grows_fast));
        gap.map_or(Pacing::Window { gain: 1.0, gaps }, |gap| Pacing::Rate {
            packets_per_second: 1.0 / gap,
            gaps,
        })
    }

    /// Whether [`hear`](Self::hear) is to be called.
    #[inline]
    pub fn hears(&self) -> bool {
        self.hears
    }

    /// An acknowledgement of `packets` arrived at `now`, with an RTT sample if there is one.
    #[cold]
    pub fn hear(&mut self, now: Time, packets: u64, fresh: Option<Duration>, spread: &Spread) {
        let Some(rtt) = &spread.rtt else { return };
        if let Some(estimate) = &mut self.estimate {
            estimate.hear(now, packets, fresh);
        }
        self.pacer.refill(now, spread.window, rtt);
    }
}

/// Linux's pacing rate in packets per second.
fn as_linux(congestion: &Congestion, spread: &Spread, rtt: &Rtt) -> f64 {
    autosize::pacing_rate(spread.window, congestion.ssthresh(), spread.outstanding, rtt)
}
