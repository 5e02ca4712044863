//! The file that is sent.

use crate::Error;
use crate::message::Offer;
use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes read at once.
pub(crate) const PIECE: usize = 256 << 10;

/// A file, what it was when its hash was made, and how far it has been read since.
pub(crate) struct Source {
    path: PathBuf,
    file: File,
    state: (u64, Option<SystemTime>),
    pub(crate) offer: Offer,
    left: u64,
}

impl Source {
    /// Opens the file at `path` and reads it once, for its hash; it is to be called `name`.
    ///
    /// # Errors
    /// If it is not a file that can be read, or if `reading` fails, which is told bytes read and
    /// the size.
    pub(crate) fn open(
        path: &Path,
        name: &str,
        mut reading: impl FnMut(u64, u64) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let name = name.to_owned();
        // Before it is opened: opening a pipe waits for a writer.
        if !std::fs::metadata(path).map_err(Error::at(path))?.is_file() {
            return Err(Error::at(path)(std::io::Error::other("not a file any more")));
        }
        let mut file = File::open(path).map_err(Error::at(path))?;
        let metadata = file.metadata().map_err(Error::at(path))?;
        let size = metadata.len();
        let mut hasher = blake3::Hasher::new();
        let (mut piece, mut done) = (vec![0; PIECE], 0);
        while done < size {
            let read = file.read(&mut piece).map_err(Error::at(path))?;
            if read == 0 {
                return Err(Error::Changed(path.to_owned()));
            }
            let read = read.min((size - done) as usize);
            hasher.update(&piece[..read]);
            done += read as u64;
            reading(done, size)?;
        }
        let blake3 = hasher.finalize().to_hex().to_string();
        let offer = Offer { name, size, blake3 };
        Ok(Self { path: path.to_owned(), file, state: state(&metadata), offer, left: 0 })
    }

    /// Goes on from byte `from`.
    pub(crate) fn seek(&mut self, from: u64) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(from)).map_err(Error::at(&self.path))?;
        self.left = self.offer.size.saturating_sub(from);
        Ok(())
    }

    /// Bytes that have not been read since [`seek`](Self::seek).
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Adds the next bytes to `piece`, at most `most`, and returns how many; none at the end.
    ///
    /// # Errors
    /// If the file cannot be read, or is shorter than it was.
    pub(crate) fn read(&mut self, piece: &mut Vec<u8>, most: usize) -> Result<usize, Error> {
        let start = piece.len();
        piece.resize(start + self.left.min(most as u64) as usize, 0);
        let read = self.file.read(&mut piece[start..]).map_err(Error::at(&self.path))?;
        if read == 0 && self.left > 0 {
            return Err(self.changed());
        }
        piece.truncate(start + read);
        self.left -= read as u64;
        Ok(read)
    }

    /// True if the file has another size, or was written to, since its hash was made.
    pub(crate) fn has_changed(&self) -> bool {
        let now = std::fs::metadata(&self.path);
        now.map_or(true, |now| state(&now) != self.state)
    }

    pub(crate) fn changed(&self) -> Error {
        Error::Changed(self.path.clone())
    }
}

fn state(metadata: &Metadata) -> (u64, Option<SystemTime>) {
    (metadata.len(), metadata.modified().ok())
}
