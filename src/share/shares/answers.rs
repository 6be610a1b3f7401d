//! Counts of the answers to tenants, by the source of their permits.

use alloc::boxed::Box;

use crate::compose::counted::answers::AnswerCounters;
use crate::decision::denied::Denied;
use crate::share::share_grant::ShareGrant;
use crate::time::clock::Clock;

use super::Shares;

/// The counts of the answers of a [`Shares`], for all tenants together: see [`Shares::counted`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ShareAnswers {
    /// Grants of tenants' own shares.
    pub assured: AnswerCounters,
    /// Grants of lent permits, and all denials: a tenant that was denied could not borrow either.
    pub borrowed: AnswerCounters,
}

impl ShareAnswers {
    #[inline]
    pub(super) fn count(&self, permits: u64, answer: &Result<ShareGrant, Denied>) {
        match answer {
            Ok(ShareGrant::Assured(_)) => self.assured.count_grant(permits),
            Ok(ShareGrant::Borrowed(_)) => self.borrowed.count_grant(permits),
            Err(denied) => self.borrowed.count_whole(permits, Some(denied)),
        }
    }
}

impl<K, C: Clock, S> Shares<K, C, S> {
    /// Counts the answers from now on, by the source of the permits. Allocates the counters.
    ///
    /// A call then takes one addition more on a cache line of its thread's own, and two if it is for another number
    /// than one permit. A look is not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::quota;
    /// use sluicegate::share::{Share, Shares};
    ///
    /// let shares = Shares::<u64>::new(quota!(10 / hour), [Share::new(quota!(4 / hour))])?.counted();
    /// for permits in [4, 2, 1] {
    ///     let _ = shares.try_acquire(0, &7, permits);
    /// }
    /// let answers = shares.answers().unwrap();
    /// assert_eq!((answers.assured.counts().permits, answers.borrowed.counts().permits), (4, 2));
    /// assert_eq!(answers.borrowed.denials().rate, 1);
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[must_use]
    pub fn counted(self) -> Shares<K, C, S> {
        Shares { answers: Some(Box::default()), ..self }
    }

    /// Returns the counts of the answers; `None` unless they are [counted](Shares::counted).
    #[must_use]
    pub fn answers(&self) -> Option<&ShareAnswers> {
        self.answers.as_deref()
    }
}
