//! narrows' networks for stacks in C, as `include/narrows_endpoint.h` describes them: what is here
//! is what a C program calls.

#![expect(unsafe_code, reason = "what C hands over is pointers")]

mod end;
mod offers;

pub use end::Described;
use end::{CEndpoint, Ends, Make};
use narrows_conform::{Check, Profile, Row, Subject, Transport, Verdict, chosen, conform_on};
use narrows_scenario::{Checked, Own, Results, Scenario, Stack, StackEnds, Wish, run};
pub use offers::{narrows_offered, narrows_offers};
use serde_json::{Value, json};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The stack of a C program.
struct CStack {
    name: String,
    make: Make,
    context: Context,
}

/// What a C program hands to its own function.
#[derive(Clone, Copy)]
struct Context(*mut c_void);

// SAFETY: the header says that a run calls from one thread, while its caller waits.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Stack for CStack {
    fn name(&self) -> &str {
        &self.name
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        if wish.packet.is_some() {
            return Err("packet is up to the stack; leave it out".to_owned());
        }
        let mut ends = Ends::default();
        let (seed, size) = (wish.transfer.seed, wish.transfer.bytes.unwrap_or(0));
        let offers = offers::of(&wish.transfer.offered);
        // SAFETY: the caller of narrows_run says what `make` is.
        let make =
            || unsafe { (self.make)(self.context.0, seed, size, &mut ends.near, &mut ends.far) };
        let outcome = offers::during(offers.as_ref(), make);
        if outcome != 0 {
            return Err(format!("{} made no ends: its function returned {outcome}", self.name));
        }
        let near = CEndpoint::new(ends.near, offers.clone());
        let far = CEndpoint::new(ends.far, offers);
        Ok((Box::new(near?), Box::new(far?)))
    }
}

/// The text at `text`. Fails if it is none.
///
/// # Safety
/// `text` is null or points to bytes that end with a zero.
unsafe fn text(text: *const c_char, what: &str) -> Result<String, String> {
    if text.is_null() {
        return Err(format!("{what} is NULL"));
    }
    // SAFETY: as this function's.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map(str::to_owned).map_err(|error| format!("{what}: {error}"))
}

/// Runs a scenario; see the header.
///
/// # Safety
/// `scenario` and `name` are null or end with a zero; `make` is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_run(
    scenario: *const c_char,
    name: *const c_char,
    make: Option<Make>,
    context: *mut c_void,
    seed: u64,
) -> *mut c_char {
    // SAFETY: as this function's.
    let texts = unsafe { text(scenario, "scenario").and_then(|it| Ok((it, text(name, "name")?))) };
    let outcome = texts.and_then(|(scenario, name)| {
        let make = make.ok_or("make is NULL")?;
        let run = || ran(&scenario, CStack { name, make, context: Context(context) }, seed);
        guarded(run)
    });
    said(outcome)
}

/// Judges a controller; see the header.
///
/// # Safety
/// The texts are null or end with a zero; `make` is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_conform(
    r#as: *const c_char,
    only: *const c_char,
    transport: *const c_char,
    name: *const c_char,
    make: Option<Make>,
    context: *mut c_void,
) -> *mut c_char {
    // SAFETY: as this function's.
    let texts = unsafe {
        [(r#as, "as"), (only, "only"), (transport, "transport"), (name, "name")]
            .map(|(it, what)| text(it, what))
    };
    let judge = || {
        let [profile, only, transport, name] = texts;
        let (profile, transport) = (Profile::named(&profile?)?, Transport::named(&transport?)?);
        let (checks, name) = (chosen(&only?)?, name?);
        let make = make.ok_or("make is NULL")?;
        let subject = Subject { cc: name.clone(), profile, transport, fields: Vec::new() };
        let stack = CStack { name, make, context: Context(context) };
        let own = Own { laws: Vec::new(), stacks: vec![Arc::new(stack)] };
        guarded(|| conform_on(1, &subject, &own, &checks))
    };
    said(judge().map(|rows| {
        let fails = rows.iter().filter(|row| row.verdict == Verdict::Fails).count();
        json!({ "fails": fails, "rows": rows.iter().map(Row::record).collect::<Vec<_>>() })
    }))
}

/// The checks that there are; see the header.
#[unsafe(no_mangle)]
pub extern "C" fn narrows_checks() -> *mut c_char {
    said(Ok(narrows_conform::all().map(Check::record).collect()))
}

/// What C is told.
fn said(outcome: Result<Value, String>) -> *mut c_char {
    let said = outcome.unwrap_or_else(|error| json!({ "error": error })).to_string();
    CString::new(said).unwrap_or_default().into_raw()
}

/// What `work` returns; if it panics, an error that says so: C has no way to go on from a panic.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind");
        Err(format!("a fault of narrows: {said}"))
    })
}

/// Frees what the others returned.
///
/// # Safety
/// `text` is null, or what one of them returned and nobody has freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: as this function's.
        drop(unsafe { CString::from_raw(text) });
    }
}

fn ran(scenario: &str, stack: CStack, seed: u64) -> Result<Value, String> {
    let scenario = Scenario::from_toml(scenario).map_err(|error| error.to_string())?;
    let own = Own { laws: Vec::new(), stacks: vec![Arc::new(stack)] };
    let checked = Checked::with_own(scenario, &own).map_err(|error| error.to_string())?;
    let results = run(&checked, seed, None, |_| ControlFlow::Continue(()));
    results.map(|results| shown(&results)).map_err(|error| error.to_string())
}

/// Results as JSON: rates in bit/s, shares as ratios.
fn shown(results: &Results) -> Value {
    let link = results.bottleneck();
    let flow = |flow: &narrows_scenario::FlowResult| {
        let hosted = flow.summary.hosted.as_deref();
        let ended = hosted.and_then(|ends| ends.near.ended.as_ref().or(ends.far.ended.as_ref()));
        json!({
            "cc": flow.cc,
            "goodput": flow.goodput,
            "loss_rate": flow.loss_rate,
            "mean_rtt": flow.mean_rtt,
            "completion_time": flow.completion_time,
            "ended": ended,
            "times": hosted.map(|ends| format!("{:016x}", ends.near.times)),
        })
    };
    let of_link = |link: &narrows_scenario::LinkResult| {
        json!({
            "name": link.name,
            "utilisation": link.summary.utilisation,
            "loss_rate": link.loss_rate,
            "mean_queue": link.summary.mean_queue,
            "max_queue": link.max_queue(),
            "marks": link.summary.marks,
        })
    };
    json!({
        "utilisation": link.summary.utilisation,
        "loss_rate": link.loss_rate,
        "mean_queue": link.summary.mean_queue,
        "warnings": results.warnings.lines().collect::<Vec<_>>(),
        "flows": results.flows.iter().map(flow).collect::<Vec<_>>(),
        "links": results.links.iter().map(of_link).collect::<Vec<_>>(),
    })
}
