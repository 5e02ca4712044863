//! Episodes side by side, each stepped to its next decision.

use crate::episode::Episode;
use crate::wanted::Wanted;
use narrows_scenario::Place;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// Why nothing was stepped, or what became of one place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// No episode has begun there, or it is over.
    #[error("place {0}: no episode goes on there; it is over, or was never begun")]
    Nobody(usize),
    /// An action that cannot be.
    #[error("place {place}, learner {learner}: {message}")]
    Action {
        /// Where.
        place: usize,
        /// Of which learner.
        learner: usize,
        /// What is wrong.
        message: String,
    },
    /// The run failed; the place is empty now.
    #[error("place {place}: {message}")]
    Failed {
        /// Where.
        place: usize,
        /// Why.
        message: String,
    },
}

/// Episodes side by side, with the same number of learners in each.
pub struct Places {
    places: Vec<Option<Episode>>,
    learners: usize,
    threads: usize,
    /// Packets that reached their receivers in episodes that are over.
    delivered: u64,
}

impl Places {
    /// Room for as many episodes with so many learners each, stepped by so many threads.
    pub fn new(places: usize, learners: usize, threads: usize) -> Self {
        let places = (0..places).map(|_| None).collect();
        Self { places, learners, threads: threads.max(1), delivered: 0 }
    }

    /// For how many episodes there is room.
    pub fn room(&self) -> usize {
        self.places.len()
    }

    /// Puts an episode in a place, instead of the one there. Panics if there is no such place.
    pub fn put(&mut self, place: usize, episode: Episode) {
        self.clear(place);
        self.places[place] = Some(episode);
    }

    /// Ends the episode in a place, if there is one. Panics if there is no such place.
    pub fn clear(&mut self, place: usize) {
        let before = self.places[place].take();
        self.delivered += before.map_or(0, |episode| episode.delivered());
    }

    /// The episode in a place.
    pub fn get(&self, place: usize) -> Option<&Episode> {
        self.places.get(place)?.as_ref()
    }

    /// Data packets that have reached their receivers in all episodes.
    pub fn delivered(&self) -> u64 {
        self.delivered + self.places.iter().flatten().map(Episode::delivered).sum::<u64>()
    }

    /// What the learner cannot know of its place.
    pub fn truth(&mut self, place: usize, learner: usize) -> Option<Place> {
        self.places.get_mut(place)?.as_mut()?.place(learner)
    }

    /// Decides for the learners of `places`, and goes on to the next decision of each; `wanted` has
    /// those of the first place, then those of the second, and without it all go on to their first
    /// decision. `has_law` says whether there is a law below. Fails before any has moved if
    /// something is wrong; an episode that fails on the way is over, and the first of them is told.
    /// What comes does not depend on the number of threads, each of which begins with `join`.
    pub fn step(
        &mut self,
        places: &[usize],
        wanted: Option<&[Wanted]>,
        has_law: bool,
        join: &(dyn Fn() + Sync),
    ) -> Result<(), StepError> {
        self.expect_episodes(places)?;
        if let Some(wanted) = wanted {
            for (place, wanted) in places.iter().zip(wanted.chunks(self.learners)) {
                check_wanted(*place, wanted, has_law)?;
            }
        }
        let decided = |turn: usize| {
            let first = turn * self.learners;
            wanted.map_or(&[][..], |wanted| &wanted[first..first + self.learners])
        };
        let mut turn_of = vec![None; self.places.len()];
        places.iter().enumerate().for_each(|(turn, place)| turn_of[*place] = Some(turn));
        let slots = self.places.iter_mut().enumerate();
        let mut turns: Vec<Turn<'_>> = slots
            .filter_map(|(place, slot)| {
                turn_of[place].map(|turn| Turn { place, wanted: decided(turn), slot, failed: None })
            })
            .collect();
        let others = self.threads.min(turns.len()).saturating_sub(1);
        if others == 0 {
            turns.iter_mut().for_each(Turn::take);
        } else {
            take_together(&mut turns, others, join);
        }
        turns.into_iter().find_map(|turn| turn.failed).map_or(Ok(()), Err)
    }

    /// Fails unless an episode goes on in each of `places`, none of them twice.
    fn expect_episodes(&self, places: &[usize]) -> Result<(), StepError> {
        for (turn, place) in places.iter().enumerate() {
            let goes_on = self.get(*place).is_some_and(|episode| !episode.is_over());
            if !goes_on || places[..turn].contains(place) {
                return Err(StepError::Nobody(*place));
            }
        }
        Ok(())
    }
}

/// Fails unless all that the learners of `place` want can be done, and they decide together.
pub fn check_wanted(place: usize, wanted: &[Wanted], has_law: bool) -> Result<(), StepError> {
    for (learner, one) in wanted.iter().enumerate() {
        let wrong = |message| StepError::Action { place, learner, message };
        one.check(has_law).map_err(wrong)?;
        let seconds = wanted[0].seconds;
        if one.seconds != seconds {
            let message = format!("decides in {} s, the first in {seconds} s", one.seconds);
            return Err(wrong(message));
        }
    }
    Ok(())
}

/// An episode's turn.
struct Turn<'a> {
    place: usize,
    wanted: &'a [Wanted],
    slot: &'a mut Option<Episode>,
    failed: Option<StepError>,
}

impl Turn<'_> {
    /// Takes it; an episode that fails, or whose code panics, is over.
    fn take(&mut self) {
        let Some(episode) = self.slot.as_mut() else { return };
        let wanted = self.wanted;
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let now = episode.now();
            episode.decide(wanted.iter().map(|wanted| wanted.from(now)));
            episode.go()
        }));
        let message = match ran {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => said(&*panic),
        };
        *self.slot = None;
        self.failed = Some(StepError::Failed { place: self.place, message });
    }
}

/// Takes all turns, with the help of `others`: who has taken one takes the next that is left, as
/// some places have many times the packets of others.
fn take_together(turns: &mut [Turn<'_>], others: usize, join: &(dyn Fn() + Sync)) {
    let left = Mutex::new(turns.iter_mut());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_all = || {
        while let Some(turn) = next() {
            turn.take();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                join();
                take_all();
            });
        }
        take_all();
    });
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("the simulator panicked").to_owned()
}
