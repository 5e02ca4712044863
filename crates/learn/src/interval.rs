//! What a sender has learnt in an interval.

use narrows_control::{Ack, Loss, Tick};
use narrows_units::{Duration, Time};

/// Makes of the columns a structure, their names, and a row of numbers, and hands their names to
/// whoever needs them once more.
macro_rules! columns {
    ($($(#[$about:meta])* pub $name:ident: f64,)*) => {
        /// One interval of one sender: counts are of what it learnt in it, except `sent`.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Interval {
            $($(#[$about])* pub $name: f64,)*
        }

        /// The names of the columns, in order.
        pub const COLUMNS: [&str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

        impl Interval {
            /// Its numbers, in the order of [`COLUMNS`].
            pub fn row(&self) -> [f64; COLUMNS.len()] {
                [$(self.$name),*]
            }
        }

        impl From<&[f64; COLUMNS.len()]> for Interval {
            /// From numbers in the order of [`COLUMNS`].
            fn from(row: &[f64; COLUMNS.len()]) -> Self {
                let [$($name),*] = *row;
                Self { $($name),* }
            }
        }

        /// Calls a macro with the names of the columns, in order.
        #[macro_export]
        macro_rules! with_columns {
            ($then:ident) => {
                $then! { $($name),* }
            };
        }
    };
}

columns! {
    /// When it ended, in seconds.
    pub now: f64,
    /// Its length in seconds.
    pub duration: f64,
    /// Packets sent in it, retransmissions included.
    pub sent: f64,
    /// Packets newly acknowledged.
    pub acked: f64,
    /// Packets found lost, each transmission once.
    pub lost: f64,
    /// Packets that arrived with a mark.
    pub marked: f64,
    /// Retransmission timeouts.
    pub timeouts: f64,
    /// Recovery epochs that losses opened.
    pub epochs: f64,
    /// Mean of the RTT's samples in seconds: one for an acknowledgement, none of packets that were
    /// sent twice. Without samples, that of the interval before; 0 before there is one.
    pub rtt: f64,
    /// The least of them.
    pub rtt_min: f64,
    /// The largest.
    pub rtt_max: f64,
    /// How many.
    pub rtt_samples: f64,
    /// The least RTT so far in seconds; 0 before there is one.
    pub conn_min_rtt: f64,
    /// The moving average of RFC 6298 in seconds; 0 before there is one.
    pub srtt: f64,
    /// The newest sample in seconds; 0 before there is one.
    pub rtt_latest: f64,
    /// Mean of the later half of the samples less that of the earlier, in seconds; 0 for fewer than
    /// two (`_latency_increase` of PCC-RL's sender_obs.py, 64bea6e).
    pub rtt_increase: f64,
    /// Slope of the least-squares line through the samples over their times of arrival (a ratio); 0
    /// for fewer than two (PCC Vivace, §4.1).
    pub rtt_gradient: f64,
    /// Packets acknowledged per second.
    pub delivery_rate: f64,
    /// The largest sample of the delivery rate in packets per second; 0 if there was none.
    pub delivery_rate_max: f64,
    /// Packets in flight after the last acknowledgement.
    pub in_flight: f64,
    /// The window in packets, as set for this interval.
    pub window: f64,
    /// The pacing rate in packets per second, as set for this interval; 0 for none.
    pub rate: f64,
    /// Share of it in which the window or the pacer kept packets from leaving.
    pub limited: f64,
}

/// The samples of the RTT in an interval.
#[derive(Clone, Debug, Default)]
struct Samples {
    /// In seconds, in the order of arrival.
    rtts: Vec<f64>,
    /// Sums of the times since the interval began, their squares, the samples less the first, and
    /// the products of both.
    sums: [f64; 4],
}

impl Samples {
    fn add(&mut self, since: f64, rtt: f64) {
        let first = *self.rtts.first().unwrap_or(&rtt);
        self.rtts.push(rtt);
        let above = rtt - first;
        for (sum, term) in self.sums.iter_mut().zip([since, since * since, above, since * above]) {
            *sum += term;
        }
    }

    fn clear(&mut self) {
        self.rtts.clear();
        self.sums = [0.0; 4];
    }

    /// Mean, least and largest; `None` without samples.
    fn spread(&self) -> Option<[f64; 3]> {
        let first = *self.rtts.first()?;
        let least = self.rtts.iter().copied().fold(first, f64::min);
        let most = self.rtts.iter().copied().fold(first, f64::max);
        Some([mean(&self.rtts), least, most])
    }

    /// The mean of the later half less that of the earlier.
    fn increase(&self) -> f64 {
        let (earlier, later) = self.rtts.split_at(self.rtts.len() / 2);
        if earlier.is_empty() { 0.0 } else { mean(later) - mean(earlier) }
    }

    /// The slope of the least-squares line.
    fn gradient(&self) -> f64 {
        let (n, [t, tt, r, tr]) = (self.rtts.len() as f64, self.sums);
        let spread = n * tt - t * t;
        if n < 2.0 || spread <= 0.0 { 0.0 } else { (n * tr - t * r) / spread }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Counts the interval under way.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// What has been counted so far.
    current: Interval,
    samples: Samples,
    began: Time,
    /// What the sender had counted when it began.
    sent: u64,
    held: Duration,
}

impl Tally {
    /// An acknowledgement, which carries a rate sample.
    pub fn on_ack(&mut self, ack: &Ack) {
        let current = &mut self.current;
        current.acked += ack.packets;
        current.marked += ack.marked;
        current.in_flight = ack.in_flight;
        if let Some(rtt) = ack.rtt {
            current.conn_min_rtt = rtt.minimum.seconds();
            current.srtt = rtt.smoothed.seconds();
            current.rtt_latest = rtt.latest.seconds();
        }
        let Some(rate) = ack.rate else { return };
        if let Some(delivery_rate) = rate.delivery_rate {
            current.delivery_rate_max = current.delivery_rate_max.max(delivery_rate);
        }
        if let Some(rtt) = rate.rtt {
            self.samples.add(ack.now.since(self.began).seconds(), rtt.seconds());
        }
    }

    /// A packet was lost; one that is reported again was counted before.
    pub fn on_loss(&mut self, loss: &Loss) {
        self.current.lost += f64::from(u8::from(!loss.again));
        self.current.epochs += f64::from(u8::from(loss.opens_epoch));
    }

    /// The retransmission timer went off.
    pub fn on_timeout(&mut self) {
        self.current.timeouts += 1.0;
    }

    /// Ends the interval at `tick`, for which `window` packets and `rate` packets per second were
    /// set, and begins the next.
    pub fn close(&mut self, tick: &Tick, window: f64, rate: f64) -> Interval {
        let duration = tick.now.since(self.began).seconds();
        let current = &mut self.current;
        if let Some([mean, least, most]) = self.samples.spread() {
            (current.rtt, current.rtt_min, current.rtt_max) = (mean, least, most);
        }
        let closed = Interval {
            now: tick.now.seconds(),
            duration,
            sent: (tick.sent - self.sent) as f64,
            rtt_samples: self.samples.rtts.len() as f64,
            rtt_increase: self.samples.increase(),
            rtt_gradient: self.samples.gradient(),
            delivery_rate: if duration > 0.0 { current.acked / duration } else { 0.0 },
            window,
            rate,
            limited: if duration > 0.0 {
                tick.held.saturating_sub(self.held).seconds() / duration
            } else {
                0.0
            },
            ..*current
        };
        let Interval { rtt, rtt_min, rtt_max, conn_min_rtt, srtt, rtt_latest, in_flight, .. } =
            closed;
        let known = Interval::default();
        *current =
            Interval { rtt, rtt_min, rtt_max, conn_min_rtt, srtt, rtt_latest, in_flight, ..known };
        self.samples.clear();
        (self.began, self.sent, self.held) = (tick.now, tick.sent, tick.held);
        closed
    }
}
