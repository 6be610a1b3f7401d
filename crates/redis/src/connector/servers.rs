//! The clients of the servers that URLs name.

use std::collections::HashMap;
use std::time::Duration;

use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError,
    RedisResult, TlsMode,
};
use sluicegate_policy::{ConnectError, PasswordFrom, RedisStore};

use super::needs::Needs;
use crate::error::StoreError;
use crate::run_script::{Run, RunScript};
use crate::{Async, Cluster, Guarded, Sentinels};

/// The least time that a connection has to be made, which no decision waits for longer than for an answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// The port of a sentinel whose URL has none.
const SENTINEL_PORT: u16 = 26_379;

pub(super) type Server = Guarded<ServerClient>;

/// The servers of a connector. Policies that name the same one in the same way share its client.
pub(super) type Servers = HashMap<Connected, Known>;

/// A server, and what its limiters need of it.
#[derive(Clone)]
pub(super) struct Known {
    /// The URL without a user and a password.
    pub(super) name: String,
    pub(super) scheme: Scheme,
    pub(super) server: Server,
    pub(super) needs: Needs,
}

/// The kind of server that a URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    One,
    Cluster,
    Sentinels,
}

impl Scheme {
    fn of(word: &str) -> Scheme {
        match word {
            "redis+cluster" | "rediss+cluster" => Scheme::Cluster,
            "redis+sentinel" | "rediss+sentinel" => Scheme::Sentinels,
            _ => Scheme::One,
        }
    }
}

/// The part of a store that its client depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Connected {
    url: String,
    password: Option<PasswordFrom>,
    time_limit: Duration,
    failures: u32,
    pause: Duration,
}

impl Connected {
    pub(super) fn of(store: &RedisStore) -> Connected {
        Connected {
            url: store.url.clone(),
            password: store.password.clone(),
            time_limit: store.time_limit,
            failures: store.failures,
            pause: store.pause,
        }
    }
}

/// A client of one server, of a cluster, or of the primary that sentinels name.
#[derive(Clone, Debug)]
pub(super) enum ServerClient {
    One(Async),
    Cluster(Cluster),
    Sentinels(Sentinels),
}

impl RunScript for ServerClient {
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        match self {
            ServerClient::One(client) => client.run(run).await,
            ServerClient::Cluster(client) => client.run(run).await,
            ServerClient::Sentinels(client) => client.run(run).await,
        }
    }
}

/// Creates the client of a store. Sends nothing.
///
/// # Errors
///
/// [`ConnectError`] if the URL or the password is none.
pub(super) fn open(store: &RedisStore) -> Result<Known, ConnectError> {
    let not_a_url = || {
        // The client's own error may show the URL, with its password.
        ConnectError(format!(
            "`store.redis` is not the URL of a server that this client can connect to: {}",
            store.shown_url()
        ))
    };
    let (word, rest) = store.url.split_once("://").ok_or_else(not_a_url)?;
    let password = store.password.clone();
    let address = Address { scheme: word.to_owned(), rest: rest.to_owned(), password };
    if word.starts_with("rediss") {
        prepare_tls()?;
    }
    // Also to tell a password that cannot be read before it is needed.
    if let Some(from) = &store.password {
        read_password(from)
            .map_err(|error| ConnectError(format!("the password cannot be read: {error}")))?;
    }
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(store.time_limit.max(CONNECT_LIMIT)))
        .set_response_timeout(Some(store.time_limit));
    let scheme = Scheme::of(word);
    let client = match scheme {
        Scheme::Cluster => {
            address.cluster().map_err(|_| not_a_url())?;
            let time_limit = store.time_limit;
            let make = move || {
                let builder = address.cluster()?;
                builder
                    .connection_timeout(time_limit.max(CONNECT_LIMIT))
                    .response_timeout(time_limit)
                    .retries(0)
                    .build()
            };
            ServerClient::Cluster(Cluster::by(make))
        }
        Scheme::Sentinels => {
            address.sentinels().map_err(|_| not_a_url())?;
            let make = move || address.sentinels();
            ServerClient::Sentinels(Sentinels::by(make, config))
        }
        Scheme::One => {
            address.one().map_err(|_| not_a_url())?;
            ServerClient::One(Async::by(move || address.one(), config))
        }
    };
    let server = Guarded::new(client)
        .with_time_limit(store.time_limit)
        .with_failures(store.failures)
        .with_pause(store.pause);
    Ok(Known { name: store.shown_url(), scheme, server, needs: Needs::default() })
}

/// A URL in parts, and the source of the password.
#[derive(Clone)]
struct Address {
    scheme: String,
    rest: String,
    password: Option<PasswordFrom>,
}

impl Address {
    /// Returns the scheme of a single server.
    fn base(&self) -> &str {
        self.scheme.split('+').next().unwrap_or_default()
    }

    fn password(&self) -> RedisResult<Option<String>> {
        let what = "the password cannot be read";
        let failed = |why| RedisError::from((ErrorKind::InvalidClientConfig, what, why));
        self.password.as_ref().map(|from| read_password(from).map_err(failed)).transpose()
    }

    fn one(&self) -> RedisResult<Client> {
        let info = info(&format!("{}://{}", self.scheme, self.rest))?;
        let Some(password) = self.password()? else { return Client::open(info) };
        let settings = info.redis_settings().clone().set_password(password);
        Client::open(info.set_redis_settings(settings))
    }

    /// Returns the user and the password with their `@`, the places, and what comes behind the slash.
    fn parts(&self) -> (&str, impl Iterator<Item = &str>, &str) {
        let (places, path) = self.rest.split_once('/').unwrap_or((&self.rest, ""));
        let begin = places.rfind('@').map_or(0, |at| at + 1);
        let (user, places) = places.split_at(begin);
        (user, places.split(','), path)
    }

    fn cluster(&self) -> RedisResult<ClusterClientBuilder> {
        let (user, places, _) = self.parts();
        let nodes: Vec<_> = places
            .map(|place| info(&format!("{}://{user}{place}/", self.base())))
            .collect::<RedisResult<_>>()?;
        let builder = ClusterClient::builder(nodes);
        Ok(match self.password()? {
            Some(password) => builder.password(password),
            None => builder,
        })
    }

    fn sentinels(&self) -> RedisResult<SentinelClient> {
        let (user, places, path) = self.parts();
        let (name, db) = path.split_once('/').unwrap_or((path, "0"));
        let invalid = |what| RedisError::from((ErrorKind::InvalidClientConfig, what));
        if name.is_empty() {
            return Err(invalid("the name of the primary is missing behind the sentinels"));
        }
        let db = db.parse().map_err(|_| invalid("the number of the database is none"))?;
        let sentinels: Vec<ConnectionAddr> = places.map(sentinel).collect::<RedisResult<_>>()?;
        let mut builder = SentinelClientBuilder::new(sentinels, name, SentinelServerType::Master)?
            .set_client_to_redis_db(db);
        let user = info(&format!("redis://{user}localhost/"))?;
        if let Some(name) = user.redis_settings().username() {
            builder = builder.set_client_to_redis_username(name);
        }
        let of_url = user.redis_settings().password().map(str::to_owned);
        if let Some(password) = self.password()?.or(of_url) {
            builder = builder.set_client_to_redis_password(password);
        }
        if self.base() == "rediss" {
            builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
        }
        builder.build()
    }
}

/// Returns the address of a sentinel.
pub(super) fn sentinel(place: &str) -> RedisResult<ConnectionAddr> {
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if has_port { String::new() } else { format!(":{SENTINEL_PORT}") };
    Ok(info(&format!("redis://{place}{port}/"))?.addr().clone())
}

fn info(url: &str) -> RedisResult<ConnectionInfo> {
    redis::IntoConnectionInfo::into_connection_info(url)
}

/// Reads a password, without the line's end behind it. The error names the place.
fn read_password(from: &PasswordFrom) -> Result<String, String> {
    let text = match from {
        PasswordFrom::File(path) => {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        }
        PasswordFrom::Env(name) => std::env::var(name).map_err(|error| format!("{name}: {error}")),
    }?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Chooses the cryptography of connections by TLS, if the program has chosen none: the client panics without any.
#[cfg(feature = "tls")]
#[expect(clippy::unnecessary_wraps, reason = "the other one fails")]
fn prepare_tls() -> Result<(), ConnectError> {
    // It fails if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(())
}

#[cfg(not(feature = "tls"))]
fn prepare_tls() -> Result<(), ConnectError> {
    Err(ConnectError(
        "`store.redis` begins with rediss://, but this program was built without TLS: it needs the feature `tls` of \
         sluicegate-redis, and the command its feature `redis-tls` (cargo install --path crates/cli --features \
         redis-tls)"
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_one_server_a_cluster_or_sentinels() {
        let address = |url: &'static str| {
            let (scheme, rest) = url.split_once("://").unwrap();
            Address { scheme: scheme.to_owned(), rest: rest.to_owned(), password: None }
        };
        let one = address("redis://ada:s3cret@db:6380/2").one().unwrap();
        let settings = one.get_connection_info().redis_settings();
        assert_eq!(
            (settings.username(), settings.password(), settings.db()),
            (Some("ada"), Some("s3cret"), 2)
        );

        let cluster = address("redis+cluster://:s3cret@a:7000,b,[::1]:7002");
        let (user, places, path) = cluster.parts();
        assert_eq!((user, path), (":s3cret@", ""));
        assert_eq!(places.collect::<Vec<_>>(), ["a:7000", "b", "[::1]:7002"]);
        cluster.cluster().unwrap().build().unwrap();

        assert_eq!(sentinel("s1").unwrap().to_string(), "s1:26379");
        assert_eq!(sentinel("s1:5000").unwrap().to_string(), "s1:5000");
        address("redis+sentinel://s1,s2:26380/app/1").sentinels().unwrap();
        for url in ["redis+sentinel://s1", "redis+sentinel://s1/app/x", "redis+cluster://a:b:c"] {
            let store = RedisStore::new(url);
            let error = open(&store).map(drop).unwrap_err().to_string();
            assert!(error.contains("is not the URL of a server"), "{url}: {error}");
        }
    }
}
