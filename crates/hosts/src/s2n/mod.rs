//! s2n-quic-transport 0.91.0: what s2n-quic 1.91.0 is made of, without its sockets and its TLS.
//!
//! Its null handshake has packets without a tag, 16 bytes shorter than real ones. Times are in
//! whole microseconds, and a timer counts as expired up to a millisecond early, pacing included.
//! Its receiver acknowledges every tenth packet.

mod config;
mod end;

use crate::application::Application;
use crate::named::{Named, any};
use crate::{SMALLEST, Transfer};
use bytes::Bytes;
use config::{Client, Server, config};
pub use end::End;
use end::{App, Clock, Machine};
use narrows_settings::unknown;
use s2n_quic_core::path::mtu;
use s2n_quic_core::recovery::congestion_controller;
use s2n_quic_core::recovery::{bbr, cubic};
use s2n_quic_core::stream::StreamType;
use s2n_quic_transport::endpoint::Endpoint;
use s2n_quic_transport::endpoint::connect::Connect;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// s2n's controllers, the usual one first; `bbr` is BBRv2.
pub const CONTROLLERS: [&str; 2] = ["cubic", "bbr"];
/// Bytes of the largest packet, unless wished for otherwise.
const PACKET: u32 = 1500;

/// What the near end sends.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// The two ends of a transfer, each with a `controller`, with packets of up to `mtu` bytes.
///
/// # Errors
/// If there is no controller of that name, or such packets are too small.
pub fn pair(
    controller: &str,
    mtu: u32,
    transfer: &Transfer,
) -> Result<(Box<End>, Box<End>), String> {
    match controller {
        "cubic" => pair_with(cubic::Endpoint::default, mtu, transfer),
        "bbr" => pair_with(bbr::Endpoint::default, mtu, transfer),
        other => Err(unknown("controller of s2n", other, CONTROLLERS.into_iter())),
    }
}

/// The same with any controllers.
///
/// # Errors
/// If such packets are too small.
pub fn pair_with<C: congestion_controller::Endpoint>(
    controller: impl Fn() -> C,
    mtu: u32,
    transfer: &Transfer,
) -> Result<(Box<End>, Box<End>), String> {
    if transfer.qlog.is_some() {
        return Err("s2n writes no qlog".to_owned());
    }
    if mtu < SMALLEST {
        return Err(format!("a path must carry packets of {SMALLEST} bytes"));
    }
    let largest = u16::try_from(mtu).unwrap_or(u16::MAX);
    let mtu = mtu::Config::builder().with_max_mtu(largest).and_then(mtu::Builder::build);
    let mtu = mtu.map_err(|error| error.to_string())?;
    let (seed, application) = (transfer.seed, Application::new(transfer));
    let clock = Clock::default();
    let told = Arc::default();
    let (endpoint, connector) =
        Endpoint::new_client(config::<_, Client>(controller(), seed, &told));
    let sending = (application.clone(), clock.clone());
    let app: App =
        Box::pin(async move { send(connector, sending).await.map_err(|why| why.to_string()) });
    let near = End::new(Machine::of(endpoint, mtu), app, 2, told).offered(application, clock);
    let told = Arc::default();
    let (endpoint, acceptor) = Endpoint::new_server(config::<_, Server>(controller(), seed, &told));
    let received = Arc::clone(&told);
    let app: App = Box::pin(receive(acceptor, received));
    Ok((Box::new(near), Box::new(End::new(Machine::of(endpoint, mtu), app, 1, told))))
}

/// The near end's application, and the time.
async fn send(
    connector: s2n_quic_transport::endpoint::handle::Connector,
    (mut application, clock): (Application, Clock),
) -> Result<(), s2n_quic_core::stream::StreamError> {
    let attempt = connector.connect(Connect::new(end::address(2)).with_server_name("localhost"));
    let mut connection = attempt.await?;
    let unidirectional = StreamType::Unidirectional;
    let mut stream = poll_fn(|cx| connection.poll_open_stream(unidirectional, cx)).await?;
    while !application.is_done() {
        let offered = poll_fn(|_| match application.ready(clock.now(), ZEROS.len()) {
            // It is polled again when more is offered.
            0 => Poll::Pending,
            ready => Poll::Ready(ready),
        });
        let ready = offered.await;
        let mut chunk = Bytes::from_static(&ZEROS[..ready]);
        poll_fn(|cx| stream.poll_send(&mut chunk, cx)).await?;
        application.wrote(ready);
    }
    stream.finish()?;
    // The connection ends with its last handle.
    std::future::pending().await
}

/// The far end's application.
async fn receive(
    mut acceptor: s2n_quic_transport::endpoint::handle::Acceptor,
    told: Arc<Mutex<end::Tells>>,
) -> Result<(), String> {
    let accepted = poll_fn(|cx| acceptor.poll_accept(cx)).await;
    let mut connection = accepted.ok_or("the endpoint is closed")?;
    let stream = poll_fn(|cx| connection.poll_accept(None, cx)).await;
    let mut stream = stream.map_err(|why| why.to_string())?.ok_or("the connection is closed")?;
    let tell = |tells: &mut dyn FnMut(&mut end::Tells)| {
        tells(&mut told.lock().expect(end::UNPOISONED));
    };
    while let Some(chunk) =
        poll_fn(|cx| stream.poll_receive(cx)).await.map_err(|why| why.to_string())?
    {
        tell(&mut |told| told.delivered += chunk.len() as u64);
    }
    tell(&mut |told| told.complete = true);
    std::future::pending().await
}

/// s2n by name, for scenarios.
pub fn stack() -> Named {
    Named {
        name: "s2n",
        source: "s2n-quic-transport 0.91.0, of s2n-quic 1.91.0",
        controllers: CONTROLLERS.to_vec(),
        packet: PACKET,
        logs: false,
        ends: |controller, wish| {
            pair(controller, wish.packet.unwrap_or(PACKET), &wish.transfer).map(any)
        },
    }
}
