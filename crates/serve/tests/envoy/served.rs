//! A service of Envoy's protocol that runs.

use std::path::Path;
use std::sync::Arc;

use sluicegate::ManualClock;
use sluicegate_policy::{Policies, Registry};
use sluicegate_redis::RedisConnector;
use sluicegate_serve::envoy::EnvoyLimits;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::{
    RateLimitRequest, RateLimitResponse,
};
use sluicegate_serve::metrics::Metrics;
use sluicegate_serve::{Bounds, Limiters, Server, Service, api};
use tokio::sync::oneshot;
use tonic::Status;
use tonic::transport::Channel;

pub(crate) struct Served {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) limits: EnvoyLimits,
    pub(crate) client: RateLimitServiceClient<Channel>,
    pub(crate) metrics: Metrics,
    pub(crate) registry: Registry,
    pub(crate) channel: Channel,
    pub(crate) address: std::net::SocketAddr,
    _end: oneshot::Sender<()>,
}

/// Options that a service is started with, besides its files.
pub(crate) struct Setup {
    /// Most descriptors at a time.
    pub(crate) max_keys: usize,
    pub(crate) bounds: Bounds,
    /// The policy whose limiters the files may name.
    pub(crate) policy: &'static str,
}

impl Default for Setup {
    fn default() -> Setup {
        let policy = "limiters.a = { policy = \"gcra\", key = \"all\", interval = \"1 s\", tolerance = \"1 s\" }";
        Setup { max_keys: 1_000, bounds: Bounds::default(), policy }
    }
}

impl Served {
    /// Serves the limits of a file or folder, with room for so many descriptors.
    pub(crate) async fn start(path: &Path, max_keys: usize) -> Served {
        Served::with(path, Setup { max_keys, ..Setup::default() }).await
    }

    /// Does the same with a set-up.
    pub(crate) async fn with(path: &Path, setup: Setup) -> Served {
        let clock = Arc::new(ManualClock::new());
        let policies = Policies::from_toml("policy.toml", setup.policy).unwrap();
        let connector = RedisConnector::new(tokio::runtime::Handle::current());
        let registry = Registry::connected(policies, Arc::new(connector)).unwrap();
        let limiters = Limiters::new(registry.clone());
        let limits = EnvoyLimits::with_clock(
            path,
            Some(limiters.clone()),
            setup.max_keys,
            Arc::clone(&clock),
        );
        let limits = limits.unwrap();
        let service = Service::new(limiters);
        let metrics = service.metrics().clone();
        limits.counted(&metrics);
        let offered = limits.clone().with_response_fields().with_giving_back();
        let routes = offered.add_to(api::routes(service)).await;
        let server = Server::bind(([127, 0, 0, 1], 0).into(), setup.bounds).await.unwrap();
        let address = server.address().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        tokio::spawn(server.run(routes, async {
            let _ = ended.await;
        }));
        // The authority that Envoy sends is the name of its cluster.
        let authority = "http://ratelimit.default.svc.cluster.local".parse().unwrap();
        let endpoint = Channel::from_shared(format!("http://{address}")).unwrap().origin(authority);
        let channel = endpoint.connect().await.unwrap();
        let client = RateLimitServiceClient::new(channel.clone());
        Served { clock, limits, client, metrics, registry, channel, address, _end: end }
    }

    pub(crate) async fn ask(&self, request: RateLimitRequest) -> Result<RateLimitResponse, Status> {
        let answer = self.client.clone().should_rate_limit(request).await;
        answer.map(tonic::Response::into_inner)
    }
}

/// Returns a request of one descriptor with these entries.
pub(crate) fn request(domain: &str, entries: &[(&str, &str)]) -> RateLimitRequest {
    RateLimitRequest {
        domain: domain.to_owned(),
        descriptors: vec![descriptor(entries)],
        hits_addend: 0,
    }
}

pub(crate) fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entries: Vec<(&str, &[u8])> =
        entries.iter().map(|(key, value)| (*key, value.as_bytes())).collect();
    descriptor_of_bytes(&entries)
}

/// Returns a descriptor whose values need not be texts.
pub(crate) fn descriptor_of_bytes(entries: &[(&str, &[u8])]) -> RateLimitDescriptor {
    let entry = |(key, value): &(&str, &[u8])| Entry { key: (*key).into(), value: value.to_vec() };
    RateLimitDescriptor {
        entries: entries.iter().map(entry).collect(),
        limit: None,
        hits_addend: None,
        is_negative_hits: false,
    }
}
