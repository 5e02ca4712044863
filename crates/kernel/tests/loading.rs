//! Laws in this machine's kernel, where it lets us; each test says what it left out where it does
//! not.
#![cfg(feature = "bpf")]

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use narrows_control::{Ack, Controller, Gaps, Loss, Needs, Pacing, Tick, Timeout};
use narrows_kernel::{KernelError, KernelLaw, LAWS, install, installed, load, steer, uninstall};
use narrows_units::Time;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// What one test loads another must not find.
static ALONE: Mutex<()> = Mutex::new(());
/// Set for the process that `a_killed_process_leaves_nothing` kills.
const VICTIM: &str = "NARROWS_VICTIM";

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn asked(law: &str) -> KernelLaw {
    KernelLaw::parse(law).unwrap_or_else(|error| panic!("{law}: {error}"))
}

/// Whether this machine lets us; says why it does not.
fn may() -> bool {
    let has_types = std::fs::metadata("/sys/kernel/btf/vmlinux").is_ok();
    match load(&asked("scalable"), Some("nw_may")) {
        Ok(_) => true,
        Err(error) if !has_types || error.to_string().contains("it needs root") => {
            eprintln!("left out 1 test of laws in the kernel: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn controls() -> String {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    std::fs::read_to_string(path).expect("Linux has it")
}

/// Everything of BPF that the kernel holds, by number.
fn held() -> BTreeSet<(&'static str, u32)> {
    let programs = ProgInfoIter::default().map(|it| ("program", it.id));
    let maps = MapInfoIter::default().map(|it| ("map", it.id));
    let links = LinkInfoIter::default().map(|it| ("link", it.id));
    programs.chain(maps).chain(links).collect()
}

/// Fails unless the kernel comes to hold no more than `before`; it frees things a little later.
fn nothing_is_left(before: &BTreeSet<(&'static str, u32)>, names: &str) {
    for look in 0.. {
        let left: Vec<_> = held().difference(before).copied().collect();
        if left.is_empty() && controls() == names {
            return;
        }
        assert!(look < 400, "left: {left:?}, {}", controls());
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_law_passes_the_verifier_and_has_its_name() {
    let _alone = alone();
    if !may() {
        return;
    }
    for law in LAWS {
        let loaded = load(&asked(law), None).unwrap_or_else(|error| panic!("{law}: {error}"));
        assert!(controls().split_whitespace().any(|name| name == loaded.name()), "{law}");
        let again = load(&asked(law), None).err().expect("the name is taken");
        assert!(matches!(again, KernelError::Taken(_)), "{again}");
    }
}

#[test]
fn a_hundred_loads_leave_nothing() {
    let _alone = alone();
    if !may() {
        return;
    }
    let (before, names) = (held(), controls());
    for number in 0..100 {
        let law = LAWS[number % LAWS.len()];
        load(&asked(law), None).unwrap_or_else(|error| panic!("{law}, load {number}: {error}"));
    }
    nothing_is_left(&before, &names);
}

#[test]
fn what_is_installed_stays_until_it_is_uninstalled() {
    let _alone = alone();
    if !may() {
        return;
    }
    let (before, names) = (held(), controls());
    let name = install(&asked("ltcp:beta=0.2:w_t=60")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(name, "nw_ltcp");
    assert!(controls().contains("nw_ltcp"));
    let ours = installed().into_iter().find(|it| it.name == name).expect("it is there");
    assert_eq!(ours.given, ["beta=0.2", "w_t=60"]);
    uninstall(&name).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(uninstall(&name), Err(KernelError::Absent(_))));
    nothing_is_left(&before, &names);
}

#[test]
fn a_law_that_a_connection_keeps_leads_to_no_dead_end() {
    let _alone = alone();
    if !may() {
        return;
    }
    let (before, names) = (held(), controls());
    let name = install(&asked("highspeed")).unwrap_or_else(|error| panic!("{error}"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it has one");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("sockets are there");
    socket.set_tcp_congestion(name.as_bytes()).expect("it is installed");
    socket.connect(&address.into()).expect("it listens");
    uninstall(&name).unwrap_or_else(|error| panic!("{error}"));
    // Linux 6.18.44 has let go of the name, others were seen to keep it.
    match install(&asked("highspeed")) {
        Ok(name) => uninstall(&name).unwrap_or_else(|error| panic!("{error}")),
        Err(KernelError::Kept(_)) => {}
        Err(other) => panic!("{other}"),
    }
    drop((socket, listener));
    nothing_is_left(&before, &names);
}

#[test]
fn a_law_that_a_process_brought_along_is_not_said_to_be_loaded_to_stay() {
    let _alone = alone();
    if !may() {
        return;
    }
    let _loaded = load(&asked("scalable"), None).unwrap_or_else(|error| panic!("{error}"));
    let again = install(&asked("scalable")).expect_err("the process has it");
    assert!(matches!(again, KernelError::Kept(_)), "{again}");
    assert!(again.to_string().contains("ss -ti"), "{again}");
}

/// The process that is killed; without its variable it has nothing to do.
#[test]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    println!("\nready");
    for number in 0_usize.. {
        let _one = load(&asked(LAWS[number % LAWS.len()]), None);
    }
}

#[test]
fn a_killed_process_leaves_nothing() {
    let _alone = alone();
    if !may() {
        return;
    }
    let (before, names) = (held(), controls());
    for moment in 0..20_u64 {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "victim", "--nocapture"])
            .env(VICTIM, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test runs");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let is_ready = out.lines().any(|line| line.is_ok_and(|line| line == "ready"));
        assert!(is_ready, "it says so before it begins");
        // Moments spread over the 20 to 30 ms that a load takes, and several loads.
        sleep(Duration::from_micros(7919 * moment % 100_000));
        child.kill().expect("it lives");
        child.wait().expect("it was killed");
    }
    nothing_is_left(&before, &names);
}

/// Paces at 20 packets a second, and counts what it hears of.
struct Slow {
    wakes_at: Time,
    acks: Arc<AtomicU64>,
}

impl Controller for Slow {
    fn on_ack(&mut self, ack: &Ack) {
        self.acks.fetch_add(ack.packets as u64, Ordering::Relaxed);
        assert!(ack.rtt.is_some(), "an acknowledgement brings a sample");
    }

    fn on_loss(&mut self, _: &Loss) {}

    fn on_timeout(&mut self, _: &Timeout) {}

    fn on_timer(&mut self, tick: &Tick) {
        self.wakes_at = tick.now + narrows_units::Duration::from_millis(20);
    }

    fn wakes_at(&self) -> Time {
        self.wakes_at
    }

    fn window(&self) -> f64 {
        100.0
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate { packets_per_second: 20.0, gaps: Gaps::Even }
    }

    fn needs(&self) -> Needs {
        Needs { timer: true, own_recovery: true, ..Needs::default() }
    }
}

#[test]
fn a_law_of_this_process_steers_a_connection() {
    let _alone = alone();
    if !may() {
        return;
    }
    let (before, names) = (held(), controls());
    let acks = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&acks);
    let make = Box::new(move || {
        let (wakes_at, acks) = (Time::ZERO, Arc::clone(&heard));
        Box::new(Slow { wakes_at, acks }) as Box<dyn Controller>
    });
    let steered = steer("nw_slow".to_owned(), make, || ()).unwrap_or_else(|it| panic!("{it}"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one");
    let sender = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    sender.set_tcp_congestion(steered.name().as_bytes()).expect("it is there");
    sender.connect(&address.into()).expect("it is listened to");
    sender.set_write_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    let (mut receiver, _) = listener.accept().expect("it has come");
    receiver.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    let mut piece = vec![0; 1 << 20];
    let mut transfer = |seconds| {
        let before = acks.load(Ordering::Relaxed);
        let time = std::thread::spawn(move || sleep(Duration::from_secs(seconds)));
        while !time.is_finished() {
            // A full buffer and an empty one are waited for.
            let _ = sender.send(&piece);
            let _ = receiver.read(&mut piece);
        }
        acks.load(Ordering::Relaxed) - before
    };
    // Until it is first answered, a millisecond, a connection has its initial window.
    transfer(1);
    let packets = transfer(3);
    assert!((20..=70).contains(&packets), "{packets} packets in 3 s");
    drop((sender, receiver));
    drop(steered);
    nothing_is_left(&before, &names);
}
