//! Large memory pages, if the system has them.

#![cfg_attr(
    all(feature = "huge-pages", target_os = "linux", not(miri)),
    allow(unsafe_code, reason = "the system call is an unsafe function")
)]

use core::mem::MaybeUninit;

/// Asks the system to back `room` by large pages, if it is large. The lines of a large table are
/// accessed in random order, and with small pages nearly each call would first look up its page in
/// memory. The request is advice: if the system refuses it, nothing is reported.
pub(super) fn enlarge<T>(room: &mut [MaybeUninit<T>]) {
    #[cfg(all(feature = "huge-pages", target_os = "linux", not(miri)))]
    {
        /// Size of large pages on most processors.
        const LARGE: usize = 2 << 20;

        let bytes = room.as_mut_ptr_range();
        let start = bytes.start.cast::<u8>();
        let skipped = start.align_offset(LARGE);
        let length = (bytes.end.addr() - bytes.start.addr()).saturating_sub(skipped);
        if length >= LARGE {
            // SAFETY: `start + skipped` and `length` bytes from it are within `room`, which is
            // borrowed by this function alone. The advice changes nothing that can be read.
            unsafe { libc::madvise(start.add(skipped).cast(), length, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(feature = "huge-pages", target_os = "linux", not(miri))))]
    let _ = room;
}
