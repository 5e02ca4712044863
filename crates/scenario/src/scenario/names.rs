//! How values that are known by name are declared.

/// Declares a choice by name, and the name as in a scenario.
macro_rules! names {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $($(#[$variant_meta:meta])* $Variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
        pub enum $Name {
            $($(#[$variant_meta])* #[serde(rename = $text)] $Variant,)+
        }

        impl $Name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$Variant,)+];

            /// As in a scenario.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$Variant => $text,)+
                }
            }
        }
    };
}

pub(super) use names;
