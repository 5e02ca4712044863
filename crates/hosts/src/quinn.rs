//! quinn-proto 0.11.19: QUIC as in quinn, which drives it with tokio.

use crate::application::{Application, earlier};
use crate::clock;
use crate::named::{Named, any};
#[cfg(feature = "tls")]
use crate::quic::configs;
use crate::quic::{Train, quic_end};
use crate::streams::{bytes, stream};
use crate::{SMALLEST, WINDOW};
use bytes::{Bytes, BytesMut};
use narrows_scenario::Transfer;
use narrows_settings::unknown;
use narrows_signal::Ecn;
use narrows_sim::{Endpoint, Told, Transmit};
use narrows_units::{Stream, Time};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::{ClientConfig as ClientCrypto, ServerConfig as ServerCrypto};
use quinn_proto::{
    ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, EndpointConfig,
    MtuDiscoveryConfig, ServerConfig, Side, StreamEvent, TimeSource, TransportConfig, VarInt,
};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

mod null {
    //! The null handshake.

    use quinn_proto::ConnectionId;
    use quinn_proto::crypto::{AeadKey, HandshakeTokenKey};
    use std::sync::Arc;

    crate::quic::null_handshake!(quinn_proto, &ConnectionId, Arc<Self>);

    impl HandshakeTokenKey for TokenKey {
        fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
            Box::new(TokenKey(self.0))
        }
    }

    impl AeadKey for TokenKey {
        fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
            data.extend_from_slice(&[0; TAG]);
            Ok(())
        }
        fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
            let end = data.len().checked_sub(TAG).ok_or(CryptoError)?;
            Ok(&mut data[..end])
        }
    }
}

quic_end!(quinn_proto);

/// What the near end sends.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Bytes of the largest payload that MTU discovery looks for, unless told otherwise.
const LARGEST: u32 = 1452;

/// quinn's controllers, the usual one first.
pub const CONTROLLERS: [&str; 3] = ["cubic", "newreno", "bbr"];

/// The controller called `name`. Fails if there is none.
fn controller(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    Ok(match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        other => return Err(unknown("controller of quinn", other, CONTROLLERS.into_iter())),
    })
}

fn arrives(
    endpoint: &mut quinn_proto::Endpoint,
    at: Instant,
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(at, peer(), None, ecn, bytes, answer)
}

fn transmit(
    connection: &mut quinn_proto::Connection,
    at: Instant,
    buffer: &mut Vec<u8>,
) -> Option<quinn_proto::Transmit> {
    connection.poll_transmit(at, Train::LONGEST, buffer)
}

fn write_zeros(
    connection: &mut quinn_proto::Connection,
    id: quinn_proto::StreamId,
    zeros: Bytes,
) -> Result<usize, quinn_proto::WriteError> {
    connection.send_stream(id).write_chunks(&mut [zeros]).map(|written| written.bytes)
}

fn told(connection: &mut quinn_proto::Connection) -> Told {
    let path = connection.stats().path;
    Told {
        window: Some(path.cwnd),
        rtt: Some(clock::span(path.rtt)),
        lost: Some(path.lost_packets),
        ..Told::default()
    }
}

fn identify(
    config: &mut EndpointConfig,
    ids: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(ids);
}

fn new_endpoint(
    config: Arc<EndpointConfig>,
    server: Option<Arc<ServerConfig>>,
) -> quinn_proto::Endpoint {
    quinn_proto::Endpoint::new(config, server, true, None)
}

/// Logs the near end to a file; quinn gives RTTs in seconds.
#[cfg(feature = "qlog")]
fn log(config: &mut TransportConfig, path: &Path) -> Result<(), String> {
    let file = crate::quic::log_file(path)?;
    let mut log = quinn_proto::QlogConfig::default();
    log.writer(Box::new(file)).title(Some("the near end".to_owned())).start_time(clock::base());
    config.qlog_stream(log.into_stream());
    Ok(())
}

/// quinn by name, for scenarios.
pub fn stack() -> Named {
    Named {
        name: "quinn",
        source: "quinn-proto 0.11.19",
        controllers: CONTROLLERS.to_vec(),
        packet: LARGEST + Transmit::UDP_HEADERS,
        logs: cfg!(feature = "qlog"),
        ends: |controller, wish| {
            pair(|| configured(controller, wish.packet), &wish.transfer).map(any)
        },
    }
}
