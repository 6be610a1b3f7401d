//! A server of limiters that grants to those who look, and never answers those who take.

use std::future::pending;
use std::sync::Arc;

use sluicegate::Limiter;
use sluicegate::compose::Unlimited;
use sluicegate_policy::{
    ConnectError, Connector, LeaseStatistics, LimiterPolicy, Policies, Registry, RemoteAnswer,
    RemoteFuture, RemoteLimits, RemoteVerb, ServerStatistics,
};
use tokio::sync::Notify;

/// Fields of a policy whose limiter is there.
pub(crate) const STORE: &str = r#"store = { redis = "redis://silent/" }"#;

/// The server; it notes when it was asked to take.
#[derive(Clone, Default)]
pub(crate) struct SilentServer(Arc<Notify>);

impl SilentServer {
    pub(crate) fn registry(&self, policies: &str) -> Registry {
        let policies = Policies::from_toml("policy.toml", policies).unwrap();
        Registry::connected(policies, Arc::new(self.clone())).unwrap()
    }

    /// Polls `call` until it has asked this server, and then drops it.
    pub(crate) async fn cancel_when_asked(
        &self,
        call: impl Future,
        while_asked: impl AsyncFnOnce(),
    ) {
        let mut call = Box::pin(call);
        tokio::select! {
            _ = &mut call => panic!("nobody has answered it"),
            () = self.0.notified() => {}
        }
        while_asked().await;
    }
}

impl Connector for SilentServer {
    fn connect(
        &self,
        policy: &LimiterPolicy,
    ) -> Result<Option<Arc<dyn RemoteLimits>>, ConnectError> {
        Ok(policy.redis.as_ref().map(|_| Arc::new(self.clone()) as Arc<dyn RemoteLimits>))
    }

    fn servers(&self) -> Vec<ServerStatistics> {
        Vec::new()
    }

    fn probe(&self) -> RemoteFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

impl RemoteLimits for SilentServer {
    fn decide<'a>(
        &'a self,
        verb: RemoteVerb,
        _: &'a str,
        permits: u64,
    ) -> RemoteFuture<'a, RemoteAnswer> {
        Box::pin(async move {
            if verb == RemoteVerb::Take {
                self.0.notify_one();
                pending::<()>().await;
            }
            let answer = Unlimited.peek(permits);
            Ok(RemoteAnswer { answer, source: None, is_fallback: false })
        })
    }

    fn reset<'a>(&'a self, _: &'a str) -> RemoteFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn places(&self) -> Vec<String> {
        vec!["silent".to_owned()]
    }

    fn leases(&self) -> Option<LeaseStatistics> {
        None
    }

    fn held(&self, _: &str) -> Option<u64> {
        None
    }

    fn name_of(&self, key: &str) -> String {
        key.to_owned()
    }
}
