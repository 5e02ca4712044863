//! The habits that have names.

use super::{AckPolicy, Detection, Habits, Metering};
use crate::congestion::{Deferral, Quantum};
use crate::{Least, Timeouts};
use narrows_control::Restart;
use narrows_units::Duration;

impl Habits {
    /// ns-2.35's TCP with one acknowledgement per packet, as `dumbbell.tcl` sets it up: what the
    /// papers from 2006 on ran.
    pub const NS2: Self = Self {
        initial_window: 2.0,
        timeouts: Timeouts {
            initial: Duration::from_millis(3000),
            least: Duration::from_millis(200),
            least_is: Least::OfTimeout,
            longest: Duration::from_millis(60_000),
            doublings: u32::MAX,
            granularity: Duration::from_millis(10),
            whole_ticks: false,
            integers: false,
        },
        timestamps: false,
        keeps_back_off: true,
        counts_packets: false,
        limited_transmit: true,
        metering: Metering::ByPipe,
        detection: Detection::ByCount,
        probes: false,
        frto: false,
        quantum: Quantum::Packets(1),
        burst_memory: 0,
        deferral: Deferral::Soon,
        handshake: false,
        validates_window: false,
        restart: Restart::Initial,
        acks: AckPolicy {
            every: 1,
            delay: Duration::ZERO,
            quick: 0,
            heeds_push: false,
            heeds_stamps: false,
            merges_for: Duration::ZERO,
            reports_duplicates: false,
            compresses: false,
        },
        paces_acks: false,
    };

    /// ns-2.28's, of 2005, as the paper on paced XCP ran it: a first timeout of 6 s (3 s since
    /// 2006-01-23) and back-off of at most 64 times, without a bound in seconds (60 s since
    /// 2007-03-28; `TcpAgent::rtt_timeout` and CHANGES.html).
    pub const NS2_2005: Self = Self {
        timeouts: Timeouts {
            initial: Duration::from_millis(6000),
            longest: Duration::from_millis(100_000_000),
            doublings: 6,
            ..Self::NS2.timeouts
        },
        ..Self::NS2
    };

    /// ns-2.1b6's, of 2000, as the paper on GWA ran it: a window of one packet at first (two since
    /// 2001-05-26), no limited transmit (since 2001-11-28), and a clock of 100 ms (10 ms since
    /// 2002-03-08) with estimates in whole eighths and quarters of it. The least timeout, two ticks
    /// (`rtt_timeout` of 1998), is the same 200 ms.
    pub const NS2_2000: Self = Self {
        initial_window: 1.0,
        timeouts: Timeouts {
            granularity: Duration::from_millis(100),
            whole_ticks: true,
            integers: true,
            ..Self::NS2_2005.timeouts
        },
        limited_transmit: false,
        ..Self::NS2_2005
    };

    /// Today's Linux: a handshake, initial window 10 (RFC 6928), delayed acknowledgements after
    /// quick acknowledgements at the start, 200 ms in each timeout, RACK-TLP, F-RTO, PRR, and a
    /// window that must be used.
    pub const LINUX: Self = Self {
        initial_window: 10.0,
        timeouts: Timeouts {
            initial: Duration::from_millis(1000),
            least: Duration::from_millis(200),
            least_is: Least::OfVariation,
            longest: Duration::from_millis(120_000),
            doublings: u32::MAX,
            granularity: Duration::from_millis(1),
            whole_ticks: false,
            integers: false,
        },
        timestamps: true,
        keeps_back_off: false,
        counts_packets: true,
        limited_transmit: true,
        metering: Metering::Prr,
        detection: Detection::ByTime,
        probes: true,
        frto: true,
        quantum: Quantum::Auto,
        burst_memory: 896,
        deferral: Deferral::Soon,
        handshake: true,
        validates_window: true,
        restart: Restart::Halving,
        acks: AckPolicy {
            every: 2,
            delay: Duration::from_millis(40),
            quick: 16,
            heeds_push: true,
            heeds_stamps: false,
            merges_for: Duration::ZERO,
            reports_duplicates: true,
            compresses: true,
        },
        paces_acks: false,
    };

    /// Linux's of versions 5 and 6 before 6.6: what ends a burst waits for its acknowledgement as
    /// other packets do, a burst that is too small waits for half a round trip, and one takes 1280
    /// bytes of memory, as 640 are rounded up to 1024 (6.3 to 6.5 have
    /// 896).
    pub const LINUX_5: Self = Self {
        burst_memory: 1280,
        deferral: Deferral::HalfRound,
        acks: AckPolicy { heeds_push: false, ..Self::LINUX.acks },
        ..Self::LINUX
    };

    /// Those of L4STeam's Linux 5.15.72: the same, with receivers of accurate ECN that acknowledge
    /// whatever brings a later time stamp.
    pub const L4STEAM: Self =
        Self { acks: AckPolicy { heeds_stamps: true, ..Self::LINUX_5.acks }, ..Self::LINUX_5 };

    /// Linux 2.4's, of 2004 (net/ipv4 of 2.4.22 and 2.4.27, which agree): no segmentation offload,
    /// a clock of 10 ms, a window that grows by acknowledgements, rate halving, no tail loss probe
    /// and no F-RTO.
    pub const LINUX_24: Self = Self {
        initial_window: 2.0,
        timeouts: Timeouts {
            initial: Duration::from_millis(3000),
            granularity: Duration::from_millis(10),
            whole_ticks: true,
            ..Self::LINUX.timeouts
        },
        counts_packets: false,
        metering: Metering::CwndDown,
        probes: false,
        frto: false,
        quantum: Quantum::Packets(1),
        burst_memory: 0,
        validates_window: false,
        acks: AckPolicy { compresses: false, ..Self::LINUX.acks },
        ..Self::LINUX
    };
}
