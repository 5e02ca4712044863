//! Arbitrary cases: a sender, its law, its application and the path.

use super::law::Law;
use super::network::Weather;
use narrows_control::registry::{LAWS, MovedBy};
use narrows_control::{Gaps, Restart};
use narrows_transport::congestion::{EcnOfUser, Path, Quantum, Spacing};
use narrows_transport::tcp::{
    AckPolicy, Detection, Habits, Metering, RecoveryKind, SendBufferSettings, TcpSettings,
};
use narrows_units::{Duration, Stream, Time};
use proptest::prelude::*;
use std::sync::Arc;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    pub recovery: RecoveryKind,
    pub habits: Habits,
    pub law: Law,
    pub pacing: Option<Spacing>,
    pub quantum: Quantum,
    pub ecn: bool,
    /// The receiver's window in packets.
    pub window_limit: f64,
    pub send_buffer: Option<SendBufferSettings>,
    /// The application waits for so long, then offers so many packets.
    pub offers: Vec<(Duration, u64)>,
    /// A portion that finds everything acknowledged begins a new connection.
    pub renews: bool,
    pub weather: Weather,
    pub seed: u64,
}

impl Case {
    pub fn settings(&self) -> TcpSettings {
        TcpSettings {
            window_limit: self.window_limit,
            send_buffer: self.send_buffer,
            pacing: self.pacing,
            quantum: self.quantum,
            ecn: EcnOfUser { asked: self.ecn, on_retransmissions: false },
            ..TcpSettings::new(self.recovery, Arc::new(self.habits), 1000)
        }
    }

    pub fn place(&self) -> Path {
        Path::new(Stream::new(self.seed, 1, 0))
    }

    /// All packets that the application has.
    pub fn offered(&self) -> u64 {
        self.offers.iter().map(|(_, packets)| packets).sum()
    }
}

pub fn millis(range: std::ops::RangeInclusive<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

/// Nothing in half of the cases, else a share up to `most`.
fn share(most: f64) -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..most]
}

pub fn gaps() -> impl Strategy<Value = Gaps> {
    prop_oneof![Just(Gaps::Even), Just(Gaps::Exponential)]
}

pub fn metering() -> impl Strategy<Value = Metering> {
    prop_oneof![
        Just(Metering::ByPipe),
        Just(Metering::Prr),
        Just(Metering::CwndDown),
        (prop_oneof![Just(0.5), Just(1.0)], any::<bool>())
            .prop_map(|(share, stalls)| Metering::RateHalving { share, stalls }),
    ]
}

pub fn habits() -> impl Strategy<Value = Habits> {
    let flags = prop::array::uniform8(any::<bool>());
    let restart = prop_oneof![Just(Restart::Never), Just(Restart::Initial), Just(Restart::Halving)];
    (any::<bool>(), metering(), flags, restart, acks()).prop_map(
        |(linux, metering, flags, restart, acks)| {
            let [
                limited_transmit,
                timestamps,
                by_time,
                probes,
                frto,
                handshake,
                validates,
                paces_acks,
            ] = flags;
            // Rate halving is of a time before RACK.
            let by_time = by_time && !matches!(metering, Metering::RateHalving { .. });
            Habits {
                metering,
                limited_transmit,
                timestamps,
                detection: if by_time { Detection::ByTime } else { Detection::ByCount },
                probes: probes && by_time,
                frto: frto && by_time,
                handshake,
                validates_window: validates,
                restart,
                acks,
                paces_acks,
                ..if linux { Habits::LINUX } else { Habits::NS2 }
            }
        },
    )
}

fn acks() -> impl Strategy<Value = AckPolicy> {
    let merges = prop_oneof![Just(Duration::ZERO), millis(1..=5)];
    let flags = any::<[bool; 4]>();
    (1u32..=8, millis(0..=100), 0u64..20, merges, flags).prop_map(
        |(
            every,
            delay,
            quick,
            merges_for,
            [reports_duplicates, compresses, heeds_push, heeds_stamps],
        )| {
            AckPolicy {
                every,
                delay,
                quick: quick as u32,
                heeds_push,
                heeds_stamps,
                merges_for,
                reports_duplicates,
                compresses,
            }
        },
    )
}

/// The delay of four hops is left out: a packet per delay is too slow for what must end soon.
fn spacing() -> impl Strategy<Value = Spacing> {
    prop_oneof![
        3 => gaps().prop_map(Spacing::Window),
        1 => Just(Spacing::Window(Gaps::Uniform)),
        1 => Just(Spacing::Fq),
        1 => (1u32..=8).prop_map(Spacing::Bucket),
        1 => Just(Spacing::BandwidthShare),
    ]
}

fn quantum() -> impl Strategy<Value = Quantum> {
    prop_oneof![(1u32..=8).prop_map(Quantum::Packets), Just(Quantum::Auto)]
}

/// Laws that this recovery can serve: those told by each loss need E-TCP, those told by rate
/// samples need SACK.
fn law(recovery: RecoveryKind) -> impl Strategy<Value = Law> {
    let served = |moved_by| match moved_by {
        MovedBy::EachLoss => false,
        MovedBy::DeliveryRate => recovery == RecoveryKind::Sack,
        MovedBy::Epochs | MovedBy::Delay | MovedBy::Routers => true,
    };
    let names: Vec<&'static str> =
        LAWS.iter().filter(|law| served(law.moved_by)).map(|law| law.name).collect();
    let constant = (1.0..60.0, any::<bool>())
        .prop_map(|(window, own_recovery)| Law::Constant { window, own_recovery });
    let rate = (1.0..60.0, 20.0..5000.0, gaps()).prop_map(|(window, rate, gaps)| Law::Rate {
        window,
        rate,
        gaps,
    });
    prop_oneof![3 => constant, 1 => rate, 6 => prop::sample::select(names).prop_map(Law::Named)]
}

pub fn recovery() -> impl Strategy<Value = RecoveryKind> {
    prop_oneof![
        1 => Just(RecoveryKind::Reno),
        1 => Just(RecoveryKind::NewReno),
        2 => Just(RecoveryKind::Sack),
    ]
}

pub fn weather() -> impl Strategy<Value = Weather> {
    let bottleneck = prop::option::of((20u64..2000, 1u64..60))
        .prop_map(|link| link.map(|(micros, holds)| (Duration::from_micros(micros), holds)));
    let shares = (share(0.3), share(0.5), share(0.2), share(0.3));
    (
        millis(1..=90),
        (any::<bool>(), millis(0..=150)),
        any::<bool>(),
        shares,
        bottleneck,
        0u64..8000,
    )
        .prop_map(|(delay, (varies, jitter), reorders, shares, bottleneck, heals)| Weather {
            delay,
            jitter: if varies { jitter } else { Duration::ZERO },
            reorders,
            lost: shares.0,
            acks_lost: shares.1,
            doubled: shares.2,
            marked: shares.3,
            bottleneck,
            heals_at: Time::ZERO + Duration::from_millis(heals),
        })
}

/// Any case.
pub fn case() -> impl Strategy<Value = Case> {
    recovery().prop_flat_map(recovery_case)
}

/// None in two thirds of the cases; packets have 1000 bytes.
fn send_buffer() -> impl Strategy<Value = Option<SendBufferSettings>> {
    let some = (2_000u64..60_000, prop::option::of(1_000u64..30_000))
        .prop_map(|(bytes, writes)| Some(SendBufferSettings { bytes, writes }));
    prop_oneof![2 => Just(None), 1 => some]
}

/// Any case with this recovery.
fn recovery_case(recovery: RecoveryKind) -> impl Strategy<Value = Case> {
    let offers = prop::collection::vec((millis(0..=1500), prop_oneof![1u64..60, 1u64..400]), 1..5);
    let sends = (prop::option::of(spacing()), quantum(), any::<bool>(), any::<bool>());
    let limit = prop_oneof![3 => Just(f64::INFINITY), 1 => 1.0..40.0];
    let limits = (limit, send_buffer());
    (law(recovery), habits(), sends, limits, offers)
        .prop_flat_map(|parts| (Just(parts), weather(), any::<u64>()))
        .prop_map(move |((law, habits, sends, limits, offers), weather, seed)| {
            let (pacing, quantum, ecn, renews) = sends;
            let (window_limit, send_buffer) = limits;
            Case {
                recovery,
                habits,
                law,
                pacing,
                quantum,
                ecn,
                window_limit,
                send_buffer,
                offers,
                renews,
                weather,
                seed,
            }
        })
}

/// A constant window over SACK, on a path that keeps the order of packets and whose bottleneck has
/// less room than the window asks for.
pub fn steady_case() -> impl Strategy<Value = Case> {
    let link = (20u64..2000, 1u64..200);
    (case(), (2.0..500.0, any::<bool>()), 500u64..4000, link, share(0.02)).prop_map(
        |(case, (window, own_recovery), packets, (micros, holds), lost)| Case {
            recovery: RecoveryKind::Sack,
            law: Law::Constant { window, own_recovery },
            pacing: None,
            window_limit: f64::INFINITY,
            send_buffer: None,
            offers: vec![(Duration::ZERO, packets)],
            weather: Weather {
                jitter: Duration::ZERO,
                reorders: false,
                doubled: 0.0,
                lost,
                bottleneck: Some((Duration::from_micros(micros), holds)),
                ..case.weather
            },
            ..case
        },
    )
}

/// A receiver whose window is smaller than the sender's.
pub fn narrow_case() -> impl Strategy<Value = Case> {
    (case(), 2u64..30).prop_map(|(case, limit)| Case { window_limit: limit as f64, ..case })
}

/// A case in which little is on but the recovery and the law, so that the plain way is the usual
/// one.
pub fn plain_case() -> impl Strategy<Value = Case> {
    prop_oneof![by_count(), by_time()]
}

/// Losses are found by time, with bursts, pacing, probes and a window that is validated by turns.
fn by_time() -> impl Strategy<Value = Case> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let case = recovery_case(RecoveryKind::Sack);
    (case, flags, any::<bool>(), weather()).prop_map(|(case, flags, probes, weather)| {
        let (timestamps, keeps_back_off, validates_window, handshake) = flags;
        let habits = Habits {
            timestamps,
            keeps_back_off,
            validates_window,
            handshake,
            probes,
            counts_packets: case.habits.counts_packets,
            metering: case.habits.metering,
            timeouts: case.habits.timeouts,
            frto: case.habits.frto,
            restart: case.habits.restart,
            ..Habits::LINUX
        };
        let weather = Weather { marked: 0.0, ..weather };
        Case { habits, ecn: false, weather, ..case }
    })
}

fn by_count() -> impl Strategy<Value = Case> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    (case(), flags, weather()).prop_map(|(case, flags, weather)| {
        let (timestamps, keeps_back_off, counts_packets, handshake) = flags;
        let habits = Habits {
            timestamps,
            keeps_back_off,
            counts_packets,
            handshake,
            restart: case.habits.restart,
            limited_transmit: case.habits.limited_transmit,
            ..Habits::NS2
        };
        let weather = Weather { marked: 0.0, ..weather };
        let (pacing, quantum) = (None, Quantum::Packets(1));
        Case { habits, pacing, quantum, ecn: false, weather, ..case }
    })
}
