//! Our laws in this machine's kernel, to stay after this process; or why this build cannot bring
//! them there.

use narrows_kernel::{LAWS, PREFIX};

/// Why the kernel has not taken or given back a law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It was asked for in a way that no kernel can do.
    KernelLaw(String),
    /// This machine, or this build, cannot do it.
    Machine(String),
}

/// The laws that there are for the kernel, and their names there.
pub fn laws() -> Vec<(String, String)> {
    let line = |law: &&str| ((*law).to_owned(), format!("{PREFIX}{}", law.replace('-', "_")));
    LAWS.iter().map(line).collect()
}

/// Fails if `law:name=value:…` is not a law of ours for the kernel, with settings that it can do.
pub fn check(law: &str) -> Result<(), Refused> {
    let asked = narrows_kernel::KernelLaw::parse(law);
    asked.map(|_| ()).map_err(|error| Refused::KernelLaw(error.to_string()))
}

#[cfg(feature = "bpf")]
mod with_bpf {
    use super::Refused;
    use narrows_kernel::{KernelError, KernelLaw};

    fn refused(error: KernelError) -> Refused {
        match &error {
            KernelError::Setting(_)
            | KernelError::Taken(_)
            | KernelError::Absent(_)
            | KernelError::Kept(_) => Refused::KernelLaw(error.to_string()),
            KernelError::Refused { .. } => Refused::Machine(error.to_string()),
        }
    }

    /// Loads `law:name=value:…` to stay; returns its name in the kernel.
    pub fn install(law: &str) -> Result<String, Refused> {
        let asked = KernelLaw::parse(law).map_err(|error| Refused::KernelLaw(error.to_string()))?;
        narrows_kernel::install(&asked).map_err(refused)
    }

    /// Takes away the law that is `name` in the kernel.
    pub fn uninstall(name: &str) -> Result<(), Refused> {
        narrows_kernel::uninstall(name).map_err(refused)
    }

    /// The laws that are there to stay, with their settings.
    pub fn installed() -> Vec<(String, Vec<String>)> {
        narrows_kernel::installed().into_iter().map(|it| (it.name, it.given)).collect()
    }
}

#[cfg(not(feature = "bpf"))]
mod with_bpf {
    use super::Refused;

    fn cannot<T>() -> Result<T, Refused> {
        let why = crate::laws::why_not().unwrap_or_default();
        Err(Refused::Machine(format!("no law can be brought into the kernel: {why}")))
    }

    /// Fails: this build has no programs for the kernel.
    pub fn install(law: &str) -> Result<String, Refused> {
        narrows_kernel::KernelLaw::parse(law)
            .map_err(|error| Refused::KernelLaw(error.to_string()))?;
        cannot()
    }

    /// Fails: this build has no programs for the kernel.
    pub fn uninstall(_: &str) -> Result<(), Refused> {
        cannot()
    }

    /// None: this build has no programs for the kernel.
    pub fn installed() -> Vec<(String, Vec<String>)> {
        Vec::new()
    }
}

pub use with_bpf::{install, installed, uninstall};
