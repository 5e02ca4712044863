//! TLS 1.3 by rustls and ring: the receiver's certificate is pinned, the sender proves a secret.

use crate::Error;
use crate::identity::{Identity, fingerprint};
use crate::ticket::{Fingerprint, HALF};
use ring::hmac;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme,
};
use std::sync::{Arc, Mutex};

/// The protocol of this crate, which both sides must speak.
const PROTOCOL: &[u8] = b"narrows-bulk/2";
/// What TLS derives the sender's proof from (RFC 8446, §7.5).
const PROOF_LABEL: &[u8] = b"EXPORTER-narrows-bulk";

/// A receiver's configuration.
pub(crate) fn server(identity: &Identity) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate()], identity.key())
        .map_err(refused)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

/// A sender's configuration, which goes on with one certificate only; and where another one's
/// fingerprint is put.
pub(crate) fn client(expected: Fingerprint) -> Result<(ClientConfig, Found), Error> {
    let provider = Arc::new(provider::default_provider());
    let found = Found::default();
    let pinned = Pinned { expected, found: found.clone(), provider: Arc::clone(&provider) };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok((config, found))
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes errors by value")]
fn refused(error: rustls::Error) -> Error {
    Error::Tls(error.to_string())
}

/// The fingerprint of a certificate that was not the expected one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found(Arc<Mutex<Option<Fingerprint>>>);

impl Found {
    pub(crate) fn take(&self) -> Option<Fingerprint> {
        self.0.lock().ok()?.take()
    }
}

/// Takes one certificate, by its fingerprint, and asks no authority.
#[derive(Debug)]
struct Pinned {
    expected: Fingerprint,
    found: Found,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = fingerprint(certificate);
        if found == self.expected {
            return Ok(ServerCertVerified::assertion());
        }
        if let Ok(mut kept) = self.found.0.lock() {
            *kept = Some(found);
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::PeerIncompatible::Tls12NotOffered.into())
    }

    /// Without this a fingerprint proves nothing: certificates are public, keys are not.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Bytes of a proof.
pub(crate) const PROOF: usize = 32;

/// What proves, on this connection only, that a sender knows `secret`: HMAC-SHA256 under the secret
/// of what TLS exports.
pub(crate) fn proof(connection: &noq_proto::Connection, secret: &[u8; HALF]) -> Option<hmac::Tag> {
    Some(hmac::sign(&key(secret), &exported(connection)?))
}

/// Whether `proof` is that of a sender that knows `secret`; takes the same time in any case.
pub(crate) fn proves(
    connection: &noq_proto::Connection,
    secret: &[u8; HALF],
    proof: &[u8],
) -> bool {
    let exported = exported(connection);
    exported.is_some_and(|exported| hmac::verify(&key(secret), &exported, proof).is_ok())
}

fn key(secret: &[u8; HALF]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

fn exported(connection: &noq_proto::Connection) -> Option<[u8; 32]> {
    let mut exported = [0; 32];
    let session = connection.crypto_session();
    session.export_keying_material(&mut exported, PROOF_LABEL, b"").ok()?;
    Some(exported)
}
