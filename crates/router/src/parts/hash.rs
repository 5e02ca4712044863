//! Which of a queue's places a flow has.

/// The place of `flow` among `count`, by Fibonacci hashing: the top bits of a product with 2⁶⁴/φ.
/// `perturbation` changes which flow has which.
pub fn place(flow: u32, perturbation: u64, count: usize) -> usize {
    let mixed = (u64::from(flow) ^ perturbation).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (((mixed >> 32) * count as u64) >> 32) as usize
}
