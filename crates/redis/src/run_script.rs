//! The clients that the limiters run their scripts by.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "async")]
mod link;
#[cfg(feature = "pool")]
mod pool;
#[cfg(feature = "sentinel")]
mod sentinels;
#[cfg(feature = "async")]
mod tokio;

#[cfg(feature = "cluster")]
pub use self::cluster::Cluster;
#[cfg(feature = "pool")]
pub use self::pool::{Connections, Pool, PooledConnection};
#[cfg(feature = "sentinel")]
pub use self::sentinels::Sentinels;
#[cfg(feature = "async")]
pub use self::tokio::Async;

use crate::error::StoreError;
use crate::script::Script;

/// One run of a script.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The script.
    pub script: &'static Script,
    /// The keys that it reads and writes: all of one hash tag.
    pub keys: &'a [&'a str],
    /// The other arguments, some of which are no text.
    pub arguments: &'a [&'a [u8]],
}

/// Runs scripts on a server, for callers in tasks.
///
/// Implemented by [`Async`] for the connections of the crate `redis`. Another client does as that does:
/// sends `EVALSHA`, and `EVAL` if the server answers `NOSCRIPT`. It never repeats a request that may have
/// been run, since that would take the permits twice; and it connects again when its connection is silent, or leads to a
/// server that refuses all requests.
pub trait RunScript: Send + Sync {
    /// Runs a script, and returns its answer: integers.
    ///
    /// # Errors
    ///
    /// [`StoreError`], which tells whether the script may have run.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the script may have been run, or may yet.
    fn run(&self, run: Run<'_>) -> impl Future<Output = Result<Vec<i64>, StoreError>> + Send;
}

/// Runs scripts on a server, for callers on threads.
pub trait RunScriptBlocking: Send + Sync {
    /// Runs a script, and returns its answer: integers. Blocks until then, or until a time-out of the client.
    ///
    /// # Errors
    ///
    /// [`StoreError`], which tells whether the script may have run.
    fn run_blocking(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError>;
}

impl<R: RunScript> RunScript for std::sync::Arc<R> {
    fn run(&self, run: Run<'_>) -> impl Future<Output = Result<Vec<i64>, StoreError>> + Send {
        (**self).run(run)
    }
}

impl<R: RunScriptBlocking + ?Sized> RunScriptBlocking for std::sync::Arc<R> {
    fn run_blocking(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        (**self).run_blocking(run)
    }
}

#[cfg(feature = "async")]
impl Run<'_> {
    /// Returns whether the server grants no more in all if the script is run twice: a give-back without a marker would return its
    /// permits twice.
    pub(crate) fn may_come_twice(&self) -> bool {
        self.arguments.get(1) != Some(&&b"give_back"[..]) || self.keys.len() > 1
    }
}

#[cfg(any(feature = "async", feature = "pool"))]
impl Run<'_> {
    /// Returns the command that runs the script if the server knows it.
    fn by_digest(&self) -> redis::Cmd {
        self.command("EVALSHA", self.script.sha1())
    }

    /// Returns the command that runs the script, and makes it known to the server.
    fn by_source(&self) -> redis::Cmd {
        self.command("EVAL", self.script.source())
    }

    fn command(&self, name: &str, script: &str) -> redis::Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len()).arg(self.keys).arg(self.arguments);
        command
    }
}

/// Returns whether the server does not know a script.
#[cfg(any(feature = "async", feature = "pool"))]
fn is_unknown(error: &redis::RedisError) -> bool {
    error.code() == Some("NOSCRIPT")
}

#[cfg(any(feature = "async", feature = "pool"))]
impl From<redis::RedisError> for StoreError {
    fn from(error: redis::RedisError) -> StoreError {
        if let Some(code) = error.code() {
            let message = error.detail().unwrap_or_default();
            let (code, message) = of_script(message).unwrap_or((code, message));
            // How a request of more than ten words is refused without a password.
            let is_unknown_user = code == "ERR" && message.contains("unauthenticated");
            let code = if is_unknown_user { "NOAUTH" } else { code };
            return StoreError::Server { code: code.to_owned(), message: message.to_owned() };
        }
        let is_unknown_node = error.kind() == redis::ErrorKind::ClusterConnectionNotFound;
        if error.is_timeout() {
            StoreError::TimedOut
        } else if error.is_connection_refusal() || is_unknown_node {
            StoreError::Unreachable(Box::new(error))
        } else {
            StoreError::Disconnected(Box::new(error))
        }
    }
}

/// Returns the code and the message of an error of a command that a script has called. Redis before version 7 wraps them in
/// an error of the script: `Error running script (call to f_..): @user_script:141: @user_script: 141: -READONLY You ..`.
#[cfg(any(feature = "async", feature = "pool"))]
fn of_script(message: &str) -> Option<(&str, &str)> {
    let (_, place) = message.split_once("@user_script:")?;
    let (_, error) = place.split_once(": -")?;
    let (code, message) = error.split_once(' ')?;
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase());
    is_code.then_some((code, message))
}

#[cfg(all(test, any(feature = "async", feature = "pool")))]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_script_of_an_old_server_keeps_its_code() {
        let wrapped = "Error running script (call to f_b09a): @user_script:141: @user_script: 141: -READONLY You can't \
                       write against a read only replica.";
        let found = of_script(wrapped);
        assert_eq!(found, Some(("READONLY", "You can't write against a read only replica.")));
        for own in [
            "a key app:tb:{...} holds no state",
            "@user_script:1: -no code",
            "@user_script: 1: -Lower case",
        ] {
            assert_eq!(of_script(own), None, "{own}");
        }
    }
}
