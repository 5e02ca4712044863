//! What the two sides say on their stream: JSON behind its length in four bytes, and the file.

use crate::Error;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes of the longest message.
const LONGEST: usize = 4096;

/// What a sender has, behind its proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// Name of the file, without a directory.
    pub(crate) name: String,
    /// Bytes.
    pub(crate) size: u64,
    /// Its hash, in hexadecimal digits.
    pub(crate) blake3: String,
}

/// What a receiver answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// Send from this byte on: I have what is before it.
    From(u64),
    /// I hold this many bytes.
    Kept(u64),
    /// The file is whole and has its name.
    Done,
    /// No, and why.
    Refused(String),
}

/// A message as it is sent.
pub(crate) fn frame(message: &impl Serialize) -> Vec<u8> {
    let body = serde_json::to_vec(message).expect("messages have no keys but text");
    let mut frame = (body.len() as u32).to_be_bytes().to_vec();
    frame.extend(body);
    frame
}

/// What has arrived of messages.
#[derive(Default)]
pub(crate) struct Inbox(pub(crate) Vec<u8>);

impl Inbox {
    /// The next message; `None` until it is whole.
    ///
    /// # Errors
    /// If it is none of this protocol's.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        let strange = || Error::Refused("something that is not this protocol".to_owned());
        let Some((length, rest)) = self.0.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > LONGEST {
            return Err(strange());
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(body).map_err(|_| strange())?;
        self.0.drain(..4 + length);
        Ok(Some(message))
    }
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
                inbox.0.extend_from_slice(piece);
                while let Some(offer) = inbox.next::<Offer>().expect("messages") {
                    seen.push(offer);
                }
            }
            prop_assert_eq!(&seen[..], &offers[..]);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Inbox(bytes).next::<Reply>();
        }
    }
}
