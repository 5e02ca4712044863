//! Our laws in noq and quinn, in the simulator: `cc = "narrows-noq:etcp"`.

use crate::noq::{Factory, Pace};
use crate::stack_law::StackLaw;
use narrows_hosts::clock;
use narrows_hosts::named::{Named, any};
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
pub fn ends(law: StackLaw, transfer: &Transfer) -> Result<(Box<Sender>, Box<End>), String> {
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

/// Our laws in a stack, by name.
fn named(
    name: &'static str,
    source: &'static str,
    ends: fn(&str, &Wish) -> Result<StackEnds, String>,
) -> Arc<dyn Stack> {
    let packet = PAYLOAD + Transmit::UDP_HEADERS;
    let mut controllers: Vec<&str> = StackLaw::names().collect();
    // A flow that names none gets this one.
    controllers.sort_by_key(|law| *law != "cubic");
    Arc::new(Named { name, source, controllers, packet, logs: false, ends })
}

/// Fails if the largest packet is given, which the stack finds out.
fn without_packet(wish: &Wish) -> Result<&Transfer, String> {
    match wish.packet {
        None => Ok(&wish.transfer),
        Some(_) => Err("packet is up to the stack; leave it out".to_owned()),
    }
}

/// All that this crate adds to [`narrows_hosts::stacks`]: our laws in noq, and in quinn, which
/// spaces their packets itself.
pub fn stacks() -> Vec<Arc<dyn Stack>> {
    let noq = named("narrows-noq", "a law of narrows in noq-proto 1.4.0", |law, wish| {
        ends(StackLaw::parse(law)?, without_packet(wish)?).map(any)
    });
    let quinn = named("narrows-quinn", "a law of narrows in quinn-proto 0.11.19", |law, wish| {
        let (law, transfer) = (StackLaw::parse(law)?, without_packet(wish)?);
        let config = || {
            let mut config = narrows_hosts::quinn::usual("cubic")?;
            let factory = crate::quinn::Factory::new(law.clone()).seeded(transfer.seed);
            config.congestion_controller_factory(factory.shared());
            Ok(config)
        };
        narrows_hosts::quinn::pair(config, transfer).map(any)
    });
    vec![
        noq,
        quinn,
        #[cfg(feature = "hosted-s2n")]
        named("narrows-s2n", "a law of narrows in s2n-quic-transport 0.91.0", |law, wish| {
            let (law, transfer) = (StackLaw::parse(law)?, without_packet(wish)?);
            let controllers = crate::s2n::Controllers::new(law).seeded(transfer.seed);
            let packet = PAYLOAD + Transmit::UDP_HEADERS;
            narrows_hosts::s2n::pair_with(|| controllers.clone(), packet, transfer).map(any)
        }),
    ]
}
