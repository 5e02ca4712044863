//! Work of tests that run minutes, on all cores.

use std::thread::{available_parallelism, scope};

/// What `work` makes of each of `items`, in their order, on as many threads as there are cores.
pub fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    let parts: Vec<Vec<R>> = scope(|scope| {
        let every = |first| items.iter().skip(first).step_by(cores).map(&work).collect();
        let started: Vec<_> =
            (0..cores).map(|first| scope.spawn(move || -> Vec<R> { every(first) })).collect();
        started.into_iter().map(|part| part.join().expect("what a test says")).collect()
    });
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let made = |place: usize| parts[place % cores].next().expect("one for each item");
    (0..items.len()).map(made).collect()
}
