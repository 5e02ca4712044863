//! What s2n's endpoint is made of: its own parts, and those that draw from a seed.

use super::end::{Listener, Tells};
use crate::WINDOW;
use crate::streams::{fill, stream};
use core::marker::PhantomData;
use narrows_units::Stream;
use s2n_quic_core::connection::id::{ConnectionInfo, Generator, Validator};
use s2n_quic_core::connection::{Limits, LocalId};
use s2n_quic_core::crypto::tls::null;
use s2n_quic_core::endpoint::Type;
use s2n_quic_core::endpoint::limits::{ConnectionAttempt, Limiter, Outcome};
use s2n_quic_core::packet::interceptor;
use s2n_quic_core::path::{RemoteAddress, migration, mtu};
use s2n_quic_core::recovery::congestion_controller;
use s2n_quic_core::{connection, datagram, dc, random, stateless_reset, token};
use s2n_quic_transport::connection::Implementation;
use s2n_quic_transport::endpoint::{Config, Context};
use s2n_quic_transport::stream::DefaultStreamManager;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Which side an endpoint is.
pub(super) trait Side: Send + 'static {
    const TYPE: Type;
}

/// The near end.
pub(super) struct Client;
/// The far end.
pub(super) struct Server;

impl Side for Client {
    const TYPE: Type = Type::Client;
}

impl Side for Server {
    const TYPE: Type = Type::Server;
}

/// What s2n draws.
pub(super) struct Numbers(Stream);

impl random::Generator for Numbers {
    fn public_random_fill(&mut self, bytes: &mut [u8]) {
        fill(&mut self.0, bytes);
    }
    fn private_random_fill(&mut self, bytes: &mut [u8]) {
        fill(&mut self.0, bytes);
    }
}

/// Connection ids: sixteen bytes, which a seed decides.
pub(super) struct Ids(Stream);

/// Bytes of a connection id.
const ID: usize = 16;

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}

impl Generator for Ids {
    fn generate(&mut self, _: &ConnectionInfo) -> LocalId {
        let mut id = [0; ID];
        fill(&mut self.0, &mut id);
        LocalId::try_from_bytes(&id).expect("an id may have sixteen bytes")
    }
}

impl Validator for Ids {
    fn validate(&self, _: &ConnectionInfo, buffer: &[u8]) -> Option<usize> {
        (buffer.len() >= ID).then_some(ID)
    }
}

/// Parts that do nothing, or let everything be.
#[derive(Debug)]
pub(super) struct Nothing;

impl stateless_reset::token::Generator for Nothing {
    const ENABLED: bool = false;
    fn generate(&mut self, id: &[u8]) -> stateless_reset::Token {
        let mut token = [0; 16];
        token.iter_mut().zip(id).for_each(|(byte, of_id)| *byte = *of_id);
        token.into()
    }
}

impl token::Format for Nothing {
    const TOKEN_LEN: usize = 0;
    fn generate_new_token(
        &mut self,
        _: &mut token::Context<'_>,
        _: &LocalId,
        _: &mut [u8],
    ) -> Option<()> {
        None
    }
    fn generate_retry_token(
        &mut self,
        _: &mut token::Context<'_>,
        _: &connection::InitialId,
        _: &mut [u8],
    ) -> Option<()> {
        None
    }
    fn validate_token(
        &mut self,
        _: &mut token::Context<'_>,
        _: &[u8],
    ) -> Option<connection::InitialId> {
        None
    }
}

impl Limiter for Nothing {
    fn on_connection_attempt(&mut self, _: &ConnectionAttempt) -> Outcome {
        Outcome::allow()
    }
}

impl migration::Validator for Nothing {
    fn on_migration_attempt(&mut self, _: &migration::Attempt) -> migration::Outcome {
        migration::Outcome::Allow
    }
}

/// The parts of an endpoint.
pub(super) struct Parts<C, S> {
    controller: C,
    ids: Ids,
    resets: Nothing,
    random: Numbers,
    tls: null::Endpoint,
    attempts: Nothing,
    token: Nothing,
    limits: Limits,
    mtu: mtu::Manager<mtu::Inherit>,
    close: connection::close::Development,
    listener: Listener,
    migration: Nothing,
    interceptor: interceptor::Disabled,
    datagram: datagram::Disabled,
    dc: dc::Disabled,
    side: PhantomData<S>,
}

impl<C, S> fmt::Debug for Parts<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parts")
    }
}

impl<C: congestion_controller::Endpoint, S: Side> Config for Parts<C, S> {
    type TLSEndpoint = null::Endpoint;
    type CongestionControllerEndpoint = C;
    type Connection = Implementation<Self>;
    type ConnectionLock = Mutex<Self::Connection>;
    type ConnectionIdFormat = Ids;
    type StatelessResetTokenGenerator = Nothing;
    type RandomGenerator = Numbers;
    type TokenFormat = Nothing;
    type EndpointLimits = Nothing;
    type ConnectionLimits = Limits;
    type Mtu = mtu::Inherit;
    type StreamManager = DefaultStreamManager;
    type ConnectionCloseFormatter = connection::close::Development;
    type EventSubscriber = Listener;
    type PathHandle = RemoteAddress;
    type PathMigrationValidator = Nothing;
    type PacketInterceptor = interceptor::Disabled;
    type DatagramEndpoint = datagram::Disabled;
    type DcEndpoint = dc::Disabled;
    const ENDPOINT_TYPE: Type = S::TYPE;

    fn context(&mut self) -> Context<'_, Self> {
        Context {
            congestion_controller: &mut self.controller,
            connection_id_format: &mut self.ids,
            stateless_reset_token_generator: &mut self.resets,
            random_generator: &mut self.random,
            tls: &mut self.tls,
            endpoint_limits: &mut self.attempts,
            token: &mut self.token,
            connection_limits: &mut self.limits,
            mtu: &mut self.mtu,
            connection_close_formatter: &mut self.close,
            event_subscriber: &mut self.listener,
            path_migration: &mut self.migration,
            packet_interceptor: &mut self.interceptor,
            datagram: &mut self.datagram,
            dc: &mut self.dc,
        }
    }
}

/// Flow control that limits nothing, a handshake that may take as long as it likes, no idle
/// timeout.
fn limits() -> Result<Limits, connection::limits::ValidationError> {
    let window = u64::from(WINDOW);
    Limits::new()
        .with_data_window(window)?
        .with_unidirectional_data_window(window)?
        .with_bidirectional_local_data_window(window)?
        .with_bidirectional_remote_data_window(window)?
        .with_max_send_buffer_size(WINDOW)?
        .with_max_idle_timeout(Duration::ZERO)?
        .with_max_handshake_duration(Duration::from_secs(3600))
}

/// The parts of one side with a `controller`; what they say goes to `told`.
pub(super) fn config<C: congestion_controller::Endpoint, S: Side>(
    controller: C,
    seed: u64,
    told: &Arc<Mutex<Tells>>,
) -> Parts<C, S> {
    let side: u64 = if S::TYPE.is_client() { 1 } else { 2 };
    let numbers = |index| stream(seed, 2 * side + index);
    Parts {
        controller,
        ids: Ids(numbers(0)),
        resets: Nothing,
        random: Numbers(numbers(1)),
        tls: null::Endpoint::new(None),
        attempts: Nothing,
        token: Nothing,
        limits: limits().expect("16 MB and an hour are within s2n's bounds"),
        mtu: mtu::Manager::new(mtu::Inherit::default()),
        close: connection::close::Development,
        listener: Listener(Arc::clone(told)),
        migration: Nothing,
        interceptor: Default::default(),
        datagram: Default::default(),
        dc: Default::default(),
        side: PhantomData,
    }
}
