//! What a data packet asks of the routers on its way, and what its receiver answers.

/// XCP's congestion header (Katabi, Handley, Rohrs, SIGCOMM 2002, §3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionHeader {
    /// The sender's congestion window in bytes (H_cwnd).
    pub cwnd: f32,
    /// The sender's smoothed round-trip time in seconds; 0 until there is a sample (H_rtt).
    pub rtt: f32,
    /// Bytes by which the window may grow or must shrink: what the sender wants, until a router
    /// lowers it (H_feedback).
    pub feedback: f32,
}

/// GWA's field B_n: the room in the routers' buffers, which each router may only lower (GWA, §2).
/// It takes two bytes and uses the connection's window scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertisedWindow {
    field: u16,
    shift: u8,
}

/// RFC 7323 §2.3: the largest shift.
const LARGEST_SHIFT: u8 = 14;

impl AdvertisedWindow {
    /// B_max: `bytes`, the most that the sender could use, or the largest scaled window if that is
    /// smaller.
    pub fn at_most(bytes: u64) -> Self {
        let shift = (0..LARGEST_SHIFT)
            .find(|shift| bytes >> shift <= u64::from(u16::MAX))
            .unwrap_or(LARGEST_SHIFT);
        Self { field: (bytes >> shift).min(u64::from(u16::MAX)) as u16, shift }
    }

    /// The largest window that can be written in steps of at most `bytes`. A sender asks for it if
    /// its receiver sets no limit.
    pub fn in_steps_of(bytes: u32) -> Self {
        Self { field: u16::MAX, shift: (bytes.max(1).ilog2() as u8).min(LARGEST_SHIFT) }
    }

    /// Lowers the window to a router's room of `bytes`, rounded down so that nobody takes more than
    /// there is.
    pub fn lower(&mut self, bytes: u64) {
        self.field = u64::from(self.field).min(bytes >> self.shift) as u16;
    }

    /// The window in bytes.
    pub fn bytes(self) -> u32 {
        u32::from(self.field) << self.shift
    }
}

/// What a data packet asks of routers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Request {
    /// Nothing.
    #[default]
    Nothing,
    /// XCP's congestion header.
    Feedback(CongestionHeader),
    /// GWA's advertised window.
    Window(AdvertisedWindow),
    /// The same from a sender that says how many seconds its round trip takes without queues, as
    /// eq. 10 of GWA needs it.
    WindowOver(AdvertisedWindow, f32),
    /// BA's bandwidth in bytes per second, which each router may only lower (GWA, §5).
    Rate(f32),
}

/// What an acknowledgement says about the requests that it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reply {
    /// Nothing was asked.
    #[default]
    Nothing,
    /// Bytes by which the window changes: the feedback of all packets since the last
    /// acknowledgement.
    Feedback(f32),
    /// Bytes that may be outstanding.
    Window(u32),
    /// Bytes per second.
    Rate(f32),
}

impl Reply {
    /// A router on the way back lowers an advertised window to its room of `bytes` (backward
    /// notification; GWA, §2).
    pub fn lower(&mut self, bytes: u64) {
        if let Self::Window(window) = self {
            *window = u64::from(*window).min(bytes) as u32;
        }
    }

    /// A router on the way back lowers the window that the receiver has advertised to its room of
    /// `bytes`: every acknowledgement of TCP has a window, whether anybody asked routers or not.
    pub fn rewrite(&mut self, bytes: u64) {
        if *self == Self::Nothing {
            *self = Self::Window(u32::MAX);
        }
        self.lower(bytes);
    }

    /// The reply after one more packet, carrying `request`, has arrived; `buffer` is the receiver's
    /// own buffer in bytes (GWA, eq. 2).
    #[must_use]
    pub fn and(self, request: Request, buffer: u64) -> Self {
        match (request, self) {
            (Request::Nothing, before) => before,
            (Request::Feedback(header), Self::Feedback(before)) => {
                Self::Feedback(before + header.feedback)
            }
            (Request::Feedback(header), _) => Self::Feedback(header.feedback),
            (Request::Window(window) | Request::WindowOver(window, _), _) => {
                Self::Window(u64::from(window.bytes()).min(buffer) as u32)
            }
            (Request::Rate(rate), _) => Self::Rate(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_window_of_half_a_megabyte_goes_in_two_bytes_by_eights() {
        let mut window = AdvertisedWindow::at_most(512 * 1024);
        assert_eq!(
            (window.shift, window.bytes()),
            (4, 512 * 1024),
            "65,535 times 8 is 8 bytes short of it"
        );
        window.lower(1999);
        assert_eq!(window.bytes(), 1984, "124 times 16");
        window.lower(5000);
        assert_eq!(window.bytes(), 1984, "never raised");
    }

    #[test]
    fn steps_are_of_a_packet_at_most() {
        let mut window = AdvertisedWindow::in_steps_of(1500);
        assert_eq!((window.shift, window.bytes()), (10, 65_535 * 1024));
        window.lower(3000);
        assert_eq!(window.bytes(), 2048);
    }

    #[test]
    fn a_router_on_the_way_back_only_lowers_a_window() {
        let lowered = |mut reply: Reply, bytes| {
            reply.lower(bytes);
            reply
        };
        assert_eq!(lowered(Reply::Window(9000), 4000), Reply::Window(4000));
        assert_eq!(lowered(Reply::Window(9000), 70_000), Reply::Window(9000));
        assert_eq!(lowered(Reply::Rate(5.0), 1), Reply::Rate(5.0), "it is no window");
    }

    #[test]
    fn feedback_adds_up_and_a_window_is_the_newest() {
        let header = CongestionHeader { cwnd: 1e4, rtt: 0.1, feedback: 300.0 };
        let negative = CongestionHeader { feedback: -500.0, ..header };
        let reply = Reply::default()
            .and(Request::Feedback(header), u64::MAX)
            .and(Request::Feedback(negative), u64::MAX);
        assert_eq!(reply, Reply::Feedback(-200.0));
        let window = |bytes| Request::Window(AdvertisedWindow::at_most(bytes));
        assert_eq!(
            Reply::default().and(window(9000), 64_000).and(window(70_000), 64_000),
            Reply::Window(64_000)
        );
    }

    proptest! {
        #[test]
        fn what_is_advertised_is_never_more_than_any_router_has(
            most in 1u64..1 << 33,
            rooms in prop::collection::vec(0u64..1 << 33, 0..5),
        ) {
            let mut window = AdvertisedWindow::at_most(most);
            rooms.iter().for_each(|room| window.lower(*room));
            let least = rooms.iter().copied().chain([most]).min().unwrap_or(most);
            prop_assert!(u64::from(window.bytes()) <= least);
            // What rounding takes is less than a step of the scale.
            prop_assert!(
                u64::from(window.bytes()) + (1 << window.shift)
                    > least.min(u64::from(u16::MAX) << LARGEST_SHIFT)
            );
        }
    }
}
