//! A network namespace without a name: it lasts as long as somebody has it open.

use crate::{netlink, sys};
use std::fs::{self, File, OpenOptions};
use std::io::Result;
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
        let made = thread::spawn(move || -> Result<Self> {
            sys::unshare_network()?;
            let tun = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
                .open("/dev/net/tun")?;
            sys::make_tun(&tun, name)?;
            sys::bring_up("lo")?;
            // Packets of IPv6 that nobody asked for; a kernel without IPv6 sends none.
            let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            sys::configure(name, address, DEVICE_QUEUE, device.mtu)?;
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
