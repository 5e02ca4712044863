//! What a scenario asks of real connections between two network namespaces, or why a kernel cannot
//! do it.

use crate::connection::{Connection, Sends};
use crate::flow::Over;
use crate::scenario::Scenario;
use crate::{Checked, ScenarioError};
use narrows_router::Discipline;
use narrows_units::{Duration, Stream, Time};
use serde_json::Value;

/// A connection of this machine's kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct RealFlow {
    /// The kernel's name of its congestion control.
    pub cc: String,
    /// When it asks for the connection.
    pub start: Time,
    /// When its application stops; never if it does not.
    pub stop: Time,
    /// Bytes of payload; `None` for data without an end.
    pub bytes: Option<u64>,
    /// Delay each way, without queues and transmission.
    pub delay: Duration,
}

/// What a flow may say; the rest of its fields describe a simulated host.
const FLOW: [&str; 7] = ["cc", "count", "start", "starts", "start_spread", "stop", "size"];
/// What the dumbbell and the scenario may not say, and why.
const REFUSED: [(&str, &str, &str); 4] = [
    ("dumbbell", "access_rate", "hosts have no links of their own in a lab; leave it out"),
    ("dumbbell", "loss_burst", "a lab loses packets one by one; leave it out"),
    ("dumbbell", "reorder", "a lab keeps the order of packets; leave it out"),
    ("", "trace", "a lab writes no traces; leave it out"),
];

/// The connections that `scenario` asks for under `seed`, with those congestion controls that are
/// `loaded`. Fails if a kernel cannot do it, or if the network is not a dumbbell.
pub fn real_flows(
    scenario: &Scenario,
    checked: &Checked,
    seed: u64,
    loaded: &[String],
) -> Result<Vec<RealFlow>, ScenarioError> {
    if scenario.dumbbell.is_none() {
        let message = "a lab has one bottleneck; write [dumbbell]";
        return Err(ScenarioError::new("dumbbell", message));
    }
    if scenario.tcp == Some(crate::TcpName::Ns2) {
        let message = "a kernel has its own habits, and not those of ns-2; leave it out";
        return Err(ScenarioError::new("tcp", message));
    }
    let written = serde_json::to_value(scenario).expect("a scenario was read from such a value");
    if let Some((part, field, why)) = REFUSED.iter().find(|it| says(&written, it.0, it.1)) {
        let place = if part.is_empty() { (*field).to_owned() } else { format!("{part}.{field}") };
        return Err(ScenarioError::new(place, *why));
    }
    if let Some(Discipline::Xcp(_) | Discipline::Gwa(_) | Discipline::Ba(_)) =
        checked.links.first().map(|link| link.queue)
    {
        let message = "answers what packets ask, and a kernel's ask nothing; try \"fq-codel\"";
        return Err(ScenarioError::new("dumbbell.queue", message));
    }
    let mut flows = Vec::new();
    for (group, flow) in checked.flows.iter().enumerate() {
        let place = |field: &str| format!("flows[{group}].{field}");
        let fields = written["flows"][group].as_object();
        let unknown = |field: &&String| !FLOW.contains(&field.as_str());
        if let Some(field) = fields.into_iter().flat_map(|it| it.keys()).find(unknown) {
            let message = "is of simulated hosts; a kernel's connection cannot do it: leave it out";
            return Err(ScenarioError::new(place(field), message));
        }
        let Over::Connection(connection) = &flow.over else {
            return Err(ScenarioError::new(place("datagrams"), "a lab has connections only"));
        };
        let cc = kernel_name(&flow.cc, loaded).map_err(|it| ScenarioError::new(place("cc"), it))?;
        let bytes = payload(connection, flow.packet.payload());
        for (index, attachment) in flow.attachments.iter().enumerate() {
            // The same starts as those of the simulator.
            let mut random = Stream::new(seed, crate::build::START_STREAMS, flows.len() as u64);
            flows.push(RealFlow {
                cc: cc.clone(),
                start: flow.start(index, random.uniform()),
                stop: flow.stop,
                bytes,
                delay: attachment.base_rtt.scale(0.5),
            });
        }
    }
    Ok(flows)
}

fn payload(connection: &Connection, full: u64) -> Option<u64> {
    match connection.sends {
        Sends::Packets { count, last_payload } => Some((count - 1) * full + last_payload),
        _ => None,
    }
}

/// Whether a scenario, or its part called `part`, says `field`.
fn says(written: &Value, part: &str, field: &str) -> bool {
    let fields = if part.is_empty() { written } else { &written[part] };
    !fields[field].is_null()
}

/// The kernel's name of the law `cc`, if it is loaded.
fn kernel_name(cc: &str, loaded: &[String]) -> Result<String, String> {
    let name = match cc.strip_suffix("+sack").unwrap_or(cc) {
        "sack" => "reno",
        "bbr1" => "bbr",
        "bbr" => return Err("\"bbr\" is version 3, and Linux's bbr is \"bbr1\"".to_owned()),
        other => other,
    };
    if loaded.iter().any(|it| it == name) {
        Ok(name.to_owned())
    } else {
        Err(format!("\"{cc}\" is not a law of this kernel; it has: {}", loaded.join(", ")))
    }
}
