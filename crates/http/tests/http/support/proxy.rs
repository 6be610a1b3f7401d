//! Proxies that a test starts, each on a port of its own and with a folder of its own.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A proxy, which ends with the test.
pub(crate) struct Proxy {
    process: Child,
    pub(crate) address: SocketAddr,
    _folder: TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Proxy {
    /// Starts a program whose configuration is this text, where `LISTEN` stands for its own address, `PORT`
    /// for the port of it, and `FOLDER` for a folder of its own.
    pub(crate) fn start(program: &str, arguments: &[&str], configuration: &str) -> Proxy {
        // Debian has servers in a folder that the path of a user need not have, and others come from PyPI.
        let exe = std::env::current_exe().unwrap();
        let packages = exe.ancestors().nth(3).unwrap().join("proxies");
        let search = format!(
            "{0}/envoy/_bin:{0}/bin:{1}:/usr/sbin",
            packages.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        // Between the choice of a port and its use, another program may take it.
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            let path = folder.path();
            let fill = |text: &str| {
                text.replace("LISTEN", &address.to_string())
                    .replace("PORT", &address.port().to_string())
                    .replace("FOLDER", &path.display().to_string())
            };
            // By the ending Traefik tells what it is; the others do not look.
            fs::write(path.join("configuration.yaml"), fill(configuration)).unwrap();
            let log = File::create(path.join("log")).unwrap();
            let mut process = Command::new(program)
                .args(arguments.iter().map(|argument| fill(argument)))
                .env("HOME", path)
                .env("PATH", &search)
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap_or_else(|error| {
                    panic!("{program} does not start ({error}): run ci/setup.sh proxies")
                });
            if is_up(&mut process, address) {
                return Proxy { process, address, _folder: folder };
            }
            let _ = process.kill();
            let _ = process.wait();
            eprintln!("{program}: {}", log_of(path));
        }
        panic!("{program} does not listen: its logs are above");
    }
}

/// Waits until a program listens, or has ended.
fn is_up(process: &mut Child, address: SocketAddr) -> bool {
    let patience = Instant::now() + Duration::from_secs(600);
    while Instant::now() < patience && process.try_wait().is_ok_and(|ended| ended.is_none()) {
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_default()
}
