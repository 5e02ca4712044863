//! Work of tests that run minutes, on all cores.

use std::sync::Mutex;
use std::thread::{available_parallelism, scope};

/// What `work` makes of each of `items`, in their order, on as many threads as there are cores.
/// Each takes the next item when it is done with one: some take a hundred times as long as others.
pub fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    let next = Mutex::new(0..items.len());
    let take = || next.lock().expect("nobody panics while taking").next();
    let own = || std::iter::from_fn(take).map(|place| (place, work(&items[place]))).collect();
    let mut made: Vec<(usize, R)> = scope(|scope| {
        let started: Vec<_> =
            (0..cores).map(|_| scope.spawn(|| -> Vec<(usize, R)> { own() })).collect();
        started.into_iter().flat_map(|part| part.join().expect("what a test says")).collect()
    });
    made.sort_unstable_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, made)| made).collect()
}
