//! The state that all requests share.

use sluicegate_http::layer::RateLimitLayer;
use tokio::sync::watch;

use crate::offer::OfferSource;
use crate::scenario::Scenarios;
use crate::sessions::Sessions;
use crate::work_time::WorkTime;

/// The state that all requests share.
pub(crate) struct Shared {
    pub(crate) sessions: Sessions,
    pub(crate) scenarios: Scenarios,
    pub(crate) work_time: WorkTime,
    pub(crate) layer: RateLimitLayer,
    pub(crate) offer: OfferSource,
    pub(crate) closed: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn new(
        sessions: usize,
        work_time: WorkTime,
        layer: RateLimitLayer,
        offer: OfferSource,
    ) -> Shared {
        Shared {
            sessions: Sessions::new(sessions),
            scenarios: Scenarios::new(),
            work_time,
            layer,
            offer,
            closed: watch::Sender::new(false),
        }
    }
}
