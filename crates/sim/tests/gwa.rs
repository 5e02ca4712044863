//! GWA against §3 and §4 of its paper: the queue never exceeds its target and nothing is lost,
//! whatever the service rate, even if nothing is served at all.

use narrows_control::Gaps;
use narrows_control::registry::{self, Birth};
use narrows_router::queues::{Gwa, GwaSettings};
use narrows_router::{Backlog, FlowCountSettings, Limit, OnDeparture, Packet, Room};
use narrows_signal::{Ecn, Request};
use narrows_transport::Timeouts;
use narrows_transport::congestion::{Path, Spacing};
use narrows_transport::tcp::{Habits, RecoveryKind, TcpSettings};
use narrows_transport::{Receiver, Segment, Sender, Transport};
use narrows_units::{Duration, Stream, Time};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

const PACKET: u32 = 1000;

#[derive(Clone, Copy, Debug)]
struct Data {
    flow: u32,
    segment: Segment,
}

impl Packet for Data {
    fn bytes(&self) -> u32 {
        self.segment.bytes
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.segment.ecn()
    }
    fn mark(&mut self) {
        self.segment.mark();
    }
    fn request(&mut self) -> Option<&mut Request> {
        self.segment.request()
    }
}

/// A host, its peer, and the wires between them and the router; time is counted in ticks of one
/// millisecond.
struct Host {
    sender: Sender,
    receiver: Receiver,
    /// Packets on their way to the router, and acknowledgements on their way back, with the ticks
    /// at which they arrive.
    there: VecDeque<(u64, Segment)>,
    back: VecDeque<(u64, Segment)>,
    /// Ticks from the host to the router, and from the router via the peer back to the host.
    delays: (u64, u64),
}

fn host(delays: (u64, u64), pacing: Option<Gaps>) -> Host {
    let birth = Birth {
        packet_bytes: PACKET,
        initial_window: 2.0,
        receive_window: 64.0,
        ..Birth::default()
    };
    let controller =
        registry::find("gwa").expect("a law").read(&birth).expect("it has no settings").make(1);
    // The law alone, without a retransmission timer: no window could hold back what a timer sends
    // again while nothing is served.
    let least = Duration::from_millis(10_000_000);
    let timeouts = Timeouts { least, ..Habits::NS2.timeouts };
    let habits = Arc::new(Habits { timeouts, ..Habits::NS2 });
    let settings = TcpSettings {
        window_limit: 64.0,
        pacing: pacing.map(Spacing::Window),
        ..TcpSettings::new(RecoveryKind::Reno, habits, PACKET)
    };
    let place = Path::new(Stream::new(1, 1, 1));
    let (mut sender, receiver) = Transport::Tcp(settings).ends(controller, 40, place);
    sender.offer(1 << 40);
    Host { sender, receiver, there: VecDeque::new(), back: VecDeque::new(), delays }
}

fn at(tick: u64) -> Time {
    Time::ZERO + Duration::from_millis(tick)
}

/// Runs `hosts` over a router with a buffer of `buffer` packets that serves `service(tick)` packets
/// in each tick. Returns the longest queue of any flow, the longest queue of all flows together,
/// and the number of packets served.
fn run(
    round_robin: bool,
    buffer: u64,
    mut hosts: Vec<Host>,
    ticks: u64,
    service: impl Fn(u64) -> u64,
) -> (u64, u64, u64) {
    let flows = Some(hosts.len() as f64);
    let flows = FlowCountSettings { flows, ..FlowCountSettings::default() };
    let room = Room { limit: Limit::Unlimited, in_transmission: Backlog::default() };
    let mut dropped = Vec::new();
    let mut queue = OnDeparture::Gwa(Gwa::new(GwaSettings {
        round_robin,
        buffer: (buffer * u64::from(PACKET)) as f64,
        flows,
        backward: false,
        rewrite: false,
        packet: 0,
    }));
    let mut waiting = vec![0u64; hosts.len()];
    let (mut longest, mut longest_of_all, mut served) = (0, 0, 0);
    for tick in 0..ticks {
        let now = at(tick);
        for (flow, host) in hosts.iter_mut().enumerate() {
            while let Some((_, segment)) = host.there.pop_front_if(|(when, _)| *when <= tick) {
                queue.enqueue(now, Data { flow: flow as u32, segment }, room, &mut dropped);
                waiting[flow] += 1;
            }
            longest = longest.max(waiting[flow]);
        }
        longest_of_all = longest_of_all.max(waiting.iter().sum());
        for _ in 0..service(tick) {
            let Some(Data { flow, segment }) = queue.dequeue(now, &mut dropped) else { break };
            let host = &mut hosts[flow as usize];
            waiting[flow as usize] -= 1;
            served += 1;
            if let Some(ack) = host.receiver.on_data(now, &segment) {
                host.back.push_back((tick + host.delays.1, ack));
            }
        }
        for host in &mut hosts {
            while let Some((_, ack)) = host.back.pop_front_if(|(when, _)| *when <= tick) {
                host.sender.on_ack(now, &ack);
            }
            while let Some(segment) = host.sender.poll_transmit(now) {
                host.there.push_back((tick + host.delays.0, segment));
            }
        }
    }
    (longest, longest_of_all, served)
}

proptest! {
    #[test]
    fn the_queue_never_passes_its_target_whatever_the_service(
        round_robin in any::<bool>(),
        target in 2u64..40,
        delays in prop::collection::vec((1u64..60, 1u64..60), 1..6),
        // Packets per tick, and the number of ticks; a third of the spells serve nothing.
        spells in prop::collection::vec(
            (prop_oneof![Just(0u64), 1u64..4, Just(9)], 1u64..400),
            1..12,
        ),
    ) {
        let buffer = target * delays.len() as u64;
        let hosts: Vec<Host> = delays.iter().map(|delays| host(*delays, None)).collect();
        let ticks = spells.iter().map(|(_, ticks)| ticks).sum();
        let service = |tick: u64| {
            let mut end = 0;
            spells
                .iter()
                .find(|(_, ticks)| {
                    end += ticks;
                    tick < end
                })
                .map_or(0, |(packets, _)| *packets)
        };
        let (longest, longest_of_all, _) = run(round_robin, buffer, hosts, ticks, service);
        prop_assert!(longest <= target, "{longest} packets of a flow wait; its target is {target}");
        prop_assert!(
            longest_of_all <= buffer,
            "{longest_of_all} packets wait; the buffer holds {buffer}"
        );
    }
}

#[test]
fn a_target_fills_its_share_of_the_bandwidth_delay_product_and_one_of_it_fills_the_link() {
    // One packet per millisecond, a round trip of 50 ms, and one more tick until an acknowledgement
    // is handled. Paced, because otherwise the clumps that slow start leaves recur in each round
    // trip (docs/papers/gwa.md, sec3).
    for (target, expected) in [(60, 1.0), (51, 1.0), (25, 25.0 / 51.0), (10, 10.0 / 51.0)] {
        let (_, _, served) =
            run(true, target, vec![host((20, 30), Some(Gaps::Even))], 20_000, |_| 1);
        let utilisation = served as f64 / 20_000.0;
        assert!((utilisation - expected).abs() < 0.03, "{target} packets: {utilisation}");
    }
}
