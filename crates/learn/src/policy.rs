//! A trained policy as a law: a net that says what an agent says.

use crate::interval::Interval;
use crate::learner::{Action, Decides, Learner};
use crate::net::Net;
use crate::presets::{Description, Preset};
use crate::told::Complain;
use crate::wanted::{WAITS, Wanted};
use narrows_control::Controller;
use narrows_control::registry::Birth;
use narrows_scenario::OwnLaw;
use narrows_units::Time;
use std::sync::Arc;

/// A policy with a name, by which flows call it.
pub struct Policy {
    name: String,
    net: Arc<Net>,
    preset: &'static Description,
    complain: Complain,
}

impl Policy {
    /// The policy called `name`: `net` sees what an agent of `preset` sees, and says what it says.
    /// Its first output counts; `complain` hears of one that is no number.
    pub fn new(name: String, net: Net, preset: &'static Description, complain: Complain) -> Self {
        Self { name, net: Arc::new(net), preset, complain }
    }
}

impl OwnLaw for Policy {
    fn name(&self) -> &str {
        &self.name
    }

    fn hears_marks(&self) -> bool {
        true
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        let below = self.preset.below();
        let below = below.map(|below| below.make(birth));
        let window = if below.is_some() { f64::NAN } else { birth.initial_window };
        let next = Wanted { window, rate: 0.0, seconds: WAITS };
        let agent = Agent {
            net: Arc::clone(&self.net),
            preset: self.preset.agent(),
            name: self.name.clone(),
            complain: Arc::clone(&self.complain),
            initial_window: birth.initial_window,
            warm_ups: None,
            next,
        };
        Box::new(Learner::new(next.from(Time::ZERO), Box::new(agent), below))
    }
}

/// One connection's.
struct Agent {
    net: Arc<Net>,
    preset: Box<dyn Preset>,
    name: String,
    complain: Complain,
    /// Packets.
    initial_window: f64,
    /// Intervals before it is first asked; `None` before there is an RTT.
    warm_ups: Option<usize>,
    next: Wanted,
}

impl Agent {
    /// Does what the net says; goes on as before, and complains, if that is no number.
    fn act(&mut self) {
        let said = self.net.evaluate(self.preset.seen())[0];
        if said.is_nan() {
            (self.complain)(format!("{}: the net says NaN, which is not a number", self.name));
            return;
        }
        self.next = self.preset.act(said);
    }
}

impl Decides for Agent {
    fn ended(&mut self, interval: &Interval) {
        match &mut self.warm_ups {
            None if interval.srtt > 0.0 => {
                // The rate of the initial window: a policy that was trained from rates near the
                // path's finds its way from there.
                let rate = self.initial_window / interval.srtt;
                self.next = self.preset.begin(rate, interval.conn_min_rtt);
                self.warm_ups = Some(self.preset.warm_ups());
            }
            None => {}
            Some(0) => {
                self.preset.observe(interval);
                self.act();
            }
            Some(left) => {
                *left -= 1;
                if *left == 0 {
                    self.preset.warmed_up(interval);
                    self.act();
                }
            }
        }
    }

    fn go_on(&mut self, now: Time) -> Action {
        self.next.from(now)
    }
}
