//! A wire: losses, variation of the delay, and reordering.

use narrows_units::{Duration, Stream, Time};

/// Which packets a wire loses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each with the same probability (a ratio).
    Bernoulli(f64),
    /// In bursts: Gilbert and Elliott's Markov chain with a good and a bad state; all probabilities
    /// are per packet.
    GilbertElliott {
        /// Probability of going from the good to the bad state.
        enter: f64,
        /// Probability of going from the bad to the good state.
        leave: f64,
        /// Probability of loss in the good state.
        good: f64,
        /// Probability of loss in the bad state.
        bad: f64,
    },
}

/// How a wire's delay varies: by an addition drawn uniformly between 0 and `most`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// The longest addition.
    pub most: Duration,
    /// Whether a packet may overtake another.
    pub reorders: bool,
}

/// The impairments of a wire.
pub(crate) struct Impairments {
    loss: Loss,
    jitter: Jitter,
    stream: Stream,
    in_bad_state: bool,
    last_arrival: Time,
    pub losses_in_window: u64,
}

impl Impairments {
    /// `None` if the wire neither loses packets nor varies their delay.
    pub fn new(loss: Loss, jitter: Jitter, stream: Stream) -> Option<Self> {
        let impaired = loss != Loss::None || jitter.most > Duration::ZERO;
        impaired.then_some(Self {
            loss,
            jitter,
            stream,
            in_bad_state: false,
            last_arrival: Time::ZERO,
            losses_in_window: 0,
        })
    }

    pub fn loses(&mut self) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Bernoulli(ratio) => self.stream.happens(ratio),
            Loss::GilbertElliott { enter, leave, good, bad } => {
                let changes = self.stream.happens(if self.in_bad_state { leave } else { enter });
                self.in_bad_state ^= changes;
                self.stream.happens(if self.in_bad_state { bad } else { good })
            }
        }
    }

    pub fn vary(&mut self, arrival: Time) -> Time {
        if self.jitter.most == Duration::ZERO {
            return arrival;
        }
        let late = arrival + self.jitter.most.scale(self.stream.uniform());
        if self.jitter.reorders {
            return late;
        }
        // At least one picosecond apart: two packets on a wire never arrive at the same instant.
        self.last_arrival = late.max(self.last_arrival + Duration::from_picos(1));
        self.last_arrival
    }
}
