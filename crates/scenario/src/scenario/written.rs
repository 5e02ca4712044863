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
                required {
                    /// Its rate, like "1Gbps".
                    rate: Rate,
                    $($required)*
                }
                optional {
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
                }
            }
        }

        impl $Name {
            /// What every link has in common.
            pub(crate) fn link(&self) -> LinkFields {
                let buffer: fn(&Self) -> Option<Buffer> = $buffer;
                LinkFields {
                    rate: self.rate,
                    buffer: buffer(self),
                    queue: self.queue.clone(),
                    mark: self.mark,
                    loss: self.loss,
                    loss_burst: self.loss_burst,
                    jitter: self.jitter,
                    reorder: self.reorder,
                    mtu: self.mtu,
                }
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
