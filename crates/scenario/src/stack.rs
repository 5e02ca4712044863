//! Stacks that others wrote, as the ends of flows.

use crate::offered::Offered;
use narrows_sim::Endpoint;
use std::path::PathBuf;

/// A stack that flows may use by name, like `quinn:cubic` or `host = "mine"`.
pub trait Stack: Send + Sync {
    /// The name by which flows call it.
    fn name(&self) -> &str;

    /// What it is, with its version.
    fn source(&self) -> &str {
        ""
    }

    /// Its congestion controllers, the usual one first; none if there is no choice.
    fn controllers(&self) -> &[&str] {
        &[]
    }

    /// Bytes of its largest usual datagram on the wire, headers included.
    fn packet(&self) -> u32 {
        1500
    }

    /// Whether its near end can log itself as qlog.
    fn logs(&self) -> bool {
        false
    }

    /// The two ends of a flow: data goes from the near one to the far one. Fails if it cannot do
    /// what is wished for.
    fn ends(&self, wish: &Wish) -> Result<StackEnds, String>;

    /// Prepares the thread that a run under `seed` is about to begin on, which has done nothing
    /// else, so that what the stack draws from the system is the same each time.
    fn prepare(&self, seed: u64) {
        let _ = seed;
    }

    /// What the run's own thread is to do before it begins, made in the thread that asked for the
    /// run: it takes along what belongs to that.
    fn joining(&self) -> Box<dyn FnOnce() + Send> {
        Box::new(|| ())
    }
}

/// The near end and the far end of a flow.
pub type StackEnds = (Box<dyn Endpoint>, Box<dyn Endpoint>);

/// What is wished of a flow's ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// One of the stack's controllers; the usual one unless given.
    pub controller: Option<String>,
    /// What is transferred.
    pub transfer: Transfer,
    /// The largest datagram on the wire, headers included; the stack's own unless given.
    pub packet: Option<u32>,
    /// Whether datagrams may be marked. If not, the door takes marks off.
    pub ecn: bool,
}

/// A transfer from the near end to the far end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Where the ends' randomness comes from.
    pub seed: u64,
    /// Bytes to transfer; `None` for no end.
    pub bytes: Option<u64>,
    /// How many of them the application has offered so far. An end that cannot wait for it sends
    /// them at once.
    pub offered: Offered,
    /// Where the near end logs itself as qlog, if it can.
    pub qlog: Option<PathBuf>,
}

impl Transfer {
    /// A transfer without end.
    pub fn endless(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }
}

/// Stacks that narrows-hosts knows, whether they are built in or not.
pub(crate) const KNOWN: [&str; 4] = ["quinn", "noq", "smoltcp", "s2n"];
