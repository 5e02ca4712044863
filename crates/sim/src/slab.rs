//! Packets that wait for their event, in places that are reused.

use crate::packet::Travelling;

/// Packets that wait for their event.
#[derive(Default)]
pub(crate) struct Slab {
    packets: Vec<Travelling>,
    free: Vec<u32>,
}

impl Slab {
    /// Stores `packet`; returns its place.
    pub fn put(&mut self, packet: &Travelling) -> u32 {
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = *packet;
            return place;
        }
        if self.packets.len() == self.packets.capacity() {
            self.grow();
        }
        self.packets.push(*packet);
        u32::try_from(self.packets.len() - 1)
            .expect("memory ends before 2^32 packets are in flight")
    }

    /// By a quarter: doubling would waste more memory than anything else takes.
    #[cold]
    fn grow(&mut self) {
        self.packets.reserve_exact(self.packets.len() / 4 + 64);
    }

    /// Returns the packet at `place`, and frees the place.
    pub fn take(&mut self, place: u32) -> Travelling {
        self.free.push(place);
        self.packets[place as usize]
    }

    /// True if a processor's second cache does not hold as many as have waited at once.
    #[inline]
    pub fn are_many(&self) -> bool {
        const MANY: usize = 4096;
        self.packets.len() > MANY
    }

    /// The packet at `place`.
    pub fn at(&self, place: u32) -> &Travelling {
        &self.packets[place as usize]
    }

    /// Number of packets that wait.
    pub fn len(&self) -> u64 {
        (self.packets.len() - self.free.len()) as u64
    }

    /// The packets in flight; used at the end of a run.
    pub fn iter(&self) -> impl Iterator<Item = &Travelling> {
        let mut free = vec![false; self.packets.len()];
        self.free.iter().for_each(|place| free[*place as usize] = true);
        self.packets.iter().zip(free).filter(|(_, free)| !free).map(|(packet, _)| packet)
    }
}
