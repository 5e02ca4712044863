//! How the types of a scenario as written are declared.

/// Declares a struct as people write it: `required` fields, and `optional` ones, which are `None`
/// unless given. `link` adds what every link has in common; of a `bounded_link` the buffer is
/// required.
macro_rules! written {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            required { $($required:tt)* }
            optional { $($optional:tt)* }
            link
        }
    ) => {
        written! {
            @link [|link: &$Name| link.buffer]
            $(#[$meta])*
            pub struct $Name {
                required { $($required)* }
                optional {
                    $($optional)*
                    /// Its buffer: "20p" (packets), "30kB", "5ms", "0.5bdp".
                    buffer: Buffer,
                }
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            required { $($required:tt)* }
            optional { $($optional:tt)* }
            bounded_link
        }
    ) => {
        written! {
            @link [|link: &$Name| Some(link.buffer)]
            $(#[$meta])*
            pub struct $Name {
                required {
                    $($required)*
                    /// Its buffer: "20p" (packets), "30kB", "5ms", "0.5bdp".
                    buffer: Buffer,
                }
                optional { $($optional)* }
            }
        }
    };
    (
        @link [$buffer:expr]
        $(#[$meta:meta])*
        pub struct $Name:ident {
            required { $($required:tt)* }
            optional { $($optional:tt)* }
        }
    ) => {
        written! {
            $(#[$meta])*
            pub struct $Name {
                required { $($required)* }
                optional {
                    /// Its rate, like "1Gbps"; a link with a `trace` has none.
                    rate: Rate,
                    $($optional)*
                    /// Its queue: "drop-tail" unless given, "red:min=5", "codel", "fq-codel",
                    /// "xcp", "gwa-rr" …; `narrows list` has all.
                    queue: String,
                    /// Marking threshold of a drop-tail queue: ECN-capable packets that find at
                    /// least this much are marked (DCTCP's K), like "20p".
                    mark: Buffer,
                    /// Packets are lost on the wire, each with this probability, like "0.1%".
                    loss: Probability,
                    /// With `loss`: the mean length of a burst of losses in packets (Gilbert and
                    /// Elliott); losses are independent unless given.
                    loss_burst: f64,
                    /// The delay varies uniformly by up to this.
                    jitter: Duration,
                    /// With `jitter`: whether packets may overtake each other.
                    reorder: bool,
                    /// The largest packet on the wire: larger ones are dropped and nobody is told;
                    /// no limit unless given.
                    mtu: Bytes,
                    /// What leaves a sender as one burst is queued, dropped and sent as one, as in
                    /// hosts and virtual switches with offloads; packets are, one by one, unless
                    /// given.
                    super_packets: bool,
                    /// What changes while it runs, in the order of time.
                    changes: Vec<Change>,
                    /// With `changes`: they begin anew after each such time.
                    repeat: Duration,
                    /// Times at which it carries nothing.
                    outages: Vec<Outage>,
                    /// Its rate and its delay change at regular times, as where one satellite hands
                    /// over to the next.
                    handovers: Handovers,
                    /// When packets may leave, in place of the rate: the name of a file in the
                    /// format of mahimahi, a line for each opportunity to send 1500 bytes, in
                    /// milliseconds; repeated to the end of the run.
                    trace: String,
                    /// Packets reach its other end at certain times only.
                    hold: Hold,
                    /// Packets that come faster are dropped or marked, by a token bucket before the
                    /// queue.
                    policer: Policer,
                    /// Packets that come faster wait, for a token bucket behind the queue.
                    shaper: Shaper,
                    /// What happens to which packets.
                    script: Vec<ScriptLine>,
                    /// The name of one of `memories`, which its queue shares with those of other
                    /// links, of the way there only; a buffer is then a limit besides.
                    memory: String,
                    /// With `memory`: bytes of it that are this link's own.
                    reserved: Bytes,
                }
            }
        }

        impl $Name {
            /// What every link has in common.
            pub(crate) fn link(&self) -> LinkFields {
                let buffer: fn(&Self) -> Option<Buffer> = $buffer;
                let options = LinkOptions {
                    queue: self.queue.clone(),
                    mark: self.mark,
                    loss: self.loss,
                    loss_burst: self.loss_burst,
                    jitter: self.jitter,
                    reorder: self.reorder,
                    mtu: self.mtu,
                    super_packets: self.super_packets,
                    changes: self.changes.clone().unwrap_or_default(),
                    repeat: self.repeat,
                    outages: self.outages.clone().unwrap_or_default(),
                    handovers: self.handovers.clone(),
                    trace: self.trace.clone(),
                    hold: self.hold.clone(),
                    policer: self.policer.clone(),
                    shaper: self.shaper.clone(),
                    script: self.script.clone().unwrap_or_default(),
                    memory: self.memory.clone(),
                    reserved: self.reserved,
                };
                LinkFields { rate: self.rate, buffer: buffer(self), options }
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            required { $($(#[$required_meta:meta])* $required:ident: $Required:ty,)* }
            optional { $($(#[$optional_meta:meta])* $optional:ident: $Optional:ty,)* }
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
        #[serde(deny_unknown_fields)]
        pub struct $Name {
            $($(#[$required_meta])* pub $required: $Required,)*
            $(
                $(#[$optional_meta])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$Optional>,
            )*
        }
    };
}

pub(super) use written;
