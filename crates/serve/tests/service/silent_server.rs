//! A server of limiters that grants, but does not answer everybody at once.

use std::future::pending;
use std::sync::Arc;

use sluicegate::Limiter;
use sluicegate::compose::Unlimited;
use sluicegate_policy::{
    ConnectError, Connector, LeaseStatistics, LimiterPolicy, Policies, Registry, RemoteAnswer,
    RemoteFuture, RemoteLimits, RemoteVerb, ServerStatistics,
};
use tokio::sync::{Barrier, Notify};

/// Fields of a policy whose limiter is there.
pub(crate) const STORE: &str = r#"store = { redis = "redis://silent/" }"#;

/// Two limiters there.
pub(crate) const TWO: &str = r#"
[limiters.one]
policy = "fixed_window"
key = "all"
limit = 5
interval = "1 day"
store = { redis = "redis://silent/" }

[limiters.other]
policy = "fixed_window"
key = "all"
limit = 5
interval = "1 day"
store = { redis = "redis://silent/" }
"#;

/// By default it answers those who look, and never those who take; it notes when one has asked to.
#[derive(Clone, Default)]
pub(crate) struct SilentServer {
    was_asked_to_take: Arc<Notify>,
    pairs: Option<(RemoteVerb, Arc<Barrier>)>,
}

impl SilentServer {
    /// A server that is silent to `verb` until two ask, and answers all else.
    pub(crate) fn in_pairs(verb: RemoteVerb) -> SilentServer {
        SilentServer { pairs: Some((verb, Arc::new(Barrier::new(2)))), ..SilentServer::default() }
    }

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
            () = self.was_asked_to_take.notified() => {}
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
            match &self.pairs {
                Some((silent, pair)) if *silent == verb => _ = pair.wait().await,
                None if verb == RemoteVerb::Take => {
                    self.was_asked_to_take.notify_one();
                    pending::<()>().await;
                }
                _ => {}
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
