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

use crate::interval::{COLUMNS, Tally};
use crate::wanted::{RATES, WAITS, WINDOWS, after};
use code::{Op, run};
use narrows_control::registry::Birth;
use narrows_control::{Ack, Controller, Gaps, Loss, Needs, Pacing, Tick, Timeout};
use narrows_scenario::OwnLaw;
use narrows_units::{Duration, Time};
use std::sync::Arc;

/// What an acknowledgement says: numbers, and truths as 0 and 1.
const OF_ACK: [&str; 11] = [
    "now",
    "packets",
    "rtt",
    "srtt",
    "min_rtt",
    "in_flight",
    "window_limited",
    "recovering",
    "marked",
    "delivery_rate",
    "delivered",
];
/// What a loss says; that of a timeout comes alone.
const OF_LOSS: [&str; 4] = ["now", "opens_epoch", "timeout", "in_flight"];
/// The variables that every law has: packets, packets per second, packets.
const OWN: [&str; 3] = ["window", "rate", "ssthresh"];
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
        let of_interval: Vec<&str> =
            COLUMNS.iter().copied().filter(|name| !OWN.contains(name)).collect();
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

/// Hears what a law did that it may not do.
pub type Complain = Arc<dyn Fn(String) + Send + Sync>;

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
        let decides = !formula.on_interval.is_empty();
        let wakes_at = if decides { after(Time::ZERO, WAITS) } else { Time::NEVER };
        let mut law = Running {
            formula,
            name: self.name.clone(),
            complain: Arc::clone(&self.complain),
            values,
            stack,
            tally: Tally::default(),
            steer: (birth.initial_window, 0.0),
            has_failed: false,
            wakes_at,
        };
        law.heed();
        Box::new(law)
    }
}

/// One connection's.
struct Running {
    formula: Arc<Formula>,
    name: String,
    complain: Complain,
    /// Of the variables, and behind them of the event that is told.
    values: Vec<f64>,
    stack: Vec<f64>,
    tally: Tally,
    /// Window and rate that it has answered last, in bounds.
    steer: (f64, f64),
    has_failed: bool,
    wakes_at: Time,
}

/// Which list.
#[derive(Clone, Copy)]
enum List {
    Ack,
    Loss,
    Interval,
}

impl Running {
    fn tell(&mut self, list: List, event: &[f64]) {
        let formula = &*self.formula;
        let lines = match list {
            List::Ack => &formula.on_ack,
            List::Loss => &formula.on_loss,
            List::Interval => &formula.on_interval,
        };
        if lines.is_empty() || self.has_failed {
            return;
        }
        self.values.truncate(formula.variables.len());
        self.values.extend_from_slice(event);
        for (place, code) in lines {
            self.values[*place] = run(code, &self.values, &mut self.stack);
        }
        self.heed();
    }

    /// Takes window and rate over if they are in bounds.
    fn heed(&mut self) {
        let (window, rate) = (self.values[0], self.values[1]);
        let window_is_right = WINDOWS.contains(&window);
        if window_is_right && (rate == 0.0 || RATES.contains(&rate)) {
            self.steer = (window, rate);
            return;
        }
        self.has_failed = true;
        let (name, what) = (&self.name, if window_is_right { "rate" } else { "window" });
        let (value, right) = if window_is_right {
            (rate, "0, or from 1e-3 to 1e12 packets/s")
        } else {
            (window, "from 1 to 1e7 packets; max(…, 1) keeps it there")
        };
        (self.complain)(format!("{name}: {what} became {value}, which is not {right}"));
    }
}

fn seconds(span: Option<Duration>) -> f64 {
    span.map_or(0.0, Duration::seconds)
}

fn truth(it: bool) -> f64 {
    f64::from(u8::from(it))
}

impl Controller for Running {
    fn on_ack(&mut self, ack: &Ack) {
        self.tally.on_ack(ack);
        let rate = ack.rate;
        self.tell(
            List::Ack,
            &[
                ack.now.seconds(),
                ack.packets,
                seconds(ack.rtt.map(|rtt| rtt.latest)),
                seconds(ack.rtt.map(|rtt| rtt.smoothed)),
                seconds(ack.rtt.map(|rtt| rtt.minimum)),
                ack.in_flight,
                truth(ack.window_limited),
                truth(ack.recovering),
                ack.marked,
                rate.and_then(|rate| rate.delivery_rate).unwrap_or(0.0),
                rate.map_or(0.0, |rate| rate.total_delivered),
            ],
        );
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.tally.on_loss(loss);
        let event = [loss.now.seconds(), truth(loss.opens_epoch), 0.0, loss.in_flight];
        self.tell(List::Loss, &event);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.tally.on_timeout();
        let event = [timeout.now.seconds(), truth(timeout.opens_epoch), 1.0, timeout.in_flight];
        self.tell(List::Loss, &event);
    }

    fn on_timer(&mut self, tick: &Tick) {
        let interval = self.tally.close(tick, self.steer.0, self.steer.1);
        let event: Vec<f64> = COLUMNS
            .iter()
            .zip(interval.row())
            .filter(|(name, _)| !OWN.contains(name))
            .map(|(_, value)| value)
            .collect();
        self.tell(List::Interval, &event);
        let span = if interval.srtt > 0.0 { interval.srtt } else { WAITS };
        self.wakes_at = after(tick.now, span);
    }

    fn wakes_at(&self) -> Time {
        self.wakes_at
    }

    fn window(&self) -> f64 {
        self.steer.0
    }

    fn ssthresh(&self) -> f64 {
        let threshold = self.values[2];
        if threshold.is_nan() { f64::INFINITY } else { threshold }
    }

    fn pacing(&self) -> Pacing {
        match self.steer.1 {
            0.0 => Pacing::Unpaced,
            packets_per_second => Pacing::Rate { packets_per_second, gaps: Gaps::Even },
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            rate_samples: true,
            timer: !self.formula.on_interval.is_empty(),
            own_recovery: self.formula.own_recovery,
            ..Needs::default()
        }
    }
}
