//! `sluicegate serve`.

mod mounted;
mod offer;
mod redis;
mod values;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use sluicegate_http::client_address::{ClientAddress, Trust};
use sluicegate_playground::{Playground, PlaygroundOptions};
use sluicegate_policy::{PolicyFile, Registry, Watch};
use sluicegate_serve::envoy::{EnvoyError, EnvoyLimits};
use sluicegate_serve::metrics::Metrics;
use sluicegate_serve::{AdminToken, Bounds, Limiters, Server, Service, api};
use tokio::runtime::{self, Handle};
use tokio::signal::unix::{SignalKind, signal};

pub(super) use self::redis::RedisArgs;
use self::redis::Servers;
use super::Failure;
use crate::console::tell;
use crate::policy::input::{self, PolicyArgs};

pub(super) const AFTER_HELP: &str = "\
Without --policy, it serves the playground: a page on which every algorithm can be tried, at \
http://127.0.0.1:8080.

With --policy, it answers questions. They are POST requests with JSON, and GET /openapi.json describes them all:
  curl localhost:8080/v1/check -H 'Content-Type: application/json' \\
       -d '{\"limiter\":\"per-client\",\"key\":\"192.0.2.7\"}'
GET /v1/auth answers proxies that ask whether a request may pass: nginx's auth_request, Traefik's \
ForwardAuth, Caddy's forward_auth. With --envoy, Envoy asks at the same address, over HTTP/2 \
(envoy.service.ratelimit.v3), by the files of envoyproxy/ratelimit.

The file is watched: when it changes, its new terms are put in force, and what was used still counts. If \
it has a mistake, the old terms stay in force. SIGHUP reads it at once, and the files of --envoy too. SIGTERM and SIGINT end the \
service, once the requests under way are answered, at the latest after 10 seconds.";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct ServeArgs {
    /// The policy whose limiters are served: TOML, or by the end of its name YAML (.yaml, .yml) or JSON
    /// (.json); `-` is standard input
    #[arg(long, short, value_name = "FILE")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    read: PolicyArgs,
    /// File of envoyproxy/ratelimit, or folder of such files (.yaml, .yml), to answer Envoy by
    ///
    /// Each file is a domain. They are read again on SIGHUP, and what was counted stays. A limit may name a limiter
    /// of --policy: `rate_limit: { limiter: NAME }`.
    #[arg(long, value_name = "PATH")]
    envoy: Option<PathBuf>,
    /// Tells Envoy the fields `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` for the responses of clients
    ///
    /// They are those of the limit that a request is over, or else of the one that has least left. `RateLimit-Shadow`
    /// names the limits in shadow mode that it exceeds.
    #[arg(long, requires = "envoy")]
    envoy_response_fields: bool,
    /// Repeats Envoy's questions in the dynamic metadata of the answers, for access logs
    #[arg(long, requires = "envoy")]
    envoy_question_in_metadata: bool,
    /// Lets Envoy give back hits (`is_negative_hits`)
    ///
    /// Any program that can connect can then give back what others have used.
    #[arg(long, requires = "envoy")]
    envoy_give_back: bool,
    #[command(flatten)]
    redis: RedisArgs,
    /// Answer /readyz with 503 while a server of limiters does not answer
    ///
    /// So that requests go to other machines, if those reach it. By default /readyz does not ask the servers.
    #[arg(long, requires = "policy")]
    ready_needs_redis: bool,
    /// Serve the playground beside --policy or --envoy, too
    ///
    /// Without these it is served in any case.
    #[arg(long)]
    playground: bool,
    /// Address or name, and port to listen on; port 0 is one that is free
    ///
    /// Any program that can connect can take permits. By default those are the programs of this machine.
    #[arg(long, short, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = values::address)]
    listen: SocketAddr,
    /// Name by which the service may be addressed in `Host`, such as limits.example or *.example.org; may be given several times
    ///
    /// `*.` stands for all names below the rest. Addresses, localhost and names without a point are known. Any other gets
    /// 421 over HTTP/1.1: it may be the name of a stranger whose page has been led here.
    #[arg(long = "allow-host", value_name = "NAME", value_parser = values::host)]
    allow_hosts: Vec<String>,
    /// File with the token of those who may use `reset` and `reload`, which are off without it
    ///
    /// At least 16 characters. Such requests have the field `Authorization: Bearer TOKEN`.
    #[arg(long, value_name = "FILE", requires = "policy")]
    admin_token_file: Option<PathBuf>,
    /// Number of proxies between a client and this service that add to `X-Forwarded-For`
    ///
    /// For /v1/auth: with 1, the client is the last address of that field.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    proxies: u8,
    /// Most connections at a time; others wait
    #[arg(long, value_name = "N", default_value_t = Bounds::default().connections, value_parser = values::connections)]
    max_connections: usize,
    /// Most checks that wait in line at a time; one more is answered 503
    #[arg(long, value_name = "N", default_value_t = Service::MAX_WAITING, value_parser = values::up_to_a_million)]
    max_waiting: usize,
    /// Most bytes of the bodies of all requests that are not answered yet; one more is answered 503
    ///
    /// From 2097152 to 2147483647. One request has at most 1048576. A piece of a body that has fewer than 256 bytes counts as 256.
    #[arg(long, value_name = "BYTES", default_value_t = Bounds::default().bodies, value_parser = values::body_bytes)]
    max_body_bytes: usize,
}

impl ServeArgs {
    /// Serves until a signal ends it.
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let runtime = runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::io("threads"))?;
        let read = |path| self.read(path, runtime.handle());
        let policy = self.policy.as_deref().map(read).transpose()?;
        let limiters = policy.as_ref().map(|policy| policy.service.limiters().clone());
        let envoy = self.envoy.as_ref().map(|path| self.envoy(path, limiters)).transpose()?;
        let is_alone = policy.is_none() && envoy.is_none();
        let playground = (self.playground || is_alone).then(|| playground(policy.as_ref()));
        let playground = playground.transpose().map_err(|error| Failure::Use(error.to_string()))?;
        if let Some(policy) = policy.as_ref().filter(|_| self.redis.is_given()) {
            tell_unshared(policy, envoy.is_some());
        }
        let parts = Parts { policy, envoy, playground };
        let served = runtime.block_on(serve(self.listen, &self.allow_hosts, self.bounds(), parts));
        // Without the files that are still being read, which may take for ever.
        runtime.shutdown_background();
        served.map(|()| ExitCode::SUCCESS)
    }

    fn read(&self, path: &Path, runtime: &Handle) -> Result<ServedPolicy, Failure> {
        let policies = self.read.read(path)?;
        let (file, _) = self.read.file(path)?;
        let watched = (!input::is_stdin(path)).then_some(file);
        let (registry, servers) = self.redis.registry(policies, runtime)?;
        servers.check(runtime)?;
        // For GET /metrics.
        let registry = registry.counted();
        let watch = watched.clone().map(|file| follow(&registry, file)).transpose()?;
        let service = self.service(Limiters::new(registry), watched)?;
        let name = path.display().to_string();
        Ok(ServedPolicy { service, name, servers, _watch: watch })
    }

    fn envoy(&self, path: &Path, limiters: Option<Limiters>) -> Result<EnvoyLimits, EnvoyError> {
        let mut envoy = EnvoyLimits::open(path, limiters)?;
        if self.envoy_response_fields {
            envoy = envoy.with_response_fields();
        }
        if self.envoy_question_in_metadata {
            envoy = envoy.with_question_in_metadata();
        }
        if self.envoy_give_back {
            envoy = envoy.with_giving_back();
        }
        Ok(envoy)
    }

    fn service(&self, limiters: Limiters, file: Option<PolicyFile>) -> Result<Service, Failure> {
        let trust = Trust::hops(self.proxies).map_err(|error| Failure::Use(error.to_string()))?;
        let clients = ClientAddress::x_forwarded_for(trust);
        let service = Service::new(limiters).clients(clients).max_waiting(self.max_waiting);
        let mut service = service.on_unknown_limiter(|name| {
            tell(&format_args!("/v1/auth is asked about the limiter {name:?}, which is not there"));
        });
        if let Some(file) = file {
            service = service.policy_file(file);
        }
        if self.ready_needs_redis {
            service = service.ready_needs_servers();
        }
        if let Some(file) = &self.admin_token_file {
            let text = fs::read_to_string(file).map_err(Failure::io(file.display()))?;
            let token = AdminToken::new(&text)
                .map_err(|error| Failure::Use(format!("{}: {error}", file.display())))?;
            service = service.admin(token);
        }
        Ok(service)
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            connections: self.max_connections,
            bodies: self.max_body_bytes,
            ..Bounds::default()
        }
    }
}

impl From<EnvoyError> for Failure {
    fn from(error: EnvoyError) -> Failure {
        match error {
            EnvoyError::Io { path, error } => {
                Failure::Io { what: path.display().to_string(), error }
            }
            error => Failure::Use(error.to_string()),
        }
    }
}

/// Tells what `--redis` does not share.
fn tell_unshared(policy: &ServedPolicy, has_envoy: bool) {
    let has_levels = !policy.service.limiters().registry().hierarchy().levels().is_empty();
    let kept = "stay in the memory of this process, not on the server of --redis";
    if has_levels {
        tell(&format_args!("the levels of {} {kept}", policy.name));
    }
    if has_envoy {
        tell(&format_args!("limits of --envoy that name no limiter of --policy {kept}"));
    }
}

/// Watches the file, and tells of its changes.
fn follow(registry: &Registry, file: PolicyFile) -> Result<Watch, Failure> {
    let path = file.path().to_owned();
    registry.on_event(|event| tell(event));
    if mounted::is_mounted_by_itself(&path) {
        tell(&format_args!(
            "{} is mounted by itself, so a file that is put in its place is not seen: mount its folder",
            path.display()
        ));
    }
    registry.watch(file).map_err(|error| Failure::Io {
        what: path.display().to_string(),
        error: std::io::Error::other(error),
    })
}

/// Returns a playground that offers the limiters of the policy, as they are when a page asks.
fn playground(policy: Option<&ServedPolicy>) -> Result<Playground, sluicegate::ConfigError> {
    let options = PlaygroundOptions::default();
    let Some(policy) = policy else { return Playground::new(options) };
    // Decisions come first.
    let options = PlaygroundOptions { work_time: Duration::from_millis(100), ..options };
    let (name, limiters) = (policy.name.clone(), policy.service.limiters().clone());
    Playground::with_offer(options, move || offer::offer(&name, &limiters))
}

/// The parts of a service. At least one of them is there.
struct Parts {
    policy: Option<ServedPolicy>,
    envoy: Option<EnvoyLimits>,
    playground: Option<Playground>,
}

/// A policy that is served, and watched unless it comes from standard input.
struct ServedPolicy {
    service: Service,
    name: String,
    servers: Servers,
    _watch: Option<Watch>,
}

impl Parts {
    /// Returns the counts of all parts.
    fn metrics(&self) -> Metrics {
        let policy = self.policy.as_ref().map(|policy| policy.service.metrics().clone());
        let metrics = policy.unwrap_or_default();
        if let Some(envoy) = &self.envoy {
            envoy.counted(&metrics);
        }
        if let Some(playground) = self.playground.clone() {
            let help = "Sessions of the playground that are open";
            let sessions = move || playground.sessions() as u64;
            metrics.gauge("sluicegate_playground_sessions", help, sessions);
        }
        metrics
    }

    fn greet(&self, address: SocketAddr) {
        if let Some(ServedPolicy { service, name, .. }) = &self.policy {
            let limiters = counted(service.limiters().load().all().len(), "limiter");
            let levels = counted(service.limiters().registry().hierarchy().levels().len(), "level");
            let served = match (limiters, levels) {
                (limiters, None) => limiters.unwrap_or_else(|| "no limiters".to_owned()),
                (None, Some(levels)) => levels,
                (Some(limiters), Some(levels)) => format!("{limiters} and {levels}"),
            };
            tell(&format_args!(
                "{served} of {name} at http://{address}; GET /openapi.json describes it"
            ));
        }
        if let Some(envoy) = &self.envoy {
            let (domains, path) = (domains(envoy), envoy.path().display());
            tell(&format_args!("{domains} of {path} for Envoy at http://{address}"));
        }
        if self.playground.is_some() {
            tell(&format_args!("playground: open http://{address}"));
        }
    }

    /// Reads the files again. The registry's observer tells the changes of the policy, or its mistakes.
    async fn reload(&self) {
        let reloaded = match &self.policy {
            Some(policy) => policy.service.reload().await.is_some(),
            None => self.envoy.is_some(),
        };
        // Its files may name limiters that the policy has only now.
        reload_envoy(self.envoy.as_ref()).await;
        if !reloaded {
            tell(&"SIGHUP: there is no file to read again, so everything stays as it is");
        }
    }
}

async fn serve(
    listen: SocketAddr,
    hosts: &[String],
    bounds: Bounds,
    parts: Parts,
) -> Result<(), Failure> {
    let server = Server::bind(listen, bounds).await.map_err(Failure::io(listen))?;
    let server = server.allow_hosts(hosts);
    let metrics = parts.metrics();
    let server = server.counted(&metrics);
    let address = server.address().map_err(Failure::io(listen))?;
    let (server, mut routes) = match &parts.policy {
        Some(policy) => (server.deciding(&policy.service), api::routes(policy.service.clone())),
        None => (server, api::without_policy(metrics)),
    };
    if let Some(envoy) = &parts.envoy {
        routes = envoy.add_to(routes).await;
    }
    if let Some(playground) = &parts.playground {
        routes = routes.merge(playground.routes());
    }
    let mut ends = [
        signal(SignalKind::terminate()).map_err(Failure::io("SIGTERM"))?,
        signal(SignalKind::interrupt()).map_err(Failure::io("SIGINT"))?,
    ];
    let mut again = signal(SignalKind::hangup()).map_err(Failure::io("SIGHUP"))?;
    parts.greet(address);
    let servers = parts.policy.as_ref().map(|policy| policy.servers.clone());
    let end = async move {
        let [terminate, interrupt] = &mut ends;
        let reloads = async {
            while again.recv().await.is_some() {
                parts.reload().await;
            }
        };
        // Also while files are read.
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = reloads => {}
        }
        tell(&"ending: no more connections; requests under way are answered");
        // Its events would go on as long as a page is open.
        if let Some(playground) = &parts.playground {
            playground.close();
        }
    };
    server.run(routes, end).await;
    // After the last decision.
    if let Some(servers) = servers {
        servers.shutdown().await;
    }
    Ok(())
}

fn domains(envoy: &EnvoyLimits) -> String {
    counted(envoy.domains(), "domain").unwrap_or_else(|| "0 domains".to_owned())
}

/// Returns a number with its noun; `None` for 0.
fn counted(number: usize, noun: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(format!("1 {noun}")),
        number => Some(format!("{number} {noun}s")),
    }
}

/// Reads the files of Envoy again, if there are any.
async fn reload_envoy(envoy: Option<&EnvoyLimits>) {
    let Some(envoy) = envoy.cloned() else { return };
    // It reads files.
    let reloaded = tokio::task::spawn_blocking(move || match envoy.reload() {
        Ok(()) => {
            tell(&format_args!("{} of {} for Envoy", domains(&envoy), envoy.path().display()));
        }
        Err(error) => {
            tell(&format_args!("error: {error}\nthe limits for Envoy stay as they were"));
        }
    });
    let _ = reloaded.await;
}
