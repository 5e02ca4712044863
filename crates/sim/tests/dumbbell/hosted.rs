//! Hosted ends: our own endpoints through the door, and ends that misbehave.

use crate::dumbbell::{BOTTLENECK, Dumbbell};
use narrows_router::Discipline;
use narrows_signal::Ecn;
use narrows_sim::{
    Cpu, End, Endpoint, Endpoints, HostSettings, HostedEnds, Network, Simulation, Told, Transmit,
};
use narrows_transport::{Receiver, Segment, Sender};
use narrows_units::{Duration, Time};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Segments under way; a datagram says the place of its own.
type Table = Arc<Mutex<Vec<Segment>>>;

/// One of our own ends, behind the door.
pub struct Ours {
    end: OurEnd,
    table: Table,
    /// Acknowledgements that wait to leave.
    answers: Vec<Segment>,
    has_begun: bool,
}

enum OurEnd {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

impl Ours {
    fn put(&self, segment: &Segment, datagram: &mut Vec<u8>) -> Transmit {
        let mut table = self.table.lock().expect("one thread");
        table.push(*segment);
        datagram.extend_from_slice(&(table.len() - 1).to_le_bytes());
        Transmit { bytes: segment.bytes, ecn: segment.ecn(), not_before: Time::ZERO }
    }

    pub fn sender(&self) -> &Sender {
        let OurEnd::Sender(sender) = &self.end else { panic!("it receives") };
        sender
    }
}

impl Endpoint for Ours {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        let place = usize::from_le_bytes(datagram[..].try_into().expect("a place"));
        let mut segment = self.table.lock().expect("one thread")[place];
        if ecn == Ecn::Marked {
            segment.mark();
        }
        match &mut self.end {
            OurEnd::Sender(sender) => sender.on_ack(now, &segment),
            OurEnd::Receiver(receiver) => self.answers.extend(receiver.on_data(now, &segment)),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        match &mut self.end {
            OurEnd::Sender(sender) => {
                if !self.has_begun {
                    sender.offer(u64::MAX / 4);
                }
                sender.on_wakeup(now);
            }
            OurEnd::Receiver(receiver) if self.has_begun => {
                self.answers.extend(receiver.on_wakeup(now));
            }
            OurEnd::Receiver(_) => {}
        }
        self.has_begun = true;
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        let segment = match &mut self.end {
            OurEnd::Sender(sender) => sender.poll_transmit(now)?,
            OurEnd::Receiver(_) => self.answers.pop()?,
        };
        Some(self.put(&segment, datagram))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        let at = match &self.end {
            OurEnd::Sender(sender) => sender.pace_at().min(sender.retransmit_at()),
            OurEnd::Receiver(receiver) => receiver.wakeup(),
        };
        (at < Time::NEVER).then_some(at)
    }

    fn tell(&self) -> Told {
        match &self.end {
            OurEnd::Sender(_) => Told::default(),
            OurEnd::Receiver(receiver) => {
                Told { delivered: receiver.next() * 960, ..Told::default() }
            }
        }
    }
}

/// The network of `dumbbell` with flow `k` behind the door if `through(k)`.
pub fn network(dumbbell: &Dumbbell, through: impl Fn(usize) -> bool) -> Network {
    let mut network = dumbbell.network();
    for (number, flow) in network.flows.iter_mut().enumerate() {
        if !through(number) {
            continue;
        }
        let never = narrows_sim::Gap::Constant(Duration::MAX);
        let nothing = Endpoints::Datagrams(narrows_sim::Datagrams::new(never, 1, None));
        let Endpoints::Connection { transport, controller, ack_bytes, path, .. } =
            std::mem::replace(&mut flow.endpoints, nothing)
        else {
            panic!("it is a connection");
        };
        let (sender, receiver) = transport.ends(controller, ack_bytes, path);
        let table = Table::default();
        let ours = |end| {
            let (table, answers) = (Arc::clone(&table), Vec::new());
            Box::new(Ours { end, table, answers, has_begun: false })
        };
        flow.endpoints = Endpoints::Hosted(HostedEnds {
            near: ours(OurEnd::Sender(Box::new(sender))),
            far: ours(OurEnd::Receiver(Box::new(receiver))),
            name: format!("flow {number}"),
            packet: 1000,
            finite: false,
            ecn: true,
        });
    }
    network
}

fn run(network: Network, dumbbell: &Dumbbell) -> Simulation {
    let mut simulation = Simulation::new(network, dumbbell.settings()).expect("a sound network");
    let _ = simulation.run(|_| ControlFlow::Continue(()));
    simulation
}

/// What our own ends did, native or hosted.
fn shown(simulation: &Simulation, dumbbell: &Dumbbell) -> String {
    let links: Vec<_> = (0..2).map(|link| simulation.link(link)).collect();
    let flows = (0..(dumbbell.flows + dumbbell.reverse_flows) as usize).map(|flow| {
        let window = |sender: &Sender| sender.controller().window();
        let hosted = simulation.endpoint::<Ours>(flow, End::Near);
        let window = match hosted {
            Some(ours) => window(ours.sender()),
            None => simulation.controller(flow).map_or(f64::NAN, |law| law.window()),
        };
        (simulation.flow(flow).sender.sent, window)
    });
    format!("{links:?} {:?}", flows.collect::<Vec<_>>())
}

#[test]
fn our_own_ends_through_the_door_do_the_same_bit_for_bit() {
    for (law, quic, queue) in [
        ("reno", false, Discipline::DropTail),
        ("cubic", false, Discipline::MarkFrom(10)),
        ("bbr", false, Discipline::DropTail),
        ("etcp", false, Discipline::DropTail),
        ("cubic", true, Discipline::DropTail),
    ] {
        let dumbbell = Dumbbell {
            law,
            quic,
            queue,
            ecn: queue != Discipline::DropTail,
            habits: narrows_transport::tcp::Habits::LINUX,
            flows: 4,
            reverse_flows: 1,
            rtt_step: Duration::from_millis(3),
            duration: Duration::from_millis(8000),
            ..Dumbbell::default()
        };
        let native = shown(&run(dumbbell.network(), &dumbbell), &dumbbell);
        for eager in [true, false] {
            let dumbbell = Dumbbell { eager, ..dumbbell.clone() };
            for through in [|_| true, |flow| flow % 2 == 0] {
                let hosted = run(network(&dumbbell, through), &dumbbell);
                assert_eq!(shown(&hosted, &dumbbell), native, "{law}, eager {eager}");
            }
        }
    }
}

#[test]
fn a_host_that_takes_its_time_sends_trains_and_sees_batches() {
    let cpu = Some(Cpu { datagram: Duration::from_micros(50), train: 4 });
    let host = HostSettings { cpu, ..HostSettings::default() };
    let dumbbell = Dumbbell { host, buffer: 500, ..Dumbbell::default() };
    let simulation = run(network(&dumbbell, |_| true), &dumbbell);
    let near = simulation.flow(0).hosted.expect("it is hosted").near;
    // Its processor handles 20,000 datagrams a second: as many come as leave.
    let handled = near.datagrams.sent + near.datagrams.arrived;
    assert!((0.97..=1.0).contains(&(handled as f64 / (15.0 * 20_000.0))), "{near:?}");
}

/// An end that asks to be woken again and again.
struct Restless;

impl Endpoint for Restless {
    fn handle(&mut self, _: Time, _: &mut Vec<u8>, _: Ecn) {}
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }
    fn poll_timeout(&mut self) -> Option<Time> {
        Some(Time::ZERO)
    }
}

/// An end that always has one more datagram.
struct Endless;

impl Endpoint for Endless {
    fn handle(&mut self, _: Time, _: &mut Vec<u8>, _: Ecn) {}
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        datagram.push(1);
        Some(Transmit::udp(datagram, Ecn::NotCapable))
    }
    fn poll_timeout(&mut self) -> Option<Time> {
        None
    }
}

#[test]
fn an_end_without_rest_is_stopped_by_its_name() {
    for (near, why) in [
        (
            Box::new(Restless) as Box<dyn Endpoint>,
            "10000 turns at 0.000000000 s, when nothing arrives",
        ),
        (Box::new(Endless), "131072 datagrams at 0.000000000 s"),
    ] {
        let dumbbell = Dumbbell { start_spread: Duration::ZERO, ..Dumbbell::default() };
        let mut network = network(&dumbbell, |_| true);
        if let Endpoints::Hosted(ends) = &mut network.flows[0].endpoints {
            ends.near = near;
        }
        let simulation = run(network, &dumbbell);
        let ended = simulation.flow(0).hosted.expect("it is hosted").near.ended;
        assert_eq!(ended, Some(format!("the near end of flow 0 was stopped: {why}")));
    }
}

#[test]
fn a_link_drops_what_is_larger_than_its_mtu_and_tells_nobody() {
    for queue in [Discipline::DropTail, crate::rules::codel()] {
        let dumbbell = Dumbbell { queue, ..Dumbbell::default() };
        let run_with = |mtu| {
            let mut network = dumbbell.network();
            Arc::make_mut(&mut network.links[BOTTLENECK].2).mtu = Some(mtu);
            run(network, &dumbbell).link(BOTTLENECK)
        };
        let (fits, too_large) = (run_with(1000), run_with(999));
        assert!(fits.utilisation > 0.4, "{}", fits.utilisation);
        assert_eq!((too_large.departures, too_large.drops), (0, too_large.arrivals));
    }
}

#[test]
fn a_flow_that_stops_leaves_nothing_behind() {
    let dumbbell = Dumbbell { flows: 2, ..Dumbbell::default() };
    let mut network = network(&dumbbell, |_| true);
    network.flows[0].stop = Time::from_secs(10.0);
    let simulation = run(network, &dumbbell);
    let [stopped, other] = [0, 1].map(|flow| simulation.flow(flow).hosted.expect("it is hosted"));
    assert!(stopped.near.wire_bytes.sent < other.near.wire_bytes.sent);
    assert!(stopped.far.datagrams.arrived <= stopped.near.datagrams.sent + 600);
}
