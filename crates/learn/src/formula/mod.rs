//! Laws that are written as expressions: safe to run, whoever wrote them, and the same bits
//! everywhere.
//!
//! ```toml
//! state = { window = "initial_window", ssthresh = 1e9 }
//! on_ack = ["window = if(window_limited and not recovering, window + packets / window, window)"]
//! on_loss = ["window = if(opens_epoch, max(window / 2, 2), window)"]
//! ```

mod code;
mod parse;

use crate::interval::COLUMNS;
use crate::told::{
    ANSWERS as OWN, Answered, Complain, Event, OF_ACK, OF_LOSS, Seated, Told, of_interval,
};
use code::{Op, run};
use narrows_control::Controller;
use narrows_control::registry::Birth;
use narrows_scenario::OwnLaw;
use std::sync::Arc;

/// Variables of a law, at most.
const MOST: usize = 32;
/// Assignments of a list, at most.
const LINES: usize = 32;

/// Assignments in order: the variable's place, and what it becomes.
type Lines = Vec<(usize, Vec<Op>)>;

/// A law as it is written.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The names of its variables, those that every law has first.
    variables: Vec<String>,
    /// What each begins with, of the initial window.
    start: Vec<Vec<Op>>,
    on_ack: Lines,
    on_loss: Lines,
    on_interval: Lines,
    /// Whether its window decides in a recovery, too.
    own_recovery: bool,
    /// Whether it looks at marks.
    hears_marks: bool,
}

/// What is given of a law.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Variables with what they begin with.
    pub state: Vec<(String, String)>,
    /// What happens at an acknowledgement.
    pub on_ack: Vec<String>,
    /// What happens at a lost packet, and at a timeout.
    pub on_loss: Vec<String>,
    /// What happens once an RTT.
    pub on_interval: Vec<String>,
    /// Whether its window decides in a recovery, too.
    pub own_recovery: bool,
}

fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_');
    starts && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
}

/// The lines of a list, over `variables` and what its event says.
fn lines(
    list: &str,
    written: &[String],
    variables: &[String],
    event: &[&str],
) -> Result<Lines, String> {
    if written.len() > LINES {
        return Err(format!("{list}: {} lines; at most {LINES}", written.len()));
    }
    let names: Vec<String> =
        variables.iter().cloned().chain(event.iter().map(|name| (*name).to_owned())).collect();
    let line = |(number, text): (usize, &String)| {
        let line = parse::assignment(text, &names, variables.len());
        line.map_err(|error| format!("{list}[{number}]: {error}"))
    };
    written.iter().enumerate().map(line).collect()
}

impl Formula {
    /// Reads a law. Fails if a name is none or is an event's, an expression is wrong, or nothing
    /// ever changes its window or rate; the error names the place.
    pub fn new(written: &Written) -> Result<Self, String> {
        let mut variables: Vec<String> = OWN.map(str::to_owned).to_vec();
        let mut start = vec![
            parse::expression("initial_window", &["initial_window".to_owned()])?,
            vec![Op::Number(0.0)],
            vec![Op::Number(1e9)],
        ];
        let events = OF_ACK.iter().chain(&OF_LOSS).chain(&COLUMNS);
        let taken: Vec<&str> = events.copied().filter(|name| !OWN.contains(name)).collect();
        for (name, text) in &written.state {
            if !is_name(name) || taken.contains(&name.as_str()) {
                return Err(format!("state: \"{name}\" cannot be a variable; call it otherwise"));
            }
            let code = parse::expression(text, &["initial_window".to_owned()]);
            let code = code.map_err(|error| format!("state.{name}: {error}"))?;
            match variables.iter().position(|known| known == name) {
                Some(place) if place < OWN.len() => start[place] = code,
                Some(_) => return Err(format!("state: \"{name}\" is there twice")),
                None => {
                    variables.push(name.clone());
                    start.push(code);
                }
            }
        }
        if variables.len() > MOST {
            return Err(format!("state: {} variables; at most {MOST}", variables.len()));
        }
        let Written { own_recovery, .. } = *written;
        let of_interval: Vec<&str> = of_interval().collect();
        let on_ack = lines("on_ack", &written.on_ack, &variables, &OF_ACK)?;
        let on_loss = lines("on_loss", &written.on_loss, &variables, &OF_LOSS)?;
        let on_interval = lines("on_interval", &written.on_interval, &variables, &of_interval)?;
        let all = on_ack.iter().chain(&on_loss).chain(&on_interval);
        if all.clone().all(|(place, _)| *place > 1) {
            return Err("nothing ever sets window or rate; write on_ack = [\"window = …\"]".into());
        }
        let looks = |lines: &Lines, event: &[&str]| {
            let marked = event.iter().position(|name| *name == "marked");
            let place = marked.map(|place| Op::Variable(variables.len() + place));
            lines.iter().any(|(_, code)| code.iter().any(|op| Some(*op) == place))
        };
        let hears_marks = looks(&on_ack, &OF_ACK) || looks(&on_interval, &of_interval);
        Ok(Self { variables, start, on_ack, on_loss, on_interval, own_recovery, hears_marks })
    }
}

/// A formula with a name, by which flows call it.
pub struct FormulaLaw {
    name: String,
    formula: Arc<Formula>,
    complain: Complain,
}

impl FormulaLaw {
    /// The law called `name`, whose failures `complain` hears.
    pub fn new(name: String, formula: Formula, complain: Complain) -> Self {
        Self { name, formula: Arc::new(formula), complain }
    }
}

impl OwnLaw for FormulaLaw {
    fn name(&self) -> &str {
        &self.name
    }

    fn hears_marks(&self) -> bool {
        self.formula.hears_marks
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        let formula = Arc::clone(&self.formula);
        let mut stack = Vec::with_capacity(formula.start.len());
        let start = formula.start.iter();
        let values = start.map(|code| run(code, &[birth.initial_window], &mut stack)).collect();
        let law = Running { formula, values, stack };
        let first = law.answers();
        Box::new(Seated::new(law, &self.name, &self.complain, birth, Ok(first)))
    }
}

/// One connection's.
struct Running {
    formula: Arc<Formula>,
    /// Of the variables, and behind them of the event that is told.
    values: Vec<f64>,
    stack: Vec<f64>,
}

impl Running {
    fn answers(&self) -> [f64; OWN.len()] {
        [self.values[0], self.values[1], self.values[2]]
    }
}

impl Formula {
    fn lines(&self, event: Event) -> &Lines {
        match event {
            Event::Ack => &self.on_ack,
            Event::Loss => &self.on_loss,
            Event::Interval => &self.on_interval,
        }
    }
}

impl Told for Running {
    fn hears(&self, event: Event) -> bool {
        !self.formula.lines(event).is_empty()
    }

    fn tell(&mut self, event: Event, numbers: &[f64]) -> Answered {
        self.values.truncate(self.formula.variables.len());
        self.values.extend_from_slice(numbers);
        for (place, code) in self.formula.lines(event) {
            self.values[*place] = run(code, &self.values, &mut self.stack);
        }
        Ok(self.answers())
    }

    fn own_recovery(&self) -> bool {
        self.formula.own_recovery
    }
}
