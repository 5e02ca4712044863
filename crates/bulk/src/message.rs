//! What the two sides say on their stream: JSON behind its length in four bytes; of a sender bytes
//! of its files, too, behind their number with the highest bit set.

use crate::Error;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes of the longest message.
const LONGEST: usize = 16 << 10;

/// A file that a sender has. Several are offered one after the other, ahead of what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// Name of the file; of one in a directory its path from there, with slashes.
    pub(crate) name: String,
    /// Bytes.
    pub(crate) size: u64,
    /// Its hash, in hexadecimal digits.
    pub(crate) blake3: String,
}

/// What a receiver answers. Each offer has one of `From`, `There` and `Not`, in the order of
/// offers, and each `From` a `Done`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// Send it from this byte on: I have what is before it.
    From(u64),
    /// The very file is there.
    There,
    /// Not this one, and why.
    Not(String),
    /// I hold this many bytes of the file that is being sent.
    Kept(u64),
    /// I am at work.
    Working,
    /// The next file is whole and has its name.
    Done,
    /// All files that were offered have been answered.
    All,
    /// No more, and why.
    Refused(String),
}

/// What a sender says.
#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    /// A file that it has.
    Offer(Offer),
    /// Bytes of the first file that was asked for and is not whole.
    Bytes(usize),
}

/// Marks bytes of a file in what tells their number.
const BYTES: u32 = 1 << 31;
/// Bytes of a file behind one number.
pub(crate) const CHUNK: usize = 64 << 10;

/// What stands before `count` bytes of a file, at most [`CHUNK`].
pub(crate) fn bytes_follow(count: usize) -> [u8; 4] {
    (count as u32 | BYTES).to_be_bytes()
}

/// A message as it is sent.
pub(crate) fn frame(message: &impl Serialize) -> Vec<u8> {
    let body = serde_json::to_vec(message).expect("messages have no keys but text");
    let mut frame = (body.len() as u32).to_be_bytes().to_vec();
    frame.extend(body);
    frame
}

/// What has arrived and has not been heeded.
#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    at: usize,
}

impl Inbox {
    /// One that begins with `bytes`.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where to add what arrives.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..std::mem::take(&mut self.at));
        &mut self.bytes
    }

    /// What has not been heeded.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// The first `count` bytes have been heeded.
    pub(crate) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// What the sender says next; `None` until it is whole. Bytes of a file are those at the front.
    ///
    /// # Errors
    /// If it is none of this protocol's.
    pub(crate) fn said(&mut self) -> Result<Option<Said>, Error> {
        let Some((head, _)) = self.rest().split_first_chunk::<4>() else { return Ok(None) };
        let head = u32::from_be_bytes(*head);
        if head & BYTES == 0 {
            return Ok(self.next()?.map(Said::Offer));
        }
        let count = (head & !BYTES) as usize;
        if count > CHUNK {
            return Err(strange());
        }
        self.skip(4);
        Ok(Some(Said::Bytes(count)))
    }

    /// The next message; `None` until it is whole.
    ///
    /// # Errors
    /// If it is none of this protocol's.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        let Some((length, rest)) = self.rest().split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > LONGEST {
            return Err(strange());
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(body).map_err(|_| strange())?;
        self.skip(4 + length);
        Ok(Some(message))
    }
}

/// What is said of anything else.
pub(crate) fn strange() -> Error {
    Error::Refused("something that is not this protocol".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_arrive_whole_whatever_the_pieces(
            name in "\\PC{0,40}",
            size: u64,
            cut in 1_usize..200,
        ) {
            let offers = [size, 0].map(|size| Offer {
                name: name.clone(), size, blake3: "00".to_owned(),
            });
            let bytes: Vec<u8> = offers.iter().flat_map(frame).collect();
            let (mut inbox, mut seen) = (Inbox::default(), Vec::new());
            for piece in bytes.chunks(cut) {
                inbox.room().extend_from_slice(piece);
                while let Some(offer) = inbox.next::<Offer>().expect("messages") {
                    seen.push(offer);
                }
            }
            prop_assert_eq!(&seen[..], &offers[..]);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Inbox::new(bytes.clone()).next::<Reply>();
            let _ = Inbox::new(bytes).said();
        }
    }
}
