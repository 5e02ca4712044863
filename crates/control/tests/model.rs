//! What holds for every law, whatever happens to it.

use narrows_control::registry::{self, Birth, Entry, MovedBy};
use narrows_control::slow_start::{HyStart, HyStartPlusPlus, Limited};
use narrows_control::{
    Ack, Controller, Idle, Loss, LossSample, Mark, Pacing, RateSample, Restart, Rtt, SlowStart,
    Timeout,
};
use narrows_settings::Given;
use narrows_signal::Reply;
use narrows_units::{Duration, Time};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Happening {
    Ack { packets: u8, rtt_ms: u16, limited: bool, recovering: bool },
    Loss { opens_epoch: bool },
    Mark { opens_epoch: bool },
    Timeout { opens_epoch: bool, in_flight: u8 },
    Restart,
    Resume { restart: Restart },
    Unused { used: u8 },
    Spurious,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        20 => (1u8..60, 1u16..500, any::<bool>(), any::<bool>())
            .prop_map(|(packets, rtt_ms, limited, recovering)| {
                Happening::Ack { packets, rtt_ms, limited, recovering }
            }),
        4 => any::<bool>().prop_map(|opens_epoch| Happening::Loss { opens_epoch }),
        1 => any::<bool>().prop_map(|opens_epoch| Happening::Mark { opens_epoch }),
        1 => (any::<bool>(), any::<u8>()).prop_map(|(opens_epoch, in_flight)| {
            Happening::Timeout { opens_epoch, in_flight }
        }),
        1 => Just(Happening::Restart),
        1 => prop_oneof![Just(Restart::Never), Just(Restart::Initial), Just(Restart::Halving)]
            .prop_map(|restart| Happening::Resume { restart }),
        1 => any::<u8>().prop_map(|used| Happening::Unused { used }),
        1 => Just(Happening::Spurious),
    ]
}

fn slow_starts() -> [SlowStart; 4] {
    [
        SlowStart::Standard,
        SlowStart::Limited(Limited::new(100.0)),
        SlowStart::HyStart(HyStart::new(false, 1500)),
        SlowStart::HyStartPlusPlus(HyStartPlusPlus::new(false)),
    ]
}

fn born(entry: &Entry, slow_start: SlowStart) -> Box<dyn Controller> {
    entry
        .read(&Birth { slow_start, ..Birth::default() })
        .expect("a registered law with its defaults")
        .make(7)
}

/// The law with each slow start; E-TCP's with its own choice, and with an RTT underestimated.
fn variants(entry: &Entry) -> Vec<Box<dyn Controller>> {
    let mut all: Vec<_> = slow_starts().map(|slow_start| born(entry, slow_start)).into();
    if ["etcp", "etcp-rate"].contains(&entry.name) {
        let given = Given::parse(["start=delay", "rtt_scale=0.25"]).expect("name=value");
        let recipe = entry.read(&Birth { given, ..Birth::default() });
        all.push(recipe.expect("settings of both laws").make(7));
    }
    all
}

/// Anything that a router may say, asked or not.
fn reply(packets: u8) -> Reply {
    let amount = f32::from(packets);
    match packets % 6 {
        0 => Reply::Feedback(300.0 * (amount - 30.0)),
        1 => Reply::Feedback(f32::INFINITY),
        2 => Reply::Window(200 * u32::from(packets)),
        3 => Reply::Rate(1e4 * amount),
        4 => Reply::Rate(f32::INFINITY),
        _ => Reply::Nothing,
    }
}

fn idle(now: Time, length_ms: u64, restart: Restart) -> Idle {
    let timeout = Duration::from_millis(300);
    Idle { now, length: Duration::from_millis(length_ms), timeout, restart, app_limited: true }
}

fn acknowledge(controller: &mut dyn Controller, number: u64, happening: &Happening) {
    let Happening::Ack { packets, rtt_ms, limited, recovering } = *happening else { return };
    let now = Time::ZERO + Duration::from_millis(10 * number);
    let latest = Duration::from_millis(u64::from(rtt_ms));
    let rtt = Some(Rtt {
        latest,
        smoothed: latest,
        minimum: Duration::from_millis(1),
        maximum: Duration::from_millis(500),
    });
    let in_flight = controller.window();
    let (newest, next) = (number, number + in_flight as u64);
    let window_limited = limited;
    controller.on_ack(&Ack {
        now,
        packets: f64::from(packets),
        newest,
        next,
        rtt,
        rtt_is_fresh: true,
        in_flight,
        window_limited,
        recovering,
        marked: f64::from(packets / 3),
        reply: reply(packets),
        rate: Some(RateSample {
            total_delivered: (number + 1) as f64,
            prior_delivered: number.saturating_sub(9) as f64,
            delivery_rate: (rtt_ms % 7 > 0).then(|| 10.0 / latest.seconds()),
            rtt: Some(latest).filter(|_| rtt_ms % 11 > 0),
            tx_in_flight: in_flight,
            lost: f64::from(rtt_ms % 3),
            app_limited: rtt_ms % 5 == 0,
            newly_lost: f64::from(rtt_ms % 4),
            prior_in_flight: in_flight + f64::from(packets),
            repairing: recovering,
            departs_in: Duration::from_millis(u64::from(rtt_ms % 3)),
        }),
    });
}

fn tell(controller: &mut dyn Controller, number: u64, happening: &Happening) {
    let now = Time::ZERO + Duration::from_millis(10 * number);
    match *happening {
        Happening::Ack { .. } => acknowledge(controller, number, happening),
        Happening::Loss { opens_epoch } => {
            let in_flight = controller.window();
            let rate =
                Some(LossSample { total_delivered: number as f64, lost: 1.0, app_limited: false });
            controller.on_loss(&Loss {
                now,
                transmission: number,
                next: number + 1,
                opens_epoch,
                again: false,
                in_flight,
                rtt: None,
                rate,
            });
        }
        Happening::Mark { opens_epoch } => {
            controller.on_mark(&Mark { now, packets: 1.0, opens_epoch })
        }
        _ => tell_rest(controller, now, happening),
    }
}

fn tell_rest(controller: &mut dyn Controller, now: Time, happening: &Happening) {
    match *happening {
        Happening::Restart => controller.on_restart(&idle(now, 20, Restart::Initial)),
        Happening::Timeout { opens_epoch, in_flight } => {
            let in_flight = f64::from(in_flight);
            controller.on_timeout(&Timeout { now, opens_epoch, in_flight });
        }
        Happening::Resume { restart } => controller.on_restart(&idle(now, 900, restart)),
        Happening::Unused { used } => controller.on_unused(f64::from(used)),
        Happening::Spurious => controller.on_spurious(),
        _ => {}
    }
}

/// Each law that keeps a window of its own, grown to a hundred packets and more in slow start.
/// Those that set a rate have their own answers to silence and timeouts.
fn windows_grown() -> impl Iterator<Item = (&'static str, Box<dyn Controller>)> {
    let keeps_a_window = |entry: &&Entry| {
        let by_rate = matches!(entry.moved_by, MovedBy::EachLoss | MovedBy::DeliveryRate);
        !by_rate && entry.name != "gwa-rate"
    };
    registry::LAWS.iter().filter(keeps_a_window).map(|entry| {
        let mut controller = born(entry, SlowStart::Standard);
        let latest = Duration::from_millis(40);
        let rtt = Some(Rtt { latest, smoothed: latest, minimum: latest, maximum: latest });
        for number in 0..400 {
            // Most are there after a hundred acknowledgements; LEDBAT++ gains a third for each.
            if number >= 100 && controller.window() > 100.0 {
                break;
            }
            controller.on_ack(&Ack {
                now: Time::ZERO + Duration::from_millis(number),
                packets: 1.0,
                newest: number,
                next: number + 50,
                rtt,
                rtt_is_fresh: true,
                in_flight: controller.window(),
                window_limited: true,
                recovering: false,
                marked: 0.0,
                reply: Reply::Feedback(1500.0),
                rate: None,
            });
        }
        assert!(controller.window() > 100.0, "{}: {}", entry.name, controller.window());
        (entry.name, controller)
    })
}

/// RFC 5681 §4.1 and Linux's `tcp_cwnd_restart`: from 10 packets, or halved per timeout of silence.
#[test]
fn after_a_silence_no_law_sends_what_it_once_could() {
    for (name, mut controller) in windows_grown() {
        let before = controller.window();
        controller.on_restart(&idle(Time::from_secs(2.0), 290, Restart::Initial));
        assert_eq!(controller.window(), before, "{name}: 290 ms are no timeout");
        controller.on_restart(&idle(Time::from_secs(3.0), 610, Restart::Halving));
        assert!((controller.window() / before - 0.25).abs() < 1e-12, "{name}: two timeouts");
        controller.on_restart(&idle(Time::from_secs(4.0), 310, Restart::Initial));
        // LEDBAT++ starts with two packets.
        let entry = registry::find(name).expect("a registered law");
        let initial = born(entry, SlowStart::Standard).window();
        assert!(initial <= 10.0, "{name}: {initial}");
        assert_eq!(controller.window(), initial, "{name}");
    }
}

/// Linux's `tcp_cwnd_application_limited`: halfway.
#[test]
fn a_window_that_nobody_uses_shrinks_under_every_law() {
    for (name, mut controller) in windows_grown() {
        let before = controller.window();
        controller.on_unused(30.0);
        let expected = (before + 30.0) / 2.0;
        assert!((controller.window() / expected - 1.0).abs() < 1e-12, "{name}");
    }
}

/// RFC 3168 §6.1.2: a mark is answered as a loss. Queues mark instead of dropping, so a law without
/// an answer has to say so.
#[test]
fn a_mark_reduces_the_window_unless_the_law_says_that_it_does_not_answer() {
    for (name, mut controller) in windows_grown() {
        let before = controller.window();
        tell(&mut *controller, 200, &Happening::Mark { opens_epoch: true });
        let answers = controller.window() < before;
        assert_eq!(answers, !controller.needs().ignores_marks, "{name}");
    }
}

/// Linux's `tcp_reno_undo_cwnd`: the window and the threshold of before.
#[test]
fn every_law_gives_back_what_a_spurious_epoch_took() {
    for (name, mut controller) in windows_grown() {
        let before = (controller.window(), controller.ssthresh());
        for timeout in [false, true] {
            let now = Time::from_secs(2.0);
            if timeout {
                controller.on_timeout(&Timeout { now, opens_epoch: true, in_flight: 0.0 });
            } else {
                tell(&mut *controller, 200, &Happening::Loss { opens_epoch: true });
            }
            // Those that set a rate need not answer a loss.
            let answers = timeout || !matches!(controller.pacing(), Pacing::Rate { .. });
            assert!(controller.window() < before.0 || !answers, "{name}");
            controller.on_spurious();
            assert_eq!((controller.window(), controller.ssthresh()), before, "{name}");
        }
    }
}

/// Linux's `tcp_enter_loss`: a packet more than what is in flight, and one threshold per epoch.
#[test]
fn a_timeout_leaves_what_is_in_flight_and_reduces_the_threshold_once() {
    for (name, mut controller) in windows_grown() {
        let timeout = Timeout { now: Time::from_secs(2.0), opens_epoch: true, in_flight: 7.0 };
        controller.on_timeout(&timeout);
        assert_eq!(controller.window(), 8.0, "{name}");
        let ssthresh = controller.ssthresh();
        controller.on_timeout(&Timeout { opens_epoch: false, in_flight: 3.0, ..timeout });
        assert_eq!((controller.window(), controller.ssthresh()), (4.0, ssthresh), "{name}");
    }
}

proptest! {
    #[test]
    fn windows_are_finite_above_their_floor_and_still_while_recovering(
        happenings in prop::collection::vec(happening(), 1..400),
    ) {
        for entry in registry::LAWS {
            for mut controller in variants(entry) {
                for (number, happening) in happenings.iter().enumerate() {
                    let before = controller.window();
                    tell(&mut *controller, number as u64, happening);
                    // The window of a law that sets a rate moves with the RTT.
                    let paces_at_a_rate = matches!(controller.pacing(), Pacing::Rate { .. });
                    // Routers may move the window at any time.
                    let moves_at_any_time = paces_at_a_rate || controller.needs().routers;
                    let after = controller.window();
                    let least = controller.least_window();
                    prop_assert!(
                        after.is_finite() && after >= least && least > 0.0,
                        "{}: {happening:?} made {before} {after}, the floor is {least}",
                        entry.name
                    );
                    // One that does not pace could never let less than a packet go.
                    let paces = !matches!(controller.pacing(), Pacing::Unpaced);
                    prop_assert!(paces || least >= 1.0, "{}: {least}", entry.name);
                    prop_assert!(!controller.ssthresh().is_nan());
                    match happening {
                        Happening::Ack { recovering: true, .. } if !moves_at_any_time => {
                            prop_assert_eq!(before, after);
                        }
                        Happening::Ack { .. }
                            if !matches!(entry.moved_by, MovedBy::Delay | MovedBy::DeliveryRate)
                                && !moves_at_any_time =>
                        {
                            prop_assert!(
                                after >= before,
                                "{}: {happening:?} made {before} {after}",
                                entry.name
                            );
                        }
                        Happening::Loss { opens_epoch: true } => {
                            prop_assert!(after <= before.max(2.0));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    #[test]
    fn the_same_events_give_the_same_bits(
        happenings in prop::collection::vec(happening(), 1..200),
    ) {
        for entry in registry::LAWS {
            let run = || {
                let mut controller = born(entry, SlowStart::Standard);
                happenings.iter().enumerate().for_each(|(number, happening)| {
                    tell(&mut *controller, number as u64, happening);
                });
                controller.window().to_bits()
            };
            prop_assert_eq!(run(), run());
        }
    }
}
