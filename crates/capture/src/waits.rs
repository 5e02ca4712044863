//! Whether new data waited for acknowledgements, for a pacer or for the application. One gap does
//! not tell: what a pacer lets go may follow an acknowledgement by chance. So gaps are judged
//! together, those of about two round trips.

use crate::causes::{Account, Cause};
use narrows_units::{Duration, Time};

/// A wait that ended with new data.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// When the data left.
    pub until: Time,
    /// The time since the last acknowledgement.
    pub after: Duration,
    /// It left as soon as its link was free.
    pub follows: bool,
    /// What had left before was the last that the application had written.
    pub ends: bool,
    /// What had left before was more than a pacer lets go at once.
    pub in_lumps: bool,
}

/// Waits that have no cause yet.
#[derive(Debug, Default)]
pub struct Waits {
    waits: Vec<Wait>,
    /// Those that did not only wait for the link.
    heads: usize,
    /// Acknowledgements of new data since the first of them.
    pub heard: u64,
}

/// Waits that are judged together.
const TOGETHER: usize = 32;
/// Seconds for which acknowledgements pile up until a super-packet is worth it.
const PILE: f64 = 2.5e-3;
/// What takes longer to answer an acknowledgement was not let go by it.
pub const PROMPT: Duration = Duration::from_micros(200);

/// Seconds of waits that did not only wait for the link.
#[derive(Default)]
struct Sums {
    all: f64,
    /// Those that ended with an acknowledgement.
    prompted: f64,
    /// Those behind the end of a write.
    ended: f64,
    /// Those, and those behind more than a pacer lets go at once.
    lumped: f64,
    /// How many ended with an acknowledgement.
    answered: u64,
}

impl Waits {
    /// Adds a wait; those before it get their causes once they are enough, or have taken two round
    /// trips.
    pub fn add(&mut self, wait: Wait, rtt: Duration, account: &mut Account) {
        self.waits.push(wait);
        self.heads += usize::from(!wait.follows);
        let two = (rtt.seconds() * 2.0).max(0.01);
        if self.heads >= TOGETHER
            || self.waits.len() >= 16 * TOGETHER
            || wait.until.since(account.until()).seconds() > two
        {
            self.flush(account);
        }
    }

    /// Gives all waits their causes.
    pub fn flush(&mut self, account: &mut Account) {
        let Some(last) = self.waits.last() else {
            self.heard = 0;
            return;
        };
        let whole = last.until.since(account.until()).seconds();
        // An acknowledgement that came by chance is on average half of the time between two away.
        let between = whole / self.heard.max(1) as f64;
        let sums = self.sums(account.until(), PROMPT.seconds().min(0.2 * between));
        let heads = sums.all;
        // A window lets something go with each acknowledgement, but for what Linux lets pile up to
        // a super-packet of a millisecond; a pacer lets several pass.
        let count = self.heads as f64;
        let answers_each = 5 * sums.answered >= 2 * self.heard;
        let piles_up = sums.prompted >= 0.85 * heads && heads <= PILE * count;
        let is_clocked =
            heads > 0.0 && (piles_up || (sums.prompted >= 0.5 * heads && answers_each));
        // Writes end behind what a full window has sent, too, but not each time.
        let is_written = count >= 8.0 && sums.ended >= 0.97 * heads;
        let is_clocked = is_clocked && !is_written;
        let is_asked = is_written || (!is_clocked && sums.lumped >= 0.6 * (heads - sums.prompted));
        let typical = heads / self.waits.len() as f64;
        for wait in self.waits.drain(..) {
            let seconds = wait.until.since(account.until()).seconds();
            // Acknowledgements of a window come in clumps, closer than on average.
            let is_prompt = wait.after.seconds() <= PROMPT.seconds().min(0.2 * seconds);
            let cause = match (is_clocked, is_asked) {
                (true, _) if wait.ends && !is_prompt && seconds > 3.0 * typical => {
                    Cause::Application
                }
                (true, _) => Cause::Window,
                (_, true) => Cause::Application,
                _ => Cause::Pacing,
            };
            account.spend(cause, wait.until);
        }
        (self.heard, self.heads) = (0, 0);
    }

    fn sums(&self, mut from: Time, prompt: f64) -> Sums {
        let mut sums = Sums::default();
        for wait in &self.waits {
            let seconds = wait.until.since(from).seconds();
            from = wait.until;
            if wait.follows {
                continue;
            }
            let is_prompt = wait.after.seconds() <= prompt;
            let counted = |is: bool| if is { seconds } else { 0.0 };
            sums.all += seconds;
            sums.prompted += counted(is_prompt);
            sums.ended += counted(wait.ends);
            sums.lumped += counted(wait.ends || wait.in_lumps);
            sums.answered += u64::from(is_prompt);
        }
        sums
    }
}
