//! Eager hops change nothing in networks that are no dumbbells, where links have several feeders.

use crate::rules::queue_of;
use narrows_control::registry::{self, Birth};
use narrows_router::{Discipline, Limit};
use narrows_sim::{
    Ahead, Application, Endpoints, FlowSettings, FlowSummary, HostSettings, LinkSettings,
    LinkSummary, Network, RunSettings, Simulation, Watch,
};
use narrows_transport::Transport;
use narrows_transport::congestion::Path;
use narrows_transport::tcp::{AckPolicy, Habits, RecoveryKind, TcpSettings};
use narrows_units::{Duration, Rate, Stream, Time};
use std::ops::ControlFlow;
use std::sync::Arc;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Adds a link of 100 Mbps that never drops and that nobody watches.
fn plain(network: &mut Network, from: u32, to: u32) {
    let link = LinkSettings::plain(Rate::from_megabits(100), MILLISECOND);
    network.links.push((from, to, Arc::new(link)));
}

/// Adds such links there and back.
fn both(network: &mut Network, one: u32, other: u32) {
    plain(network, one, other);
    plain(network, other, one);
}

/// Adds a link with a queue of 20 packets.
fn queue(network: &mut Network, from: u32, to: u32, megabits: u64, queue: Discipline) {
    let link = LinkSettings {
        limit: Limit::Packets(20),
        watch: Watch::Histograms,
        queue,
        ..LinkSettings::plain(Rate::from_megabits(megabits), MILLISECOND)
    };
    network.links.push((from, to, Arc::new(link)));
}

/// Adds a flow of `law`, each of whose packets is answered at once.
fn flow(network: &mut Network, from: u32, to: u32, law: &str) {
    let number = network.flows.len() as u64 + 1;
    let recipe = registry::find(law).expect("a law").read(&Birth::default()).expect("its defaults");
    let habits = Habits { acks: AckPolicy { every: 1, ..Habits::NS2.acks }, ..Habits::NS2 };
    let settings = TcpSettings::new(RecoveryKind::Sack, Arc::new(habits), 1000);
    network.flows.push(FlowSettings {
        from,
        to,
        endpoints: Endpoints::Connection {
            transport: Transport::Tcp(settings),
            controller: recipe.make(1),
            ack_bytes: 40,
            application: Application::Endless,
            path: Path::new(Stream::new(1, 8, number)),
        },
        start: Time::ZERO + Duration::from_micros(1234) * number,
        stop: Time::NEVER,
        overhead: Duration::ZERO,
        host: HostSettings::default(),
        sampled: None,
    });
}

fn shown(network: Network, ahead: Ahead) -> (Vec<FlowSummary>, Vec<LinkSummary>) {
    let (flows, links) = (network.flows.len(), network.links.len());
    let (duration, warmup) = (Duration::from_millis(5000), Duration::from_millis(500));
    let settings = RunSettings { seed: 1, duration, warmup, ahead };
    let mut simulation = Simulation::new(network, settings).expect("it is connected");
    let _ = simulation.run(|_| ControlFlow::Continue(()));
    let flows = (0..flows).map(|flow| simulation.flow(flow)).collect();
    (flows, (0..links).map(|link| simulation.link(link)).collect())
}

/// Every hop an event or not, it shows the same.
fn compare(what: &str, network: fn() -> Network) {
    let scheduled = shown(network(), Ahead::Nothing);
    for ahead in [Ahead::All, Ahead::Answers, Ahead::Plain] {
        assert!(shown(network(), ahead) == scheduled, "{what}: {ahead:?}");
    }
}

#[test]
fn a_plain_link_that_hosts_share_hears_of_them_in_order() {
    compare("the link back", || {
        let mut network = Network::default();
        queue(&mut network, 0, 1, 10, Discipline::DropTail);
        let back = LinkSettings::plain(Rate::from_megabits(1), MILLISECOND);
        network.links.push((1, 0, Arc::new(back)));
        for (left, right) in [(2, 3), (4, 5), (6, 7)] {
            both(&mut network, left, 0);
            let delay = MILLISECOND * u64::from(left);
            let access = LinkSettings::plain(Rate::from_megabits(100), delay);
            network.links.extend([(1, right, access.clone().into()), (right, 1, access.into())]);
            flow(&mut network, left, right, "reno");
        }
        network
    });
}

#[test]
fn data_and_answers_over_the_same_queues_keep_their_order() {
    compare("a ring", || {
        let mut network = Network::default();
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            queue(&mut network, from, to, 10, Discipline::DropTail);
        }
        flow(&mut network, 0, 2, "reno");
        flow(&mut network, 0, 1, "reno");
        network
    });
    compare("a ring with hosts", || {
        let mut network = Network::default();
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            queue(&mut network, from, to, 10, Discipline::DropTail);
        }
        [(3, 0), (4, 2), (5, 0)].into_iter().for_each(|(host, at)| both(&mut network, host, at));
        flow(&mut network, 3, 4, "reno");
        flow(&mut network, 5, 1, "reno");
        network
    });
}

/// The data of one flow joins behind the router that tells the other's answers of its room.
#[test]
fn answers_that_a_router_meets_and_those_that_it_does_not_keep_their_order() {
    fn network(back_from: fn(&mut Network, u32)) -> Network {
        let mut network = Network::default();
        queue(&mut network, 0, 1, 100, queue_of("gwa", &["backward=on"]));
        queue(&mut network, 1, 2, 10, Discipline::DropTail);
        queue(&mut network, 0, 5, 10, Discipline::DropTail);
        plain(&mut network, 5, 0);
        both(&mut network, 3, 5);
        plain(&mut network, 4, 1);
        plain(&mut network, 5, 4);
        for receiver in [6, 7] {
            plain(&mut network, 2, receiver);
            back_from(&mut network, receiver);
        }
        flow(&mut network, 3, 6, "gwa");
        flow(&mut network, 4, 7, "gwa");
        network
    }
    compare("by links of their own", || network(|network, receiver| plain(network, receiver, 0)));
    compare("over one queue", || {
        let mut network = network(|network, receiver| plain(network, receiver, 2));
        queue(&mut network, 2, 0, 10, Discipline::DropTail);
        network
    });
}
