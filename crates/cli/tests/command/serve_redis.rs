//! `serve --redis` and `redis` as processes of their own, by a real server.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::serve::Served;
use super::{sluicegate, stderr, stdout};

/// A server behind a socket, in a folder of its own. It ends when it is dropped.
struct Redis {
    process: Child,
    folder: TempDir,
}

impl Redis {
    fn start() -> Redis {
        let folder = TempDir::new().unwrap();
        let process = Redis::spawn(&folder);
        Redis { process, folder }
    }

    fn spawn(folder: &TempDir) -> Child {
        let socket = folder.path().join("socket");
        let process = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server, which ci/setup.sh base installs");
        while Redis::ask(folder, &["PING"]) != "PONG" {
            std::thread::sleep(Duration::from_millis(10));
        }
        process
    }

    fn ask(folder: &TempDir, words: &[&str]) -> String {
        let socket = folder.path().join("socket");
        let output = Command::new("redis-cli").arg("-s").arg(socket).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn tell(&self, words: &[&str]) -> String {
        Redis::ask(&self.folder, words)
    }

    fn url(&self) -> String {
        format!("unix://{}", self.folder.path().join("socket").display())
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn restart(&mut self) {
        self.process = Redis::spawn(&self.folder);
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.end();
    }
}

const POLICY: &str = r#"
limiters.api = { key = { field = "user", missing = "deny" }, policy = "token_bucket", limit = 100, rate = { amount = 1, interval = "1 day" } }
limiters.day = { key = { field = "user", missing = "deny" }, policy = "fixed_window", limit = 100, interval = "1 day" }
limiters.client = { key = "client", policy = "fixed_window", limit = 100, interval = "1 day" }
"#;

#[test]
fn what_becomes_of_the_server_is_logged_and_counted() {
    let mut redis = Redis::start();
    let (policy, url) = (redis.file("limits.toml", POLICY), redis.url());
    let mut served = Served::start(&[
        "--policy",
        &policy,
        "--redis",
        &url,
        "--redis-pause",
        "10ms",
        "--redis-lease",
        "1",
        "--ready-needs-redis",
    ]);
    let ask = json!({ "limiter": "day", "key": "ada" });
    let fields = "content-type: application/json\r\n";
    let status = |served: &Served| served.ask("POST", "/v1/check", fields, &ask.to_string()).0;
    while status(&served) != 200 {}
    let limiters = served.ask("GET", "/v1/limiters", "", "").1;
    let limiters: Value = serde_json::from_str(&limiters).unwrap();
    let told = |limiter: &Value| [limiter["shared"] == true, limiter["leased"] == true];
    let limiters: Vec<_> = limiters["limiters"].as_array().unwrap().iter().map(told).collect();
    // A window has no leases.
    assert_eq!(limiters, [[true, true], [true, false], [true, false]]);
    // A key that is asked for often gets a lease, which a peek tells.
    let bucket = json!({ "limiter": "api", "key": "ada" });
    let checks = json!({ "checks": vec![&bucket; 5] }).to_string();
    // The next lease may come between a peek and the metrics.
    let is_told = (0..15).any(|_| {
        assert_eq!(served.ask("POST", "/v1/check/batch", fields, &checks).0, 200);
        let peek = served.ask("POST", "/v1/peek", fields, &bucket.to_string()).1;
        let held = &serde_json::from_str::<Value>(&peek).unwrap()["held"];
        let page = served.ask("GET", "/metrics", "", "").1;
        page.contains(&format!("sluicegate_leased_permits{{limiter=\"api\"}} {held}.0\n"))
    });
    assert!(is_told, "{}", served.ask("GET", "/metrics", "", "").1);
    redis.end();
    // The end of a connection may be all that the first request tells.
    for _ in 0..2 {
        while status(&served) != 503 {}
    }
    let line = served.wait_for(&format!("{url} is left alone: "));
    assert!(line.contains("the server"), "{line}");
    assert_eq!(served.ask("GET", "/readyz", "", "").0, 503);
    let page = served.ask("GET", "/metrics", "", "").1;
    let is_open = format!("sluicegate_redis_breaker_open{{server=\"{url}\"}} 1");
    assert!(page.contains(&is_open), "{page}");
    redis.restart();
    // Each answer lets some more requests pass.
    while served.ask("GET", "/metrics", "", "").1.contains(&is_open) {
        status(&served);
    }
    while served.ask("GET", "/readyz", "", "").0 != 200 {}
    served.wait_for(&format!("{url} answers again"));
    assert!(served.end("-TERM").success());
}

#[test]
fn a_user_without_rights_and_a_password_that_is_wrong_are_told_before_anything_is_served() {
    let redis = Redis::start();
    let (policy, socket) = (redis.file("limits.toml", POLICY), redis.url());
    redis.tell(&["ACL", "SETUSER", "limits", "on", ">s3cret", "~sluicegate:*", "+@all", "-set"]);
    let refused = |password: &str, url: &str| {
        let file = redis.file("password", password);
        let mut command = sluicegate();
        command.args(["serve", "--listen", "127.0.0.1:0", "--policy", &policy, "--redis", url]);
        stderr(&command.args(["--redis-password-file", &file]).assert().code(2))
    };
    let url = format!("{socket}?user=limits");
    let said = refused("s3cret\n", &url);
    assert!(said.contains("missing are: +set"), "{said}");
    let said = refused("wrong", &url);
    assert!(said.contains("does not take the user and the password"), "{said}");
    let mut command = sluicegate();
    command.args(["serve", "--listen", "127.0.0.1:0", "--policy", &policy, "--redis", &url]);
    let said = command.env("SLUICEGATE_REDIS_PASSWORD", "s3cret").assert().code(2);
    assert!(stderr(&said).contains("missing are: +set"), "{}", stderr(&said));
}

#[test]
fn a_key_on_the_server_is_shown_and_reset() {
    let mut redis = Redis::start();
    // No machine is too busy for this limit of time.
    let store = format!(", store = {{ redis = \"{}\", time_limit = \"60 s\" }} }}", redis.url());
    let policy = redis.file("limits.toml", &POLICY.replace("\" }\n", &format!("\"{store}\n")));
    let served = Served::start(&["--policy", &policy]);
    for cost in [3, 4] {
        served.check(&json!({ "limiter": "day", "key": "ada", "cost": cost }));
    }
    let run_of = |verb: &str, limiter: &str, key: &str| {
        let mut command = sluicegate();
        command.args(["redis", verb, "--policy", &policy, limiter, key]);
        command.assert()
    };
    let run = |verb: &str, limiter: &str| run_of(verb, limiter, "ada");
    let shown = stdout(&run("show", "day").success());
    assert!(shown.contains("left        93 of 100"), "{shown}");
    let name = shown.lines().find_map(|line| line.strip_prefix("key ")).unwrap();
    let name = name.trim().split(" on ").next().unwrap();
    assert_eq!(redis.tell(&["EXISTS", name]), "1", "{name}");
    let shown = stdout(&run("reset", "day").success());
    assert!(shown.contains("left        100 of 100"), "{shown}");
    assert_eq!(redis.tell(&["EXISTS", name]), "0");
    // In each spelling, the key is the service's own.
    for (asked, shown) in [
        ("2001:db8::1".to_owned(), "2001:DB8::2".to_owned()),
        ("::ffff:192.0.2.7".to_owned(), "192.0.2.7:80".to_owned()),
        ("x".repeat(300), "x".repeat(300)),
    ] {
        served.check(&json!({ "limiter": "client", "key": asked, "cost": 5 }));
        let shown = stdout(&run_of("show", "client", &shown).success());
        assert!(shown.contains("left        95 of 100"), "{asked}: {shown}");
    }
    let said = stderr(&run_of("show", "day", "").code(2));
    assert!(said.contains("`key` is missing"), "{said}");
    let here = redis.file(
        "here.toml",
        "limiters.here = { policy = \"gcra\", interval = \"1 s\", tolerance = \"1 s\", max_keys = 9 }\n",
    );
    let command = sluicegate().args(["redis", "show", "--policy", &here, "here", "ada"]).assert();
    let said = stderr(&command.code(2));
    assert!(
        said.contains("is kept in the memory of each service, because it has `max_keys`"),
        "{said}"
    );
    redis.tell(&["CONFIG", "SET", "requirepass", "s3cret"]);
    let said = stderr(&run("show", "day").code(1));
    assert!(said.contains("NOAUTH") && said.contains("--redis-password-file"), "{said}");
    let said = stderr(&run("show", "dya").code(2));
    assert!(said.contains("dya"), "{said}");
    redis.end();
    run("show", "day").code(1);
}
