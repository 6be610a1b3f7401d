//! A server in a process of its own, which is this program again.

use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::server::Subject;

/// The argument that makes the program a server.
const SERVE: &str = "--serve";

/// Serves, until the process is killed, if the arguments of the program say so; or returns false.
///
/// # Errors
///
/// Those of the system; a server that is not there.
pub fn serve_if_asked(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let [serve, name] = arguments else { return Ok(false) };
    if serve != SERVE {
        return Ok(false);
    }
    let subject = Subject::ALL.into_iter().find(|subject| subject.name() == name);
    let subject = subject.ok_or("no such server")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(subject.serve(tell))?;
    Ok(true)
}

/// Writes the address to the standard output, as its first line.
fn tell(address: SocketAddr) -> io::Result<()> {
    println!("{address}");
    io::stdout().flush()
}

/// A server that is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The address that it listens on.
    pub address: SocketAddr,
}

impl Process {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn start(subject: Subject) -> Result<Process, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([SERVE, subject.name()])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let address = read.map_err(Into::into).and_then(|_| Ok(line.trim().parse()?));
        match address {
            Ok(address) => Ok(Process { child, address }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Returns the processor time that it has used, to a hundredth of a second.
    ///
    /// # Errors
    ///
    /// Those of the system; a kernel that is not Linux.
    pub fn cpu(&self) -> Result<Duration, Box<dyn Error>> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name before it may have spaces.
        let (_, fields) = text.rsplit_once(')').ok_or("no fields")?;
        let ticks: Vec<u64> =
            fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
        Ok(Duration::from_millis(ticks.iter().sum::<u64>() * 10))
    }

    /// Returns the memory that it has in RAM, in kilobytes.
    ///
    /// # Errors
    ///
    /// Those of the system; a kernel that is not Linux.
    pub fn resident_kb(&self) -> Result<u64, Box<dyn Error>> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
