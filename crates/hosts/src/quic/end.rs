//! One end of a transfer over quinn or noq.

/// Declares `End`, over `$proto`; where the two differ it calls functions that are in scope:
/// `arrives`, `transmit`, `write_zeros`, `told`.
macro_rules! quic_end {
    ($proto:ident) => {
        /// One end of a transfer: the near one opens a stream and sends, the far one reads.
        pub struct End {
            endpoint: $proto::Endpoint,
            /// What the near end connects with, until it does.
            client: Option<$proto::ClientConfig>,
            connection: Option<($proto::ConnectionHandle, $proto::Connection)>,
            /// What the endpoint itself answers: refusals, resets.
            answers: Vec<Vec<u8>>,
            train: Train,
            stream: Option<$proto::StreamId>,
            application: Application,
            now: Time,
            delivered: u64,
            is_complete: bool,
            ended: Option<String>,
            /// What the connection said at its last turn.
            told: Told,
        }

        /// The address of the other end, which is never looked at.
        fn peer() -> SocketAddr {
            SocketAddr::from(([10, 0, 0, 1], 443))
        }

        impl End {
            fn new(
                endpoint: $proto::Endpoint,
                client: Option<$proto::ClientConfig>,
                transfer: &Transfer,
            ) -> Self {
                Self {
                    endpoint,
                    client,
                    connection: None,
                    answers: Vec::new(),
                    train: Train::default(),
                    stream: None,
                    application: Application::new(transfer),
                    now: Time::ZERO,
                    delivered: 0,
                    is_complete: false,
                    ended: None,
                    told: Told::default(),
                }
            }

            /// The connection, once there is one: its statistics, its controller.
            pub fn connection(&self) -> Option<&$proto::Connection> {
                self.connection.as_ref().map(|(_, connection)| connection)
            }

            fn accept(&mut self, incoming: $proto::Incoming, at: Instant, answer: &mut Vec<u8>) {
                if self.connection.is_some() {
                    return self.endpoint.ignore(incoming);
                }
                match self.endpoint.accept(incoming, at, answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        self.ended = Some(error.cause.to_string());
                        let response = error.response.as_ref().map(|transmit| transmit.size);
                        self.answers.extend(response.map(|size| answer[..size].to_vec()));
                    }
                }
            }

            /// Hands events on and lets the application act, until nothing moves.
            fn settle(&mut self) {
                let Some((handle, connection)) = &mut self.connection else { return };
                let mut moved = true;
                while std::mem::take(&mut moved) {
                    while let Some(event) = connection.poll_endpoint_events() {
                        moved = true;
                        if let Some(event) = self.endpoint.handle_event(*handle, event) {
                            connection.handle_event(event);
                        }
                    }
                    while let Some(event) = connection.poll() {
                        moved = true;
                        match event {
                            $proto::Event::Connected if connection.side() == Side::Client => {
                                self.stream = connection.streams().open(Dir::Uni);
                            }
                            $proto::Event::Stream(StreamEvent::Opened { dir }) => {
                                self.stream = connection.streams().accept(dir);
                            }
                            $proto::Event::ConnectionLost { reason } => {
                                self.ended.get_or_insert(reason.to_string());
                            }
                            _ => {}
                        }
                    }
                    let Some(id) = self.stream else { continue };
                    if connection.side() == Side::Client {
                        write(connection, id, &mut self.application, self.now);
                    } else {
                        let (bytes, complete) = read(connection, id);
                        self.delivered += bytes;
                        self.is_complete |= complete;
                    }
                }
            }
        }

        /// Writes as much as there is at `now` and as the connection takes.
        fn write(
            connection: &mut $proto::Connection,
            id: $proto::StreamId,
            application: &mut Application,
            now: Time,
        ) {
            loop {
                let ready @ 1.. = application.ready(now, ZEROS.len()) else { return };
                let zeros = Bytes::from_static(&ZEROS[..ready]);
                let Ok(written @ 1..) = write_zeros(connection, id, zeros) else { return };
                application.wrote(written);
                if application.is_done() {
                    // It fails if the other end wants no more.
                    let _ = connection.send_stream(id).finish();
                }
            }
        }

        /// Reads all that there is: its bytes, and whether it was the last.
        fn read(connection: &mut $proto::Connection, id: $proto::StreamId) -> (u64, bool) {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return (0, false) };
            let mut bytes = 0;
            let complete = loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            // Flow control's frames are queued, and asked for next anyway.
            let _ = chunks.finalize();
            (bytes, complete)
        }

        impl Endpoint for End {
            fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
                self.now = now;
                let at = clock::instant(now);
                let bytes = BytesMut::from(Bytes::from(std::mem::take(datagram)));
                let mut answer = Vec::new();
                match arrives(&mut self.endpoint, at, codepoint(ecn), bytes, &mut answer) {
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        if let Some((own, connection)) = &mut self.connection
                            && *own == handle
                        {
                            connection.handle_event(event);
                        }
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        self.accept(incoming, at, &mut answer);
                    }
                    Some(DatagramEvent::Response(transmit)) => {
                        self.answers.push(answer[..transmit.size].to_vec());
                    }
                    None => {}
                }
                self.settle();
            }

            fn handle_timeout(&mut self, now: Time) {
                self.now = now;
                let at = clock::instant(now);
                if let Some(client) = self.client.take() {
                    match self.endpoint.connect(at, client, peer(), "localhost") {
                        Ok(connection) => self.connection = Some(connection),
                        Err(error) => self.ended = Some(error.to_string()),
                    }
                }
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_timeout(at);
                }
                self.settle();
            }

            fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
                if let Some(answer) = self.answers.pop() {
                    datagram.extend_from_slice(&answer);
                    return Some(Transmit::udp(datagram, Ecn::NotCapable));
                }
                if let Some(buffer) = self.train.empty() {
                    let (_, connection) = self.connection.as_mut()?;
                    let train = transmit(connection, clock::instant(now), buffer)?;
                    let ecn = bits(train.ecn);
                    self.train.written(train.size, train.segment_size, ecn);
                }
                let ecn = self.train.next(datagram)?;
                Some(Transmit::udp(datagram, ecn))
            }

            fn poll_timeout(&mut self) -> Option<Time> {
                let (_, connection) = self.connection.as_mut()?;
                self.told = told(connection);
                let timer = connection.poll_timeout().map(clock::time);
                let offer = self.stream.and(self.application.next(self.now));
                earlier(timer, offer)
            }

            fn tell(&self) -> Told {
                Told {
                    delivered: self.delivered,
                    complete: self.is_complete,
                    ended: self.ended.clone(),
                    ..self.told.clone()
                }
            }
        }

        fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
            match ecn {
                Ecn::NotCapable => None,
                Ecn::Capable => Some(EcnCodepoint::Ect0),
                Ecn::Scalable => Some(EcnCodepoint::Ect1),
                Ecn::Marked => Some(EcnCodepoint::Ce),
            }
        }

        fn bits(codepoint: Option<EcnCodepoint>) -> Ecn {
            match codepoint {
                None => Ecn::NotCapable,
                Some(EcnCodepoint::Ect0) => Ecn::Capable,
                Some(EcnCodepoint::Ect1) => Ecn::Scalable,
                Some(EcnCodepoint::Ce) => Ecn::Marked,
            }
        }

        /// Connection ids that a seed decides.
        struct Ids(Stream);

        impl ConnectionIdGenerator for Ids {
            fn generate_cid(&mut self) -> ConnectionId {
                ConnectionId::new(&bytes::<8>(&mut self.0))
            }
            fn cid_len(&self) -> usize {
                8
            }
            fn cid_lifetime(&self) -> Option<std::time::Duration> {
                None
            }
        }

        /// The time of day, which tokens for new connections carry.
        struct TimeOfDay;

        impl TimeSource for TimeOfDay {
            fn now(&self) -> SystemTime {
                UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)
            }
        }

        /// What this crate changes of a stack's own defaults: flow control that limits nothing, no
        /// idle timeout, and the largest datagram, if one is wished for.
        ///
        /// # Errors
        /// If there is no such controller.
        pub fn usual(controller: &str) -> Result<TransportConfig, String> {
            let mut config = TransportConfig::default();
            config
                .stream_receive_window(VarInt::from_u32(WINDOW))
                .receive_window(VarInt::from_u32(WINDOW))
                .send_window(u64::from(WINDOW))
                .max_idle_timeout(None)
                .congestion_controller_factory(self::controller(controller)?);
            Ok(config)
        }

        /// The usual configuration with a `controller`, and with packets of up to `packet` bytes.
        fn configured(controller: &str, packet: Option<u32>) -> Result<TransportConfig, String> {
            let mut config = usual(controller)?;
            if let Some(packet) = packet {
                if packet < SMALLEST {
                    return Err(format!("a path must carry packets of {SMALLEST} bytes"));
                }
                let mut discovery = MtuDiscoveryConfig::default();
                discovery.upper_bound((packet - Transmit::UDP_HEADERS) as u16);
                config.mtu_discovery_config(Some(discovery));
            }
            Ok(config)
        }

        /// The two ends of a transfer, each with a `config`, over a handshake that protects nothing
        /// but has TLS's sizes.
        ///
        /// # Errors
        /// If `config` fails, or if the transfer is to be logged and cannot be.
        pub fn pair(
            config: impl Fn() -> Result<TransportConfig, String>,
            transfer: &Transfer,
        ) -> Result<(Box<End>, Box<End>), String> {
            let null = Arc::new(null::NullTls);
            pair_over(config, transfer, (null.clone(), null))
        }

        /// The same over real TLS 1.3, by rustls and ring.
        ///
        /// # Errors
        /// As [`pair`]'s, and if rustls makes no certificate.
        #[cfg(feature = "tls")]
        pub fn pair_with_tls(
            config: impl Fn() -> Result<TransportConfig, String>,
            transfer: &Transfer,
        ) -> Result<(Box<End>, Box<End>), String> {
            use $proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
            let (client, server) = configs()?;
            let client = QuicClientConfig::try_from(client).map_err(|error| error.to_string())?;
            let server = QuicServerConfig::try_from(server).map_err(|error| error.to_string())?;
            pair_over(config, transfer, (Arc::new(client), Arc::new(server)))
        }

        fn pair_over(
            config: impl Fn() -> Result<TransportConfig, String>,
            transfer: &Transfer,
            (client, server): (Arc<dyn ClientCrypto>, Arc<dyn ServerCrypto>),
        ) -> Result<(Box<End>, Box<End>), String> {
            let mut logged = config()?;
            if let Some(path) = &transfer.qlog {
                log(&mut logged, path)?;
            }
            let numbers = |side| stream(transfer.seed, side);
            let mut near = $proto::ClientConfig::new(client);
            near.transport_config(Arc::new(logged));
            let first = numbers(3);
            near.initial_dst_cid_provider(Arc::new(move || {
                ConnectionId::new(&bytes::<8>(&mut first.clone()))
            }));
            let key = Arc::new(null::TokenKey(transfer.seed));
            let mut far = $proto::ServerConfig::new(server, key);
            far.transport_config(Arc::new(config()?));
            far.time_source(Arc::new(TimeOfDay));
            let near = End::new(endpoint(None, numbers(1)), Some(near), transfer);
            let far =
                End::new(endpoint(Some(Arc::new(far)), numbers(2)), None, &Transfer::default());
            Ok((Box::new(near), Box::new(far)))
        }

        /// Fails, as this build logs nothing.
        #[cfg(not(feature = "qlog"))]
        fn log(_: &mut TransportConfig, path: &Path) -> Result<(), String> {
            Err(format!("{}: qlog needs the feature qlog of narrows-hosts", path.display()))
        }

        fn endpoint(server: Option<Arc<ServerConfig>>, numbers: Stream) -> $proto::Endpoint {
            let key = numbers.clone().bits();
            let mut config = EndpointConfig::new(Arc::new(null::TokenKey(key)));
            config.rng_seed(Some(bytes(&mut numbers.clone())));
            identify(&mut config, move || Box::new(Ids(numbers.clone())));
            new_endpoint(Arc::new(config), server)
        }
    };
}

pub(crate) use quic_end;
