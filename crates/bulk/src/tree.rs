//! The files that are sent: one, or all of a directory.

use crate::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files with the names that they are to have, in order of these, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<(PathBuf, String)>,
    /// Links and what is neither a file nor a directory.
    pub(crate) left_out: Vec<PathBuf>,
    /// Whether it is a directory's.
    pub(crate) is_directory: bool,
}

impl Tree {
    /// The file at `path`, or all files of the directory there and of those below it.
    ///
    /// # Errors
    /// If there is none, a directory cannot be read, or a name is not text.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let metadata = fs::metadata(path).map_err(Error::at(path))?;
        let whole = fs::canonicalize(path).map_err(Error::at(path))?;
        // A link is called what it is called, and the working directory by its own name.
        let named = if path.file_name().is_some() { path } else { &whole };
        let name = name_of(named)?.to_owned();
        let mut tree = Self { is_directory: metadata.is_dir(), ..Self::default() };
        if metadata.is_dir() {
            tree.enter(&whole, &name)?;
        } else if metadata.is_file() {
            tree.files.push((path.to_owned(), name));
        } else {
            let why = "neither a file nor a directory";
            return Err(Error::at(path)(io::Error::other(why)));
        }
        tree.files.sort_by(|(_, one), (_, other)| one.cmp(other));
        Ok(tree)
    }

    fn enter(&mut self, directory: &Path, name: &str) -> Result<(), Error> {
        for entry in fs::read_dir(directory).map_err(Error::at(directory))? {
            let path = entry.map_err(Error::at(directory))?.path();
            let name = format!("{name}/{}", name_of(&path)?);
            let kind = fs::symlink_metadata(&path).map_err(Error::at(&path))?.file_type();
            if kind.is_dir() {
                self.enter(&path, &name)?;
            } else if kind.is_file() {
                self.files.push((path, name));
            } else {
                self.left_out.push(path);
            }
        }
        Ok(())
    }
}

fn name_of(path: &Path) -> Result<&str, Error> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| Error::at(path)(io::Error::other("its name is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_its_files_in_order_without_links() {
        let place = tempfile::tempdir().expect("a directory");
        let top = place.path().join("top");
        fs::create_dir_all(top.join("b/c")).expect("made");
        for name in ["z", "b/y", "b/c/x"] {
            fs::write(top.join(name), name).expect("written");
        }
        std::os::unix::fs::symlink("/etc/passwd", top.join("link")).expect("linked");
        std::os::unix::fs::symlink(&top, top.join("b/loop")).expect("linked");
        let tree = Tree::of(&top).expect("a tree");
        let names: Vec<&str> = tree.files.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["top/b/c/x", "top/b/y", "top/z"]);
        assert_eq!(tree.left_out.len(), 2);
        let one = Tree::of(&top.join("link")).expect("what a link leads to");
        assert_eq!(one.files[0].1, "link");
        assert!(!one.is_directory);
    }
}
