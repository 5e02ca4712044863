//! noq-proto 1.4.0: QUIC as in noq, n0's fork of quinn.

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
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::{ClientConfig as ClientCrypto, ServerConfig as ServerCrypto};
use noq_proto::{
    ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, EndpointConfig,
    MtuDiscoveryConfig, ServerConfig, Side, StreamEvent, TimeSource, TransportConfig, VarInt,
};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

mod null {
    //! The null handshake.

    use noq_proto::ConnectionId;
    use noq_proto::crypto::HandshakeTokenKey;

    crate::quic::null_handshake!(noq_proto, ConnectionId, &Self, noq_proto::PathId);

    impl HandshakeTokenKey for TokenKey {
        fn seal(&self, _: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
            data.extend_from_slice(&[0; TAG]);
            Ok(())
        }
        fn open<'a>(&self, _: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
            let end = data.len().checked_sub(TAG).ok_or(CryptoError)?;
            Ok(&data[..end])
        }
    }
}

quic_end!(noq_proto);

/// What the near end sends.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Bytes of the largest payload that MTU discovery looks for, unless told otherwise.
const LARGEST: u32 = 1452;

/// noq's controllers, the usual one first.
pub const CONTROLLERS: [&str; 3] = ["cubic", "newreno", "bbr"];

/// The controller called `name`. Fails if there is none.
fn controller(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    Ok(match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(Bbr3Config::default()),
        other => return Err(unknown("controller of noq", other, CONTROLLERS.into_iter())),
    })
}

fn arrives(
    endpoint: &mut noq_proto::Endpoint,
    at: Instant,
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(at, peer().into(), ecn, bytes, answer)
}

fn transmit(
    connection: &mut noq_proto::Connection,
    at: Instant,
    buffer: &mut Vec<u8>,
) -> Option<noq_proto::Transmit> {
    connection.poll_transmit(at, NonZeroUsize::new(Train::LONGEST)?, buffer)
}

fn write_zeros(
    connection: &mut noq_proto::Connection,
    id: noq_proto::StreamId,
    zeros: Bytes,
) -> Result<usize, noq_proto::WriteError> {
    connection.send_stream(id).write_chunks(&mut &mut [zeros][..])
}

fn told(connection: &mut noq_proto::Connection) -> Told {
    let Some(path) = connection.path_stats(noq_proto::PathId::ZERO) else {
        return Told::default();
    };
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
    config.cid_generator(Arc::new(ids));
}

fn new_endpoint(
    config: Arc<EndpointConfig>,
    server: Option<Arc<ServerConfig>>,
) -> noq_proto::Endpoint {
    noq_proto::Endpoint::new(config, server, true)
}

/// Logs the near end to a file.
#[cfg(feature = "qlog")]
fn log(config: &mut TransportConfig, path: &Path) -> Result<(), String> {
    config.qlog_factory(Arc::new(Log(std::sync::Mutex::new(Some(crate::quic::log_file(path)?)))));
    Ok(())
}

/// The log of one connection. noq's own factories look at the time of day.
#[cfg(feature = "qlog")]
struct Log(std::sync::Mutex<Option<std::io::BufWriter<std::fs::File>>>);

#[cfg(feature = "qlog")]
impl noq_proto::QlogFactory for Log {
    fn for_connection(
        &self,
        _: Side,
        _: SocketAddr,
        _: ConnectionId,
        _: Instant,
    ) -> Option<noq_proto::QlogConfig> {
        let file = self.0.lock().ok()?.take()?;
        let mut log = noq_proto::QlogConfig::new(Box::new(file));
        log.title(Some("the near end".to_owned())).start_time(clock::base());
        Some(log)
    }
}

/// noq by name, for scenarios.
pub fn stack() -> Named {
    Named {
        name: "noq",
        source: "noq-proto 1.4.0",
        controllers: CONTROLLERS.to_vec(),
        packet: LARGEST + Transmit::UDP_HEADERS,
        logs: cfg!(feature = "qlog"),
        ends: |controller, wish| {
            pair(|| configured(controller, wish.packet), &wish.transfer).map(any)
        },
    }
}
