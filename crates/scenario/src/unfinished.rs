//! Files that are whole or not there: written beside, and renamed when they are finished.

use std::fs::File;
use std::io::{BufWriter, Error, Write as _};
use std::path::{Path, PathBuf};

/// A file that is being written.
pub(crate) struct Unfinished {
    beside: PathBuf,
    path: PathBuf,
}

impl Unfinished {
    /// The file that will be `path`.
    pub fn new(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!("{name}.tmp.{}", std::process::id()));
        Self { beside, path }
    }

    /// What it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is written until it is finished.
    pub fn unfinished(&self) -> &Path {
        &self.beside
    }

    /// Opens it for writing.
    pub fn create(&self) -> Result<BufWriter<File>, Error> {
        File::create(&self.beside).map(BufWriter::new)
    }

    /// Gives it its name.
    pub fn finish(&self) -> Result<(), Error> {
        std::fs::rename(&self.beside, &self.path)
    }

    /// Removes what has been written of it.
    pub fn remove(&self) {
        // It may not exist any more; then all is well.
        let _ = std::fs::remove_file(&self.beside);
    }
}

/// Writes `contents` to `path`, whole or not at all.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let file = Unfinished::new(path.to_owned());
    let mut writer = file.create()?;
    let written = writer.write_all(contents).and_then(|()| writer.flush());
    written.and_then(|()| file.finish()).inspect_err(|_| file.remove())
}
