//! A table as the store that [hot keys](crate::keyed::HotKeys) prepay permits from.

use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::observe::Observe;
use crate::keyed::prepay::{Prepaid, Prepay, PrepayRequest};
use crate::time::clock::Clock;

use super::KeyTable;
use super::home::KeyHome;
use super::in_force::TierTerms;
use super::key_word::LEVEL_BITS;
use super::lines::{LineTable, hit};
use super::ticks::LevelTicks;
use super::verbs::TableTier;

impl<C: Clock> LineTable<C> {
    /// Takes some permits for a key that is in the table, if it has as many to spare.
    fn draw(&self, place: KeyHome, tier: &TierTerms, want: PrepayRequest) -> Option<Prepaid> {
        let charge = |balance: i64| {
            let charge = want.charge(balance, tier.capacity, tier.cost);
            // The caller does not use the cost that would have been enough.
            charge.map(|(_, cost)| cost).ok_or(0)
        };
        let (found, seen) = self.find(place)?;
        // Read after the word, so the word's level is ahead of it only if the clock has gone back.
        let (moment, _) = self.time();
        let age = self.ticks.age(moment.now, seen.level());
        if LevelTicks::<LEVEL_BITS>::is_lost(age) {
            // The next ordinary call for the key starts it again, and counts that.
            return None;
        }
        let granted = hit((found, seen, place.fingerprint), (age, moment), tier, &charge)?.ok()?;
        let before = granted.balance + granted.cost;
        let (permits, _) = want.charge(before, tier.capacity, tier.cost)?;
        let forecast = tier.forecast(granted.balance, granted.elapsed_nanos);
        Some(Prepaid { grant: Grant { permits, forecast }, at_nanos: moment.reading_nanos })
    }
}

impl<K, S, C, O> Prepay<K> for TableTier<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    type Clock = C;

    #[inline(always)]
    fn clock(&self) -> &C {
        self.table.clock()
    }

    #[inline(always)]
    fn hash(&self, key: &K) -> u64 {
        self.table.hasher.hash_one(key)
    }

    #[inline(always)]
    fn acquire(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied> {
        let call = self.call();
        match call.charge(permits) {
            Ok(charge) => {
                let place = self.table.table.place(hash);
                call.say(permits, self.table.table.acquire(place, &call.tier, charge))
            }
            Err(_) if permits == 0 => call.peek(key, 0, 0),
            Err(denied) => Err(denied),
        }
    }

    fn acquire_up_to(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied> {
        match permits {
            0 => self.peek(key, 0),
            _ => self.call().take_up_to(self.table.table.place(hash), permits),
        }
    }

    fn look(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.peek(key, permits)
    }

    fn fill(&self, key: &K) {
        self.table.reset(key);
    }

    fn forget(&self, key: &K) -> bool {
        self.table.remove(key)
    }

    fn draw(&self, hash: u64, _: &K, want: PrepayRequest) -> Option<Prepaid> {
        self.table.table.draw(self.table.table.place(hash), &self.tier.terms(), want)
    }

    #[inline(always)]
    fn notify(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
        // A peek is not reported, as in a table itself.
        if permits > 0 {
            self.table.observer.decided(key, permits, answer);
        }
    }
}

impl<K, S, C, O> Prepay<K> for KeyTable<K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    type Clock = C;

    #[inline(always)]
    fn clock(&self) -> &C {
        self.table.clock()
    }

    #[inline(always)]
    fn hash(&self, key: &K) -> u64 {
        self.first_tier().hash(key)
    }

    #[inline(always)]
    fn acquire(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.first_tier().acquire(hash, key, permits)
    }

    fn acquire_up_to(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.first_tier().acquire_up_to(hash, key, permits)
    }

    fn look(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.peek(key, permits)
    }

    fn fill(&self, key: &K) {
        self.reset(key);
    }

    fn forget(&self, key: &K) -> bool {
        self.remove(key)
    }

    fn draw(&self, hash: u64, key: &K, want: PrepayRequest) -> Option<Prepaid> {
        self.first_tier().draw(hash, key, want)
    }

    #[inline(always)]
    fn notify(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
        self.first_tier().notify(key, permits, answer);
    }
}
