//! What an application has offered, as C asks for it.

use narrows_scenario::Offered;
use narrows_units::Time;
use std::cell::Cell;
use std::ptr::null;
use std::sync::Arc;

thread_local! {
    /// The offers of the flow whose ends are being made.
    static MADE: Cell<*const Offered> = const { Cell::new(null()) };
}

/// `offered` for C; none if all is offered at once.
pub(crate) fn of(offered: &Offered) -> Option<Arc<Offered>> {
    (!offered.is_at_once()).then(|| Arc::new(offered.clone()))
}

/// Makes the ends of a flow with these offers.
pub(crate) fn during<T>(offers: Option<&Arc<Offered>>, make: impl FnOnce() -> T) -> T {
    MADE.set(offers.map_or(null(), Arc::as_ptr));
    let made = make();
    MADE.set(null());
    made
}

/// The offers of the flow whose ends are made; see the header.
#[unsafe(no_mangle)]
pub extern "C" fn narrows_offers() -> *const Offered {
    MADE.get()
}

/// What has been offered by `now`; see the header.
///
/// # Safety
/// `offers` is null or what [`narrows_offers`] returned, of ends that live; `next` is null or can
/// be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_offered(offers: *const Offered, now: u64, next: *mut u64) -> u64 {
    let now = now.checked_mul(1000).map_or(Time::NEVER, Time::from_picos);
    // SAFETY: as this function's.
    let (offers, next) = unsafe { (offers.as_ref(), next.as_mut()) };
    if let Some(next) = next {
        let later = offers.and_then(|offers| offers.next(now));
        // Rounded up: at that nanosecond it is there.
        *next = later.map_or(u64::MAX, |at| at.picos().div_ceil(1000));
    }
    offers.map_or(u64::MAX, |offers| offers.by(now))
}
