//! Limits of a registry: their costs, their waits and their penalties.

mod request;

use http::request::Parts;
use sluicegate::Denied;
use sluicegate::penalty::Standing;
use sluicegate::share::ShareGrant;
use sluicegate::wait::AcquireError;
use sluicegate_policy::{
    BeforeWait, Cost, KeyField, KeyedHandle, LimiterHandle, LimiterPolicy, Pass, Penalty,
    PermitSource, WaitError,
};

use self::request::{Admitted, PolicyRequest};
use super::refusal::RefusalReason;
use super::request_class::RequestClass;
use super::take::{All, Later, OnAnswer, Take, Taken, Turn, Waits, looked};
use super::wait_up_to::comes_later;
use crate::fields::PolicyState;

/// A handle of a registry, whose policy is obeyed: also what it says of waits, costs and penalties.
///
/// | field | |
/// |---|---|
/// | `wait = "2 s"` | requests wait in the handle's fair line, for so long |
/// | `cost` | a request takes so many permits: a number, that of a header, or by rules of methods, paths, headers and agents. A [cost](super::Limit::cost) of the limit comes first |
/// | `penalty` | a key that offends is refused for a time: with 429, and `Retry-After`. Refusals are noted, and so are answers of the service by their status |
/// | `shadow` | requests pass; how many would have been denied is told by the handle's `shadow_counts` |
/// | `key` | the program finds the key of a request; the policy writes it, so that an address is the same key as elsewhere |
/// | `classes` | the service is told the [`RequestClass`] of a request, and clients with [`Limit::tell_class`](super::Limit::tell_class) |
/// | `shares` | the service is told the [`ShareGrant`] of a request |
/// | `match`, `except` | are the program's: which route has the layer |
///
/// Without `ByPolicy`, a handle is a limiter like any other: what it denies is refused, a request costs 1, and answers are no
/// offences. A policy that is changed live is in force at once, also for requests that wait.
///
/// * `cost = "bytes"` of the response cannot be known before there is one. Requests are refused with the status 500
///   ([`RefusalReason::UnknownCost`]), unless the limit has a cost of its own. With `shadow` they pass, and take nothing.
/// * Columns and users of a log are absent. A client is known to filters if `key` is `"client"` alone.
/// * An answer is an offence by its status, and by the method, the path and the headers of its request. If the service
///   fails, or the client goes away before it answers, there is none.
///
/// * Of a client's address the layer passes on what [`ClientAddress`](crate::client_address::ClientAddress) makes its key, by
///   default the /64 of IPv6. For a policy that looks at more bits, set
///   [`ipv6_prefix(128)`](crate::client_address::ClientAddress::ipv6_prefix).
///
/// Allocates for each key, for each request that waits, and for each one that is admitted if answers may be offences.
///
/// # Examples
///
/// ```
/// use sluicegate_http::layer::{ByPolicy, Limit};
/// use sluicegate_policy::{Policies, Registry};
///
/// let registry = Registry::new(Policies::from_toml("limits.toml", r#"
/// [limiters.calls]
/// policy = "token_bucket"
/// key = "client"
/// limit = 10
/// rate = { amount = 5, interval = "1 s" }
/// cost = [{ match = { method = "POST" }, permits = 5 }]
/// penalty = { offences = 5, within = "10 minutes", refuse_for = "1 hour", by = { status = 401 } }
/// wait = "2 s"
/// "#)?)?;
/// let limit = Limit::per_client_text(ByPolicy::new(registry.keyed("calls")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByPolicy<H> {
    handle: H,
}

impl<H> ByPolicy<H> {
    /// Obeys the policy of a handle.
    #[must_use]
    pub fn new(handle: H) -> ByPolicy<H> {
        ByPolicy { handle }
    }
}

/// Returns the answer to a request that may have waited. `left` returns the time that is left of a penalty.
fn answer<'l>(
    answer: &Result<Pass, WaitError>,
    left: impl FnOnce() -> Option<std::time::Duration>,
) -> Result<Taken<'l>, RefusalReason> {
    match answer {
        Ok(pass) => Ok(taken(pass)),
        Err(WaitError::Denied(denied)) => Err(refused(*denied, left)),
        Err(WaitError::Line(error)) => Err(RefusalReason::Line(*error)),
        // The name was removed from the file, and nobody waits for it any more.
        Err(_) => Err(RefusalReason::Line(AcquireError::Closed)),
    }
}

/// Returns the permits of a request that may go on, with their source if they are a tenant's.
fn taken<'l>(pass: &Pass) -> Taken<'l> {
    let grant = pass.grant();
    match pass.source() {
        Some(PermitSource::Assured) => Taken::shared(ShareGrant::Assured(grant)),
        Some(PermitSource::Borrowed) => Taken::shared(ShareGrant::Borrowed(grant)),
        None => Taken::spent(&grant),
    }
}

/// Returns the refusal for a denial, which may be that of a penalty.
fn refused(denied: Denied, left: impl FnOnce() -> Option<std::time::Duration>) -> RefusalReason {
    match left() {
        Some(retry_after) => RefusalReason::Penalized { retry_after },
        None => RefusalReason::Denied(denied),
    }
}

/// Returns the permits that the policy asks for.
fn cost_of(
    policy: &LimiterPolicy,
    request: &Parts,
    key: Option<&str>,
) -> Result<u64, RefusalReason> {
    match &policy.cost {
        Cost::Permits(permits) => Ok(*permits),
        Cost::Bytes if policy.shadow => Ok(0),
        Cost::Bytes => Err(RefusalReason::UnknownCost),
        cost => Ok(cost.of(&PolicyRequest::of(request, client(policy, key))).permits),
    }
}

/// Returns the key as the policy writes it, so that it is the same one for all that obey the policy.
fn key_of(policy: &LimiterPolicy, key: &str) -> Vec<u8> {
    let mut own = Vec::with_capacity(key.len() + "/64".len());
    // A key without a value is what the program makes of it.
    _ = policy.given_key(key.as_bytes(), &mut own);
    own
}

/// Returns the key, if that is a client.
fn client<'k>(policy: &LimiterPolicy, key: Option<&'k str>) -> Option<&'k str> {
    key.filter(|_| policy.key == [KeyField::Client])
}

/// Returns the class of a key, if the policy has classes.
fn class_of(policy: &LimiterPolicy, key: Option<&str>) -> Option<RequestClass> {
    let key = key.filter(|_| policy.kind.is_common())?;
    Some(RequestClass::new(&policy.kind.class_of(&key_of(policy, key))?.name))
}

fn of_answers(policy: &LimiterPolicy) -> Option<&Penalty> {
    policy.penalty.as_ref().filter(|penalty| !penalty.of_answers.is_empty())
}

/// Returns the denial that a refusal by a look comes from.
fn denial(permits: u64, refused: &RefusalReason) -> Option<Denied> {
    match *refused {
        RefusalReason::Denied(denied) => Some(denied),
        RefusalReason::Penalized { retry_after } => {
            let standing = Standing::new(permits, permits, retry_after);
            Some(standing.denial(permits, retry_after))
        }
        _ => None,
    }
}

/// Writes the trait for one form of handles, whose keys `$keys` are the arguments of its calls.
macro_rules! by_policy {
    ($Handle:ident, $Key:ty, |$handle:ident, $key:ident| ($($arguments:expr)?), $text:expr) => {
        impl Take<$Key> for ByPolicy<$Handle> {
            fn cost_of(&self, $key: &$Key, request: &Parts) -> Result<u64, RefusalReason> {
                let $handle = &self.handle;
                cost_of(&$handle.policy(), request, $text)
            }

            fn try_take(&self, $key: &$Key, permits: u64) -> Result<Taken<'_>, RefusalReason> {
                let $handle = &self.handle;
                match $handle.try_before_wait($($arguments,)? permits) {
                    Ok(pass) => Ok(taken(&pass)),
                    Err(denied) => Err(self.reason($key, denied)),
                }
            }

            fn try_take_revocable(
                &self,
                $key: &$Key,
                permits: u64,
            ) -> Result<Taken<'_>, RefusalReason> {
                let $handle = &self.handle;
                if $handle.policy().kind.is_common() {
                    // It gives nothing back, and tells the source of permits.
                    return self.try_take($key, permits);
                }
                match $handle.try_before_wait_revocable($($arguments,)? permits) {
                    Ok(receipt) => Ok(Taken::revocable(receipt)),
                    Err(denied) => Err(self.reason($key, denied)),
                }
            }

            fn look(&self, $key: &$Key, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
                let $handle = &self.handle;
                match $handle.peek($($arguments,)? permits) {
                    Ok(grant) => looked(Ok(grant)),
                    Err(denied) => Err(refused(denied, || $handle.penalty_left($($arguments)?))),
                }
            }

            fn class(&self, $key: &$Key) -> Option<RequestClass> {
                class_of(&self.handle.policy(), $text)
            }

            fn turn(&self) -> Turn {
                Turn::Line
            }

            fn may_wait(&self, refused: &RefusalReason) -> bool {
                let $handle = &self.handle;
                comes_later(refused) && $handle.policy().wait.is_some()
            }

            fn note_refused_look(&self, $key: &$Key, permits: u64, refused: &RefusalReason) {
                let $handle = &self.handle;
                if let Some(denied) = denial(permits, refused) {
                    $handle.note_denial($($arguments,)? permits, &denied);
                }
            }

            fn note_unwaited(&self, $key: &$Key, permits: u64, refused: &RefusalReason) {
                self.note_refused_look($key, permits, refused);
            }

            fn on_answer(&self, $key: &$Key, request: &Parts) -> Option<OnAnswer> {
                let policy = self.handle.policy();
                let penalty = of_answers(&policy)?;
                let admitted = Admitted::of(request, client(&policy, $text), penalty);
                let $handle = self.handle.clone();
                let $key = $key.to_owned();
                Some(OnAnswer(Box::new(move |status| {
                    // By the policy that is in force by then.
                    let policy = $handle.policy();
                    if of_answers(&policy).is_some_and(|own| admitted.is_offence(status, own)) {
                        let $key = &$key;
                        // Without space for the key, nothing is noted.
                        _ = $handle.offend($($arguments,)? 1);
                    }
                })))
            }

            fn take_later<'a>(
                &'a self,
                $key: &'a $Key,
                permits: u64,
                _: Waits<'a>,
            ) -> Later<'a> {
                let $handle = &self.handle;
                Box::pin(async move {
                    let waited = $handle.acquire_with($($arguments,)? permits).await;
                    answer(&waited, || $handle.penalty_left($($arguments)?))
                })
            }
        }

        impl ByPolicy<$Handle> {
            /// Returns the reason for a denial, which may be that of a penalty unless a wait may help.
            fn reason(&self, $key: &$Key, denied: BeforeWait) -> RefusalReason {
                let $handle = &self.handle;
                match denied {
                    BeforeWait::Later(denied) => RefusalReason::Denied(denied),
                    BeforeWait::Refused(denied) => {
                        refused(denied, || $handle.penalty_left($($arguments)?))
                    }
                }
            }
        }
    };
}

by_policy!(LimiterHandle, All, |handle, _key| (), None);
by_policy!(KeyedHandle, str, |handle, key| (&key_of(&handle.policy(), key)), Some(key));
