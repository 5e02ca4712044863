//! Laws that decide at regular times, inside a run or outside of it.
//!
//! A [`Learner`] counts what its sender learns in an [`Interval`], and is told once an interval how
//! to go on. An [`Episode`] is a run that stands still until it is told; [`Places`] hold several
//! side by side. A [`presets::Preset`] makes of intervals what an agent sees, and of what it says
//! what is done; a [`Policy`] is a trained agent as a law.
//!
//! ```
//! use narrows_learn::{Formula, Written};
//!
//! let slower = Written { on_ack: vec!["window = windw + 1".to_owned()], ..Written::default() };
//! let error = Formula::new(&slower).expect_err("it names what is not there");
//! assert!(error.starts_with("on_ack[0]"), "{error}");
//! ```

mod episode;
mod formula;
mod interval;
mod learner;
mod net;
mod places;
mod policy;
pub mod presets;
mod told;
mod wanted;
mod wasm;

pub use episode::{Below, Episode, LEARNER, Laid, is_learner, resting};
pub use formula::{Formula, FormulaLaw, Written};
pub use interval::{COLUMNS, Interval, Tally};
pub use learner::{Action, Decides, Desk, Learner, Script};
pub use net::{Activation, Layer, Net};
pub use places::{Places, StepError, check_wanted};
pub use policy::Policy;
pub use told::Complain;
pub use wanted::{RATES, WAITS, WINDOWS, Wanted, after};
pub use wasm::{Wasm, WasmLaw};
