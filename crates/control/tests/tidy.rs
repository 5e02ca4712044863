//! Reads our sources: each law cites its source and is in the registry, the vectors and the docs;
//! the core has no clock; functions fit a screen.

use narrows_control::registry::LAWS;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file below `folder`, with its text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.expect("a folder's entries can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = read(&path);
                found.push((path, text));
            }
        }
    }
    found
}

fn law_files() -> Vec<(PathBuf, String)> {
    let is_law =
        |text: &str| text.contains("impl WindowLaw for") || text.contains("impl Controller for");
    let parts = ["once_per_epoch.rs", "advertised.rs"];
    let files = sources(&root().join("crates/control/src"));
    files
        .into_iter()
        .filter(|(path, text)| is_law(text) && !parts.iter().any(|part| path.ends_with(part)))
        .collect()
}

#[test]
fn each_law_cites_the_section_or_equation_of_what_it_does() {
    for (path, text) in law_files() {
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(
            head.iter().any(|line| line.contains("| source | equation | here |")),
            "{}: no table of equations",
            path.display()
        );
        let formulas = text.split("    fn ").zip(text.split("    fn ").skip(1));
        for (before, function) in formulas.filter(|(_, f)| {
            ["increase(", "decrease(", "on_loss("].iter().any(|name| f.starts_with(name))
        }) {
            let comment: Vec<&str> = before
                .lines()
                .rev()
                .take_while(|line| line.trim_start().starts_with("///"))
                .collect();
            let cited = comment.iter().any(|line| line.contains('§') || line.contains("eq"));
            assert!(
                cited,
                "{}: fn {} cites no section",
                path.display(),
                function.lines().next().unwrap_or_default()
            );
        }
    }
}

#[test]
fn each_law_has_a_file_known_answers_and_a_page() {
    for law in LAWS {
        let file = law.name.replace('-', "_");
        for path in [
            format!("crates/control/src/{file}.rs"),
            format!("vectors/{}.toml", law.name),
            format!("docs/laws/{}.md", law.name),
        ] {
            assert!(root().join(&path).is_file(), "{}: no {path}", law.name);
        }
    }
}

#[test]
fn each_law_file_is_in_the_registry() {
    for (path, _) in law_files() {
        let name =
            path.file_stem().expect("a source has a name").to_string_lossy().replace('_', "-");
        assert!(LAWS.iter().any(|law| law.name == name), "{name} is not a law of the registry");
    }
}

#[test]
fn the_core_has_no_clock_and_no_files() {
    for room in ["units", "signal", "control", "router", "transport", "sim"] {
        for (path, text) in sources(&root().join("crates").join(room).join("src")) {
            for foreign in ["std::time", "std::fs", "std::net", "std::thread", "std::env"] {
                assert!(!text.contains(foreign), "{}: {foreign}", path.display());
            }
        }
    }
}

#[test]
fn functions_fit_a_screen() {
    const SCREEN: usize = 60;
    let begins = |line: &str| {
        line.trim_start().strip_prefix("pub ").unwrap_or(line.trim_start()).starts_with("fn ")
    };
    for (path, text) in sources(&root().join("crates"))
        .into_iter()
        .filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "target"))
    {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in
            lines.iter().enumerate().filter(|(_, line)| begins(line) && line.ends_with('{'))
        {
            let indent = &line[..line.len() - line.trim_start().len()];
            let length =
                lines[number..].iter().take_while(|later| **later != format!("{indent}}}")).count()
                    + 1;
            assert!(
                length <= SCREEN,
                "{}:{}: {length} lines; a screen has {SCREEN}",
                path.display(),
                number + 1
            );
        }
    }
}
