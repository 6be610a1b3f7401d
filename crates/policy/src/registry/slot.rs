//! The place of a named limiter, by which its handles learn that another has taken its place.
//!
//! Changes of numbers happen inside the limiter, and no handle learns of them. If another limiter
//! takes the place, the generation is raised. A handle loads the generation once for each decision.
//! While it is that of the handle's own limiter, the handle uses that one: nothing is looked up, no
//! count of references is touched, and the word is written by nobody. Afterwards it loads the limiter
//! in force, which costs about 25 ns more, until it is cloned or
//! [refreshed](super::LimiterHandle::refresh).
//!
//! The limiter in force is in an `ArcSwap`, so that one that was replaced is freed when the last handle
//! and the last call are done with it, and no call waits for that. A chain of successors would need no
//! library, but would keep every limiter that ever had the place.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use arc_swap::ArcSwap;

use crate::LimiterPolicy;

/// The limiter in force under a name, and its policy.
#[derive(Debug)]
pub(super) struct Slot<L> {
    generation: AtomicU64,
    in_force: ArcSwap<L>,
    policy: ArcSwap<LimiterPolicy>,
}

/// A handle's own limiter, and the place where others may follow it.
#[derive(Debug)]
pub(super) struct Follower<L> {
    own: L,
    generation: u64,
    slot: Arc<Slot<L>>,
}

impl<L: Clone> Slot<L> {
    pub(super) fn new(limiter: L, policy: Arc<LimiterPolicy>) -> Slot<L> {
        Slot {
            generation: AtomicU64::new(0),
            in_force: ArcSwap::from_pointee(limiter),
            policy: ArcSwap::new(policy),
        }
    }

    pub(super) fn policy(&self) -> Arc<LimiterPolicy> {
        self.policy.load_full()
    }

    /// Returns the limiter in force.
    pub(super) fn limiter(&self) -> Arc<L> {
        self.in_force.load_full()
    }

    /// Notes that the limiter has changed to the terms of `policy`.
    pub(super) fn set_policy(&self, policy: Arc<LimiterPolicy>) {
        self.policy.store(policy);
    }

    /// Puts another limiter in the place.
    pub(super) fn replace(&self, limiter: L) {
        self.in_force.store(Arc::new(limiter));
        // ORDERING: Release, after the store of the limiter: a handle that finds this generation finds
        // that limiter, or a later one.
        // MODEL: none. A handle that finds an older generation decides by its own limiter, as if it had
        // called before the change; one word orders the rest.
        self.generation.fetch_add(1, Release);
    }

    #[inline(always)]
    fn generation(&self) -> u64 {
        // ORDERING: Acquire; see `replace`.
        // MODEL: none, as there.
        self.generation.load(Acquire)
    }

    /// Returns a handle's part of the slot, with the limiter in force.
    pub(super) fn follower(self: &Arc<Self>) -> Follower<L> {
        // The generation first: if the limiter is replaced in between, the handle has the new limiter
        // and an old generation, and only looks once too often.
        let generation = self.generation();
        Follower { own: L::clone(&self.limiter()), generation, slot: Arc::clone(self) }
    }
}

impl<L: Clone> Follower<L> {
    /// Calls `call` with the limiter in force.
    #[inline]
    pub(super) fn with<T>(&self, call: impl FnOnce(&L) -> T) -> T {
        match self.own() {
            Some(own) => call(own),
            None => self.with_other(call),
        }
    }

    /// Returns the handle's own limiter, if that is in force.
    #[inline(always)]
    pub(super) fn own(&self) -> Option<&L> {
        (self.slot.generation() == self.generation).then_some(&self.own)
    }

    /// Calls `call` with the limiter that is in force in the place of the handle's own.
    #[cold]
    #[inline(never)]
    pub(super) fn with_other<T>(&self, call: impl FnOnce(&L) -> T) -> T {
        call(&self.slot.in_force.load())
    }

    /// Takes the limiter in force for its own.
    pub(super) fn refresh(&mut self) {
        if self.own().is_none() {
            *self = self.slot.follower();
        }
    }

    pub(super) fn policy(&self) -> Arc<LimiterPolicy> {
        self.slot.policy()
    }
}

/// A clone has the limiter in force for its own.
impl<L: Clone> Clone for Follower<L> {
    fn clone(&self) -> Follower<L> {
        match self.own() {
            Some(own) => Follower {
                own: own.clone(),
                generation: self.generation,
                slot: Arc::clone(&self.slot),
            },
            None => self.slot.follower(),
        }
    }
}
