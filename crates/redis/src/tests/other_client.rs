//! A client that is not of the crate `redis`: one connection, by the protocol itself. It shows that the trait asks for no more
//! than a program of another client has.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use sluicegate::quota;

use super::server::Server;
use super::verbs::limits;
use crate::{
    Guarded, KeySpace, RedisConcurrency, RedisLimit, RedisLimiter, Run, RunScriptBlocking,
    StoreError, TryAcquireError,
};

#[derive(Debug)]
struct OwnClient(Mutex<BufReader<TcpStream>>);

impl OwnClient {
    fn connect(server: &Server) -> OwnClient {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        OwnClient(Mutex::new(BufReader::new(stream)))
    }

    fn send(&self, name: &str, script: &str, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let number = run.keys.len().to_string();
        let words = [name, script, &number].into_iter().chain(run.keys.iter().copied());
        let words: Vec<_> = words.map(str::as_bytes).chain(run.arguments.iter().copied()).collect();
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend(format!("${}\r\n", word.len()).bytes());
            request.extend([word, b"\r\n"].concat());
        }
        let mut connection = self.0.lock().unwrap();
        let lost = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::WouldBlock => StoreError::TimedOut,
            _ => StoreError::Disconnected(Box::new(error)),
        };
        connection.get_mut().write_all(&request).map_err(lost)?;
        match line(&mut *connection).map_err(lost)?.split_at(1) {
            ("*", length) => (0..length.parse().unwrap())
                .map(|_| Ok(line(&mut *connection).map_err(lost)?[1..].parse().unwrap()))
                .collect(),
            (":", number) => Ok(vec![number.parse().unwrap()]),
            (_, error) => {
                let (code, message) = error.split_once(' ').unwrap_or((error, ""));
                Err(StoreError::Server { code: code.to_owned(), message: message.to_owned() })
            }
        }
    }
}

fn line(connection: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    if connection.take(1 << 16).read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

impl RunScriptBlocking for OwnClient {
    fn run_blocking(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        match self.send("EVALSHA", run.script.sha1(), run) {
            Err(StoreError::Server { code, .. }) if code == "NOSCRIPT" => {
                self.send("EVAL", run.script.source(), run)
            }
            answer => answer,
        }
    }
}

#[test]
fn another_client_runs_every_script_and_tells_what_may_have_been_taken() {
    let mut server = Server::start();
    let keys = || KeySpace::new("app").unwrap();
    for limit in limits() {
        let limiter = RedisLimiter::new(limit.clone(), keys(), OwnClient::connect(&server));
        assert_eq!(limiter.try_acquire_blocking("ada", 4).unwrap().remaining(), 6, "{limit:?}");
        let denied = limiter.try_acquire_blocking("ada", 7).unwrap_err();
        assert_eq!(denied.denied().unwrap().remaining(), Some(6), "{limit:?}");
        limiter.reset_blocking("ada").unwrap();
        assert_eq!(limiter.try_acquire_up_to_blocking("ada", 99).unwrap().permits(), 10);
    }
    let client = OwnClient::connect(&server);
    let places = RedisConcurrency::new(2, Duration::from_secs(60), keys(), client).unwrap();
    assert_eq!(places.enter_blocking("ada", 2).unwrap().permits(), 2);
    assert!(places.enter_blocking("ada", 1).unwrap_err().denied().is_some());

    let guarded = Guarded::new(OwnClient::connect(&server)).with_pause(Duration::MAX);
    let limit = RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap();
    let limiter = RedisLimiter::new(limit, keys(), guarded);
    server.stop();
    for may_have_taken in [true, false] {
        let Err(TryAcquireError::Store(error)) = limiter.try_acquire_blocking("eve", 1) else {
            panic!("a server that is stopped has answered");
        };
        assert_eq!(error.may_have_taken(), may_have_taken, "{error}");
    }
    server.kill();
}
