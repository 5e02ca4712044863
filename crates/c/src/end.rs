//! One end of a flow, as C describes it.

use narrows_scenario::Offered;
use narrows_signal::Ecn;
use narrows_sim::{Endpoint, Told, Transmit};
use narrows_units::{Duration, Time};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// `narrows_make`.
pub(crate) type Make =
    unsafe extern "C" fn(*mut c_void, u64, u64, *mut Described, *mut Described) -> c_int;

/// `struct narrows_transmit`.
#[repr(C)]
pub struct Leaves {
    not_before: u64,
    headers: u32,
    ecn: u8,
}

/// `struct narrows_told`.
#[repr(C)]
pub struct Says {
    delivered: u64,
    window: u64,
    in_flight: u64,
    rtt: u64,
    lost: u64,
    ended: *const c_char,
    complete: u8,
}

/// `struct narrows_endpoint`.
#[repr(C)]
pub struct Described {
    state: *mut c_void,
    handle: Option<unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, u8)>,
    handle_timeout: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    poll_transmit:
        Option<unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut Leaves) -> usize>,
    poll_timeout: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    tell: Option<unsafe extern "C" fn(*mut c_void, *mut Says)>,
    drop: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Default for Described {
    fn default() -> Self {
        Self {
            state: null_mut(),
            handle: None,
            handle_timeout: None,
            poll_transmit: None,
            poll_timeout: None,
            tell: None,
            drop: None,
        }
    }
}

/// The two ends of a flow, to be filled in.
#[derive(Default)]
pub(crate) struct Ends {
    pub near: Described,
    pub far: Described,
}

/// Bytes of the largest datagram (RFC 791).
const ROOM: usize = 65_535;

/// An end whose four functions are there.
pub(crate) struct CEndpoint {
    state: *mut c_void,
    handle: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, u8),
    handle_timeout: unsafe extern "C" fn(*mut c_void, u64),
    poll_transmit: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut Leaves) -> usize,
    poll_timeout: unsafe extern "C" fn(*mut c_void) -> u64,
    tell: Option<unsafe extern "C" fn(*mut c_void, *mut Says)>,
    drop: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Where it writes a datagram, whose bytes are then copied: a datagram that waits takes no more
    /// memory than its own length.
    room: Box<[u8]>,
    /// What it did that it must not.
    fault: Option<String>,
    /// What it may ask for as long as it lives.
    #[expect(dead_code, reason = "it is C that reads it")]
    offers: Option<Arc<Offered>>,
}

// SAFETY: the header says that a run calls from one thread at a time.
unsafe impl Send for CEndpoint {}

impl CEndpoint {
    /// Fails if a function is missing, and drops the end.
    pub fn new(end: Described, offers: Option<Arc<Offered>>) -> Result<Self, String> {
        let Described { state, handle, handle_timeout, poll_transmit, poll_timeout, tell, drop } =
            end;
        if let (Some(handle), Some(handle_timeout), Some(poll_transmit), Some(poll_timeout)) =
            (handle, handle_timeout, poll_transmit, poll_timeout)
        {
            let (fault, room) = (None, vec![0; ROOM].into_boxed_slice());
            return Ok(Self {
                state,
                handle,
                handle_timeout,
                poll_transmit,
                poll_timeout,
                tell,
                drop,
                room,
                fault,
                offers,
            });
        }
        if let Some(drop) = drop {
            // SAFETY: it is the end's own function, called once.
            unsafe { drop(state) }
        }
        Err("an end has not all of handle, handle_timeout, poll_transmit, poll_timeout".to_owned())
    }
}

impl Drop for CEndpoint {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: it is the end's own function, called once.
            unsafe { drop(self.state) }
        }
    }
}

/// `now` in whole nanoseconds.
fn nanos(now: Time) -> u64 {
    now.picos() / 1000
}

/// The time `nanos`; never if that is too far away to say.
fn time(nanos: u64) -> Option<Time> {
    nanos.checked_mul(1000).map(Time::from_picos)
}

impl Endpoint for CEndpoint {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        let (bytes, length) = (datagram.as_ptr(), datagram.len());
        // SAFETY: it is the end's own function, and the datagram is as long as is said.
        unsafe { (self.handle)(self.state, nanos(now), bytes, length, ecn.bits()) }
    }

    fn handle_timeout(&mut self, now: Time) {
        // SAFETY: it is the end's own function.
        unsafe { (self.handle_timeout)(self.state, nanos(now)) }
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if self.fault.is_some() {
            return None;
        }
        let mut leaves = Leaves { not_before: 0, headers: Transmit::UDP_HEADERS, ecn: 0 };
        let bytes = self.room.as_mut_ptr();
        // SAFETY: it is the end's own function, and there is as much room as is said.
        let length =
            unsafe { (self.poll_transmit)(self.state, nanos(now), bytes, ROOM, &mut leaves) };
        if length > ROOM {
            self.fault = Some(format!("a datagram of {length} bytes, more than {ROOM}"));
        }
        let ecn = Ecn::from_bits(leaves.ecn);
        if length > 0 && ecn.is_none() {
            self.fault = Some(format!("ecn is {}, and the field has two bits", leaves.ecn));
        }
        let ecn = ecn.filter(|_| length > 0 && self.fault.is_none())?;
        datagram.clear();
        datagram.extend_from_slice(&self.room[..length]);
        let not_before = time(leaves.not_before).unwrap_or(Time::ZERO);
        let bytes = (datagram.len() as u32).saturating_add(leaves.headers);
        Some(Transmit { bytes, ecn, not_before })
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        // SAFETY: it is the end's own function.
        time(unsafe { (self.poll_timeout)(self.state) })
    }

    fn tell(&self) -> Told {
        let mut says = Says {
            delivered: 0,
            window: 0,
            in_flight: 0,
            rtt: 0,
            lost: 0,
            ended: null_mut(),
            complete: 0,
        };
        if let Some(tell) = self.tell {
            // SAFETY: it is the end's own function.
            unsafe { tell(self.state, &mut says) }
        }
        let said = |value: u64| (value > 0).then_some(value);
        let ended = (!says.ended.is_null()).then(|| {
            // SAFETY: the header says that it is text, and stays the end's.
            unsafe { CStr::from_ptr(says.ended) }.to_string_lossy().into_owned()
        });
        Told {
            delivered: says.delivered,
            complete: says.complete != 0,
            window: said(says.window),
            rtt: said(says.rtt).map(|rtt| Duration::from_picos(rtt.saturating_mul(1000))),
            in_flight: said(says.in_flight),
            lost: said(says.lost).map(|lost| lost - 1),
            ended: self.fault.clone().or(ended),
        }
    }
}
