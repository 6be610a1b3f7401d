//! The limiters of a registry by name, without a lock.

use std::collections::HashMap;
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
    places: HashMap<Box<str>, usize>,
}

/// One limiter, by its handle.
#[derive(Debug)]
pub enum NamedLimiter {
    /// A limiter whose policy has `key = "all"`.
    Single(LimiterHandle),
    /// A limiter for each key.
    Keyed(KeyedHandle),
    /// A limiter on a server that several machines share.
    Remote(RemoteHandle),
}

impl NamedLimiter {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            NamedLimiter::Single(handle) => handle.name(),
            NamedLimiter::Keyed(handle) => handle.name(),
            NamedLimiter::Remote(handle) => handle.name(),
        }
    }

    /// Returns the policy in force.
    #[must_use]
    pub fn policy(&self) -> Arc<LimiterPolicy> {
        match self {
            NamedLimiter::Single(handle) => handle.policy(),
            NamedLimiter::Keyed(handle) => handle.policy(),
            NamedLimiter::Remote(handle) => handle.policy(),
        }
    }

    /// Returns true if it has a limiter for each key.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        match self {
            NamedLimiter::Single(_) => false,
            NamedLimiter::Keyed(_) => true,
            NamedLimiter::Remote(handle) => handle.has_keys(),
        }
    }
}

impl InForce {
    fn of(registry: &Registry) -> InForce {
        let mut in_force = InForce::default();
        for name in registry.names() {
            // A name that is gone since, or has become one with keys, is in the next reload's.
            let limiter = registry.limiter(&name).map(NamedLimiter::Single);
            let limiter = limiter.or_else(|_| registry.keyed(&name).map(NamedLimiter::Keyed));
            let limiter = limiter.or_else(|_| registry.remote(&name).map(NamedLimiter::Remote));
            let Ok(limiter) = limiter else { continue };
            in_force.places.insert(name.into_boxed_str(), in_force.limiters.len());
            in_force.limiters.push(limiter);
        }
        in_force
    }

    /// Returns the limiter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NamedLimiter> {
        self.places.get(name).map(|place| &self.limiters[*place])
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
