//! The programs that are carried as objects are those of the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// Each source of the programs with its FNV-1a, a line each, by name.
fn sources() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of = |folder: &str| fs::read_dir(here.join(folder)).expect("a folder of sources");
    let entries = of("bpf").chain(of("laws")).map(|entry| entry.expect("a source").path());
    let mut files: Vec<PathBuf> = entries.filter(|path| !path.ends_with("host.c")).collect();
    files.sort();
    let line = |path: &PathBuf| {
        let bytes = fs::read(path).expect("a source can be read");
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}  {}\n", path.strip_prefix(here).expect("within").display())
    };
    files.iter().map(line).collect()
}

/// `make objects` compiles them, and writes down of what.
#[test]
fn the_objects_are_of_these_sources() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("objects/sources.txt");
    if std::env::var_os("NARROWS_BLESS").is_some() {
        fs::write(&kept, sources()).expect("written");
    }
    let kept = fs::read_to_string(kept).expect("the list of sources");
    assert_eq!(kept, sources(), "make objects compiles the programs anew");
}
