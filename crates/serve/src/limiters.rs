//! The limiters of a registry by name, without a lock.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use sluicegate_policy::{KeyedHandle, LimiterHandle, LimiterPolicy, Registry, RemoteHandle};

/// The limiters of a [`Registry`] by name. They are those of the file in force: a reload replaces them
/// all in one step.
///
/// A clone is the same limiters.
#[derive(Clone)]
pub struct Limiters {
    shared: Arc<Shared>,
}

struct Shared {
    registry: Registry,
    in_force: ArcSwap<InForce>,
    /// Held while `in_force` is made, so that an older one never takes the place of a newer one.
    following: Mutex<()>,
}

/// The limiters of one file.
#[derive(Debug, Default)]
pub struct InForce {
    /// In the order of their names.
    limiters: Vec<NamedLimiter>,
}

/// One limiter, and its policy when the file came in force.
#[derive(Debug)]
pub struct NamedLimiter {
    handle: Handle,
    policy: Arc<LimiterPolicy>,
}

/// The handle of a limiter.
#[derive(Debug)]
pub enum Handle {
    /// A limiter whose policy has `key = "all"`.
    Single(LimiterHandle),
    /// A limiter for each key.
    Keyed(KeyedHandle),
    /// A limiter on a server that several machines share.
    Remote(RemoteHandle),
}

impl NamedLimiter {
    fn of(registry: &Registry, name: &str) -> Option<NamedLimiter> {
        let handle = registry.limiter(name).map(Handle::Single);
        let handle = handle.or_else(|_| registry.keyed(name).map(Handle::Keyed));
        let handle = handle.or_else(|_| registry.remote(name).map(Handle::Remote)).ok()?;
        let policy = match &handle {
            Handle::Single(handle) => handle.policy(),
            Handle::Keyed(handle) => handle.policy(),
            Handle::Remote(handle) => handle.policy(),
        };
        Some(NamedLimiter { handle, policy })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.policy.name
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &LimiterPolicy {
        &self.policy
    }

    /// Returns the handle.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns true if it has a limiter for each key.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        match &self.handle {
            Handle::Single(_) => false,
            Handle::Keyed(_) => true,
            Handle::Remote(handle) => handle.has_keys(),
        }
    }

    /// Counts a request for so many permits that the policy denies, since it has no key.
    pub(crate) fn count_missing_key(&self, permits: u64) {
        match &self.handle {
            Handle::Single(_) => {}
            Handle::Keyed(handle) => handle.count_missing_key(permits),
            Handle::Remote(handle) => handle.count_missing_key(permits),
        }
    }
}

impl InForce {
    fn of(registry: &Registry) -> InForce {
        // A name that is gone since, or has become one with keys, is in the next reload's.
        let mut limiters: Vec<NamedLimiter> =
            registry.names().iter().filter_map(|name| NamedLimiter::of(registry, name)).collect();
        limiters.sort_unstable_by(|one, other| one.name().cmp(other.name()));
        InForce { limiters }
    }

    /// Returns the limiter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NamedLimiter> {
        let place = self.limiters.binary_search_by(|limiter| limiter.name().cmp(name));
        place.ok().map(|place| &self.limiters[place])
    }

    /// Returns all limiters, in the order of their names.
    #[must_use]
    pub fn all(&self) -> &[NamedLimiter] {
        &self.limiters
    }
}

impl Limiters {
    /// Returns the limiters of `registry`, and follows its reloads from now on.
    #[must_use]
    pub fn new(registry: Registry) -> Limiters {
        let shared = Arc::new(Shared {
            registry,
            in_force: ArcSwap::default(),
            following: Mutex::default(),
        });
        // Weak: the registry keeps its observers, and they are not to keep the registry.
        let follower = Arc::downgrade(&shared);
        shared.registry.on_event(move |_| {
            if let Some(shared) = follower.upgrade() {
                shared.follow();
            }
        });
        shared.follow();
        Limiters { shared }
    }

    /// Returns the limiters in force. Wait-free.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<InForce>> {
        self.shared.in_force.load()
    }

    /// Returns the registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }
}

impl Shared {
    fn follow(&self) {
        let _following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        self.in_force.store(Arc::new(InForce::of(&self.registry)));
    }
}

/// Shows the names.
impl fmt::Debug for Limiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Limiters").field(&self.registry().names()).finish()
    }
}
