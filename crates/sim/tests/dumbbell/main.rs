//! Tests on a dumbbell: the rules of the simulator, and comparisons with closed forms.

mod dumbbell;
mod hosted;
mod hosts;
mod rules;
mod theory;
mod topologies;
