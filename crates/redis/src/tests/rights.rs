//! Users of a server that may not run all commands of a script.

use redis::{Connection, RedisError};

use super::server::Server;
use super::verbs::limits;
use crate::limit::packed;
use crate::script::{CONCURRENCY, Script};

const DAY: u64 = 86_400_000_000;

/// A script of a limit of ten permits a day or more, by the server's own time.
struct Limiter {
    script: &'static Script,
    terms: Vec<u8>,
}

impl Limiter {
    /// Returns whether permits are granted. `who` holds them, if the script has holders.
    fn ask(
        &self,
        connection: &mut Connection,
        verb: &str,
        permits: u64,
        who: &str,
    ) -> Result<bool, RedisError> {
        let mut command = redis::cmd("EVAL");
        command.arg(self.script.source()).arg(1).arg("ada").arg(&self.terms).arg(verb);
        let reply: Vec<i64> = command.arg(permits).arg("").arg(who).query(connection)?;
        Ok(reply[0] >= 0)
    }
}

#[test]
fn a_script_without_a_right_takes_nothing_and_leaves_no_key_for_ever() {
    let server = Server::start();
    let mut own = server.connection();
    let limiters = limits()
        .into_iter()
        .map(|limit| (Limiter { script: limit.script(), terms: limit.numbers().to_vec() }, "take"));
    let holders = Limiter { script: &CONCURRENCY, terms: packed(&[10, DAY]) };
    for (limiter, verb) in limiters.chain([(holders, "enter")]) {
        let mut refused = 0;
        for command in limiter.script.commands() {
            let rules = ["reset", "on", ">pass", "~*", "+@all", &format!("-{command}")];
            redis::cmd("ACL").arg("SETUSER").arg("bob").arg(&rules).exec(&mut own).unwrap();
            let url = format!("redis://bob:pass@127.0.0.1:{}/", server.port());
            let mut bob = redis::Client::open(url).unwrap().get_connection().unwrap();
            for is_new in [true, false] {
                let case = format!("{} without {command}, new: {is_new}", limiter.script.name());
                redis::cmd("DEL").arg("ada").exec(&mut own).unwrap();
                if !is_new {
                    assert!(limiter.ask(&mut own, verb, 3, "eve").unwrap());
                }
                let left = if is_new { 10 } else { 7 };
                if limiter.ask(&mut bob, verb, 3, "bob").is_err() {
                    refused += 1;
                    let is_left = limiter.ask(&mut own, "peek", left, "who").unwrap();
                    assert!(is_left, "{case}: refused, and taken");
                }
                let lasts: i64 = redis::cmd("PTTL").arg("ada").query(&mut own).unwrap();
                assert_ne!(lasts, -1, "{case}: lasts for ever");
            }
        }
        assert!(refused >= 4, "{}: only {refused}", limiter.script.name());
    }
}
