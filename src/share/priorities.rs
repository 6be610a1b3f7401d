//! Classes of requests, each of which leaves a reserve to the more important ones.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use crate::compose::counted::answers::AnswerCounters;
use crate::config::error::ConfigError;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::limiter::leaving::Leaving;

use super::refused_class::RefusedClass;

/// A class of requests: its name, and the permits that it leaves.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::share::{Priorities, PriorityClass};
///
/// let classes = [("user", 0), ("batch", 40)]
///     .map(|(name, reserve)| PriorityClass { name: name.into(), reserve });
/// let priorities = Priorities::new(TokenBucket::new(quota!(100 / hour)), classes)?;
/// assert!(priorities.try_acquire(1, 61).is_err());
/// assert!(priorities.try_acquire(0, 61).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PriorityClass {
    /// The name, which answers tell. Several classes may have one name: answers then tell only the reserve that
    /// refused, and a lookup by name finds the first of them.
    pub name: Cow<'static, str>,
    /// The permits that have to remain when a request of this class is granted: 0 for the most important one.
    pub reserve: u64,
}

/// Classes of requests over one limiter: a class is refused while less than its reserve would remain.
///
/// So, as the limiter runs low, batches are refused first, then ordinary requests, and critical ones last. A reserve
/// is no reservation: more important classes may take all of it. Takes no memory beside the limiter and the list of
/// classes, which is allocated once, and costs what [`try_acquire_leaving`](Leaving::try_acquire_leaving) does.
///
/// Decisions are exact, whatever other callers do. A reserve may be changed only with the whole value, and a limiter
/// that is lowered below a reserve refuses its class.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, TokenBucket, quota};
/// use sluicegate::share::Priorities;
///
/// const CRITICAL: usize = 0;
/// const NORMAL: usize = 1;
/// const BATCH: usize = 2;
///
/// let bucket = TokenBucket::with_clock(quota!(100 / second), ManualClock::new());
/// let percent = [("critical", 0), ("normal", 20), ("batch", 50)];
/// let priorities = Priorities::by_percent(bucket, percent)?;
///
/// assert!(priorities.try_acquire(BATCH, 50).is_ok());
/// let refused = priorities.try_acquire(BATCH, 1).unwrap_err();
/// assert_eq!(refused.to_string(), "batch leaves 50 to others: rate limited: try again in 10ms");
/// assert!(priorities.try_acquire(NORMAL, 30).is_ok());
/// assert!(priorities.try_acquire(CRITICAL, 20).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Priorities<L> {
    limiter: L,
    classes: Box<[PriorityClass]>,
    /// For each class, or none if nothing is counted.
    answers: Box<[AnswerCounters]>,
}

impl<L: Leaving> Priorities<L> {
    /// Creates classes that leave so many permits of `limiter`, whose limit is looked at now. Allocates.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Reserve`] if a reserve is the limit or more: nothing would ever be granted.
    /// * [`ConfigError::Count`] if there are no classes, or more than 64.
    pub fn new(
        limiter: L,
        classes: impl IntoIterator<Item = PriorityClass>,
    ) -> Result<Priorities<L>, ConfigError> {
        let classes: Box<[PriorityClass]> = classes.into_iter().collect();
        if !(1..=64).contains(&classes.len()) {
            return Err(ConfigError::Count { count: classes.len() });
        }
        let limit = limit_of(&limiter);
        match classes.iter().find(|class| class.reserve >= limit) {
            Some(&PriorityClass { reserve, .. }) => Err(ConfigError::Reserve { reserve, limit }),
            None => Ok(Priorities { limiter, classes, answers: Box::default() }),
        }
    }

    /// Creates classes that leave so many percent of the limit that `limiter` has now, rounded up to
    /// whole permits. Allocates.
    ///
    /// # Errors
    ///
    /// As for [`new`](Priorities::new).
    pub fn by_percent<N: Into<Cow<'static, str>>>(
        limiter: L,
        classes: impl IntoIterator<Item = (N, u8)>,
    ) -> Result<Priorities<L>, ConfigError> {
        let limit = u128::from(limit_of(&limiter));
        let classes = classes.into_iter().map(|(name, percent)| {
            let reserve = (limit * u128::from(percent)).div_ceil(100);
            PriorityClass { name: name.into(), reserve: u64::try_from(reserve).unwrap_or(u64::MAX) }
        });
        Priorities::new(limiter, classes)
    }

    /// Counts the answers to each class from now on: see [`answers`](Priorities::answers). Allocates counters for each class.
    ///
    /// A call then takes one addition more on a cache line of its thread's own, and two if it is for another number
    /// than one permit.
    #[must_use]
    pub fn counted(self) -> Priorities<L> {
        let answers = self.classes.iter().map(|_| AnswerCounters::new()).collect();
        Priorities { answers, ..self }
    }

    /// Takes all of `permits` for a request of a class, or none if less than the reserve of the class would
    /// remain. Blocks, allocates and reads the clock as the limiter does.
    ///
    /// A class that there is not counts as the last one. A request for 0 permits is always granted. The answer tells what
    /// is above the reserve: `remaining` is what the class can have now, and `limit` the largest request that it can ever make.
    ///
    /// # Errors
    ///
    /// [`RefusedClass`], with the denial of [`try_acquire_leaving`](Leaving::try_acquire_leaving).
    #[inline]
    pub fn try_acquire(&self, class: usize, permits: u64) -> Result<Grant, RefusedClass> {
        let class = self.existing(class);
        let answer = self.limiter.try_acquire_leaving(permits, self.classes[class].reserve);
        if let Some(answers) = self.answers.get(class) {
            answers.count_whole(permits, answer.as_ref().err());
        }
        self.answer(class, answer)
    }

    /// Returns the answer that [`try_acquire`](Priorities::try_acquire) would give now. Takes nothing.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Priorities::try_acquire).
    pub fn peek(&self, class: usize, permits: u64) -> Result<Grant, RefusedClass> {
        let class = self.existing(class);
        self.answer(class, self.limiter.peek_leaving(permits, self.classes[class].reserve))
    }

    /// Returns the classes, the most important one first if they were given so.
    #[must_use]
    pub fn classes(&self) -> &[PriorityClass] {
        &self.classes
    }

    /// Returns the counts of the answers to a class: `None` for one that there is not, and unless they are
    /// [counted](Priorities::counted). A look is not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate::share::Priorities;
    ///
    /// let bucket = TokenBucket::new(quota!(10 / hour));
    /// let priorities = Priorities::by_percent(bucket, [("user", 0), ("batch", 50)])?.counted();
    /// for class in [1, 1, 0] {
    ///     let _ = priorities.try_acquire(class, 4);
    /// }
    /// let counts = [0, 1].map(|class| priorities.answers(class).unwrap().counts());
    /// assert_eq!(counts.map(|counts| (counts.permits, counts.denied)), [(4, 0), (4, 1)]);
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[must_use]
    pub fn answers(&self, class: usize) -> Option<&AnswerCounters> {
        self.answers.get(class)
    }

    /// Returns the limiter, to be asked past the classes or changed.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Returns the index of a class, or of the last one; there is one at least.
    #[inline]
    fn existing(&self, class: usize) -> usize {
        class.min(self.classes.len() - 1)
    }

    /// Returns the answer of the limiter as it is for a class.
    #[inline]
    fn answer(&self, class: usize, answer: Result<Grant, Denied>) -> Result<Grant, RefusedClass> {
        let PriorityClass { name, reserve } = &self.classes[class];
        answer
            .map(|grant| grant.above(*reserve))
            .map_err(|denied| RefusedClass::new(class, name, *reserve, denied.above(*reserve)))
    }
}

/// A clone counts for itself, from 0.
impl<L: Clone> Clone for Priorities<L> {
    fn clone(&self) -> Self {
        let answers = self.answers.iter().map(|_| AnswerCounters::new()).collect();
        Priorities { limiter: self.limiter.clone(), classes: self.classes.clone(), answers }
    }
}

/// Returns the most that the limiter holds.
fn limit_of(limiter: &impl Leaving) -> u64 {
    match limiter.peek(0) {
        Ok(grant) => grant.limit(),
        // No limiter denies 0 permits, but one of the user's may.
        Err(denied) => denied.limit().unwrap_or(0),
    }
}
