//! What is judged, and as what.

use narrows_scenario::ControllerSpec;
use serde_json::{Value, json};

/// Before the name of a congestion control of this machine's kernel.
const KERNEL: &str = "kernel:";

/// What a controller is to be: what must hold of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// RFC 5681, and over QUIC RFC 9002, §7.
    Reno,
    /// RFC 9438.
    Cubic,
    /// draft-ietf-ccwg-bbr, version 3.
    Bbr,
    /// Linux's `bbr`, version 1.
    Bbr1,
    /// RFC 8257.
    Dctcp,
    /// draft-briscoe-iccrg-prague-congestion-control, for RFC 9331.
    Prague,
    /// Whatever it is: what RFCs ask of every controller.
    Any,
}

impl Profile {
    /// Each with its names, the usual one first.
    const NAMES: [(Self, &[&str]); 7] = [
        (Self::Reno, &["reno", "newreno", "new_reno", "sack", "quic"]),
        (Self::Cubic, &["cubic"]),
        (Self::Bbr, &["bbr", "bbr3", "bbr2"]),
        (Self::Bbr1, &["bbr1"]),
        (Self::Dctcp, &["dctcp"]),
        (Self::Prague, &["prague"]),
        (Self::Any, &["any"]),
    ];

    /// The profile called `name`. Fails if there is none.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = Self::NAMES.iter().find(|(_, names)| names.contains(&name));
        known.map(|(profile, _)| *profile).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(_, names)| names[0]).collect();
            format!("--as: there is no profile \"{name}\"; known: {}", names.join(", "))
        })
    }

    /// The profile that a `cc` like `cubic+quic` or `quinn:cubic` names.
    fn of(cc: &str) -> Self {
        let (first, rest) = cc.split_once(':').unwrap_or((cc, ""));
        let law = |text: &str| text.split(['+', ':']).next().unwrap_or_default().to_owned();
        // Linux's is version 1.
        if (first, rest) == ("kernel", "bbr") {
            return Self::Bbr1;
        }
        let own = Self::named(&law(first)).ok();
        own.or_else(|| Self::named(&law(rest)).ok()).unwrap_or(Self::Any)
    }

    /// Its usual name.
    pub fn as_str(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(profile, _)| *profile == self);
        known.map_or("", |(_, names)| names[0])
    }

    /// Whether it answers a loss with a smaller window.
    pub fn reduces(self) -> bool {
        matches!(self, Self::Reno | Self::Cubic)
    }

    /// Whether it is one of BBR's.
    pub fn is_bbr(self) -> bool {
        matches!(self, Self::Bbr | Self::Bbr1)
    }
}

/// What carries the controller, which decides what RFCs ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// RFC 9293.
    Tcp,
    /// RFC 9000.
    Quic,
    /// E-TCP, of its paper.
    Etcp,
}

impl Transport {
    const ALL: [(Self, &str); 3] = [(Self::Tcp, "tcp"), (Self::Quic, "quic"), (Self::Etcp, "etcp")];

    /// The one called `name`, of those that stacks of others have. Fails if there is none.
    pub fn named(name: &str) -> Result<Self, String> {
        let known =
            Self::ALL.iter().find(|(transport, known)| *known == name && *transport != Self::Etcp);
        let wrong = || format!("--transport: \"{name}\" is none; try tcp or quic");
        known.map(|(transport, _)| *transport).ok_or_else(wrong)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(transport, _)| *transport == self).map_or("", |(_, name)| name)
    }
}

/// A flow whose controller is judged.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The flow's `cc`, like `cubic`, `cubic+quic` or `quinn:cubic`.
    pub cc: String,
    /// What must hold of it.
    pub profile: Profile,
    /// What carries it.
    pub transport: Transport,
    /// Other fields of the flow.
    pub fields: Vec<(String, Value)>,
}

impl Subject {
    /// The flow with this `cc`, to be judged as the profile of a name; as what its own name says if
    /// none is given. Fails if there is no such profile.
    pub fn new(cc: &str, profile: Option<&str>) -> Result<Self, String> {
        let profile = profile.map_or_else(|| Ok(Profile::of(cc)), Profile::named)?;
        let name = cc.split(':').next().unwrap_or_default();
        let is_quic = ["quinn", "noq", "s2n"].contains(&name)
            || cc.split(['+', ':']).any(|part| part == "quic");
        let transport = if is_quic {
            Transport::Quic
        } else if ControllerSpec::parse(cc, &[]).is_ok_and(|spec| spec.over_etcp()) {
            Transport::Etcp
        } else {
            Transport::Tcp
        };
        Ok(Self { cc: cc.to_owned(), profile, transport, fields: Vec::new() })
    }

    /// Whether it is Reno over TCP: of it RFC 5681 asks what RFC 9438 and RFC 9002 do not, and the
    /// other way about.
    pub(crate) fn is_reno_over_tcp(&self) -> bool {
        (self.transport, self.profile) == (Transport::Tcp, Profile::Reno)
    }

    /// The same with another field of its flow, like `initial_window`.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.push((field.to_owned(), value.into()));
        self
    }

    /// The same over another transport.
    #[must_use]
    pub fn over(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// The congestion control's name in this machine's kernel; `None` of what is simulated.
    pub fn of_kernel(&self) -> Option<&str> {
        self.cc.strip_prefix(KERNEL)
    }

    /// Its flow, as a scenario has it.
    pub(crate) fn flow(&self) -> Value {
        self.with_fields(json!({ "cc": self.cc, "from": "sender", "to": "receiver" }))
    }

    /// Its flow in a lab, where Linux's `bbr` is called `bbr1`.
    pub(crate) fn real_flow(&self) -> Value {
        let cc = match self.of_kernel() {
            Some("bbr") => "bbr1",
            Some(name) => name,
            None => &self.cc,
        };
        self.with_fields(json!({ "cc": cc, "quantum": 1, "start_spread": "0s" }))
    }

    fn with_fields(&self, mut flow: Value) -> Value {
        for (field, value) in &self.fields {
            flow[field] = value.clone();
        }
        flow
    }
}
