//! A server for the time of the measurement.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// A server on a free port, without files. Ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start() -> Server {
        let folder = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed by ci/setup.sh base");
        let server = Server { child, port, _folder: folder };
        let client = redis::Client::open(server.url()).unwrap();
        for _ in 0..1_000 {
            if client.get_connection().is_ok() {
                return server;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not answer");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
