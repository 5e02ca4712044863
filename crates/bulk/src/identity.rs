//! Who a receiver is: its key and certificate, and the secret of its senders.

use crate::Error;
use crate::ticket::{Fingerprint, HALF, from_hex, hex};
use ring::digest;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// A receiver's key and certificate, and the secret that its senders prove to know.
#[derive(Clone)]
pub struct Identity {
    key: Vec<u8>,
    certificate: Vec<u8>,
    pub(crate) secret: [u8; HALF],
}

/// An identity in a file, in hexadecimal digits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    key: String,
    certificate: String,
    secret: String,
}

impl Identity {
    /// A new one, which nobody else has.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn fresh() -> Result<Self, Error> {
        let made = rcgen::generate_simple_self_signed([SERVER.to_owned()]);
        let made = made.map_err(|error| Error::Tls(error.to_string()))?;
        let certificate = made.cert.der().to_vec();
        Ok(Self { key: made.signing_key.serialize_der(), certificate, secret: random()? })
    }

    /// The one that the file at `path` keeps; if there is none, a new one that is kept there, for
    /// its owner's eyes only.
    ///
    /// # Errors
    /// If the file cannot be read or written, or holds something else.
    pub fn kept(path: &Path) -> Result<Self, Error> {
        match fs::read_to_string(path) {
            Ok(text) => Self::read(&text).ok_or_else(|| {
                let why = "not the identity of a receiver; remove it, and all tickets become void";
                Error::at(path)(std::io::Error::other(why))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let fresh = Self::fresh()?;
                fresh.keep(path).map_err(Error::at(path))?;
                Ok(fresh)
            }
            Err(error) => Err(Error::at(path)(error)),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let written: Written = serde_json::from_str(text).ok()?;
        Some(Self {
            key: from_hex(&written.key)?,
            certificate: from_hex(&written.certificate)?,
            secret: from_hex(&written.secret)?.try_into().ok()?,
        })
    }

    fn keep(&self, path: &Path) -> std::io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let (key, certificate) = (hex(&self.key), hex(&self.certificate));
        let written = Written { key, certificate, secret: hex(&self.secret) };
        let new = path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(serde_json::to_string(&written)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(new, path)
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.certificate)
    }

    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone().into()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.clone()))
    }

    /// By which connection IDs are told from others', also after a restart.
    pub(crate) fn connection_id_key(&self) -> u64 {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.key);
        let derived = hmac::sign(&key, b"narrows connection IDs");
        let first = derived.as_ref().first_chunk().copied().unwrap_or_default();
        u64::from_le_bytes(first)
    }

    /// Makes the tokens by which a receiver that was started again tells a sender that it knows
    /// nothing of its connection (RFC 9000, §10.3).
    pub(crate) fn reset_key(&self) -> hmac::Key {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.key);
        let derived = hmac::sign(&key, b"narrows stateless reset");
        hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
    }
}

/// The name in every receiver's certificate. It says nothing: the fingerprint counts.
pub(crate) const SERVER: &str = "narrows";

/// The fingerprint of a certificate.
pub(crate) fn fingerprint(certificate: &[u8]) -> Fingerprint {
    let digest = digest::digest(&digest::SHA256, certificate);
    let mut first = [0; HALF];
    first.copy_from_slice(&digest.as_ref()[..HALF]);
    Fingerprint(first)
}

/// Bytes from the system.
///
/// # Errors
/// If it has none.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::Tls("the system has no randomness".to_owned()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_kept_identity_is_the_same_the_next_time_and_only_its_owner_may_read_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state/recv.json");
        let [one, two] = [(); 2].map(|()| Identity::kept(&path).expect("an identity"));
        assert_eq!(one.fingerprint(), two.fingerprint());
        assert_eq!(one.secret, two.secret);
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&path, "{}").expect("written");
        let error = Identity::kept(&path).err().expect("refused").to_string();
        assert!(error.contains("not the identity of a receiver"), "{error}");
        assert_ne!(Identity::fresh().expect("one").secret, one.secret);
    }
}
