//! Tests on a dumbbell: the rules of the simulator, and comparisons with closed forms.

mod dumbbell;
mod hosts;
mod rules;
mod theory;
