//! What a sender must know of a receiver.

use crate::Error;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

/// Bytes of a fingerprint, and of a secret.
pub(crate) const HALF: usize = 16;

/// The fingerprint of a certificate: the first 16 bytes of its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fingerprint(pub(crate) [u8; HALF]);

/// A receiver's address, the fingerprint of its certificate, and the secret that its senders know.
/// Whoever has it may send files to that receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// `host:port`.
    pub(crate) address: String,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) secret: [u8; HALF],
}

impl Ticket {
    /// The receiver's address for the attempt of that number: a name may have several.
    ///
    /// # Errors
    /// If its name has none.
    pub(crate) fn resolved(&self, attempt: usize) -> Result<SocketAddr, Error> {
        let failed = |error| Error::Socket { address: self.address.clone(), error };
        let found: Vec<_> = self.address.to_socket_addrs().map_err(failed)?.collect();
        let none = || failed(std::io::Error::other("the name has no address"));
        found.get(attempt % found.len().max(1)).copied().ok_or_else(none)
    }
}

impl FromStr for Ticket {
    type Err = Error;

    /// Reads `host:port/` and 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, Error> {
        let parse = || {
            let (address, key) = text.trim().rsplit_once('/')?;
            let (host, port) = address.rsplit_once(':')?;
            let key: [u8; 2 * HALF] = from_hex(key)?.try_into().ok()?;
            let is_port = port.parse::<u16>().is_ok_and(|port| port != 0);
            let (fingerprint, secret) = key.split_at(HALF);
            (is_port && !host.is_empty()).then_some(Self {
                address: address.to_owned(),
                fingerprint: Fingerprint(fingerprint.try_into().ok()?),
                secret: secret.try_into().ok()?,
            })
        };
        let shown = || text.split_once('/').map_or(text.get(..40).unwrap_or(text), |(it, _)| it);
        parse().ok_or_else(|| Error::Ticket(shown().to_owned()))
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}{}", self.address, self.fingerprint, hex(&self.secret))
    }
}

/// Without the secret, as debug output ends up in logs.
impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticket({}/{}…)", self.address, self.fingerprint)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// `bytes` in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that hexadecimal digits say; `None` if `text` has anything else.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = digits?;
    let whole = pairs.len().is_multiple_of(2);
    whole.then(|| pairs.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_ticket_reads_as_it_is_written(
            key in any::<[u8; 32]>(),
            port in 1_u16..,
            host in "[a-z0-9.-]{1,20}|\\[::1\\]",
        ) {
            let written = format!("{host}:{port}/{}", hex(&key));
            let ticket: Ticket = written.parse().expect("a ticket");
            prop_assert_eq!(ticket.to_string(), written);
        }

        #[test]
        fn no_text_makes_a_ticket_panic(text in "\\PC{0,80}") {
            let _ = text.parse::<Ticket>();
        }
    }

    #[test]
    fn what_is_no_ticket_is_refused_without_its_key() {
        let key = "0".repeat(64);
        for text in [
            String::new(),
            "host".to_owned(),
            format!("host/{key}"),
            format!(":4433/{key}"),
            format!("host:0/{key}"),
            format!("host:70000/{key}"),
            format!("host:4433/{}", &key[1..]),
            format!("host:4433/{}g", &key[1..]),
        ] {
            let error = text.parse::<Ticket>().expect_err("no ticket").to_string();
            let shown = text.split('/').next().unwrap_or_default();
            assert!(error.starts_with(&format!("{shown:?} is not a ticket")), "{error}");
        }
    }

    #[test]
    fn debug_output_does_not_show_the_secret() {
        let ticket: Ticket =
            format!("host:1/{}{}", "ab".repeat(16), "cd".repeat(16)).parse().expect("a ticket");
        assert!(!format!("{ticket:?}").contains("cdcd"));
    }
}
