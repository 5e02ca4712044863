//! Asks the processor for memory before it is needed. With many flows, each event finds the ends of
//! its flow far from the caches.

/// Begins to fetch `value`, all cache lines of it. Changes nothing but time.
#[inline]
pub(crate) fn prefetch<T: ?Sized>(value: &T) {
    const LINE: usize = 64;
    let first = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of_val(value)).step_by(LINE) {
        line(first.wrapping_add(offset));
    }
    // It may begin within a line, and end in one more.
    line(first.wrapping_add(size_of_val(value).saturating_sub(1)));
}

/// Begins to fetch the cache line of `address`.
#[inline]
pub(crate) fn prefetch_at(address: *const ()) {
    line(address.cast());
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a hint of the processor's, which may be given any address")]
#[inline]
fn line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that a program could see, and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn line(_address: *const u8) {}
