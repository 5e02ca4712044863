//! The toy stack in C, compiled against the header and run against the library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo has put the library.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().expect("it is in a folder called deps").to_owned()
}

fn run(compiler: &str, flags: &[&str], name: &str) -> serde_json::Value {
    let binary = compiled(compiler, flags, "examples/toy.c", name);
    let ran = Command::new(&binary).env("LD_LIBRARY_PATH", built()).output().expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    serde_json::from_slice(&ran.stdout).expect("it prints JSON")
}

fn compiled(compiler: &str, flags: &[&str], source: &str, name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let binary = built().join(name);
    let compiled = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(here.join("include"))
        .args(flags)
        .arg(here.join(source))
        .arg("-L")
        .arg(built())
        .args(["-lnarrows", "-o"])
        .arg(&binary)
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    binary
}

/// What a stack does wrong is said with its name, and takes less than 100 MB beside a run's own.
#[test]
fn a_stack_that_misbehaves_is_stopped_with_its_name() {
    let binary = compiled("cc", &["-std=c11"], "tests/misbehaving.c", "misbehaving");
    let ran = |fault: &str| {
        let limited = format!("ulimit -v 600000; exec {} {fault}", binary.display());
        let mut shell = Command::new("sh");
        let ran = shell.args(["-c", &limited]).env("LD_LIBRARY_PATH", built()).output();
        let ran = ran.expect("it runs");
        assert!(ran.status.success(), "{fault}: {}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice::<serde_json::Value>(&ran.stdout).expect("it prints JSON")
    };
    let ended = ran("endless")["flows"][0]["ended"].to_string();
    assert!(ended.contains("toy was stopped: more than 64 MB"), "{ended}");
    let error = ran("liar")["error"].to_string();
    assert!(error.contains("toy says that 1"), "{error}");
    assert!(error.contains("have arrived there"), "{error}");
    let ended = ran("ecn")["flows"][0]["ended"].to_string();
    assert!(ended.contains("ecn is 9"), "{ended}");
    assert_eq!(ran("nothing")["flows"][0]["ended"], serde_json::Value::Null);
}

#[test]
fn a_stack_in_c_shares_a_path_with_ours_twice_alike() {
    let once = run("cc", &["-std=c11"], "toy");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    assert!(number(&once["utilisation"]) > 0.95, "{once}");
    let shares = [0, 1].map(|flow| number(&once["flows"][flow]["goodput"]) / 20e6);
    assert!(shares.iter().all(|share| *share > 0.2), "{once}");
    assert_eq!(once, run("cc", &["-std=c11"], "toy-again"));
}

/// What `toy` does with `argument`: whether it ends well, and what it prints.
fn toy(argument: &str) -> (bool, serde_json::Value) {
    let binary = compiled("cc", &["-std=c11"], "examples/toy.c", &format!("toy-{argument}"));
    let mut command = Command::new(&binary);
    let ran = command.arg(argument).env("LD_LIBRARY_PATH", built()).output().expect("it runs");
    (ran.status.success(), serde_json::from_slice(&ran.stdout).expect("it prints JSON"))
}

#[test]
fn a_stack_in_c_is_judged() {
    let (_, checks) = toy("checks");
    let ids: Vec<&str> =
        checks.as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!((ids[0], ids.last().copied(), ids.len() > 70), ("U1", Some("X8"), true));
    let (holds, row) = toy("U1");
    assert!(holds && row["rows"][0]["finding"] == "holds" && row["fails"] == 0, "{row}");
    // Its timer is a quarter of a second each time.
    let (holds, row) = toy("T1");
    assert!(!holds && row["rows"][0]["finding"] == "fails" && row["fails"] == 1, "{row}");
    // It sends on when its application is silent, as it does not ask.
    let (_, row) = toy("I1");
    assert_eq!(row["rows"][0]["finding"], "undecided", "{row}");
    let (holds, row) = toy("Q1");
    assert!(!holds && row["error"].to_string().contains("is no check"), "{row}");
}

/// Each check is a test of ctest, where there is one.
#[test]
fn ctest_runs_the_checks() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let folder = built().join("ctest");
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .output()
            .map(|ran| (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned()))
    };
    let (here, to) = (here.display().to_string(), folder.display().to_string());
    let library = format!("-DNARROWS_LIBRARY={}", built().join("libnarrows.so").display());
    if run("ctest", &["--version"]).is_err() {
        eprintln!("left out the tests of ctest: there is no cmake");
        return;
    }
    for (program, arguments) in [
        ("cmake", &["-S", &here, "-B", &to, &library][..]),
        ("cmake", &["--build", &to]),
        ("ctest", &["--test-dir", &to, "-R", "conform.(U1|U2)$"]),
    ] {
        let (well, said) = run(program, arguments).expect("it is there");
        assert!(well, "{program}: {said}");
    }
    let (well, said) = run("ctest", &["--test-dir", &to, "-R", "conform.T1$"]).expect("as above");
    assert!(!well && said.contains("1 tests failed out of 1"), "{said}");
}

#[test]
fn what_cannot_be_run_is_said() {
    unsafe_run(
        "[dumbbell]\nrate = \"1Mbps\"\nrtt = \"1ms\"\nbuffer = \"9p\"\n[[flows]]\nhost = \"mine\"",
        "flows[0].host: unknown stack \"mine\"; known: toy",
    );
    unsafe_run("duration = 3", "invalid type: integer `3`, expected a time in quotes");
}

#[expect(unsafe_code, reason = "it calls what C calls")]
fn unsafe_run(scenario: &str, says: &str) {
    use std::ffi::{CStr, CString};
    let (scenario, name) = (CString::new(scenario).expect("text"), c"toy");
    // SAFETY: both end with a zero, and there is no function.
    let said = unsafe {
        let said = narrows::narrows_run(
            scenario.as_ptr(),
            name.as_ptr(),
            Some(no_ends),
            std::ptr::null_mut(),
            1,
        );
        let text = CStr::from_ptr(said).to_string_lossy().into_owned();
        narrows::narrows_free(said);
        text
    };
    assert!(said.replace('\\', "").contains(says), "{said}");
}

#[expect(unsafe_code, reason = "it is called as C's functions are")]
unsafe extern "C" fn no_ends(
    _: *mut std::ffi::c_void,
    _: u64,
    _: u64,
    _: *mut narrows::Described,
    _: *mut narrows::Described,
) -> std::ffi::c_int {
    -1
}
