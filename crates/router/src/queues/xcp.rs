//! XCP's router (Katabi, Handley, Rohrs, SIGCOMM 2002, §3.5).
//!
//! | source | equation | here |
//! |---|---|---|
//! | eq. 1 | φ = α·d·S − β·Q | [`Xcp::control`] |
//! | §3.5.2 | h = max(0, γ·y·d − \|φ\|), what is shuffled | [`Xcp::control`] |
//! | eqs. 7, 9 | ξ_p = (h + max(φ, 0))/(d·Σ rtt·s/cwnd), ξ_n = (h + max(−φ, 0))/(d·Σ s) | [`Xcp::control`] |
//! | eqs. 6, 8 | p = ξ_p·rtt²·s/cwnd, n = ξ_n·rtt·s | [`Xcp::speak`] |
//! | §3.5.3 | H_feedback ← min(H_feedback, p − n) | [`Xcp::speak`] |
//! | §3.5.1 | Q, the least queue within a propagation round trip | [`Xcp::renew_minimum`] |
//!
//! S and y are spare and incoming bytes per second; d is the control interval, the mean RTT of the
//! packets weighted by rtt·s/cwnd; s is the bytes of a packet. What the paper leaves open is as in
//! the authors' router in ns-2, whose xcpq.cc was read. p and n become 0 once the interval's budget
//! is spent. A packet limited by another router draws less from it. Intervals are at least 1 ms,
//! and 50 ms without traffic; RTTs above 1 s count as 1 s. Q is the least queue over half of the
//! difference between the mean RTT and the time to drain the queue, and over at least 2 ms. The
//! first intervals end at 50 ms ± a fifth, drawn uniformly (from a normal distribution in ns-2), so
//! that routers do not run in step.

use crate::departure::Departure;
use crate::entry::Entry;
use crate::{Backlog, Discipline, Drops, Packet, Room, TimedQueue};
use narrows_settings::{Settings, settings};
use narrows_signal::{CongestionHeader, Request};
use narrows_units::{Duration, Stream, Time};

settings! {
    /// An XCP router's settings as a user gives them.
    pub struct XcpOptions {
        /// Whether the defaults are those for small buffers (C.P. in the paper on paced XCP, §4.1).
        conservative: bool = false;
        /// Share of the spare bandwidth given out per control interval (ratio).
        alpha: Option<f64> = None => "0.4, or 0.2 if conservative", at_least(0.0);
        /// Share of the persistent queue taken back per control interval (ratio); α²√2.
        beta: Option<f64> = None => "0.226, or 0.056 if conservative", at_least(0.0);
        /// Least share of the traffic shuffled per control interval (ratio).
        gamma: Option<f64> = None => "0.1, or 0.05 if conservative", at_least(0.0).at_most(1.0);
        /// The capacity that the router assumes, divided by the link's (ratio).
        capacity: Option<f64> = None => "1, or 0.9 if conservative", above(0.0);
        /// Whether packets without a congestion header, such as acknowledgements, count as traffic.
        count_acks: bool = true;
    }
}

/// How an XCP router is set up: ratios as in [`XcpOptions`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XcpSettings {
    /// Share of the spare bandwidth given out per control interval.
    pub alpha: f64,
    /// Share of the persistent queue taken back per control interval.
    pub beta: f64,
    /// Least share of the traffic shuffled per control interval.
    pub gamma: f64,
    /// The capacity that the router assumes, divided by the link's.
    pub capacity: f64,
    /// Whether packets without a congestion header count as traffic.
    pub count_acks: bool,
}

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "xcp",
    aliases: &[],
    summary: "writes into each packet of an `xcp` sender by how much the window may grow or must \
              shrink",
    source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
    settings: XcpOptions::list,
    construct: |given, _| Ok(Discipline::Xcp(XcpOptions::read(given)?.settled())),
};

impl XcpOptions {
    fn settled(self) -> XcpSettings {
        let set = if self.conservative { XcpSettings::CONSERVATIVE } else { XcpSettings::ORIGINAL };
        XcpSettings {
            alpha: self.alpha.unwrap_or(set.alpha),
            beta: self.beta.unwrap_or(set.beta),
            gamma: self.gamma.unwrap_or(set.gamma),
            capacity: self.capacity.unwrap_or(set.capacity),
            count_acks: self.count_acks,
        }
    }
}

impl XcpSettings {
    /// The authors' parameters (SIGCOMM 2002, §5): O.P. in the paper on paced XCP.
    pub const ORIGINAL: Self =
        Self { alpha: 0.4, beta: 0.226, gamma: 0.1, capacity: 1.0, count_acks: true };
    /// C.P., for small buffers (paced XCP, §4.1).
    pub const CONSERVATIVE: Self =
        Self { alpha: 0.2, beta: 0.056, gamma: 0.05, capacity: 0.9, count_acks: true };
}

/// XCP's queue at work.
#[derive(Clone, Debug)]
pub struct Xcp<P> {
    settings: XcpSettings,
    /// The assumed capacity, in bytes per second.
    capacity: f64,
    queue: TimedQueue<P>,
    /// d, in seconds.
    interval: f64,
    mean_rtt: f64,
    controls_at: Time,
    renews_at: Time,
    /// Of this interval: bytes that arrived, Σ rtt·s/cwnd and Σ rtt²·s/cwnd.
    incoming: f64,
    sum_rtt: f64,
    sum_rtt_squared: f64,
    /// The least queue so far, in bytes, and that of the last interval: Q.
    minimum: u64,
    persistent: u64,
    xi_p: f64,
    xi_n: f64,
    /// What is still to be given and to be taken in this interval, in bytes per second.
    to_give: f64,
    to_take: f64,
}

const FIRST_INTERVAL: f64 = 0.05;
const LEAST_INTERVAL: f64 = 0.001;
const LEAST_QUEUE_INTERVAL: f64 = 0.002;
const LARGEST_RTT: f64 = 1.0;

impl<P: Packet> Xcp<P> {
    /// An empty queue in front of a transmitter of `bytes_per_second`.
    pub fn new(settings: XcpSettings, bytes_per_second: f64, stream: &mut Stream) -> Self {
        let mut first = || Time::from_secs(FIRST_INTERVAL * (0.8 + 0.4 * stream.uniform()));
        Self {
            settings,
            capacity: settings.capacity * bytes_per_second,
            queue: TimedQueue::default(),
            interval: FIRST_INTERVAL,
            mean_rtt: FIRST_INTERVAL,
            controls_at: first(),
            renews_at: first(),
            incoming: 0.0,
            sum_rtt: 0.0,
            sum_rtt_squared: 0.0,
            minimum: 0,
            persistent: 0,
            xi_p: 0.0,
            xi_n: 0.0,
            to_give: 0.0,
            to_take: 0.0,
        }
    }

    /// The transmitter has `bytes_per_second` from now on. Control intervals go on.
    pub fn follow(&mut self, bytes_per_second: f64) {
        self.capacity = self.settings.capacity * bytes_per_second;
    }

    /// A packet arrives, whether it finds room or not.
    pub fn observe(&mut self, now: Time, packet: &mut P) {
        self.catch_up(now);
        let size = f64::from(packet.bytes());
        let Some(Request::Feedback(header)) = packet.request() else {
            self.incoming += if self.settings.count_acks { size } else { 0.0 };
            return;
        };
        self.incoming += size;
        if header.rtt > 0.0 {
            let share = share(header, size);
            self.sum_rtt += share;
            self.sum_rtt_squared += share * f64::from(header.rtt).min(LARGEST_RTT);
        }
    }

    fn speak(&mut self, header: &mut CongestionHeader, size: f64) {
        let rtt = f64::from(header.rtt);
        if rtt == 0.0 {
            header.feedback = 0.0;
            return;
        }
        // p and n as changes of the sender's rate, that is, divided by its RTT.
        let mut p = (self.xi_p * share(header, size)).min(self.to_give);
        let mut n = (self.xi_n * size).min(self.to_take);
        let (ours, theirs) = (p - n, f64::from(header.feedback) / rtt);
        if ours <= theirs {
            header.feedback = (ours * rtt) as f32;
        } else {
            n = (n + ours - theirs).min(self.to_take);
            p = theirs + n;
        }
        self.to_give = (self.to_give - p).max(0.0);
        self.to_take = (self.to_take - n).max(0.0);
        if self.to_give == 0.0 {
            self.xi_p = 0.0;
        }
        if self.to_take == 0.0 {
            self.xi_n = 0.0;
        }
    }

    fn catch_up(&mut self, now: Time) {
        while self.controls_at.min(self.renews_at) <= now {
            if self.controls_at <= self.renews_at {
                self.control();
                self.controls_at += Duration::from_secs(self.interval);
            } else {
                let next = self.renew_minimum();
                self.renews_at += Duration::from_secs(next);
            }
        }
    }

    /// Ends a control interval: the efficiency controller, then the fairness controller, both per
    /// second instead of per interval.
    fn control(&mut self) {
        let XcpSettings { alpha, beta, gamma, .. } = self.settings;
        self.mean_rtt =
            if self.sum_rtt > 0.0 { self.sum_rtt_squared / self.sum_rtt } else { FIRST_INTERVAL };
        let y = self.incoming / self.interval;
        let (mut phi, mut h) = (0.0, 0.0);
        if self.incoming > 0.0 {
            phi = alpha * (self.capacity - y) - beta * self.persistent as f64 / self.mean_rtt;
            h = (gamma * y - phi.abs()).max(0.0);
        }
        self.to_give = h + phi.max(0.0);
        self.to_take = h + (-phi).max(0.0);
        self.xi_p = if self.sum_rtt > 0.0 { self.to_give / self.sum_rtt } else { 0.0 };
        self.xi_n = if self.incoming > 0.0 { self.to_take / self.incoming } else { 0.0 };
        (self.incoming, self.sum_rtt, self.sum_rtt_squared) = (0.0, 0.0, 0.0);
        self.interval = self.mean_rtt.max(LEAST_INTERVAL);
    }

    /// Sets Q to the least queue of the interval that ends; returns the seconds until the next one
    /// ends.
    fn renew_minimum(&mut self) -> f64 {
        let queue = self.queue.backlog().bytes;
        self.persistent = self.minimum;
        self.minimum = queue;
        ((self.mean_rtt - queue as f64 / self.capacity) / 2.0).max(LEAST_QUEUE_INTERVAL)
    }
}

impl<P: Packet> Departure<P> for Xcp<P> {
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn admit(&mut self, now: Time, packet: P) {
        self.queue.push(now, packet);
    }

    /// The packet leaves with the router's feedback.
    fn dequeue(&mut self, now: Time, _dropped: &mut Drops<P>) -> Option<P> {
        self.catch_up(now);
        self.minimum = self.minimum.min(self.queue.backlog().bytes);
        let (_, mut packet) = self.queue.pop()?;
        let size = f64::from(packet.bytes());
        if let Some(Request::Feedback(header)) = packet.request() {
            self.speak(header, size);
        }
        Some(packet)
    }

    /// Every arrival is traffic, whether it finds room or not (§3.5.2).
    fn enqueue(&mut self, now: Time, mut packet: P, room: Room, dropped: &mut Drops<P>) {
        self.observe(now, &mut packet);
        if room.admits(self.backlog(), packet.bytes()) {
            self.admit(now, packet);
        } else {
            dropped.push(packet);
        }
    }
}

/// rtt·s/cwnd, in seconds.
fn share(header: &CongestionHeader, size: f64) -> f64 {
    f64::from(header.rtt) * size / f64::from(header.cwnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;

    fn parcel(cwnd: f32, rtt: f32, feedback: f32) -> Parcel {
        Parcel {
            request: Request::Feedback(CongestionHeader { cwnd, rtt, feedback }),
            ..Parcel::new(1, 0)
        }
    }

    /// A megabyte per second; two flows of RTT 0.1 s with windows of 10 and 30 kB: 100 and 300 kB
    /// per second.
    fn two_flows(queue: u64) -> Xcp<Parcel> {
        let mut xcp = Xcp::new(XcpSettings::ORIGINAL, 1e6, &mut Stream::new(1, 1, 1));
        (xcp.controls_at, xcp.renews_at) = (Time::from_secs(0.1), Time::NEVER);
        (xcp.interval, xcp.persistent) = (0.1, queue);
        for _ in 0..10 {
            xcp.observe(Time::ZERO, &mut parcel(10_000.0, 0.1, f32::INFINITY));
        }
        for _ in 0..30 {
            xcp.observe(Time::ZERO, &mut parcel(30_000.0, 0.1, f32::INFINITY));
        }
        xcp.catch_up(Time::from_secs(0.1));
        xcp
    }

    fn near(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-5, "{found} instead of {wanted}");
    }

    #[test]
    fn the_controllers_give_what_is_worked_out_by_hand() {
        let xcp = two_flows(20_000);
        near(xcp.mean_rtt, 0.1);
        // φ/d = 0.4·600,000 − 0.226·20,000/0.1 = 194,800 bytes per second; h = max(0, 0.1·400,000 −
        // 194,800) = 0.
        near(xcp.to_give, 194_800.0);
        assert_eq!(xcp.to_take, 0.0);
        // Σ rtt·s/cwnd = 10·0.01 + 30·0.1/30 = 0.2 s.
        near(xcp.xi_p, 194_800.0 / 0.2);
    }

    #[test]
    fn both_flows_gain_the_same_and_lose_in_proportion() {
        let mut xcp = two_flows(20_000);
        let mut gain = |cwnd: f32, packets: u32| -> f64 {
            (0..packets)
                .map(|_| {
                    xcp.admit(Time::from_secs(0.1), parcel(cwnd, 0.1, f32::INFINITY));
                    let Some(Request::Feedback(header)) = xcp
                        .dequeue(Time::from_secs(0.1), &mut Vec::new())
                        .map(|packet| packet.request)
                    else {
                        panic!()
                    };
                    f64::from(header.feedback)
                })
                .sum()
        };
        // Over an interval's packets each flow's window grows by half of φ: 9740 bytes.
        near(gain(10_000.0, 10), 9740.0);
        near(gain(30_000.0, 30), 9740.0);
        assert!(gain(10_000.0, 1).abs() < 1.0, "the interval's budget is spent, but for rounding");
        let mut xcp = two_flows(200_000);
        // φ/d = 240,000 − 452,000 = −212,000: 0.53 of each byte that arrives.
        near(xcp.to_take, 212_000.0);
        xcp.admit(Time::from_secs(0.1), parcel(30_000.0, 0.1, f32::INFINITY));
        let Some(Request::Feedback(header)) =
            xcp.dequeue(Time::from_secs(0.1), &mut Vec::new()).map(|packet| packet.request)
        else {
            panic!()
        };
        near(f64::from(header.feedback), -530.0 * 1.0); // ξ_n·rtt·s = 212,000/40,000·0.1·1000
    }

    #[test]
    fn a_router_only_lowers_feedback_and_an_unknown_rtt_gets_none() {
        let mut xcp = two_flows(20_000);
        let mut feedback = |rtt: f32, asked: f32| {
            xcp.admit(Time::from_secs(0.1), parcel(10_000.0, rtt, asked));
            let Some(Request::Feedback(header)) =
                xcp.dequeue(Time::from_secs(0.1), &mut Vec::new()).map(|packet| packet.request)
            else {
                panic!()
            };
            header.feedback
        };
        assert_eq!(feedback(0.1, -77.0), -77.0);
        assert_eq!(feedback(0.1, 100.0), 100.0);
        assert_eq!(feedback(0.0, f32::INFINITY), 0.0);
    }

    #[test]
    fn acknowledgements_count_if_so_told() {
        for (count_acks, incoming) in [(true, 1000.0), (false, 0.0)] {
            let mut xcp = Xcp::new(
                XcpSettings { count_acks, ..XcpSettings::ORIGINAL },
                1e6,
                &mut Stream::new(1, 1, 1),
            );
            xcp.observe(Time::ZERO, &mut Parcel::new(1, 0));
            assert_eq!(xcp.incoming, incoming);
        }
    }

    #[test]
    fn the_persistent_queue_is_the_least_of_the_interval() {
        let mut xcp = two_flows(0);
        let now = Time::from_secs(0.1);
        (0..5).for_each(|_| xcp.admit(now, parcel(1e4, 0.1, 0.0)));
        xcp.minimum = u64::MAX;
        xcp.dequeue(now, &mut Vec::new());
        xcp.dequeue(now, &mut Vec::new());
        xcp.admit(now, parcel(1e4, 0.1, 0.0));
        // The least that a departure found is 4000 bytes; the mean RTT of 100 ms, less 4 ms to
        // drain what is there now, is halved.
        near(xcp.renew_minimum(), 0.048);
        assert_eq!((xcp.persistent, xcp.minimum), (4000, 4000));
    }
}
