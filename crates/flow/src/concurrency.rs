//! Limits of calls in flight.
//!
//! | type | for |
//! |---|---|
//! | [`ConcurrencyLimit`] | a fixed number, or weight, of calls at a time |
//! | [`Adaptive`] | a number that an algorithm finds: [`Aimd`], [`Gradient2`], [`Vegas`], [`Windowed`] |
//! | [`KeyedConcurrency`] | a limit for each key |
//!
//! A granted call holds a guard, [`InFlight`], which returns its permits when it is dropped.

// Limits of calls in flight, not of calls in a span of time.
//
// The state of a [`ConcurrencyLimit`] is one word, in which lie both the limit and the permits in
// flight; see [`word`].
//
// ```text
// admit n    iff nobody stands in line and in_flight + n <= limit, by CAS: in_flight -> in_flight + n
// end n      by fetch_sub: in_flight -> in_flight - n; then serves, if somebody stands in line
// change     by CAS: limit -> the new one; then serves, as above
// ```
//
// | | |
// |---|---|
// | [`word`] | the word and its transitions |
// | [`steps`] | the atomic operations: admissions, ends and changes |
// | [`in_flight`] | guards |
// | [`turns`] | what the line of callers asks of the limit; why nobody in it is forgotten |
// | [`queueing`] | a caller that waits, and its place in line |
// | [`entering`] | the futures, and the verbs that wait |
// | [`adaptive`] | limits that an [`algorithm`] chooses |
// | [`keyed`] | a limit for each key |
//
// **Theorem.** Whenever permits are admitted, those in flight, they included, are at most the
// limit in force at that moment.
//
// *Proof.* A decision depends on the word alone, and takes effect only if its CAS finds the word
// that was decided on, in which limit and permits in flight are those of the same moment. (That
// the word may have been another in between does not matter: the same word means the same again.)
// The count is exact, because every change of it is a read-modify-write. ∎
//
// An admission is not a `fetch_add`, to be taken back if it was one too many. That would deny
// others that fit, for as long as the excess is counted. And the addition could not depend on
// anything else in the word, as the CAS does.
//
// An end is a `fetch_sub`: it does not depend on what it finds, so it need not be tried again.
// It cannot borrow from the limit, because a guard ends once, and was counted before.
//
// Progress: an admission is lock-free, an end is wait-free, as long as nobody waits; otherwise an
// end takes the line's lock for a moment. Memory: a padded cache line. Cost: a
// denial 1 load of the shared line; an admission 1 load and 1 CAS of it; an end 1 `fetch_sub`. A caller that
// loses a race waits a little longer each time before it tries again.

mod adaptive;
mod algorithm;
mod denied;
mod entering;
mod in_flight;
mod keyed;
mod queueing;
mod steps;
mod turns;
mod word;

pub use self::adaptive::Adaptive;
pub use self::adaptive::entering::TimedEntering;
pub use self::adaptive::timed::{Outcome, TimedInFlight};
pub use self::algorithm::aimd::Aimd;
pub use self::algorithm::gradient2::Gradient2;
pub use self::algorithm::vegas::Vegas;
pub use self::algorithm::windowed::Windowed;
pub use self::algorithm::{LimitAlgorithm, Sample};
pub use self::denied::ConcurrencyDenied;
pub use self::entering::Entering;
pub use self::entering::error::InFlightError;
pub use self::in_flight::InFlight;
pub use self::keyed::KeyedConcurrency;

use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use sluicegate::wait::ResourceLine;

use self::in_flight::Home;
use self::word::{LimitWord, Tally};

/// A limit of the permits in flight at a time.
///
/// A rate limits the calls that begin in a second; this limits calls that have begun and not ended.
/// Use it for things that are scarce while in use: connections, memory of requests, a slow service
/// behind. A request takes as many permits as it weighs and holds them in a guard, [`InFlight`].
/// The permits come back when the guard is dropped.
///
/// A `try_acquire` never blocks, allocates (but for an `Arc`) or reads a clock. Callers can wait for permits, as
/// threads or as tasks ([`acquire`](ConcurrencyLimit::acquire)), in one line, first come, first served.
///
/// # Accuracy
///
/// Exact: whenever permits are granted, the permits in flight, they included, are at most the
/// limit. If [`set_limit`](ConcurrencyLimit::set_limit) lowers it below them, nothing is granted
/// until enough calls have ended; calls in flight stay.
///
/// # Fairness
///
/// Callers that wait are granted permits in the order in which they came, whatever they ask for, and
/// a `try_acquire` does not overtake them: as long as anybody waits, it is denied.
///
/// None between callers that only try, again and again: permits that come back go to the next one
/// that asks, so a request for many permits may be overtaken by small ones for ever.
///
/// # Memory ordering
///
/// Everything that a caller did before its permits ended, before its own admission, or before it
/// changed the limit, happens before everything that a caller admitted later does. A denial, and a request for 0
/// permits, order nothing.
///
/// # Examples
///
/// ```
/// use sluicegate_flow::concurrency::ConcurrencyLimit;
///
/// let limit = ConcurrencyLimit::new(2);
/// let first = limit.try_acquire(1)?;
/// let _second = limit.try_acquire(1)?;
/// assert!(limit.try_acquire(1).is_err());
///
/// drop(first); // its request has ended
/// assert!(limit.try_acquire(1).is_ok());
/// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
/// ```
///
/// Permits by weight, for example megabytes of the requests that are being handled:
///
/// ```
/// use sluicegate_flow::concurrency::ConcurrencyLimit;
///
/// let megabytes = ConcurrencyLimit::new(64);
/// let upload = megabytes.try_acquire(48)?;
/// assert_eq!(megabytes.try_acquire(32).unwrap_err().available(), 16);
/// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
/// ```
#[doc(alias = "semaphore")]
#[doc(alias = "bulkhead")]
#[doc(alias = "ConcurrencyLimiter")]
pub struct ConcurrencyLimit {
    /// The word and the callers in line, padded to their own cache line.
    hot: CachePadded<ResourceLine<LimitWord>>,
}

impl ConcurrencyLimit {
    /// The largest limit. It also stands for "no limit": no process has that much in flight.
    pub const MAX: u64 = word::MAX;

    /// Creates a limit of `limit` permits in flight. More than [`MAX`](ConcurrencyLimit::MAX) is
    /// taken as that; a limit of 0 admits nothing until it is
    /// [raised](ConcurrencyLimit::set_limit).
    #[must_use]
    pub fn new(limit: u64) -> ConcurrencyLimit {
        ConcurrencyLimit { hot: CachePadded::new(ResourceLine::new(LimitWord::new(limit))) }
    }

    /// Takes all of `permits` or none, until the guard is dropped.
    ///
    /// Never blocks or allocates. Asking for 0 permits is always granted, and changes nothing.
    ///
    /// # Errors
    ///
    /// [`ConcurrencyDenied`] if fewer than `permits` are left, or if others [wait in
    /// line](ConcurrencyDenied::others_wait). It says whether the limit as a whole is
    /// [less](ConcurrencyDenied::is_too_large), so that it is no use to ask again.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::ConcurrencyLimit;
    ///
    /// let limit = ConcurrencyLimit::new(5);
    /// let guard = limit.try_acquire(5)?;
    /// assert_eq!(limit.in_flight(), 5);
    /// assert_eq!(limit.try_acquire(1).unwrap_err().in_flight(), 5);
    /// drop(guard);
    /// assert_eq!(limit.in_flight(), 0);
    /// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
    /// ```
    #[inline]
    pub fn try_acquire(&self, permits: u64) -> Result<InFlight<'_>, ConcurrencyDenied> {
        self.admit(permits)?;
        Ok(InFlight::new(Home::Borrowed(self), permits))
    }

    /// Takes permits as [`try_acquire`](ConcurrencyLimit::try_acquire) does, with a guard that
    /// keeps the limit alive: for tasks, and for structs that hold a guard. Clones the `Arc`, if
    /// granted.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](ConcurrencyLimit::try_acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate_flow::concurrency::ConcurrencyLimit;
    ///
    /// let limit = Arc::new(ConcurrencyLimit::new(1));
    /// let guard = limit.try_acquire_owned(1)?;
    /// let worker = std::thread::spawn(move || drop(guard));
    /// worker.join().unwrap();
    /// assert_eq!(limit.in_flight(), 0);
    /// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
    /// ```
    #[inline]
    pub fn try_acquire_owned(
        self: &Arc<Self>,
        permits: u64,
    ) -> Result<InFlight<'static>, ConcurrencyDenied> {
        self.admit(permits)?;
        Ok(InFlight::new(Home::Owned(Arc::clone(self)), permits))
    }

    /// Changes the limit, for all calls that begin from now on. More than
    /// [`MAX`](ConcurrencyLimit::MAX) is taken as that.
    ///
    /// Permits in flight stay in flight. If they are more than the new limit, nothing is granted
    /// until enough of them have ended. A limit of 0 lets all end and nothing begin. A higher limit
    /// serves the line; a caller in line that wants more than a lower limit is refused.
    ///
    /// Lock-free, and never allocates, unless callers wait in line: then it takes the line's lock
    /// for a moment, and wakes callers that have been granted permits, or refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::ConcurrencyLimit;
    ///
    /// let limit = ConcurrencyLimit::new(3);
    /// let mut guards: Vec<_> = (0..3).map_while(|_| limit.try_acquire(1).ok()).collect();
    /// limit.set_limit(2);
    /// assert_eq!((limit.in_flight(), limit.limit(), limit.available()), (3, 2, 0));
    ///
    /// guards.pop(); // two are in flight, and may be
    /// assert!(limit.try_acquire(1).is_err());
    /// guards.pop();
    /// assert!(limit.try_acquire(1).is_ok());
    /// ```
    pub fn set_limit(&self, limit: u64) {
        if self.change_limit(limit) {
            self.tell_line();
        }
    }

    /// Returns the word with the line before it.
    fn line_of_word(&self) -> &ResourceLine<LimitWord> {
        &self.hot
    }

    fn load(&self) -> Tally {
        self.hot.resource().load()
    }

    /// Counts `permits` as in flight and returns the word with them, to be followed by one
    /// [`end`](ConcurrencyLimit::end) of as many.
    #[inline]
    fn admit(&self, permits: u64) -> Result<Tally, ConcurrencyDenied> {
        self.hot.resource().admit(permits)
    }

    /// Ends `permits` that were admitted and have not ended.
    #[inline]
    fn end(&self, permits: u64) {
        if self.hot.resource().end(permits) {
            self.hot.serve();
        }
    }

    /// Changes the limit. Returns whether callers stand in line, so that it has to be followed by a
    /// [`tell_line`](ConcurrencyLimit::tell_line).
    fn change_limit(&self, limit: u64) -> bool {
        self.hot.resource().change_limit(limit)
    }

    /// Lets those in line look again, after a change of the limit.
    fn tell_line(&self) {
        self.hot.limit_changed();
    }

    /// Returns the limit in force.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.load().limit()
    }

    /// Returns the number of permits in flight. More than the limit, if that was lowered.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.load().in_flight()
    }

    /// Returns the number of permits that are left: the largest request that would be granted now,
    /// if nobody waits in line.
    #[must_use]
    pub fn available(&self) -> u64 {
        let tally = self.load();
        tally.limit().saturating_sub(tally.in_flight())
    }
}

impl fmt::Debug for ConcurrencyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.load();
        f.debug_struct("ConcurrencyLimit")
            .field("limit", &tally.limit())
            .field("in_flight", &tally.in_flight())
            .finish()
    }
}
