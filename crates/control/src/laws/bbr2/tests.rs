//! Known answers, mode by mode: one acknowledgement per round trip of 100 ms, worked out by hand
//! from net/ipv4/tcp_bbr.c of google/bbr's v3 and tcp_bbr2.c of v2alpha.

use super::*;
use crate::{LossSample, Restart, Rtt};

/// A connection whose every round trip is one acknowledgement.
struct Rounds {
    bbr: BbrLinux,
    now: Time,
    delivered: f64,
    sent: u64,
}

/// What a round trip shows.
#[derive(Clone, Copy)]
struct Round {
    packets: f64,
    rate: f64,
    /// Milliseconds.
    rtt: u64,
    in_flight: f64,
    app_limited: bool,
    repairing: bool,
    lost: f64,
    marked: f64,
}

/// A round trip with 80 packets in flight and 800 packets per second.
const STEADY: Round = Round {
    packets: 80.0,
    rate: 800.0,
    rtt: 100,
    in_flight: 80.0,
    app_limited: false,
    repairing: false,
    lost: 0.0,
    marked: 0.0,
};

/// As STEADY, but the queue holds another 80 packets.
const QUEUED: Round = Round { in_flight: 160.0, ..STEADY };

impl Rounds {
    /// Packets of 1000 bytes, so that a burst is 2 packets below 2048 packets per second.
    fn new(version: Version) -> Self {
        Self::with(version, false)
    }

    fn with(version: Version, ecn: bool) -> Self {
        let ecn = ecn.then_some(Heeded::USUAL);
        let bbr = BbrLinux::new(version, ecn, 1000.0, 10.0, 1);
        Self { bbr, now: Time::ZERO, delivered: 0.0, sent: 0 }
    }

    fn pass(&mut self, round: Round) -> Mode {
        let prior_delivered = self.delivered;
        self.pass_of(round, prior_delivered)
    }

    /// An acknowledgement of packets that left when `prior_delivered` were delivered.
    fn pass_of(&mut self, round: Round, prior_delivered: f64) -> Mode {
        let span = Duration::from_millis(round.rtt);
        self.now += span;
        self.delivered += round.packets;
        let newest = self.sent;
        self.sent += round.packets as u64;
        let rate = RateSample {
            total_delivered: self.delivered,
            prior_delivered,
            delivery_rate: Some(round.rate),
            rtt: Some(span),
            tx_in_flight: round.in_flight,
            lost: round.lost,
            app_limited: round.app_limited,
            newly_lost: round.lost,
            prior_in_flight: round.in_flight,
            repairing: round.repairing,
            departs_in: Duration::ZERO,
        };
        self.bbr.on_ack(&Ack {
            now: self.now,
            packets: round.packets,
            newest,
            next: self.sent,
            rtt: Some(Rtt { latest: span, smoothed: span, minimum: span, maximum: span }),
            rtt_is_fresh: true,
            in_flight: round.in_flight,
            window_limited: true,
            recovering: round.repairing,
            marked: round.marked,
            reply: narrows_signal::Reply::Nothing,
            rate: Some(rate),
        });
        self.bbr.mode()
    }

    /// A packet is lost, with `lost` of `in_flight`.
    fn lose(&mut self, lost: f64, in_flight: f64, opens_epoch: bool) {
        let rate = Some(LossSample { total_delivered: self.delivered, lost, app_limited: false });
        let (now, next) = (self.now, self.sent);
        let (transmission, again, rtt) = (0, false, None);
        let loss = Loss { now, transmission, next, opens_epoch, again, in_flight, rtt, rate };
        self.bbr.on_loss(&loss);
    }

    fn rate(&self) -> f64 {
        let Pacing::Rate { packets_per_second, .. } = self.bbr.pacing() else {
            unreachable!("BBR paces at a rate")
        };
        packets_per_second
    }

    /// Through Startup: 100, 200, 400, 800 packets per second, then no more.
    fn started(version: Version) -> Self {
        let mut rounds = Self::new(version);
        for rate in [100.0, 200.0, 400.0, 800.0] {
            let round = Round { packets: rate / 10.0, rate, in_flight: rate / 5.0, ..STEADY };
            assert_eq!(rounds.pass(round), Mode::Startup);
        }
        rounds
    }

    /// In Drain, with 160 packets in flight.
    fn draining(version: Version) -> Self {
        let mut rounds = Self::started(version);
        assert!((0..2).all(|_| rounds.pass(QUEUED) == Mode::Startup));
        assert_eq!(rounds.pass(QUEUED), Mode::Drain);
        rounds
    }

    /// In CRUISE, with 80 packets in flight: the drained queue satisfies DOWN at once.
    fn cruising(version: Version) -> Self {
        let mut rounds = Self::draining(version);
        assert_eq!(rounds.pass(STEADY), Mode::ProbeCruise);
        rounds
    }

    /// At the beginning of UP, whose samples come next.
    fn up(version: Version) -> Self {
        let mut rounds = Self::cruising(version);
        let passed = (0..40).take_while(|_| rounds.pass(STEADY) != Mode::ProbeUp).count();
        assert!((18..32).contains(&passed), "a probe after two to three seconds, not {passed}");
        rounds
    }
}

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
}

const BOTH: [Version; 2] = [Version::Two, Version::Three];

#[test]
fn startup_and_drain_have_their_gains() {
    for (version, gain) in [(Version::Two, 739.0 / 256.0), (Version::Three, 710.0 / 256.0)] {
        close(Rounds::new(version).rate(), gain * 10.0 / 0.001 * 0.99);
        let mut rounds = Rounds::started(version);
        close(rounds.rate(), gain * 800.0 * 0.99);
        for _ in 0..3 {
            rounds.pass(QUEUED);
        }
        close(rounds.rate(), 88.0 / 256.0 * 800.0 * 0.99);
        let many = (0..20).all(|_| rounds.pass(QUEUED) == Mode::Drain);
        assert!(many, "Drain has no limit of rounds");
        assert_eq!(rounds.pass(STEADY), Mode::ProbeCruise);
    }
    close(
        Rounds::draining(Version::Three).bbr.ssthresh(),
        80.0, // a BDP, above three bursts of two packets
    );
}

#[test]
fn down_is_slower_in_version_2() {
    for (version, gain) in [(Version::Two, 192.0), (Version::Three, 232.0)] {
        let mut rounds = Rounds::cruising(version);
        rounds.bbr.start_bw_probe_down();
        rounds.pass(QUEUED);
        assert_eq!(rounds.bbr.mode(), Mode::ProbeDown);
        close(rounds.rate(), gain / 256.0 * 800.0 * 0.99);
    }
}

/// Version 3 looks at every sample, version 2 at max_bw once in a round: a round with a faster
/// sample in its middle begins the search anew in version 3 only if that is by a quarter.
#[test]
fn any_sample_may_restart_the_search_for_a_plateau() {
    let after = |rate| {
        let mut rounds = Rounds::started(Version::Three);
        rounds.pass(QUEUED);
        rounds.pass(QUEUED);
        // An acknowledgement within the round: its packets left before this began.
        rounds.pass_of(Round { rate, app_limited: false, ..QUEUED }, 0.0);
        rounds.pass(QUEUED)
    };
    assert_eq!(after(999.0), Mode::Drain);
    assert_eq!(after(1000.0), Mode::Startup);
}

/// 81 packets were in flight, of which two are more than ⌊81·5/256⌋ = 1: inflight_hi is 81, above
/// ⌊80·180/256⌋ = 56.
#[test]
fn any_sample_with_too_many_losses_ends_a_probe() {
    for version in BOTH {
        let mut rounds = Rounds::up(version);
        assert_eq!(rounds.pass(Round { in_flight: 81.0, lost: 1.0, ..STEADY }), Mode::ProbeUp);
        assert!(rounds.bbr.inflight_hi.is_infinite());
        assert_eq!(rounds.pass(Round { in_flight: 81.0, lost: 2.0, ..STEADY }), Mode::ProbeDown);
        close(rounds.bbr.inflight_hi, 81.0);
        // ⌊81·38/256⌋ = 12 are left free in CRUISE.
        close(rounds.bbr.inflight_with_headroom(), 69.0);
    }
}

/// The third of 99: ⌈98·5/256⌉ = 2 were lost before it, so that 98 were safe.
#[test]
fn a_lost_packet_ends_a_probe_where_losses_crossed_the_threshold() {
    for version in BOTH {
        let mut rounds = Rounds::up(version);
        rounds.lose(1.0, 99.0, true);
        assert_eq!(rounds.bbr.mode(), Mode::ProbeUp);
        rounds.lose(3.0, 99.0, false);
        assert_eq!(rounds.bbr.mode(), Mode::ProbeDown);
        close(rounds.bbr.inflight_hi, 98.0);
    }
}

/// ⌈1.25·80⌉ + 2 = 102 packets in the network, of which the next burst is two, end UP in version 2
/// after a min_rtt; in version 3 a plateau of three rounds does.
#[test]
fn version_2_goes_down_when_a_quarter_is_queued() {
    let rounds_until_down = |version, in_flight| {
        let mut rounds = Rounds::up(version);
        let round = Round { in_flight, ..STEADY };
        (0..10).take_while(|_| rounds.pass(round) == Mode::ProbeUp).count()
    };
    assert_eq!(rounds_until_down(Version::Two, 99.0), 10);
    assert_eq!(rounds_until_down(Version::Two, 100.0), 1);
    assert_eq!(rounds_until_down(Version::Three, 99.0), 2);
    assert_eq!(rounds_until_down(Version::Three, 100.0), 2);
}

/// In CRUISE: bw_lo = max(500, 180/256·800) = 562.5, inflight_lo = max(50, ⌊cwnd·180/256⌋).
#[test]
fn a_round_with_losses_lowers_the_short_term_bounds() {
    for version in BOTH {
        let mut rounds = Rounds::cruising(version);
        let cwnd = rounds.bbr.cwnd;
        let slow = Round { packets: 50.0, rate: 500.0, ..STEADY };
        // The latest rate is that of this round and of the one before.
        rounds.pass(slow);
        let cwnd = rounds.bbr.cwnd.min(cwnd);
        rounds.lose(1.0, 80.0, true);
        rounds.pass(Round { repairing: true, ..slow });
        close(rounds.bbr.bw(), 562.5);
        close(rounds.bbr.inflight_lo, (cwnd * 180.0 / 256.0).floor());
        assert!(rounds.bbr.window() <= rounds.bbr.inflight_lo);
    }
}

#[test]
fn a_timeout_keeps_the_window_for_the_bounds_and_for_later() {
    for version in BOTH {
        let mut rounds = Rounds::cruising(version);
        let cwnd = rounds.bbr.cwnd;
        let timeout = Timeout { now: rounds.now, opens_epoch: true, in_flight: 3.0 };
        rounds.bbr.on_timeout(&timeout);
        assert_eq!(rounds.bbr.window(), 4.0);
        close(rounds.bbr.inflight_lo, cwnd);
        rounds.pass(Round { packets: 1.0, rate: 10.0, repairing: true, ..STEADY });
        assert!(rounds.bbr.window() < 8.0, "still being repaired");
        rounds.pass(Round { packets: 1.0, ..STEADY });
        close(rounds.bbr.window(), cwnd);
    }
}

#[test]
fn a_recovery_that_was_needless_gives_back_what_it_took() {
    for version in BOTH {
        let mut rounds = Rounds::up(version);
        let cwnd = rounds.bbr.cwnd;
        rounds.lose(1.0, 81.0, true);
        rounds.pass(Round { in_flight: 81.0, repairing: true, ..STEADY });
        rounds.lose(2.0, 81.0, false);
        assert!(rounds.bbr.inflight_hi.is_finite());
        rounds.bbr.on_spurious();
        assert!(rounds.bbr.inflight_hi.is_infinite());
        assert_eq!(rounds.bbr.mode(), Mode::ProbeDown, "the mode stays");
        assert!(rounds.bbr.window() >= cwnd);
    }
}

/// Six acknowledgements with losses end version 3's Startup, eight version 2's; inflight_hi is the
/// BDP, ⌈800·0.1⌉ = 80, in version 3 at least what was delivered in a round, 90.
#[test]
fn startup_ends_for_losses() {
    for (version, needed, expected) in [(Version::Two, 8, 80.0), (Version::Three, 6, 90.0)] {
        let after = |events| {
            let mut rounds = Rounds::started(version);
            rounds.lose(1.0, 80.0, true);
            let within = rounds.delivered - 1.0;
            let lossy = Round { lost: 9.0, repairing: true, ..QUEUED };
            let few = Round { packets: 1.0, rate: 700.0, ..lossy };
            for _ in 1..events {
                rounds.pass_of(few, within);
            }
            let last = Round { packets: 91.0 - f64::from(events), rate: 700.0, ..lossy };
            rounds.pass_of(last, within + 1.0);
            rounds.bbr.inflight_hi
        };
        assert!(after(needed - 1).is_infinite());
        let found = after(needed);
        assert!((expected..expected + 1.0).contains(&found), "{found} is not {expected}");
    }
}

/// On a path of 4 ms: α = ⌊240·256/256⌋ + ⌊16·128/256⌋ = 248 after a round with half of its packets
/// marked, and 256 − ⌊248·85/256⌋ = 174 of 256 are kept.
#[test]
fn marks_cut_the_window_by_their_share() {
    let mut rounds = Rounds::with(Version::Three, true);
    let short = Round { rtt: 4, ..STEADY };
    (0..8).for_each(|_| _ = rounds.pass(short));
    rounds.bbr.marks.alpha_is_one();
    rounds.bbr.start_bw_probe_down();
    rounds.pass(short);
    rounds.bbr.marks.alpha_is_one();
    let cwnd = rounds.bbr.cwnd;
    rounds.pass(Round { marked: 40.0, ..short });
    let kept = rounds.bbr.inflight_lo;
    close(kept, (cwnd * 174.0 / 256.0).floor());
    // Another round without marks, and version 3 probes again at once.
    assert_eq!(rounds.pass(short), Mode::ProbeRefill);
}

#[test]
fn no_mark_counts_on_a_long_path_or_without_ecn() {
    for (ecn, rtt) in [(true, 100), (false, 4)] {
        let mut rounds = Rounds::with(Version::Three, ecn);
        (0..8).for_each(|_| _ = rounds.pass(Round { rtt, ..STEADY }));
        rounds.bbr.start_bw_probe_down();
        (0..2).for_each(|_| _ = rounds.pass(Round { rtt, marked: 80.0, ..STEADY }));
        assert!(rounds.bbr.inflight_lo.is_infinite());
    }
}

/// No more than 100 ms of bw is added to the window for aggregation: 80 packets.
#[test]
fn aggregation_counts_up_to_100_ms() {
    let mut rounds = Rounds::cruising(Version::Three);
    (0..3).for_each(|_| _ = rounds.pass(Round { packets: 900.0, ..STEADY }));
    assert!(rounds.bbr.aggregation.largest() > 80.0);
    close(rounds.bbr.aggregation.cwnd(800.0), 80.0);
    assert!(rounds.bbr.window() <= 2.0 * 80.0 + 80.0);
}

/// 64 KiB, halved for each 512 µs, are added to a millisecond's worth: ⌊(0 + 65,536/2⁷)/1000⌋ of
/// 4 ms, all of it but a header of 50 µs.
#[test]
fn bursts_are_longer_on_short_paths() {
    let mut rounds = Rounds::new(Version::Three);
    rounds.pass(Round { rtt: 100, ..STEADY });
    rounds.bbr.pacing_rate = 800.0;
    let goal = |bbr: &mut BbrLinux, micros| {
        bbr.min_rtt = Some(Duration::from_micros(micros));
        bbr.tso_segs_goal()
    };
    assert_eq!(goal(&mut rounds.bbr, 50), 65.0);
    assert_eq!(goal(&mut rounds.bbr, 512), 33.0);
    assert_eq!(goal(&mut rounds.bbr, 1024), 17.0);
    assert_eq!(goal(&mut rounds.bbr, 4096), 2.0);
}

#[test]
fn probe_rtt_comes_after_five_seconds_and_halves_the_flight() {
    for version in BOTH {
        let mut rounds = Rounds::cruising(version);
        let longer = Round { rtt: 110, ..STEADY };
        let least = rounds.bbr.probe_rtt_min_stamp;
        while rounds.pass(longer) != Mode::ProbeRtt {}
        let passed = rounds.now.since(least).seconds();
        assert!((5.0..5.11).contains(&passed), "after {passed} s");
        close(rounds.bbr.window(), 40.0);
        let drained = Round { in_flight: 40.0, packets: 40.0, ..longer };
        let passed = (0..10).take_while(|_| rounds.pass(drained) == Mode::ProbeRtt).count();
        assert_eq!((passed, rounds.bbr.mode()), (2, Mode::ProbeCruise));
        assert!(rounds.bbr.window() > 40.0);
    }
}

#[test]
fn silence_is_followed_by_the_estimated_rate() {
    let mut rounds = Rounds::up(Version::Three);
    let (now, second) = (rounds.now, Duration::from_millis(1000));
    rounds.bbr.on_restart(&Idle {
        now: now + second,
        length: second,
        timeout: second,
        restart: Restart::Never,
        app_limited: true,
    });
    close(rounds.rate(), 800.0 * 0.99);
}
