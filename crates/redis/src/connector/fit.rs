//! Checks whether a server is one for the limiters that are to be on it.

use std::collections::{BTreeSet, HashMap};

use redis::{Client, RedisResult};
use sluicegate_policy::ConnectError;

use super::servers::{Known, Scheme, sentinel};
use crate::error::StoreError;
use crate::guarded::Causes;
use crate::run_script::{Run, RunScript};
use crate::script::CHECK;

impl Known {
    /// Asks a server, whether or not it is left alone. Changes nothing there.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if it gives no answer; [`ConnectError`], which begins with a verb, if it will never serve.
    pub(super) async fn check(&self) -> Result<Result<(), ConnectError>, StoreError> {
        let Known { name: url, scheme, .. } = self;
        for (prefix, names) in &self.needs.names {
            let missing = match self.ask(names).await {
                Ok(denied) => self.missing(&denied),
                Err(error) => {
                    let why = match unfit(&error, *scheme, url, prefix) {
                        None if *scheme == Scheme::Sentinels => unknown_name(&error, url).await,
                        why => why,
                    };
                    return why.map_or(Err(error), |why| Ok(Err(ConnectError(why))));
                }
            };
            if !missing.is_empty() {
                let rights: Vec<_> =
                    missing.iter().map(|command| format!("+{}", command.to_lowercase())).collect();
                return Ok(Err(ConnectError(format!(
                    "does not let its user run all commands of the limiters; missing are: {}",
                    rights.join(" ")
                ))));
            }
        }
        Ok(Ok(()))
    }

    fn missing(&self, denied: &[i64]) -> Vec<&'static str> {
        let commands = self.needs.commands.iter().zip(denied);
        commands.filter(|(_, denied)| **denied != 0).map(|(command, _)| *command).collect()
    }

    async fn ask(&self, names: &[String; 2]) -> Result<Vec<i64>, StoreError> {
        let mut arguments = Vec::new();
        for command in &self.needs.commands {
            let words = trial(command);
            arguments.push((words.len() + 1).to_string());
            arguments.push((*command).to_owned());
            arguments.extend(words.iter().map(|&word| word.to_owned()));
        }
        let arguments: Vec<_> = arguments.iter().map(String::as_bytes).collect();
        // A node of a cluster refuses keys of two slots, which one server takes.
        let names = names.each_ref().map(String::as_str);
        let keys = if self.scheme == Scheme::Cluster { &names[..1] } else { &names[..] };
        let run = Run { script: &CHECK, keys, arguments: &arguments };
        // Its own time-outs are those of a connection and of an answer.
        self.server.runner().run(run).await
    }
}

/// Returns arguments of a command by which it changes nothing of a key that is not there. `KEY` stands for the key.
fn trial(command: &str) -> &'static [&'static str] {
    match command {
        "SET" => &["KEY", "", "XX"],
        "PEXPIREAT" => &["KEY", "1"],
        "HMGET" | "HDEL" | "ZREM" | "ZREVRANK" | "ZSCORE" => &["KEY", "none"],
        // A value is missing.
        "HSET" => &["KEY", "none", "0", "none"],
        "ZADD" => &["KEY", "XX", "0", "none"],
        "ZCOUNT" | "ZRANGE" | "ZRANGEBYSCORE" | "ZREMRANGEBYRANK" | "ZREMRANGEBYSCORE" => {
            &["KEY", "0", "0"]
        }
        "TIME" => &[],
        _ => &["KEY"],
    }
}

/// Returns why a server that answers by `error` will never serve, or `None` if it may.
fn unfit(error: &StoreError, scheme: Scheme, url: &str, prefix: &str) -> Option<String> {
    let (_, place) = url.split_once("://").unwrap_or_default();
    let place = place.split('/').next().unwrap_or_default();
    let text = Causes(error).to_string();
    let is_one_server = scheme == Scheme::One;
    let code = match error {
        StoreError::Server { code, .. } => code.as_str(),
        _ => "",
    };
    let has = |part: &str| text.contains(part);
    if is_one_server && matches!(code, "CROSSSLOT" | "MOVED" | "ASK" | "CLUSTERDOWN") {
        return Some(format!("is a node of a cluster: give it as redis+cluster://{place}"));
    }
    if is_one_server && has("not allowed in cluster mode") {
        return Some(format!(
            "is a node of a cluster, which has no databases: give it as redis+cluster://{place}"
        ));
    }
    if scheme == Scheme::Sentinels && has("not point to a sentinel") {
        let server = place.split(',').next().unwrap_or_default();
        return Some(format!("is not a sentinel: give an ordinary server as redis://{server}/"));
    }
    // Of the client, which finds another first byte than any answer has.
    if has("Parse error at") {
        return Some(
            "does not answer in the protocol of Redis: give the port of a Redis or Valkey server, of one by TLS as \
             rediss://HOST:PORT/"
                .to_owned(),
        );
    }
    if is_one_server && has("unknown command") {
        return Some(format!(
            "runs no scripts; if it is a sentinel, give it as redis+sentinel://{place}/NAME, with the name of the \
             primary"
        ));
    }
    if scheme == Scheme::Cluster && has("cluster support disabled") {
        return Some(format!("is not a cluster: give it as redis://{place}/"));
    }
    let is_auth = has("authentication failed") || has("Authentication required");
    if matches!(code, "NOAUTH" | "WRONGPASS") || is_auth {
        return Some(format!(
            "does not take the user and the password: {text}; give a password by --redis-password-file, or `password_file` of the store"
        ));
    }
    if has("DB index") || has("'select' command") {
        return Some(format!(
            "does not let its user choose the database at the end of the URL: {text}; give a number below `databases` in \
             the server's configuration, and the user the right +select"
        ));
    }
    (code == "NOPERM").then(|| {
        format!(
            "does not let its user run scripts on the keys {prefix}*, which needs +eval +evalsha ~{prefix}*: {text}"
        )
    })
}

/// Returns why the sentinels of `url` will never name its primary, or `None` if they may: the client's error is the same while a
/// primary that they know is down.
async fn unknown_name(error: &StoreError, url: &str) -> Option<String> {
    if !Causes(error).to_string().contains("Master with given name not found") {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    let (places, path) = rest.split_once('/')?;
    let name = path.split('/').next()?;
    let mut known: Option<BTreeSet<String>> = None;
    for place in places.split(',') {
        // One that is away leaves it to the others.
        if let Ok(names) = names_of(place).await {
            known.get_or_insert_default().extend(names);
        }
    }
    let known = known.filter(|known| !known.contains(name))?;
    if known.is_empty() {
        return Some(format!(
            "names the primary {name}, but its sentinels watch none: their configuration needs `sentinel monitor {name} \
             HOST PORT QUORUM`"
        ));
    }
    let known: Vec<_> = known.into_iter().collect();
    Some(format!(
        "names the primary {name}, which none of its sentinels knows; they know: {}; give one of these as \
         {scheme}://{places}/NAME",
        known.join(", ")
    ))
}

/// Asks a sentinel for the names of the primaries that it watches, also those that are down.
async fn names_of(place: &str) -> RedisResult<Vec<String>> {
    let client = Client::open(sentinel(place)?)?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let mut command = redis::cmd("SENTINEL");
    let primaries = command.arg("MASTERS").query_async(&mut connection).await?;
    let primaries: Vec<HashMap<String, String>> = primaries;
    Ok(primaries.into_iter().filter_map(|mut primary| primary.remove("name")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_another_kind_of_server_is_told_with_the_right_one() {
        let of = |code: &str, message: &str| StoreError::Server {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        let why = |error, scheme| unfit(&error, scheme, "redis://h:1/2", "app:");
        let cluster = Some("is a node of a cluster: give it as redis+cluster://h:1".to_owned());
        for code in ["CROSSSLOT", "MOVED"] {
            assert_eq!(why(of(code, "1 h:2"), Scheme::One), cluster);
            assert_eq!(why(of(code, "1 h:2"), Scheme::Cluster), None);
        }
        assert_eq!(why(of("LOADING", "x"), Scheme::One), None);
        assert_eq!(why(StoreError::TimedOut, Scheme::One), None);
    }
}
