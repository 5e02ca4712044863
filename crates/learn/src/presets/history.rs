//! The newest intervals as an agent sees them.

/// The features of as many intervals, the oldest first.
#[derive(Clone, Debug)]
pub struct History {
    seen: Vec<f32>,
    /// Least and largest value of each feature.
    bounds: Vec<(f32, f32)>,
}

impl History {
    /// As many intervals as `length`, in each of which nothing but `empty` was seen.
    pub fn new(features: &[(&'static str, f32, f32)], length: usize, empty: &[f32]) -> Self {
        assert_eq!(features.len(), empty.len(), "a value for each feature");
        let bounds = features.iter().map(|(_, least, most)| (*least, *most)).collect();
        Self { seen: empty.repeat(length), bounds }
    }

    /// Takes the features of the newest interval in, within their bounds.
    pub fn push(&mut self, newest: &[f64]) {
        let width = self.bounds.len();
        self.seen.rotate_left(width);
        let first = self.seen.len() - width;
        for ((seen, value), (least, most)) in
            self.seen[first..].iter_mut().zip(newest).zip(&self.bounds)
        {
            *seen = (*value as f32).clamp(*least, *most);
        }
    }

    /// All of them.
    pub fn seen(&self) -> &[f32] {
        &self.seen
    }
}
