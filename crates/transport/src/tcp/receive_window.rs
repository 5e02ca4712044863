//! How Linux's receive window grows, which decides how long single packets are acknowledged
//! (net/ipv4/tcp_input.c of 6.18).
//!
//! | source | rule | here |
//! |---|---|---|
//! | `tcp_init_buffer_space`, `tcp_measure_rcv_mss` | 45 packets are offered at first; the first packet shows that the buffer of 128 kB holds 56 | [`ReceiveWindow::new`] |
//! | `tcp_grow_window` | each packet lets the window grow by two of its length, up to what the buffer holds, and asks for an acknowledgement at once | [`ReceiveWindow::grow`] |
//! | `tcp_rcv_space_adjust` | once per round trip the buffer follows what the application has read | [`ReceiveWindow::adjust`] |
//! | `tcp_rcvbuf_grow` | 2c packets, and 4c(c − c')/c' more if the last round trip had c' instead of c; and what waits out of order | [`ReceiveWindow::adjust`] |
//!
//! All in packets of the connection's own size: a buffer counts what a packet takes of memory, 2304
//! bytes for any that fits an Ethernet frame. The application reads at once.

use narrows_units::{Duration, Time};

/// Memory of a packet (`SKB_TRUESIZE` of a receive buffer of 2 kB).
const MEMORY: u32 = 2304;
/// Of a connection with segments of 1448 bytes: what is offered at first, and what the buffer's
/// 128 kB hold once the first packet has shown how much memory one takes.
const OFFERED: f32 = 65_160.0 / 1448.0;
const HELD: f32 = 81_920.0 / 1448.0;
/// The largest buffer (`tcp_rmem`, 32 MB since Linux 6.16).
const LARGEST_BUFFER: f32 = (33_554_432 / MEMORY) as f32;
/// What the application is taken to read in a round trip before it has read any (`TCP_INIT_CWND`).
const READ: u32 = 10;

/// The window that a receiver offers, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    /// What is offered (`rcv_ssthresh`), and what it may become (`window_clamp`).
    offered: f32,
    clamp: f32,
    /// Packets read in the round trip before this one (`rcvq_space.space`).
    read: u32,
    /// When this round trip began, the first with the first packet, and the lowest number not read
    /// then.
    began: Time,
    first: u64,
}

impl ReceiveWindow {
    /// That of a connection whose first number is `first`.
    pub fn new(first: u64) -> Self {
        Self { offered: OFFERED, clamp: HELD, read: READ, began: Time::NEVER, first }
    }

    /// A packet has arrived; true if the window grows with it.
    #[inline]
    pub fn grow(&mut self) -> bool {
        let grows = self.offered < self.clamp;
        if grows {
            self.offered = (self.offered + 2.0).min(self.clamp);
        }
        grows
    }

    /// Everything below `next` has been read at `now`, `waiting` packets wait out of order, and the
    /// round trip takes `rtt`.
    #[inline]
    pub fn adjust(&mut self, now: Time, next: u64, waiting: u64, rtt: Duration) {
        if self.began == Time::NEVER {
            self.began = now;
        } else if now.since(self.began) >= rtt {
            self.begin_round(now, next, waiting);
        }
    }

    fn begin_round(&mut self, now: Time, next: u64, waiting: u64) {
        let read = (next - self.first) as u32;
        if read > self.read {
            let (new, old) = (read as f32, self.read as f32);
            let wanted = 2.0 * new * (1.0 + 2.0 * (new - old) / old) + waiting as f32;
            self.clamp = self.clamp.max(wanted.min(LARGEST_BUFFER));
            self.read = read;
        }
        (self.began, self.first) = (now, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips of 10, 20 and 40 packets, each measured with the first packet of the next: what
    /// is offered grows from 45 to 56.6 with the first 6 packets, and from packet 31 on to 2·20·(1
    /// + 2·(20 − 11)/11) = 105.5 with 25 more, as on Linux 6.18.
    #[test]
    fn it_grows_at_first_and_after_the_second_round_trip_of_slow_start() {
        let mut window = ReceiveWindow::new(0);
        let rtt = Duration::from_millis(20);
        let mut grown = Vec::new();
        for number in 0..70_u64 {
            let round = match number {
                0..10 => 1,
                10..30 => 2,
                _ => 3,
            };
            let now = Time::ZERO + rtt * round + Duration::from_micros(number);
            if window.grow() {
                grown.push(number);
            }
            window.adjust(now, number + 1, 0, rtt);
        }
        let expected: Vec<u64> = (0..6).chain(31..56).collect();
        assert_eq!(grown, expected);
    }
}
