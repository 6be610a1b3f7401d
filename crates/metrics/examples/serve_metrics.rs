//! The problem: a team wants to see on a dashboard what its limits refuse, and to be told in the log when it
//! begins, but not a line for each refusal of a flood. The limits are in a policy file; the server
//! publishes their counts when Prometheus asks for `/metrics`, and nothing before.
//!
//! `cargo run -p sluicegate-metrics --example serve_metrics` serves it on a free port, and makes traffic for itself
//! (`--port 9464`: on that one, until it is stopped; `--redis redis://127.0.0.1/`: with the limit that machines share on
//! that server).

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::{Router, routing::get};
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::Counted;
use sluicegate::settle::Settle;
use sluicegate::share::{Priorities, Share, Shares};
use sluicegate::{Limiter, TokenBucket, Wait, quota};
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
use sluicegate_http::fields::QuotaPolicy;
use sluicegate_http::layer::{Limit, RateLimitLayer};
use sluicegate_metrics::{Publisher, RefusalLog, WAIT_BUCKETS};
use sluicegate_policy::{LimiterHandle, Policies, Registry};
use sluicegate_redis::{
    Connections, Fallback, Guarded, KeySpace, Pool, RedisLimit, RedisLimiter, Run,
    RunScriptBlocking, StoreError,
};
use tokio::net::TcpListener;

const POLICIES: &str = r#"
limiters.client = { policy = "token_bucket", key = "client", limit = 20, rate = { amount = 10, interval = "1 second" } }
limiters.site = { policy = "sliding_window", key = "all", limit = 50, interval = "1 second" }
limiters.export = { policy = "gcra", key = "all", interval = "50 ms", tolerance = "0 s", wait = "1 second" }
limiters.stricter = { policy = "fixed_window", key = "all", limit = 30, interval = "1 second", shadow = true }
"#;

/// All that is limited, and the answers to scrapes.
struct Server {
    export: LimiterHandle,
    stricter: LimiterHandle,
    upstream: Arc<Counted<TokenBucket>>,
    tokens: Arc<Counted<SettleableBucket>>,
    tenants: Arc<Shares<u64>>,
    classes: Arc<Priorities<TokenBucket>>,
    slow: TimeLimiter,
    shared: RedisLimiter<Guarded<Client>>,
    layer: RateLimitLayer,
    metrics: Metrics,
}

/// A client of Redis, or nothing in its place: then requests fail.
#[derive(Clone)]
enum Client {
    Pool(Pool),
    NoServer,
}

impl Client {
    fn of(url: Option<&str>) -> Result<Client, Box<dyn Error>> {
        let Some(url) = url else { return Ok(Client::NoServer) };
        let server = redis::Client::open(url)?;
        Ok(Client::Pool(Pool::new(
            r2d2::Pool::builder()
                .max_size(1)
                .connection_timeout(Duration::from_millis(100))
                .build(Connections::new(server, Duration::from_millis(100)))?,
        )))
    }
}

impl RunScriptBlocking for Client {
    fn run_blocking(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        match self {
            Client::Pool(pool) => pool.run_blocking(run),
            Client::NoServer => Err(StoreError::Unreachable("nobody has started it".into())),
        }
    }
}

/// The publisher, and where it publishes.
struct Metrics {
    publisher: Publisher,
    recorder: PrometheusRecorder,
    page: PrometheusHandle,
}

impl Metrics {
    /// Returns the page for one scrape.
    fn scrape(&self) -> String {
        // A program that has one recorder for all of its metrics installs it, and calls `publish` alone.
        metrics::with_local_recorder(&self.recorder, || self.publisher.publish());
        self.page.render()
    }
}

impl Server {
    fn new(redis: Option<&str>) -> Result<Server, Box<dyn Error>> {
        let registry = Registry::new(Policies::from_toml("limits.toml", POLICIES)?)?.counted();
        let log = RefusalLog::new("api", quota!(1 / second, burst 3));
        let layer = RateLimitLayer::all_of([
            Limit::per_client_text(registry.keyed("client")?)
                .policy(QuotaPolicy::from(quota!(10 / second)).named("client")?),
            Limit::of_all(registry.limiter("site")?)
                .policy(QuotaPolicy::from(quota!(50 / second)).named("site")?),
        ])?
        .skip(|request| request.uri.path() == "/metrics")
        .observe(move |refusal, _| log.refused(refusal));
        let upstream = Arc::new(Counted::new(TokenBucket::new(quota!(40 / second, burst 1))));
        let tokens = Arc::new(Counted::new(SettleableBucket::new(quota!(10_000 / second))));
        let share = Share::new(quota!(10 / second, burst 1)).with_tenants(4);
        let tenants = Arc::new(Shares::new(quota!(1_000 / second, burst 100), [share])?.counted());
        let bucket = TokenBucket::new(quota!(100 / second, burst 10));
        let classes = Priorities::by_percent(bucket, [("user", 0), ("batch", 80)])?;
        let classes = Arc::new(classes.counted());
        let slow = TimeLimiter::new("search", TimeLimit::new(Duration::from_millis(5))?);
        let limit = RedisLimit::token_bucket(quota!(100 / second))?;
        let guard = Guarded::new(Client::of(redis)?);
        let shared = RedisLimiter::new(limit, KeySpace::new("site")?, guard.clone())
            .with_fallback(Fallback::Open);
        let publisher = Publisher::new()
            .registry(&registry)
            .layer("api", &layer)
            .waiting("upstream", &upstream)
            .limiter("tokens", &tokens)
            .shares("tenants", &tenants)
            .priorities("classes", &classes)
            .time_limiter(&slow)
            .redis_server("main", &guard);
        let waits = Matcher::Full("sluicegate_wait_seconds".to_owned());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(waits, WAIT_BUCKETS)?;
        let recorder = builder.build_recorder();
        let page = recorder.handle();
        Ok(Server {
            export: registry.limiter("export")?,
            stricter: registry.limiter("stricter")?,
            upstream,
            tokens,
            tenants,
            classes,
            slow,
            shared,
            layer,
            metrics: Metrics { publisher, recorder, page },
        })
    }

    fn app(self: &Arc<Self>) -> Router {
        let server = Arc::clone(self);
        Router::new()
            .route("/", get(|| async { "hello" }))
            .route("/metrics", get(move || async move { server.metrics.scrape() }))
            .layer(self.layer.clone())
    }

    /// Asks the limiters that are not those of the web server.
    fn work(&self) -> Result<(), Box<dyn Error>> {
        for _ in 0..4 {
            self.export.acquire_blocking()?;
            self.upstream.acquire_blocking(1)?;
            // A caller that does not want to wait.
            _ = self.upstream.try_acquire(1);
            for _ in 0..20 {
                self.stricter.try_acquire(1)?;
            }
        }
        if let Ok(estimate) = self.tokens.try_acquire_settleable(4_000) {
            estimate.settle(2_500)?;
        }
        for _ in 0..2 {
            // Its own, and then lent ones.
            _ = self.tenants.try_acquire(0, &7, 1);
            _ = self.classes.try_acquire(0, 1);
            _ = self.classes.try_acquire(1, 2);
        }
        _ = self.slow.run(|_| 6 * 7);
        self.shared.try_acquire_blocking("all", 1)?;
        Ok(())
    }
}

/// Makes so many requests, and returns the answer to the last.
fn ask(address: SocketAddr, path: &str, requests: usize) -> Result<String, Box<dyn Error>> {
    let mut answer = String::new();
    for _ in 0..requests {
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        answer.clear();
        stream.read_to_string(&mut answer)?;
    }
    Ok(answer)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).without_time().init();
    let argument = |name: &str| std::env::args().skip_while(|argument| argument != name).nth(1);
    let port = argument("--port");
    let server = Arc::new(Server::new(argument("--redis").as_deref())?);
    let address = format!("127.0.0.1:{}", port.as_deref().unwrap_or("0"));
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let app = server.app().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async { axum::serve(listener, app).await });
    let traffic = move || -> Result<(), Box<dyn Error + Send + Sync>> {
        loop {
            ask(address, "/", 40).map_err(|error| error.to_string())?;
            server.work().map_err(|error| error.to_string())?;
            if port.is_none() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
    };
    tokio::task::spawn_blocking(traffic).await?.map_err(|error| error.to_string())?;
    let page = tokio::task::spawn_blocking(move || {
        ask(address, "/metrics", 1).map_err(|error| error.to_string())
    });
    println!("{}", page.await??);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_scrape_tells_what_clients_were_told() {
        let server = Arc::new(Server::new(None).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = server.app().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async { axum::serve(listener, app).await });
        let scraped = tokio::task::spawn_blocking(move || {
            let told = (0..40).map(|_| ask(address, "/", 1).unwrap());
            let passed = told.filter(|answer| answer.starts_with("HTTP/1.1 200")).count();
            server.work().unwrap();
            (passed, ask(address, "/metrics", 1).unwrap())
        });
        let (passed, page) = scraped.await.unwrap();
        for line in [
            format!("sluicegate_http_requests_total{{layer=\"api\",outcome=\"passed\"}} {passed}"),
            format!("sluicegate_grants_total{{limiter=\"site\"}} {passed}"),
            "sluicegate_keys{limiter=\"client\"} 1".to_owned(),
            "sluicegate_share_permits_total{limiter=\"tenants\",source=\"borrowed\"} 1".to_owned(),
            "sluicegate_class_permits_total{limiter=\"classes\",class=\"user\"} 2".to_owned(),
            "sluicegate_shadow_decisions_total{limiter=\"stricter\"} 80".to_owned(),
            "sluicegate_settled_permits_total{limiter=\"tokens\",outcome=\"given_back\"} 1500"
                .to_owned(),
        ] {
            assert!(page.lines().any(|own| own == line), "{line} is not in\n{page}");
        }
    }
}
