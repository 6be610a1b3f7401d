//! Scripts run on a cluster.

use std::time::Duration;

use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::SingleNodeRoutingInfo;
use redis::{Cmd, Pipeline, RedisError, RedisResult};

use super::link::{Connect, Link, Make};
use super::{Run, RunScript, is_unknown};
use crate::error::StoreError;

/// Most times that a request is sent to another node, or later, because a node said that it has not run it.
const MAX_REDIRECTS: u32 = 8;

/// The pause before a request is sent again that a node cannot run while keys are on their way to another node.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs scripts on a cluster, by connections that all callers share. A clone shares them too.
///
/// Each key is on one node, which its hash tag chooses; so is a script. A request follows a key that has moved to
/// another node, or is moving: the node that it came to first says that it has not run it. It is not sent again after
/// any other failure, as a connection of the crate `redis` does 16 times if nothing else is said: that could take the
/// permits twice.
///
/// The connections are made at the first request, and replaced as one of [`Async`](crate::Async) is: when a node has ended
/// its own, is silent, or answers by an error that all requests have to expect. Requests to the other nodes go on by
/// the old ones meanwhile; those to a node that has ended its own wait for the new ones, if these are made at once.
///
/// # Cancel safety
///
/// The same as for [`Async`](crate::Async).
///
/// # Examples
///
/// ```no_run
/// # fn connect() -> Result<(), sluicegate_redis::StoreError> {
/// use redis::cluster::ClusterClient;
/// use sluicegate_redis::Cluster;
///
/// let nodes = ["redis://10.0.0.1/", "redis://10.0.0.2/"];
/// let cluster = Cluster::new(ClusterClient::builder(nodes))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    link: Link<Nodes>,
}

struct Nodes(Make<ClusterClient>);

impl Connect for Nodes {
    type Connection = ClusterConnection;
    const PARTS: usize = 1 << (14 - PART_BITS);

    async fn connect(&self) -> RedisResult<ClusterConnection> {
        (self.0)()?.get_async_connection().await
    }
}

/// Slots, of which 2 to the power of this many that follow each other count as one part of the cluster: nearly always they are on the
/// same node.
const PART_BITS: u16 = 6;

/// Returns the part of the cluster that has the keys of a script.
fn part(run: &Run<'_>) -> usize {
    let key = run.keys.first().map_or("", |key| key);
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    let hashed = tag.map_or(key, |(tag, _)| if tag.is_empty() { key } else { tag });
    usize::from(
        (crc16::State::<crc16::XMODEM>::calculate(hashed.as_bytes()) % (1 << 14)) >> PART_BITS,
    )
}

impl Cluster {
    /// Creates a runner by the nodes and settings of `builder`, except its number of retries, which is set to 0. Sends
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the nodes and settings are none that the crate `redis` takes.
    pub fn new(builder: ClusterClientBuilder) -> Result<Cluster, StoreError> {
        let client = builder.retries(0).build()?;
        Ok(Cluster::by(move || Ok(client.clone())))
    }

    /// Creates a runner by the clients that `make` returns, one for each attempt to connect: for a password that changes. They must
    /// have 0 retries.
    pub(crate) fn by(
        make: impl Fn() -> RedisResult<ClusterClient> + Send + Sync + 'static,
    ) -> Cluster {
        Cluster { link: Link::new(Nodes(Box::new(make))) }
    }
}

/// Sends `command` to the node that has its keys.
async fn send(connection: &mut ClusterConnection, command: &Cmd) -> RedisResult<Vec<i64>> {
    let mut answer = command.query_async(connection).await;
    for _ in 0..MAX_REDIRECTS {
        let Err(error) = &answer else { break };
        // None of these has run anything.
        answer = match (error.code(), error.redirect_node()) {
            // The connection has asked for the places of all slots by then.
            (Some("MOVED"), _) => command.query_async(connection).await,
            (Some("ASK"), Some((node, _))) => {
                let Some(route) = address(node) else { break };
                ask(connection, command, route).await
            }
            (Some("TRYAGAIN"), _) => {
                tokio::time::sleep(PAUSE).await;
                command.query_async(connection).await
            }
            _ => break,
        };
    }
    answer
}

/// Sends `command` to the node to which a slot is on its way.
async fn ask(
    connection: &mut ClusterConnection,
    command: &Cmd,
    route: SingleNodeRoutingInfo,
) -> Result<Vec<i64>, RedisError> {
    let mut pipeline = Pipeline::with_capacity(2);
    pipeline.cmd("ASKING").ignore().add_command(command.clone());
    let answers = connection.route_pipeline(pipeline, 1, 1, route).await?;
    // An error of the command is an answer of the pipeline.
    let answer = answers.into_iter().next().unwrap_or(redis::Value::Nil).extract_error()?;
    Ok(redis::from_redis_value(answer)?)
}

fn address(node: &str) -> Option<SingleNodeRoutingInfo> {
    let (host, port) = node.rsplit_once(':')?;
    Some(SingleNodeRoutingInfo::ByAddress { host: host.into(), port: port.parse().ok()? })
}

impl RunScript for Cluster {
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let sent = self.link.begin(part(&run)).await?;
        let mut connection = sent.connection();
        let answer = match send(&mut connection, &run.by_digest()).await {
            Err(error) if is_unknown(&error) => send(&mut connection, &run.by_source()).await,
            answer => answer,
        };
        sent.end(answer)
    }
}
