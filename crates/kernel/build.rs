//! Compiles the laws for this machine, for the tests; and, if NARROWS_OBJECTS names a folder, as
//! programs for the kernel into it.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

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
    // The programs are carried as objects, which libbpf fits to the kernel that it finds (CO-RE):
    // who builds narrows needs no clang. `make objects` compiles them anew.
    println!("cargo::rerun-if-env-changed=NARROWS_OBJECTS");
    if let Some(folder) = env::var_os("NARROWS_OBJECTS") {
        let include = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
        for source in fs::read_dir("bpf").expect("it is there").map(|it| it.expect("it is read")) {
            let file = source.file_name().to_string_lossy().into_owned();
            if let Some(name) = file.strip_suffix(".bpf.c") {
                compile(name, &include, Path::new(&folder));
            }
        }
    }
}

fn compile(name: &str, include: &str, out: &Path) {
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"]);
    // No program reads a processor's registers, so that the architecture does not matter; the paths
    // of whoever compiled them do not either.
    clang.args(["-D__TARGET_ARCH_x86", "-fdebug-prefix-map=..=."]);
    clang.arg(format!("-I{include}"));
    clang.args(["-c".to_owned(), format!("bpf/{name}.bpf.c"), "-o".to_owned()]);
    let object = out.join(name).with_extension("bpf.o");
    clang.arg(&object);
    run(&mut clang);
    // What libbpf reads is BTF; DWARF is twenty times as much.
    run(Command::new("llvm-strip").arg("-g").arg(&object));
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?}: {status}"),
        Err(error) => panic!("{command:?}: {error}"),
    }
}
