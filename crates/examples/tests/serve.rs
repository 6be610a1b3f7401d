//! The commands of the page on the service are run as they are written, in order and in one folder, and print what the
//! page shows.
//!
//! A block `sh` is given to bash, and a block `text` that follows is all that it prints of answers. A block `toml` or `yaml`
//! whose first line is a comment with the name of a file is that file. Ports are other ones, so that nothing else is on them.
//! Proxies' blocks are run by the tests of `sluicegate-serve`. A block `console` starts a proxy with the rights of the reader, and is not
//! run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::page::{self, Block, blocks, page};

/// The ports that the page names.
const PORTS: [&str; 7] = ["3000", "6379", "8080", "8081", "8082", "8083", "8084"];

/// Listens on a port whose digits are none of the page.
fn free() -> TcpListener {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        if !PORTS.iter().any(|other| port.contains(other)) {
            return listener;
        }
    }
}

/// A shell that runs blocks. The services that it has started end when it is dropped.
struct Shell {
    folder: PathBuf,
    ports: BTreeMap<&'static str, String>,
}

impl Shell {
    fn new(folder: &Path) -> Shell {
        for needed in ["curl", "redis-server", "redis-cli"] {
            let found = Command::new(needed).arg("--version").output();
            // The blocks would wait for it.
            assert!(found.is_ok(), "the page needs {needed}: `ci/setup.sh base` installs it");
        }
        fs::create_dir(folder.join("bin")).unwrap();
        // All are held until all are chosen, so that they differ.
        let free = PORTS.map(|port| (port, free()));
        let chosen = |listener: &TcpListener| listener.local_addr().unwrap().port().to_string();
        let ports = free.iter().map(|(port, listener)| (*port, chosen(listener))).collect();
        let shell = Shell { folder: folder.to_owned(), ports };
        let command = env!("CARGO_BIN_EXE_sluicegate_of_pages");
        let at = shell.filled("--listen 127.0.0.1:8080");
        // A reader starts a service once the server has said that it is ready.
        let wait = shell.filled("until redis-cli -p 6379 ping >/dev/null 2>&1; do sleep 0.1; done");
        shell.add(
            "sluicegate",
            &format!(
                "case \"$*\" in *--redis*) {wait} ;; esac
                case \"$*\" in *--listen*) at= ;; *) at='{at}' ;; esac
                exec {command} \"$@\" $at"
            ),
        );
        // A reader waits until a service has said that it is there. The command is there already.
        shell.add(
            "curl",
            "exec /usr/bin/curl -sS --retry 600 --retry-delay 1 --retry-connrefused \"$@\"",
        );
        shell.add("cargo", "true");
        shell
    }

    /// Adds a command.
    fn add(&self, name: &str, script: &str) {
        let path = self.folder.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns a text with the ports of this shell.
    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (from, to): (&&str, &String)| text.replace(*from, to);
        self.ports.iter().fold(text.to_owned(), fill)
    }

    /// Runs a block, and returns all that it prints but for the words of services.
    fn run(&self, commands: &str) -> String {
        let commands = self.filled(commands);
        let trap = "trap 'jobs -p >>services' EXIT";
        let script = format!("{trap}; set -e; exec 2>>log\n{commands}");
        let printed = self.folder.join("printed");
        let path = std::env::var("PATH").unwrap_or_default();
        let status = Command::new("timeout")
            .args(["600", "bash", "--norc", "-c", &script])
            .env("PATH", format!("{}:{path}", self.folder.join("bin").display()))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            // Not a pipe, which the services would keep open.
            .stdout(File::create(&printed).unwrap())
            .status()
            .expect("bash starts");
        let printed = fs::read_to_string(printed).unwrap();
        let log = fs::read_to_string(self.folder.join("log")).unwrap();
        assert!(status.success(), "{status}:\n{commands}\n{printed}\n{log}");
        printed
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let services = fs::read_to_string(self.folder.join("services")).unwrap_or_default();
        let _ = Command::new("kill").args(services.split_whitespace()).status();
    }
}

/// Returns the answers in what a block has printed: with a line for each.
fn answers(printed: &str) -> String {
    printed.replace("}{", "}\n{")
}

#[test]
fn each_command_is_run_and_prints_what_the_page_shows() {
    let folder = tempfile::tempdir().unwrap();
    let shell = Shell::new(folder.path());
    let page = page("serve.md");
    // What follows is a measurement, or the page in a browser.
    let (page, _) = page.split_once("\n## Load").unwrap();
    let (mut printed, mut commands, mut outputs) = (String::new(), 0, 0);
    for Block { language, text } in blocks(page) {
        match language {
            "sh" => {
                printed = shell.run(text);
                commands += 1;
                if text.contains("redis-cli") {
                    let granted = printed.matches(r#""decision":"granted""#).count();
                    assert!(granted == 2 && printed.contains("sluicegate:"), "{printed}");
                }
            }
            "text" => {
                assert_eq!(answers(&printed).trim_end(), text.trim_end());
                outputs += 1;
            }
            "toml" | "yaml" if text.starts_with("# ") => {
                let file = folder.path().join(page::file_name(text));
                fs::write(file, shell.filled(text)).unwrap();
            }
            _ => {}
        }
    }
    assert!(commands >= 6 && outputs >= 2, "{commands} commands, {outputs} outputs");
}
