//! The service of gRPC.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use sluicegate::Clock;
use sluicegate::clock::UnixClock;
use tonic::{Code as Grpc, Request, Response, Status, async_trait};
use tower::ServiceExt;

use super::answer::decide;
use super::config::{self, EnvoyError};
use super::counters::Counters;
use super::counts::Counts;
use super::domains::Domains;
use super::parts::Sources;
use super::protocol::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use super::protocol::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use super::response::{Extras, response};
use crate::limiters::Limiters;
use crate::metrics::Metrics;

/// The limits of domains, for Envoy. A clone is the same limits.
///
/// **Guarantee.** In each unit, counted from 1970 on, no descriptor is granted more hits than its limit and those
/// that are given back, whatever the number of connections. A month has 30 days and a year 365, as in
/// envoyproxy/ratelimit.
///
/// | | envoyproxy/ratelimit | here |
/// |---|---|---|
/// | one of several descriptors is over its limit, and the request names no hits | the hits of the others count all the same | nothing is counted |
/// | hits that the request names (`hits_addend`), beyond what is left | count, and are refused | the same |
/// | a limit is changed in the file | its count stays | the same |
/// | no space for a new descriptor | evicted by Redis, if set up so | refused by `UNAVAILABLE` |
pub struct EnvoyLimits {
    shared: Arc<Shared>,
    extras: Extras,
    gives_back: bool,
}

struct Shared {
    path: PathBuf,
    /// The limiters of the policy that the files may name.
    limiters: Option<Limiters>,
    domains: ArcSwap<Domains>,
    counters: Counters,
    counts: Counts,
}

impl EnvoyLimits {
    /// Most descriptors that are counted at a time, unless another number is given.
    pub const MAX_KEYS: usize = 1_000_000;

    /// Reads a file, or the files of a folder whose names end with `.yaml` or `.yml`, each of which has one
    /// domain and may name `limiters`. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// [`EnvoyError`], with all mistakes of all files.
    pub fn open(
        path: impl Into<PathBuf>,
        limiters: Option<Limiters>,
    ) -> Result<EnvoyLimits, EnvoyError> {
        EnvoyLimits::with_clock(path, limiters, EnvoyLimits::MAX_KEYS, UnixClock::new())
    }
}

impl EnvoyLimits {
    /// Does the same with room for `max_keys` descriptors at a time, on a clock in
    /// nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// [`EnvoyError`], with all mistakes of all files; [`EnvoyError::Room`] for 0 or too many `max_keys`.
    pub fn with_clock(
        path: impl Into<PathBuf>,
        limiters: Option<Limiters>,
        max_keys: usize,
        clock: impl Clock + Send + Sync + 'static,
    ) -> Result<EnvoyLimits, EnvoyError> {
        let path = path.into();
        let mut domains = {
            let in_force = limiters.as_ref().map(Limiters::load);
            config::read(&path, in_force.as_deref().map(Arc::as_ref))?
        };
        let counts = Counts::default();
        domains.count_in(&counts);
        let counters = Counters::new(max_keys, Arc::new(clock)).map_err(EnvoyError::Room)?;
        let domains = ArcSwap::from_pointee(domains);
        let shared = Arc::new(Shared { path, limiters, domains, counters, counts });
        Ok(EnvoyLimits { shared, extras: Extras::default(), gives_back: false })
    }

    /// Reads the files again. What was counted stays. If a file has a mistake, all limits stay as they were.
    ///
    /// # Errors
    ///
    /// [`EnvoyError`], with all mistakes of all files.
    pub fn reload(&self) -> Result<(), EnvoyError> {
        let in_force = self.shared.limiters.as_ref().map(Limiters::load);
        let in_force = in_force.as_deref().map(Arc::as_ref);
        let mut domains = config::read(&self.shared.path, in_force)?;
        domains.count_in(&self.shared.counts);
        self.shared.domains.store(Arc::new(domains));
        Ok(())
    }

    /// Returns the file or folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Returns the number of domains.
    #[must_use]
    pub fn domains(&self) -> usize {
        self.shared.domains.load().len()
    }

    /// Tells Envoy fields for the client's response: `RateLimit-Limit`, `RateLimit-Remaining` and
    /// `RateLimit-Reset`, of the limit that the request is over, or else of the one that has least left; and
    /// `RateLimit-Shadow`, the names of limits in shadow mode that it exceeds. By default it tells none.
    #[must_use]
    pub fn with_response_fields(mut self) -> EnvoyLimits {
        self.extras.fields = true;
        self
    }

    /// Repeats the question in the metadata of the response, for access logs: the domain, the descriptors and
    /// their hits. By default the metadata has only what the files say, and the descriptors that are over a limit in
    /// quota or shadow mode.
    #[must_use]
    pub fn with_question_in_metadata(mut self) -> EnvoyLimits {
        self.extras.question = true;
        self
    }

    /// Lets requests give back hits (`is_negative_hits`): up to what the present window of a descriptor has
    /// counted. By default they are refused, since anybody who can ask could.
    #[must_use]
    pub fn with_giving_back(mut self) -> EnvoyLimits {
        self.gives_back = true;
        self
    }

    /// Puts the numbers of requests, by domain and answer, on the page of `metrics`. To be called once.
    pub fn counted(&self, metrics: &Metrics) {
        metrics.register(|page| self.shared.counts.register(page));
    }

    /// Adds the service to routes, so that they answer Envoy over HTTP/2, and `grpc.health.v1`, the health of
    /// services of gRPC.
    pub async fn add_to(&self, routes: Router) -> Router {
        let counts = self.shared.counts.clone();
        let service = RateLimitServiceServer::new(self.clone());
        // A question that cannot be read does not come to the service, so its answer is looked at.
        let service = ServiceExt::<axum::extract::Request>::map_response(
            service,
            move |answer: axum::response::Response<_>| {
                // An answer without an error has its status at its end.
                if let Some(status) = answer.headers().get("grpc-status") {
                    counts.refuse(Grpc::from_bytes(status.as_bytes()));
                }
                answer
            },
        );
        let (reporter, health) = tonic_health::server::health_reporter();
        reporter.set_serving::<RateLimitServiceServer<EnvoyLimits>>().await;
        routes
            .route_service("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", service)
            .route_service("/grpc.health.v1.Health/Check", health.clone())
            .route_service("/grpc.health.v1.Health/Watch", health)
    }
}

#[async_trait]
impl RateLimitService for EnvoyLimits {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let Shared { domains, counters, limiters, .. } = &*self.shared;
        let (domains, limiters) = (domains.load(), limiters.as_ref().map(Limiters::load));
        let request = request.get_ref();
        let sources = Sources {
            domains: &domains,
            limiters: limiters.as_deref().map(Arc::as_ref),
            gives_back: self.gives_back,
        };
        let parts = sources.parts(request)?;
        let decision = decide(counters, &parts).await?;
        for (part, verdict) in parts.iter().zip(&decision.0) {
            if verdict.is_shadowed {
                part.count_shadowed();
            }
        }
        let response = response(request, &parts, decision, self.extras);
        if let Some(counts) = domains.counts(&request.domain) {
            counts.count(response.overall_code);
        }
        Ok(Response::new(response))
    }
}

impl Clone for EnvoyLimits {
    fn clone(&self) -> Self {
        EnvoyLimits { shared: Arc::clone(&self.shared), ..*self }
    }
}

/// Shows the path and the number of domains.
impl fmt::Debug for EnvoyLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domains = self.shared.domains.load().len();
        f.debug_struct("EnvoyLimits")
            .field("path", &self.shared.path)
            .field("domains", &domains)
            .finish_non_exhaustive()
    }
}
