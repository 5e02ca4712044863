//! The congestion controls of a run: the kernel's own, and ours, which are loaded for as long as it
//! lasts.

use narrows_kernel::{KernelLaw, LAWS};
use narrows_scenario::{Available, RealFlow, RealLaw, ScenarioError};
use narrows_settings::Given;
use std::io;
use std::sync::Arc;

/// The congestion controls that the kernel has.
pub(crate) fn loaded() -> io::Result<Vec<String>> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Why our laws cannot be loaded; `None` if they can.
pub(crate) fn why_not() -> Option<&'static str> {
    if cfg!(not(feature = "bpf")) {
        Some(
            "this build of narrows has no laws for it; Linux wheels have them, and in a checkout \
             scripts/tools, then make setup build them",
        )
    } else if std::fs::metadata("/sys/kernel/btf/vmlinux").is_err() {
        Some("this kernel has no /sys/kernel/btf/vmlinux, which CONFIG_DEBUG_INFO_BTF brings")
    } else {
        None
    }
}

/// What this machine's kernel has, and what can be brought into it.
pub(crate) fn available(loaded: &[String]) -> Available<'_> {
    Available { loaded, ours: &LAWS, why_not: why_not() }
}

/// A law as connections use it; datagrams have an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CongestionControl {
    /// The kernel's name of it.
    pub name: String,
    /// Whether it spaces packets by itself and shows its window as the threshold.
    pub is_paced: bool,
}

/// The laws of a run; ours go when this goes.
pub(crate) struct Laws {
    of_flows: Vec<CongestionControl>,
    #[cfg(feature = "bpf")]
    _loaded: Vec<narrows_kernel::Loaded>,
    #[cfg(feature = "bpf")]
    _steered: Vec<narrows_kernel::Steered>,
}

/// What a thread that calls the program's own laws does first.
pub type Join = Arc<dyn Fn() + Send + Sync>;

impl Laws {
    /// Loads what `flows` need, each law with its settings once.
    pub fn load(flows: &[RealFlow], join: &Join) -> Result<Self, ScenarioError> {
        let mut known: Vec<(&RealLaw, CongestionControl)> = Vec::new();
        #[cfg(feature = "bpf")]
        let (mut loaded, mut steered) = (Vec::new(), Vec::new());
        for flow in flows {
            let Some(law) = flow.sends.law() else { continue };
            if known.iter().any(|(known, _)| *known == law) {
                continue;
            }
            let control = match law {
                RealLaw::Kernel(name) => CongestionControl { name: name.clone(), is_paced: false },
                RealLaw::Ours(law, given) => {
                    let refused = |why: String| ScenarioError::new(format!("cc \"{law}\""), why);
                    let asked = asked(law, given).map_err(refused)?;
                    #[cfg(feature = "bpf")]
                    let name = {
                        let ours = bring(&asked).map_err(refused)?;
                        let name = ours.name().to_owned();
                        loaded.push(ours);
                        name
                    };
                    #[cfg(not(feature = "bpf"))]
                    let name = asked.kernel_name();
                    CongestionControl { name, is_paced: asked.is_paced() }
                }
                RealLaw::Steers(law) => {
                    #[cfg(feature = "bpf")]
                    let name = {
                        let refused = |why| ScenarioError::new(format!("cc \"{}\"", law.cc), why);
                        let ours = bring_steered(law, join).map_err(refused)?;
                        let name = ours.name().to_owned();
                        steered.push(ours);
                        name
                    };
                    #[cfg(not(feature = "bpf"))]
                    let name = {
                        let _ = join;
                        law.cc.clone()
                    };
                    CongestionControl { name, is_paced: false }
                }
            };
            known.push((law, control));
        }
        let control = |flow: &RealFlow| {
            let found = known.iter().find(|(law, _)| Some(*law) == flow.sends.law());
            found.map(|(_, control)| control.clone()).unwrap_or_default()
        };
        Ok(Self {
            of_flows: flows.iter().map(control).collect(),
            #[cfg(feature = "bpf")]
            _loaded: loaded,
            #[cfg(feature = "bpf")]
            _steered: steered,
        })
    }

    /// That of each flow.
    pub fn of_flows(&self) -> &[CongestionControl] {
        &self.of_flows
    }
}

fn asked(law: &str, given: &Given) -> Result<KernelLaw, String> {
    KernelLaw::new(law, given).map_err(|error| error.to_string())
}

#[cfg(feature = "bpf")]
fn bring(asked: &KernelLaw) -> Result<narrows_kernel::Loaded, String> {
    named(&asked.kernel_name(), |name| narrows_kernel::load(asked, Some(&name)))
}

/// Makes a law steer from here.
#[cfg(feature = "bpf")]
fn bring_steered(
    law: &narrows_scenario::SteeringLaw,
    join: &Join,
) -> Result<narrows_kernel::Steered, String> {
    named("nw_steered", |name| {
        let (recipe, join) = (law.recipe.clone(), Arc::clone(join));
        narrows_kernel::steer(name, Box::new(move || recipe.make(0)), move || join())
    })
}

/// Loads a law under a name that nobody has: two runs may be under way, with different settings.
#[cfg(feature = "bpf")]
fn named<T>(
    stem: &str,
    load: impl Fn(String) -> Result<T, narrows_kernel::KernelError>,
) -> Result<T, String> {
    use narrows_kernel::KernelError;
    // A name has 15 bytes, `nw_highspeed` 12.
    let names = (0..1000).map(|number| format!("{stem}{number}"));
    let mut last = String::new();
    for name in names {
        match load(name.clone()) {
            Ok(loaded) => return Ok(loaded),
            Err(KernelError::Taken(_)) => last = format!("{name} is taken"),
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(last)
}
