//! A number of requests to one server in this process, to count their instructions: see
//! `benches/serve/instructions.sh`.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use sluicegate_serve_benches::client::{Client, Question};
use sluicegate_serve_benches::server::{self, Subject};
use tokio::runtime::{Builder, Runtime};

const USAGE: &str = "usage: request_calls hello|check|batch|peek|auth|grpc_hello|grpc CALLS";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, calls] = arguments.as_slice() else { return Err(USAGE.into()) };
    let (subject, question) = match case.as_str() {
        "hello" => (Subject::Hello, Question::Check),
        "check" => (Subject::Service, Question::Check),
        "batch" => (Subject::Service, Question::Batch(100)),
        "peek" => (Subject::Service, Question::Peek),
        "auth" => (Subject::Service, Question::Auth),
        "grpc_hello" => (Subject::Hello, Question::Envoy),
        "grpc" => (Subject::Service, Question::Envoy),
        _ => return Err(USAGE.into()),
    };
    let calls: u32 = calls.parse()?;
    // A clock of the processor's counter is calibrated once in a process, for a time that varies.
    drop(server::limiters()?);
    let (sender, address) = mpsc::channel();
    thread::spawn(move || counted_server(subject, &sender));
    runtime()?.block_on(async {
        let mut client = Client::connect(address.recv()?, question, 0).await?;
        for _ in 0..calls {
            client.ask().await?;
        }
        Ok(())
    })
}

/// The server, on one thread. It ends with the process.
#[inline(never)]
fn counted_server(subject: Subject, address: &mpsc::Sender<SocketAddr>) {
    let tell = |own| address.send(own).map_err(std::io::Error::other);
    let served = runtime().map_err(Into::into).and_then(|one| one.block_on(subject.serve(tell)));
    if let Err(error) = served {
        eprintln!("the server: {error}");
    }
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
