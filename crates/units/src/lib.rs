//! Time, rate and size as types, parsed from and printed as people write them.
//!
//! | type | counts | written |
//! |---|---|---|
//! | [`Time`] | picoseconds since the start of a run | `1.5s` |
//! | [`Duration`] | picoseconds | `100ms`, `350us` |
//! | [`Rate`] | bits per second | `1Gbps`, `622.08Mbit/s`, `125MB/s` |
//! | [`Bytes`] | bytes | `1500B`, `1.5MB`, `30KiB` |
//! | [`Frequency`] | times per second | `31/s` |
//! | [`Buffer`] | a queue's limit, still in the user's unit | `20p`, `30kB`, `5ms`, `0.5bdp`, `bdp/sqrt(n)` |
//! | [`Probability`] | a ratio between 0 and 1 | `0.1%`, `1e-3` |
//!
//! [`Stream`] is the one source of randomness: a seeded sequence for each flow and each link;
//! [`ties`] orders what happens at the same picosecond; [`text`] knows what strangers' texts may
//! hide.
//!
//! ```
//! use narrows_units::{Bytes, Rate};
//!
//! let (rate, packet): (Rate, Bytes) = ("1Gbps".parse()?, "1500B".parse()?);
//! assert_eq!(rate.time_to_send(packet).to_string(), "12us");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod bytes;
mod frequency;
mod parse;
mod probability;
mod rate;
mod stream;
pub mod text;
pub mod ties;
mod time;

pub use buffer::Buffer;
pub use bytes::Bytes;
pub use frequency::Frequency;
pub use parse::UnitError;
pub use probability::Probability;
pub use rate::Rate;
pub use stream::Stream;
pub use time::{Duration, Time, age};
