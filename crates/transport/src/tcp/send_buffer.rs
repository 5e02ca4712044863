//! The sender's buffer, in which data stays from when it is written until it is acknowledged, and
//! for whose room an application waits that has more (`tcp_wmem`, `SO_SNDBUF`).
//!
//! | source (Linux) | rule | here |
//! |---|---|---|
//! | `sk_stream_is_writeable` (include/net/sock.h) | who waits is woken when what is left is half of what is taken | [`SendBuffer::is_writeable`] |
//! | `tcp_sendmsg_locked` (net/ipv4/tcp.c) | a program that is awake writes on while what was kept last has not left as a whole, whatever is taken; if it has, more needs room, and without it the program sleeps | [`SendBuffer::write`] |
//! | `tcp_stream_alloc_skb`, `tso_fragment` | what leaves as one takes its payload, and memory of its own | [`SendBuffer::left`] |
//! | `tcp_shift_skb_data` (net/ipv4/tcp_input.c) | what has arrived out of order is put together, and takes its payload | [`Outstanding::sacked`] |
//!
//! So the buffer is no bound of what is in flight as long as the window has room and bursts are
//! smaller than the 64 kB that are kept as one: of each a rest stays, or a last packet that is not
//! full (Nagle), to which more is added. Once the window is full the buffer is, too, and nothing is
//! written until a third of it is free.
//!
//! While Linux lets the buffer grow with the window (`tcp_sndbuf_expand`: 8704 bytes a packet at
//! least) it is no limit, as a packet takes less than two thirds of that, even alone in its burst.
//! So here it has its full size from the beginning.

use std::collections::VecDeque;

/// Bytes that are kept as one before they leave: 64 kB less a byte and the room for headers
/// (`tcp_xmit_size_goal`).
const KEPT_AS_ONE: f64 = 65_215.0;

/// A sender's buffer, and how it is written to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SendBufferSettings {
    /// Its size in bytes of memory (`sk_sndbuf`).
    pub bytes: u64,
    /// How much a program that is woken writes before it sleeps again, in bytes of payload;
    /// without end if it writes as long as it may.
    pub writes: Option<u64>,
}

/// What has left and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// The lowest number, and one past the highest.
    pub first: u64,
    pub end: u64,
    /// How many of them have arrived.
    pub sacked: u64,
}

/// The buffer of a connection. Numbers are of packets.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    /// All in bytes: its size, the payload of a packet, and the memory of a burst beside that.
    size: f64,
    payload: f64,
    overhead: f64,
    /// Packets that are kept as one before they leave.
    kept: f64,
    /// Packets that are written each time.
    writes: f64,
    /// One past the last packet that has been written, the last of which may be in part.
    written: f64,
    /// Packets that the program goes on to write; none if it sleeps.
    to_write: f64,
    /// One past the last packet of each burst that has left and is not acknowledged as a whole.
    bursts: VecDeque<u64>,
}

impl SendBuffer {
    /// An empty one for packets of `payload` bytes, whose bursts take `overhead` bytes each.
    #[cold]
    #[inline(never)]
    pub fn new(settings: SendBufferSettings, payload: f64, overhead: f64) -> Self {
        Self {
            size: settings.bytes as f64,
            payload,
            overhead,
            kept: (KEPT_AS_ONE / payload).floor().max(1.0),
            writes: settings.writes.map_or(f64::INFINITY, |bytes| bytes as f64 / payload),
            written: 0.0,
            to_write: 0.0,
            bursts: VecDeque::new(),
        }
    }

    /// Nothing is outstanding, and the next packet is `first`: a connection begins.
    #[cold]
    #[inline(never)]
    pub fn renew(&mut self, first: u64) {
        self.written = first as f64;
        self.to_write = 0.0;
        self.bursts.clear();
    }

    /// A burst has left, the last packet of which is before `end`.
    pub fn left(&mut self, end: u64) {
        self.bursts.push_back(end);
    }

    /// One past the last packet that has been written as a whole.
    pub fn written(&self) -> u64 {
        self.written as u64
    }

    /// Whether a program that is woken begins to write anew, and does not go on with what it was
    /// writing: if so, what it sends then is limited by it (`tcp_rate_check_app_limited`, which
    /// `tcp_sendmsg_locked` asks first).
    pub fn begins_anew(&self) -> bool {
        self.writes.is_finite()
    }

    /// A burst may leave beside what is `outstanding`: wakes the program if there is room, and
    /// writes as far as it need not ask for more.
    pub fn write(&mut self, outstanding: &Outstanding) {
        let end = outstanding.end as f64;
        if self.to_write > 0.0 && self.written() <= outstanding.end && !self.has_room(outstanding) {
            self.to_write = 0.0;
        }
        while self.written < end + self.kept {
            if self.to_write <= 0.0 {
                if !self.is_writeable(outstanding) {
                    return;
                }
                self.to_write = self.writes;
            }
            self.add(end + self.kept - self.written);
        }
    }

    /// Whether there is room for more than is taken.
    fn has_room(&self, outstanding: &Outstanding) -> bool {
        self.taken(outstanding) < self.size
    }

    /// Whether a program that waits for room is woken.
    fn is_writeable(&mut self, outstanding: &Outstanding) -> bool {
        while self.bursts.front().is_some_and(|burst| *burst <= outstanding.first) {
            self.bursts.pop_front();
        }
        let taken = self.taken(outstanding);
        self.size - taken >= taken / 2.0
    }

    /// No more may leave than is `outstanding`: the program writes as long as there is room, and
    /// sleeps.
    pub fn fill(&mut self, outstanding: &Outstanding) {
        if self.to_write > 0.0 {
            self.add((self.size - self.taken(outstanding)) / self.payload);
            self.to_write = 0.0;
        }
    }

    fn add(&mut self, packets: f64) {
        let more = packets.max(0.0).min(self.to_write);
        self.written += more;
        self.to_write -= more;
    }

    /// Bytes that are taken.
    fn taken(&self, outstanding: &Outstanding) -> f64 {
        let Outstanding { first, end, sacked } = *outstanding;
        let apart = 1.0 - sacked as f64 / (end - first).max(1) as f64;
        let bursts = self.bursts.len() as f64 * apart;
        (self.written - first as f64) * self.payload + bursts * self.overhead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB_4: u64 = 4_194_304;

    /// Lets a window of `window` packets be full in bursts of `burst`, and acknowledges one after
    /// the other; returns the most and the least that were outstanding after the first filling.
    fn outstanding(settings: SendBufferSettings, window: u64, burst: u64) -> (u64, u64) {
        let mut buffer = SendBuffer::new(settings, 1448.0, 896.0);
        let (mut end, mut most, mut least) = (0, 0, u64::MAX);
        for first in 0..20_000 {
            loop {
                let outstanding = Outstanding { first, end, sacked: 0 };
                buffer.write(&outstanding);
                if end - first + burst > window {
                    buffer.fill(&outstanding);
                    break;
                }
                if end + burst > buffer.written() {
                    break;
                }
                end += burst;
                buffer.left(end);
            }
            if first > 5_000 {
                (most, least) = (most.max(end - first), least.min(end - first));
            }
        }
        (most, least)
    }

    /// Asserts that each is within two hundredths of what Linux had.
    fn assert_close(ours: (u64, u64), linux: (u64, u64)) {
        for (our, its) in [(ours.0, linux.0), (ours.1, linux.1)] {
            assert!(our.abs_diff(its) * 50 <= its, "{ours:?}, and in Linux {linux:?}");
        }
    }

    /// Linux 6.18, CUBIC over 100 Mbps and 200 ms, a buffer of 4 MB: a program that writes 10 times
    /// 128 kB whenever it may (iperf3) has 1822 to 2708 packets outstanding in a window of 2840,
    /// in bursts of 10; one that writes as long as it may 1855 to 4628 in a window of 4636, in
    /// bursts of 15, and 1913 to 2861 in a window of 2993, in bursts of 45 (`tcp_min_tso_segs`).
    #[test]
    fn what_is_outstanding_is_what_linux_has() {
        let iperf3 = SendBufferSettings { bytes: MB_4, writes: Some(1_310_720) };
        assert_close(outstanding(iperf3, 2840, 10), (2708, 1822));
        let always = SendBufferSettings { bytes: MB_4, writes: None };
        assert_close(outstanding(always, 4636, 15), (4628, 1855));
        assert_close(outstanding(always, 2993, 45), (2861, 1913));
    }

    #[test]
    fn a_window_that_leaves_room_is_always_full() {
        let always = SendBufferSettings { bytes: MB_4, writes: None };
        assert_eq!(outstanding(always, 1700, 10), (1700, 1691));
    }

    /// 100 kB, two thirds of which are 28.4 packets of 2344 bytes; each time 6.9 packets are
    /// written.
    #[test]
    fn small_pieces_keep_two_thirds_taken() {
        let pieces = SendBufferSettings { bytes: 100_000, writes: Some(10_000) };
        assert_eq!(outstanding(pieces, u64::MAX / 2, 1), (35, 28));
    }
}
