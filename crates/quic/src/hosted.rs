//! Our laws in noq and quinn, in the simulator: `cc = "narrows-noq:etcp"`.

use crate::law::Law;
use crate::noq::{Factory, Pace};
use narrows_hosts::clock;
use narrows_hosts::noq::{End, pair, usual};
use narrows_scenario::{Stack, StackEnds, Transfer, Wish};
use narrows_signal::Ecn;
use narrows_sim::{Endpoint, Told, Transmit};
use narrows_units::Time;
use std::sync::{Arc, Mutex};

/// Bytes of a full datagram: the upper bound of noq's MTU discovery.
const PAYLOAD: u32 = 1452;

/// noq with a law of ours, whose packets leave one by one as the law spaces them.
pub struct Sender {
    end: Box<End>,
    pace: Pace,
}

impl Sender {
    /// What spaces its packets, which knows what the law has heard.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }
}

impl Endpoint for Sender {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        self.end.handle(now, datagram, ecn);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.end.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        self.pace.at(clock::instant(now));
        self.end.poll_transmit(now, datagram)
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        let opens_at = self.pace.opens_at().map(clock::time);
        self.end.poll_timeout().into_iter().chain(opens_at).min()
    }

    /// noq would tell how much may be in flight, which for a law that paces is not its window.
    fn tell(&self) -> Told {
        let window = (self.pace.window() * f64::from(PAYLOAD)) as u64;
        Told { window: Some(window), ..self.end.tell() }
    }
}

/// The ends of a transfer over noq with `law` at the near one.
///
/// # Errors
/// If the transfer is to be logged and cannot be.
pub fn ends(law: Law, transfer: &Transfer) -> Result<(Box<Sender>, Box<End>), String> {
    let (factory, pace) = Factory::new(law).seeded(transfer.seed).paced();
    // The first configuration is the near end's.
    let factory = Mutex::new(Some(factory.shared()));
    let config = || {
        let mut config = usual("cubic")?;
        if let Some(ours) = factory.lock().ok().and_then(|mut factory| factory.take()) {
            config.congestion_controller_factory(ours).enable_segmentation_offload(false);
        }
        Ok(config)
    };
    let (end, far) = pair(config, transfer)?;
    Ok((Box::new(Sender { end, pace }), far))
}

/// Our laws in noq by name, for scenarios.
pub struct NarrowsNoq(Vec<&'static str>);

impl Default for NarrowsNoq {
    fn default() -> Self {
        Self(Law::names().collect())
    }
}

impl Stack for NarrowsNoq {
    fn name(&self) -> &str {
        "narrows-noq"
    }

    fn controllers(&self) -> &[&str] {
        &self.0
    }

    fn packet(&self) -> u32 {
        PAYLOAD + Transmit::UDP_HEADERS
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        if wish.packet.is_some() {
            return Err("packet is up to noq; leave it out".to_owned());
        }
        let law = Law::parse(wish.controller.as_deref().unwrap_or("cubic"))?;
        let (near, far) = ends(law, &wish.transfer)?;
        Ok((near, far))
    }
}

/// Our laws in quinn by name, for scenarios; quinn spaces their packets.
pub struct NarrowsQuinn(Vec<&'static str>);

impl Default for NarrowsQuinn {
    fn default() -> Self {
        Self(Law::names().collect())
    }
}

impl Stack for NarrowsQuinn {
    fn name(&self) -> &str {
        "narrows-quinn"
    }

    fn controllers(&self) -> &[&str] {
        &self.0
    }

    fn packet(&self) -> u32 {
        PAYLOAD + Transmit::UDP_HEADERS
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        if wish.packet.is_some() {
            return Err("packet is up to quinn; leave it out".to_owned());
        }
        let law = Law::parse(wish.controller.as_deref().unwrap_or("cubic"))?;
        let config = || {
            let mut config = narrows_hosts::quinn::usual("cubic")?;
            let factory = crate::quinn::Factory::new(law.clone()).seeded(wish.transfer.seed);
            config.congestion_controller_factory(factory.shared());
            Ok(config)
        };
        let (near, far) = narrows_hosts::quinn::pair(config, &wish.transfer)?;
        Ok((near, far))
    }
}

/// All that this crate adds to [`narrows_hosts::stacks`].
pub fn stacks() -> Vec<Arc<dyn Stack>> {
    vec![Arc::new(NarrowsNoq::default()), Arc::new(NarrowsQuinn::default())]
}
