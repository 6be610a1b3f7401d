//! The forms in which a key can be given to a store of keys.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::Hash;

/// A form in which a key of type `K` can be given to a [`Keyed`](crate::Keyed).
///
/// Every borrowed form of the key is one: `str` for a `String`, `[u8]` for a `Vec<u8>`, and the
/// key itself. For a key that is a tuple there is [`Parts`]. For a key of your own type, write a
/// form of your own: a struct of references, with the fields in the order of the key's.
///
/// # Contract
///
/// * A form hashes as the key does: it feeds the same values to a hasher, in the same order. Two
///   derived `Hash` do, if the fields of both have the same order and each hashes as the other.
/// * [`is_key`](AsKey::is_key) returns true for a key that is equal to
///   [`to_key`](AsKey::to_key), and for no other.
///
/// A form that breaks this does no harm to memory, and no call panics or hangs for it. But the
/// limits are then wrong: a key that is not recognized is inserted again with a full burst, and
/// keys that are taken for one another share one.
///
/// Both methods are called under a lock of the store, so they must not use that store.
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
/// use sluicegate::keyed::AsKey;
///
/// #[derive(PartialEq, Eq, Hash)]
/// struct Route {
///     tenant: String,
///     path: String,
/// }
///
/// /// A route that is not copied to be looked up.
/// #[derive(Hash)]
/// struct RouteRef<'a> {
///     tenant: &'a str,
///     path: &'a str,
/// }
///
/// impl AsKey<Route> for RouteRef<'_> {
///     fn is_key(&self, key: &Route) -> bool {
///         self.tenant == key.tenant && self.path == key.path
///     }
///
///     fn to_key(&self) -> Route {
///         Route { tenant: self.tenant.to_owned(), path: self.path.to_owned() }
///     }
/// }
///
/// let routes = Keyed::<Route>::new(quota!(1 / hour));
/// assert!(routes.try_acquire(&RouteRef { tenant: "ada", path: "/search" }, 1).is_ok());
/// assert!(routes.try_acquire(&RouteRef { tenant: "ada", path: "/search" }, 1).is_err());
/// assert!(routes.try_acquire(&RouteRef { tenant: "bob", path: "/search" }, 1).is_ok());
/// ```
pub trait AsKey<K>: Hash {
    /// Returns whether this form names `key`.
    fn is_key(&self, key: &K) -> bool;

    /// Returns the key that this form names. Called only for a key that is not known: when it is
    /// inserted, or looked at.
    fn to_key(&self) -> K;
}

impl<K, Q> AsKey<K> for Q
where
    K: Borrow<Q>,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
{
    #[inline]
    fn is_key(&self, key: &K) -> bool {
        key.borrow() == self
    }

    #[inline]
    fn to_key(&self) -> K {
        self.to_owned()
    }
}

/// The borrowed parts of a key that is a tuple of two or three. A key that is known is found by
/// them without an allocation or a copy.
///
/// Each part may be any [form](AsKey) of that part of the key: `&str` for a `String`, or `Parts`
/// again for a tuple.
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
/// use sluicegate::keyed::Parts;
///
/// let routes = Keyed::<(String, u32)>::new(quota!(2 / hour));
/// let (tenant, route) = ("ada", 7);
/// assert!(routes.try_acquire(&Parts((tenant, &route)), 1).is_ok());
///
/// // It is the same key as the tuple, which would have to be allocated.
/// assert_eq!(routes.peek(&("ada".to_owned(), 7), 0)?.remaining(), 1);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
#[derive(Clone, Copy, Debug, Hash)]
pub struct Parts<T>(pub T);

impl<J, K, A, B> AsKey<(J, K)> for Parts<(&A, &B)>
where
    A: AsKey<J> + ?Sized,
    B: AsKey<K> + ?Sized,
{
    #[inline]
    fn is_key(&self, key: &(J, K)) -> bool {
        let Parts((first, second)) = self;
        first.is_key(&key.0) && second.is_key(&key.1)
    }

    #[inline]
    fn to_key(&self) -> (J, K) {
        let Parts((first, second)) = self;
        (first.to_key(), second.to_key())
    }
}

impl<J, K, L, A, B, C> AsKey<(J, K, L)> for Parts<(&A, &B, &C)>
where
    A: AsKey<J> + ?Sized,
    B: AsKey<K> + ?Sized,
    C: AsKey<L> + ?Sized,
{
    #[inline]
    fn is_key(&self, key: &(J, K, L)) -> bool {
        let Parts((first, second, third)) = self;
        first.is_key(&key.0) && second.is_key(&key.1) && third.is_key(&key.2)
    }

    #[inline]
    fn to_key(&self) -> (J, K, L) {
        let Parts((first, second, third)) = self;
        (first.to_key(), second.to_key(), third.to_key())
    }
}
