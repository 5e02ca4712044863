//! The null handshake in quinn's and noq's terms, which differ in a handful of types.

/// Implements the crypto traits of `$proto`: `$Cid` is how they take connection ids, `$This` how
/// sessions are started, `$path` what comes before a packet's number.
macro_rules! null_handshake {
    ($proto:ident, $Cid:ty, $This:ty $(, $path:ty)?) => {
        use $crate::quic::{Handshake, Step, TAG, sign};
        use $proto::crypto::{
            self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
            UnsupportedVersion,
        };
        use $proto::transport_parameters::TransportParameters;
        use $proto::{ConnectError, Side, TransportError};
        use bytes::BytesMut;
        use std::any::Any;

        /// A key that encrypts nothing; its tag is its level, so that a packet under another key is
        /// not taken for one under this.
        struct NullKey(u8);

        impl PacketKey for NullKey {
            fn encrypt(&self, $(_: $path,)? _: u64, packet: &mut [u8], _: usize) {
                let end = packet.len();
                packet[end - TAG..].fill(self.0);
            }
            fn decrypt(
                &self,
                $(_: $path,)?
                _: u64,
                _: &[u8],
                payload: &mut BytesMut,
            ) -> Result<(), CryptoError> {
                let end = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
                if payload[end..] != [self.0; TAG] {
                    return Err(CryptoError);
                }
                payload.truncate(end);
                Ok(())
            }
            fn tag_len(&self) -> usize {
                TAG
            }
            fn confidentiality_limit(&self) -> u64 {
                u64::MAX
            }
            fn integrity_limit(&self) -> u64 {
                u64::MAX
            }
        }

        impl HeaderKey for NullKey {
            fn decrypt(&self, _: usize, _: &mut [u8]) {}
            fn encrypt(&self, _: usize, _: &mut [u8]) {}
            fn sample_size(&self) -> usize {
                TAG
            }
        }

        /// The keys of `level`: 1 for Initial, 2 for Handshake, 3 for 1-RTT packets.
        fn keys(level: u8) -> Keys {
            let header = || Box::new(NullKey(level));
            let packet = || Box::new(NullKey(level));
            Keys {
                header: KeyPair { local: header(), remote: header() },
                packet: KeyPair { local: packet(), remote: packet() },
            }
        }

        struct NullSession {
            side: Side,
            handshake: Handshake,
            theirs: Option<TransportParameters>,
        }

        impl NullSession {
            fn begin(side: Side, parameters: &TransportParameters) -> Box<dyn crypto::Session> {
                let mut ours = Vec::new();
                parameters.write(&mut ours);
                let handshake = Handshake::new(side == Side::Client, ours);
                Box::new(Self { side, handshake, theirs: None })
            }
        }

        impl crypto::Session for NullSession {
            fn initial_keys(&self, _: $Cid, _: Side) -> Keys {
                keys(1)
            }
            fn handshake_data(&self) -> Option<Box<dyn Any>> {
                None
            }
            fn peer_identity(&self) -> Option<Box<dyn Any>> {
                None
            }
            fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
                None
            }
            fn early_data_accepted(&self) -> Option<bool> {
                Some(false)
            }
            fn is_handshaking(&self) -> bool {
                self.handshake.read < 2
            }
            fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
                let Some(parameters) = self.handshake.read(bytes) else { return Ok(false) };
                self.theirs = Some(TransportParameters::read(self.side, &mut &parameters[..])?);
                Ok(true)
            }
            fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
                Ok(self.theirs)
            }
            fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<Keys> {
                match self.handshake.write(buffer) {
                    Step::Keys(level) => Some(keys(level)),
                    Step::Written | Step::Wait => None,
                }
            }
            fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
                Some(KeyPair { local: Box::new(NullKey(3)), remote: Box::new(NullKey(3)) })
            }
            fn is_valid_retry(&self, _: $Cid, _: &[u8], _: &[u8]) -> bool {
                true
            }
            fn export_keying_material(
                &self,
                output: &mut [u8],
                _: &[u8],
                _: &[u8],
            ) -> Result<(), ExportKeyingMaterialError> {
                output.fill(0);
                Ok(())
            }
        }

        /// Sessions that protect nothing, for clients and servers.
        pub(super) struct NullTls;

        impl crypto::ClientConfig for NullTls {
            fn start_session(
                self: $This,
                _: u32,
                _: &str,
                parameters: &TransportParameters,
            ) -> Result<Box<dyn crypto::Session>, ConnectError> {
                Ok(NullSession::begin(Side::Client, parameters))
            }
        }

        impl crypto::ServerConfig for NullTls {
            fn initial_keys(&self, _: u32, _: $Cid) -> Result<Keys, UnsupportedVersion> {
                Ok(keys(1))
            }
            fn retry_tag(&self, _: u32, _: $Cid, _: &[u8]) -> [u8; 16] {
                [0; 16]
            }
            fn start_session(
                self: $This,
                _: u32,
                parameters: &TransportParameters,
            ) -> Box<dyn crypto::Session> {
                NullSession::begin(Side::Server, parameters)
            }
        }

        /// The key of reset tokens and of tokens for new connections.
        pub(super) struct TokenKey(pub u64);

        impl crypto::HmacKey for TokenKey {
            fn sign(&self, data: &[u8], signature: &mut [u8]) {
                sign(self.0, data, signature);
            }
            fn signature_len(&self) -> usize {
                32
            }
            fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
                let mut own = [0; 32];
                sign(self.0, data, &mut own);
                if own == signature { Ok(()) } else { Err(CryptoError) }
            }
        }
    };
}

pub(crate) use null_handshake;
