//! The file that is received, before it has its name.

use crate::message::Offer;
use crate::source::PIECE;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with, statvfs};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
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
    There(PathBuf),
}

/// Bytes of the longest name, so that there is room for what a partial file's name adds.
const LONGEST_NAME: usize = 200;

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
        let target = directory.join(checked(&offer.name)?);
        if fs::symlink_metadata(&target).is_ok() {
            return if is_same(&target, offer, in_vain) {
                Ok(Begun::There(target))
            } else {
                Err(format!("another file is called {} here; rename one of them", offer.name))
            };
        }
        let hash =
            offer.blake3.get(..16).filter(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()));
        let hash = hash.ok_or("the offer has no hash")?;
        let path = directory.join(format!(".{}.{hash}.part", offer.name));
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
        let free = statvfs(directory).map_or(u64::MAX, |disk| disk.f_bavail * disk.f_frsize);
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
    pub(crate) fn finish(&self) -> Result<PathBuf, String> {
        let name = || -> io::Result<()> {
            self.file.sync_all()?;
            named(&self.path, &self.target)?;
            if let Some(directory) = self.target.parent() {
                File::open(directory)?.sync_all()?;
            }
            Ok(())
        };
        name()
            .map_err(|error| format!("{}: {error}; what has arrived is kept", self.offer.name))?;
        Ok(self.target.clone())
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

/// The name, if it is one and leads nowhere else.
fn checked(name: &str) -> Result<&str, String> {
    let mut components = Path::new(name).components();
    let is_one = matches!(components.next(), Some(Component::Normal(one)) if one == name)
        && components.next().is_none();
    if !is_one || name.chars().any(char::is_control) {
        return Err(format!("{name:?} is not a file's name"));
    }
    if name.len() > LONGEST_NAME {
        return Err(format!("{name:?} has {} bytes; {LONGEST_NAME} are the most", name.len()));
    }
    Ok(name)
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
            Ok(Begun::There(path)) => panic!("{} is there", path.display()),
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
        assert!(matches!(again(directory.path(), &offer), Ok(Begun::There(_))));
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
                prop_assert_eq!(path.parent(), Some(Path::new("/in")));
                prop_assert!(name != ".." && !name.contains(['/', '\0']));
            }
        }
    }
}
