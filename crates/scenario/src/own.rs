//! What a program brings along besides what narrows has.

use crate::law::OwnLaw;
use crate::stack::Stack;
use std::sync::Arc;

/// Laws and stacks that a program brings along, and that flows may use by name.
#[derive(Clone, Default)]
pub struct Own {
    /// Laws.
    pub laws: Vec<Arc<dyn OwnLaw>>,
    /// Stacks.
    pub stacks: Vec<Arc<dyn Stack>>,
}
