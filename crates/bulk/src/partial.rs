//! The file that is received, before it has its name.

use crate::message::Offer;
use crate::source::PIECE;
use narrows_units::text;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with, statvfs};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What has arrived of a file, kept beside the place that it will have.
pub(crate) struct Partial {
    file: File,
    path: PathBuf,
    target: PathBuf,
    hasher: blake3::Hasher,
    kept: u64,
    offer: Offer,
}

/// What becomes of an offer.
pub(crate) enum Begun {
    /// It goes on from what is kept.
    At(Box<Partial>),
    /// The very file is there.
    There,
}

/// Threads that bring files to the disk.
const FINISHERS: usize = 16;
/// Bytes of the longest name, so that there is room for what a partial file's name adds.
const LONGEST_NAME: usize = 200;
/// The most directories within each other, and the file.
const DEEPEST: usize = 64;

impl Partial {
    /// Begins, or goes on with, the offered file in `directory`.
    ///
    /// # Errors
    /// With a text for the sender: if the name is not one, another file has it, another receiver is
    /// at it, there is not enough space, or the directory cannot be written to.
    pub(crate) fn begin(
        directory: &Path,
        offer: &Offer,
        in_vain: &AtomicBool,
    ) -> Result<Begun, String> {
        let name = checked(&offer.name)?;
        let target = directory.join(name);
        let directory = made_within(directory, name)?;
        let last = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if fs::symlink_metadata(&target).is_ok() {
            return if is_same(&target, offer, in_vain) {
                Ok(Begun::There)
            } else {
                Err(format!("another file is called {} here; rename one of them", offer.name))
            };
        }
        let hash =
            offer.blake3.get(..16).filter(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()));
        let hash = hash.ok_or("the offer has no hash")?;
        let path = directory.join(format!(".{last}.{hash}.part"));
        let failed = |error: io::Error| format!("{}: {error}", offer.name);
        let mut file = opened(&path).map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => format!("{} is being received already", offer.name),
            TryLockError::Error(error) => failed(error),
        })?;
        let mut hasher = blake3::Hasher::new();
        let kept = hashed(&mut file, &mut hasher, offer.size, in_vain).map_err(failed)?;
        file.set_len(kept).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let left = offer.size - kept;
        let free = statvfs(&directory).map_or(u64::MAX, |disk| disk.f_bavail * disk.f_frsize);
        if left > free {
            return Err(format!(
                "{} needs {left} bytes more and the disk has {free}; make room and send again",
                offer.name
            ));
        }
        Ok(Begun::At(Box::new(Self { file, path, target, hasher, kept, offer: offer.clone() })))
    }

    /// Bytes that are kept.
    pub(crate) fn kept(&self) -> u64 {
        self.kept
    }

    /// What was offered.
    pub(crate) fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Bytes that are missing.
    pub(crate) fn left(&self) -> u64 {
        self.offer.size - self.kept
    }

    /// Keeps `bytes`, of which no more than are missing count.
    ///
    /// # Errors
    /// With a text for both sides, if the disk is full or fails; what was kept stays.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> Result<(), String> {
        let bytes = &bytes[..bytes.len().min(usize::try_from(self.left()).unwrap_or(usize::MAX))];
        self.file.write_all(bytes).map_err(|error| {
            let (name, size) = (&self.offer.name, self.offer.size);
            // A part of `bytes` may have been written, and is not counted.
            let _ = self.file.set_len(self.kept);
            format!("{name}: {error} at {} of {size} bytes, which are kept; send again", self.kept)
        })?;
        self.hasher.update(bytes);
        self.kept += bytes.len() as u64;
        Ok(())
    }

    /// True if what has arrived has the offered hash. If not, it is removed: no attempt could go on
    /// from it.
    pub(crate) fn is_right(&self) -> bool {
        let is_right = self.hasher.finalize().to_hex().as_str() == self.offer.blake3;
        if !is_right {
            self.remove();
        }
        is_right
    }

    /// Removes what has arrived, if the file system lets us.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Brings everything to the disk and gives the file its name, which it returns.
    ///
    /// # Errors
    /// With a text for both sides, if the disk fails or another file has got the name meanwhile.
    fn finish(&self) -> Result<PathBuf, String> {
        let name = || -> io::Result<()> {
            self.file.sync_all()?;
            named(&self.path, &self.target)
        };
        name()
            .map_err(|error| format!("{}: {error}; what has arrived is kept", self.offer.name))?;
        Ok(self.target.clone())
    }

    /// Finishes each of `partials`, several at a time, because a disk brings many files to rest as
    /// fast as one.
    pub(crate) fn finish_all(partials: &[Self]) -> Vec<Result<PathBuf, String>> {
        let each = partials.len().div_ceil(FINISHERS).max(1);
        let mut finished: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = partials
                .chunks(each)
                .map(|part| scope.spawn(|| part.iter().map(|it| it.finish()).collect::<Vec<_>>()))
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| {
                    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        let directories: BTreeSet<&Path> =
            partials.iter().filter_map(|partial| partial.target.parent()).collect();
        for directory in directories {
            if let Err(error) = File::open(directory).and_then(|it| it.sync_all())
                && let Some(last) = finished.last_mut()
            {
                *last = Err(format!("{}: {error}", directory.display()));
            }
        }
        finished
    }
}

/// Opens the partial file at `path`, made if need be for its owner's eyes only. Whoever else may
/// write to the directory must not lead us to another file.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file =
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.nlink() == 1 {
        Ok(file)
    } else {
        Err(io::Error::other(format!("{} is not a file of its own", path.display())))
    }
}

/// Gives the file at `path` the name `target`, unless another one has it.
fn named(path: &Path, target: &Path) -> io::Result<()> {
    match renameat_with(CWD, path, CWD, target, RenameFlags::NOREPLACE) {
        // Not every file system knows that flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(path, target)?;
            fs::remove_file(path)
        }
        renamed => Ok(renamed?),
    }
}

/// The path from the receiver's directory, if it is one and leads nowhere else.
///
/// A hidden file in a home directory is obeyed at the next login, and a name with a hyphen by the
/// next command with a `*`; what makes a name look like another is for nobody's good.
pub(crate) fn checked(name: &str) -> Result<&Path, String> {
    let path = Path::new(name);
    let parts: Vec<&str> = name.split('/').collect();
    let is_one = |part: &&str| {
        let mut components = Path::new(part).components();
        matches!(components.next(), Some(Component::Normal(one)) if one == *part)
            && components.next().is_none()
    };
    let wrong = if !parts.iter().all(is_one) || parts.len() > DEEPEST {
        Some("is not a file's name".to_owned())
    } else if name.contains(text::is_obeyed) {
        Some("has a control or invisible character".to_owned())
    } else if name.starts_with('.') {
        Some("is hidden, and a receiver takes no such file; rename it".to_owned())
    } else if parts.iter().any(|part| part.starts_with('-')) {
        Some("begins with a hyphen, which commands take for an option; rename it".to_owned())
    } else {
        parts
            .iter()
            .find(|part| part.len() > LONGEST_NAME)
            .map(|long| format!("has {} bytes; {LONGEST_NAME} are the most", long.len()))
    };
    wrong.map_or(Ok(path), |why| Err(format!("{name:?} {why}")))
}

/// The directory of `name` below `directory`, made if need be. A link on the way is not followed.
fn made_within(directory: &Path, name: &Path) -> Result<PathBuf, String> {
    let mut place = directory.to_owned();
    for part in name.parent().into_iter().flat_map(Path::components) {
        place.push(part);
        let failed = |error: io::Error| format!("{}: {error}", place.display());
        match fs::symlink_metadata(&place) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return Err(format!("{} is there and not a directory", place.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().mode(0o700).create(&place).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(place)
}

fn is_same(path: &Path, offer: &Offer, in_vain: &AtomicBool) -> bool {
    let hash = || -> io::Result<bool> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() || metadata.len() != offer.size {
            return Ok(false);
        }
        let mut hasher = blake3::Hasher::new();
        hashed(&mut File::open(path)?, &mut hasher, offer.size, in_vain)?;
        Ok(hasher.finalize().to_hex().as_str() == offer.blake3)
    };
    hash().unwrap_or(false)
}

/// Hashes at most `most` bytes of `file`, and returns how many there were. Fails if it is in vain.
fn hashed(
    file: &mut File,
    hasher: &mut blake3::Hasher,
    most: u64,
    in_vain: &AtomicBool,
) -> io::Result<u64> {
    let (mut reader, mut piece, mut all) = (file.take(most), vec![0; PIECE], 0);
    loop {
        if in_vain.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match reader.read(&mut piece)? {
            0 => return Ok(all),
            read => {
                hasher.update(&piece[..read]);
                all += read as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer(name: &str, bytes: &[u8]) -> Offer {
        let blake3 = blake3::hash(bytes).to_hex().to_string();
        Offer { name: name.to_owned(), size: bytes.len() as u64, blake3 }
    }

    fn again(directory: &Path, offer: &Offer) -> Result<Begun, String> {
        Partial::begin(directory, offer, &AtomicBool::new(false))
    }

    fn begun(directory: &Path, offer: &Offer) -> Box<Partial> {
        match again(directory, offer) {
            Ok(Begun::At(partial)) => partial,
            Ok(Begun::There) => panic!("it is there"),
            Err(why) => panic!("{why}"),
        }
    }

    #[test]
    fn what_was_kept_is_gone_on_from_and_the_name_comes_last() {
        let directory = tempfile::tempdir().expect("a directory");
        let offer = offer("a", b"abcdef");
        begun(directory.path(), &offer).keep(b"abc").expect("kept");
        assert!(!directory.path().join("a").exists());
        let mut second = begun(directory.path(), &offer);
        assert_eq!(second.kept(), 3);
        second.keep(b"def and more").expect("kept");
        assert!(second.is_right());
        let path = second.finish().expect("finished");
        assert_eq!(fs::read(path).expect("a file"), b"abcdef");
        assert!(matches!(again(directory.path(), &offer), Ok(Begun::There)));
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }

    #[test]
    fn other_bytes_are_found_out_and_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut partial = begun(directory.path(), &offer("a", b"abc"));
        partial.keep(b"abd").expect("kept");
        assert!(!partial.is_right());
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn another_file_is_not_replaced_even_if_it_comes_late() {
        let directory = tempfile::tempdir().expect("a directory");
        let offer = offer("a", b"abc");
        let mut partial = begun(directory.path(), &offer);
        partial.keep(b"abc").expect("kept");
        fs::write(directory.path().join("a"), "mine").expect("written");
        assert!(partial.finish().is_err_and(|why| why.contains("what has arrived is kept")));
        let error = again(directory.path(), &offer).err().expect("refused");
        assert!(error.starts_with("another file is called a here"), "{error}");
        assert_eq!(fs::read(directory.path().join("a")).expect("a file"), b"mine");
    }

    #[test]
    fn a_planted_link_leads_nowhere() {
        let directory = tempfile::tempdir().expect("a directory");
        let (offer, other) = (offer("a", b"abc"), directory.path().join("other"));
        fs::write(&other, "mine").expect("written");
        let part = directory.path().join(format!(".a.{}.part", &offer.blake3[..16]));
        std::os::unix::fs::symlink(&other, &part).expect("linked");
        assert!(again(directory.path(), &offer).is_err());
        fs::remove_file(&part).expect("removed");
        fs::hard_link(&other, &part).expect("linked");
        assert!(again(directory.path(), &offer).is_err());
        assert_eq!(fs::read(&other).expect("a file"), b"mine");
        fs::remove_file(&part).expect("removed");
        std::os::unix::fs::symlink("nowhere", directory.path().join("a")).expect("linked");
        assert!(again(directory.path(), &offer).is_err());
    }

    #[test]
    fn names_that_are_obeyed_somewhere_are_refused() {
        for name in [
            ".bashrc",
            ".ssh/authorized_keys",
            "-rf",
            "a/--help",
            "a/../b",
            "a//b",
            "/a",
            "a/",
            "..",
            "a\u{202e}b",
            "a\u{200b}",
            "\u{feff}a",
            "a\u{2028}b",
            "a\u{1b}[31m",
            "",
        ] {
            assert!(checked(name).is_err(), "{name:?}");
        }
        for name in ["a", "a/.gitignore", "größe/b c", "a.b/c", "a-b/c"] {
            assert!(checked(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn a_tree_is_made_below_the_directory_and_follows_no_link() {
        let (directory, outside) =
            [(); 2].map(|()| tempfile::tempdir().expect("a directory")).into();
        let deep = offer("tree/sub/a", b"abc");
        let mut partial = begun(directory.path(), &deep);
        partial.keep(b"abc").expect("kept");
        partial.finish().expect("finished");
        assert_eq!(fs::read(directory.path().join("tree/sub/a")).expect("a file"), b"abc");
        let link = directory.path().join("tree/link");
        std::os::unix::fs::symlink(outside.path(), &link).expect("linked");
        let error = again(directory.path(), &offer("tree/link/a", b"abc")).err().expect("refused");
        assert!(error.contains("not a directory"), "{error}");
        assert_eq!(fs::read_dir(outside.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn two_receivers_are_not_at_the_same_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let offer = offer("a", b"abc");
        let _first = begun(directory.path(), &offer);
        let error = again(directory.path(), &offer).err().expect("refused");
        assert_eq!(error, "a is being received already");
    }

    #[test]
    fn a_disk_that_is_too_small_is_said_before_anything_is_sent() {
        let directory = tempfile::tempdir().expect("a directory");
        let offer = Offer { size: 1 << 60, ..offer("a", b"") };
        let error = again(directory.path(), &offer).err().expect("refused");
        assert!(error.contains("and the disk has"), "{error}");
    }

    proptest! {
        #[test]
        fn a_name_leads_nowhere_else(name in "[a./\\\\\\x00~-]{0,8}|\\PC{0,12}") {
            if checked(&name).is_ok() {
                let path = Path::new("/in").join(&name);
                prop_assert!(path.starts_with("/in") && path != Path::new("/in"));
                prop_assert!(path.components().all(|part| part != Component::ParentDir));
                prop_assert!(!name.contains('\0') && !name.starts_with(['.', '-', '/']));
            }
        }
    }
}
