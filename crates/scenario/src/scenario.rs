//! A scenario as people write it: the types behind TOML files, Python's keywords and the JSON
//! schema.

use crate::ScenarioError;
use narrows_units::{Buffer, Bytes, Duration, Probability, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One experiment. Exactly one of `dumbbell`, `parking_lot`, `chain` and `links` says what the
/// network is.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where all randomness comes from.
    #[serde(default = "one")]
    pub seed: u64,
    /// Simulated time, like "60s".
    #[serde(default = "sixty_seconds")]
    #[schemars(with = "String")]
    pub duration: Duration,
    /// The measured window begins here: a quarter of the duration unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub warmup: Option<Duration>,
    /// The TCP's habits: "linux" or "ns2".
    #[serde(default)]
    pub tcp: TcpName,
    /// A data packet on the wire, headers included: "1500B" unless given, "1000B" with ns2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub packet: Option<Bytes>,
    /// Between samples of windows and queues: a thousandth of the duration unless given; "0s" for
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sample: Option<Duration>,
    /// The base RTT that "bdp" means, for a network of `links`; the presets know theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rtt: Option<Duration>,
    /// One bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<Dumbbell>,
    /// Equal bottlenecks in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parking_lot: Option<ParkingLot>,
    /// Different links in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// Any network: its nodes are those that the links name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Who sends.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// What to write down packet by packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// The preset `dumbbell`: routers "left" and "right", the links "bottleneck" and "reverse" between
/// them.
///
/// Each access link takes a twentieth of the RTT one way, the bottleneck the rest.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// The bottleneck's rate, like "1Gbps".
    #[schemars(with = "String")]
    pub rate: Rate,
    /// Base round-trip time of the first flow, without queues and transmission.
    #[schemars(with = "String")]
    pub rtt: Duration,
    /// Each further flow's RTT is longer by this.
    #[serde(default)]
    #[schemars(with = "String")]
    pub rtt_step: Duration,
    /// The bottleneck's buffer: "20p", "30kB", "5ms", "0.5bdp".
    #[schemars(with = "String")]
    pub buffer: Buffer,
    /// The queue, on the way back too where data flows that way: "drop-tail", "red:min=5", "codel",
    /// "fq-codel", "xcp", "gwa-rr" …; `narrows list queues` has all.
    #[serde(default = "drop_tail", skip_serializing_if = "is_drop_tail")]
    pub queue: String,
    /// The buffer of the way back: as `buffer` where data flows that way, else unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reverse_buffer: Option<Buffer>,
    /// The rate of the access links.
    #[serde(default = "hundred_gigabits")]
    #[schemars(with = "String")]
    pub access_rate: Rate,
    /// ECN-capable packets that find so much in the queue are marked (DCTCP's K), like "20p";
    /// nothing is marked unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mark: Option<Buffer>,
    /// Packets lost on the bottleneck's wire, each with this probability, like "0.1%".
    #[serde(default)]
    #[schemars(with = "String")]
    pub loss: Probability,
    /// With `loss`: the mean length of a burst of losses in packets (Gilbert and Elliott); 1 for
    /// independent losses.
    #[serde(default = "one_packet")]
    pub loss_burst: f64,
    /// The bottleneck's delay varies uniformly by up to this.
    #[serde(default)]
    #[schemars(with = "String")]
    pub jitter: Duration,
    /// Whether jitter lets packets overtake.
    #[serde(default)]
    pub reorder: bool,
}

/// The preset `parking_lot`: equal links "link1", "link2", … in a row. A flow goes over all, or
/// `over` a part.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// How many bottlenecks.
    pub hops: u32,
    /// The rate of each.
    #[schemars(with = "String")]
    pub rate: Rate,
    /// One-way delay of each.
    #[schemars(with = "String")]
    pub delay: Duration,
    /// The buffer of each, both ways; "bdp" is of the RTT over all of them.
    #[schemars(with = "String")]
    pub buffer: Buffer,
    /// The queue of each, both ways: "drop-tail", "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr"
    /// …; `narrows list queues` has all.
    #[serde(default = "drop_tail", skip_serializing_if = "is_drop_tail")]
    pub queue: String,
    /// One-way delay of each access link.
    #[serde(default)]
    #[schemars(with = "String")]
    pub access_delay: Duration,
    /// The rate of the access links.
    #[serde(default = "hundred_gigabits")]
    #[schemars(with = "String")]
    pub access_rate: Rate,
}

/// The preset `chain`: the given links in a row, "link1", "link2", … A flow goes over all, or
/// `over` a part.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The links, both ways alike.
    pub hops: Vec<ChainLink>,
    /// One-way delay of each access link.
    #[serde(default)]
    #[schemars(with = "String")]
    pub access_delay: Duration,
    /// The rate of the access links.
    #[serde(default = "hundred_gigabits")]
    #[schemars(with = "String")]
    pub access_rate: Rate,
}

/// A link of a [`Chain`].
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ChainLink {
    /// Its rate.
    #[schemars(with = "String")]
    pub rate: Rate,
    /// Its one-way delay.
    #[schemars(with = "String")]
    pub delay: Duration,
    /// Its buffer, both ways.
    #[schemars(with = "String")]
    pub buffer: Buffer,
    /// Its queue, both ways: "drop-tail", "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr" …;
    /// `narrows list queues` has all.
    #[serde(default = "drop_tail", skip_serializing_if = "is_drop_tail")]
    pub queue: String,
}

/// A link of a general network.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The node where it begins.
    pub from: String,
    /// The node where it ends.
    pub to: String,
    /// "from-to" unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its rate.
    #[schemars(with = "String")]
    pub rate: Rate,
    /// One-way delay.
    #[schemars(with = "String")]
    pub delay: Duration,
    /// Unlimited unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub buffer: Option<Buffer>,
    /// The queue: "drop-tail", "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr" …;
    /// `narrows list queues` has all.
    #[serde(default = "drop_tail", skip_serializing_if = "is_drop_tail")]
    pub queue: String,
    /// Whether there is the same link the other way. True.
    #[serde(default = "yes")]
    pub duplex: bool,
    /// ECN-capable packets that find so much in the queue are marked, like "20p".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mark: Option<Buffer>,
    /// Packets lost on the wire.
    #[serde(default)]
    #[schemars(with = "String")]
    pub loss: Probability,
    /// Mean length of a burst of losses in packets.
    #[serde(default = "one_packet")]
    pub loss_burst: f64,
    /// The delay varies uniformly by up to this.
    #[serde(default)]
    #[schemars(with = "String")]
    pub jitter: Duration,
    /// Whether jitter lets packets overtake.
    #[serde(default)]
    pub reorder: bool,
}

/// One flow, or `count` alike.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// A law, its settings, its recovery: "cubic", "cubic:beta=0.8", "reno+newreno"; "reno",
    /// "newreno", "sack" are Reno's law over the recovery of that name.
    #[serde(default = "cubic")]
    pub cc: String,
    /// How many of them.
    #[serde(default = "one_flow")]
    pub count: u32,
    /// When it begins.
    #[serde(default)]
    #[schemars(with = "String")]
    pub start: Duration,
    /// Each begins up to this later, uniformly.
    #[serde(default = "hundred_milliseconds")]
    #[schemars(with = "String")]
    pub start_spread: Duration,
    /// Exact starts, one for each of `count`, instead of `start` and `start_spread`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub starts: Vec<Duration>,
    /// When it offers no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub stop: Option<Duration>,
    /// Payload to send; endless unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub size: Option<Bytes>,
    /// The application offers payload at this rate only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub app_rate: Option<Rate>,
    /// The application offers a packet at a time, at exponential gaps of this mean, like "100ms".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub telnet: Option<Duration>,
    /// Files instead, one after the other, each over a new connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// A web user instead: thinks, asks for pages and what is embedded in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<Web>,
    /// Spacing of packets: "none", "even" or "exponential".
    #[serde(default)]
    pub pacing: PacingName,
    /// "standard", "limited" or "hystart++"; unless given, hystart++ for cubic with linux habits,
    /// else standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStartName>,
    /// RFC 3742's max_ssthresh in packets, with limited slow start; 0 means standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ssthresh: Option<f64>,
    /// Packets at which slow start ends at first; no threshold unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<f64>,
    /// ECN as RFC 3168 has it; laws that want marks, like dctcp, ask for their own kind.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ecn: bool,
    /// The habits of this flow, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpName>,
    /// Packets before the first acknowledgement: the habit's unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<f64>,
    /// The receiver's window; unlimited unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub max_window: Option<Buffer>,
    /// RFC 7323's timestamps: the habit's unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Proportional rate reduction in a SACK recovery: the habit's unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prr: Option<bool>,
    /// Linux 2.6.22's rate halving in place of that, as ns-2 has it: the window is this share of
    /// the threshold until a recovery is over, and slow start makes up the rest; 0.5 for laws with
    /// Reno's min_cwnd, 1 for those without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_halving: Option<f64>,
    /// Each time it may send it waits up to this, uniformly: breaks phase effects.
    #[serde(default)]
    #[schemars(with = "String")]
    pub overhead: Duration,
    /// Packets that leave together, as segmentation offload makes them.
    #[serde(default = "one_flow")]
    pub quantum: u32,
    /// One acknowledgement for so many packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_every: Option<u32>,
    /// The longest an acknowledgement waits; alone, acknowledgements are bunched by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub ack_delay: Option<Duration>,
    /// With E-TCP: sends again what was lost. True.
    #[serde(default = "yes")]
    pub reliable: bool,
    /// A packet on the wire, where it differs from the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub packet: Option<Bytes>,
    /// Datagrams at `app_rate` that nobody answers, instead of TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// With datagrams: sends for so long …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub on: Option<Duration>,
    /// … then is silent for so long, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub off: Option<Duration>,
    /// Whether these are means of exponential periods: "fixed" or "exponential".
    #[serde(default)]
    pub periods: PeriodsName,
    /// In a dumbbell: from right to left.
    #[serde(default)]
    pub reverse: bool,
    /// In a preset: its base RTT, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rtt: Option<Duration>,
    /// In a preset: the base RTTs of `count` flows are spread evenly from the first's to so much
    /// more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rtt_spread: Option<Duration>,
    /// In a row: the first and the last link, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<(u32, u32)>,
    /// In a general network: the sender's node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// In a general network: the receiver's node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// A web user. Distributions are in `crates/sim/src/web.rs`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Mean time between a page and the next.
    #[serde(default = "forty_seconds")]
    #[schemars(with = "String")]
    pub think: Duration,
    /// Sizes of objects are so many times those of the web of 2000.
    #[serde(default = "one_packet")]
    pub size_factor: f64,
    /// Share of new connections that stay open for several pages, like "15%".
    #[serde(default)]
    #[schemars(with = "String")]
    pub persistent: Probability,
}

/// Files of Pareto-distributed sizes, with exponential silence between them (Katabi, Handley,
/// Rohrs, SIGCOMM 2002, §5.2.3).
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Mean size in packets.
    #[serde(default = "thirty_packets")]
    pub mean: f64,
    /// Pareto's shape, above 1.
    #[serde(default = "one_point_three_five")]
    pub shape: f64,
    /// Mean silence between the end of a file and the next.
    #[schemars(with = "String")]
    pub off: Duration,
}

/// What to write down packet by packet.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Links whose packets go to a pcapng file, by name.
    #[serde(default)]
    pub links: Vec<String>,
    /// Flows whose recovery goes to a qlog file, by number from 0.
    #[serde(default)]
    pub flows: Vec<u32>,
}

/// A TCP's habits.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum TcpName {
    /// The papers'.
    Ns2,
    /// Today's.
    #[default]
    Linux,
}

/// Spacing of packets.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum PacingName {
    /// As the window allows, unless the law paces itself.
    #[default]
    None,
    /// A window a round trip, evenly.
    Even,
    /// A window a round trip, with exponential gaps.
    Exponential,
}

impl PacingName {
    /// As in a scenario.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Even => "even",
            Self::Exponential => "exponential",
        }
    }
}

/// A slow start.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
pub enum SlowStartName {
    /// RFC 5681.
    #[serde(rename = "standard")]
    Standard,
    /// RFC 3742.
    #[serde(rename = "limited")]
    Limited,
    /// RFC 9406.
    #[serde(rename = "hystart++")]
    HyStart,
}

/// How long a datagram source sends and is silent.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum PeriodsName {
    /// Always as long.
    #[default]
    Fixed,
    /// Exponentially distributed.
    Exponential,
}

/// The gaps of a datagram source.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Datagrams {
    /// All alike.
    Constant,
    /// Exponential.
    Poisson,
}

fn one() -> u64 {
    1
}
fn one_flow() -> u32 {
    1
}
fn one_packet() -> f64 {
    1.0
}
fn drop_tail() -> String {
    "drop-tail".to_owned()
}
fn is_drop_tail(queue: &str) -> bool {
    queue == drop_tail()
}
fn yes() -> bool {
    true
}
fn is_false(switch: &bool) -> bool {
    !switch
}
fn thirty_packets() -> f64 {
    30.0
}
fn one_point_three_five() -> f64 {
    1.35
}
fn cubic() -> String {
    "cubic".to_owned()
}
fn forty_seconds() -> Duration {
    Duration::from_millis(40_000)
}
fn sixty_seconds() -> Duration {
    Duration::from_millis(60_000)
}
fn hundred_milliseconds() -> Duration {
    Duration::from_millis(100)
}
fn hundred_gigabits() -> Rate {
    Rate::from_megabits(100_000)
}

impl Scenario {
    /// Reads a TOML file's text. The error names the path and shows the line.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let parsed = toml::Deserializer::parse(text)
            .map_err(|error| ScenarioError::new("", error.to_string().trim_end()))?;
        let read = serde_path_to_error::deserialize(parsed);
        read.map_err(|error: serde_path_to_error::Error<toml::de::Error>| {
            read_error(error.path(), error.inner().to_string())
        })
    }

    /// Reads JSON text, as Python and the browser send it.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let read = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text));
        read.map_err(|error| read_error(error.path(), without_position(error.inner())))
    }

    /// Writes it as TOML, every default spelled out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario's types all have a TOML form")
    }

    /// The JSON schema of a scenario.
    pub fn schema() -> String {
        serde_json::to_string_pretty(&schemars::schema_for!(Self)).expect("a schema is JSON")
    }
}

/// serde_json counts lines and columns of a text that a program wrote and nobody sees.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

fn read_error(place: &serde_path_to_error::Path, message: String) -> ScenarioError {
    let (place, mut message) = (place.to_string(), message.trim_end().to_owned());
    if message.contains("unknown field `delay`") {
        message += "\na dumbbell has an rtt, there and back, not a one-way delay: rtt = \"100ms\"";
    }
    ScenarioError::new(if place == "." { String::new() } else { place }, message)
}
