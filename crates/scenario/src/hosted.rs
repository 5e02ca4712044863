//! Checks a flow whose ends are a stack that others wrote.

use crate::ScenarioError;
use crate::application::sends_one_kind;
use crate::fields::Fields;
use crate::flow::{Carrier, Headers, PacketSize, Surroundings, why_not};
use crate::offered;
use crate::scenario::{Flow, Of};
use crate::stack::{KNOWN, Stack, Transfer, Wish};
use narrows_settings::unknown;
use narrows_sim::HostedEnds;
use narrows_units::Bytes;
use std::path::PathBuf;
use std::sync::Arc;

/// A flow of a stack that others wrote, checked.
#[derive(Clone)]
pub(crate) struct Hosted {
    pub stack: Arc<dyn Stack>,
    wish: Wish,
    name: String,
}

/// A stack, and one of its controllers if one is named.
pub(crate) type Chosen = (Arc<dyn Stack>, Option<String>);

/// The stack that a flow names, by `host` or as `quinn:cubic`, with its controller; `None` if it
/// names a law of ours.
pub(crate) fn named(
    given: &Fields,
    host: Option<&str>,
    around: &Surroundings,
) -> Result<Option<Chosen>, ScenarioError> {
    let stacks = &around.own.stacks;
    let find = |name: &str| stacks.iter().find(|stack| stack.name() == name).map(Arc::clone);
    if let Some(name) = host {
        let Some(stack) = find(name) else {
            let known: Vec<&str> = stacks.iter().map(|stack| stack.name()).collect();
            let message = if known.is_empty() {
                format!("nobody brings a stack called \"{name}\" along; see docs/hosts.md")
            } else {
                unknown("stack", name, known.into_iter())
            };
            return Err(given.error("host", message));
        };
        if let Some(cc) = given.field(|flow| flow.cc.clone()) {
            let message =
                format!("\"{cc}\" beside host = \"{name}\", which brings its own; leave one out");
            return Err(given.error("cc", message));
        }
        return Ok(Some((stack, None)));
    }
    let Some(cc) = given.field(|flow| flow.cc.clone()) else { return Ok(None) };
    let (name, controller) = match cc.split_once(':') {
        // A stack that a program brings along may have any name.
        _ if find(cc.trim()).is_some() => (cc.trim(), None),
        Some((name, controller)) => (name.trim(), Some(controller.trim().to_owned())),
        None => (cc.trim(), None),
    };
    let Some(stack) = find(name) else {
        if KNOWN.contains(&name) {
            let how = match name {
                "s2n" => "maturin develop --features s2n",
                _ => "make hosts",
            };
            let message = format!(
                "\"{name}\" is a stack that this build goes without; Linux wheels have it, and in a \
                 checkout {how} builds it"
            );
            return Err(given.error("cc", message));
        }
        return Ok(None);
    };
    if let Some(controller) = &controller
        && !stack.controllers().contains(&controller.as_str())
    {
        let known = stack.controllers().iter().copied();
        let message = unknown(&format!("controller of {name}"), controller, known);
        return Err(given.error("cc", message));
    }
    Ok(Some((stack, controller)))
}

/// A flow of `stack`: how it is called, its packets, and the rest. Fails if something is given that
/// the stack decides itself.
pub(crate) fn check(
    mut given: Fields,
    (stack, controller): Chosen,
    around: &Surroundings,
) -> Result<(String, PacketSize, Carrier), ScenarioError> {
    let cc = given.take(|flow| &mut flow.cc);
    let name = cc.unwrap_or_else(|| stack.name().to_owned());
    let packet = given.take(|flow| &mut flow.packet).or(around.scenario.packet);
    let usual = Bytes::new(u64::from(stack.packet()));
    let size = PacketSize::new(&given, packet.unwrap_or(usual), Headers::Udp)?;
    sends_one_kind(&given)?;
    let offered = offered::check(&mut given, around.duration)?.unwrap_or_default();
    let whole = given.take(|flow| &mut flow.size).map(Bytes::count);
    if whole == Some(0) {
        return Err(given.error("size", "0B is nothing to send; try \"1MB\""));
    }
    let bytes = whole.or_else(|| offered.bytes());
    let ecn = given.take(|flow| &mut flow.ecn).unwrap_or(false);
    let packet = packet.map(|bytes| bytes.count() as u32);
    let transfer = Transfer { bytes, offered, ..Transfer::default() };
    let wish = Wish { controller, transfer, packet, ecn };
    stack.ends(&wish).map_err(|error| given.error_here(format!("{name}: {error}")))?;
    given.nothing_left(|field| {
        why_not(field, around.network)
            .unwrap_or_else(|| format!("has no effect: {name} decides that itself; leave it out"))
    })?;
    Ok((name.clone(), size, Carrier::Hosted(Hosted { stack, wish, name })))
}

/// The fields of a flow that the stack with this `cc` decides itself; `None` if narrows-hosts knows
/// no such stack.
pub(crate) fn decided_by(cc: &str) -> Option<Vec<String>> {
    let name = cc.split(':').next().unwrap_or_default().trim();
    if !KNOWN.contains(&name) {
        return None;
    }
    let own = Flow::FIELDS.iter().filter(|(_, of)| !of.contains(&Of::Stack));
    Some(own.map(|(field, _)| (*field).to_owned()).collect())
}

impl Hosted {
    /// True if the data ends.
    pub fn is_finite(&self) -> bool {
        self.wish.transfer.bytes.is_some()
    }

    /// The ends of flow `number`, whose randomness comes from `seed`, and whose log goes to `qlog`.
    pub fn ends(
        &self,
        (seed, number): (u64, u64),
        packet: PacketSize,
        qlog: Option<PathBuf>,
    ) -> Result<HostedEnds, String> {
        let transfer = Transfer { seed, qlog, ..self.wish.transfer.clone() };
        let wish = Wish { transfer, ..self.wish.clone() };
        let (near, far) = self.stack.ends(&wish)?;
        Ok(HostedEnds {
            near,
            far,
            name: format!("flow {number}, {}", self.name),
            packet: packet.payload() as u32,
            finite: self.is_finite(),
            ecn: self.wish.ecn,
        })
    }
}
