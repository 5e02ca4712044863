//! The laws as congestion controls of Linux's kernel: named `nw_etcp`, `nw_ltcp` …, loaded as BPF
//! `struct_ops` programs, without a module and without a reboot.
//!
//! A law is integer arithmetic in one header of `laws/`, with its bounds; the programs around them
//! are `bpf/window_law.h` for laws of two formulas and `bpf/paced_law.h` for E-TCP's. The tests
//! compile the same headers for this machine and drive them beside the laws of narrows-control.
//!
//! [`KernelLaw`] is a law with settings as the kernel's program reads them. With the feature `bpf`,
//! `load` brings it into the kernel while the process lives, and `install` until `uninstall`.
//!
//! ```
//! use narrows_kernel::KernelLaw;
//!
//! let law = KernelLaw::parse("etcp:p0=0.02")?;
//! assert_eq!(law.kernel_name(), "nw_etcp");
//! # Ok::<(), narrows_settings::SettingError>(())
//! ```

mod kernel_law;
#[cfg(feature = "bpf")]
mod load;
mod ported;
#[cfg(feature = "bpf")]
mod steered;
#[cfg(feature = "bpf")]
mod told;

pub use kernel_law::{KernelLaw, PREFIX};
#[cfg(feature = "bpf")]
pub use load::{Installed, KernelError, Loaded, install, installed, load, uninstall};
pub use ported::LAWS;
#[cfg(feature = "bpf")]
pub use steered::{Make, Steered, steer};
