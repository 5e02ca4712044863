//! Laws as WebAssembly modules: the example beside the same law in Rust, and what misbehaves.

mod ran;

use narrows_learn::{Wasm, WasmLaw};
use narrows_scenario::OwnLaw;
use ran::ran;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

type Said = Arc<Mutex<Vec<String>>>;

/// The example, compiled as it says.
fn example() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("law.wasm");
    let words = "--edition 2024 --target wasm32-unknown-unknown --crate-type cdylib -O";
    let mut rustc = Command::new("rustc");
    rustc.args(words.split(' ')).arg(root.join("examples/law.rs")).arg("-o").arg(&out);
    assert!(rustc.status().expect("rustc is there").success());
    std::fs::read(out).expect("it has been made")
}

fn law(bytes: &[u8], said: &Said) -> WasmLaw {
    let said = Arc::clone(said);
    let complain = Arc::new(move |message| said.lock().expect("one thread").push(message));
    let wasm = Wasm::new(bytes).unwrap_or_else(|error| panic!("{error}"));
    WasmLaw::new("mine".to_owned(), wasm, complain)
}

/// Packet by packet the same; each of the two flows has memory of its own.
#[test]
fn the_example_is_reno() {
    let said = Said::default();
    let example = law(&example(), &said);
    assert!(!example.hears_marks());
    let (ours, theirs) = (ran("mine", Some(example)), ran("sack", None::<WasmLaw>));
    for (ours, theirs) in ours.flows.iter().zip(&theirs.flows) {
        assert_eq!(ours.summary.sender, theirs.summary.sender);
        assert!(ours.summary.sender.sent > 10_000);
    }
    assert!(said.lock().expect("one thread").is_empty());
}

const WINDOW: &str = r#"(func (export "window") (result f64) (f64.const 10))"#;
const LOSS: &str = r#"(func (export "on_loss") (param f64 f64 f64 f64))"#;

fn module(parts: &[&str]) -> Vec<u8> {
    wat::parse_str(format!("(module {})", parts.join("\n"))).expect("it is well written")
}

#[test]
fn what_is_no_law_is_told_so() {
    let import = r#"(import "env" "open" (func (param i32)))"#;
    let escape = r#"(import "a" "\1b[31m" (func))"#;
    let start = "(func $f (loop (br 0))) (start $f)";
    let wrong = r#"(func (export "on_loss") (param f64))"#;
    for (parts, says) in [
        (vec![import, WINDOW, LOSS], "it imports env.open; a law imports nothing"),
        (vec![LOSS], "it exports no window(); a law answers its window in packets"),
        (vec![WINDOW], "it hears nothing; export on_ack, on_loss or on_interval"),
        (vec![WINDOW, wrong], "on_loss is no function of 4 64-bit floats that returns nothing"),
        (vec![start, WINDOW, LOSS], "as it begins: takes more than 1000000 steps"),
        (vec![escape, WINDOW, LOSS], "it imports a.\\u{1b}[31m; a law imports nothing"),
    ] {
        assert_eq!(Wasm::new(&module(&parts)).expect_err("it is wrong"), says);
    }
    let error = Wasm::new(b"#!/bin/sh\n").expect_err("it is none");
    assert_eq!(error, "no WebAssembly module: it does not begin with \\0asm");
    let two = module(&["(memory 1)", "(memory 1)", WINDOW, LOSS]);
    let error = Wasm::new(&two).expect_err("it has two memories");
    assert!(error.starts_with("no WebAssembly module: ") && !error.contains('\n'), "{error}");
    let large = Wasm::new(&module(&["(memory 65)", WINDOW, LOSS])).expect_err("4 MiB and more");
    assert!(large.starts_with("as it begins: "), "{large}");
    Wasm::new(&module(&["(memory 64)", WINDOW, LOSS])).expect("4 MiB");
}

/// What a module has and does not call costs no step: it is translated before.
#[test]
fn only_what_is_carried_out_counts() {
    let never = "(drop (f64.add (f64.const 1) (f64.const 2)))".repeat(8_000);
    let hears = format!(r#"(func (export "on_loss") (param f64 f64 f64 f64) return {never})"#);
    let said = Said::default();
    ran("mine", Some(law(&module(&[WINDOW, &hears]), &said)));
    assert!(said.lock().expect("one thread").is_empty());
}

/// It is said once of each connection, and the run goes on with the last window.
#[test]
fn what_a_law_may_not_do_is_said() {
    let first = r#"(func (export "on_ack") (param f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64)"#;
    let doing = |what: &str| format!("{first} {what})");
    let four = "(memory 1 4000) (func $grow (if (i32.eq (memory.grow (i32.const 64)) \
                   (i32.const -1)) (then unreachable)))";
    for (parts, says) in [
        (vec![WINDOW, &doing("(loop (br 0))")], "mine: on_ack: takes more than 100000 steps"),
        (vec![WINDOW, &doing("unreachable")], "mine: on_ack: "),
        (vec![WINDOW, four, &doing("(call $grow)")], "mine: on_ack: "),
        (vec![WINDOW, "(func $f (call $f))", &doing("(call $f)")], "mine: on_ack: "),
        (
            vec![
                "(global $w (mut f64) (f64.const 10))",
                r#"(func (export "window") (result f64) (global.get $w))"#,
                &doing("(global.set $w (f64.const nan))"),
            ],
            "mine: window became NaN, which is not from 1 to 1e7 packets",
        ),
    ] {
        let said = Said::default();
        ran("mine", Some(law(&module(&parts), &said)));
        let said = said.lock().expect("one thread");
        assert_eq!(said.len(), 2, "one for each flow: {said:?}");
        assert!(said[0].starts_with(says), "{} is not {says}", said[0]);
    }
}

/// Once an RTT it hears as much as a formula does.
#[test]
fn a_module_may_decide_once_an_rtt() {
    let columns = narrows_learn::COLUMNS.iter().filter(|name| !["window", "rate"].contains(name));
    let place =
        |wanted: &str| columns.clone().position(|name| *name == wanted).expect("it is there");
    let told = "f64 ".repeat(columns.clone().count());
    let hears = format!(
        r#"(func (export "on_interval") (param {told})
            (if (f64.gt (local.get {acked}) (f64.const 3)) (then
                (global.set $rate (f64.mul (f64.const 1.05) (local.get {delivery}))))))"#,
        acked = place("acked"),
        delivery = place("delivery_rate"),
    );
    let said = Said::default();
    let results = ran(
        "mine",
        Some(law(
            &module(&[
                "(global $rate (mut f64) (f64.const 100))",
                r#"(func (export "window") (result f64) (f64.const 100))"#,
                r#"(func (export "rate") (result f64) (global.get $rate))"#,
                r#"(func (export "own_recovery") (result f64) (f64.const 1))"#,
                &hears,
            ]),
            &said,
        )),
    );
    assert!(results.goodput > 15e6, "{}", results.goodput);
    assert!(said.lock().expect("one thread").is_empty());
}
