//! Calls of a user's code, such as a clock or a waker, of which one that panics keeps none of the others from being made.

#[cfg(feature = "std")]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The first panic of several calls, which goes on when all have been made. Without `std`, it goes on at once.
#[derive(Default)]
pub(crate) struct FirstPanic {
    #[cfg(feature = "std")]
    payload: Option<std::boxed::Box<dyn core::any::Any + Send>>,
}

#[cfg_attr(
    not(feature = "std"),
    expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "nothing is caught without std"
    )
)]
impl FirstPanic {
    /// Makes a call. Returns `None` if it panics.
    pub(crate) fn call<T>(&mut self, call: impl FnOnce() -> T) -> Option<T> {
        #[cfg(feature = "std")]
        return match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.payload.get_or_insert(payload);
                None
            }
        };
        #[cfg(not(feature = "std"))]
        Some(call())
    }

    /// Lets the panic go on, if there was one, unless the caller unwinds already: a second one would abort the process.
    pub(crate) fn go_on(self) {
        #[cfg(feature = "std")]
        if let Some(payload) = self.payload
            && !std::thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}
