//! A limiter that refuses a caller for a time after a number of offences.

use core::fmt;
use core::time::Duration;

use crate::config::penalty_rule::PenaltyRule;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::offence::Offence;
use crate::decision::receipt::Receipt;
use crate::penalty::PenaltyCore;
use crate::penalty::record::Record;
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;

/// Refuses everything for a time, once a caller has offended a number of times within a period.
///
/// The idea of Fail2ban: the application says what an offence is (a failed log-in, a request for a
/// page that does not exist, a request that another limiter refused), and the [`PenaltyRule`] says how
/// many begin a penalty, within which period, and how long that lasts. Without a penalty every request
/// is granted, and none is counted.
///
/// A caller that is penalized is not punished further: its offences are not counted, and a penalty
/// does not become longer. After it the count begins at 0, but by a rule that
/// [doubles](PenaltyRule::doubled_up_to) the next penalty is longer. For a penalty for each user or
/// address see `Penalties`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, rate};
/// use sluicegate::penalty::{PenaltyBox, PenaltyRule};
///
/// let clock = ManualClock::new();
/// let rule = PenaltyRule::new(rate!(3 / minute), Duration::from_secs(600))?;
/// let log_ins = PenaltyBox::with_clock(rule, &clock);
///
/// for _ in 0..3 {
///     log_ins.try_acquire(1)?; // and the password is wrong
///     log_ins.offend(1);
/// }
/// let denied = log_ins.try_acquire(1).unwrap_err();
/// assert!(denied.retry_after() >= Some(Duration::from_secs(600)));
///
/// clock.advance(Duration::from_secs(601));
/// assert!(log_ins.try_acquire(1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// As many offences as the rule has, dated within less than its period, **always begin a penalty**.
/// Fewer within twice the period, and 34 ms, never do: offences are counted in windows of the
/// period, and those of the last window count too. From the call that begins a penalty on, **no permit
/// is granted before its end**, by any reading of the clock. It lasts its length, and up to 2,048 ns
/// more; a denial tells its end to the nanosecond. A period is rounded up to ticks of 16.8 ms.
///
/// The word is dated by the clocks of callers. If those of threads differ by `d`, at most a second,
/// the first holds for offences within a time shorter by `d`, and a caller may be granted permits `d`
/// before the end of a penalty. If the clock is set back by more than a second, a running penalty
/// begins anew, with less than twice its length; offences move to the present. Both are counted in
/// [`healed`](PenaltyBox::healed). If it jumps forward, penalties end sooner by as much. After 73 years
/// without an offence, old offences may count again, for two periods.
///
/// # Memory ordering
///
/// A call that is refused comes after the offence that began the penalty: it sees everything that the
/// offender's call did before. A grant synchronizes with earlier offences, not with other grants.
pub struct PenaltyBox<C = DefaultClock> {
    word: AtomicWord<Record>,
    core: PenaltyCore<C>,
}

#[cfg(feature = "std")]
impl PenaltyBox {
    /// Creates a limiter without offences, on a clock of its own.
    #[must_use]
    pub fn new(rule: PenaltyRule) -> PenaltyBox {
        PenaltyBox::with_clock(rule, DefaultClock::default())
    }
}

impl<C: Clock> PenaltyBox<C> {
    /// Creates a limiter without offences, on `clock`.
    #[must_use]
    pub fn with_clock(rule: PenaltyRule, clock: C) -> PenaltyBox<C> {
        PenaltyBox { word: AtomicWord::new(Record::CLEAN), core: PenaltyCore::new(rule, clock) }
    }

    /// Grants any number of permits, unless a penalty runs.
    ///
    /// Wait-free; does not allocate; writes nothing, unless the clock was set back during a penalty.
    /// Reads the clock only if there was a penalty after the last offence that was counted. A request
    /// for 0 permits is always granted.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] while a penalty runs, with the time until its end.
    #[inline]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.check(&self.word, permits)
    }

    /// Returns the answer that [`try_acquire`](PenaltyBox::try_acquire) gives, which takes nothing
    /// either.
    ///
    /// `peek(0)` reads the state: nothing remains while a penalty runs, and
    /// [`reset_after`](Grant::reset_after) is the time until its end.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](PenaltyBox::try_acquire).
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.check(&self.word, permits)
    }

    /// Counts a number of `offences`, and begins a penalty if they are enough. More than are needed are
    /// not carried over to the time after it. During a penalty, does nothing.
    ///
    /// Lock-free, but waits for a change of the rule in progress; does not allocate; reads the clock
    /// once, and again after each race that it loses. A report of 0 offences changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, rate};
    /// use sluicegate::penalty::{Offence, PenaltyBox, PenaltyRule};
    ///
    /// let rule = PenaltyRule::new(rate!(5 / minute), Duration::from_secs(600))?;
    /// let penalties = PenaltyBox::with_clock(rule, ManualClock::new());
    /// assert_eq!(penalties.offend(2), Offence::Counted { remaining: 3 });
    /// assert!(penalties.offend(3).is_penalized());
    /// assert!(matches!(penalties.offend(9), Offence::Ignored { .. }));
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[doc(alias = "strike", alias = "fail", alias = "count")]
    pub fn offend(&self, offences: u64) -> Offence {
        self.core.offend(&self.word, offences)
    }

    /// Begins a penalty of `length`, whatever was counted, unless one runs that ends later. A length
    /// above [`PenaltyRule::MAX_TIME`] is taken as that, and one of 0 changes nothing.
    ///
    /// For the order of an operator, or of another process that has seen offences. It is not one of
    /// the penalties that make the next one longer. Costs as much as [`offend`](PenaltyBox::offend).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, rate};
    /// use sluicegate::penalty::{PenaltyBox, PenaltyRule};
    ///
    /// let rule = PenaltyRule::new(rate!(5 / minute), Duration::from_secs(600))?;
    /// let penalties = PenaltyBox::with_clock(rule, ManualClock::new());
    /// penalties.penalize_for(Duration::from_secs(60));
    /// assert!(penalties.try_acquire(1).is_err());
    /// assert!(penalties.clear());
    /// assert!(penalties.try_acquire(1).is_ok());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[doc(alias = "ban", alias = "block")]
    pub fn penalize_for(&self, length: Duration) -> Offence {
        self.core.penalize_for(&self.word, length)
    }

    /// Forgets the offences, the penalty that runs, and those that would make the next one longer.
    /// Returns whether a penalty was running.
    ///
    /// Lock-free; does not allocate; reads the clock during a penalty, and some time after.
    #[doc(alias = "pardon", alias = "unban")]
    pub fn clear(&self) -> bool {
        self.core.clear(&self.word)
    }

    /// Returns the rule in force. Waits for a change of it in progress.
    #[must_use]
    pub fn rule(&self) -> PenaltyRule {
        self.core.rule()
    }

    /// Replaces the rule. Waits for another change in progress.
    ///
    /// A penalty that runs goes on as it is, and offences that were counted count by the new rule: if
    /// they are enough for it already, the next offence begins a penalty. (If the new period is
    /// longer, an offence that no longer counted may count again.) An offence that is reported
    /// meanwhile is judged by one rule or the other, never by parts of both.
    pub fn reconfigure(&self, rule: PenaltyRule) {
        self.core.change_rule(rule);
    }

    /// Returns how often the clock was found to have been set back during a penalty, or while offences
    /// counted.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.core.healed()
    }

    /// Returns the clock that the limiter reads.
    #[must_use]
    pub fn clock(&self) -> &C {
        self.core.clock()
    }
}

/// Shows the rule, the offences that count, and the time until the end of a penalty. Reads the clock;
/// writes nothing.
impl<C: Clock> fmt::Debug for PenaltyBox<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offences, left) = self.core.shown(&self.word);
        let is_long = f.alternate();
        let mut shown = f.debug_struct("PenaltyBox");
        shown.field("rule", &self.rule()).field("offences", &offences).field("left", &left);
        if is_long {
            shown.field("word", &self.word);
        }
        shown.finish()
    }
}

impl<C: Clock + Send + Sync> Limiter for PenaltyBox<C> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.peek(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        // Nothing is taken, so all of it counts as given back.
        self.try_acquire(permits).map(Receipt::free)
    }

    fn reset(&self) {
        self.clear();
    }

    fn is_idle(&self) -> bool {
        self.core.idle_after(&self.word).is_zero()
    }

    fn healed(&self) -> u64 {
        self.healed()
    }
}

/// Takes nothing, so any reserve is left.
impl<C: Clock + Send + Sync> Leaving for PenaltyBox<C> {
    fn try_acquire_leaving(&self, permits: u64, _reserve: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn peek_leaving(&self, permits: u64, _reserve: u64) -> Result<Grant, Denied> {
        self.peek(permits)
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        _reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.try_acquire_revocable(permits)
    }
}
