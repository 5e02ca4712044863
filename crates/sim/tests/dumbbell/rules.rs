//! The rules of the simulator: the same seed gives the same bits, eager hops change nothing, slices
//! change nothing, no packet disappears.

use crate::dumbbell::{BOTTLENECK, Dumbbell, Sends};
use crate::hosted;
use narrows_control::Gaps;
use narrows_router::registry::{self, Placement};
use narrows_router::{Discipline, Limit};
use narrows_settings::Given;
use narrows_sim::{
    Ahead, Cpu, Crossing, FlowSummary, Gap, HostSettings, Jitter, LinkSummary, Loss, RunSettings,
    Simulation, Stalls, Tap, Transfer,
};
use narrows_transport::tcp::{AckPolicy, Habits, RecoveryKind};
use narrows_units::{Duration, Rate, Time};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Everything that a run shows, for comparison.
fn shown(
    simulation: &Simulation,
    dumbbell: &Dumbbell,
) -> (Vec<FlowSummary>, Vec<LinkSummary>, Vec<Vec<u64>>) {
    if let Some(overrun) = simulation.overrun() {
        // The run ends at some time after that.
        return (Vec::new(), Vec::new(), vec![vec![overrun.at.picos()]]);
    }
    let flows = (dumbbell.flows + dumbbell.reverse_flows) as usize;
    let links = (0..2 + 4 * flows).map(|link| simulation.link(link)).collect();
    let bits = |column: &[f64]| column.iter().map(|value| value.to_bits()).collect();
    let mut columns: Vec<Vec<u64>> = Vec::new();
    for flow in 0..flows {
        if let Some((sender, receiver)) = simulation.flow_series(flow) {
            columns.extend([
                bits(&sender.window),
                bits(&sender.rtt),
                sender.sent.clone(),
                receiver.arrived.clone(),
            ]);
        }
    }
    if let Some((_, series)) = simulation.link_series(BOTTLENECK) {
        columns.extend([
            series.queue.clone(),
            series.arrivals.clone(),
            series.drops.clone(),
            series.departed_bytes.clone(),
        ]);
    }
    for flow in 0..flows {
        let last = simulation.unfinished(flow);
        let transfers = simulation.transfers(flow).iter().chain(&last);
        let picos = |it: &Transfer| [it.requested.picos(), it.finished.picos(), it.bytes];
        columns.push(transfers.flat_map(picos).collect());
    }
    ((0..flows).map(|flow| simulation.flow(flow)).collect(), links, columns)
}

/// Every queue of the registry, some with settings that make them act within a few packets.
fn queues() -> Vec<Discipline> {
    let mut queues: Vec<_> = registry::names().map(|name| queue_of(name, &[])).collect();
    queues.extend([
        Discipline::MarkFrom(5),
        queue_of("red", &["min=2", "max=6", "weight=0.02", "gentle=on"]),
        queue_of("ba", &["gain=0.5"]),
        queue_of("fq-codel", &["queues=16"]),
    ]);
    queues
}

/// The queue `name` with such settings, of 20 packets.
pub fn queue_of(name: &str, parts: &[&str]) -> Discipline {
    let place = Placement { limit: Limit::Packets(20), packet: 1000 };
    let given = Given::parse(parts.iter().copied()).expect("name=value");
    registry::find(name).expect("a queue").build(&given, &place).expect("its settings")
}

/// CoDel as it comes.
pub fn codel() -> Discipline {
    queue_of("codel", &[])
}

/// A processor that takes its time, or takes none.
fn any_cpu() -> impl Strategy<Value = Option<Cpu>> {
    let cpu = (1u64..100, 1u32..20)
        .prop_map(|(micros, train)| Cpu { datagram: Duration::from_micros(micros), train });
    prop::option::of(cpu)
}

/// Ideal hosts as often as not.
fn any_host() -> impl Strategy<Value = HostSettings> {
    let stalls = (1u64..100, 1u64..4000).prop_map(|(every, length)| Stalls {
        every: Duration::from_millis(every),
        length: Duration::from_micros(length),
    });
    let tick = prop_oneof![Just(0), 1u64..12_000].prop_map(Duration::from_micros);
    let batch = prop_oneof![Just(0), 1u64..3000].prop_map(Duration::from_micros);
    let wait = prop_oneof![Just(0), 1u64..3000].prop_map(Duration::from_micros);
    let host =
        (tick, batch, wait, prop::option::of(stalls)).prop_map(|(tick, batch, wait, stalls)| {
            HostSettings { tick, batch, wait, stalls, cpu: None }
        });
    prop_oneof![Just(HostSettings::default()), host]
}

fn any_dumbbell() -> impl Strategy<Value = Dumbbell> {
    let network = (1u64..40, 5u64..80, 1u64..60, 1u32..6, 0u32..3, 0u64..20);
    let tcp = (
        0usize..3,
        0usize..9,
        any::<bool>(),
        prop_oneof![Just(None), Just(Some(Gaps::Even)), Just(Some(Gaps::Exponential))],
        0u64..300,
    );
    let varies = prop_oneof![Just(None), (1u64..1000).prop_map(Some)];
    let path = (0usize..3, 0u64..3, any::<bool>(), 0u64..1000, 0usize..7, 1u32..4, varies);
    let queue = (prop::sample::select(queues()), any::<bool>(), prop::bool::weighted(0.25));
    (network, tcp, path, queue, any_host()).prop_map(|(network, tcp, path, queue, host)| {
        let (queue, ecn, quic) = queue;
        let (rate, rtt, buffer, flows, reverse_flows, step) = network;
        let (recovery, law, linux, pacing, overhead) = tcp;
        let (loss, jitter, reorders, seed, application, every, varies) = path;
        let habits = if linux { Habits::LINUX } else { Habits::NS2 };
        Dumbbell {
            rate: Rate::from_megabits(rate),
            rtt: Duration::from_millis(rtt),
            rtt_step: Duration::from_millis(step),
            buffer,
            flows,
            reverse_flows,
            law: ["reno", "cubic", "etcp", "etcp-rate", "xcp", "gwa", "gwa-rate", "ba", "dctcp"]
                [law],
            queue,
            ecn,
            quic,
            recovery: [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack][recovery],
            habits: Habits { acks: AckPolicy { every, ..habits.acks }, ..habits },
            pacing,
            overhead: Duration::from_micros(overhead.saturating_sub(100)),
            host,
            sends: [
                Sends::Endless,
                Sends::Packets(700),
                Sends::Every(Gap::Exponential(Duration::from_micros(1900))),
                Sends::Pages,
                Sends::Queries(Duration::from_millis(90)),
                Sends::Arrivals(Duration::from_millis(40)),
                Sends::PagesOver(3),
            ][application],
            loss: [
                Loss::None,
                Loss::Bernoulli(0.01),
                Loss::GilbertElliott { enter: 0.005, leave: 0.4, good: 0.0, bad: 0.8 },
            ][loss],
            jitter: Jitter { most: Duration::from_millis(jitter), reorders },
            varies,
            sampled: Some(Duration::from_millis(7)),
            duration: Duration::from_millis(3000),
            warmup: Duration::from_millis(500),
            seed,
            ..Dumbbell::default()
        }
    })
}

/// Random networks of each kind: 200, or as many as the environment variable `NARROWS_CASES` says.
fn cases() -> u32 {
    let asked = std::env::var("NARROWS_CASES").ok();
    asked.map_or(200, |text| text.parse().expect("NARROWS_CASES is a number of cases"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn eager_hops_change_nothing(dumbbell in any_dumbbell()) {
        let scheduled = Dumbbell { eager: false, ..dumbbell.clone() };
        prop_assert!(shown(&dumbbell.run(), &dumbbell) == shown(&scheduled.run(), &scheduled));
    }

    /// Acknowledgements go over the link back in the event of their data where it is certain that
    /// they follow that: of one RTT, one way, of ideal hosts. Delayed by some milliseconds, those
    /// of several flows often fall due in one instant.
    #[test]
    fn answers_without_an_event_change_nothing(
        dumbbell in any_dumbbell(), is_plain_back: bool, flows in 2u32..12, delay in 0u64..60,
        spread in 0u64..20, buffer in 1u64..400,
    ) {
        let acks = AckPolicy { delay: Duration::from_millis(delay), ..dumbbell.habits.acks };
        let eager = Dumbbell {
            flows,
            buffer,
            reverse_flows: 0,
            rtt_step: Duration::from_micros(spread),
            habits: Habits { acks, ..dumbbell.habits },
            host: HostSettings::default(),
            jitter: Jitter::default(),
            varies: None,
            queue_back: is_plain_back.then_some(Discipline::DropTail),
            ..dumbbell
        };
        let scheduled = Dumbbell { eager: false, ..eager.clone() };
        prop_assert!(shown(&eager.run(), &eager) == shown(&scheduled.run(), &scheduled));
    }

    /// The entrance, the steps and the wire of a link that varies are there, and do nothing.
    #[test]
    fn a_link_of_which_nothing_varies_is_a_plain_one(dumbbell in any_dumbbell()) {
        let plain = Dumbbell { varies: None, ..dumbbell.clone() };
        let steady = Dumbbell { varies: Some(0), ..dumbbell };
        prop_assert!(shown(&plain.run(), &plain) == shown(&steady.run(), &steady));
    }

    #[test]
    fn a_run_in_slices_is_the_same_run(
        dumbbell in any_dumbbell(), slice in 1u64..400, senders_are_in_the_present: bool,
    ) {
        let settings = dumbbell.settings();
        let ahead = if senders_are_in_the_present { Ahead::Answers } else { settings.ahead };
        let settings = RunSettings { ahead, ..settings };
        let mut sliced = Simulation::new(dumbbell.network(), settings).expect("a sound network");
        let mut end = Time::ZERO;
        while sliced.now() < Time::ZERO + dumbbell.duration {
            end += Duration::from_millis(slice);
            if sliced.run_until(end, |_| ControlFlow::Continue(())).is_break() {
                break;
            }
        }
        // It is over, whoever runs it once more.
        let _ = sliced.run(|_| ControlFlow::Continue(()));
        prop_assert!(shown(&dumbbell.run(), &dumbbell) == shown(&sliced, &dumbbell));
    }

    #[test]
    fn hosted_ends_beside_our_own_keep_the_books_and_do_not_mind_eager_hops(
        dumbbell in any_dumbbell(), which in 1u32..512, cpu in any_cpu(),
    ) {
        let host = HostSettings { cpu, ..dumbbell.host };
        let mut dumbbell = Dumbbell { sends: Sends::Endless, host, ..dumbbell };
        let run = |dumbbell: &Dumbbell| {
            let network = hosted::network(dumbbell, |flow| which >> flow & 1 == 1);
            let mut simulation =
                Simulation::new(network, dumbbell.settings()).expect("a sound network");
            let _ = simulation.run(|_| ControlFlow::Continue(()));
            shown(&simulation, dumbbell)
        };
        let eager = run(&dumbbell);
        dumbbell.eager = false;
        prop_assert!(eager == run(&dumbbell));
    }
}

/// So many flows, and then so many packets in flight, that what comes is fetched ahead.
#[test]
fn fetching_ahead_changes_nothing() {
    let short = Dumbbell {
        rate: Rate::from_megabits(10_000),
        buffer: 10_000,
        duration: Duration::from_millis(700),
        warmup: Duration::ZERO,
        ..Dumbbell::default()
    };
    for dumbbell in [
        Dumbbell { flows: 2100, ..short.clone() },
        Dumbbell { flows: 3, habits: Habits::LINUX, ..short },
    ] {
        let scheduled = Dumbbell { eager: false, ..dumbbell.clone() };
        let simulation = dumbbell.run();
        assert!(simulation.delivered() > 20_000, "{}", simulation.delivered());
        assert!(shown(&simulation, &dumbbell) == shown(&scheduled.run(), &scheduled));
    }
}

/// Each packet that would be marked finds the queue full.
#[test]
fn a_mark_of_a_packet_that_is_dropped_does_not_count() {
    let queue = Discipline::MarkFrom(20);
    let dumbbell = Dumbbell { queue, buffer: 20, ecn: true, flows: 3, ..Dumbbell::default() };
    let link = dumbbell.run().link(BOTTLENECK);
    assert!(link.marks == 0 && link.drops > 0, "{} marks, {} drops", link.marks, link.drops);
}

#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<String>>>);

impl Tap for Record {
    fn crossing(&mut self, crossing: &Crossing) {
        let Crossing { at, link, point, flow, segment, .. } = crossing;
        let line = format!(
            "{:020} {link:4} {point:?} {flow} {:?} {} {}",
            at.picos(),
            segment.kind(),
            segment.number,
            segment.is_retransmission()
        );
        self.0.lock().expect("one thread").push(line);
    }
}

fn crossings(dumbbell: &Dumbbell) -> Vec<String> {
    let record = Record::default();
    let links = (0..2 + 4 * dumbbell.flows).collect();
    let mut simulation =
        Simulation::new(dumbbell.network(), dumbbell.settings()).expect("a sound network");
    simulation.set_tap(links, Box::new(record.clone()));
    let _ = simulation.run(|_| ControlFlow::Continue(()));
    let mut lines = std::mem::take(&mut *record.0.lock().expect("one thread"));
    // Departures are reported ahead of their time; a scheduled run does not reach all of those that
    // lie beyond the end.
    lines.retain(|line| {
        line[..20].parse::<u64>().expect("picoseconds") <= dumbbell.duration.picos()
    });
    lines.sort();
    lines
}

#[test]
fn eager_hops_change_nothing_packet_by_packet() {
    let dumbbell = Dumbbell {
        flows: 8,
        rtt_step: Duration::from_millis(3),
        duration: Duration::from_millis(4000),
        ..Dumbbell::default()
    };
    let (eager, scheduled) =
        (crossings(&dumbbell), crossings(&Dumbbell { eager: false, ..dumbbell }));
    assert!(eager.len() > 100_000, "{} crossings", eager.len());
    assert_eq!(eager.len(), scheduled.len());
    let differs = eager.iter().zip(&scheduled).find(|(a, b)| a != b);
    assert_eq!(differs, None);
}

/// A packet that makes a third block sends the acknowledgement that waited, and waits for one of
/// its own: its timer counts also where receivers are not woken ahead.
#[test]
fn what_waits_behind_an_acknowledgement_is_not_late() {
    let eager = Dumbbell {
        rate: Rate::from_megabits(25),
        rtt: Duration::from_millis(5),
        rtt_step: Duration::from_millis(11),
        buffer: 39,
        flows: 2,
        reverse_flows: 2,
        habits: Habits::LINUX,
        host: HostSettings { batch: Duration::from_micros(1608), ..HostSettings::default() },
        loss: Loss::GilbertElliott { enter: 0.005, leave: 0.4, good: 0.0, bad: 0.8 },
        ..Dumbbell::default()
    };
    for seed in 1..20 {
        let eager = Dumbbell { seed, ..eager.clone() };
        let scheduled = Dumbbell { eager: false, ..eager.clone() };
        assert!(shown(&eager.run(), &eager) == shown(&scheduled.run(), &scheduled), "{seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let dumbbell = Dumbbell {
        flows: 5,
        overhead: Duration::from_micros(50),
        loss: Loss::Bernoulli(1e-4),
        ..Dumbbell::default()
    };
    let runs = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| shown(&dumbbell.run(), &dumbbell))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(runs.iter().all(|run| *run == runs[0]));
    let other = Dumbbell { seed: 2, ..dumbbell.clone() };
    assert!(runs[0] != shown(&other.run(), &other));
}

#[test]
fn a_stopped_run_says_how_far_it_came() {
    let dumbbell = Dumbbell::default();
    let mut simulation =
        Simulation::new(dumbbell.network(), dumbbell.settings()).expect("a sound network");
    let outcome = simulation.run(|now| {
        if now > Time::from_secs(2.0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(
        outcome.is_break()
            && simulation.now() > Time::from_secs(2.0)
            && simulation.now() < Time::from_secs(10.0)
    );
}

/// If no packet overtakes another, every detected loss is a loss: timestamps must not say otherwise
/// (RFC 3522), and few losses are left to the timer.
#[test]
fn without_reordering_no_recovery_is_needless_and_lost_retransmissions_are_found() {
    for (law, loss) in [("bbr", 0.01), ("reno", 0.005), ("cubic", 0.005)] {
        let habits = Habits::LINUX;
        let dumbbell = Dumbbell {
            law,
            habits,
            loss: Loss::Bernoulli(loss),
            buffer: 400,
            ..Dumbbell::default()
        };
        let mut simulation =
            Simulation::new(dumbbell.network(), dumbbell.settings()).expect("a sound network");
        let _ = simulation.run(|_| ControlFlow::Continue(()));
        let sender = simulation.flow(0).sender;
        assert!(sender.lost > 20 && sender.spurious == 0, "{law}: {sender:?}");
        assert!(sender.timeouts * 50 <= sender.lost, "{law}: {sender:?}");
    }
}
