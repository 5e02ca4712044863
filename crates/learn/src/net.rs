//! A dense net, evaluated in one order of operations: the same bits everywhere.

/// What a neuron makes of its sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// tanh.
    Tanh,
    /// max(0, x).
    Relu,
    /// x, or eˣ − 1 below 0.
    Elu,
}

impl Activation {
    /// Every one by name.
    pub const ALL: [(&str, Self); 3] =
        [("tanh", Self::Tanh), ("relu", Self::Relu), ("elu", Self::Elu)];

    fn of(self, x: f32) -> f32 {
        match self {
            // Not the system's: its last bit differs from machine to machine.
            Self::Tanh => libm::tanhf(x),
            Self::Relu => x.max(0.0),
            Self::Elu if x > 0.0 => x,
            Self::Elu => libm::expm1f(x),
        }
    }
}

/// One layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Weights by output, then by input.
    pub weights: Vec<f32>,
    /// One for each output.
    pub biases: Vec<f32>,
}

/// Layers with an activation between two of them, and none after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Net {
    layers: Vec<Layer>,
    activation: Activation,
    /// What is taken off each input, and by what the rest is divided.
    normaliser: Option<[Vec<f32>; 2]>,
    inputs: usize,
}

/// The most weights of a net: 64 MB.
const MOST: usize = 1 << 24;

impl Net {
    /// A net of `layers`. Fails if they do not fit each other or `inputs`, are too large, or hold
    /// what is no number.
    pub fn new(
        inputs: usize,
        layers: Vec<Layer>,
        activation: Activation,
        normaliser: Option<[Vec<f32>; 2]>,
    ) -> Result<Self, String> {
        let mut width = inputs;
        for (number, Layer { weights, biases }) in layers.iter().enumerate() {
            let (rows, found) = (biases.len(), weights.len());
            if rows == 0 || found != rows * width || found > MOST {
                return Err(format!(
                    "layer {number}: {found} weights for {width} inputs and {rows} outputs"
                ));
            }
            if weights.iter().chain(biases).any(|weight| !weight.is_finite()) {
                return Err(format!("layer {number}: not all weights are numbers"));
            }
            width = rows;
        }
        if layers.is_empty() {
            return Err("a net without layers".to_owned());
        }
        if let Some([means, spreads]) = &normaliser {
            let fits = means.len() == inputs && spreads.len() == inputs;
            let divides = spreads.iter().all(|spread| spread.is_finite() && *spread > 0.0);
            if !fits || !divides || means.iter().any(|mean| !mean.is_finite()) {
                return Err(format!("the normaliser needs {inputs} means and spreads above 0"));
            }
        }
        Ok(Self { layers, activation, normaliser, inputs })
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.biases.len())
    }

    /// The outputs for `inputs`. Panics if these are not as many as the net has.
    pub fn evaluate(&self, inputs: &[f32]) -> Vec<f32> {
        assert_eq!(inputs.len(), self.inputs, "as many inputs as the net has");
        let mut values = inputs.to_vec();
        if let Some([means, spreads]) = &self.normaliser {
            for (value, (mean, spread)) in values.iter_mut().zip(means.iter().zip(spreads)) {
                *value = (*value - mean) / spread;
            }
        }
        for (number, layer) in self.layers.iter().enumerate() {
            let is_last = number + 1 == self.layers.len();
            let rows = layer.weights.chunks(values.len()).zip(&layer.biases);
            let neuron = |(weights, bias): (&[f32], &f32)| {
                let terms = weights.iter().zip(&values).map(|(weight, value)| weight * value);
                let sum = terms.fold(*bias, |sum, term| sum + term);
                if is_last { sum } else { self.activation.of(sum) }
            };
            values = rows.map(neuron).collect();
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tanh(1·0.5 − 2·0.25 + 0.5) = 0.462117, and 3 of it less 1.
    #[test]
    fn two_layers_by_hand() {
        let first = Layer { weights: vec![1.0, -2.0], biases: vec![0.5] };
        let second = Layer { weights: vec![3.0], biases: vec![-1.0] };
        let layers = vec![first, second];
        let net = Net::new(2, layers.clone(), Activation::Tanh, None).expect("it fits");
        assert!((net.evaluate(&[0.5, 0.25])[0] - 0.386_351_4).abs() < 1e-6);
        let normaliser = Some([vec![1.0, 1.0], vec![2.0, 4.0]]);
        let net = Net::new(2, layers, Activation::Relu, normaliser).expect("it fits");
        assert_eq!(net.evaluate(&[2.0, 2.0]), [0.5]);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let layer = |weights: &[f32]| Layer { weights: weights.to_vec(), biases: vec![0.0] };
        let net = |layers| Net::new(2, layers, Activation::Elu, None).expect_err("it is wrong");
        assert_eq!(net(vec![]), "a net without layers");
        assert_eq!(net(vec![layer(&[1.0])]), "layer 0: 1 weights for 2 inputs and 1 outputs");
        assert_eq!(net(vec![layer(&[1.0, f32::NAN])]), "layer 0: not all weights are numbers");
    }
}
