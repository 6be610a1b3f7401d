//! The names of a registry, and the limiter of each.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sluicegate::compose::{AnswerCounters, Counted};
use sluicegate::keyed::QueuedKeys;
use sluicegate::wait::Queued;

use super::clocks::Clocks;
use super::in_line::Current;
use super::keys::Keys;
use super::limiter_of_kind::LimiterOfKind;
use super::offenders::Offenders;
use super::remote::{RemoteLimits, RemoteSlot};
use super::slot::Slot;
use crate::{KeyField, LimiterPolicy, Unbuildable};

/// A name, and what has it.
pub(super) type WithName<T> = (Arc<str>, T);

/// The slot of a limiter without keys.
pub(super) type UnkeyedSlot = Slot<LimiterOfKind>;

/// One limiter, or one for each key. A clone is the same.
#[derive(Clone)]
pub(super) enum Form {
    One(Arc<UnkeyedSlot>),
    Keys(Arc<Slot<Keys>>),
    Remote(Arc<RemoteSlot>),
}

/// The limiter of a policy on its server, if it is on one.
pub(super) type Remote = Option<Arc<dyn RemoteLimits>>;

/// The limiter of a name.
pub(super) struct Named {
    pub(super) form: Form,
    /// False if a default has created it.
    pub(super) is_of_file: bool,
    /// True if the file no longer names it. It stays for as long as there are handles.
    pub(super) is_removed: bool,
}

/// All names.
#[derive(Default)]
pub(super) struct Names {
    map: RwLock<Map>,
    /// Set if the answers of all limiters are counted.
    is_counted: OnceLock<()>,
}

type Map = BTreeMap<Arc<str>, Named>;

impl Names {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the limiter of this name, unless it was removed.
    pub(super) fn form(&self, name: &str) -> Option<WithName<Form>> {
        let limiters = self.read();
        let (name, limiter) = limiters.get_key_value(name).filter(|(_, own)| !own.is_removed)?;
        Some((Arc::clone(name), limiter.form.clone()))
    }

    /// Returns the names in order.
    pub(super) fn all(&self) -> Vec<String> {
        let names = self.read();
        let present = names.iter().filter(|(_, named)| !named.is_removed);
        present.map(|(name, _)| name.to_string()).collect()
    }

    /// Returns the most similar name, if one is similar enough to be a misspelling.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let names = self.all().into_iter();
        let likeness = |other: &String| strsim::jaro_winkler(name, other);
        names
            .map(|other| (likeness(&other), other))
            .filter(|(likeness, _)| *likeness >= 0.7)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, other)| other)
    }

    /// Lets the answers of all limiters be counted, also of those to come.
    pub(super) fn count(&self) {
        let map = self.write();
        _ = self.is_counted.set(());
        map.values().for_each(|named| named.form.count());
    }

    /// Creates the limiter of `policy` in the place of any other of its name.
    pub(super) fn put(
        &self,
        policy: &Arc<LimiterPolicy>,
        remote: Remote,
        is_of_file: bool,
        clocks: &Clocks,
    ) -> Result<(), Unbuildable> {
        let form = Form::new(policy, remote, clocks)?;
        let named = Named { form, is_of_file, is_removed: false };
        let mut map = self.write();
        if self.is_counted.get().is_some() {
            named.form.count();
        }
        map.insert(Arc::from(policy.name.as_str()), named);
        Ok(())
    }
}

impl Form {
    fn new(
        policy: &Arc<LimiterPolicy>,
        remote: Remote,
        clocks: &Clocks,
    ) -> Result<Self, Unbuildable> {
        let own = Arc::clone(policy);
        if let Some(limits) = remote {
            return Ok(Form::Remote(Arc::new(RemoteSlot::new(own, limits))));
        }
        let offenders = Offenders::new(policy.penalty.as_ref(), &clocks.elapsed)?;
        Ok(if has_keys(policy) {
            let line = |place: &Arc<_>| {
                QueuedKeys::with_clock(Current(Arc::clone(place)), clocks.elapsed.clone())
            };
            Form::Keys(Arc::new(Slot::new(Keys::new(policy, clocks)?, offenders, own, line)))
        } else {
            let limiter = clocks.limiter(&policy.kind, false, None)?;
            let line = |place: &Arc<_>| {
                let current = Current(Arc::clone(place));
                // Callers that wait are few: one slot will do.
                Counted::with_slots(Queued::with_clock(current, clocks.elapsed.clone()), 1)
            };
            Form::One(Arc::new(Slot::new(limiter, offenders, own, line)))
        })
    }

    /// Returns true if a policy, with its limiter on a server if it has one, is of the same form.
    pub(super) fn is_of(&self, policy: &LimiterPolicy, remote: &Remote) -> bool {
        match (self, remote) {
            (Form::Remote(_), Some(_)) => true,
            (Form::One(_), None) => !has_keys(policy),
            (Form::Keys(_), None) => has_keys(policy),
            _ => false,
        }
    }

    /// Returns the policy in force.
    pub(super) fn policy(&self) -> Arc<LimiterPolicy> {
        match self {
            Form::One(slot) => slot.place.policy(),
            Form::Keys(slot) => slot.place.policy(),
            Form::Remote(slot) => slot.policy(),
        }
    }

    /// Lets the answers be counted, to calls by handles that are made from now on.
    fn count(&self) {
        let answers = match self {
            Form::One(slot) => &slot.place.answers,
            Form::Keys(slot) => &slot.place.answers,
            Form::Remote(slot) => &slot.answers,
        };
        _ = answers.get_or_init(AnswerCounters::new);
    }

    /// Notes whether the file has the name. If it has not, nobody waits in line any more.
    pub(super) fn set_removed(&self, is_removed: bool) {
        match self {
            Form::One(slot) => {
                slot.place.set_removed(is_removed);
                slot.keep_line();
            }
            Form::Keys(slot) => {
                slot.place.set_removed(is_removed);
                slot.keep_line();
            }
            // Nobody waits for it.
            Form::Remote(_) => {}
        }
    }

    /// Returns true if there are handles. (That of a concurrent look-up has a count of its own.)
    pub(super) fn has_handles(&self) -> bool {
        match self {
            Form::One(slot) => Arc::strong_count(slot) > 1,
            Form::Keys(slot) => Arc::strong_count(slot) > 1,
            Form::Remote(slot) => Arc::strong_count(slot) > 1,
        }
    }
}

/// Returns true if there is a limiter for each key.
fn has_keys(policy: &LimiterPolicy) -> bool {
    policy.key != [KeyField::All]
}
