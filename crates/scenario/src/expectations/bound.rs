//! What a number is compared with: numbers with units, numbers of the same run and of reference
//! runs, and sums, products, least and greatest of them.

use super::place::Place;
use crate::metrics::Kind;
use crate::{Checked, Results};
use narrows_units::{Bytes, Duration, Rate};

/// Which side of the bound is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `==`
    Equal,
}

impl Side {
    /// Each as written; where one begins as another does, the longer comes first.
    const ALL: [(Self, &str); 5] = [
        (Self::AtMost, "<="),
        (Self::AtLeast, ">="),
        (Self::Equal, "=="),
        (Self::Below, "<"),
        (Self::Above, ">"),
    ];

    /// As written.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(side, _)| *side == self).map_or("", |(_, text)| text)
    }
}

/// A bound.
#[derive(Clone)]
pub(super) struct Bound {
    pub side: Side,
    value: Term,
}

#[derive(Clone)]
enum Term {
    Number(f64),
    Shown(Place),
    Sum(Box<Term>, Box<Term>),
    Difference(Box<Term>, Box<Term>),
    Product(Box<Term>, Box<Term>),
    Least(Vec<Term>),
    Greatest(Vec<Term>),
}

/// What a bound may speak of: the runs by name, the scenario's own first and without one.
pub(super) type Runs<'a> = &'a [(&'a str, &'a Checked)];

impl Bound {
    /// Reads a bound of the number called `place`.
    pub fn parse(text: &str, place: &str, runs: Runs<'_>) -> Result<Self, String> {
        let kind = Place::find(place, 0, runs)?.kind();
        let (side, rest) = Side::ALL
            .iter()
            .find_map(|(side, sign)| Some((*side, text.trim().strip_prefix(sign)?)))
            .ok_or_else(|| {
                let example = example(kind);
                format!("\"{text}\" begins with none of <=, >=, <, > and ==; try \">= {example}\"")
            })?;
        let mut parser = Parser { tokens: tokens(rest), next: 0, place, kind, runs };
        let (value, dimension) = parser.sum()?;
        if let Some(token) = parser.peek() {
            return Err(format!("\"{token}\" is too much; write sums as \"a + b\""));
        }
        let wanted = Dimension::of(kind);
        if dimension != wanted && !matches!(value, Term::Number(0.0)) {
            return Err(wanted.missing(place, kind));
        }
        Ok(Self { side, value })
    }

    /// True if it speaks of numbers that runs show.
    pub fn is_relative(&self) -> bool {
        !matches!(self.value, Term::Number(_))
    }

    /// The numbers that it speaks of.
    pub fn places(&mut self) -> Vec<&mut Place> {
        let mut places = Vec::new();
        self.value.gather(&mut places);
        places
    }

    /// What it amounts to beside `runs`, the scenario's own and its references' under one seed.
    pub fn value(&self, runs: &[&Results]) -> f64 {
        self.value.value(runs)
    }
}

impl Term {
    fn gather<'a>(&'a mut self, places: &mut Vec<&'a mut Place>) {
        match self {
            Self::Number(_) => {}
            Self::Shown(place) => places.push(place),
            Self::Sum(a, b) | Self::Difference(a, b) | Self::Product(a, b) => {
                a.gather(places);
                b.gather(places);
            }
            Self::Least(terms) | Self::Greatest(terms) => {
                terms.iter_mut().for_each(|term| term.gather(places));
            }
        }
    }

    fn value(&self, runs: &[&Results]) -> f64 {
        // A number that is not there makes the bound one that is not there.
        let of = |terms: &[Self], better: fn(f64, f64) -> bool| {
            let values = terms.iter().map(|term| term.value(runs));
            values.reduce(|a, b| if a.is_nan() || better(a, b) { a } else { b }).unwrap_or(f64::NAN)
        };
        match self {
            Self::Number(number) => *number,
            Self::Shown(place) => place.read(runs),
            Self::Sum(a, b) => a.value(runs) + b.value(runs),
            Self::Difference(a, b) => a.value(runs) - b.value(runs),
            Self::Product(a, b) => a.value(runs) * b.value(runs),
            Self::Least(terms) => of(terms, |a, b| a < b),
            Self::Greatest(terms) => of(terms, |a, b| a > b),
        }
    }
}

/// What numbers can be added to and compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    /// A ratio, or a count.
    Plain,
    Time,
    Rate,
    Bytes,
}

impl Dimension {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Rate => Self::Rate,
            Kind::Time | Kind::Delay => Self::Time,
            Kind::Bytes => Self::Bytes,
            _ => Self::Plain,
        }
    }

    /// What to say if a bound of `place` is of another dimension.
    fn missing(self, place: &str, kind: Kind) -> String {
        let example = example(kind);
        let what = match self {
            Self::Plain => "a plain number",
            Self::Time => "a time",
            Self::Rate => "a rate",
            Self::Bytes => "a number of bytes",
        };
        format!("{place} is {what}; compare it with one, like {example}")
    }
}

fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Rate => "50Mbps",
        Kind::Time => "2s",
        Kind::Delay => "5ms",
        Kind::Bytes => "30kB",
        Kind::Ratio | Kind::Part => "0.9",
        Kind::Share => "1%",
        _ => "20",
    }
}

/// The words of a bound: what stands between spaces, brackets, commas and stars.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    for letter in text.chars() {
        if letter.is_whitespace() || "(),*".contains(letter) {
            tokens.push(if letter.is_whitespace() { String::new() } else { letter.to_string() });
            tokens.push(String::new());
        } else {
            tokens.last_mut().expect("it began with one").push(letter);
        }
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

struct Parser<'a> {
    tokens: Vec<String>,
    next: usize,
    /// The number that is compared.
    place: &'a str,
    kind: Kind,
    runs: Runs<'a>,
}

type Parsed = Result<(Term, Dimension), String>;

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.next).map(String::as_str)
    }

    fn take(&mut self) -> Result<String, String> {
        let example = example(self.kind);
        let end = || format!("the bound ends too early; try \">= {example}\"");
        let token = self.tokens.get(self.next).cloned().ok_or_else(end)?;
        self.next += 1;
        Ok(token)
    }

    fn takes(&mut self, wanted: &str) -> bool {
        let found = self.peek() == Some(wanted);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        if self.takes(wanted) { Ok(()) } else { Err(format!("a \"{wanted}\" is missing")) }
    }

    fn sum(&mut self) -> Parsed {
        let mut sum = self.product()?;
        loop {
            let make = if self.takes("+") {
                Term::Sum
            } else if self.takes("-") {
                Term::Difference
            } else {
                return Ok(sum);
            };
            let (next, dimension) = self.product()?;
            if dimension != sum.1 {
                return Err("what is added must be of one kind, like 5ms + 2ms".to_owned());
            }
            sum.0 = make(Box::new(sum.0), Box::new(next));
        }
    }

    fn product(&mut self) -> Parsed {
        let mut product = self.factor()?;
        while self.takes("*") {
            let (next, dimension) = self.factor()?;
            if product.1 != Dimension::Plain && dimension != Dimension::Plain {
                return Err("of two factors one is a plain number, like 0.5 * reno".to_owned());
            }
            let both = if dimension == Dimension::Plain { product.1 } else { dimension };
            product = (Term::Product(Box::new(product.0), Box::new(next)), both);
        }
        Ok(product)
    }

    fn factor(&mut self) -> Parsed {
        let token = self.take()?;
        match token.as_str() {
            "(" => {
                let inner = self.sum()?;
                self.expect(")")?;
                Ok(inner)
            }
            "min" if self.peek() == Some("(") => self.choice(Term::Least),
            "max" if self.peek() == Some("(") => self.choice(Term::Greatest),
            number
                if number
                    .trim_start_matches('-')
                    .starts_with(|it: char| it.is_ascii_digit() || it == '.') =>
            {
                literal(number, self.kind)
            }
            name => self.named(name),
        }
    }

    fn choice(&mut self, make: fn(Vec<Term>) -> Term) -> Parsed {
        self.expect("(")?;
        let (first, dimension) = self.sum()?;
        let mut terms = vec![first];
        while self.takes(",") {
            let (next, other) = self.sum()?;
            if other != dimension {
                return Err("what is compared must be of one kind, like max(reno, cubic)".into());
            }
            terms.push(next);
        }
        self.expect(")")?;
        Ok((make(terms), dimension))
    }

    /// A reference, which means the same number there; a number of a reference; or one of the same
    /// run.
    fn named(&self, name: &str) -> Parsed {
        let (first, rest) = name.split_once('.').unwrap_or((name, self.place));
        let reference = self.runs.iter().skip(1).position(|(run, _)| *run == first);
        let (run, place) = reference.map_or((0, name), |number| (number + 1, rest));
        let place = Place::find(place, run, self.runs).map_err(|error| {
            let references: Vec<_> = self.runs.iter().skip(1).map(|(name, _)| *name).collect();
            match references.is_empty() {
                true => error,
                false => format!("{error}; references: {}", references.join(", ")),
            }
        })?;
        Ok((Term::Shown(place), Dimension::of(place.kind())))
    }
}

/// A number with its unit; one of packets only where packets are compared.
fn literal(text: &str, kind: Kind) -> Parsed {
    if let Ok(number) = text.parse::<f64>() {
        if !number.is_finite() {
            return Err(format!("{text} is not a number to compare with; try {}", example(kind)));
        }
        return Ok((Term::Number(number), Dimension::Plain));
    }
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    if let Some(number) = percent {
        return Ok((Term::Number(number / 100.0), Dimension::Plain));
    }
    let packets = text.strip_suffix('p').and_then(|number| number.parse::<f64>().ok());
    if let Some(number) = packets.filter(|_| matches!(kind, Kind::Packets | Kind::Count)) {
        return Ok((Term::Number(number), Dimension::Plain));
    }
    if let Ok(time) = text.parse::<Duration>() {
        return Ok((Term::Number(time.seconds()), Dimension::Time));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return Ok((Term::Number(bytes.count() as f64), Dimension::Bytes));
    }
    match text.parse::<Rate>() {
        Ok(rate) => Ok((Term::Number(rate.bits_per_second() as f64), Dimension::Rate)),
        Err(_) => Err(format!("\"{text}\" is not a number with a unit; try {}", example(kind))),
    }
}
