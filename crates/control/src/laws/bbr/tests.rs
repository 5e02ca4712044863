//! Known answers, state by state: one acknowledgement per round trip of 100 ms, worked out by hand
//! from the draft's pseudocode.

use super::*;
use crate::{LossSample, Restart, Rtt};

const QUANTUM: SendQuantum = SendQuantum { given: Some(1.0), most: 43.0 };

/// A connection whose every round trip is one acknowledgement.
struct Rounds {
    bbr: Bbr,
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
    recovering: bool,
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
    recovering: false,
    lost: 0.0,
    marked: 0.0,
};

impl Rounds {
    fn new() -> Self {
        Self::with(Params::default())
    }

    fn with(params: Params) -> Self {
        Self { bbr: Bbr::new(params, QUANTUM, 10.0, 1), now: Time::ZERO, delivered: 0.0, sent: 0 }
    }

    fn pass(&mut self, round: Round) -> State {
        let span = Duration::from_millis(round.rtt);
        self.now += span;
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
            lost: round.lost,
            app_limited: round.app_limited,
            newly_lost: round.lost,
            prior_in_flight: round.in_flight + round.packets,
            repairing: round.recovering,
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
            recovering: round.recovering,
            marked: round.marked,
            reply: narrows_signal::Reply::Nothing,
            rate: Some(rate),
        });
        self.bbr.state()
    }

    /// The packet `transmission` is lost: `lost` packets since it left, and `in_flight` were in
    /// flight then.
    fn lose(&mut self, transmission: u64, lost: f64, in_flight: f64, opens_epoch: bool) {
        let rate = Some(LossSample { total_delivered: self.delivered, lost, app_limited: false });
        self.bbr.on_loss(&Loss {
            now: self.now,
            transmission,
            next: self.sent,
            opens_epoch,
            again: false,
            in_flight,
            rtt: None,
            rate,
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
            assert_eq!(
                rounds.pass(Round { packets: rate / 10.0, rate, in_flight: rate / 5.0, ..STEADY }),
                State::Startup
            );
        }
        rounds
    }

    /// In ProbeBW_DOWN with 160 packets in flight, though 80 fill the path of 800 packets per
    /// second and 100 ms.
    fn down() -> Self {
        let mut rounds = Self::started();
        let full = Round { in_flight: 160.0, ..STEADY };
        assert!((0..2).all(|_| rounds.pass(full) == State::Startup));
        assert!((0..4).all(|_| rounds.pass(full) == State::Drain));
        assert_eq!(rounds.pass(full), State::ProbeBwDown, "Drain lasts three rounds at most");
        rounds
    }

    /// In ProbeBW_CRUISE, with 800 packets per second and 100 ms: the drained queue satisfies DOWN
    /// at once.
    fn probing() -> Self {
        let mut rounds = Self::started();
        rounds.pass(Round { in_flight: 160.0, ..STEADY });
        rounds.pass(Round { in_flight: 160.0, ..STEADY });
        assert_eq!(rounds.pass(Round { in_flight: 160.0, ..STEADY }), State::Drain);
        assert_eq!(rounds.pass(STEADY), State::ProbeBwCruise);
        rounds
    }

    /// At the beginning of ProbeBW_UP.
    fn up() -> Self {
        let mut rounds = Self::probing();
        let mut passed = 0;
        while rounds.pass(STEADY) != State::ProbeBwUp {
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
    close(rounds.rate(), 2.77 * 10.0 / 0.001);
    rounds.pass(Round { packets: 10.0, rate: 100.0, in_flight: 10.0, ..STEADY });
    // 2.77·100·0.99 = 274.23 would be less than 2.77·10/0.1, and the rate does not fall before the
    // pipe has been full.
    close(rounds.rate(), 277.0);
    // max_inflight = 2·100·0.1 + 10 (all of the first round is excess over a bw of 0) = 30.
    close(rounds.bbr.window(), 20.0);
}

#[test]
fn startup_ends_after_three_rounds_that_grow_by_less_than_a_quarter() {
    let mut rounds = Rounds::started();
    close(rounds.rate(), 2.77 * 800.0 * 0.99);
    assert_eq!(rounds.pass(Round { rate: 900.0, in_flight: 160.0, ..STEADY }), State::Startup);
    assert_eq!(rounds.pass(Round { rate: 950.0, in_flight: 160.0, ..STEADY }), State::Startup);
    assert_eq!(rounds.pass(Round { rate: 999.0, in_flight: 160.0, ..STEADY }), State::Drain);
    close(rounds.rate(), 0.5 * 999.0 * 0.99);
}

#[test]
fn startup_goes_on_while_the_application_is_the_limit() {
    let mut rounds = Rounds::started();
    assert!(
        (0..20)
            .all(|_| rounds.pass(Round { app_limited: true, rate: 300.0, ..STEADY })
                == State::Startup)
    );
    assert_eq!(
        rounds.bbr.path.max_bw, 800.0,
        "samples that the application limits do not lower the bandwidth"
    );
}

#[test]
fn startup_ends_with_losses_in_six_places_of_a_round_above_two_percent() {
    for (places, state) in [(5, State::Startup), (6, State::Drain)] {
        let mut rounds = Rounds::started();
        for place in 0..places {
            rounds.lose(2 * place, place as f64 + 1.0, 160.0, place == 0);
        }
        // The round in which the loss was found must be over first.
        let lossy = Round { recovering: true, lost: 8.0, rate: 1000.0, in_flight: 160.0, ..STEADY };
        assert_eq!(rounds.pass(lossy), state, "{places} places");
    }
}

/// QUIC's recovery ends with the acknowledgement that ends the round.
#[test]
fn startup_ends_with_the_recovery_that_its_losses_began() {
    let mut rounds = Rounds::started();
    (0..6).for_each(|place| rounds.lose(2 * place, place as f64 + 1.0, 160.0, place == 0));
    let over = Round { recovering: false, lost: 8.0, rate: 1000.0, in_flight: 160.0, ..STEADY };
    assert_eq!(rounds.pass(over), State::Drain);
}

#[test]
fn after_losses_in_startup_a_bdp_or_what_was_delivered_is_thought_safe() {
    let mut rounds = Rounds::started();
    (0..6).for_each(|place| rounds.lose(2 * place, place as f64 + 1.0, 160.0, place == 0));
    rounds.pass(Round { packets: 90.0, recovering: true, lost: 8.0, in_flight: 160.0, ..STEADY });
    // bdp = 800·0.1 = 80; 90 were delivered in the round.
    close(rounds.bbr.path.inflight_longterm, 90.0);
}

#[test]
fn drain_ends_when_a_bdp_is_in_flight() {
    let mut rounds = Rounds::started();
    (0..3).for_each(|_| {
        assert_ne!(rounds.pass(Round { in_flight: 160.0, ..STEADY }), State::ProbeRtt)
    });
    close(rounds.rate(), 0.5 * 800.0 * 0.99);
    assert_eq!(rounds.pass(Round { in_flight: 81.0, ..STEADY }), State::Drain);
    assert_eq!(
        rounds.pass(Round { in_flight: 80.0, ..STEADY }),
        State::ProbeBwCruise,
        "and then DOWN has nothing to do"
    );
}

#[test]
fn drain_ends_after_three_rounds_in_any_case_and_leads_to_down() {
    let rounds = Rounds::down();
    close(rounds.rate(), 0.9 * 800.0 * 0.99);
}

#[test]
fn down_turns_to_cruise_when_drained_and_to_refill_and_up_in_two_to_three_seconds() {
    let mut rounds = Rounds::down();
    assert_eq!(rounds.pass(Round { in_flight: 81.0, ..STEADY }), State::ProbeBwDown);
    assert_eq!(rounds.pass(STEADY), State::ProbeBwCruise);
    close(rounds.rate(), 800.0 * 0.99);
    let mut cruising = 0;
    while rounds.pass(STEADY) == State::ProbeBwCruise {
        cruising += 1;
    }
    assert_eq!(rounds.bbr.state(), State::ProbeBwRefill);
    // Since DOWN began, more than 2 s and at most 3 s have gone by: DOWN took 0.2 s of them.
    assert!((18..=29).contains(&cruising), "{cruising} rounds of 100 ms");
    assert_eq!(rounds.pass(STEADY), State::ProbeBwUp);
    close(rounds.rate(), 1.25 * 800.0 * 0.99);
    // 2.25·80 + 2 for ProbeBW_UP.
    (0..2).for_each(|_| assert_ne!(rounds.pass(STEADY), State::ProbeRtt));
    close(
        rounds
            .bbr
            .quantization_budget(rounds.bbr.bdp_multiple(rounds.bbr.path.bw, rounds.bbr.cwnd_gain)),
        182.0,
    );
}

#[test]
fn a_short_path_is_probed_when_a_reno_flow_would_have_grown() {
    let mut rounds = Rounds::probing();
    rounds.pass(STEADY);
    rounds.bbr.path.min_rtt = 0.005; // 800·0.005 = 4 packets: four rounds
    let mut cruising = 0;
    while rounds.pass(STEADY) == State::ProbeBwCruise {
        cruising += 1;
    }
    assert!(cruising <= 4, "{cruising}");
}

#[test]
fn up_ends_when_the_rate_stays_for_three_rounds() {
    let mut rounds = Rounds::up();
    let higher = Round { rate: 810.0, in_flight: 100.0, ..STEADY };
    assert!((0..2).all(|_| rounds.pass(higher) == State::ProbeBwUp));
    assert_eq!(rounds.pass(higher), State::ProbeBwDown);
    assert_eq!(rounds.bbr.path.max_bw, 810.0);
}

#[test]
fn up_goes_on_while_the_application_is_the_limit() {
    let mut rounds = Rounds::up();
    let limited =
        Round { app_limited: true, rate: 100.0, packets: 10.0, in_flight: 10.0, ..STEADY };
    assert!((0..10).all(|_| rounds.pass(limited) == State::ProbeBwUp));
}

#[test]
fn a_probe_that_loses_two_percent_sets_the_long_term_bound_and_goes_down() {
    let mut rounds = Rounds::up();
    rounds.lose(10_000, 1.0, 100.0, true);
    rounds.lose(10_001, 2.0, 100.0, false);
    assert_eq!(rounds.bbr.state(), State::ProbeBwUp, "2 of 100 are not more than 2 %");
    rounds.lose(10_002, 3.0, 100.0, false);
    assert_eq!(rounds.bbr.state(), State::ProbeBwDown);
    // 99 + (0.02·99 − 2)/0.98, more than 0.7·80.
    close(rounds.bbr.path.inflight_longterm, 99.0 + (0.02 * 99.0 - 2.0) / 0.98);
    let bound = rounds.bbr.path.inflight_longterm;
    rounds.lose(10_003, 4.0, 60.0, false);
    close(rounds.bbr.path.inflight_longterm, bound);
}

#[test]
fn the_probe_after_one_that_went_too_high_stops_where_that_began_to_lose() {
    let mut rounds = Rounds::up();
    (0..3).for_each(|n| rounds.lose(10_000 + n, n as f64 + 1.0, 100.0, n == 0));
    rounds.bbr.probe_rtt.min_stamp = rounds.now; // ProbeRTT has its own test.
    let mut passed = 0;
    // 90 in flight before each acknowledgement: the window is not full when UP begins.
    while rounds.pass(Round { in_flight: 10.0, ..STEADY }) != State::ProbeBwUp {
        passed += 1;
        assert!(passed < 40);
    }
    // It began to lose at 98.98 packets. Of whole packets 98 fit: 97 were in flight before the
    // first of these acknowledgements of 80, and 98 before the second.
    assert_eq!(rounds.pass(Round { in_flight: 17.0, ..STEADY }), State::ProbeBwUp);
    assert_eq!(rounds.pass(Round { in_flight: 18.0, ..STEADY }), State::ProbeBwDown);
    assert!(rounds.bbr.prev_probe_precautionary);
    // Nothing was lost: straight back to REFILL when a round has shown it.
    assert_eq!(rounds.pass(STEADY), State::ProbeBwRefill);
}

#[test]
fn losses_while_cruising_lower_the_short_term_model_once_a_round() {
    let mut rounds = Rounds::probing();
    assert_eq!(rounds.pass(STEADY), State::ProbeBwCruise);
    let window = rounds.bbr.window();
    rounds.lose(10_000, 1.0, 80.0, true);
    rounds.pass(Round { packets: 70.0, rate: 700.0, ..STEADY });
    // bw_latest and inflight_latest of the round are the larger of this sample and the last.
    close(rounds.bbr.path.bw_shortterm, 800.0);
    close(rounds.bbr.path.inflight_shortterm, (0.7 * window).max(80.0));
    rounds.lose(10_001, 1.0, 80.0, false);
    rounds.pass(Round { packets: 50.0, rate: 500.0, ..STEADY });
    // max(700, 0.7·800): the latest is 700 from the round before.
    close(rounds.bbr.path.bw_shortterm, 700.0);
    rounds.lose(10_002, 1.0, 80.0, false);
    rounds.pass(Round { packets: 30.0, rate: 300.0, ..STEADY });
    // max(500, 0.7·700).
    close(rounds.bbr.path.bw_shortterm, 500.0);
    close(rounds.bbr.path.bw, 500.0);
}

#[test]
fn refill_forgets_the_short_term_model() {
    let mut rounds = Rounds::probing();
    rounds.pass(STEADY);
    rounds.lose(10_000, 1.0, 80.0, true);
    rounds.pass(Round { packets: 60.0, rate: 600.0, ..STEADY });
    while rounds.pass(Round { packets: 60.0, rate: 600.0, in_flight: 60.0, ..STEADY })
        == State::ProbeBwCruise
    {}
    assert_eq!(
        (rounds.bbr.state(), rounds.bbr.path.bw_shortterm),
        (State::ProbeBwRefill, f64::INFINITY)
    );
}

#[test]
fn the_bandwidth_of_two_cycles_ago_is_forgotten() {
    let mut rounds = Rounds::probing();
    let slower = Round { packets: 40.0, rate: 400.0, in_flight: 40.0, ..STEADY };
    let (mut cycles, mut state) = (0, rounds.bbr.state());
    while rounds.bbr.path.max_bw == 800.0 {
        let next = rounds.pass(slower);
        cycles += u32::from(next == State::ProbeBwDown && state != State::ProbeBwDown);
        state = next;
        assert!(cycles < 5);
    }
    assert_eq!((rounds.bbr.path.max_bw, cycles), (400.0, 1));
}

#[test]
fn probe_rtt_comes_after_five_seconds_lasts_200_ms_and_a_round_and_leads_to_cruise() {
    let mut rounds = Rounds::probing();
    // Samples of 101 ms never refresh the smallest RTT of 100 ms.
    let queued = Round { rtt: 101, in_flight: 85.0, ..STEADY };
    while rounds.pass(queued) != State::ProbeRtt {}
    // The smallest RTT was first seen at 0.1 s.
    assert!(
        rounds.now > Time::from_secs(5.1) && rounds.now < Time::from_secs(5.3),
        "{}",
        rounds.now
    );
    // Half of 800·0.1, as the RTT is still the previous one: 40 packets.
    close(rounds.bbr.window(), 40.0);
    let small = Round { packets: 40.0, rate: 400.0, in_flight: 40.0, ..STEADY };
    assert!(
        (0..3).all(|_| rounds.pass(small) == State::ProbeRtt),
        "in flight has just come down to 40"
    );
    assert_eq!(rounds.pass(small), State::ProbeBwCruise);
    assert_eq!(rounds.bbr.path.max_bw, 800.0, "the low samples of ProbeRTT are not the path's");
    assert!(rounds.bbr.window() > 80.0);
}

#[test]
fn idleness_takes_the_place_of_probe_rtt() {
    let mut rounds = Rounds::probing();
    rounds.pass(STEADY);
    rounds.now += Duration::from_millis(6000);
    let idle = Idle {
        now: rounds.now,
        length: Duration::from_millis(6000),
        timeout: Duration::from_millis(300),
        restart: Restart::Halving,
        app_limited: true,
    };
    rounds.bbr.on_restart(&Idle { app_limited: false, ..idle });
    assert!(!rounds.bbr.idle_restart, "§5.4.1: only if the application was the limit");
    rounds.bbr.on_restart(&idle);
    close(rounds.rate(), 800.0 * 0.99);
    assert_ne!(
        rounds.pass(Round { rtt: 101, packets: 10.0, in_flight: 10.0, ..STEADY }),
        State::ProbeRtt
    );
}

#[test]
fn aggregation_is_what_came_beyond_the_bandwidth() {
    let mut rounds = Rounds::probing();
    rounds.pass(STEADY);
    // 80 packets are due in 100 ms; 120 in one acknowledgement are 40 too many.
    rounds.pass(Round { packets: 120.0, ..STEADY });
    assert!(rounds.bbr.path.extra_acked >= 40.0, "{}", rounds.bbr.path.extra_acked);
    assert!(rounds.bbr.window() > 160.0);
}

#[test]
fn a_path_of_less_than_a_packet_keeps_four_in_flight() {
    let mut rounds = Rounds::new();
    (0..20).for_each(|_| {
        assert_ne!(
            rounds.pass(Round { packets: 1.0, rate: 5.0, rtt: 200, in_flight: 4.0, ..STEADY }),
            State::ProbeRtt
        )
    });
    assert!(rounds.bbr.full_bw_reached && rounds.bbr.window() >= 4.0);
    assert!(rounds.rate() <= 1.25 * 5.0);
}

#[test]
fn a_spurious_recovery_gives_the_probe_and_the_bounds_back() {
    let mut rounds = Rounds::up();
    (0..3).for_each(|n| rounds.lose(10_000 + n, n as f64 + 1.0, 100.0, n == 0));
    assert_eq!(rounds.bbr.state(), State::ProbeBwDown);
    rounds.bbr.on_spurious();
    assert_eq!(
        (rounds.bbr.state(), rounds.bbr.path.inflight_longterm),
        (State::ProbeBwRefill, f64::INFINITY)
    );
}

/// §5.6.4.4, OnEnterFastRecovery: state is saved as a recovery opens, even if its round had a loss
/// before and saved then.
#[test]
fn a_spurious_recovery_gives_back_what_was_when_it_opened() {
    let mut rounds = Rounds::up();
    rounds.lose(10_000, 1.0, 100.0, false);
    rounds.bbr.path.inflight_longterm = 120.0;
    rounds.lose(10_001, 1.0, 100.0, true);
    rounds.bbr.path.inflight_longterm = 60.0;
    rounds.bbr.on_spurious();
    assert_eq!(rounds.bbr.path.inflight_longterm, 120.0);
}

#[test]
fn a_timeout_leaves_a_packet_and_the_window_comes_back_a_round_later() {
    let mut rounds = Rounds::probing();
    rounds.pass(STEADY);
    let before = rounds.bbr.window();
    let now = rounds.now;
    rounds.bbr.on_timeout(&Timeout { now, opens_epoch: true, in_flight: 0.0 });
    assert_eq!(rounds.bbr.window(), 1.0);
    rounds.pass(Round { packets: 1.0, rate: 10.0, in_flight: 1.0, ..STEADY });
    assert_eq!(rounds.bbr.window(), 4.0);
    rounds.pass(Round { packets: 2.0, rate: 20.0, in_flight: 2.0, ..STEADY });
    assert!(
        rounds.bbr.window() >= before.min(rounds.bbr.path.inflight_shortterm),
        "{}",
        rounds.bbr.window()
    );
}

/// §5.3.3.5: "in each successive round trip, BBR.inflight_longterm grows … by 1, 2, 4, 8, 16".
#[test]
fn the_bound_rises_by_1_2_4_8_packets_while_the_window_is_full() {
    let mut rounds = Rounds::probing();
    rounds.bbr.path.inflight_longterm = 100.0;
    while rounds.pass(STEADY) != State::ProbeBwUp {}
    // The path has become faster: the rate is no plateau.
    for (bound, rate) in [(101.0, 1e3), (103.0, 1250.0), (107.0, 1563.0), (115.0, 1954.0)] {
        let packets = rounds.bbr.window();
        rounds.pass(Round { packets, rate, in_flight: 0.0, ..STEADY });
        assert_eq!(rounds.bbr.path.inflight_longterm, bound);
    }
}

/// §5.3.3.9, AdaptLongTermModel: a round after UP its samples have all come in.
#[test]
fn losses_set_the_bound_until_a_round_after_the_probe() {
    for (rounds_later, bounded) in [(0, true), (1, false)] {
        let mut rounds = Rounds::up();
        while rounds.pass(Round { in_flight: 100.0, ..STEADY }) == State::ProbeBwUp {}
        assert_eq!(rounds.bbr.state(), State::ProbeBwDown);
        (0..rounds_later).for_each(|_| assert_ne!(rounds.pass(STEADY), State::ProbeBwUp));
        (0..3).for_each(|n| rounds.lose(10_000 + n, n as f64 + 1.0, 100.0, n == 0));
        assert_eq!(rounds.bbr.path.inflight_longterm.is_finite(), bounded, "{rounds_later}");
    }
}

/// §5.5.6: the filter advances "each time through the ProbeBW cycle", not each round.
#[test]
fn cruising_more_slowly_does_not_lower_the_bandwidth() {
    let mut rounds = Rounds::probing();
    let slower = Round { packets: 70.0, rate: 700.0, in_flight: 70.0, ..STEADY };
    assert!((0..15).all(|_| rounds.pass(slower) == State::ProbeBwCruise));
    assert_eq!(rounds.bbr.path.max_bw, 800.0);
}

/// §5.3.4.3, UpdateMinRTT: the 100 ms of 0.1 s are held until 10 s later, through the ProbeRTT at
/// 5.1 s, which sees 120 ms.
#[test]
fn a_longer_path_is_believed_after_ten_seconds() {
    let mut rounds = Rounds::probing();
    let longer = Round { rtt: 120, packets: 30.0, in_flight: 30.0, ..STEADY };
    let mut probed = false;
    while rounds.now + Duration::from_millis(120) <= Time::from_secs(10.1) {
        probed |= rounds.pass(longer) == State::ProbeRtt;
        assert_eq!(rounds.bbr.path.min_rtt, 0.1, "at {}", rounds.now);
    }
    rounds.pass(longer);
    assert!(probed);
    assert_eq!(rounds.bbr.path.min_rtt, 0.12);
}

/// The draft's test case "Entering and Exiting PROBE_RTT During STARTUP".
#[test]
fn probe_rtt_in_startup_leads_back_to_startup() {
    let mut rounds = Rounds::started();
    let limited = Round { app_limited: true, rtt: 101, packets: 4.0, in_flight: 4.0, ..STEADY };
    while rounds.pass(limited) == State::Startup {}
    assert_eq!(rounds.bbr.state(), State::ProbeRtt);
    // 4 packets are in flight at once. 200 ms are over after two rounds of 101 ms.
    assert_eq!(rounds.pass(limited), State::ProbeRtt);
    assert_eq!(rounds.pass(limited), State::Startup);
    close(rounds.bbr.pacing_gain, 2.77);
}

/// The draft's test case "Exiting PROBE_DOWN After Max Time".
#[test]
fn a_queue_that_does_not_drain_leads_from_down_to_refill() {
    let mut rounds = Rounds::down();
    let began = rounds.now;
    while rounds.pass(Round { in_flight: 160.0, ..STEADY }) == State::ProbeBwDown {}
    assert_eq!(rounds.bbr.state(), State::ProbeBwRefill);
    let waited = rounds.now.since(began).seconds();
    assert!(waited > 2.0 && waited <= 3.1, "{waited} s, of 2 to 3 s and a round");
}

/// The draft's test case "Exiting PROBE_UP on Loss When Application-Limited", and
/// HandleInflightTooHigh (§5.5.10.2): the probe ends, but such a probe says nothing of the bound.
#[test]
fn losses_of_an_application_limited_probe_end_it_without_a_bound() {
    let mut rounds = Rounds::up();
    let rate = Some(LossSample { total_delivered: rounds.delivered, lost: 3.0, app_limited: true });
    rounds.bbr.on_loss(&Loss {
        now: rounds.now,
        transmission: 10_000,
        next: 10_100,
        opens_epoch: true,
        again: false,
        in_flight: 100.0,
        rtt: None,
        rate,
    });
    assert_eq!(rounds.bbr.state(), State::ProbeBwDown);
    assert_eq!(rounds.bbr.path.inflight_longterm, f64::INFINITY);
}

/// §5.5.9: in Startup one round of aggregation is remembered, afterwards ten.
#[test]
fn aggregation_is_remembered_for_a_round_in_startup_and_for_ten_later() {
    let remembered = |mut rounds: Rounds| {
        // 200 packets at once, where 80 are due, and then what the path delivers in 100 ms.
        rounds.pass(Round { packets: 200.0, ..STEADY });
        let most = rounds.bbr.path.extra_acked;
        let due = Round { packets: 10.0, ..STEADY };
        (0..20)
            .take_while(|_| {
                rounds.pass(due);
                rounds.bbr.path.extra_acked >= most
            })
            .count()
    };
    assert_eq!(remembered(Rounds::started()), 1);
    assert_eq!(remembered(Rounds::probing()), 10);
}

#[test]
fn marks_are_answered_by_their_share_on_short_paths_only() {
    for (rtt, answered) in [(5, true), (6, false)] {
        let mut rounds = Rounds::with(Params { ecn: true, r#as: None });
        assert!(rounds.bbr.needs().ecn.is_capable());
        let steady = Round { rate: 16_000.0, rtt, ..STEADY };
        for rate in [2000.0, 4000.0, 8000.0, 16_000.0, 16_000.0, 16_000.0, 16_000.0] {
            rounds.pass(Round { rate, in_flight: 160.0, ..steady });
        }
        rounds.pass(steady);
        assert_eq!(rounds.pass(steady), State::ProbeBwCruise);
        rounds.bbr.marks.alpha = 0.3;
        let window = rounds.bbr.window();
        rounds.pass(Round { marked: 20.0, ..steady });
        // The next round shows it: α has become 0.3 + (0.25 − 0.3)/16 = 0.296875.
        rounds.pass(steady);
        let expected = if answered {
            (1.0 - 0.296_875 / 3.0) * window.max(rounds.bbr.prior_cwnd)
        } else {
            f64::INFINITY
        };
        if answered {
            assert!(
                (rounds.bbr.path.inflight_shortterm / expected - 1.0).abs() < 0.2,
                "{} {expected}",
                rounds.bbr.path.inflight_shortterm
            );
        } else {
            assert_eq!(rounds.bbr.path.inflight_shortterm, f64::INFINITY);
        }
    }
}

#[test]
fn a_quantum_that_is_not_given_is_a_millisecond_of_two_packets_to_64_kb() {
    let quantum = SendQuantum { given: None, most: 43.0 };
    assert_eq!([1e2, 8e3, 1e6].map(|rate| quantum.packets(rate)), [2.0, 8.0, 43.0]);
}
