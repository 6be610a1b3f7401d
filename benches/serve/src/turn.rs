//! One measurement: so many connections that ask for a time.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::client::{Client, Question};
use crate::process::Process;

/// The figures of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Decisions a second.
    pub decisions: f64,
    /// Microseconds until half, 99 % and 99.9 % of the requests were answered.
    pub micros: [u64; 3],
    /// Microseconds of processor time of the server for a decision.
    pub cpu: f64,
}

/// Asks a server over `connections` for `time`, after a tenth of it that is not measured.
///
/// # Errors
///
/// Those of the connections and of the system; an answer that is no grant.
#[expect(clippy::cast_precision_loss, reason = "no count is near 2^52")]
pub async fn turn(
    server: &Process,
    question: Question,
    connections: usize,
    time: Duration,
) -> Result<Turn, Box<dyn Error>> {
    let mut clients = Vec::with_capacity(connections);
    for number in 0..connections {
        clients.push(Client::connect(server.address, question, number).await?);
    }
    let start = Instant::now() + time / 10;
    let end = start + time;
    let tasks: Vec<_> =
        clients.into_iter().map(|client| tokio::spawn(ask_from_to(client, start, end))).collect();
    tokio::time::sleep_until(start.into()).await;
    let before = server.cpu()?;
    let mut all = Histogram::<u64>::new(3)?;
    for task in tasks {
        all.add(task.await??)?;
    }
    let cpu = server.cpu()?.saturating_sub(before);
    let decisions = (all.len() * u64::from(question.decisions())) as f64;
    Ok(Turn {
        decisions: decisions / time.as_secs_f64(),
        micros: [0.5, 0.99, 0.999].map(|part| all.value_at_quantile(part) / 1_000),
        cpu: cpu.as_secs_f64() * 1e6 / decisions,
    })
}

/// Returns the times of the answers in nanoseconds.
async fn ask_from_to(
    mut client: Client,
    start: Instant,
    end: Instant,
) -> io::Result<Histogram<u64>> {
    let mut times = Histogram::new(3).map_err(io::Error::other)?;
    loop {
        let begun = Instant::now();
        if begun >= end {
            return Ok(times);
        }
        client.ask().await?;
        if begun >= start {
            let nanos = begun.elapsed().as_nanos() as u64;
            times.record(nanos).map_err(io::Error::other)?;
        }
    }
}
