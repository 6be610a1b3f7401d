//! Live changes of a table's quotas.
//!
//! A level is a time: the ticks at which its key had spent all it had. What a key can spend is the
//! time since, up to the fill of its quota, and a quota only says how many ticks a permit takes and
//! how many permits fit. So a change writes one word, that of the tier, and no key's; and a key
//! that changes its quota is like a key that changes its tier, which it may do at each call.
//!
//! # Calls under way
//!
//! A call loads the word of its tier once, and is decided by what it loaded: never by parts of two
//! quotas. A call that began before the change returned may be decided by the old one, even if it
//! ends later. Nor can it be decided by one quota and committed under another: what it commits is a
//! number of ticks, which means the same under both. (A batch loads the word for each sixteen keys.
//! [`HotKeys`](crate::keyed::HotKeys) makes several calls for one request, so a request that is under way
//! may combine permits prepaid under the old quota with others that are granted under the new one:
//! each has ticks of its own, so the bound across the change includes them, and
//! [`update`](crate::keyed::HotKeys::update) takes back those that are left.)
//!
//! # Why the bound holds
//!
//! **Theorem.** The grants of one key whose clock readings lie in a span (s, t] cost together at
//! most `C + A(t) - A(s)` ticks, where C is the largest capacity by which one of them was decided,
//! under the conditions of the theorem in [`insert`](super::insert), and unless the key is removed.
//!
//! *Proof.* A grant that costs c ticks, decided by a capacity of k, gives the key the ticks from l
//! to l + c, where l is the level before it.
//!
//! If the key was found, l is its level, or `A(r) - k` if that is more, where r is the reading: the
//! level does not go down. The balance was enough, so `l + c <= A(r)`. (A level that is ahead of
//! the reading, because the clock has gone back, is a negative balance, whatever k is.)
//!
//! If it was not found, l is `T - k` or more, where T is the table's time, which is ahead of the
//! reading by the slack at most. Its last word, if it had one, was taken for another key or swept
//! when it was behind an earlier time of the table by `span` and the margin at least, and T is
//! behind that time by the slack at most. `k <= span`, so l is above the last level by more than
//! the slack: what the new interval may reach beyond `A(t)`, it leaves free below itself. (Nor can
//! it be followed by a hit before the clock is there.)
//!
//! So the intervals of a key are disjoint, whatever quotas they were decided by, and they lie
//! between `A(s) - C` and `A(t)`, or leave as much free as lies beyond. ∎
//!
//! Nothing in a slot but a charged level depends on a quota. Markers and tombstones have levels of
//! the span and the band, which do not change, so a marker that was placed by a call under one quota
//! is charged by a call under another, for its own capacity. A receipt puts back the level that was
//! there, or that of a full key: the time that the key would have saved without the grant.
//!
//! If all of them began after a change from which on a permit costs c ticks, and a burst is b: they
//! are at most `b + (A(t) - A(s)) / c`, the new burst and what is earned at the new rate. In a span
//! across the change each permit counts with the time that it takes at the rate by which it was
//! granted: together that is at most the span, and the longer fill of the two.
//!
//! The proof needs `k <= span` for every quota that is ever in force, and the proof that no marker
//! comes back needs `cost > band`. So the span, for which keys keep their slots, and the tick are
//! chosen when the table is made, for the quotas that it has and those that it has room for, and
//! [`Pace::terms`](super::in_force::Pace::terms) refuses all others.

use core::hash::{BuildHasher, Hash};

use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::time::clock::Clock;

use super::KeyTable;
use super::builder::KeyTableBuilder;
use super::verbs::TableTier;

impl<K: ?Sized, S, C, O> KeyTableBuilder<K, S, C, O> {
    /// Makes room for a quota that may be put in force later, by
    /// [`reconfigure`](KeyTable::reconfigure). It may be called more than once.
    ///
    /// The table's tick then suits this quota's rate too, and every key keeps its slot for as long
    /// as this quota takes to fill, if that is longer than any other. It is not a tier. Together
    /// with the tiers it must satisfy what [`tier`](KeyTableBuilder::tier) says of them; in
    /// [`ConfigError::Tier`] it is numbered after them.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{KeyTable, quota};
    ///
    /// let table = KeyTable::<str>::builder(quota!(100 / second, burst 100))
    ///     .room_for(quota!(150 / second, burst 1_500))
    ///     .keys(10_000)?;
    /// table.reconfigure(quota!(150 / second, burst 1_500))?;
    /// assert_eq!(table.quota().burst(), 1_500);
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn room_for(mut self, quota: impl Into<Quota>) -> Self {
        self.rooms.push(quota.into());
        self
    }
}

impl<K: Hash + ?Sized, S: BuildHasher, C: Clock, O> KeyTable<K, S, C, O> {
    /// Enforces `quota` from now on: in the first tier, if there are several. (For another tier:
    /// [`TableTier::reconfigure`].)
    ///
    /// Every key keeps the *time* that it has saved: it can spend what that time earns at the new
    /// rate, up to the new burst. If rate and burst change by one factor, each key keeps its part
    /// of the burst, rounded down to whole permits when it is asked for; if only the burst changes,
    /// its permits. A key that is unknown, or idle for long enough to fill the new burst, has all
    /// of it.
    ///
    /// Live: a call is decided by all of the old quota or all of the new one, by the new one if it
    /// begins after this returns. The permits of a key that are granted by such calls in any span
    /// of the clock are at most the new burst and what it earns in the span. In a span across the
    /// change, let each permit count with the time that it takes at the rate by which it was
    /// granted: together they take at most the span, and the longer of the two fills. Of two
    /// concurrent changes one is left in force.
    ///
    /// The longest time from empty to full is fixed when the table is made, and so is the tick, of
    /// which a permit has to take a whole number. A half of the rate, a third and so on always
    /// will; twice, four times and eight times the rate will for bursts up to 2,048
    /// and up to 8 million a second, in a table of one tier. If the quotas that may come are known,
    /// name them to [`room_for`](KeyTableBuilder::room_for); if not, ask
    /// [`rate_up_to`](KeyTable::rate_up_to).
    ///
    /// Writes one word, whatever the number of keys: wait-free; does not allocate; does not read
    /// the clock. Around a table use [`HotKeys::update`](crate::keyed::HotKeys::update), which takes back
    /// the permits that were prepaid under the old quota. The bucket that keys without a slot share
    /// ([`WhenFull::Share`](crate::keyed::WhenFull::Share)) is not changed.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::KeyTick`] if a permit does not take a whole number of ticks, 16 at least;
    /// * [`ConfigError::KeyFill`] if the burst takes longer to earn than any for which the table
    ///   was made;
    /// * [`ConfigError::KeyBurst`], [`ConfigError::KeyRate`] or [`ConfigError::KeyRefill`] if no
    ///   table can keep the quota.
    ///
    /// Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{KeyTable, quota};
    ///
    /// let table = KeyTable::<str>::with_keys(quota!(100 / hour), 10_000)?;
    /// table.try_acquire("ada", 40)?;
    /// table.reconfigure(quota!(50 / hour))?;
    /// // 36 minutes were left of an hour.
    /// assert_eq!(table.peek("ada", 0)?.remaining(), 30);
    /// assert_eq!(table.peek("bob", 0)?.remaining(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure(&self, quota: impl Into<Quota>) -> Result<(), ConfigError> {
        self.first_tier().reconfigure(quota)
    }

    /// Returns the highest rate up to `rate` that can be put in force, with a burst of one at
    /// least: one of which a permit takes a whole number of the table's ticks.
    ///
    /// A permit takes less than a tick longer than at `rate`, unless `rate` is higher than any that
    /// the table can have, or that rate cannot be expressed: then up to 64 ticks are tried. `None`
    /// if that finds none, or a permit takes longer than a burst of the table may. Does not
    /// allocate; does not read the clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{KeyTable, Quota, quota, rate};
    ///
    /// let table = KeyTable::<str>::with_keys(quota!(100 / second, burst 20), 10_000)?;
    /// // A tick is a 819,200th of a second here.
    /// assert!(table.reconfigure(quota!(150 / second, burst 20)).is_err());
    /// let near = table.rate_up_to(rate!(150 / second)).expect("there is one");
    /// assert_eq!(near.permits() as f64 / near.period().as_secs_f64(), 819_200.0 / 5_462.0);
    /// table.reconfigure(Quota::new(near).with_burst(20)?)?;
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[must_use]
    pub fn rate_up_to(&self, rate: Rate) -> Option<Rate> {
        self.pace.rate_up_to(rate, self.table.ticks.span)
    }
}

impl<K: ?Sized, S, C, O> TableTier<'_, K, S, C, O> {
    /// Returns the quota in force.
    ///
    /// After a change to another rate it may be given by other numbers: 2,000 an hour for 500 in 15
    /// minutes.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.tier.quota()
    }

    /// Enforces `quota` in this tier from now on, in the way of
    /// [`KeyTable::reconfigure`].
    ///
    /// # Errors
    ///
    /// As for [`KeyTable::reconfigure`]. Nothing is changed then.
    pub fn reconfigure(&self, quota: impl Into<Quota>) -> Result<(), ConfigError> {
        let terms = self.table.pace.terms(quota.into(), self.table.table.ticks.span)?;
        self.tier.enforce(terms);
        Ok(())
    }
}
