//! `serve` as a process of its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

/// The policy that `sluicegate policy` prints.
const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/sample/policy.toml");

const TOKEN: &str = "a-token-of-this-test";

/// A service that runs. It is killed when it is dropped.
pub(crate) struct Served {
    process: Child,
    lines: BufReader<ChildStderr>,
    address: String,
    /// The line that it has printed when it was ready.
    pub(crate) greeting: String,
}

impl Served {
    pub(crate) fn start(arguments: &[&str]) -> Served {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let greeting = line(&mut lines);
        let (_, rest) = greeting.split_once("http://").unwrap_or_else(|| panic!("{greeting}"));
        let address = rest.split(';').next().unwrap().trim_end().to_owned();
        Served { process, lines, address, greeting }
    }

    /// Returns the status and the body of the answer.
    pub(crate) fn ask(&self, method: &str, path: &str, fields: &str, body: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            connection,
            "{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n{fields}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    pub(crate) fn check(&self, body: &Value) -> Value {
        let fields = "content-type: application/json\r\n";
        let (status, answer) = self.ask("POST", "/v1/check", fields, &body.to_string());
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Returns the next line that contains `words`.
    pub(crate) fn wait_for(&mut self, words: &str) -> String {
        loop {
            let line = line(&mut self.lines);
            assert!(!line.is_empty(), "ended without saying {words:?}");
            if line.contains(words) {
                return line;
            }
        }
    }

    pub(crate) fn end(mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        self.wait_for("ending");
        self.wait()
    }

    pub(crate) fn wait(mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn line(lines: &mut impl BufRead) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line
}

fn policy(limit: u64) -> String {
    format!(
        "limiters.pages = {{ policy = \"fixed_window\", key = \"all\", limit = {limit}, interval = \"1 day\" }}\n"
    )
}

fn served_file(path: &Path, arguments: &[&str]) -> Served {
    Served::start(&[&["--policy", path.to_str().unwrap()], arguments].concat())
}

#[test]
fn a_policy_is_served_and_a_signal_ends_it() {
    for signal in ["-TERM", "-INT"] {
        let served = served_file(Path::new(BUNDLED), &[]);
        let greeting = format!(" limiters of {BUNDLED} at http://127.0.0.1:");
        assert!(served.greeting.contains(&greeting), "{}", served.greeting);
        let (status, limiters) = served.ask("GET", "/v1/limiters", "", "");
        assert_eq!(status, 200);
        assert!(limiters.contains("\"name\":"), "{limiters}");
        assert_eq!(served.ask("GET", "/readyz", "", ""), (200, "ok\n".to_owned()));
        assert!(served.end(signal).success());
    }
}

#[test]
fn the_greeting_tells_the_number_of_limiters_and_of_levels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    let level = "[[hierarchy]]\nname = \"org\"\nkey = \"org\"\npolicy = \"fixed_window\"\nlimit = 1\ninterval = \"1 day\"\n";
    for (text, greeting) in
        [(level.to_owned(), "1 level of "), (policy(10) + level, "1 limiter and 1 level of ")]
    {
        fs::write(&path, text).unwrap();
        let served = served_file(&path, &[]);
        assert!(served.greeting.starts_with(greeting), "{}", served.greeting);
    }
}

#[test]
fn the_help_shows_a_question_that_the_bundled_policy_answers() {
    let served = served_file(Path::new(BUNDLED), &[]);
    let help = Command::new(env!("CARGO_BIN_EXE_sluicegate")).args(["serve", "--help"]).output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    let from = help.find("{\"limiter\"").unwrap();
    let question = &help[from..=from + help[from..].find('}').unwrap()];
    let answer = served.check(&serde_json::from_str(question).unwrap());
    assert_eq!(answer["decision"], "granted");
}

#[test]
fn without_a_policy_the_playground_is_served_and_says_where() {
    let served = Served::start(&[]);
    assert_eq!(served.greeting, format!("playground: open http://{}\n", served.address));
    let (status, page) = served.ask("GET", "/", "", "");
    assert_eq!((status, page.starts_with("<!doctype html>")), (200, true));
    assert_eq!(served.ask("GET", "/playground/algorithms", "", "").0, 200);
    assert_eq!(served.ask("GET", "/healthz", "", ""), (200, "ok\n".to_owned()));
    let (status, problem) = served.ask("POST", "/v1/check", "", "{}");
    assert_eq!(status, 404);
    assert!(problem.contains("start with --policy FILE"), "{problem}");
    assert!(served.end("-TERM").success());
}

#[test]
fn an_open_page_does_not_hold_up_the_end() {
    let served = Served::start(&[]);
    let fields = "content-type: application/json\r\n";
    let setup = json!({ "sides": [{ "algorithm": "gcra" }] }).to_string();
    let (status, created) = served.ask("POST", "/playground/sessions", fields, &setup);
    assert_eq!(status, 201, "{created}");
    let created: Value = serde_json::from_str(&created).unwrap();
    let session = created["session"].as_str().unwrap();
    let mut page = TcpStream::connect(&served.address).unwrap();
    write!(page, "GET /playground/sessions/{session}/events HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut events = BufReader::new(page);
    while !line(&mut events).starts_with("event: frame") {}
    assert!(served.end("-TERM").success());
    // The last chunk has come: the events have ended, and were not cut off.
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "{rest}");
}

#[test]
fn a_policy_is_served_without_the_playground_unless_it_is_asked_for() {
    let mut served = served_file(Path::new(BUNDLED), &["--playground"]);
    let address = served.address.clone();
    assert_eq!(served.wait_for("playground"), format!("playground: open http://{address}\n"));
    assert_eq!(served.ask("GET", "/", "", "").0, 200);
    assert_eq!(served.ask("GET", "/openapi.json", "", "").0, 200);
    let served = served_file(Path::new(BUNDLED), &[]);
    assert_eq!(served.ask("GET", "/", "", "").0, 404);
    assert_eq!(served.ask("GET", "/openapi.json", "", "").0, 200);
}

#[test]
fn a_name_can_be_listened_on_and_names_of_strangers_are_refused() {
    let policy =
        ["--policy", BUNDLED, "--listen", "localhost:0", "--allow-host", "*.limits.example"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
    let mut process = command.arg("serve").args(policy).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap());
    let greeting = line(&mut lines);
    let (_, rest) = greeting.split_once("http://").unwrap();
    let address = rest.split(';').next().unwrap().to_owned();
    let served = Served { process, lines, address, greeting };
    for (host, status) in [("eu.limits.example", 200), ("rebound.example", 421)] {
        let mut connection = TcpStream::connect(&served.address).unwrap();
        let request = format!("GET /readyz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
}

#[test]
fn a_star_within_a_name_is_refused() {
    for host in ["*", "a*.example", "*.*.example", "*.", "*..example", "limits.example:8080"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
        let output = command.args(["serve", "--allow-host", host]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{host}: {told}");
        assert!(told.contains("such as limits.example, or *.example.org"), "{host}: {told}");
    }
}

#[test]
fn a_file_that_changes_is_in_force_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    fs::write(&path, policy(10)).unwrap();
    let mut served = served_file(&path, &[]);
    assert!(served.greeting.starts_with("1 limiter of "), "{}", served.greeting);
    served.check(&json!({ "limiter": "pages", "cost": 6 }));

    fs::write(&path, policy(8)).unwrap();
    served.wait_for("limiter \"pages\" changed");
    let state = served.check(&json!({ "limiter": "pages", "cost": 0 }));
    assert_eq!((&state["limit"], &state["remaining"]), (&json!(8), &json!(2)));

    fs::write(&path, "limiters.pages = 7\n").unwrap();
    served.wait_for("error");
    let state = served.check(&json!({ "limiter": "pages", "cost": 0 }));
    assert_eq!(state["limit"], 8);
    assert!(served.end("-TERM").success());
}

#[test]
fn the_token_of_a_file_opens_the_administrative_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let (path, token) = (folder.path().join("limits.toml"), folder.path().join("token"));
    fs::write(&path, policy(10)).unwrap();
    fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let served = served_file(&path, &["--admin-token-file", token.to_str().unwrap()]);
    served.check(&json!({ "limiter": "pages", "cost": 10 }));
    let fields = format!("content-type: application/json\r\nauthorization: Bearer {TOKEN}\r\n");
    let question = json!({ "limiter": "pages" }).to_string();
    assert_eq!(served.ask("POST", "/v1/reset", &fields, &question).0, 204);
    assert_eq!(served.check(&json!({ "limiter": "pages" }))["remaining"], 9);
    let (status, events) = served.ask("POST", "/v1/reload", &fields, "");
    assert_eq!((status, &events[..]), (200, "{\"events\":[]}"));
}

#[test]
fn a_descriptor_of_envoy_can_name_a_limiter_of_the_policy_which_is_read_again_first() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, limits) = (folder.path().join("p.toml"), folder.path().join("a.yaml"));
    let policy_of = |name: &str| {
        let limiter = format!(
            "limiters.{name} = {{ policy = \"fixed_window\", key = \"all\", limit = 1, interval = \"1 day\" }}\n"
        );
        fs::write(&policy, limiter).unwrap();
    };
    let limits_of = |name: &str| {
        let limit = format!("  - key: k\n    rate_limit: {{ limiter: {name} }}\n");
        fs::write(&limits, format!("domain: a\ndescriptors:\n{limit}")).unwrap();
    };
    policy_of("one");
    limits_of("one");
    let mut served = served_file(&policy, &["--envoy", limits.to_str().unwrap()]);
    limits_of("two");
    served.signal("-HUP");
    served.wait_for("is \"two\": must be one of the policy's: one");
    policy_of("two");
    served.signal("-HUP");
    served.wait_for("1 domain of ");
    assert!(served.end("-TERM").success());
}

#[test]
fn the_page_for_prometheus_has_the_counts_of_each_part_that_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = "domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: hour, requests_per_unit: 2 }\n";
    fs::write(folder.path().join("limits.yaml"), yaml).unwrap();
    let envoy = ["--envoy", folder.path().to_str().unwrap(), "--envoy-response-fields"];
    let page = |served: &Served| {
        let (status, page) = served.ask("GET", "/metrics", "", "");
        assert_eq!(status, 200, "{page}");
        page
    };
    let of_envoy = "sluicegate_envoy_requests_total{domain=\"d\",code=\"ok\"} 0\n";
    let sessions = "sluicegate_playground_sessions 0\n";
    let served = Served::start(&[&envoy[..], &["--playground"]].concat());
    let without_policy = page(&served);
    for line in [of_envoy, sessions, "sluicegate_serve_open_connections 1\n"] {
        assert!(without_policy.contains(line), "{line} is not in {without_policy}");
    }
    let served = served_file(Path::new(BUNDLED), &envoy);
    served.check(&json!({ "limiter": "per-client", "key": "192.0.2.7" }));
    let with_policy = page(&served);
    for line in [of_envoy, "sluicegate_grants_total{limiter=\"per-client\"} 1\n"] {
        assert!(with_policy.contains(line), "{line} is not in {with_policy}");
    }
    assert!(!with_policy.contains(sessions), "{with_policy}");
}

#[test]
fn mistakes_in_arguments_say_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("short");
    fs::write(&short, "secret").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let short = short.to_str().unwrap();
    let yaml = folder.path().join("bad.yaml");
    fs::write(&yaml, "domain: a\ndescriptors: [{ key: '' }]\n").unwrap();
    let yaml = yaml.to_str().unwrap();
    let shared = folder.path().join("shared.toml");
    let store = "store = { redis = \"redis://127.0.0.1:1/\" }";
    fs::write(&shared, policy(10).replace(" }", &format!(", {store} }}"))).unwrap();
    let shared = shared.to_str().unwrap();
    let plain = folder.path().join("plain.toml");
    fs::write(&plain, policy(10)).unwrap();
    let plain = plain.to_str().unwrap();
    // What is built without the client of a server says how to get one.
    let without = if cfg!(feature = "redis") { None } else { Some(2) };
    let needs = "needs the feature `redis`, without which this command was built: cargo install";
    let cases: [(&[&str], i32, &str); 17] = [
        (&["--redis", "redis://127.0.0.1:1/"], 2, "--policy <FILE>"),
        (&["--policy", shared, "--redis", "127.0.0.1:6379"], 2, "begins with none of redis://"),
        (
            &["--policy", shared, "--redis", "redis://h/", "--redis-on-failure", "0"],
            2,
            "must be `closed`, `open`, or a number of machines from 1",
        ),
        (&["--policy", shared], without.unwrap_or(0), needs),
        (&["--policy", plain, "--redis", "rediss://h/"], without.unwrap_or(0), needs),
        (&["--envoy", yaml], 2, "bad.yaml: descriptors[0].key: is empty"),
        (&["--envoy", "/no/such/file.yaml"], 1, "/no/such/file.yaml"),
        (&["--listen", "8080"], 2, "must be an address and a port"),
        (&["--listen", &taken], 1, "in use"),
        (
            &["--policy", BUNDLED, "--admin-token-file", short],
            2,
            "has 6 bytes: must be at least 16",
        ),
        (&["--policy", BUNDLED, "--admin-token-file", "/no/such/file"], 1, "/no/such/file"),
        (&["--admin-token-file", short], 2, "--policy <FILE>"),
        (&["--proxies", "0"], 2, "0 is not in 1..=255"),
        (&["--max-connections", "0"], 2, "must be from 1 to 1000000"),
        (&["--max-waiting", "1000001"], 2, "must be from 0 to 1000000"),
        (&["--max-body-bytes", "2097151"], 2, "must be from 2097152"),
        (&["--policy", "/no/such/policy.toml"], 1, "/no/such/policy.toml"),
    ];
    for (arguments, status, words) in cases {
        // Served, with the client.
        if status == 0 {
            continue;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
        let output = command.arg("serve").args(arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}
