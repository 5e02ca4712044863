//! What known answers cannot express: rounds, pacing, and the classic queue.

use super::*;
use crate::entry::Birth;
use crate::fixtures::{ack, loss};
use crate::{RateSample, Rtt};

fn rtt(millis: u64) -> Option<Rtt> {
    let span = Duration::from_millis(millis);
    Some(Rtt { latest: span, smoothed: span, minimum: span, maximum: span })
}

/// In congestion avoidance with `window` packets, 25 ms as reference at once.
fn prague(window: f64) -> Prague {
    let params = Params { rtt_transition: 0, ..Params::default() };
    Prague::new(params, SlowStart::Standard, window).with_ssthresh(window)
}

fn mark(millis: u64) -> Mark {
    Mark { now: Time::ZERO + Duration::from_millis(millis), packets: 1.0, opens_epoch: true }
}

fn gain(law: &Prague) -> f64 {
    let Pacing::Window { gain, .. } = law.pacing() else { panic!("it paces its window") };
    gain
}

/// §Reduced RTT-Dependence: the EWMA is updated once per R. With an RTT of 10 ms, that is at the
/// first acknowledgement of a later packet after 25 ms.
#[test]
fn the_share_of_marks_is_taken_over_the_reference_rtt() {
    let mut law = prague(10.0);
    law.on_mark(&mark(0));
    let at = |millis: u64| {
        let (newest, next) = (millis, millis + 10);
        Ack { marked: 1.0, rtt: rtt(10), newest, next, ..ack(millis as f64 / 1e3, 1.0) }
    };
    // 24 ms is too early; with 25 ms comes 1/16, with 50 ms 1/16 of the rest.
    let expected = [(24, 0.0), (25, 0.0625), (49, 0.0625), (50, 0.121_093_75)];
    let mut now = 0;
    for (until, alpha) in expected {
        (now + 1..=until).for_each(|millis| law.on_ack(&at(millis)));
        now = until;
        assert_eq!(law.alpha, alpha, "{until} ms");
    }
}

/// Before that, and without it, once per round trip: of 10 ms, so at 0, 10 and 20 ms.
#[test]
fn or_over_the_round_trip() {
    let params = Params { rtt_control: RttControl::None, ..Params::default() };
    let mut law = Prague::new(params, SlowStart::Standard, 10.0).with_ssthresh(10.0);
    law.on_mark(&mark(0));
    for n in 0..21 {
        let (newest, next) = (n, n + 10);
        law.on_ack(&Ack { marked: 1.0, rtt: rtt(10), newest, next, ..ack(n as f64 / 1e3, 1.0) });
    }
    let once = |alpha: f64| alpha + (1.0 - alpha) / 16.0;
    assert_eq!(law.alpha, once(once(once(0.0))));
}

/// `prague_update_alpha`: without proof of a queue that marks, nothing is known.
#[test]
fn no_share_is_taken_before_the_first_mark() {
    let params = Params { alpha: 0.7, ..Params::default() };
    let mut law = Prague::new(params, SlowStart::Standard, 10.0);
    for n in 0..100 {
        law.on_ack(&Ack { rtt: rtt(10), newest: n, next: n + 1, ..ack(n as f64, 1.0) });
    }
    assert_eq!(law.alpha, 0.7);
}

/// §Additive Increase and ECN Feedback: a reduction does not suppress it; a recovery does.
#[test]
fn it_grows_right_after_a_mark_but_not_in_a_recovery() {
    let mut law = prague(100.0);
    law.on_mark(&mark(0));
    law.on_ack(&Ack { rtt: rtt(50), marked: 1.0, ..ack(0.0, 3.0) });
    assert_eq!(law.window(), 50.0 + 2.0 / 50.0);
    let before = law.window();
    law.on_ack(&Ack { rtt: rtt(50), recovering: true, ..ack(0.0, 3.0) });
    law.on_ack(&Ack { rtt: rtt(50), window_limited: false, ..ack(0.0, 3.0) });
    assert_eq!(law.window(), before);
}

/// §Packet Pacing: max(cwnd, inflight)/srtt, twice that in slow start, and not 1.2 of it after.
#[test]
fn it_paces_what_is_in_flight_and_doubly_in_slow_start() {
    let mut law = prague(100.0);
    let arrive = |law: &mut Prague, in_flight| {
        law.on_ack(&Ack { rtt: rtt(50), in_flight, marked: 1.0, ..ack(0.0, 1.0) });
    };
    arrive(&mut law, 90.0);
    assert_eq!(gain(&law), 1.0);
    arrive(&mut law, 150.0);
    assert_eq!(gain(&law), 1.5, "the window has just been reduced");
    law.cwnd.ssthresh = 201.0;
    arrive(&mut law, 90.0);
    assert_eq!(gain(&law), 2.0);
    law.cwnd.ssthresh = 200.0;
    assert_eq!(gain(&law), 1.0, "half of the threshold is reached");
}

/// `prague_update_pacing_rate`: 4/128 more in the first half of R, less in the second.
#[test]
fn a_few_packets_leave_a_little_faster_then_slower() {
    let mut law = prague(3.0);
    law.on_mark(&mark(100));
    let mut at = |millis: u64| {
        let now = millis as f64 / 1e3;
        law.on_ack(&Ack { rtt: rtt(10), marked: 1.0, newest: millis, ..ack(now, 1.0) });
        gain(&law)
    };
    assert_eq!(
        [100, 112, 113, 124, 125].map(&mut at),
        [1.03125, 1.03125, 0.96875, 0.96875, 1.03125]
    );
}

/// `MIN_CWND_RTT`, and rounding up: pacing is to be the limit.
#[test]
fn whole_packets_may_be_in_flight_and_two_at_least() {
    assert_eq!([0.1, 1.9, 2.0, 2.1].map(|w| prague(w).flight_limit()), [2.0, 2.0, 2.0, 3.0]);
}

/// With `classic_fallback` a mark from a queue that has long varied by more than milliseconds takes
/// 5/16 of the window although α is near 0; without it nearly nothing.
#[test]
fn a_classic_queue_is_answered_nearly_as_reno_does() {
    let after_a_minute = |classic_fallback| {
        let params = Params { classic_fallback, rtt_transition: 0, ..Params::default() };
        let mut law = Prague::new(params, SlowStart::Standard, 400.0).with_ssthresh(400.0);
        assert_eq!(law.needs().rate_samples, classic_fallback);
        law.on_mark(&mark(0));
        for n in 0..60_000 {
            let span = Duration::from_millis(if n % 2 == 0 { 50 } else { 20 });
            let rate = classic_fallback.then(|| sample(span));
            let (newest, next) = (n, n + 20);
            let rtt = rtt(20);
            let window_limited = false;
            law.on_ack(&Ack {
                rtt,
                rate,
                newest,
                next,
                window_limited,
                ..ack(n as f64 / 1e3, 1.0)
            });
        }
        let before = law.window();
        law.on_mark(&mark(61_000));
        law.window() / before
    };
    assert_eq!([true, false].map(after_a_minute), [1.0 - 0.625 / 2.0, 1.0]);
}

fn sample(rtt: Duration) -> RateSample {
    RateSample { total_delivered: 1.0, rtt: Some(rtt), tx_in_flight: 1.0, ..RateSample::default() }
}

/// `prague_update_pacing_rate` counts packets of 1500 bytes, `tcp_update_skb_after_send` 1448 of
/// each; a packet has one byte of data at least.
#[test]
fn linux_paces_by_payload_at_a_rate_of_whole_packets() {
    let gain_of = |in_linux, packet_bytes| {
        let birth = Birth { in_linux, packet_bytes, initial_ssthresh: 10.0, ..Birth::default() };
        let law = LAW.read(&birth).expect("defaults").make(0);
        let Pacing::Window { gain, .. } = law.pacing() else { panic!("it paces its window") };
        gain
    };
    assert_eq!([(true, 1500), (false, 1500)].map(|(l, b)| gain_of(l, b)), [1500.0 / 1448.0, 1.0]);
    assert_eq!(gain_of(true, 52), 52.0);
}

/// `prague_update_cwnd`: `snd_cwnd` follows `frac_cwnd` by a packet an acknowledgement, however
/// many packets that is for, and does not grow while it recovers.
#[test]
fn in_linux_what_may_be_in_flight_falls_by_a_packet_an_acknowledgement() {
    let birth = Birth { in_linux: true, initial_ssthresh: 10.0, ..Birth::default() };
    let mut law = LAW.read(&birth).expect("defaults").make(0);
    assert_eq!((law.window(), law.flight_limit()), (10.0, 10.0));
    law.on_loss(&Loss { opens_epoch: true, ..loss(0, 10) });
    assert_eq!((law.window(), law.flight_limit()), (5.0, 10.0));
    let limits = [false; 7].map(|_| {
        law.on_ack(&Ack { recovering: true, rtt: rtt(50), ..ack(0.0, 2.0) });
        law.flight_limit()
    });
    assert_eq!(limits, [9.0, 8.0, 7.0, 6.0, 5.0, 5.0, 5.0]);
    // A packet grows the window by 1/5.
    law.on_ack(&Ack { rtt: rtt(50), ..ack(0.0, 1.0) });
    assert_eq!((law.window(), law.flight_limit()), (5.2, 6.0));
}
