//! New terms for all names of a registry.

use std::collections::HashSet;
use std::mem::take;
use std::sync::{Arc, PoisonError};

use sluicegate::ManualClock;

use super::Registry;
use super::event::{Event, ReloadError};
use super::names::{Form, Remote};
use super::remote::ConnectError;
use crate::{
    CommonLimiter, HierarchyHandle, KeyField, Kind, LimiterPolicy, LoadError, Policies, PolicyFile,
    SharedClock, Unbuildable,
};

impl Registry {
    /// Enforces `policies` from now on, and returns what has changed, which observers are told too.
    /// The section on changes of [`Registry`] says what becomes of each limiter.
    ///
    /// Decisions do not wait for it, apart from those on a key of a part of a store that is being
    /// changed. Waits for other changes. Allocates; goes through all keys of stores that change. All
    /// limiters have the terms of `policies` when it returns, but change one after the other.
    ///
    /// Callers in line are woken before other changes may begin. So a waker that reloads by itself, instead of
    /// scheduling its task, waits for ever; observers may reload.
    ///
    /// # Errors
    ///
    /// [`ReloadError::StartsFull`] if keys on a server would start full, and [`ReloadError::Unbuildable`], which checked policies
    /// do not lead to. Nothing has changed then, and observers are told of [`Event::Refused`].
    pub fn reload(&self, policies: Policies) -> Result<Vec<Event>, Arc<ReloadError>> {
        self.reload_from(|| Ok(policies))
    }

    /// Reads and checks a file, and enforces its policies as [`reload`](Registry::reload) does. Reads it after the changes that it waits
    /// for, so the terms are never those of an older text than another one has read.
    ///
    /// # Errors
    ///
    /// [`ReloadError::Load`] if the file cannot be read, or with all its mistakes. Nothing has changed
    /// then, and observers are told of [`Event::Refused`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_policy::Registry;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("limits.yaml");
    /// std::fs::write(&path, "limiters: { a: { policy: gcra, key: all, interval: 1 s, tolerance: 0 s } }")?;
    /// let registry = Registry::open(&path)?;
    ///
    /// std::fs::write(&path, "limiters: { a: { policy: grca } }")?;
    /// assert!(registry.reload_path(&path).is_err());
    /// assert!(registry.limiter("a")?.try_acquire(1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reload_path(&self, file: impl Into<PolicyFile>) -> Result<Vec<Event>, Arc<ReloadError>> {
        let file = file.into();
        self.reload_from(|| file.policies_again())
    }

    /// Enforces what `read` returns, and tells observers of the changes, or of new terms that were refused.
    pub(super) fn reload_from(
        &self,
        read: impl FnOnce() -> Result<Policies, LoadError>,
    ) -> Result<Vec<Event>, Arc<ReloadError>> {
        let outcome = self.apply(read).map_err(Arc::new);
        match &outcome {
            Ok(events) => events.iter().for_each(|event| self.tell(event)),
            Err(error) => self.tell(&Event::Refused { error: Arc::clone(error) }),
        }
        outcome
    }

    /// Enforces what `read` returns, and returns the events, which nobody was told yet. Reads only when it is its turn: of
    /// several that read a file while it changes, the last one to read is the last one to change the terms.
    pub(super) fn apply(
        &self,
        read: impl FnOnce() -> Result<Policies, LoadError>,
    ) -> Result<Vec<Event>, ReloadError> {
        let _changing = self.shared.reload.lock().unwrap_or_else(PoisonError::into_inner);
        let (limiters, levels) = read()?.into_parts();
        let policies: Vec<_> = limiters.into_iter().map(Arc::new).collect();
        // All before the first is changed.
        let levels =
            HierarchyHandle::build(levels, &(Arc::new(self.shared.clocks.unix.clone()) as _))?;
        for policy in &policies {
            check(policy).map_err(|error| unbuildable(policy, error))?;
        }
        let remotes: Vec<Remote> =
            policies.iter().map(|policy| self.connect(policy)).collect::<Result<_, _>>()?;
        for (policy, remote) in policies.iter().zip(&remotes) {
            self.check_places(policy, remote)?;
        }
        let mut events = Vec::new();
        for (policy, remote) in policies.iter().zip(remotes) {
            events
                .extend(self.enforce(policy, remote).map_err(|error| unbuildable(policy, error))?);
        }
        events.append(&mut self.remove_others(&policies));
        if self.shared.hierarchy.enforce(levels) {
            events.push(Event::Levels { levels: self.shared.hierarchy.levels() });
        }
        Ok(events)
    }

    /// Returns the limiter of a policy on its server, if it is to be on one.
    fn connect(&self, policy: &LimiterPolicy) -> Result<Remote, ReloadError> {
        let connected = match &self.shared.connector {
            Some(connector) => connector.connect(policy),
            None if policy.redis.is_none() => return Ok(None),
            None => Err(ConnectError(
                "`store` names a server, and this program has no client for it: create the registry with a \
                 connector, or keep the limiter in memory"
                    .to_owned(),
            )),
        };
        connected.map_err(|error| ReloadError::Connect { name: policy.name.clone(), error })
    }

    /// Checks that what was used of a limiter on a server still counts, unless its policy or other fields of its key let it
    /// start full.
    fn check_places(&self, policy: &LimiterPolicy, remote: &Remote) -> Result<(), ReloadError> {
        let Ok((_, form)) = self.form(&policy.name) else { return Ok(()) };
        let before = if let Form::Remote(slot) = &form { Some(slot.places()) } else { None };
        let after = remote.as_ref().map(|remote| remote.places());
        if before == after || policy.reset || form.policy().key != policy.key {
            return Ok(());
        }
        Err(ReloadError::StartsFull { name: policy.name.clone() })
    }

    /// Puts one policy in force.
    fn enforce(
        &self,
        policy: &Arc<LimiterPolicy>,
        remote: Remote,
    ) -> Result<Option<Event>, Unbuildable> {
        let (names, clocks) = (&self.shared.names, &self.shared.clocks);
        let found = {
            let mut names = names.write();
            names.get_mut(policy.name.as_str()).map(|named| {
                named.is_of_file = true;
                (named.form.clone(), take(&mut named.is_removed))
            })
        };
        let new = || Arc::clone(policy);
        let Some((form, was_removed)) = found else {
            names.put(policy, remote, true, clocks)?;
            return Ok(Some(Event::Added { policy: new() }));
        };
        let old = form.policy();
        let is_same_form = form.is_of(policy, &remote);
        let mut is_in_place = true;
        if !is_same_form {
            names.put(policy, remote, true, clocks)?;
            form.set_removed(true);
            is_in_place = false;
        } else if old != *policy {
            is_in_place = match (&form, remote) {
                (Form::One(slot), _) => self.enforce_one(slot, &old, policy)?,
                (Form::Keys(slot), _) => self.enforce_keys(slot, &old, policy)?,
                (Form::Remote(slot), Some(limits)) => {
                    let keeps_places = slot.places() == limits.places();
                    slot.enforce(new(), limits);
                    keeps_places
                }
                (Form::Remote(_), None) => true,
            };
        }
        if was_removed && is_same_form {
            form.set_removed(false);
        }
        Ok(match (was_removed, is_in_place) {
            (true, _) => Some(Event::Added { policy: new() }),
            _ if old == *policy => None,
            (false, true) => Some(Event::Changed { old, new: new() }),
            (false, false) => Some(Event::Replaced { old, new: new() }),
        })
    }

    /// Removes the names of earlier files that are not among `policies`.
    fn remove_others(&self, policies: &[Arc<LimiterPolicy>]) -> Vec<Event> {
        let present: HashSet<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        let mut events = Vec::new();
        let mut removed = Vec::new();
        for (name, named) in self.shared.names.write().iter_mut() {
            if named.is_of_file && !named.is_removed && !present.contains(&**name) {
                named.is_removed = true;
                events.push(Event::Removed { old: named.form.policy() });
                removed.push(named.form.clone());
            }
        }
        // Without the lock: it wakes those in line, and their wakers are a user's.
        removed.drain(..).for_each(|form| form.set_removed(true));
        let mut names = self.shared.names.write();
        // Nobody can tell it from a new one any more: without handles, nothing counts on it.
        names.retain(|_, named| !named.is_removed || named.form.has_handles());
        events
    }
}

/// Builds each limiter that `policy` describes, for a moment.
pub(super) fn check(policy: &LimiterPolicy) -> Result<(), Unbuildable> {
    let clock: SharedClock = Arc::new(ManualClock::new());
    if policy.key != [KeyField::All] && CommonLimiter::new(&policy.kind, clock.clone())?.is_some() {
        return Ok(());
    }
    let own = policy.overrides.values();
    let mut kinds = std::iter::once(&policy.kind).chain(own);
    kinds.try_for_each(|kind: &Kind| kind.limiter(clock.clone()).map(drop))
}

fn unbuildable(policy: &LimiterPolicy, error: Unbuildable) -> ReloadError {
    ReloadError::Unbuildable { name: policy.name.clone(), error }
}
