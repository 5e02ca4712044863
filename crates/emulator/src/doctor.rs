//! What this machine can do for a lab, and what to do about what it cannot.

use crate::laws::{loaded, why_not};
use crate::namespace::{Device, Namespace};
use narrows_kernel::LAWS;
use std::fs;
use std::net::Ipv4Addr;

/// Whether something is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it is there.
    pub is_there: bool,
    /// Whether a lab cannot run without it.
    pub is_needed: bool,
    /// What was found, or what to do.
    pub told: String,
}

impl Check {
    fn new(name: &'static str, is_needed: bool, found: Result<String, String>) -> Self {
        let is_there = found.is_ok();
        let told = found.unwrap_or_else(|remedy| remedy);
        Self { name, is_there, is_needed, told }
    }
}

/// Looks at everything; makes a namespace with a device, and removes it.
pub fn doctor() -> Vec<Check> {
    vec![
        Check::new("kernel", false, kernel()),
        Check::new("capabilities", false, capabilities()),
        Check::new("TUN", true, tun()),
        Check::new("namespaces", true, namespace()),
        Check::new("congestion controls", true, controls()),
        Check::new("real-time threads", false, real_time()),
        Check::new("cores", false, cores()),
        Check::new("clock", false, clock()),
        Check::new("laws in the kernel", false, laws()),
    ]
}

fn kernel() -> Result<String, String> {
    let version = fs::read_to_string("/proc/sys/kernel/osrelease");
    version.map(|text| format!("Linux {}", text.trim())).map_err(|_| "not Linux".to_owned())
}

fn capabilities() -> Result<String, String> {
    /// Those that something needs, by number (linux/capability.h).
    const NEEDED: [(u32, &str); 5] = [
        (12, "CAP_NET_ADMIN"),
        (21, "CAP_SYS_ADMIN"),
        (23, "CAP_SYS_NICE"),
        (38, "CAP_PERFMON"),
        (39, "CAP_BPF"),
    ];
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = bits.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    let (have, lack): (Vec<_>, Vec<_>) = NEEDED.iter().partition(|(bit, _)| bits >> bit & 1 == 1);
    let names = |of: Vec<&(u32, &str)>| of.iter().map(|it| it.1).collect::<Vec<_>>().join(", ");
    if lack.is_empty() {
        Ok(names(have))
    } else {
        Err(format!("{} missing: run as root, or with sudo", names(lack)))
    }
}

fn clock() -> Result<String, String> {
    match crate::sys::clock_resolution() {
        1 => Ok("monotonic, of 1 ns".to_owned()),
        nanos => Err(format!("of {nanos} ns: the kernel has no high-resolution timers")),
    }
}

fn tun() -> Result<String, String> {
    let remedy = "cannot be opened; run as root, or chmod 666 /dev/net/tun; \
                  if it is missing, modprobe tun";
    let open = fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    open.map(|_| "/dev/net/tun".to_owned())
        .map_err(|error| format!("/dev/net/tun {remedy} ({error})"))
}

fn namespace() -> Result<String, String> {
    let device = Device { mtu: 1500, single: true, ecn: false, buffer: 1 << 20 };
    let made = Namespace::new("doctor", Ipv4Addr::new(10, 77, 0, 1), device);
    made.map(|_| "one was made, with a device, and is gone again".to_owned()).map_err(|error| {
        format!("none can be made ({error}); run as root, or in a container with --privileged")
    })
}

fn controls() -> Result<String, String> {
    loaded().map(|names| names.join(", ")).map_err(|error| format!("unknown: {error}"))
}

fn real_time() -> Result<String, String> {
    let thread = std::thread::spawn(|| crate::sys::hurry(1));
    if thread.join().unwrap_or(false) {
        Ok("SCHED_FIFO is allowed".to_owned())
    } else {
        Err("SCHED_FIFO is refused: runs are later; run as root or with CAP_SYS_NICE".to_owned())
    }
}

fn cores() -> Result<String, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > 1 {
        Ok(format!("{cores}"))
    } else {
        Err("1: sender, receiver and path share it; runs are later".to_owned())
    }
}

fn laws() -> Result<String, String> {
    match why_not() {
        Some(why) => Err(format!("narrows' own laws cannot be loaded: {why}")),
        None => can_load().map(|()| format!("{} can be loaded", LAWS.join(", "))),
    }
}

/// Loads a law, and takes it away.
#[cfg(feature = "bpf")]
fn can_load() -> Result<(), String> {
    let asked = narrows_kernel::KernelLaw::parse("scalable").map_err(|error| error.to_string())?;
    let name = format!("nw_dr{}", std::process::id() % 100_000_000);
    narrows_kernel::load(&asked, Some(&name)).map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(not(feature = "bpf"))]
fn can_load() -> Result<(), String> {
    Ok(())
}
