//! A path that stands for anybody's programs, until somebody takes it down.

use crate::clock::{Clock, Span};
use crate::frame::{ANY_FLOWS, Frame};
use crate::lab::{LabError, RECEIVERS, SENDERS, passed};
use crate::namespace::{Device, MOST_BUFFER, Namespace, Outside, free_ends};
use crate::port::Port;
use crate::wire::{Live, Told, Wire};
use narrows_router::Discipline;
use narrows_scenario::{Checked, CheckedLink, ScenarioError};
use narrows_sim::Measured;
use narrows_units::{Duration, Time};
use std::fs::File;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// How often `watch` is called.
const WATCHED_EVERY: std::time::Duration = std::time::Duration::from_millis(200);

/// What a standing path lies between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Two new network namespaces.
    Namespaces,
    /// The caller's network namespace and a new one, from which all goes out over the path.
    HereAndBehind,
}

/// A standing path, as it is at present.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Files that are the two namespaces while this process lives.
    pub namespaces: [PathBuf; 2],
    /// The addresses of the two ends.
    pub addresses: [Ipv4Addr; 2],
    /// There and back.
    pub ways: [Way; 2],
}

/// One direction of a standing path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way {
    /// Packets in the queue, the one in transmission included.
    pub queue: u64,
    /// Packets that have arrived.
    pub arrivals: u64,
    /// Packets that the queue has dropped.
    pub drops: u64,
    /// Packets that it has marked.
    pub marks: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// How late packets were delivered, in nanoseconds: 50 %, 99 %, 99.9 %.
    pub late: [u64; 3],
    /// How often the machine stood still.
    pub stalls: u64,
}

impl Way {
    fn of(live: &Live) -> Self {
        let [p50, p99, p999] = &live.late;
        let read = |place: &std::sync::atomic::AtomicU64| place.load(Ordering::Relaxed);
        Self {
            queue: read(&live.queue),
            arrivals: read(&live.arrivals),
            drops: read(&live.drops),
            marks: read(&live.marks),
            bytes: read(&live.bytes),
            late: [read(p50), read(p99), read(p999)],
            stalls: read(&live.stalls),
        }
    }
}

/// Lets the dumbbell of a scenario stand `between` two ends until `watch` breaks; its first flow
/// says the delay. With `single`, segments leave one by one. Fails if the network is not a
/// dumbbell, or if the machine lets us make no namespace or no device.
pub fn stand(
    checked: &Checked,
    seed: u64,
    single: bool,
    between: Between,
    mut watch: impl FnMut(&Standing) -> ControlFlow<()>,
) -> Result<(), LabError> {
    let (Some([there, back]), Some(flow)) =
        (checked.links.get(..2).and_then(|it| <&[_; 2]>::try_from(it).ok()), checked.flows.first())
    else {
        let message = "a lab has one bottleneck and a way back";
        return Err(LabError::Scenario(ScenarioError::new("dumbbell", message)));
    };
    if let Discipline::Xcp(_) | Discipline::Ba(_) | Discipline::Gwa(_) = there.queue {
        let message = "counts flows, and a standing path knows of none; try \"fq-codel\", or a file \
                       with narrows lab run";
        return Err(LabError::Scenario(ScenarioError::new("dumbbell.queue", message)));
    }
    if let Some((field, why)) = [there, back].into_iter().find_map(CheckedLink::only_simulated) {
        return Err(LabError::Scenario(ScenarioError::new(format!("dumbbell.{field}"), why)));
    }
    let delay = flow.base_rtt().scale(0.5);
    let mtu = checked.packet().count() as i32;
    let device = Device { mtu, single, ecn: false, buffer: MOST_BUFFER };
    let ends = Ends::new(between, device)?;
    let ways = [wire(there, delay, seed, 0), wire(back, delay, seed, 1)];
    let stop = AtomicBool::new(false);
    let span = Span { clock: Clock::start(), end: Time::NEVER, stop: &stop };
    let live = [Live::default(), Live::default()];
    thread::scope(|scope| {
        let [there, back] = ways;
        let [a, b] = [&ends.tuns[0], &ends.tuns[1]];
        let threads = [
            scope.spawn(|| there.carry(span, (a, b), Told::Nothing, Some(&live[0]))),
            scope.spawn(|| back.carry(span, (b, a), Told::Nothing, Some(&live[1]))),
        ];
        let (namespaces, addresses) = (&ends.namespaces, ends.addresses);
        while !threads.iter().any(thread::ScopedJoinHandle::is_finished) {
            let ways = [Way::of(&live[0]), Way::of(&live[1])];
            let namespaces = namespaces.clone();
            if watch(&Standing { namespaces, addresses, ways }).is_break() {
                break;
            }
            thread::sleep(WATCHED_EVERY);
        }
        stop.store(true, Ordering::Relaxed);
        for way in threads {
            way.join().expect("no direction panics")?;
        }
        Ok(())
    })
}

/// The two ends of a standing path.
struct Ends {
    tuns: [File; 2],
    namespaces: [PathBuf; 2],
    addresses: [Ipv4Addr; 2],
    /// They last as long as these.
    _open: Vec<Namespace>,
}

impl Ends {
    fn new(between: Between, device: Device) -> std::io::Result<Self> {
        match between {
            Between::Namespaces => {
                let left = Namespace::new("left", SENDERS, device)?;
                let right = Namespace::new("right", RECEIVERS, device)?;
                Ok(Self {
                    tuns: [left.tun.try_clone()?, right.tun.try_clone()?],
                    namespaces: [left.path(), right.path()],
                    addresses: [SENDERS, RECEIVERS],
                    _open: vec![left, right],
                })
            }
            Between::HereAndBehind => {
                let [here, there] = free_ends()?;
                let outside = Outside::new(here, device)?;
                let inside = Namespace::behind(there, device)?;
                Ok(Self {
                    tuns: [outside.tun, inside.tun.try_clone()?],
                    namespaces: [PathBuf::from("/proc/self/ns/net"), inside.path()],
                    addresses: [here.0, there.0],
                    _open: vec![inside],
                })
            }
        }
    }
}

fn wire(link: &CheckedLink, delay: Duration, seed: u64, way: u64) -> Wire {
    let measured = Measured { from: Time::ZERO, to: Time::NEVER };
    let (settings, own) = passed(link, seed ^ way);
    Wire {
        parse: Frame::any,
        port: Port::new(settings, measured, seed ^ way),
        delays: vec![delay.saturating_sub(own); ANY_FLOWS as usize],
        sample: Duration::ZERO,
        logs: false,
    }
}

/// The calling process, which must have one thread, becomes root of a user namespace with a network
/// namespace that has nothing but itself. Fails if the kernel lets nobody have one.
pub fn become_root() -> std::io::Result<()> {
    crate::sys::unshare_user()
}

/// The calling thread enters the network namespace that is the file at `path`.
pub fn enter(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::fd::AsFd;
    let file = std::fs::File::open(path)?;
    crate::sys::enter_network(file.as_fd())
}
