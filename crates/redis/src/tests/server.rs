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
    program: String,
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
        Server::of_program(&program(), TempDir::new().unwrap(), options)
    }

    /// Starts a server that has the files of `folder`.
    pub(crate) fn in_folder(folder: TempDir, options: &[&str]) -> Server {
        Server::of_program(&program(), folder, options)
    }

    /// Starts a server of each program that this machine has: `redis-server`, or the one that is named, and
    /// `valkey-server` if there is one. Says which.
    pub(crate) fn of_each_program() -> impl Iterator<Item = Server> {
        let has_valkey = Command::new("valkey-server")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        let programs = [Some(program()), has_valkey.then(|| "valkey-server".to_owned())];
        programs.into_iter().flatten().map(|program| {
            let server = Server::of_program(&program, TempDir::new().unwrap(), &[]);
            let mut connection = server.connection();
            let info: String = redis::cmd("INFO").arg("server").query(&mut connection).unwrap();
            let version = info.lines().find(|line| line.starts_with("redis_version")).unwrap();
            eprintln!("runs on {program}, {version}");
            server
        })
    }

    fn of_program(program: &str, folder: TempDir, options: &[&str]) -> Server {
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        // Another program may take the port before the server does.
        for _ in 0..10 {
            let port = free_port();
            if let Some(child) = spawn(program, port, &folder, &options) {
                let program = program.to_owned();
                return Server { child, program, port, folder, options };
            }
        }
        panic!("no server started on ten free ports");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
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

    /// Sends a command of words.
    pub(crate) fn tell(&self, words: &str) -> redis::Value {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().unwrap());
        words.for_each(|word| _ = command.arg(word));
        command.query(&mut self.connection()).unwrap()
    }

    /// Ends the server at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the process, so that it hangs and keeps its connections.
    pub(crate) fn stop(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    }

    /// Lets a process go on that was stopped.
    pub(crate) fn go_on(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-CONT", &pid]).status().unwrap().success());
    }

    /// Starts the server again, on the same port and without its data.
    pub(crate) fn restart(&mut self) {
        let child = spawn(&self.program, self.port, &self.folder, &self.options);
        self.child = child.expect("the port is still free");
    }

    /// Starts the server again with other options.
    pub(crate) fn restart_with(&mut self, options: &[&str]) {
        self.options = options.iter().map(|&option| option.to_owned()).collect();
        self.restart();
    }

    /// Ends the server, and returns its folder.
    pub(crate) fn into_folder(mut self) -> TempDir {
        self.kill();
        std::mem::replace(&mut self.folder, TempDir::new().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until `is_so`, for at most a minute.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(600), "not so after ten minutes: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn program() -> String {
    env::var("SLUICEGATE_REDIS_SERVER").unwrap_or_else(|_| PROGRAM.to_owned())
}

/// Starts a server and waits until it answers; `None` if it ends instead.
fn spawn(program: &str, port: u16, folder: &TempDir, options: &[String]) -> Option<Child> {
    let mut child = Command::new(program)
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
        // An error is an answer, such as LOADING or NOAUTH.
        let answers = pong.as_ref().map_or_else(|error| !error.is_io_error(), |_| true);
        if answers {
            return Some(child);
        }
        assert!(begin.elapsed() < Duration::from_secs(600), "{program} does not answer: {pong:?}");
        thread::sleep(Duration::from_millis(5));
    }
}
