//! Laws as WebAssembly modules: safe to run, whoever wrote them, the same bits everywhere, in any
//! language that compiles to them.
//!
//! A module imports nothing, so it can reach nothing. It exports functions of 64-bit floats:
//!
//! | export | |
//! |---|---|
//! | `begin(initial_window)` | a connection begins; may be left out |
//! | `on_ack(…)`, `on_loss(…)`, `on_interval(…)` | what the events say, in order; at least one |
//! | `window()`, `rate()`, `ssthresh()` | what it answers after each; `window` must be there |
//! | `own_recovery()`, `hears_marks()` | 1 if its window decides in a recovery, if it answers marks |
//!
//! Each connection has an instance, memory and all, of its own; a call that takes too many steps
//! is the law's failure.

use crate::told::{ANSWERS, Answered, Complain, Event, OF_ACK, OF_LOSS, Seated, Told, of_interval};
use narrows_control::Controller;
use narrows_control::registry::Birth;
use narrows_scenario::OwnLaw;
use narrows_units::text::plain;
use std::fmt;
use wasmi::{
    CompilationMode, Config, Engine, Error, ExternType, Func, FuncType, Linker, Module, Store,
    StoreLimits, StoreLimitsBuilder, TrapCode, Val, ValType,
};

/// Instructions of one call, at most.
const STEPS: u64 = 100_000;
/// And of all that it does as it begins, in which memory may grow: 64 bytes are a step.
const STEPS_AT_FIRST: u64 = 1_000_000;
/// Bytes of memory of a connection, at most.
const MEMORY: usize = 4 << 20;
/// What its table may hold, which functions that are called by number are in.
const TABLE: usize = 10_000;
/// What every module begins with.
const MAGIC: &[u8] = b"\0asm";
/// What may be told.
const EVENTS: [Event; 3] = [Event::Ack, Event::Loss, Event::Interval];
const BEGIN: &str = "begin";
const OWN_RECOVERY: &str = "own_recovery";
const HEARS_MARKS: &str = "hears_marks";

/// The export that is told of an event, and of how many numbers.
fn export_of(event: Event) -> (&'static str, usize) {
    match event {
        Event::Ack => ("on_ack", OF_ACK.len()),
        Event::Loss => ("on_loss", OF_LOSS.len()),
        Event::Interval => ("on_interval", of_interval().count()),
    }
}

/// A law as a module.
#[derive(Clone)]
pub struct Wasm {
    module: Module,
    own_recovery: bool,
    hears_marks: bool,
}

impl fmt::Debug for Wasm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wasm").finish_non_exhaustive()
    }
}

impl Wasm {
    /// Reads a module. Fails if it is none, asks for anything, or lacks what a law exports; the
    /// error says what would have been right.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        if !bytes.starts_with(MAGIC) {
            return Err("no WebAssembly module: it does not begin with \\0asm".to_owned());
        }
        let mut config = Config::default();
        // What is translated when it is first called would count as steps of that call.
        config.consume_fuel(true).compilation_mode(CompilationMode::Eager).wasm_multi_memory(false);
        let module = Module::new(&Engine::new(&config), bytes);
        let module =
            module.map_err(|error| format!("no WebAssembly module: {}", first_line(&error)))?;
        check(&module)?;
        let mut wasm = Self { module, own_recovery: false, hears_marks: false };
        let mut instance = wasm.instance()?;
        wasm.own_recovery = instance.says(OWN_RECOVERY)?;
        wasm.hears_marks = instance.says(HEARS_MARKS)?;
        Ok(wasm)
    }

    fn instance(&self) -> Result<Instance, String> {
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY).memories(1);
        let limits = limits.table_elements(TABLE).tables(1).instances(1).build();
        let mut store = Store::new(self.module.engine(), limits);
        store.limiter(|limits| limits);
        store.set_fuel(STEPS_AT_FIRST).map_err(|error| told(&error, STEPS_AT_FIRST))?;
        let linker = Linker::new(self.module.engine());
        let exports = linker.instantiate_and_start(&mut store, &self.module);
        let exports =
            exports.map_err(|error| format!("as it begins: {}", told(&error, STEPS_AT_FIRST)))?;
        let func = |name: &str| exports.get_func(&store, name);
        let hears = EVENTS.map(|event| func(export_of(event).0));
        let answers = ANSWERS.map(func);
        Ok(Instance { store, exports, hears, answers, said: Vec::new() })
    }
}

/// Fails unless a module is a law that asks for nothing.
fn check(module: &Module) -> Result<(), String> {
    if let Some(import) = module.imports().next() {
        let name = format!("{}.{}", import.module(), import.name());
        return Err(format!("it imports {}; a law imports nothing", plain(&name)));
    }
    let takes = |name: &str, numbers: usize, answers: &[ValType]| {
        let Some(found) = module.get_export(name) else { return Ok(false) };
        let right = FuncType::new(vec![ValType::F64; numbers], answers.iter().copied());
        match found {
            ExternType::Func(found) if found == right => Ok(true),
            _ => Err(format!(
                "{name} is no function of {numbers} 64-bit floats that returns {}",
                if answers.is_empty() { "nothing" } else { "one" }
            )),
        }
    };
    takes(BEGIN, 1, &[])?;
    let mut hears = false;
    for (name, numbers) in EVENTS.map(export_of) {
        hears |= takes(name, numbers, &[])?;
    }
    for name in ANSWERS.into_iter().chain([OWN_RECOVERY, HEARS_MARKS]) {
        let is_there = takes(name, 0, &[ValType::F64])?;
        if name == ANSWERS[0] && !is_there {
            return Err("it exports no window(); a law answers its window in packets".into());
        }
    }
    if hears {
        Ok(())
    } else {
        Err("it hears nothing; export on_ack, on_loss or on_interval".into())
    }
}

/// What an error of a module says that had so many steps.
fn told(error: &Error, steps: u64) -> String {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => format!("takes more than {steps} steps"),
        Some(trap) => trap.trap_message().to_owned(),
        None => first_line(error),
    }
}

/// The first line of what an error says, in which a module may have its say.
fn first_line(error: &Error) -> String {
    plain(error.to_string().lines().next().unwrap_or_default())
}

/// A module with a name, by which flows call it.
pub struct WasmLaw {
    name: String,
    wasm: Wasm,
    complain: Complain,
}

impl WasmLaw {
    /// The law called `name`, whose failures `complain` hears.
    pub fn new(name: String, wasm: Wasm, complain: Complain) -> Self {
        Self { name, wasm, complain }
    }
}

impl OwnLaw for WasmLaw {
    fn name(&self) -> &str {
        &self.name
    }

    fn hears_marks(&self) -> bool {
        self.wasm.hears_marks
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        let mut law = Running { instance: self.wasm.instance(), own: self.wasm.own_recovery };
        let first = law.begin(birth.initial_window);
        Box::new(Seated::new(law, &self.name, &self.complain, birth, first))
    }
}

/// One connection's, unless it could not begin.
struct Running {
    instance: Result<Instance, String>,
    own: bool,
}

struct Instance {
    store: Store<StoreLimits>,
    exports: wasmi::Instance,
    /// What events are told to, in the order of [`EVENTS`].
    hears: [Option<Func>; EVENTS.len()],
    /// What answers, in the order of [`ANSWERS`].
    answers: [Option<Func>; ANSWERS.len()],
    /// Numbers of a call, whose memory is kept.
    said: Vec<Val>,
}

impl Instance {
    /// Calls what is there, with as many steps as one call has.
    fn call(&mut self, name: &str, func: Option<Func>, numbers: &[f64]) -> Result<(), String> {
        let Some(func) = func else { return Ok(()) };
        self.said.clear();
        self.said.extend(numbers.iter().map(|number| Val::F64((*number).into())));
        self.store.set_fuel(STEPS).map_err(|error| told(&error, STEPS))?;
        let called = func.call(&mut self.store, &self.said, &mut []);
        called.map_err(|error| format!("{name}: {}", told(&error, STEPS)))
    }

    /// What `func` answers; `otherwise` if it is not there.
    fn asked(&mut self, name: &str, func: Option<Func>, otherwise: f64) -> Result<f64, String> {
        let Some(func) = func else { return Ok(otherwise) };
        let mut answer = [Val::F64(0.0.into())];
        self.store.set_fuel(STEPS).map_err(|error| told(&error, STEPS))?;
        let called = func.call(&mut self.store, &[], &mut answer);
        called.map_err(|error| format!("{name}: {}", told(&error, STEPS)))?;
        Ok(answer[0].f64().map_or(otherwise, f64::from))
    }

    fn answers(&mut self) -> Answered {
        let otherwise = [f64::NAN, 0.0, f64::INFINITY];
        let mut all = otherwise;
        for (place, name) in ANSWERS.into_iter().enumerate() {
            all[place] = self.asked(name, self.answers[place], otherwise[place])?;
        }
        Ok(all)
    }

    /// Whether it says so of itself.
    fn says(&mut self, name: &str) -> Result<bool, String> {
        let func = self.exports.get_func(&self.store, name);
        Ok(self.asked(name, func, 0.0)? != 0.0)
    }
}

impl Running {
    fn begin(&mut self, initial_window: f64) -> Answered {
        let instance = self.instance.as_mut().map_err(|error| error.clone())?;
        let begin = instance.exports.get_func(&instance.store, BEGIN);
        instance.call(BEGIN, begin, &[initial_window])?;
        instance.answers()
    }
}

impl Told for Running {
    fn hears(&self, event: Event) -> bool {
        self.instance.as_ref().is_ok_and(|instance| instance.hears[event as usize].is_some())
    }

    fn tell(&mut self, event: Event, numbers: &[f64]) -> Answered {
        let instance = self.instance.as_mut().map_err(|error| error.clone())?;
        instance.call(export_of(event).0, instance.hears[event as usize], numbers)?;
        instance.answers()
    }

    fn own_recovery(&self) -> bool {
        self.own
    }
}
