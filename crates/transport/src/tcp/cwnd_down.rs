//! Rate halving of Linux 2.4 (`tcp_cwnd_down` in net/ipv4/tcp_input.c, read in 2.4.22): the window
//! falls by one for every second acknowledgement, and one packet leaves for each at the most.

/// The window of one reduction, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct CwndDown {
    window: f64,
    /// Whether the next acknowledgement takes one off.
    is_second: bool,
}

/// Largest burst at the end of a recovery, in packets (`tcp_max_burst`).
const MOST_BURST: f64 = 3.0;

impl CwndDown {
    /// Begins at a window of `window` packets, of which `in_flight` are used (`tcp_enter_cwr`).
    pub fn new(window: f64, in_flight: f64) -> Self {
        Self { window: window.min(in_flight + 1.0), is_second: false }
    }

    /// Takes an acknowledgement that left `in_flight` packets in flight; `ssthresh` is the
    /// threshold. The window stops falling at half of that, but never lets a burst leave.
    pub fn on_ack(&mut self, in_flight: f64, ssthresh: f64) {
        if self.is_second && self.window > ssthresh / 2.0 {
            self.window -= 1.0;
        }
        self.is_second = !self.is_second;
        self.window = self.window.min(in_flight + 1.0);
    }

    /// Whether another packet may leave.
    pub fn may_send(&self, in_flight: f64) -> bool {
        in_flight < self.window
    }

    /// The window at the end (`tcp_complete_cwr` and `tcp_moderate_cwnd`).
    pub fn left_with(&self, in_flight: f64, ssthresh: f64) -> f64 {
        self.window.min(ssthresh).min(in_flight + MOST_BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of twenty, with an acknowledgement for each packet and a threshold of ten: one leaves for
    /// every second acknowledgement.
    #[test]
    fn one_leaves_for_two_acknowledgements_of_a_packet() {
        let (mut down, mut in_flight, mut sent) = (CwndDown::new(20.0, 20.0), 20.0, Vec::new());
        for number in 0..10 {
            in_flight -= 1.0;
            down.on_ack(in_flight, 10.0);
            while down.may_send(in_flight) {
                in_flight += 1.0;
                sent.push(number);
            }
        }
        assert_eq!(sent, [0, 2, 4, 6, 8]);
        assert_eq!(in_flight, 15.0);
    }

    /// An acknowledgement of four packets lets one leave, whatever the threshold: the flight falls
    /// below it, and slow start brings it back.
    #[test]
    fn stretched_acknowledgements_empty_the_flight() {
        let (mut down, mut in_flight) = (CwndDown::new(20.0, 20.0), 20.0);
        for _ in 0..5 {
            in_flight -= 4.0;
            down.on_ack(in_flight, 10.0);
            while down.may_send(in_flight) {
                in_flight += 1.0;
            }
        }
        assert_eq!(in_flight, 5.0);
        assert_eq!(down.left_with(in_flight, 10.0), 5.0);
    }
}
