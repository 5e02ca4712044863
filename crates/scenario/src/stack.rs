//! Stacks that others wrote, as the ends of flows.

use narrows_sim::Endpoint;

/// A stack that flows may use by name, like `quinn:cubic` or `host = "mine"`.
pub trait Stack: Send + Sync {
    /// The name by which flows call it.
    fn name(&self) -> &str;

    /// Its congestion controllers, the usual one first; none if there is no choice.
    fn controllers(&self) -> &[&str] {
        &[]
    }

    /// Bytes of its largest usual datagram on the wire, headers included.
    fn packet(&self) -> u32 {
        1500
    }

    /// The two ends of a flow: data goes from the near one to the far one. Fails if it cannot do
    /// what is wished for.
    fn ends(&self, wish: &Wish) -> Result<StackEnds, String>;

    /// Prepares the thread that a run under `seed` is about to begin on, which has done nothing
    /// else, so that what the stack draws from the system is the same each time.
    fn prepare(&self, seed: u64) {
        let _ = seed;
    }
}

/// The near end and the far end of a flow.
pub type StackEnds = (Box<dyn Endpoint>, Box<dyn Endpoint>);

/// What is wished of a flow's ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// One of the stack's controllers; the usual one unless given.
    pub controller: Option<String>,
    /// Where its randomness comes from.
    pub seed: u64,
    /// Bytes to transfer; endless unless given.
    pub bytes: Option<u64>,
    /// The largest datagram on the wire, headers included; the stack's own unless given.
    pub packet: Option<u32>,
    /// Whether datagrams may be marked. If not, the door takes marks off.
    pub ecn: bool,
}

/// Stacks that narrows-hosts knows, whether they are built in or not.
pub(crate) const KNOWN: [&str; 4] = ["quinn", "noq", "smoltcp", "s2n"];
