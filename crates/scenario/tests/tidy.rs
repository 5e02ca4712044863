//! Reads our sources: each law and queue cites its source and stands in registry, vectors and docs;
//! the core has no clock; functions fit a screen, and lines end before column 100.

use narrows_control::registry::LAWS;
use narrows_router::registry::QUEUES;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file below `folder`, with its text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("a folder's entries can be read").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = read(&path);
                found.push((path, text));
            }
        }
    }
    found
}

/// The text of a law or a queue: `<name>.rs`, or `<name>/mod.rs`, in `folder`; a sign that no
/// module's name may have is written out.
fn text_of(folder: &str, name: &str) -> (PathBuf, String) {
    let file = name.replace('-', "_").replace('+', "_plus");
    let folder = root().join(folder);
    let paths = [folder.join(format!("{file}.rs")), folder.join(&file).join("mod.rs")];
    let path = paths.iter().find(|path| path.is_file());
    let path = path.unwrap_or_else(|| panic!("{name}: neither {paths:?} is there"));
    (path.clone(), read(path))
}

#[test]
fn each_law_cites_the_section_or_equation_of_what_it_does() {
    for law in LAWS {
        let (path, text) = text_of("crates/control/src/laws", law.name);
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(
            head.iter().any(|line| line.contains("| source | equation | here |")),
            "{}: no table of equations",
            path.display()
        );
        let formulas = text.split("    fn ").zip(text.split("    fn ").skip(1));
        let named = ["increase(", "decrease(", "on_loss("];
        for (before, function) in
            formulas.filter(|(_, f)| named.iter().any(|name| f.starts_with(name)))
        {
            let comment: Vec<&str> = before
                .lines()
                .rev()
                .take_while(|line| line.trim_start().starts_with("///"))
                .collect();
            assert!(
                // What only Linux defines has functions in the place of sections.
                comment
                    .iter()
                    .any(|line| ["§", "eq", "net/ipv4/"].iter().any(|s| line.contains(s))),
                "{}: fn {} cites no section",
                path.display(),
                function.lines().next().unwrap_or_default()
            );
        }
    }
}

#[test]
fn each_law_has_known_answers_and_a_page_and_each_queue_a_page() {
    let pages = LAWS.iter().map(|law| format!("docs/laws/{}.md", law.name));
    let vectors = LAWS.iter().map(|law| format!("vectors/{}.toml", law.name));
    let queues = QUEUES.iter().map(|queue| format!("docs/queues/{}.md", queue.name));
    for path in pages.chain(vectors).chain(queues) {
        assert!(root().join(&path).is_file(), "there is no {path}");
    }
}

/// What each law sends against losses is drawn on its page; what these send their routers say.
#[test]
fn each_law_has_its_picture() {
    for law in LAWS.iter().filter(|law| !["ba", "gwa", "gwa-rate", "xcp"].contains(&law.name)) {
        let page = read(&root().join(format!("docs/laws/{}.md", law.name)));
        let picture = format!("responses/{}.svg", law.name);
        let is_drawn = root().join("docs/laws").join(&picture).is_file();
        assert!(is_drawn && page.contains(&picture), "{picture}: make responses, and its page");
    }
}

/// A file that nobody registered is a law that nobody can choose.
#[test]
fn each_file_of_laws_and_queues_is_registered() {
    for (folder, constant) in
        [("crates/control/src/laws", "const LAW"), ("crates/router/src/queues", ": Entry =")]
    {
        let list = read(&root().join(folder).join("mod.rs"));
        for (path, text) in sources(&root().join(folder)) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let module = if name == "mod" {
                let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
                folder.to_string_lossy().into_owned()
            } else {
                name
            };
            if text.contains(constant) {
                assert!(list.contains(&format!("    {module}::")), "{}", path.display());
            }
        }
    }
}

#[test]
fn the_core_has_no_clock_and_no_files() {
    for room in ["units", "settings", "signal", "control", "router", "transport", "sim"] {
        for (path, text) in sources(&root().join("crates").join(room).join("src")) {
            for foreign in ["std::time", "std::fs", "std::net", "std::thread", "std::env"] {
                assert!(!text.contains(foreign), "{}: {foreign}", path.display());
            }
        }
    }
}

/// True if a function begins in this line, however it is qualified.
fn begins_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(word)
    });
    words.next() == Some("fn")
}

/// How many lines the function has that begins with the first of `lines`; `None` if it has no body.
fn length(lines: &[&str]) -> Option<usize> {
    let indent = &lines[0][..lines[0].len() - lines[0].trim_start().len()];
    let signature = lines.iter().position(|line| line.ends_with(['{', ';', '}']))?;
    match lines[signature].chars().last() {
        Some(';') => None,
        Some('}') => Some(signature + 1),
        _ => {
            let closes = |line: &&str| **line == format!("{indent}}}");
            lines.iter().position(closes).map(|line| line + 1)
        }
    }
}

#[test]
fn functions_fit_a_screen() {
    const SCREEN: usize = 60;
    let mut seen = 0;
    for (path, text) in sources(&root().join("crates")) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, _) in lines.iter().enumerate().filter(|(_, line)| begins_function(line)) {
            let Some(length) = length(&lines[number..]) else { continue };
            seen += 1;
            assert!(
                length <= SCREEN,
                "{}:{}: {length} lines; a screen has {SCREEN}",
                path.display(),
                number + 1
            );
        }
    }
    assert!(seen > 1000, "of some 1600 functions only {seen} were seen");
}

/// Tables in comments cannot be wrapped, and rustfmt leaves string literals alone.
#[test]
fn lines_end_before_column_100() {
    const WIDTH: usize = 100;
    let mut long = Vec::new();
    for (path, text) in sources(&root().join("crates")) {
        for (number, line) in text.lines().enumerate() {
            let is_table = ["//! |", "/// |"].iter().any(|row| line.trim_start().starts_with(row));
            let is_text = line.trim_start().starts_with('"') || line.ends_with('\\');
            let width = line.chars().count();
            if width > WIDTH && !is_table && !is_text {
                long.push(format!("{}:{}: {width} columns", path.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Pages are read beside code. What is made (between marks, and the papers' pages) is as it comes,
/// and tables, code and pictures cannot be wrapped.
#[test]
fn pages_end_before_column_100() {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/laws", "docs/queues"] {
        let entries = fs::read_dir(root().join(folder)).expect("the folder of pages is there");
        pages.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    assert!(pages.len() > 50, "{} pages", pages.len());
    let mut long = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page can be read");
        let (mut is_code, mut is_made) = (false, false);
        for (number, line) in text.lines().enumerate() {
            let begun = line.trim_start();
            is_code ^= begun.starts_with("```");
            is_made = begun.starts_with("<!-- ") && !begun.starts_with("<!-- /")
                || is_made && !begun.starts_with("<!-- /");
            // To Sphinx such a line is a comment.
            assert!(is_code || !begun.starts_with("% "), "{}:{}", page.display(), number + 1);
            let stays = is_code || is_made || begun.starts_with('|') || begun.starts_with("![");
            if !stays && line.chars().count() > 100 {
                long.push(format!("{}:{}", page.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "over 100 columns: {}", long.join(", "));
}

/// Commits since the rule was made; a copy without their history has nothing to check.
#[test]
fn subjects_of_commits_are_short() {
    const LONGEST: usize = 60;
    const RULE: &str = "66839ba";
    let log = std::process::Command::new("git")
        .args(["log", "--format=%s", &format!("{RULE}..HEAD")])
        .current_dir(root())
        .output();
    let Some(log) = log.ok().filter(|log| log.status.success()) else { return };
    let subjects = String::from_utf8_lossy(&log.stdout).into_owned();
    let long: Vec<&str> =
        subjects.lines().filter(|subject| subject.chars().count() > LONGEST).collect();
    assert!(long.is_empty(), "over {LONGEST} characters:\n{}", long.join("\n"));
}
