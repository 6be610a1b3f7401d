//! The time by which the system may wake the thread late.

#![cfg_attr(
    all(target_os = "linux", not(miri)),
    allow(unsafe_code, reason = "the system call is an unsafe function")
)]

/// Asks the system to wake the calling thread as soon as its time has come. It may refuse: then
/// tasks wake up somewhat later.
pub(super) fn be_punctual() {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        /// Nanoseconds by which the thread may be late, so that it wakes up with others. Linux's
        /// default is 50 us.
        const SLACK_NANOS: core::ffi::c_ulong = 1;

        // SAFETY: this request takes a number and no pointer, and changes nothing but when the calling
        // thread wakes up.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NANOS) };
    }
}
