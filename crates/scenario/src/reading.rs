//! Reads the files that a scenario names.

use std::fs::File;
use std::io::Read as _;

/// The largest file, in bytes: a hundred million opportunities are not meant.
const LARGEST: u64 = 256 << 20;

/// The text of the file called `name`, which should have `what`; why it cannot be had otherwise.
pub(crate) fn read_text(name: &str, what: &str) -> Result<String, String> {
    let wrong = |why: &dyn std::fmt::Display| {
        format!("\"{name}\" cannot be read ({why}); name a file of {what}")
    };
    let file = File::open(name).map_err(|error| wrong(&error))?;
    let metadata = file.metadata().map_err(|error| wrong(&error))?;
    // A pipe may never end.
    if !metadata.is_file() {
        return Err(wrong(&"it is no plain file"));
    }
    if metadata.len() > LARGEST {
        return Err(wrong(&format!("it has more than {} MB", LARGEST >> 20)));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_read() {
        for name in ["/dev/zero", "/", "nowhere"] {
            let error = read_text(name, "lines").expect_err(name);
            assert!(error.contains("cannot be read") && error.contains("lines"), "{error}");
        }
    }
}
