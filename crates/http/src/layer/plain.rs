//! The short way through a layer: one limit, of which a request takes a permit at once and for good.
//!
//! Most layers have such a limit, and most requests pass it. They need nothing but a key and a permit, so they
//! are not taken apart, share nothing with their response, and allocate nothing. All other layers, and what
//! this limit refuses, go the long way: see `decision`.

use http::{Extensions, HeaderMap, Method, Request};

use super::Shared;
use super::limit::{Limit, Target};
use super::peer;
use super::refusal::RefusalReason;
use super::take::All;
use crate::client_address::ClientKey;

/// The answer to a request on the short way.
pub(super) enum Plainly {
    Passed,
    Refused(RefusalReason),
    /// The layer has no such way, and no limiter was asked.
    NotPlain,
}

impl Shared {
    /// Returns true if all that the layer does for most requests is to take a permit from its only limit.
    pub(super) fn find_is_plain(&self) -> bool {
        matches!(&*self.limits, [only] if only.is_plain())
            && self.skips.are_only_of_preflight()
            && self.time_limit.is_none()
            && !self.tells_every_state()
    }

    /// Decides a request that may take the short way. One with the method `OPTIONS` may not: it may be a preflight
    /// request, and skipped.
    #[inline]
    pub(super) fn pass_plainly<B>(&self, request: &Request<B>) -> Plainly {
        match &*self.limits {
            [only] if self.is_plain && *request.method() != Method::OPTIONS => {
                self.spend_one(only, request.headers(), request.extensions())
            }
            _ => Plainly::NotPlain,
        }
    }

    /// Takes one permit, by a key that needs nothing but the fields and the extensions of a request.
    fn spend_one(&self, only: &Limit, headers: &HeaderMap, extensions: &Extensions) -> Plainly {
        let spent = match &only.target {
            Target::All(limiter) => limiter.try_spend(&All, 1),
            Target::Client(store, addresses) => {
                match addresses.key(peer::of(extensions), headers) {
                    ClientKey::Unlimited => Ok(()),
                    ClientKey::Refused(why) => Err(RefusalReason::UnknownClient(why)),
                    key => store.try_spend(&key, 1),
                }
            }
            Target::ClientText(..) | Target::Key(..) | Target::KeyOrClient(..) => {
                return Plainly::NotPlain;
            }
        };
        match spent {
            Ok(()) => {
                self.counters.passed();
                Plainly::Passed
            }
            Err(reason) => Plainly::Refused(reason),
        }
    }
}

impl Limit {
    /// Returns true if a request takes one permit, for good.
    fn is_plain(&self) -> bool {
        let is_spent_at_once = match &self.target {
            Target::All(limiter) => limiter.is_spent_at_once(),
            Target::Client(store, _) => store.is_spent_at_once(),
            Target::ClientText(..) | Target::Key(..) | Target::KeyOrClient(..) => false,
        };
        is_spent_at_once && self.cost.is_none()
    }
}
