//! Known answers, state by state: one acknowledgement per round trip of 100 ms, worked out by hand
//! from net/ipv4/tcp_bbr.c.

use super::*;
use crate::{Restart, Rtt};

/// A connection whose every round trip is one acknowledgement.
struct Rounds {
    bbr: Bbr1,
    now: Time,
    delivered: f64,
    sent: u64,
}

/// What a round trip shows.
#[derive(Clone, Copy)]
struct Round {
    packets: f64,
    rate: f64,
    rtt: u64,
    in_flight: f64,
    app_limited: bool,
    repairing: bool,
    newly_lost: f64,
    departs_in: u64,
}

/// A round trip with 80 packets in flight and 800 packets per second.
const STEADY: Round = Round {
    packets: 80.0,
    rate: 800.0,
    rtt: 100,
    in_flight: 80.0,
    app_limited: false,
    repairing: false,
    newly_lost: 0.0,
    departs_in: 0,
};

/// As STEADY, but the queue holds another 80 packets.
const QUEUED: Round = Round { in_flight: 160.0, ..STEADY };

impl Rounds {
    /// Packets of 1000 bytes, so that a burst is 2 packets below 2048 packets per second.
    fn new() -> Self {
        let bbr = Bbr1::new(1000.0, 10.0, 1);
        Self { bbr, now: Time::ZERO, delivered: 0.0, sent: 0 }
    }

    fn pass(&mut self, round: Round) -> Mode {
        self.pass_after(round.rtt, round)
    }

    /// An acknowledgement `millis` after the one before; the round trip is `round`'s.
    fn pass_after(&mut self, millis: u64, round: Round) -> Mode {
        let span = Duration::from_millis(round.rtt);
        self.now += Duration::from_millis(millis);
        (0..round.newly_lost as u64).for_each(|_| self.lose(false));
        let prior_delivered = self.delivered;
        self.delivered += round.packets;
        let newest = self.sent;
        self.sent += round.packets as u64;
        let rate = RateSample {
            total_delivered: self.delivered,
            prior_delivered,
            delivery_rate: Some(round.rate),
            rtt: Some(span),
            tx_in_flight: round.in_flight,
            lost: round.newly_lost,
            app_limited: round.app_limited,
            newly_lost: round.newly_lost,
            prior_in_flight: round.in_flight,
            repairing: round.repairing,
            departs_in: Duration::from_millis(round.departs_in),
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
            marked: 0.0,
            reply: narrows_signal::Reply::Nothing,
            rate: Some(rate),
        });
        self.bbr.mode()
    }

    fn lose(&mut self, opens_epoch: bool) {
        self.bbr.on_loss(&Loss {
            now: self.now,
            transmission: 0,
            next: self.sent,
            opens_epoch,
            again: false,
            in_flight: 80.0,
            rtt: None,
            rate: None,
        });
    }

    fn rate(&self) -> f64 {
        let Pacing::Rate { packets_per_second, .. } = self.bbr.pacing() else {
            unreachable!("BBR paces at a rate")
        };
        packets_per_second
    }

    /// Through Startup: 100, 200, 400, 800 packets per second, then no more.
    fn started() -> Self {
        let mut rounds = Self::new();
        for rate in [100.0, 200.0, 400.0, 800.0] {
            let round = Round { packets: rate / 10.0, rate, in_flight: rate / 5.0, ..STEADY };
            assert_eq!(rounds.pass(round), Mode::Startup);
        }
        rounds
    }

    /// In Drain, with 160 packets in flight.
    fn draining() -> Self {
        let mut rounds = Self::started();
        assert!((0..2).all(|_| rounds.pass(QUEUED) == Mode::Startup));
        assert_eq!(rounds.pass(QUEUED), Mode::Drain);
        rounds
    }

    /// In ProbeBW, in phase `cycle_idx`, which has just begun.
    fn probing(cycle_idx: usize) -> Self {
        let mut rounds = Self::draining();
        assert_eq!(rounds.pass(STEADY), Mode::ProbeBw);
        // The window of each round is enough, and 120 packets in flight end the first phase.
        let mut passed = 0;
        while rounds.bbr.cycle_idx != cycle_idx || rounds.bbr.cycle_mstamp != rounds.now {
            rounds.pass(Round { rtt: 100, in_flight: 120.0, ..STEADY });
            passed += 1;
            assert!(passed < 40);
        }
        rounds
    }
}

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn the_first_rate_is_the_initial_window_by_the_first_rtt() {
    let mut rounds = Rounds::new();
    // 739/256·10/0.001·0.99.
    close(rounds.rate(), 28_578.515_625);
    rounds.pass(Round { packets: 10.0, rate: 100.0, in_flight: 10.0, ..STEADY });
    close(rounds.rate(), 285.785_156_25);
    // Not yet full: 739/256·100·0.1 = 28.9 and 3·2 of budget make 36, more than 10.
    close(rounds.bbr.window(), 20.0);
}

#[test]
fn in_startup_the_window_grows_to_its_target_and_does_not_fall_to_it() {
    let mut rounds = Rounds::started();
    close(rounds.bbr.window(), 160.0);
    // 739/256·80 = 230.9 and 3·2 make 238, as an even number; aggregation does not count yet.
    rounds.pass(QUEUED);
    close(rounds.bbr.window(), 240.0);
    rounds.pass(QUEUED);
    close(rounds.bbr.window(), 240.0);
}

#[test]
fn the_window_grows_in_any_case_until_ten_packets_are_delivered() {
    let mut rounds = Rounds::new();
    // 739/256·1 = 2.9 and 3·2 make 10.
    let slow = Round { packets: 2.0, rate: 10.0, in_flight: 8.0, app_limited: true, ..STEADY };
    for window in [12.0, 14.0, 16.0, 18.0, 18.0] {
        rounds.pass(slow);
        close(rounds.bbr.window(), window);
    }
}

#[test]
fn startup_ends_after_three_rounds_in_which_max_bw_grows_by_less_than_a_quarter() {
    let mut rounds = Rounds::started();
    close(rounds.rate(), 739.0 / 256.0 * 800.0 * 0.99);
    assert_eq!(rounds.pass(Round { rate: 900.0, ..QUEUED }), Mode::Startup);
    assert_eq!(rounds.pass(Round { rate: 950.0, ..QUEUED }), Mode::Startup);
    assert_eq!(rounds.pass(Round { rate: 999.0, ..QUEUED }), Mode::Drain);
    close(rounds.rate(), 88.0 / 256.0 * 999.0 * 0.99);
    // 999·0.1 = 99.9, so 100, and three bursts of 2.
    close(rounds.bbr.ssthresh(), 106.0);
}

#[test]
fn startup_goes_on_after_a_quarter_more_or_while_the_application_is_the_limit() {
    let mut rounds = Rounds::started();
    let limited = Round { app_limited: true, rate: 300.0, ..STEADY };
    assert!((0..20).all(|_| rounds.pass(limited) == Mode::Startup));
    assert_eq!(rounds.bbr.max_bw, 800.0, "samples of a limited application do not lower it");
    assert!((0..2).all(|_| rounds.pass(QUEUED) == Mode::Startup));
    assert_eq!(rounds.pass(Round { rate: 1000.0, ..QUEUED }), Mode::Startup);
    assert!((0..2).all(|_| rounds.pass(QUEUED) == Mode::Startup));
    assert_eq!(rounds.pass(QUEUED), Mode::Drain);
}

#[test]
fn a_loss_does_not_end_startup() {
    let mut rounds = Rounds::started();
    rounds.lose(true);
    let lossy = Round { repairing: true, newly_lost: 30.0, rate: 1000.0, ..QUEUED };
    assert_eq!(rounds.pass(lossy), Mode::Startup);
}

#[test]
fn drain_ends_when_a_bdp_and_the_budget_are_in_flight() {
    let mut rounds = Rounds::draining();
    // 800·0.1 + 3·2 = 86, and nothing limits how long it lasts.
    assert!((0..20).all(|_| rounds.pass(Round { in_flight: 87.0, ..STEADY }) == Mode::Drain));
    assert_eq!(rounds.pass(Round { in_flight: 86.0, ..STEADY }), Mode::ProbeBw);
}

#[test]
fn what_leaves_the_network_before_the_next_departure_does_not_count() {
    let mut rounds = Rounds::draining();
    // In 5 ms 4 packets will be delivered.
    let next = |in_flight| Round { in_flight, departs_in: 5, ..STEADY };
    assert_eq!(rounds.pass(next(91.0)), Mode::Drain);
    assert_eq!(rounds.pass(next(90.0)), Mode::ProbeBw);
}

#[test]
fn probing_begins_at_any_phase_but_the_one_that_drains() {
    let mut begun = [0; 8];
    for seed in 0..700 {
        let mut rounds = Rounds::draining();
        rounds.bbr.random = Stream::new(seed, 0, 0);
        rounds.pass(STEADY);
        begun[rounds.bbr.cycle_idx] += 1;
    }
    assert_eq!(begun[1], 0);
    // Each of the seven others by 1/7: 100 of 700, with a standard deviation of 9.3.
    assert!([0, 2, 3, 4, 5, 6, 7].iter().all(|phase| (60..140).contains(&begun[*phase])));
}

#[test]
fn a_phase_at_gain_one_lasts_longer_than_the_least_rtt() {
    let mut rounds = Rounds::probing(3);
    rounds.pass_after(100, STEADY);
    assert_eq!(rounds.bbr.cycle_idx, 3, "100 ms are not more than 100 ms");
    rounds.pass_after(1, Round { packets: 1.0, ..STEADY });
    assert_eq!(rounds.bbr.cycle_idx, 4);
    close(rounds.rate(), 0.99 * 800.0);
}

#[test]
fn the_first_phase_lasts_until_a_quarter_more_is_in_flight() {
    let mut rounds = Rounds::probing(0);
    close(rounds.rate(), 1.25 * 0.99 * 800.0);
    // It aims at 1.25·80 + 3·2 + 2 = 108; a burst of 2 leaves next.
    assert!((0..5).all(|_| {
        rounds.pass_after(101, Round { in_flight: 105.0, ..STEADY });
        rounds.bbr.cycle_idx == 0
    }));
    rounds.pass_after(101, Round { in_flight: 106.0, ..STEADY });
    assert_eq!(rounds.bbr.cycle_idx, 1);
    close(rounds.rate(), 0.75 * 0.99 * 800.0);
}

#[test]
fn a_loss_ends_the_first_phase_once_it_has_lasted_for_the_least_rtt() {
    let mut rounds = Rounds::probing(0);
    let lossy = Round { newly_lost: 1.0, ..STEADY };
    rounds.pass_after(50, lossy);
    assert_eq!(rounds.bbr.cycle_idx, 0);
    rounds.pass_after(51, lossy);
    assert_eq!(rounds.bbr.cycle_idx, 1);
}

#[test]
fn the_second_phase_ends_early_when_a_bdp_is_in_flight() {
    let mut rounds = Rounds::probing(1);
    rounds.pass_after(10, Round { in_flight: 87.0, ..STEADY });
    assert_eq!(rounds.bbr.cycle_idx, 1);
    rounds.pass_after(10, Round { in_flight: 86.0, ..STEADY });
    assert_eq!(rounds.bbr.cycle_idx, 2);
    let mut rounds = Rounds::probing(1);
    rounds.pass_after(101, Round { in_flight: 160.0, ..STEADY });
    assert_eq!(rounds.bbr.cycle_idx, 2);
}

#[test]
fn the_window_is_two_bdp_and_the_budget() {
    let mut rounds = Rounds::probing(3);
    rounds.pass(STEADY);
    // Each acknowledgement brings 80 packets at once, so extra_acked is 80: 2·80 + 80 + 3·2 = 246.
    close(rounds.bbr.window(), 246.0);
    // At 5000 packets per second a burst is 5000·0.99/1024 = 4.8 packets, so 4 of them: 1000 +
    // 3·4 and, as an odd bdp is rounded up, one more.
    rounds.bbr.max_bw = 5000.0;
    rounds.bbr.pacing_rate = 4950.0;
    close(rounds.bbr.inflight(5000.0, 2.0), 1012.0);
    close(rounds.bbr.inflight(4995.0, 1.0), 512.0);
    // 64 kB: 65,215 bytes hold 65 packets of 1000.
    rounds.bbr.pacing_rate = 1e6;
    close(rounds.bbr.inflight(5000.0, 2.0), 1196.0);
    // Below 150,000 bytes per second a burst is one packet.
    rounds.bbr.pacing_rate = 149.0;
    close(rounds.bbr.inflight(5000.0, 2.0), 1004.0);
    close(rounds.bbr.least_burst(), 1.0);
    rounds.bbr.pacing_rate = 150.0;
    close(rounds.bbr.least_burst(), 2.0);
}

#[test]
fn the_largest_rate_is_forgotten_after_ten_rounds() {
    let mut rounds = Rounds::probing(2);
    let slower = Round { packets: 70.0, rate: 700.0, ..STEADY };
    assert!((0..10).all(|_| {
        rounds.pass(slower);
        rounds.bbr.max_bw == 800.0
    }));
    rounds.pass(slower);
    assert_eq!(rounds.bbr.max_bw, 700.0);
}

#[test]
fn aggregation_of_the_last_five_to_ten_rounds_is_added_to_the_window() {
    let mut rounds = Rounds::probing(3);
    let one = Round { packets: 8.0, ..STEADY };
    // Silence ends the epoch. Then 8 packets every 10 ms are 800 per second, just what is due: each
    // begins an epoch, of 8 packets.
    rounds.pass_after(1000, one);
    (0..20).for_each(|_| {
        rounds.pass_after(10, one);
    });
    close(rounds.bbr.aggregation.largest(), 8.0);
    // 48 packets begin an epoch; 10 ms later 8 are due and 10 come.
    rounds.pass_after(10, Round { packets: 48.0, ..STEADY });
    close(rounds.bbr.aggregation.largest(), 48.0);
    rounds.pass_after(10, Round { packets: 10.0, ..STEADY });
    close(rounds.bbr.aggregation.largest(), 50.0);
    // Silence again. The maximum lasts for the rest of its window and for the next one.
    rounds.pass_after(1000, one);
    let mut lasted = 0;
    while rounds.bbr.aggregation.largest() == 50.0 {
        rounds.pass_after(10, one);
        lasted += 1;
        assert!(lasted < 1000);
    }
    assert!((4..=9).contains(&lasted), "{lasted} rounds and one of silence");
}

#[test]
fn a_recovery_conserves_packets_for_a_round_then_doubles_and_gives_the_window_back() {
    let mut rounds = Rounds::probing(3);
    rounds.pass(STEADY);
    let before = rounds.bbr.window();
    close(before, 246.0);
    rounds.lose(true);
    let repairing = Round { repairing: true, packets: 4.0, ..STEADY };
    // The opening acknowledgement: what is in flight and what it brings.
    rounds.pass_after(10, Round { newly_lost: 2.0, in_flight: 70.0, ..repairing });
    close(rounds.bbr.window(), 74.0);
    // Half a round later: its packet left before the recovery. 74 − 1 is less than 71 + 4.
    rounds.delivered -= 4.0;
    rounds.pass_after(10, Round { newly_lost: 1.0, in_flight: 71.0, ..repairing });
    close(rounds.bbr.window(), 75.0);
    // A round later the window grows by what is acknowledged, less what is lost.
    rounds.pass_after(100, Round { newly_lost: 1.0, in_flight: 75.0, ..repairing });
    close(rounds.bbr.window(), 78.0);
    rounds.pass_after(10, repairing);
    close(rounds.bbr.window(), 82.0);
    rounds.pass_after(10, Round { packets: 2.0, ..STEADY });
    close(rounds.bbr.window(), before);
}

#[test]
fn a_second_recovery_at_once_keeps_the_window_of_before_the_first() {
    let mut rounds = Rounds::probing(3);
    rounds.pass(STEADY);
    rounds.lose(true);
    let repairing = Round { repairing: true, packets: 4.0, newly_lost: 1.0, ..STEADY };
    rounds.pass_after(10, repairing);
    rounds.lose(true);
    rounds.pass_after(10, repairing);
    close(rounds.bbr.prior_cwnd, 246.0);
}

#[test]
fn after_a_timeout_the_window_grows_from_one_and_comes_back_when_all_is_repaired() {
    let mut rounds = Rounds::probing(3);
    rounds.pass(STEADY);
    let now = rounds.now;
    rounds.bbr.on_timeout(&Timeout { now, opens_epoch: true, in_flight: 0.0 });
    close(rounds.bbr.window(), 1.0);
    assert_eq!(rounds.bbr.full_bw, 0.0);
    let repairing = Round { repairing: true, packets: 1.0, in_flight: 0.0, ..STEADY };
    // At least four packets.
    rounds.pass(repairing);
    close(rounds.bbr.window(), 4.0);
    rounds.pass(Round { packets: 3.0, ..repairing });
    close(rounds.bbr.window(), 7.0);
    rounds.pass(Round { packets: 4.0, ..STEADY });
    close(rounds.bbr.window(), 246.0);
}

#[test]
fn a_needless_recovery_forgets_how_full_the_pipe_was_and_gives_the_window_back() {
    let mut rounds = Rounds::started();
    assert_eq!(rounds.pass(QUEUED), Mode::Startup);
    let before = rounds.bbr.window();
    rounds.lose(true);
    let opening =
        Round { repairing: true, packets: 4.0, newly_lost: 1.0, in_flight: 60.0, ..STEADY };
    rounds.pass_after(10, opening);
    close(rounds.bbr.window(), 64.0);
    assert_eq!(rounds.bbr.full_bw_cnt, 2);
    rounds.bbr.on_spurious();
    close(rounds.bbr.window(), 64.0);
    rounds.pass_after(10, Round { packets: 1.0, ..STEADY });
    assert!(rounds.bbr.window() >= before);
    assert_eq!((rounds.bbr.full_bw_cnt, rounds.bbr.mode()), (0, Mode::Startup));
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_holds_four_packets_for_200_ms_and_a_round() {
    let mut rounds = Rounds::probing(3);
    // Samples of 101 ms never refresh the smallest RTT of 100 ms, last seen as ProbeBW began.
    let queued = Round { rtt: 101, in_flight: 85.0, ..STEADY };
    let least_seen = rounds.bbr.min_rtt_stamp;
    while rounds.pass(queued) != Mode::ProbeRtt {}
    let waited = rounds.now.since(least_seen).seconds();
    assert!(waited > 10.0 && waited <= 10.101, "{waited}");
    close(rounds.bbr.window(), 4.0);
    close(rounds.rate(), 0.99 * 800.0);
    let small = Round { packets: 4.0, rate: 40.0, in_flight: 4.0, ..STEADY };
    // The first says that four are in flight; then more than 200 ms pass.
    assert!((0..3).all(|_| rounds.pass(small) == Mode::ProbeRtt));
    assert_eq!(rounds.pass(small), Mode::ProbeBw);
    // As in `the_window_is_two_bdp_and_the_budget`, with 2 more in the first phase.
    close(rounds.bbr.window(), if rounds.bbr.cycle_idx == 0 { 248.0 } else { 246.0 });
    assert_eq!(rounds.bbr.max_bw, 800.0, "the low samples of ProbeRTT are not the path's");
    // The window of ten seconds begins again.
    assert_eq!(rounds.bbr.min_rtt_stamp, rounds.now);
}

#[test]
fn a_low_rtt_in_time_makes_probe_rtt_needless() {
    let mut rounds = Rounds::probing(3);
    let lower = Duration::from_millis(99);
    (0..40).for_each(|_| {
        rounds.pass(Round { rtt: 101, ..STEADY });
    });
    rounds.pass(Round { rtt: 99, ..STEADY });
    let stamp = rounds.now;
    assert_eq!(rounds.bbr.min_rtt, Some(lower));
    while rounds.pass(Round { rtt: 101, ..STEADY }) != Mode::ProbeRtt {}
    assert!(rounds.now.since(stamp) > Duration::from_millis(10_000));
}

fn idle(now: Time, app_limited: bool) -> Idle {
    let (length, timeout) = (Duration::from_millis(11_000), Duration::from_millis(300));
    Idle { now, length, timeout, restart: Restart::Halving, app_limited }
}

#[test]
fn idleness_takes_the_place_of_probe_rtt_and_ends_the_probing_rate() {
    let mut rounds = Rounds::probing(0);
    close(rounds.rate(), 1.25 * 0.99 * 800.0);
    rounds.now += Duration::from_millis(11_000);
    rounds.bbr.on_restart(&idle(rounds.now, false));
    close(rounds.rate(), 1.25 * 0.99 * 800.0);
    rounds.bbr.on_restart(&idle(rounds.now, true));
    close(rounds.rate(), 0.99 * 800.0);
    let few = Round { rtt: 101, packets: 10.0, in_flight: 10.0, ..STEADY };
    assert_ne!(rounds.pass(few), Mode::ProbeRtt);
}

/// A policer at 400 packets per second: a quarter of what is delivered is lost besides.
#[test]
fn a_policer_is_two_lossy_intervals_at_one_rate_and_believed_for_48_rounds() {
    let mut rounds = Rounds::probing(3);
    let policed = Round { packets: 40.0, rate: 800.0, newly_lost: 10.0, ..STEADY };
    // The first loss begins an interval; it needs four rounds, of which this is the first.
    for _ in 0..4 {
        rounds.pass(policed);
        assert!(!rounds.bbr.lt.use_bw);
    }
    // 3·40 delivered and 3·10 lost since: 400 packets per second, the first interval. The next four
    // rounds are the second, at 420.
    let policed = Round { packets: 42.0, ..policed };
    for _ in 0..3 {
        rounds.pass(policed);
        assert!(!rounds.bbr.lt.use_bw);
    }
    rounds.pass(policed);
    assert!(rounds.bbr.lt.use_bw);
    close(rounds.bbr.bw(), 410.0);
    close(rounds.rate(), 0.99 * 410.0);
    let lossless = Round { packets: 41.0, rate: 410.0, in_flight: 41.0, ..STEADY };
    for _ in 0..47 {
        rounds.pass(lossless);
        assert!(rounds.bbr.lt.use_bw);
        close(rounds.bbr.bw(), 410.0);
    }
    rounds.pass(lossless);
    assert!(!rounds.bbr.lt.use_bw);
}

#[test]
fn intervals_that_lose_less_than_a_fifth_or_differ_by_an_eighth_show_no_policer() {
    // 7 of 40 are 17.5 %, 50/256 are 19.5.
    let mut rounds = Rounds::probing(3);
    (0..40).for_each(|_| {
        rounds.pass(Round { packets: 40.0, newly_lost: 7.0, ..STEADY });
        assert!(!rounds.bbr.lt.use_bw);
    });
    // 400 and 460 packets per second differ by 15 %.
    let mut rounds = Rounds::probing(3);
    for packets in [40.0, 46.0].repeat(4) {
        (0..4).for_each(|_| {
            rounds.pass(Round { packets, newly_lost: 12.0, ..STEADY });
        });
        assert!(!rounds.bbr.lt.use_bw);
    }
}

#[test]
fn an_application_that_runs_out_of_data_is_no_policer() {
    let mut rounds = Rounds::probing(3);
    let policed = Round { packets: 40.0, newly_lost: 10.0, ..STEADY };
    (0..6).for_each(|_| {
        rounds.pass(policed);
    });
    rounds.pass(Round { app_limited: true, ..policed });
    (0..6).for_each(|_| {
        rounds.pass(policed);
    });
    assert!(!rounds.bbr.lt.use_bw);
}
