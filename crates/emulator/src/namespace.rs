//! A network namespace without a name: it lasts as long as somebody has it open.

use crate::sys::Interface;
use crate::{netlink, sys};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;

/// Packets that a device holds between the kernel and us; the bottleneck must be ours.
const DEVICE_QUEUE: i32 = 16_000;
/// Bytes of a socket's buffers, at most.
pub(crate) const MOST_BUFFER: u32 = 64 << 20;
/// The same where windows are small: Linux's usual 6 MB.
pub(crate) const SMALL_BUFFER: u32 = 6 << 20;

/// The device of a namespace that is behind a path.
const INSIDE: &str = "inside";
/// The device before a path, with a number.
const OUTSIDE: &str = "narrows%d";
/// Networks for paths: 10.77.0.0/16 to 10.126.0.0/16.
const FIRST: u8 = 77;
const LAST: u8 = 126;
/// The smallest network that has room for another behind it.
const MOST_BITS: u8 = 28;

/// A device of the calling thread's namespace, before a path.
pub(crate) struct Outside {
    /// A read is a packet that enters the path, a write one that comes out of it.
    pub tun: File,
}

impl Outside {
    /// Makes the device with the `interface`; nothing else of the namespace is touched.
    pub fn new(interface: Interface, device: Device) -> Result<Self> {
        let tun = open_tun()?;
        let name = sys::make_tun(&tun, OUTSIDE)?;
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        sys::configure(&name, interface, DEVICE_QUEUE, device.mtu)?;
        if device.single {
            netlink::one_segment_at_once(&name)?;
        }
        Ok(Self { tun })
    }
}

/// The two ends of a path that begins in the calling thread's namespace: a network that nobody has
/// there, or, behind another path, the upper half of that one's, so that the way back is known.
pub(crate) fn free_ends() -> Result<[Interface; 2]> {
    let there = sys::interfaces()?;
    let inside = there.iter().find(|(name, _)| name == INSIDE);
    let ends = |base: u32, bits: u8| [1, 2].map(|host| (Ipv4Addr::from(base + host), bits));
    let taken = |base: u32, bits: u8| {
        let own = there.iter().filter(|(name, _)| name != INSIDE);
        let mut own = own.map(|(_, (address, _))| u32::from(*address));
        own.any(|address| address >> (32 - bits) == base >> (32 - bits))
    };
    let none = |message: &str| Err(Error::new(ErrorKind::AddrInUse, message.to_owned()));
    if let Some((_, (address, bits))) = inside {
        let bits = bits + 1;
        let base = u32::from(*address) >> (33 - u32::from(bits)) << (33 - u32::from(bits))
            | 1 << (32 - u32::from(bits));
        return if bits > MOST_BITS {
            none("paths are nested too deeply")
        } else if taken(base, bits) {
            none("another path begins here already; behind a path there is room for one")
        } else {
            Ok(ends(base, bits))
        };
    }
    let mut networks = (FIRST..=LAST).map(|part| u32::from(Ipv4Addr::new(10, part, 0, 0)));
    networks.find(|base| !taken(*base, 16)).map_or_else(
        || none("all networks from 10.77.0.0/16 to 10.126.0.0/16 are taken"),
        |base| Ok(ends(base, 16)),
    )
}

fn open_tun() -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")
}

/// What a device and its namespace are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    /// The largest packet in bytes.
    pub mtu: i32,
    /// Whether segments leave one by one, without segmentation offload.
    pub single: bool,
    /// Whether connections ask for ECN.
    pub ecn: bool,
    /// Bytes of a socket's buffers, at most.
    pub buffer: u32,
}

/// A namespace with one device, whose packets come to us.
pub(crate) struct Namespace {
    file: File,
    /// The device: a read is a packet that leaves the namespace, a write one that enters.
    pub tun: File,
}

impl Namespace {
    /// Makes a namespace whose `device`, `name`, has the `address` in a network of 16 bits.
    pub fn new(name: &'static str, address: Ipv4Addr, device: Device) -> Result<Self> {
        Self::made(name, (address, 16), device, false)
    }

    /// Makes a namespace from which all goes out by its `device`, [`INSIDE`], and which lets pass
    /// what is for others.
    pub fn behind(interface: Interface, device: Device) -> Result<Self> {
        Self::made(INSIDE, interface, device, true)
    }

    fn made(
        name: &'static str,
        interface: Interface,
        device: Device,
        routes: bool,
    ) -> Result<Self> {
        let made = thread::spawn(move || -> Result<Self> {
            sys::unshare_network()?;
            let tun = open_tun()?;
            sys::make_tun(&tun, name)?;
            sys::bring_up("lo")?;
            // Packets of IPv6 that nobody asked for; a kernel without IPv6 sends none.
            let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            sys::configure(name, interface, DEVICE_QUEUE, device.mtu)?;
            if device.single {
                netlink::one_segment_at_once(name)?;
            }
            for buffer in ["tcp_rmem", "tcp_wmem"] {
                let sizes = format!("4096 131072 {}", device.buffer);
                fs::write(format!("/proc/sys/net/ipv4/{buffer}"), sizes)?;
            }
            fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")?;
            if device.ecn {
                fs::write("/proc/sys/net/ipv4/tcp_ecn", "1")?;
            }
            if routes {
                sys::route_all_to(name)?;
                fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            }
            Ok(Self { file: File::open("/proc/thread-self/ns/net")?, tun })
        });
        made.join().expect("making a namespace does not panic")
    }

    /// A file that is this namespace while this process lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// The calling thread enters it.
    pub fn enter(&self) -> Result<()> {
        sys::enter_network(self.file.as_fd())
    }
}
