//! An expression as code for a stack of numbers.

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Puts a number on the stack.
    Number(f64),
    /// Puts a variable there, by its place.
    Variable(usize),
    /// Takes one, puts −x.
    Minus,
    /// Takes one, puts 1 if it is 0 and 0 if not.
    Not,
    /// Takes two, puts what they make.
    Two(Two),
    /// Takes one.
    One(One),
    /// Takes three; puts the second if the first is not 0, and else the third.
    If,
}

/// What two numbers make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
    And,
    Or,
    Least,
    Most,
}

/// What is made of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum One {
    Size,
    SquareRoot,
    CubeRoot,
    Log2,
    Exp2,
    Floor,
}

impl Two {
    fn of(self, a: f64, b: f64) -> f64 {
        let truth = |it: bool| f64::from(u8::from(it));
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            // Nothing is infinite, and 0 is what a first interval has.
            Self::Divide if b == 0.0 => 0.0,
            Self::Divide => a / b,
            Self::Less => truth(a < b),
            Self::AtMost => truth(a <= b),
            Self::More => truth(a > b),
            Self::AtLeast => truth(a >= b),
            Self::Equal => truth(a == b),
            Self::Unequal => truth(a != b),
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Or => truth(a != 0.0 || b != 0.0),
            Self::Least => a.min(b),
            Self::Most => a.max(b),
        }
    }
}

impl One {
    fn of(self, x: f64) -> f64 {
        // Not the system's: their last bits differ from machine to machine.
        match self {
            Self::Size => x.abs(),
            Self::SquareRoot => libm::sqrt(x.max(0.0)),
            Self::CubeRoot => libm::cbrt(x),
            Self::Log2 => libm::log2(x.max(f64::MIN_POSITIVE)),
            Self::Exp2 => libm::exp2(x),
            Self::Floor => x.floor(),
        }
    }
}

/// Runs `code` over `variables` with `stack`, which it leaves as it was; returns what it makes.
/// Panics if the code is not what the parser makes.
pub fn run(code: &[Op], variables: &[f64], stack: &mut Vec<f64>) -> f64 {
    let take = |stack: &mut Vec<f64>| stack.pop().expect("the parser made it");
    for op in code {
        let made = match *op {
            Op::Number(number) => number,
            Op::Variable(place) => variables[place],
            Op::Minus => -take(stack),
            Op::Not => f64::from(u8::from(take(stack) == 0.0)),
            Op::One(one) => one.of(take(stack)),
            Op::Two(two) => {
                let b = take(stack);
                two.of(take(stack), b)
            }
            Op::If => {
                let (otherwise, then) = (take(stack), take(stack));
                if take(stack) == 0.0 { otherwise } else { then }
            }
        };
        stack.push(made);
    }
    take(stack)
}
