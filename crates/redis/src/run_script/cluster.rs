//! Scripts run on a cluster.

use std::time::Duration;

use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::SingleNodeRoutingInfo;
use redis::{Cmd, Pipeline, RedisError};

use super::{Run, RunScript, is_unknown};
use crate::error::StoreError;

/// Most times that a request is sent to another node, or later, because a node said that it has not run it.
const MAX_REDIRECTS: u32 = 8;

/// The pause before a request is sent again that a node cannot run while keys are on their way to another node.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs scripts on a cluster.
///
/// Each key is on one node, which its hash tag chooses; so is a script. A request follows a key that has moved to
/// another node, or is moving: the node that it came to first says that it has not run it. It is not sent again after
/// any other failure, as a connection of the crate `redis` does 16 times if nothing else is said: that could take the
/// permits twice.
#[derive(Clone)]
pub struct Cluster {
    connection: ClusterConnection,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects to a cluster by the nodes and settings of `builder`, except its number of retries, which is set to 0.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if none of the nodes answers.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), sluicegate_redis::StoreError> {
    /// use redis::cluster::ClusterClient;
    /// use sluicegate_redis::Cluster;
    ///
    /// let nodes = ["redis://10.0.0.1/", "redis://10.0.0.2/"];
    /// let cluster = Cluster::connect(ClusterClient::builder(nodes)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(builder: ClusterClientBuilder) -> Result<Cluster, StoreError> {
        let connection = builder.retries(0).build()?.get_async_connection().await?;
        Ok(Cluster { connection })
    }

    async fn send(&self, command: &Cmd) -> Result<Vec<i64>, RedisError> {
        let mut connection = self.connection.clone();
        let mut answer = command.query_async(&mut connection).await;
        for _ in 0..MAX_REDIRECTS {
            let Err(error) = &answer else { break };
            // None of these has run anything.
            answer = match (error.code(), error.redirect_node()) {
                // The connection has asked for the places of all slots by then.
                (Some("MOVED"), _) => command.query_async(&mut connection).await,
                (Some("ASK"), Some((node, _))) => {
                    let Some(route) = address(node) else { break };
                    ask(&mut connection, command, route).await
                }
                (Some("TRYAGAIN"), _) => {
                    tokio::time::sleep(PAUSE).await;
                    command.query_async(&mut connection).await
                }
                _ => break,
            };
        }
        answer
    }
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
        match self.send(&run.by_digest()).await {
            Err(error) if is_unknown(&error) => Ok(self.send(&run.by_source()).await?),
            answer => Ok(answer?),
        }
    }
}
