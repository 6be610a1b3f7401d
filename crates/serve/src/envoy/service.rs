//! The service of gRPC.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use sluicegate::UnixClock;
use sluicegate_policy::SharedClock;
use tonic::{Request, Response, Status, async_trait};

use super::answer::answer;
use super::config::{self, EnvoyError};
use super::counters::Counters;
use super::counts::Counts;
use super::domains::Domains;
use super::protocol::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use super::protocol::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use crate::metrics::Metrics;

/// The limits of domains, for Envoy. A clone is the same limits.
///
/// **Guarantee.** In each unit, counted from 1970 on, no descriptor has more hits than its limit, whatever
/// the number of connections. A month has 30 days and a year 365, as in envoyproxy/ratelimit.
///
/// | | envoyproxy/ratelimit | here |
/// |---|---|---|
/// | a descriptor of several is over its limit | the hits of the others count all the same | nothing is counted |
/// | hits beyond what is left | count, and are refused | are refused, and do not count |
/// | a limit is changed in the file | its count stays | the same |
/// | no space for a new descriptor | evicted by Redis, if set up so | refused by `UNAVAILABLE` |
pub struct EnvoyLimits<C: SharedClock = UnixClock> {
    shared: Arc<Shared<C>>,
    with_fields: bool,
}

struct Shared<C: SharedClock> {
    path: PathBuf,
    domains: ArcSwap<Domains>,
    counters: Counters<C>,
    counts: Counts,
}

impl EnvoyLimits {
    /// Most descriptors that are counted at a time, unless another number is given.
    pub const MAX_KEYS: usize = 1_000_000;

    /// Reads a file, or the files of a folder whose names end with `.yaml` or `.yml`, each of which has one
    /// domain. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// [`EnvoyError`], with all mistakes of all files.
    pub fn open(path: impl Into<PathBuf>) -> Result<EnvoyLimits, EnvoyError> {
        EnvoyLimits::with_clock(path, EnvoyLimits::MAX_KEYS, UnixClock::new())
    }
}

impl<C: SharedClock> EnvoyLimits<C> {
    /// Does the same with room for `max_keys` descriptors at a time, on a clock in
    /// nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// [`EnvoyError`], with all mistakes of all files; [`EnvoyError::Room`] for 0 or too many `max_keys`.
    pub fn with_clock(
        path: impl Into<PathBuf>,
        max_keys: usize,
        clock: C,
    ) -> Result<EnvoyLimits<C>, EnvoyError> {
        let path = path.into();
        let mut domains = config::read(&path)?;
        let counts = Counts::default();
        domains.count_in(&counts);
        let counters = Counters::new(max_keys, clock).map_err(EnvoyError::Room)?;
        let shared = Shared { path, domains: ArcSwap::from_pointee(domains), counters, counts };
        Ok(EnvoyLimits { shared: Arc::new(shared), with_fields: false })
    }

    /// Reads the files again. What was counted stays. If a file has a mistake, all limits stay as they were.
    ///
    /// # Errors
    ///
    /// [`EnvoyError`], with all mistakes of all files.
    pub fn reload(&self) -> Result<(), EnvoyError> {
        let mut domains = config::read(&self.shared.path)?;
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
    /// `RateLimit-Reset`, of the limit that the request is over, or else of the one that has least left. By
    /// default it tells none.
    #[must_use]
    pub fn with_response_fields(self) -> EnvoyLimits<C> {
        EnvoyLimits { with_fields: true, ..self }
    }

    /// Puts the numbers of requests, by domain and answer, on the page of `metrics`. To be called once.
    pub fn counted(&self, metrics: &Metrics) {
        metrics.register(|page| self.shared.counts.register(page));
    }

    /// Adds the service to routes, so that they answer Envoy over HTTP/2, and `grpc.health.v1`, the health of
    /// services of gRPC.
    pub async fn add_to(&self, routes: Router) -> Router {
        let service = RateLimitServiceServer::new(self.clone());
        let (reporter, health) = tonic_health::server::health_reporter();
        reporter.set_serving::<RateLimitServiceServer<EnvoyLimits<C>>>().await;
        routes
            .route_service("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", service)
            .route_service("/grpc.health.v1.Health/Check", health.clone())
            .route_service("/grpc.health.v1.Health/Watch", health)
    }
}

#[async_trait]
impl<C: SharedClock> RateLimitService for EnvoyLimits<C> {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let Shared { domains, counters, .. } = &*self.shared;
        let (domains, request) = (domains.load(), request.get_ref());
        let answer = answer(&domains, counters, request, self.with_fields)?;
        if let Some(counts) = domains.counts(&request.domain) {
            counts.count(answer.overall_code);
        }
        Ok(Response::new(answer))
    }
}

impl<C: SharedClock> Clone for EnvoyLimits<C> {
    fn clone(&self) -> Self {
        EnvoyLimits { shared: Arc::clone(&self.shared), with_fields: self.with_fields }
    }
}

/// Shows the path and the number of domains.
impl<C: SharedClock> fmt::Debug for EnvoyLimits<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domains = self.shared.domains.load().len();
        f.debug_struct("EnvoyLimits")
            .field("path", &self.shared.path)
            .field("domains", &domains)
            .finish_non_exhaustive()
    }
}
