//! What a dumbbell shows: the rules of the simulator, and closed forms.

mod dumbbell;
mod rules;
mod theory;
