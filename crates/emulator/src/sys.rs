//! The calls to the kernel that the standard library lacks.
#![expect(unsafe_code, reason = "system calls; each says why its arguments are valid")]

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Nanoseconds by the monotonic clock.
pub(crate) fn monotonic_nanos() -> u64 {
    // SAFETY: `time` is a valid place for the answer; the clock exists on every Linux.
    nanos(|time| unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, time) })
}

/// The step of the monotonic clock's timers in nanoseconds.
pub(crate) fn clock_resolution() -> u64 {
    // SAFETY: as in `monotonic_nanos`.
    nanos(|time| unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, time) })
}

fn nanos(fill: impl FnOnce(*mut libc::timespec) -> libc::c_int) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    fill(&raw mut time);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The calling thread gets a network namespace of its own.
pub(crate) fn unshare_network() -> Result<()> {
    // SAFETY: takes no pointers.
    done(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

/// The calling thread enters a network namespace.
pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: takes no pointers.
    done(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// Timers of the calling thread are as exact as they can be, and it goes before others if that is
/// allowed; returns whether it is.
pub(crate) fn hurry(priority: i32) -> bool {
    // SAFETY: `parameters` outlives the call.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64);
        let mut parameters: libc::sched_param = zeroed();
        parameters.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0
    }
}

/// Waits until `file` can be read, or for `nanos`; returns whether it can.
pub(crate) fn wait_readable(file: &File, nanos: u64) -> Result<bool> {
    let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let timeout = libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: both places outlive the call, and there is one descriptor.
    let ready = unsafe { libc::ppoll(&raw mut poll, 1, &raw const timeout, std::ptr::null()) };
    if ready < 0 {
        let error = Error::last_os_error();
        return if error.kind() == ErrorKind::Interrupted { Ok(false) } else { Err(error) };
    }
    Ok(ready > 0)
}

/// Makes `/dev/net/tun`, opened, a device called `name` for whole IP packets in the namespace of
/// the calling thread; returns its name, in which the kernel puts a number for `%d`.
pub(crate) fn make_tun(file: &File, name: &str) -> Result<String> {
    /// `TUNSETIFF` of linux/if_tun.h.
    const SET: libc::Ioctl = 0x4004_54ca;
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request outlives the call, and is what TUNSETIFF reads.
    done(unsafe { libc::ioctl(file.as_raw_fd(), SET, &raw mut request) })?;
    let name = request.ifr_name.iter().take_while(|byte| **byte != 0);
    Ok(name.map(|byte| char::from(*byte as u8)).collect())
}

/// An address, and the bits of its network.
pub(crate) type Interface = (Ipv4Addr, u8);

/// Gives the device `name` an address, room for `queue` packets of `mtu` bytes, and brings it up.
pub(crate) fn configure(
    name: &str,
    (address, bits): Interface,
    queue: i32,
    mtu: i32,
) -> Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let fd = socket.as_raw_fd();
    let with_address = |address: Ipv4Addr| {
        let mut request = request(name);
        let socket_address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: u32::from(address).to_be() },
            sin_zero: [0; 8],
        };
        // SAFETY: a sockaddr_in is as long as a sockaddr, and has the same first field.
        request.ifr_ifru.ifru_addr =
            unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(socket_address) };
        request
    };
    let mut address = with_address(address);
    let mut mask = with_address(Ipv4Addr::from(u32::MAX << (32 - u32::from(bits))));
    let mut length = request(name);
    length.ifr_ifru.ifru_metric = queue;
    let mut size = request(name);
    size.ifr_ifru.ifru_mtu = mtu;
    for (what, request) in [
        (libc::SIOCSIFADDR, &mut address),
        (libc::SIOCSIFNETMASK, &mut mask),
        (libc::SIOCSIFTXQLEN, &mut length),
        (libc::SIOCSIFMTU, &mut size),
    ] {
        // SAFETY: each request outlives its call, and has the field that the call reads.
        let set =
            done(unsafe { libc::ioctl(fd, what as libc::Ioctl, std::ptr::from_mut(request)) });
        // Root of a user namespace may not set a device's queue; 500 packets are usual.
        let may_not = set.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        if !(may_not && what == libc::SIOCSIFTXQLEN) {
            set?;
        }
    }
    bring_up(name)
}

/// Sends all that goes nowhere else to the device `name`.
pub(crate) fn route_all_to(name: &str) -> Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let mut device = std::ffi::CString::new(name)?.into_bytes_with_nul();
    let family = libc::AF_INET as libc::sa_family_t;
    // SAFETY: zeros are a valid rtentry.
    let mut route: libc::rtentry = unsafe { zeroed() };
    route.rt_dst.sa_family = family;
    route.rt_genmask.sa_family = family;
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = device.as_mut_ptr().cast();
    // SAFETY: the route and the name that it points to outlive the call.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as libc::Ioctl, &raw mut route) })
}

/// The names, addresses and bits of IPv4 of the calling thread's namespace.
pub(crate) fn interfaces() -> Result<Vec<(String, Interface)>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call fills in a list, which is given back below.
    done(unsafe { libc::getifaddrs(&raw mut first) })?;
    let mut found = Vec::new();
    let mut entry = first;
    // SAFETY: each entry of the list is valid until it is given back; an address of this family is
    // a sockaddr_in, and so is its mask.
    unsafe {
        while let Some(it) = entry.as_ref() {
            let is_ipv4 = |address: *const libc::sockaddr| {
                address.as_ref().is_some_and(|it| i32::from(it.sa_family) == libc::AF_INET)
            };
            if is_ipv4(it.ifa_addr) && !it.ifa_netmask.is_null() {
                let number = |address: *const libc::sockaddr| {
                    u32::from_be((*address.cast::<libc::sockaddr_in>()).sin_addr.s_addr)
                };
                let bits = number(it.ifa_netmask).leading_ones() as u8;
                let name = std::ffi::CStr::from_ptr(it.ifa_name).to_string_lossy().into_owned();
                found.push((name, (Ipv4Addr::from(number(it.ifa_addr)), bits)));
            }
            entry = it.ifa_next;
        }
        libc::freeifaddrs(first);
    }
    Ok(found)
}

/// The calling process, which must have one thread, gets a user namespace in which it is root, and
/// a network namespace there.
pub(crate) fn unshare_user() -> Result<()> {
    // SAFETY: take no pointers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: takes no pointers.
    done(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) })?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    bring_up("lo")
}

/// Brings up the device `name` of the calling thread's namespace.
pub(crate) fn bring_up(name: &str) -> Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let mut up = request(name);
    up.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request outlives the call, and has the field that it reads.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as libc::Ioctl, &raw mut up) })
}

/// The number of the device `name` in the calling thread's namespace.
pub(crate) fn device_index(name: &str) -> Result<u32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the name ends with a zero, and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Error::last_os_error()),
        index => Ok(index),
    }
}

/// Sends a message to the kernel's netlink family, and waits for the first answer; returns its
/// length.
pub(crate) fn ask_netlink(family: libc::c_int, message: &[u8], answer: &mut [u8]) -> Result<usize> {
    let socket = netlink_socket(family)?;
    send_netlink(&socket, message)?;
    receive_netlink(&socket, answer)
}

fn netlink_socket(family: libc::c_int) -> Result<OwnedFd> {
    // SAFETY: takes no pointers; the descriptor is nobody else's.
    unsafe {
        let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, family);
        done(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn send_netlink(socket: &OwnedFd, message: &[u8]) -> Result<()> {
    // SAFETY: the message outlives the call, which is told its length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

fn receive_netlink(socket: &OwnedFd, answer: &mut [u8]) -> Result<usize> {
    // SAFETY: the answer outlives the call, which is told its length.
    let length =
        unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    usize::try_from(length).map_err(|_| Error::last_os_error())
}

/// Sends a request for a dump to the kernel's netlink family, and calls `show` with each part of
/// the answer: its type and its body.
pub(crate) fn dump_netlink(
    family: libc::c_int,
    message: &[u8],
    mut show: impl FnMut(u16, &[u8]),
) -> Result<()> {
    let socket = netlink_socket(family)?;
    send_netlink(&socket, message)?;
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let length = receive_netlink(&socket, &mut buffer)?;
        let mut rest = &buffer[..length];
        while let Some(header) = rest.get(..16) {
            let size = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            let Some(body) = rest.get(16..size) else { return Ok(()) };
            match libc::c_int::from(kind) {
                libc::NLMSG_DONE => return Ok(()),
                libc::NLMSG_ERROR => {
                    let error = body.get(..4).and_then(|it| it.try_into().ok());
                    let error = error.map_or(libc::EIO, |it| -i32::from_ne_bytes(it));
                    return Err(Error::from_raw_os_error(error));
                }
                _ => show(kind, body),
            }
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: zeros are a valid ifreq.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *place = byte as libc::c_char;
    }
    request
}

/// What the kernel knows of a connection: the fields of `struct tcp_info` in linux/tcp.h as of
/// Linux 6.18, in their order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    bits: [u8; 2],
    rto: u32,
    ato: u32,
    /// Bytes of payload in a segment.
    pub snd_mss: u32,
    rcv_mss: u32,
    /// Packets in flight, those thought lost included.
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    fackets: u32,
    last: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    /// Microseconds.
    pub rtt: u32,
    rttvar: u32,
    /// Packets.
    pub snd_ssthresh: u32,
    /// Packets.
    pub snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv: [u32; 2],
    /// Packets.
    pub total_retrans: u32,
    /// Bytes per second.
    pub pacing_rate: u64,
    max_pacing_rate: u64,
    pub bytes_acked: u64,
    bytes_received: u64,
    segs: [u32; 2],
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    /// Packets with data, retransmissions included.
    pub data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    /// Microseconds in which the receiver's window was full.
    pub rwnd_limited: u64,
    sndbuf_limited: u64,
}

impl TcpInfo {
    /// Reads what the kernel wrote; older kernels write less, and newer ones more.
    pub fn read(bytes: &[u8]) -> Self {
        let mut info = Self::default();
        let length = bytes.len().min(size_of::<Self>());
        // SAFETY: both have `length` bytes, and any bytes are a valid TcpInfo.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut info).cast(), length);
        }
        info
    }

    /// The window and the threshold in packets; the latter is infinite if there is none. A law that
    /// `is_paced` shows its window as the threshold.
    pub fn window(&self, is_paced: bool) -> (f64, f64) {
        /// `TCP_INFINITE_SSTHRESH` of net/tcp.h.
        const NO_THRESHOLD: u32 = 0x7fff_ffff;
        match self.snd_ssthresh {
            0 | NO_THRESHOLD => (f64::from(self.snd_cwnd), f64::INFINITY),
            packets if is_paced => (f64::from(packets), f64::INFINITY),
            packets => (f64::from(self.snd_cwnd), f64::from(packets)),
        }
    }

    /// Packets in flight, without those thought lost.
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

/// What the kernel knows of the connection of `socket`.
pub(crate) fn tcp_info(socket: &impl AsRawFd) -> Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: `info` has `length` bytes, of integers for which any bytes are valid.
    done(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    })?;
    Ok(info)
}

fn done(result: libc::c_int) -> Result<()> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
