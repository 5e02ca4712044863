//! What a scenario asks of real connections between two network namespaces, or why a kernel cannot
//! do it.

use crate::connection::Connection;
use crate::connection::Sends;
use crate::flow::Over;
use crate::scenario::Scenario;
use crate::{Checked, ScenarioError};
use narrows_units::{Duration, Stream, Time};

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

/// The kernel's name of each law that is the same.
const KERNELS: [(&str, &str); 12] = [
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bbr1", "bbr"),
    ("bic", "bic"),
    ("dctcp", "dctcp"),
    ("highspeed", "highspeed"),
    ("htcp", "htcp"),
    ("illinois", "illinois"),
    ("scalable", "scalable"),
    ("vegas", "vegas"),
    ("westwood", "westwood"),
    ("yeah", "yeah"),
];

/// What a flow may say; the rest of its fields describe a simulated host.
const FLOW: [&str; 8] = ["cc", "count", "start", "starts", "start_spread", "stop", "size", "ecn"];

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
    let written = serde_json::to_value(scenario).unwrap_or_default();
    let mut flows = Vec::new();
    for (group, flow) in checked.flows.iter().enumerate() {
        let place = |field: &str| format!("flows[{group}].{field}");
        let fields = written["flows"][group].as_object();
        let known = |field: &&String| !FLOW.contains(&field.as_str());
        if let Some(field) = fields.into_iter().flat_map(|it| it.keys()).find(known) {
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
            let random = Stream::new(seed, crate::build::START_STREAMS, flows.len() as u64);
            flows.push(RealFlow {
                cc: cc.clone(),
                start: flow.start(index, random.clone().uniform()),
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

/// The kernel's name of the law `cc`, if it is loaded.
fn kernel_name(cc: &str, loaded: &[String]) -> Result<String, String> {
    let law = if cc == "sack" { "reno" } else { cc.strip_suffix("+sack").unwrap_or(cc) };
    let named = KERNELS.iter().find(|(ours, _)| *ours == law).map(|(_, name)| (*name).to_owned());
    let known = loaded.join(", ");
    let Some(name) = named else {
        return Err(format!("\"{cc}\" is not a law of this kernel; it has: {known}"));
    };
    if !loaded.contains(&name) {
        return Err(format!("the kernel has no \"{name}\" loaded; it has: {known}"));
    }
    Ok(name)
}
