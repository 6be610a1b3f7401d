//! The store of a limiter's keys, and the engine's verdict on its size.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::Range;
use std::sync::Arc;

use sluicegate::{ConfigError, ManualClock, Quota, Rate, WhenFull};
use toml::Spanned;

use super::super::error_snippet::Problem;
use super::super::schema::*;
use super::super::{Kind, Room, Size, Store};
use super::{Check, messages};

/// Returns the number, or the largest that a `usize` holds.
fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Check<'_> {
    /// Checks that the store can be built for limiters of this kind, and returns it.
    pub(super) fn store(&self, kind: &Kind) -> Result<Store, Problem> {
        let when_full =
            self.raw.when_full.as_ref().map_or(Ok(WhenFull::Deny), |raw| self.when_full(raw))?;
        let room = match &self.raw.store {
            Some(store) if *store.get_ref() == StoreName::Table => {
                Room::Table(self.table(kind, when_full, &store.span())?)
            }
            _ => Room::Exact { max_keys: self.max_keys(kind)? },
        };
        Ok(Store { room, when_full })
    }

    fn max_keys(&self, kind: &Kind) -> Result<Option<usize>, Problem> {
        let label = messages::ONLY_MAX_KEYS;
        refuse("memory", self.raw.memory.as_ref(), "exact", label)?;
        refuse("keys", self.raw.keys.as_ref(), "exact", label)?;
        let Some(raw) = &self.raw.max_keys else { return Ok(None) };
        if raw.get_ref().0 == 0 {
            return Err(self.wrong("max_keys", raw.span(), messages::ONE_OR_MORE));
        }
        if !kind.is_new_when_full() {
            return Err(messages::keys_are_kept(raw.span(), self.why_kept(kind)));
        }
        Ok(Some(size(raw.get_ref().0)))
    }

    /// Returns the place of the field that makes an idle key differ from a new one.
    fn why_kept(&self, kind: &Kind) -> Option<Range<usize>> {
        let Check { raw, .. } = self;
        match kind {
            Kind::TokenBucket { quota, initial } if *initial < quota.burst() => {
                raw.initial.as_ref().map(Spanned::span)
            }
            Kind::TokenBucket { .. } => raw.refill.as_ref().map(Spanned::span),
            _ => raw.of.as_ref().map(Spanned::span),
        }
    }

    /// Returns the size of the table that `place` asks for.
    fn table(
        &self,
        kind: &Kind,
        when_full: WhenFull,
        place: &Range<usize>,
    ) -> Result<Size, Problem> {
        let Check { raw, .. } = self;
        refuse("max_keys", raw.max_keys.as_ref(), "table", messages::ONLY_MEMORY_OR_KEYS)?;
        let Kind::TokenBucket { quota, initial } = kind else {
            return Err(self
                .wrong("store", place.clone(), messages::EXACT_STORE)
                .with_context(raw.policy.span(), messages::NEEDS_EXACT_STORE));
        };
        let room = match (&raw.memory, &raw.keys) {
            (Some(memory), None) => Size::Memory(size(memory.get_ref().0)),
            (None, Some(keys)) => Size::Keys(size(keys.get_ref().0)),
            (Some(memory), Some(keys)) => {
                return Err(messages::two_sizes(keys.span(), memory.span()));
            }
            (None, None) => {
                let name = raw.name.as_ref().map_or("", |name| name.get_ref());
                return Err(messages::no_size(name, place.clone()));
            }
        };
        if let (Some(given), true) = (&raw.initial, *initial < quota.burst()) {
            return Err(self
                .wrong("initial", given.span(), messages::FULL_IN_A_TABLE)
                .with_context(place.clone(), messages::IN_THIS_STORE));
        }
        // The time on the clock does not affect whether it can be built.
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        match room.table::<[u8], _, _>(*quota, when_full, hasher, Arc::new(ManualClock::new())) {
            Ok(_) => Ok(room),
            Err(error) => {
                Err(self.no_table(&error).with_context(place.clone(), messages::IN_THIS_STORE))
            }
        }
    }

    /// Reports the engine's verdict on a table, at the place of the field concerned.
    fn no_table(&self, error: &ConfigError) -> Problem {
        let Check { raw, .. } = self;
        let place = match error {
            ConfigError::Memory { .. } => raw.memory.as_ref().map(Spanned::span),
            ConfigError::Keys { .. } => raw.keys.as_ref().map(Spanned::span),
            _ => return self.out_of_range(error),
        };
        self.wrong(error.field(), place.unwrap_or_else(|| raw.policy.span()), error.rule())
    }

    fn when_full(&self, raw: &Spanned<RawWhenFull>) -> Result<WhenFull, Problem> {
        match raw.get_ref() {
            RawWhenFull::Deny => Ok(WhenFull::Deny),
            RawWhenFull::Admit => Ok(WhenFull::Admit),
            RawWhenFull::Share(share) => self.share(share).map(WhenFull::Share),
        }
    }

    fn share(&self, raw: &RawShare) -> Result<Quota, Problem> {
        let RawRate { amount, interval } = raw.rate.get_ref();
        let rate = Rate::new(amount.get_ref().0, interval.get_ref().0);
        let quota = rate.and_then(|rate| Quota::new(rate).with_burst(raw.limit.get_ref().0));
        quota.map_err(|error| {
            let (field, place) = match error {
                ConfigError::Permits { .. } => ("rate.amount", amount.span()),
                ConfigError::Period { .. } => ("rate.interval", interval.span()),
                ConfigError::TooFast { .. } => ("rate", raw.rate.span()),
                _ => ("limit", raw.limit.span()),
            };
            self.wrong(&format!("when_full.{field}"), place, error.rule())
        })
    }
}

/// Refuses a field that sets the size of another store.
fn refuse<T>(
    field: &str,
    given: Option<&Spanned<T>>,
    store: &str,
    label: &str,
) -> Result<(), Problem> {
    let Some(given) = given else { return Ok(()) };
    Err(messages::not_of_store(field, given.span(), store, label))
}
