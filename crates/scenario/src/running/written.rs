//! How what is done to a run is written into its scenario.

use super::just_after;
use crate::scenario::{Change, Link};
use crate::{Scenario, ScenarioError};
use narrows_units::{Duration, Time};

impl Scenario {
    /// Writes `change` to the link called `link`, from `at` on, or after a ramp that then goes on;
    /// one that has not come by `now` and is for that very instant is added to. Returns from when
    /// on.
    pub(super) fn change(
        &mut self,
        link: &str,
        change: Change,
        at: Duration,
        now: Time,
    ) -> Result<Duration, ScenarioError> {
        let Some(changes) = self.changes_of(link) else {
            let message = format!("no link \"{link}\" of the scenario can be changed");
            return Err(ScenarioError::new("link", message));
        };
        let changes = changes.get_or_insert_default();
        // Those of the file that are still to come stay behind it.
        let place = changes.partition_point(|one| one.at <= at);
        let last = place.checked_sub(1).map(|last| &mut changes[last]);
        let ends =
            last.as_ref().map_or(Duration::ZERO, |last| last.at + last.ramp.unwrap_or_default());
        match last {
            Some(last) if last.at == at && Time::ZERO + at > now => {
                last.merge(change);
                Ok(at)
            }
            _ => {
                let at = if at > ends { at } else { just_after(Time::ZERO + ends) };
                changes.insert(place, Change { at, ..change });
                Ok(at)
            }
        }
    }

    /// What is written of the changes of the link called `link`, if any can be.
    fn changes_of(&mut self, link: &str) -> Option<&mut Option<Vec<Change>>> {
        if let Some(dumbbell) = &mut self.dumbbell {
            return match link {
                "bottleneck" => Some(&mut dumbbell.changes),
                "reverse" => Some(&mut dumbbell.reverse.as_mut()?.changes),
                _ => None,
            };
        }
        let number = || link.strip_prefix("link")?.parse::<usize>().ok()?.checked_sub(1);
        if let Some(lot) = &mut self.parking_lot {
            return number().is_some().then_some(&mut lot.changes);
        }
        if let Some(chain) = &mut self.chain {
            return Some(&mut chain.hops.get_mut(number()?)?.changes);
        }
        let called = |it: &&mut Link| match &it.name {
            Some(name) => name == link,
            None => format!("{}-{}", it.from, it.to) == link,
        };
        Some(&mut self.links.iter_mut().find(called)?.changes)
    }
}

impl Change {
    /// Adds what `later` says, which counts where both say something.
    fn merge(&mut self, later: Self) {
        let Self {
            at: _,
            rate,
            ramp,
            delay,
            rtt,
            buffer,
            mark,
            queue,
            loss,
            loss_burst,
            jitter,
            mtu,
        } = later;
        self.rate = rate.or(self.rate);
        self.ramp = ramp.or(self.ramp);
        self.delay = delay.or(self.delay);
        self.rtt = rtt.or(self.rtt);
        self.buffer = buffer.or(self.buffer);
        self.mark = mark.or(self.mark);
        self.queue = queue.or_else(|| self.queue.take());
        self.loss = loss.or(self.loss);
        self.loss_burst = loss_burst.or(self.loss_burst);
        self.jitter = jitter.or(self.jitter);
        self.mtu = mtu.or(self.mtu);
    }
}
