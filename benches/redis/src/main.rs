//! Decisions on a Redis server, one round trip each: how long one takes, and how many there are in a second, for
//! each script, beside one plain `INCR` (the least that a round trip costs) and the rules of redis-cell in Lua.
//!
//! ```sh
//! cargo run --release -p sluicegate-redis-benches -- [MILLISECONDS] [ROUNDS]
//! ```
//!
//! It starts a `redis-server` of its own. All callers are tasks on one connection, as in a service, and ask for single
//! permits of 1,000 keys, nearly all of which are granted. Each subject runs for some milliseconds in each round, in turns;
//! the table has the median of the rounds. On a machine that does other things too, the time of the server's processor for a
//! decision is the figure to compare.

mod server;
mod subject;

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;

use sluicegate_redis::Async;

use self::server::Server;
use self::subject::Subject;

/// Numbers of tasks that ask at the same time.
const CALLERS: [usize; 4] = [1, 4, 16, 64];

/// Keys of a subject.
const KEYS: usize = 1_000;

/// A round of a subject: the times of its decisions, in order.
struct Round {
    times: Vec<Duration>,
    length: Duration,
    /// Time of the processor that the server has spent.
    cpu: Duration,
}

impl Round {
    fn percentile_micros(&self, percent: usize) -> f64 {
        self.times[self.times.len() * percent / 100].as_secs_f64() * 1e6
    }

    fn cpu_micros(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.count()
    }

    fn count(&self) -> f64 {
        f64::from(u32::try_from(self.times.len()).expect("a round is short"))
    }

    fn per_second(&self) -> f64 {
        self.count() / self.length.as_secs_f64()
    }
}

#[tokio::main]
async fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("a whole number"));
    let length = Duration::from_millis(numbers.next().unwrap_or(500));
    let rounds = numbers.next().unwrap_or(5).max(1);

    let server = Server::start();
    let client = redis::Client::open(server.url()).unwrap();
    // On a busy machine, an answer may take its time.
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let connection = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
    let subjects = Subject::all(Async::with_config(client, config), &connection).await;

    println!(
        "| decision | callers | p50, us | p99, us | decisions/s | of INCR | CPU of Redis, us |"
    );
    println!("|---|---|---|---|---|---|---|");
    for callers in CALLERS {
        let mut all: Vec<Vec<Round>> = subjects.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for turn in 0..subjects.len() {
                // Another subject begins each round.
                let index = (turn + round as usize) % subjects.len();
                all[index].push(run(&subjects[index], callers, length, &connection).await);
            }
        }
        let floor = median(&all[0], Round::per_second);
        for (subject, rounds) in subjects.iter().zip(&all) {
            let per_second = median(rounds, Round::per_second);
            println!(
                "| {} | {callers} | {:.0} | {:.0} | {per_second:.0} | {:.2} | {:.1} |",
                subject.name(),
                median(rounds, |round| round.percentile_micros(50)),
                median(rounds, |round| round.percentile_micros(99)),
                per_second / floor,
                median(rounds, Round::cpu_micros),
            );
        }
    }
}

fn median(rounds: &[Round], of: impl Fn(&Round) -> f64) -> f64 {
    let mut values: Vec<_> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lets callers ask for a time.
async fn run(
    subject: &Arc<Subject>,
    callers: usize,
    length: Duration,
    connection: &MultiplexedConnection,
) -> Round {
    let cpu_before = cpu(connection).await;
    let begin = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let subject = Arc::clone(subject);
            tokio::spawn(async move {
                let mut times = Vec::new();
                let mut number = caller * KEYS / callers;
                loop {
                    number = (number + 1) % KEYS;
                    let asked = Instant::now();
                    subject.decide(&format!("user:{number}")).await;
                    times.push(asked.elapsed());
                    if begin.elapsed() >= length {
                        return times;
                    }
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let length = begin.elapsed();
    times.sort_unstable();
    let cpu = cpu(connection).await.saturating_sub(cpu_before);
    Round { times, length, cpu }
}

/// Returns the time of the processor that the server has spent so far.
async fn cpu(connection: &MultiplexedConnection) -> Duration {
    let mut command = redis::cmd("INFO");
    let info: String = command.arg("cpu").query_async(&mut connection.clone()).await.unwrap();
    let seconds = |name| -> f64 {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.expect("INFO has it").trim().parse().expect("a number")
    };
    Duration::from_secs_f64(seconds("used_cpu_sys:") + seconds("used_cpu_user:"))
}
