//! Servers that tests start.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use tempfile::TempDir;

/// The program of the server, unless `SLUICEGATE_REDIS_SERVER` names another.
const PROGRAM: &str = "redis-server";

/// A server on a free port, without files, in a folder of its own. Ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    folder: TempDir,
    options: Vec<String>,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::with_options(&[])
    }

    /// Starts a server with more options of its command line.
    pub(crate) fn with_options(options: &[&str]) -> Server {
        let folder = TempDir::new().unwrap();
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        // Another program may take the port before the server does.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if let Some(child) = spawn(port, &folder, &options) {
                return Server { child, port, folder, options };
            }
        }
        panic!("no server started on ten free ports");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(crate) fn client(&self) -> redis::Client {
        redis::Client::open(self.url()).unwrap()
    }

    pub(crate) fn connection(&self) -> redis::Connection {
        self.client().get_connection().unwrap()
    }

    /// Ends the server at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server again, on the same port and without its data.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(self.port, &self.folder, &self.options).expect("the port is still free");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and waits until it answers; `None` if it ends instead.
fn spawn(port: u16, folder: &TempDir, options: &[String]) -> Option<Child> {
    let program = env::var("SLUICEGATE_REDIS_SERVER").unwrap_or_else(|_| PROGRAM.to_owned());
    let mut child = Command::new(&program)
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--port", &port.to_string()])
        .args(options)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {program}: {error}; run ci/setup.sh base"));
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).unwrap();
    let begin = Instant::now();
    loop {
        let pong = client
            .get_connection()
            .and_then(|mut connection| redis::cmd("PING").query::<String>(&mut connection));
        // The process may be another server's, which had the port first.
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        if pong.is_ok() {
            return Some(child);
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{program} does not answer: {pong:?}");
        thread::sleep(Duration::from_millis(5));
    }
}
