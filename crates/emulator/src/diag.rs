//! Every TCP connection of the calling thread's namespace, as the kernel sees it (`ss -ti`).

use crate::sys::{self, TcpInfo};
use std::io::Result;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
const BY_FAMILY: u16 = 20;
/// Attributes of linux/inet_diag.h: `INET_DIAG_INFO`, `INET_DIAG_CONG`.
const INFO: u16 = 2;
const CONTROL: u16 = 4;
/// `TCP_ESTABLISHED` to `TCP_LAST_ACK` but for those that have no window, as bits.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9;
/// Bytes of `struct nlmsghdr`, `struct inet_diag_req_v2` and `struct inet_diag_msg`.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const MESSAGE: usize = 72;

/// A connection of this machine.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its own end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The kernel's name of its congestion control.
    pub control: String,
    /// The congestion window in packets; of E-TCP's laws the window of the paper.
    pub window: f64,
    /// The slow-start threshold in packets; infinite if there is none.
    pub ssthresh: f64,
    /// The smoothed RTT in seconds.
    pub rtt: f64,
    /// Packets in flight.
    pub in_flight: u32,
    /// Bytes per second; infinite if it does not pace.
    pub pacing_rate: f64,
    /// Packets sent again.
    pub retransmitted: u32,
    /// Packets with data, those sent again included.
    pub sent: u32,
    /// Bytes of payload acknowledged.
    pub acked: u64,
    /// Bytes of payload in a segment.
    pub mss: u32,
}

/// The connections that are open. Fails if the kernel has no `inet_diag`.
pub fn connections() -> Result<Vec<Known>> {
    let mut found = Vec::new();
    for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
        sys::dump_netlink(libc::NETLINK_SOCK_DIAG, &request(family), |kind, body| {
            if kind == BY_FAMILY
                && let Some(connection) = read(body)
            {
                found.push(connection);
            }
        })?;
    }
    Ok(found)
}

fn request(family: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + REQUEST);
    bytes.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    bytes.extend([0; 8]);
    let attributes = 1 << (INFO - 1) | 1 << (CONTROL - 1);
    bytes.extend([family, libc::IPPROTO_TCP as u8, attributes, 0]);
    bytes.extend(STATES.to_ne_bytes());
    bytes.resize(HEADER + REQUEST, 0);
    bytes
}

fn read(body: &[u8]) -> Option<Known> {
    let message = body.get(..MESSAGE)?;
    let port = |place: usize| u16::from_be_bytes([message[place], message[place + 1]]);
    let address = |place: usize| -> Option<IpAddr> {
        let bytes: [u8; 16] = message[place..place + 16].try_into().ok()?;
        Some(if i32::from(message[0]) == libc::AF_INET {
            Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
        } else {
            Ipv6Addr::from(bytes).to_canonical()
        })
    };
    let (mut info, mut control) = (TcpInfo::default(), String::new());
    let mut rest = &body[MESSAGE..];
    while let Some(header) = rest.get(..4) {
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = rest.get(4..length)?;
        match u16::from_ne_bytes([header[2], header[3]]) {
            INFO => info = TcpInfo::read(value),
            CONTROL => {
                let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
                control = String::from_utf8_lossy(&value[..end]).into_owned();
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    let (window, ssthresh) = info.window(control.starts_with("nw_etcp"));
    Some(Known {
        local: SocketAddr::new(address(8)?, port(4)),
        remote: SocketAddr::new(address(24)?, port(6)),
        control,
        window,
        ssthresh,
        rtt: f64::from(info.rtt) * 1e-6,
        in_flight: info.in_flight(),
        pacing_rate: if info.pacing_rate == u64::MAX {
            f64::INFINITY
        } else {
            info.pacing_rate as f64
        },
        retransmitted: info.total_retrans,
        sent: info.data_segs_out,
        acked: info.bytes_acked,
        mss: info.snd_mss,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_of_this_process_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback");
        let address = listener.local_addr().expect("it is bound");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let _other = listener.accept().expect("it was asked");
        stream.write_all(&[0; 1000]).expect("it is open");
        let local = stream.local_addr().expect("it is connected");
        let known = match connections() {
            Ok(known) => known,
            Err(error) => return eprintln!("left out 1 test of connections: {error}"),
        };
        let ours = known.iter().find(|it| it.local == local).expect("it is open");
        assert_eq!(ours.remote, address);
        assert!(ours.window >= 10.0 && ours.sent >= 1, "{ours:?}");
        assert!(!ours.control.is_empty());
    }
}
