//! Compiles the laws for this machine, for the tests; and with the feature `bpf`, as programs for
//! the kernel.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: [&str; 8] =
    ["bic", "etcp", "etcp_rate", "fast", "highspeed", "htcp", "ltcp", "scalable"];

fn main() {
    println!("cargo::rerun-if-changed=laws");
    println!("cargo::rerun-if-changed=bpf");
    let mut host = cc::Build::new();
    host.file("laws/host.c").warnings(true).extra_warnings(false);
    host.warnings_into_errors(true);
    // clang can stop the tests where arithmetic overflows: nothing in the laws is meant to.
    if Command::new("clang").arg("--version").output().is_ok_and(|it| it.status.success()) {
        host.compiler("clang").flag(
            "-fsanitize=unsigned-integer-overflow,unsigned-shift-base,shift,integer-divide-by-zero",
        );
        host.flag("-fsanitize-trap=all").flag("-Wno-unknown-attributes");
    }
    host.compile("laws");
    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        let include = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
        let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
        PROGRAMS.iter().for_each(|name| compile(name, &include, &out));
    }
}

fn compile(name: &str, include: &str, out: &Path) {
    let arch = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "arm64",
        Ok("riscv64") => "riscv",
        _ => "x86",
    };
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"]);
    clang.args([format!("-D__TARGET_ARCH_{arch}"), format!("-I{include}")]);
    clang.args(["-c".to_owned(), format!("bpf/{name}.bpf.c"), "-o".to_owned()]);
    clang.arg(out.join(name).with_extension("bpf.o"));
    match clang.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang could not compile bpf/{name}.bpf.c: {status}"),
        Err(error) => panic!("the feature bpf needs clang, and it cannot be run: {error}"),
    }
}
