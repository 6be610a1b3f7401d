//! Named limiters at work, whose terms change live.
//!
//! | file | |
//! |---|---|
//! | `handle`, `keyed_handle` | the handles, by which limiters are called |
//! | `waiting`, `in_line` | callers that wait, and the lines they stand in |
//! | `shadow` | calls that are let through and counted |
//! | `statistics` | counts and states for a monitor |
//! | `unasked` | counts of denials that no limiter is asked for |
//! | `slot` | the slot of a name, and how handles learn that its terms have changed |
//! | `place`, `generation` | the limiter in force, and changes that every decision sees as one step |
//! | `limiter_of_kind` | a limiter of any kind |
//! | `keys` | the stores of keys |
//! | `offenders`, `offence` | the keys that have offended, and the handles' calls about them |
//! | `enforce`, `change` | new terms of one name, and changes in place |
//! | `build` | limiters that take over what another has used |
//! | `remote` | limiters whose keys are on a server |
//! | `reload` | new terms for all names |
//! | `watch` | new terms whenever a file changes |
//! | `factory` | limiters that a default creates |
//! | `servers` | the servers of limiters that several machines share: their counts, and whether they answer |
//! | `event`, `observers` | events and errors, and the functions that are told of events |
//! | `algorithm` | the classic algorithms, each with numbers to start with |

pub(crate) mod algorithm;
mod atomics;
pub(crate) mod before_wait;
mod build;
mod calls_before_wait;
mod change;
pub(crate) mod clocks;
mod enforce;
pub(crate) mod event;
mod factory;
mod generation;
pub(crate) mod handle;
mod in_line;
pub(crate) mod keyed_handle;
mod keys;
mod limiter_of_kind;
mod names;
mod observers;
pub(crate) mod offence;
mod offenders;
mod place;
mod reload;
pub(crate) mod remote;
pub(crate) mod remote_failure;
pub(crate) mod servers;
pub(crate) mod shadow;
mod slot;
pub(crate) mod statistics;
mod terms;
pub(crate) mod unasked;
pub(crate) mod waiting;
#[cfg(feature = "watch")]
pub(crate) mod watch;

use std::any::{Any, type_name};
use std::fmt;
use std::sync::{Arc, Mutex};

use sluicegate::clock::{DefaultClock, UnixClock};
use sluicegate::{Clock, TokenBucket};

use self::clocks::Clocks;
use self::event::{RegistryError, ReloadError};
use self::handle::LimiterHandle;
use self::keyed_handle::KeyedHandle;
use self::names::{Form, Names, UnkeyedSlot, WithName};
use self::observers::Observers;
use self::remote::{Connector, RemoteHandle};
use crate::SharedClock;
use crate::{HierarchyHandle, LimiterPolicy, Policies, PolicyFile};

/// The limiters of a policy file by name. Their terms can be changed while they are in use.
///
/// A limiter whose policy has `key = "all"` is one limiter, and [`limiter`](Registry::limiter) returns
/// its handle. Any other has a limiter for each key, and [`keyed`](Registry::keyed) returns its handle.
/// A handle applies all of a policy but its filter and the fields of its key, which are the caller's: see
/// [`policy`](LimiterHandle::policy).
///
/// A clone is the same registry.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::{Event, Policies, Registry};
///
/// let registry = Registry::new(Policies::from_toml("limits.toml", r#"
/// limiters.pages = { policy = "fixed_window", key = "all", limit = 100, interval = "1 day" }
/// "#)?)?;
/// let pages = registry.limiter("pages")?;
/// pages.try_acquire(60)?;
///
/// let events = registry.reload(Policies::from_toml("limits.toml", r#"
/// limiters.pages = { policy = "fixed_window", key = "all", limit = 80, interval = "1 day" }
/// "#)?)?;
/// assert!(matches!(&events[..], [Event::Changed { .. }]));
/// // The 60 still count.
/// assert_eq!(pages.peek(0)?.remaining(), 20);
///
/// let error = registry.limiter("page").unwrap_err();
/// assert_eq!(error.to_string(), "no limiter is named \"page\"; did you mean \"pages\"?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Changes
///
/// | change of a policy | effect |
/// |---|---|
/// | other numbers of the same kind | the limiter changes in place; balances and counts stay, up to the new limit |
/// | another length or number of slots of a window; a limit for which a log or a word has no bits; another kind | another limiter takes the place, with what the old one has used. (Tenants of `shares` are known only together: in a kind with a limiter for each key they start full) |
/// | other numbers of a limiter with keys, or of its overrides | each key changes in place |
/// | another store, or a change that keys cannot make in place | another store takes the place, with what the keys of the old one have used; those of a table are not known, and start full |
/// | another `cost` or `shadow` | in force with the numbers of the same file, in one step |
/// | another `wait` | for those in line too: see [`LimiterHandle`](LimiterHandle#method.acquire) |
/// | other groups of tenants of `shares` | another limiter takes the place, with what is left for all: shares start whole if that is enough for all of them, and otherwise with as large a part of each burst. On a server the limiter stays, and named tenants keep what they have used |
/// | other fields of the key | another store, whose keys start full |
/// | `key = "all"` gets fields, or the other way round | another limiter, which starts full; handles of the old one go on with its last terms, and nobody waits for it any more |
/// | levels of the [hierarchy](Registry::hierarchy) | see [`HierarchyHandle`] |
/// | a new name | a new limiter |
/// | a name is gone | its handles go on with the last terms, and nobody waits any more; if it comes back while there are any, they get the terms |
///
/// **Guarantee.** A decision is made by all terms that one file has for the limiter, never by some of
/// one file and some of another. After [`reload`](Registry::reload) has returned, decisions are made
/// by the new terms. (A limiter that was got by [`typed`](Registry::typed) changes its numbers one after
/// the other.)
///
/// **Bound.** No span admits more than the most generous of the terms that were in force in it, however
/// often they change, and whatever takes the place of whatever: the largest burst or limit of these, and
/// what is earned in the span. A limiter that takes the place of another counts every grant of the old
/// one. What it has no place for is remembered, until the old one would have forgotten it: a bucket whose
/// burst is less than a window has counted, or the other way round.
///
/// Nothing is lost, but for this: if a change takes more than one step, a call that is under way may be
/// decided again by the new terms, and its first grant still counts. That is one call of each thread, at
/// most. A bucket that takes the place of a bucket has what that had left.
///
/// The bound does not hold in three cases, for keys only:
///
/// * The keys of a table are not known, so they start full when another store takes its place. Then a span
///   across the change admits at most what both admit together.
/// * The same holds for the shares of tenants if other groups take their place. For all tenants together, only the
///   assured permits come twice.
/// * If the limiters of keys are given terms that have no place for all that was used, such as a smaller
///   burst, and another store then takes their place, the rest is forgotten. A span across both changes
///   admits at most what two of the terms admit together.
///
/// Decisions do not wait for a change in one step. For any other they wait while it is made; with keys,
/// while all of them are changed or carried over.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    clocks: Clocks,
    /// The client of servers, if there is one.
    connector: Option<Arc<dyn Connector>>,
    names: Names,
    hierarchy: HierarchyHandle,
    /// Held while terms change, so that changes come one after the other.
    reload: Mutex<()>,
    observers: Observers,
}

impl Registry {
    /// Creates the limiters of `policies`. Those of a calendar, and windows that follow each other from
    /// 1970 on, read the system's clock; all others the engine's default clock. Allocates.
    ///
    /// # Errors
    ///
    /// * [`ReloadError::Connect`] if one of them is on a server: see [`connected`](Registry::connected).
    /// * [`ReloadError::Unbuildable`], which checked policies do not lead to.
    pub fn new(policies: Policies) -> Result<Registry, ReloadError> {
        Registry::with_clocks(policies, DefaultClock::default(), UnixClock::new())
    }

    /// Creates the limiters of `policies`, those on servers by `connector`, and the others as
    /// [`new`](Registry::new) does.
    ///
    /// # Errors
    ///
    /// [`ReloadError::Connect`] if a server cannot keep one of them.
    pub fn connected(
        policies: Policies,
        connector: Arc<dyn Connector>,
    ) -> Result<Registry, ReloadError> {
        let clocks = Clocks::new(DefaultClock::default(), UnixClock::new());
        Registry::build(policies, clocks, Some(connector))
    }

    /// Reads and checks a file, and creates its limiters; see [`Policies::from_path`]. Blocks while it
    /// reads.
    ///
    /// # Errors
    ///
    /// [`ReloadError::Load`] if the file cannot be read, or with all its mistakes.
    pub fn open(file: impl Into<PolicyFile>) -> Result<Registry, ReloadError> {
        Registry::new(Policies::from_path(file)?)
    }

    /// Creates the limiters of `policies`, all of which read `clock`: in nanoseconds since
    /// the Unix epoch, for windows that begin at fixed times.
    ///
    /// # Errors
    ///
    /// The same as for [`with_clocks`](Registry::with_clocks).
    pub fn with_clock(
        policies: Policies,
        clock: impl Clock + Send + Sync + 'static,
    ) -> Result<Registry, ReloadError> {
        let clock: SharedClock = Arc::new(clock);
        Registry::build(policies, Clocks { elapsed: Arc::clone(&clock), unix: clock }, None)
    }

    /// Creates the limiters of `policies`. Those of a calendar, and windows that follow each other from
    /// 1970 on, read `unix`, in nanoseconds since the Unix epoch; all others read `clock`.
    ///
    /// # Errors
    ///
    /// [`ReloadError::Unbuildable`], which checked policies do not lead to.
    pub fn with_clocks(
        policies: Policies,
        clock: impl Clock + Send + Sync + 'static,
        unix: impl Clock + Send + Sync + 'static,
    ) -> Result<Registry, ReloadError> {
        Registry::build(policies, Clocks::new(clock, unix), None)
    }

    fn build(
        policies: Policies,
        clocks: Clocks,
        connector: Option<Arc<dyn Connector>>,
    ) -> Result<Registry, ReloadError> {
        let shared = Shared {
            clocks,
            connector,
            names: Names::default(),
            hierarchy: HierarchyHandle::new(),
            reload: Mutex::default(),
            observers: Observers::default(),
        };
        let registry = Registry { shared: Arc::new(shared) };
        registry.apply(|| Ok(policies))?;
        Ok(registry)
    }

    fn connector(&self) -> Option<&Arc<dyn Connector>> {
        self.shared.connector.as_ref()
    }

    /// Returns a handle of the limiter `name`, whose policy has `key = "all"`.
    ///
    /// Looks the name up under a lock: keep the handle, and call that.
    ///
    /// # Errors
    ///
    /// * [`RegistryError::Unknown`], with the most similar name.
    /// * [`RegistryError::HasKeys`] if it is divided by keys.
    /// * [`RegistryError::IsRemote`] if its keys are on a server.
    pub fn limiter(&self, name: &str) -> Result<LimiterHandle, RegistryError> {
        let (name, slot) = self.unkeyed(name)?;
        Ok(LimiterHandle::new(&name, &slot))
    }

    /// Returns a handle of the limiter `name`, which has a limiter for each key.
    ///
    /// Looks the name up under a lock: keep the handle, and call that.
    ///
    /// # Errors
    ///
    /// * [`RegistryError::Unknown`], with the most similar name.
    /// * [`RegistryError::HasNoKeys`] if its policy has `key = "all"`.
    /// * [`RegistryError::IsRemote`] if its keys are on a server.
    pub fn keyed(&self, name: &str) -> Result<KeyedHandle, RegistryError> {
        match self.form(name)? {
            (name, Form::Keys(slot)) => Ok(KeyedHandle::new(&name, &slot)),
            (name, Form::One(_)) => Err(RegistryError::HasNoKeys { name: name.to_string() }),
            (name, Form::Remote(_)) => Err(RegistryError::IsRemote { name: name.to_string() }),
        }
    }

    /// Returns a handle of the limiter `name`, whose keys are on a server.
    ///
    /// Looks the name up under a lock: keep the handle, and call that.
    ///
    /// # Errors
    ///
    /// * [`RegistryError::Unknown`], with the most similar name.
    /// * [`RegistryError::IsNotRemote`] if its keys are in the memory of the process.
    pub fn remote(&self, name: &str) -> Result<RemoteHandle, RegistryError> {
        match self.form(name)? {
            (name, Form::Remote(slot)) => Ok(RemoteHandle::new(&name, &slot)),
            (name, _) => Err(RegistryError::IsNotRemote { name: name.to_string() }),
        }
    }

    /// Returns the limiter `name` itself, for what a handle cannot do: leases, debts, snapshots.
    ///
    /// Changes of its numbers reach it. If another limiter takes its place, this one goes on with its
    /// last terms, beside the other: then ask again.
    ///
    /// # Errors
    ///
    /// Those of [`limiter`](Registry::limiter), and [`RegistryError::OtherType`] if it is not an `L`.
    /// All of them are on a [`SharedClock`]. An `all` has no type that can be named.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Gcra, TokenBucket};
    /// use sluicegate_policy::{Policies, Registry, SharedClock};
    /// use std::sync::Arc;
    ///
    /// let registry = Registry::new(Policies::from_toml("p.toml", r#"
    /// [limiters.pages]
    /// policy = "token_bucket"
    /// key = "all"
    /// limit = 100
    /// rate = { amount = 10, interval = "1 second" }
    /// max_debt = 50
    /// "#)?)?;
    /// let pages: Arc<TokenBucket<SharedClock>> = registry.typed("pages")?;
    /// assert_eq!(pages.force(120)?.remaining(), 0);
    /// assert!(registry.limiter("pages")?.try_acquire(1).is_err());
    /// assert!(registry.typed::<Gcra<SharedClock>>("pages").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn typed<L: Any + Send + Sync>(&self, name: &str) -> Result<Arc<L>, RegistryError> {
        let (name, slot) = self.unkeyed(name)?;
        slot.place.in_force().limiter.to_any().downcast().map_err(|_| RegistryError::OtherType {
            name: name.to_string(),
            wanted: type_name::<L>(),
            kind: slot.place.policy().kind.to_string(),
        })
    }

    /// Returns the token bucket `name`, or `None` if there is none of that name; see
    /// [`typed`](Registry::typed).
    #[must_use]
    pub fn bucket(&self, name: &str) -> Option<Arc<TokenBucket<SharedClock>>> {
        self.typed(name).ok()
    }

    /// Returns the names, in order. Takes a lock; allocates.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.shared.names.all()
    }

    /// Returns the levels of the file's hierarchy, which follow its changes. They read the clock of calendars.
    #[must_use]
    pub fn hierarchy(&self) -> &HierarchyHandle {
        &self.shared.hierarchy
    }

    /// Returns the policy in force for `name`. Takes a lock.
    #[must_use]
    pub fn policy(&self, name: &str) -> Option<Arc<LimiterPolicy>> {
        self.form(name).ok().map(|(_, form)| form.policy())
    }

    /// Returns the slot of a limiter without keys.
    fn unkeyed(&self, name: &str) -> Result<WithName<Arc<UnkeyedSlot>>, RegistryError> {
        match self.form(name)? {
            (name, Form::One(slot)) => Ok((name, slot)),
            (name, Form::Keys(_)) => Err(RegistryError::HasKeys { name: name.to_string() }),
            (name, Form::Remote(_)) => Err(RegistryError::IsRemote { name: name.to_string() }),
        }
    }

    fn form(&self, name: &str) -> Result<WithName<Form>, RegistryError> {
        self.shared.names.form(name).ok_or_else(|| RegistryError::Unknown {
            name: name.to_owned(),
            nearest: self.shared.names.nearest(name),
        })
    }
}

/// Shows the names.
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("names", &self.names()).finish_non_exhaustive()
    }
}
