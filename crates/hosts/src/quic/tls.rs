//! TLS 1.3 by rustls and ring, with a certificate of its own.

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The configurations of a client and a server that trust each other. Fails if rustls does.
pub(crate) fn configs() -> Result<(ClientConfig, ServerConfig), String> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let made = made.map_err(|error| error.to_string())?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let certificate = made.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let versions = &[&rustls::version::TLS13];
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(|error| error.to_string())?;
    Ok((client, server))
}
