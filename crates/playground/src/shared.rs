//! The state that all requests share.

use sluicegate::{Quota, TokenBucket, quota};
use sluicegate_http::layer::RateLimitLayer;
use tokio::sync::watch;

use crate::offer::OfferSource;
use crate::scenario::Scenarios;
use crate::sessions::Sessions;

/// The state that all requests share.
pub(crate) struct Shared {
    pub(crate) sessions: Sessions,
    pub(crate) scenarios: Scenarios,
    /// A token for each event of a session.
    pub(crate) work: TokenBucket,
    pub(crate) layer: RateLimitLayer,
    pub(crate) offer: OfferSource,
    pub(crate) closed: watch::Sender<bool>,
}

/// Events of all sessions together.
const WORK: Quota = quota!(100_000 / second, burst 20_000);

impl Shared {
    pub(crate) fn new(sessions: usize, layer: RateLimitLayer, offer: OfferSource) -> Shared {
        Shared {
            sessions: Sessions::new(sessions),
            scenarios: Scenarios::new(),
            work: TokenBucket::new(WORK),
            layer,
            offer,
            closed: watch::Sender::new(false),
        }
    }
}
