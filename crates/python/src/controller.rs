//! Controllers written in Python: an object is told what happened, and is then asked for its window
//! and, if it has them, for its pacing rate and its timer.

use crate::error::BoundsError;
use crate::failure;
use crate::interval_law;
use narrows_control as control;
use narrows_control::registry::Birth;
use narrows_control::{Gaps, Pacing};
use narrows_learn::{RATES, WINDOWS};
use narrows_scenario::OwnLaw;
use narrows_signal::Ecn;
use narrows_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::OnceLock;

/// An acknowledgement that newly acknowledges packets.
#[pyclass(frozen, get_all)]
pub(crate) struct Ack {
    /// When the acknowledgement arrived, in seconds.
    now: f64,
    /// Packets newly acknowledged, cumulatively or selectively.
    packets: f64,
    /// The latest RTT sample in seconds; `None` until there is one.
    rtt: Option<f64>,
    /// Whether this acknowledgement brought that sample.
    rtt_is_fresh: bool,
    /// The moving average of the RTT in seconds; `None` until there is a sample.
    smoothed_rtt: Option<f64>,
    /// The smallest RTT so far in seconds; `None` until there is a sample.
    min_rtt: Option<f64>,
    /// Packets in flight after this acknowledgement.
    in_flight: f64,
    /// Whether the window, not the application or the receiver, limited the sender.
    window_limited: bool,
    /// Whether a recovery is under way.
    recovering: bool,
    /// How many of these packets arrived with an ECN mark.
    marked: f64,
    /// The number of the newest packet that has been answered.
    newest: u64,
    /// The number of the next packet to leave.
    next: u64,
    /// Packets per second between the departure of the newest of these and now; `None` without
    /// `rate_samples`, or if the interval tells nothing.
    delivery_rate: Option<f64>,
    /// Packets delivered since the connection began; `None` without `rate_samples`.
    delivered: Option<f64>,
    /// Whether the newest of these left when the application had too little to send; false without
    /// `rate_samples`.
    app_limited: bool,
}

#[pymethods]
impl Ack {
    /// An acknowledgement for testing a controller without a simulation.
    #[new]
    #[pyo3(signature = (
        *, now=0.0, packets=1.0, rtt=None, rtt_is_fresh=true, smoothed_rtt=None, min_rtt=None,
        in_flight=0.0, window_limited=true, recovering=false, marked=0.0, newest=0, next=1,
        delivery_rate=None, delivered=None, app_limited=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords, of which callers name a few")]
    fn new(
        now: f64,
        packets: f64,
        rtt: Option<f64>,
        rtt_is_fresh: bool,
        smoothed_rtt: Option<f64>,
        min_rtt: Option<f64>,
        in_flight: f64,
        window_limited: bool,
        recovering: bool,
        marked: f64,
        newest: u64,
        next: u64,
        delivery_rate: Option<f64>,
        delivered: Option<f64>,
        app_limited: bool,
    ) -> Self {
        Self {
            now,
            packets,
            rtt,
            rtt_is_fresh: rtt_is_fresh && rtt.is_some(),
            smoothed_rtt: smoothed_rtt.or(rtt),
            min_rtt: min_rtt.or(rtt),
            in_flight,
            window_limited,
            recovering,
            marked,
            newest,
            next,
            delivery_rate,
            delivered,
            app_limited,
        }
    }
}

/// A lost packet, or an expiry of the retransmission timer.
#[pyclass(frozen, get_all)]
pub(crate) struct Loss {
    /// When the loss was detected, in seconds.
    now: f64,
    /// Whether it is the first loss of its recovery epoch.
    opens_epoch: bool,
    /// Whether the retransmission timer detected it.
    timeout: bool,
    /// Packets in flight when the lost packet was sent, itself included; 0 for a timeout.
    in_flight: f64,
}

#[pymethods]
impl Loss {
    /// A loss for testing a controller without a simulation.
    #[new]
    #[pyo3(signature = (*, now=0.0, opens_epoch=true, timeout=false, in_flight=0.0))]
    fn new(now: f64, opens_epoch: bool, timeout: bool, in_flight: f64) -> Self {
        Self { now, opens_epoch, timeout, in_flight }
    }
}

/// Packets that arrived with an ECN mark.
#[pyclass(frozen, get_all)]
pub(crate) struct Mark {
    /// When the acknowledgement arrived, in seconds.
    now: f64,
    /// Number of packets.
    packets: f64,
    /// Whether it is the first mark of a round trip, outside of recovery.
    opens_epoch: bool,
}

#[pymethods]
impl Mark {
    /// A mark for testing a controller without a simulation.
    #[new]
    #[pyo3(signature = (*, now=0.0, packets=1.0, opens_epoch=true))]
    fn new(now: f64, packets: f64, opens_epoch: bool) -> Self {
        Self { now, packets, opens_epoch }
    }
}

/// What makes `narrows.Controller`s, by name: a function of the initial window.
pub(crate) struct PythonLaw {
    name: String,
    make: Py<PyAny>,
    /// Known once it has made a controller.
    abilities: OnceLock<Abilities>,
}

/// What a controller has and asks for.
#[derive(Clone, Copy, Debug, Default)]
struct Abilities {
    own_recovery: bool,
    rate_samples: bool,
    ecn: Ecn,
    hears_marks: bool,
    paces: bool,
    has_timer: bool,
    /// Whether it decides once an interval, and hears of nothing in between.
    by_interval: bool,
}

impl Abilities {
    /// Reads the attributes of `object`, and which methods it has besides those of the base class.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let module = py.import("narrows.controller")?;
        let base = module.getattr("Controller")?;
        if !object.is_instance(&base)? {
            let kind = object.get_type();
            let message = format!("cc made a {}, which is not a narrows.Controller", kind.name()?);
            return Err(PyValueError::new_err(message));
        }
        if object.is_instance(&module.getattr("IntervalController")?)? {
            return Ok(Self { by_interval: true, hears_marks: true, ..Self::default() });
        }
        let has =
            |name: &str| PyResult::Ok(!object.get_type().getattr(name)?.is(&base.getattr(name)?));
        let ecn: String = object.getattr("ecn")?.extract()?;
        let ecn = match ecn.as_str() {
            "" => Ecn::NotCapable,
            "classic" => Ecn::Capable,
            "scalable" => Ecn::Scalable,
            other => {
                return Err(PyValueError::new_err(format!(
                    "ecn is \"{other}\"; try \"classic\" for ECT(0), \"scalable\" for ECT(1), or \"\""
                )));
            }
        };
        let hears_marks = has("on_mark")?;
        if ecn.is_capable() && !hears_marks {
            return Err(PyValueError::new_err("ecn is set, and there is no on_mark(self, mark)"));
        }
        let has_timer = has("on_timer")?;
        if has_timer != has("timer")? {
            let there = if has_timer { "on_timer(self, now)" } else { "timer(self)" };
            let missing = if has_timer { "timer(self)" } else { "on_timer(self, now)" };
            let message = format!("there is {there} and no {missing}; define both or neither");
            return Err(PyValueError::new_err(message));
        }
        Ok(Self {
            own_recovery: object.getattr("own_recovery")?.extract()?,
            rate_samples: object.getattr("rate_samples")?.extract()?,
            ecn,
            hears_marks,
            paces: has("pacing_rate")?,
            has_timer,
            by_interval: false,
        })
    }
}

impl PythonLaw {
    /// The law called `name`, whose controllers `make` makes.
    pub fn new(name: String, make: Py<PyAny>) -> Self {
        Self { name, make, abilities: OnceLock::new() }
    }

    /// A controller that begins with a window of `initial_window` packets, and what it can do.
    fn make_one(&self, initial_window: f64) -> PyResult<(Py<PyAny>, Abilities)> {
        Python::attach(|py| {
            let object = self.make.call1(py, (initial_window,))?;
            let abilities = match self.abilities.get() {
                Some(abilities) => *abilities,
                None => Abilities::of(object.bind(py))?,
            };
            Ok((object, *self.abilities.get_or_init(|| abilities)))
        })
    }
}

impl OwnLaw for PythonLaw {
    fn name(&self) -> &str {
        &self.name
    }

    fn hears_marks(&self) -> bool {
        self.abilities.get().is_some_and(|abilities| abilities.hears_marks)
    }

    fn make(&self, birth: &Birth) -> Box<dyn control::Controller> {
        let made = self.make_one(birth.initial_window).map_err(failure::keep).ok();
        let abilities = made.as_ref().map_or_else(Abilities::default, |(_, abilities)| *abilities);
        if abilities.by_interval {
            return interval_law::controller(&self.name, made.map(|(object, _)| object), birth);
        }
        let mut controller = PythonController {
            name: self.name.clone(),
            object: made.map(|(object, _)| object),
            abilities,
            window: birth.initial_window,
            threshold: f64::INFINITY,
            says_threshold: false,
            rate: None,
            wakes_at: Time::NEVER,
            now: Time::ZERO,
        };
        controller.tell(Time::ZERO, |_, _| Ok(()));
        Box::new(controller)
    }
}

struct PythonController {
    name: String,
    /// `None` once it has failed: the window stays where it was until the run is stopped.
    object: Option<Py<PyAny>>,
    abilities: Abilities,
    window: f64,
    /// Its slow-start threshold; if it does not say that, its window after the last reduction.
    threshold: f64,
    says_threshold: bool,
    /// Packets per second, if it paces.
    rate: Option<f64>,
    wakes_at: Time,
    /// The time of the newest event.
    now: Time,
}

/// What an object answers after an event.
struct Answer {
    window: f64,
    threshold: Option<f64>,
    rate: Option<f64>,
    timer: Option<f64>,
}

/// Its attribute `ssthresh`, if it has one that is not `None`.
fn threshold_of(object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    let found = object.getattr_opt(intern!(object.py(), "ssthresh"))?;
    let Some(found) = found else { return Ok(None) };
    found.extract().map_err(|_| not_a_number(object, "ssthresh is", &found))
}

/// What to say of an answer that is no number, after the class's name and `what`.
fn not_a_number(object: &Bound<'_, PyAny>, what: &str, answer: &Bound<'_, PyAny>) -> PyErr {
    let text = |found: PyResult<Bound<'_, PyString>>| {
        found.map_or_else(
            |_| "?".to_owned(),
            |text| text.to_string_lossy().chars().take(60).collect(),
        )
    };
    let name = text(object.get_type().name());
    let found = text(answer.repr());
    BoundsError::new_err(format!("{name}.{what} {found}, which is not a number"))
}

/// A number as people read it, however large or small.
fn shown(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

impl PythonController {
    /// Calls `what` on the object, and then asks for its window, its pacing rate and its timer.
    fn tell(
        &mut self,
        now: Time,
        what: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<()>,
    ) {
        let Some(object) = &self.object else { return };
        self.now = now;
        let Abilities { paces, has_timer, .. } = self.abilities;
        let told = Python::attach(|py| {
            let object = object.bind(py);
            what(py, object)?;
            let number = |method: &'static str| {
                let answer = object.call_method0(method)?;
                let what = || format!("{method}() returned");
                answer.extract().map_err(|_| not_a_number(object, &what(), &answer))
            };
            let asked = |has: bool, method: &'static str| {
                if !has || object.call_method0(method)?.is_none() {
                    return Ok(None);
                }
                number(method).map(Some)
            };
            Ok(Answer {
                window: number("window")?,
                threshold: threshold_of(object)?,
                rate: asked(paces, "pacing_rate")?,
                timer: asked(has_timer, "timer")?,
            })
        });
        match told.and_then(|answer| self.take(&answer)) {
            Ok(()) => {}
            Err(error) => {
                self.object = None;
                failure::keep(error);
            }
        }
    }

    /// Fails if an answer is out of bounds.
    fn take(&mut self, answer: &Answer) -> PyResult<()> {
        let wrong = |method: &str, found: f64, right: String| {
            let name = &self.name;
            Err(BoundsError::new_err(format!(
                "{name}.{method}() returned {}; it must {right}",
                shown(found)
            )))
        };
        if !WINDOWS.contains(&answer.window) {
            let right = format!("return a number of packets from 1 to {}", WINDOWS.end());
            return wrong("window", answer.window, right);
        }
        if let Some(rate) = answer.rate.filter(|rate| !RATES.contains(rate)) {
            let (least, most) = (RATES.start(), RATES.end());
            let right = format!("return None or packets per second from {least} to {most:e}");
            return wrong("pacing_rate", rate, right);
        }
        let wakes_at = answer.timer.map_or(Time::NEVER, Time::from_secs);
        if let Some(timer) = answer.timer.filter(|timer| !timer.is_finite() || wakes_at <= self.now)
        {
            let right = format!("return None or a time in seconds after {}", self.now.seconds());
            return wrong("timer", timer, right);
        }
        if answer.threshold.is_some_and(|threshold| threshold.is_nan() || threshold < 0.0) {
            let (name, found) = (&self.name, shown(answer.threshold.unwrap_or_default()));
            return Err(BoundsError::new_err(format!(
                "{name}.ssthresh is {found}; it must be packets, at least 0, or None"
            )));
        }
        if let Some(threshold) = answer.threshold {
            (self.threshold, self.says_threshold) = (threshold, true);
        }
        (self.window, self.rate, self.wakes_at) = (answer.window, answer.rate, wakes_at);
        Ok(())
    }

    /// After a loss or a mark that opens an epoch.
    fn reduced(&mut self) {
        if !self.says_threshold {
            self.threshold = self.window;
        }
    }

    fn lose(&mut self, now: Time, loss: Loss) {
        self.tell(now, |py, object| object.call_method1(intern!(py, "on_loss"), (loss,)).map(drop));
    }
}

impl control::Controller for PythonController {
    fn on_ack(&mut self, ack: &control::Ack) {
        let now = ack.now;
        let rate = ack.rate.as_ref();
        let ack = Ack {
            now: now.seconds(),
            packets: ack.packets,
            rtt: ack.rtt.map(|rtt| rtt.latest.seconds()),
            rtt_is_fresh: ack.rtt_is_fresh,
            smoothed_rtt: ack.rtt.map(|rtt| rtt.smoothed.seconds()),
            min_rtt: ack.rtt.map(|rtt| rtt.minimum.seconds()),
            in_flight: ack.in_flight,
            window_limited: ack.window_limited,
            recovering: ack.recovering,
            marked: ack.marked,
            newest: ack.newest,
            next: ack.next,
            delivery_rate: rate.and_then(|rate| rate.delivery_rate),
            delivered: rate.map(|rate| rate.total_delivered),
            app_limited: rate.is_some_and(|rate| rate.app_limited),
        };
        self.tell(now, |py, object| object.call_method1(intern!(py, "on_ack"), (ack,)).map(drop));
    }

    fn on_loss(&mut self, loss: &control::Loss) {
        let control::Loss { now, opens_epoch, in_flight, .. } = *loss;
        self.lose(now, Loss { now: now.seconds(), opens_epoch, timeout: false, in_flight });
        if opens_epoch {
            self.reduced();
        }
    }

    fn on_timeout(&mut self, timeout: &control::Timeout) {
        let control::Timeout { now, opens_epoch, in_flight } = *timeout;
        self.lose(now, Loss { now: now.seconds(), opens_epoch, timeout: true, in_flight });
        self.reduced();
    }

    fn on_mark(&mut self, mark: &control::Mark) {
        let control::Mark { now, packets, opens_epoch } = *mark;
        let told = Mark { now: now.seconds(), packets, opens_epoch };
        self.tell(now, |py, object| object.call_method1(intern!(py, "on_mark"), (told,)).map(drop));
        if opens_epoch {
            self.reduced();
        }
    }

    fn on_timer(&mut self, tick: &control::Tick) {
        self.wakes_at = Time::NEVER;
        self.tell(tick.now, |py, object| {
            object.call_method1(intern!(py, "on_timer"), (tick.now.seconds(),)).map(drop)
        });
    }

    fn wakes_at(&self) -> Time {
        self.wakes_at
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn ssthresh(&self) -> f64 {
        self.threshold
    }

    fn pacing(&self) -> Pacing {
        self.rate.map_or(Pacing::Unpaced, |packets_per_second| Pacing::Rate {
            packets_per_second,
            gaps: Gaps::Even,
        })
    }

    fn needs(&self) -> control::Needs {
        control::Needs {
            ecn: self.abilities.ecn,
            rate_samples: self.abilities.rate_samples,
            own_recovery: self.abilities.own_recovery,
            timer: self.abilities.has_timer,
            ..control::Needs::default()
        }
    }
}
