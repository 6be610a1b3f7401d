//! A caller in the line before a resource.

use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::task::{Poll, Waker};
use core::time::Duration;

use crate::wait::error::AcquireError;
use crate::wait::line;
use crate::wait::line::LineAnswer;
use crate::wait::order::Outcome;
use crate::wait::place::Place;

use super::{Resource, ResourceLine};

/// A caller that stands in a [`ResourceLine`], or is about to.
///
/// `H` is a way to the line that the caller keeps: a reference, an `Arc`, or a type of your own. It has to lead to the
/// same line for as long as the caller stands there. Otherwise the caller stands in the other line anew; permits that the
/// line before grants to its old place do not come back.
///
/// # Cancel safety
///
/// May be dropped at any time: it leaves the line. Permits that it was granted and has not been told of are given
/// back. Permits that it was told of are the caller's, and stay taken.
pub struct ResourceCaller<R, H: AsRef<ResourceLine<R>>>
where
    R: Resource,
{
    line: H,
    permits: u64,
    /// Its place, while it stands in line.
    place: Option<Place>,
    /// The address of the line that the place is of.
    home: usize,
    of: PhantomData<fn() -> R>,
}

impl<R: Resource, H: AsRef<ResourceLine<R>>> ResourceCaller<R, H> {
    /// Returns a caller that wants `permits`, and stands in no line yet.
    pub fn new(line: H, permits: u64) -> ResourceCaller<R, H> {
        ResourceCaller { line, permits, place: None, home: 0, of: PhantomData }
    }

    /// Returns the way to the line that it keeps.
    pub fn line(&self) -> &H {
        &self.line
    }

    /// Returns the number of permits that it wants.
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns whether it stands in line.
    pub fn stands(&self) -> bool {
        self.place.is_some()
    }

    /// Asks for its turn; comes to stand at the end of the line at first, even if the permits are there: so a
    /// caller tries to take them by itself before. Returns the number of the [turn](crate::wait::ResourceTurn::Granted); the
    /// permits are the caller's then. `waker` is called when there is an answer. A caller that has been told its
    /// answer stands anew.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TooLarge`] for more than the limit; [`AcquireError::LineFull`], [`AcquireError::Evicted`] and
    /// [`AcquireError::Closed`] as the line has it. A caller that is refused has taken nothing.
    pub fn poll_turn(&mut self, waker: &Waker) -> Poll<Result<u64, AcquireError>> {
        self.forget_other_line();
        let line = self.line.as_ref();
        let standing = if self.place.is_some() {
            Ok(line::ask(line, &mut self.place, false, waker.clone()))
        } else {
            line::stand(line, self.permits, &mut self.place, None, waker.clone())
        };
        match standing {
            Ok(standing) => told(&standing),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Asks for its turn for the last time, and leaves the line. Not one that stands in none.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`] if its turn has not come, and all others.
    pub fn last_turn(&mut self) -> Result<u64, AcquireError> {
        self.forget_other_line();
        if self.place.is_some() {
            let standing =
                line::ask(self.line.as_ref(), &mut self.place, true, Waker::noop().clone());
            if let Poll::Ready(answer) = told(&standing) {
                return answer;
            }
        }
        Err(AcquireError::TimedOut { retry_after: Duration::MAX })
    }

    /// Forgets the place, if it is of another line than the present one: it would be somebody else's there, or none.
    fn forget_other_line(&mut self) {
        let home = self.line.as_ref().line_lock.address();
        if mem::replace(&mut self.home, home) != home {
            self.place = None;
        }
    }
}

fn told(standing: &LineAnswer) -> Poll<Result<u64, AcquireError>> {
    match *standing {
        LineAnswer::Waiting { .. } => Poll::Pending,
        LineAnswer::Told(Outcome::Granted { charged, .. }) => Poll::Ready(Ok(charged.after)),
        LineAnswer::Told(Outcome::Refused(error)) => Poll::Ready(Err(error)),
    }
}

impl<R: Resource, H: AsRef<ResourceLine<R>>> Drop for ResourceCaller<R, H> {
    fn drop(&mut self) {
        if self.place.is_some() {
            self.forget_other_line();
        }
        if let Some(place) = self.place {
            line::leave(self.line.as_ref(), place);
        }
    }
}

impl<R: Resource, H: AsRef<ResourceLine<R>>> fmt::Debug for ResourceCaller<R, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceCaller")
            .field("permits", &self.permits)
            .field("stands", &self.stands())
            .finish_non_exhaustive()
    }
}
