//! Memory that the queues of several links share, each up to a threshold that falls as the memory
//! fills (A. K. Choudhury, E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet
//! switches", 1998).

use narrows_router::service::Steps;
use narrows_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How memory is shared.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySettings {
    /// Bytes in all.
    pub bytes: u64,
    /// A queue may hold this times what is free (a ratio).
    pub alpha: f64,
    /// Packets take whole cells of so many bytes.
    pub cell: u32,
    /// Bytes that others hold, of whom nothing else is known.
    pub background: Steps<u64>,
}

/// Memory in use by the queues of one run.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Mutex<State>>);

/// A link's part in it.
#[derive(Clone, Debug)]
pub struct MemoryPort {
    memory: Memory,
    port: usize,
}

#[derive(Debug)]
struct State {
    settings: MemorySettings,
    /// Bytes that are nobody's own.
    shared: u64,
    /// Bytes of it in use.
    in_use: u64,
    ports: Vec<Port>,
    /// When which bytes leave.
    leaving: BinaryHeap<Reverse<(Time, usize, u64)>>,
}

#[derive(Clone, Copy, Debug)]
struct Port {
    held: u64,
    reserved: u64,
}

impl Memory {
    /// Memory with a port for each of `reserved`, bytes that are its own; `None` if these are more
    /// than there is.
    pub fn new(settings: MemorySettings, reserved: impl IntoIterator<Item = u64>) -> Option<Self> {
        let reserved = reserved.into_iter();
        let ports: Vec<Port> = reserved.map(|reserved| Port { held: 0, reserved }).collect();
        let own = ports.iter().map(|port| port.reserved).sum();
        let shared = settings.bytes.checked_sub(own)?;
        let state = State { settings, shared, in_use: 0, ports, leaving: BinaryHeap::new() };
        Some(Self(Arc::new(Mutex::new(state))))
    }

    /// Its port of this number, from 0.
    pub fn port(&self, port: usize) -> MemoryPort {
        MemoryPort { memory: self.clone(), port }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A run is one thread's; whoever panics ends it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryPort {
    /// Whether a packet of `bytes` that arrives at `now` finds room: within what is the port's own,
    /// or within the threshold and what is free. What is in transmission counts, and so does the
    /// packet itself. To be called in the order of time, of all ports together.
    pub fn admits(&self, now: Time, bytes: u32) -> bool {
        let mut state = self.memory.state();
        state.catch_up(now);
        let Port { held, reserved } = state.ports[self.port];
        let held = held + state.in_cells(bytes);
        if held <= reserved {
            return true;
        }
        let others = state.settings.background.get(now);
        let free = state.shared.saturating_sub(state.in_use + others);
        held as f64 <= state.settings.alpha * free as f64 && state.in_cells(bytes) <= free
    }

    /// A packet of `bytes` has been admitted, and leaves at `departure`.
    pub fn take(&self, departure: Time, bytes: u32) {
        let mut state = self.memory.state();
        let bytes = state.in_cells(bytes);
        state.change(self.port, |held| held + bytes);
        state.leaving.push(Reverse((departure, self.port, bytes)));
    }
}

impl State {
    /// Gives back what has left by `now`.
    fn catch_up(&mut self, now: Time) {
        while let Some(Reverse((departure, port, bytes))) = self.leaving.peek().copied()
            && departure <= now
        {
            self.leaving.pop();
            self.change(port, |held| held - bytes);
        }
    }

    /// Changes what a port holds; what is beyond its own counts as shared.
    fn change(&mut self, port: usize, change: impl FnOnce(u64) -> u64) {
        let Port { held, reserved } = &mut self.ports[port];
        self.in_use -= held.saturating_sub(*reserved);
        *held = change(*held);
        self.in_use += held.saturating_sub(*reserved);
    }

    fn in_cells(&self, bytes: u32) -> u64 {
        let cell = self.settings.cell;
        u64::from(bytes.div_ceil(cell)) * u64::from(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;

    const MEMORY: u64 = 16_000_000;

    fn memory(alpha: f64, ports: usize) -> Memory {
        let background = Steps::always(0);
        let settings = MemorySettings { bytes: MEMORY, alpha, cell: 1, background };
        Memory::new(settings, vec![0; ports]).expect("it is large enough")
    }

    /// What each of `ports` holds when packets of `bytes` come to all in turn until none finds
    /// room, and none leaves.
    fn saturated(alpha: f64, ports: usize, bytes: u32) -> Vec<u64> {
        let memory = memory(alpha, ports);
        let mut held = vec![0; ports];
        loop {
            let mut takes = false;
            for (port, held) in held.iter_mut().enumerate() {
                let port = memory.port(port);
                if port.admits(Time::ZERO, bytes) {
                    port.take(Time::NEVER, bytes);
                    *held += u64::from(bytes);
                    takes = true;
                }
            }
            if !takes {
                return held;
            }
        }
    }

    /// m saturated ports hold αB/(1 + αm) each, and B/(1 + αm) stays free.
    #[test]
    fn saturated_ports_hold_equal_parts_of_what_leaves_one_free() {
        let kilobytes = [
            (1.0, [8000, 5333, 1778, 500]),
            (8.0, [14_222, 7529, 1969, 514]),
            (0.125, [1778, 1600, 1000, 410]),
        ];
        for (alpha, expected) in kilobytes {
            for (ports, expected) in [1, 2, 8, 31].into_iter().zip(expected) {
                for held in saturated(alpha, ports, 1000) {
                    let away = held.abs_diff(expected * 1000);
                    // A packet, and what the numbers above are rounded by.
                    assert!(away <= 1500, "α {alpha}, {ports} ports: {held}, not {expected} kB");
                }
            }
        }
    }

    #[test]
    fn what_leaves_makes_room_at_the_instant_of_its_last_bit() {
        let memory = memory(1.0, 2);
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let (one, other) = (memory.port(0), memory.port(1));
        for _ in 0..2 {
            assert!(one.admits(at(0), 4_000_000));
            one.take(at(5), 4_000_000);
        }
        assert!(!one.admits(at(0), 1), "half of it is held, and as much is free");
        assert!(other.admits(at(4), 8_000_000) && !other.admits(at(4), 8_000_001));
        assert!(other.admits(at(5), 16_000_000) && !other.admits(at(5), 16_000_001));
    }

    #[test]
    fn cells_reserves_and_others_count() {
        let steps = Steps::new(0, [(Time::ZERO + Duration::from_millis(1), 900)], None);
        let settings = MemorySettings { bytes: 2000, alpha: 1.0, cell: 200, background: steps };
        assert!(Memory::new(settings.clone(), [1500, 600]).is_none(), "more than there is");
        let memory = Memory::new(settings, [600, 0]).expect("it is large enough");
        let (own, other) = (memory.port(0), memory.port(1));
        // 1400 are shared, which is seven cells; 201 bytes take two, and leave 1000.
        assert!(other.admits(Time::ZERO, 1400) && !other.admits(Time::ZERO, 1401));
        other.take(Time::NEVER, 201);
        assert!(other.admits(Time::ZERO, 600) && !other.admits(Time::ZERO, 601));
        // Others then hold 900 of them: 100 are free, which is no cell; what is its own is there.
        let later = Time::ZERO + Duration::from_millis(1);
        assert!(!other.admits(later, 1));
        assert!(own.admits(later, 600) && !own.admits(later, 601));
    }
}
