//! Flows as written.

use super::names::names;
use super::written::written;
use narrows_units::{Buffer, Bytes, Duration, Frequency, Probability, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// What a field counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Our TCP.
    Tcp,
    /// Our TCP with a SACK recovery only.
    Sack,
    /// What may leave in a SACK recovery, which some laws decide themselves.
    Metering,
    /// Our QUIC.
    Quic,
    /// E-TCP's transport.
    Etcp,
    /// Datagrams.
    Datagrams,
    /// Stacks that others wrote.
    Stack,
    /// Connections of this machine's kernel.
    Kernel,
}

/// Declares the fields of a flow, each of which may be given, with what it counts for.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $($(#[$field_meta:meta])* $field:ident: $Type:ty => $($of:ident)+,)*
        }
    ) => {
        written! {
            $(#[$meta])*
            pub struct $Name {
                required {}
                optional { $($(#[$field_meta])* $field: $Type,)* }
            }
        }

        impl $Name {
            /// Each field, with what it counts for.
            pub(crate) const FIELDS: &[(&str, &[Of])] =
                &[$((stringify!($field), &[$(Of::$of),+])),*];

            /// The fields that are given.
            pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
                let given = [$((stringify!($field), self.$field.is_some())),*];
                given.into_iter().filter_map(|(field, is_given)| is_given.then_some(field))
            }

            /// Whether a field counts for something.
            pub(crate) fn counts_for(field: &str, what: Of) -> bool {
                let mut fields = Self::FIELDS.iter();
                fields.any(|(name, of)| *name == field && of.contains(&what))
            }
        }
    };
}

fields! {
    /// One flow, or a group of `count` identical flows.
    pub struct Flow {
        /// A law, its settings, its recovery: "cubic" (the default), "cubic:beta=0.8",
        /// "reno+newreno", "cubic+quic"; "newreno", "sack", "quic" are Reno's law over the
        /// recovery of that name, the last of which is QUIC's instead of TCP's. "reno" is over
        /// SACK, as in Linux; "reno+reno" is without, as ns-2 and the papers have it.
        cc: String => Tcp Quic Etcp Stack Kernel,
        /// What tables, figures and files call it, like "video"; its law unless given.
        name: String => Tcp Quic Etcp Stack Kernel,
        /// The number of such flows; 1 unless given.
        count: u32 => Tcp Quic Etcp Stack Kernel,
        /// When it begins.
        start: Duration => Tcp Quic Etcp Stack Kernel,
        /// Each begins up to this later, uniformly; "100ms" unless given.
        start_spread: Duration => Tcp Quic Etcp Stack Kernel,
        /// Exact starts, one for each of `count`, instead of `start` and `start_spread`.
        starts: Vec<Duration> => Tcp Quic Etcp Stack Kernel,
        /// When it offers no more.
        stop: Duration => Tcp Quic Etcp Stack Kernel,
        /// Exact stops, the last of the `count` flows first; those without one go on, or to `stop`.
        stops: Vec<Duration> => Tcp Quic Etcp Stack Kernel,
        /// Payload to send; endless unless given.
        size: Bytes => Tcp Quic Etcp Stack Kernel,
        /// An application that makes its data at a rate of its own, now and then in silence; the
        /// delay of its packets is measured.
        app: App => Tcp Quic Etcp Datagrams Kernel,
        /// Payload that the application offers at these times of the run instead:
        /// [{ at = "0s", bytes = "100kB" }, { at = "10s" }]. Our own senders wait until a packet is
        /// full, and round the last one up.
        offers: Vec<Offer> => Tcp Quic Etcp Stack,
        /// The application offers one packet at a time, at exponential gaps of this mean, like
        /// "100ms".
        telnet: Duration => Tcp Quic Etcp,
        /// Files instead, one after the other, each over a new connection.
        files: Files => Tcp Quic Etcp,
        /// Transfers that arrive at random instead, each over a new connection of the next flow of
        /// the group that is idle; `count` is the most at a time, 1000 unless given.
        arrivals: Arrivals => Tcp Quic Etcp,
        /// Answers to queries instead, each flow's at the same time: incast.
        incast: Incast => Tcp Quic Etcp,
        /// A web user instead, who thinks, asks for pages and for what is embedded in them.
        web: Web => Tcp Quic Etcp,
        /// Spacing of packets: "none"; "even", "exponential" or "uniform", a window per round
        /// trip; "fq", as TCP over Linux's fq; "westwood", by Westwood's bandwidth share, which
        /// then grows by 2.5 % a round trip at the most; "four-hop", by the delay of four hops:
        /// two packets in a round trip over up to four links. Over QUIC unless given as RFC
        /// 9002 recommends.
        pacing: PacingName => Tcp Quic Etcp,
        /// With even pacing over TCP: tokens that pile up while nothing leaves, and then leave
        /// together; they come in at a window per round trip.
        pacing_bucket: u32 => Tcp,
        /// The receiver spaces acknowledgements: those of a round trip evenly over the next.
        ack_pacing: bool => Tcp,
        /// "standard", "limited", "hystart" (Linux's, by trains of acknowledgements and delay)
        /// or "hystart++" (RFC 9406); unless given, hystart for cubic with Linux's habits (but not
        /// linux24's), else standard.
        slow_start: SlowStartName => Tcp Quic Etcp,
        /// RFC 3742's max_ssthresh in packets, with limited slow start; 100 unless given. Given
        /// alone, it also chooses limited slow start; 0 alone is as if not given.
        max_ssthresh: f64 => Tcp Quic Etcp,
        /// The window in packets at which the first slow start ends; no threshold unless given.
        ssthresh: f64 => Tcp Quic Etcp,
        /// ECN as in RFC 3168; laws that need marks, like dctcp, ask for their own kind.
        ecn: bool => Tcp Quic Stack Kernel,
        /// With ECN: retransmissions are ECN-capable, too, as RFC 2481 lets them and ns-2 has
        /// them; RFC 3168 forbids it. They are not unless true.
        ecn_retransmit: bool => Tcp,
        /// The habits of this flow, if they differ from the scenario's.
        tcp: TcpName => Tcp Etcp,
        /// Packets before the first acknowledgement; the habit's unless given.
        initial_window: f64 => Tcp Quic Etcp,
        /// The receiver's window; unlimited unless given.
        max_window: Buffer => Tcp Quic,
        /// The sender's buffer, in bytes of memory, as Linux counts it: the last number of
        /// tcp_wmem, or twice SO_SNDBUF. An application that finds no room, or has written
        /// `write_size`, goes on once a third of it is free. Unlimited unless given.
        send_buffer: Bytes => Tcp,
        /// With `send_buffer`: how much payload the application writes when it finds room, before
        /// it asks again, like "1310720B", iperf3's ten times 128 kB; all that it may unless given.
        write_size: Bytes => Tcp,
        /// RFC 7323's timestamps; the habit's unless given.
        timestamps: bool => Tcp Etcp,
        /// The clock of the retransmission timer and of RTT samples, which are whole ticks of
        /// it, as with ns-2's tcpTick_: pacing and a law that asks for RTTs have them so, too,
        /// as ns-2's XCP does. The habit's unless given: exact samples, and a timer's clock of
        /// 10 ms with ns2 and of 1 ms with linux; whole ticks of 10 ms with linux24 and of 100 ms
        /// with ns2-2000.
        tick: Duration => Tcp,
        /// With `tick`: the RTT estimate is kept in whole eighths and its variation in whole
        /// quarters of a tick, as in ns-2 and BSD, so that the timeout stays at three ticks or
        /// more; they are exact unless true.
        tick_integers: bool => Tcp,
        /// The retransmission timeout before the first RTT sample; the habit's unless given.
        initial_rto: Duration => Tcp Etcp,
        /// The least retransmission timeout, or with linux habits what it is longer than the
        /// smoothed RTT at least; the habit's unless given.
        min_rto: Duration => Tcp Etcp,
        /// Each of the first two duplicate acknowledgements lets a new packet leave (RFC 3042);
        /// the habit's unless given. A SACK recovery counts what has arrived instead.
        limited_transmit: bool => Tcp,
        /// The window grows by packets acknowledged (RFC 3465), or if false by acknowledgements
        /// (RFC 5681), as in Linux 2.4; the habit's unless given.
        abc: bool => Tcp,
        /// Proportional rate reduction in a SACK recovery; the habit's unless given.
        prr: bool => Tcp Sack Metering,
        /// RACK (RFC 8985): losses are found by time in a SACK recovery; the habit's unless
        /// given.
        rack: bool => Tcp Sack,
        /// With `rack`: tail loss probes (RFC 8985 §7); the habit's unless given.
        tlp: bool => Tcp Sack,
        /// With `rack`: needless timeouts are found out by new data (RFC 5682); the habit's
        /// unless given.
        frto: bool => Tcp Sack,
        /// The receiver reports packets that arrive again (RFC 2883); the habit's unless given.
        dsack: bool => Tcp Sack,
        /// The receiver puts acknowledgements of data out of order together for up to 1 ms, as
        /// Linux's does; the habit's unless given.
        sack_compression: bool => Tcp Sack,
        /// Each connection begins with a handshake; the habit's unless given.
        handshake: bool => Tcp Quic,
        /// A window grows only if it was full in the round trip, in slow start if half of it
        /// was used, and shrinks after a timeout without use (RFC 7661); the habit's unless
        /// given.
        cwnd_validation: bool => Tcp,
        /// The window falls after a silence, as the habit has it; Linux's sysctl of that name;
        /// it does unless false.
        slow_start_after_idle: bool => Tcp,
        /// Linux 2.6.22's rate halving in a SACK recovery, as ns-2 has it, instead of `prr`:
        /// the window is this share of the threshold until the recovery is over, and slow start
        /// makes up the rest; 0.5 for laws with Reno's min_cwnd, 1 for those without.
        rate_halving: f64 => Tcp Sack Metering,
        /// With `rate_halving`: the packets in flight stay as many as before until the recovery
        /// is over, as ns-2's do whenever `overhead_` delays a departure.
        halving_stalls: bool => Tcp Sack Metering,
        /// Each time it may send it waits up to this, uniformly, as with ns-2's `overhead_`.
        overhead: Duration => Tcp Quic Etcp,
        /// What the hosts at both ends are like; ideal unless given: they see everything when
        /// it happens. A name alone, like "mine", is the `stack` of an ideal host.
        host: HostField => Tcp Quic Etcp Stack,
        /// Packets that leave together, as segmentation offload makes them: a number, or
        /// "auto", a millisecond at the flow's rate, as Linux does; "auto" over TCP with linux
        /// habits unless given, else 1.
        quantum: QuantumField => Tcp Quic Kernel,
        /// One acknowledgement for this many packets, or "gro", for what a receiver with
        /// generic receive offload takes as one: up to 64 kB within 50 µs.
        ack_every: AckEvery => Tcp Quic,
        /// The longest an acknowledgement may be delayed. Without `ack_every`, acknowledgements
        /// are sent at this interval only.
        ack_delay: Duration => Tcp Quic,
        /// An acknowledgement on the wire; as many bytes as a data packet's headers unless
        /// given. ns-2's have 40 even with timestamps.
        ack_size: Bytes => Tcp Etcp,
        /// With E-TCP: whether it sends again what was lost; it does unless false.
        reliable: bool => Etcp,
        /// With E-TCP: instead of sending lost data again, it sends symbols of a RaptorQ code
        /// (RFC 6330) over blocks of this many packets, like 1000.
        raptorq: u32 => Etcp,
        /// With E-TCP: headers have a checksum of their own, so that what a link's `loss` does
        /// to its packets is damage to their payload. The receiver then tells it from losses in
        /// queues, and congestion control does not answer it.
        header_checksum: bool => Etcp,
        /// A packet on the wire, if it differs from the scenario's.
        packet: Bytes => Tcp Quic Etcp Stack,
        /// Datagrams at the rate of `app` that nobody answers, instead of TCP: "constant" or
        /// "poisson" gaps.
        datagrams: Datagrams => Datagrams Kernel,
        /// In a preset: from right to left. Between nodes: from `to` to `from`.
        reverse: bool => Tcp Quic Etcp Stack,
        /// In a preset: its base RTT, if that differs.
        rtt: Duration => Tcp Quic Etcp Stack,
        /// In a preset: the base RTTs of `count` flows are spread evenly from the first's to
        /// this much more.
        rtt_spread: Duration => Tcp Quic Etcp Stack,
        /// In a row: the first and the last link, from 1.
        over: (u32, u32) => Tcp Quic Etcp Stack,
        /// In a general network: the sender's node.
        from: String => Tcp Quic Etcp Stack,
        /// In a general network: the receiver's node.
        to: String => Tcp Quic Etcp Stack,
    }
}

impl Flow {
    /// Drops each option whose value has no effect.
    pub(super) fn drop_idle_options(&mut self) {
        let zero = |duration: &mut Duration| *duration == Duration::ZERO;
        let is_limited = self.slow_start == Some(SlowStartName::Limited);
        self.max_ssthresh.take_if(|packets| *packets == 0.0 && !is_limited);
        self.ecn.take_if(|ecn| !*ecn);
        self.ecn_retransmit.take_if(|again| !*again);
        self.ack_pacing.take_if(|paces| !*paces);
        self.tick_integers.take_if(|integers| !*integers);
        let halves = self.rate_halving.is_some();
        self.halving_stalls.take_if(|stalls| !*stalls && !halves);
        self.overhead.take_if(zero);
        if let Some(HostField::Host(host)) = &mut self.host {
            host.like.take_if(|like| *like == HostName::Ideal);
            if host.like.is_none() {
                host.tick.take_if(zero);
                host.batch.take_if(zero);
            }
            host.wait.take_if(zero);
        }
        self.host.take_if(|host| *host == HostField::Host(Host::default()));
        self.reliable.take_if(|reliable| *reliable);
        self.header_checksum.take_if(|apart| !*apart);
        if let Some(app) = &mut self.app {
            app.periods.take_if(|periods| *periods == PeriodsName::Fixed);
            app.silent.take_if(|times| times.is_empty());
        }
        self.reverse.take_if(|reverse| !*reverse);
        self.starts.take_if(|starts| starts.is_empty());
        self.stops.take_if(|stops| stops.is_empty());
    }
}

written! {
    /// An application that limits what its flow sends.
    pub struct App {
        required {
            /// The rate at which it makes payload; of datagrams, at which they leave, headers
            /// included.
            rate: Rate,
        }
        optional {
            /// The length of a period in which it makes data, like "5s".
            on: Duration,
            /// The length of the silence between two of those.
            off: Duration,
            /// Whether `on` and `off` are exact lengths, "fixed" (the default), or means of
            /// exponential ones, "exponential".
            periods: PeriodsName,
            /// Further silences, from when to when: [["8s", "13s"]].
            silent: Vec<(Duration, Duration)>,
            /// Frames per second, as of a video: what comes between two is offered together. Packet
            /// by packet unless given.
            frames: f64,
            /// With `frames`: how old a frame may be when its last packet arrives in order; "150ms"
            /// unless given. The share that is older is `late_frames` of the results.
            deadline: Duration,
        }
    }
}

written! {
    /// Payload that an application offers all at once.
    pub struct Offer {
        required {
            /// When, from the beginning of the run on.
            at: Duration,
        }
        optional {
            /// How much; without end unless given.
            bytes: Bytes,
            /// As much again after each such time.
            every: Duration,
            /// With `every`: until then; it has no end unless given.
            until: Duration,
        }
    }
}

written! {
    /// Transfers that arrive at random: a Poisson process, which is the same under every law.
    pub struct Arrivals {
        required {
            /// Their sizes, by name ("web-search", "data-mining", "hadoop", "ali-storage"),
            /// "fixed:100kB", "pareto:mean=30kB,shape=1.35", or the name of a file of lines
            /// `bytes percent`, which ends in .cdf; ":max=10MB" after any but the second leaves
            /// out all that are larger.
            sizes: String,
        }
        optional {
            /// How many there are: bits that they bring, headers included, over bits that the link
            /// `of` can carry at the rate given first (a ratio).
            load: f64,
            /// With `load`: the name of a link on their way; the slowest unless given.
            of: String,
            /// How many there are, said as a frequency: "31/s".
            rate: Frequency,
        }
    }
}

written! {
    /// Many senders answer the same queries, each over one connection.
    pub struct Incast {
        required {
            /// The answer of each flow.
            size: Bytes,
            /// The time from one query to the next; one that comes before the last answer is there
            /// waits for it.
            every: Duration,
        }
        optional {
            /// Each answer begins up to this later, uniformly.
            jitter: Duration,
        }
    }
}

written! {
    /// A web user. Distributions are in `crates/sim/src/requests.rs`.
    pub struct Web {
        required {}
        optional {
            /// Mean time between a page and the next; "40s" unless given.
            think: Duration,
            /// Sizes of objects are those of the web of 2000 times this; 1 unless given.
            size_factor: f64,
            /// Share of new connections that stay open for several pages, like "15%"; none unless
            /// given.
            persistent: Probability,
            /// Flows that are one user's connections: the page comes over the first, and then its
            /// objects over all of them at a time; 1 unless given. `count` is a multiple of it.
            connections: u32,
        }
    }
}

written! {
    /// A host that is not ideal. Sender and receiver each are such a host, with randomness of their
    /// own.
    #[derive(Default)]
    pub struct Host {
        required {}
        optional {
            /// What it is like apart from what else is said here: "ideal" unless given, or "tokio",
            /// a program on tokio's runtime.
            like: HostName,
            /// Whose stack runs on it, instead of a law of ours: the name of one that a program
            /// brings along, as narrows-lab and `nw.run` let it.
            stack: String,
            /// Its timers (pacing, retransmission, delayed acknowledgements) go off at multiples of
            /// this, counted from a random offset.
            tick: Duration,
            /// The first packet that arrives starts a batch, which is handled this much later,
            /// together with all that have arrived by then, like a network card's rx-usecs.
            batch: Duration,
            /// Mean of a further time, exponential, until what arrives is handled, since the
            /// processor is busy; it is part of each RTT, the handshake's too.
            wait: Duration,
            /// Now and then it stands still; what arrives or expires meanwhile is handled at the
            /// end, in order.
            stall: Stall,
            /// With a stack that is not ours: the time that each datagram takes its processor,
            /// sent or received.
            cpu: Duration,
            /// With `cpu`: at most so many datagrams are handed to the link together, as
            /// segmentation offload does; 10 unless given.
            train: u32,
        }
    }
}

/// The hosts of a flow as written: the name of a stack alone, or a host.
#[derive(Clone, Debug, Serialize, JsonSchema, PartialEq)]
#[serde(untagged)]
pub enum HostField {
    /// This stack on an ideal host.
    Stack(String),
    /// A host.
    Host(Host),
}

written! {
    /// How often and how long a host stands still. Both times are exponentially distributed.
    pub struct Stall {
        required {
            /// Mean time from the end of a stall to the next.
            every: Duration,
            /// Mean length of a stall.
            length: Duration,
        }
        optional {}
    }
}

written! {
    /// Files of Pareto-distributed sizes, with exponential silence between them (Katabi, Handley,
    /// Rohrs, SIGCOMM 2002, §5.2.3).
    pub struct Files {
        required {
            /// Mean silence between the end of a file and the next.
            off: Duration,
        }
        optional {
            /// Mean size in packets; 30 unless given.
            mean: f64,
            /// Pareto's shape, above 1; 1.35 unless given.
            shape: f64,
        }
    }
}

/// Declares a number of packets that may be left to a rule, by its name.
macro_rules! packets_or {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $(#[$rule_meta:meta])* $Rule:ident = $text:literal,
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            /// This many packets.
            Packets(u32),
            $(#[$rule_meta])* $Rule,
        }

        impl Serialize for $Name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Packets(packets) => serializer.serialize_u32(*packets),
                    Self::$Rule => serializer.serialize_str($text),
                }
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let packets = deserializer.deserialize_any(PacketsOr($text))?;
                Ok(packets.map_or(Self::$Rule, Self::Packets))
            }
        }

        impl JsonSchema for $Name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "anyOf": [
                        { "type": "integer", "minimum": 1, "maximum": u32::MAX },
                        { "type": "string", "const": $text },
                    ]
                })
            }
        }
    };
}

/// Reads a number of packets; `None` if the rule is named instead.
struct PacketsOr(&'static str);

impl Visitor<'_> for PacketsOr {
    type Value = Option<u32>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "a whole number of packets, like 2, or \"{}\"", self.0)
    }

    fn visit_u64<E: serde::de::Error>(self, packets: u64) -> Result<Self::Value, E> {
        let valid = u32::try_from(packets).ok().filter(|packets| *packets > 0);
        valid.map(Some).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(packets), &self))
    }

    fn visit_i64<E: serde::de::Error>(self, packets: i64) -> Result<Self::Value, E> {
        match u64::try_from(packets) {
            Ok(packets) => self.visit_u64(packets),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(packets), &self)),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        if text == self.0 {
            return Ok(None);
        }
        Err(E::invalid_value(Unexpected::Str(text), &self))
    }
}

names! {
    /// A TCP's habits.
    pub enum TcpName {
        /// ns-2.35's.
        Ns2 = "ns2",
        /// ns-2.28's, of 2005.
        Ns2Of2005 = "ns2-2005",
        /// ns-2.1b6's, of 2000.
        Ns2Of2000 = "ns2-2000",
        /// Today's Linux's.
        Linux = "linux",
        /// Linux's of versions 5 and 6 before 6.6.
        Linux5 = "linux5",
        /// Those of L4STeam's Linux 5.15.
        L4sTeam = "l4steam",
        /// Linux 2.4's, of 2004.
        Linux24 = "linux24",
    }
}

impl TcpName {
    /// Whether it is a simulator's, of any year.
    pub(crate) fn is_ns2(self) -> bool {
        matches!(self, Self::Ns2 | Self::Ns2Of2005 | Self::Ns2Of2000)
    }

    /// Whether its CUBIC has HyStart: Linux's since 2.6.29.
    pub(crate) fn has_hystart(self) -> bool {
        !self.is_ns2() && self != Self::Linux24
    }
}

names! {
    /// Spacing of packets.
    pub enum PacingName {
        /// As the window allows, unless the law paces itself.
        None = "none",
        /// A window per round trip, evenly.
        Even = "even",
        /// A window per round trip, with exponential gaps.
        Exponential = "exponential",
        /// A window per round trip, with gaps between none and twice the mean.
        Uniform = "uniform",
        /// As TCP over Linux's fq.
        Fq = "fq",
        /// By Westwood's bandwidth share.
        Westwood = "westwood",
        /// By the delay of four hops.
        FourHop = "four-hop",
    }
}

packets_or! {
    /// Packets that leave together.
    pub enum QuantumField {
        /// A millisecond at the flow's rate.
        Auto = "auto",
    }
}

packets_or! {
    /// Packets per acknowledgement.
    pub enum AckEvery {
        /// What a receiver with generic receive offload takes as one.
        Gro = "gro",
    }
}

names! {
    /// A slow start.
    pub enum SlowStartName {
        /// RFC 5681.
        Standard = "standard",
        /// RFC 3742.
        Limited = "limited",
        /// Linux's, of net/ipv4/tcp_cubic.c.
        HyStart = "hystart",
        /// RFC 9406.
        HyStartPlusPlus = "hystart++",
    }
}

impl<'de> Deserialize<'de> for HostField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StackOrHost)
    }
}

/// Reads the name of a stack, or a host.
struct StackOrHost;

impl<'de> Visitor<'de> for StackOrHost {
    type Value = HostField;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(
            formatter,
            "a host, like {{ tick = \"1ms\" }}, or the name of a stack, like \"mine\""
        )
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<HostField, E> {
        Ok(HostField::Stack(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostField, A::Error> {
        Host::deserialize(MapAccessDeserializer::new(map)).map(HostField::Host)
    }
}

names! {
    /// Hosts that are known by name.
    pub enum HostName {
        /// It sees everything when it happens.
        Ideal = "ideal",
        /// A program on tokio's runtime.
        Tokio = "tokio",
    }
}

names! {
    /// How long an application sends and is silent.
    pub enum PeriodsName {
        /// Always as long.
        Fixed = "fixed",
        /// Exponentially distributed.
        Exponential = "exponential",
    }
}

names! {
    /// The gaps of a datagram source.
    pub enum Datagrams {
        /// All equal.
        Constant = "constant",
        /// Exponential.
        Poisson = "poisson",
    }
}
