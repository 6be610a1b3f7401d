//! Decisions of several processes on one key, with leases and one call each, in turns in the same run; and that together they
//! are granted no more than the limit allows.
//!
//! ```sh
//! cargo run --release -p sluicegate-redis-benches --bin leases -- [MILLISECONDS] [ROUNDS]
//! ```
//!
//! It starts a `redis-server` of its own, and itself once for each process. All of them begin at the same time. A process
//! has 16 tasks on one connection, which ask for single permits as fast as they get answers. The ample limit grants all of
//! them; the scarce one few. The table has the median of the rounds; the bound is that of the longest round, from before the
//! first process asked until after the last had its answer.

#[path = "../server.rs"]
mod server;

use std::env;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use cpu_time::ProcessTime;
use sluicegate::{Quota, quota};
use sluicegate_redis::{
    Async, KeySpace, LeaseOptions, LeasedLimiter, RedisLimit, RedisLimiter, TryAcquireError,
};
use tokio::task::{JoinSet, yield_now};

use self::server::Server;

type Client = Async;

const PROCESSES: [u32; 2] = [2, 4];
const TASKS: usize = 16;
/// Calls of a task between two at which others have their turn, as they have between two requests of a service.
const CALLS_IN_TURN: usize = 16;

fn quota_of(name: &str) -> Quota {
    if name == "ample" { quota!(2_000_000_000 / second) } else { quota!(10_000 / second) }
}

/// The numbers of one process, or of several.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    decisions: u64,
    granted: u64,
    /// Requests for leases, or decisions of the server.
    requests: u64,
    /// Microseconds of the processors that the processes took, without those of the server.
    cpu_micros: u64,
}

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [mode, mine @ ..] = &arguments[..]
        && mode == "process"
    {
        return process(mine);
    }
    let mut numbers = arguments.iter().map(|text| text.parse().expect("a whole number"));
    let length: u64 = numbers.next().unwrap_or(2_000);
    let rounds = numbers.next().unwrap_or(5).max(1);

    let server = Server::start();
    println!(
        "| limit | processes | | decisions/s | times | CPU of a decision, us | requests/s | most granted | bound |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for limit in ["ample", "scarce"] {
        for processes in PROCESSES {
            let mut all = [Vec::new(), Vec::new()];
            for round in 0..rounds {
                for turn in 0..2 {
                    // The other one begins each round.
                    let kind = (turn + round) as usize % 2;
                    let prefix = format!("{limit}-{processes}-{round}-{kind}");
                    all[kind].push(run(&server, limit, processes, kind == 1, length, &prefix));
                }
            }
            let single = report(limit, processes, "one call each", &all[0], None);
            report(limit, processes, "leases", &all[1], Some(single));
        }
    }
}

/// Starts the processes, and returns their sums and the time that it took.
fn run(
    server: &Server,
    limit: &str,
    processes: u32,
    has_leases: bool,
    length: u64,
    prefix: &str,
) -> (Outcome, Duration) {
    let begin = Instant::now();
    let start = millis_since_1970() + 300;
    let children: Vec<_> = (0..processes)
        .map(|_| {
            let arguments = [
                "process".to_owned(),
                server.url(),
                limit.to_owned(),
                processes.to_string(),
                has_leases.to_string(),
                length.to_string(),
                start.to_string(),
                prefix.to_owned(),
            ];
            let program = env::current_exe().unwrap();
            Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut sum = Outcome::default();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers: Vec<u64> =
            text.split_whitespace().map(|number| number.parse().unwrap()).collect();
        sum.decisions += numbers[0];
        sum.granted += numbers[1];
        sum.requests += numbers[2];
        sum.cpu_micros += numbers[3];
    }
    (sum, begin.elapsed())
}

/// Prints a row, and returns the decisions in a second.
fn report(
    limit: &str,
    processes: u32,
    kind: &str,
    rounds: &[(Outcome, Duration)],
    single: Option<f64>,
) -> f64 {
    let quota = quota_of(limit);
    let bound =
        |took: Duration| float(quota.burst()) + float(quota.rate().permits()) * took.as_secs_f64();
    for &(outcome, took) in rounds {
        assert!(float(outcome.granted) <= bound(took), "{kind}: {outcome:?} in {took:?}");
    }
    let most = rounds.iter().map(|(outcome, _)| outcome.granted).max().unwrap_or(0);
    let longest = rounds.iter().map(|&(_, took)| took).max().unwrap_or_default();
    // The processes ask for a fixed time, which begins after all have started.
    let per_second = median(rounds.iter().map(|(outcome, took)| rate(outcome.decisions, *took)));
    let requests = median(rounds.iter().map(|(outcome, took)| rate(outcome.requests, *took)));
    let cpu = median(rounds.iter().map(|(all, _)| float(all.cpu_micros) / float(all.decisions)));
    let times = single.map_or(String::new(), |single| format!("{:.0}", per_second / single));
    println!(
        "| {limit} | {processes} | {kind} | {per_second:.0} | {times} | {cpu:.2} | {requests:.0} | {most} | {:.0} |",
        bound(longest)
    );
    per_second
}

fn float(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("a round is short"))
}

fn rate(count: u64, took: Duration) -> f64 {
    float(count) / took.as_secs_f64()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn millis_since_1970() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The limiter of a process.
enum Subject {
    Plain(RedisLimiter<Client>),
    Leased(LeasedLimiter<Client>),
}

impl Subject {
    async fn try_acquire(&self) -> bool {
        let answer = match self {
            Subject::Plain(limiter) => limiter.try_acquire("tenant:7", 1).await,
            Subject::Leased(limiter) => limiter.try_acquire("tenant:7", 1).await,
        };
        match answer {
            Ok(_) => true,
            Err(TryAcquireError::Denied(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// One process: asks until the time is over, and prints its numbers.
#[tokio::main(flavor = "current_thread")]
async fn process(arguments: &[String]) {
    let [url, limit, nodes, has_leases, length, start, prefix] = arguments else {
        panic!("process is for this program itself")
    };
    let client = redis::Client::open(url.as_str()).unwrap();
    let redis_limit = RedisLimit::token_bucket(quota_of(limit)).unwrap();
    let plain = RedisLimiter::new(redis_limit, KeySpace::new(prefix).unwrap(), Async::new(client));
    let subject = Arc::new(if has_leases == "true" {
        let options = LeaseOptions::builder(nodes.parse().unwrap()).build().unwrap();
        Subject::Leased(LeasedLimiter::new(plain, options).unwrap())
    } else {
        Subject::Plain(plain)
    });
    let wait = start.parse::<u64>().unwrap().saturating_sub(millis_since_1970());
    tokio::time::sleep(Duration::from_millis(wait)).await;
    let cpu = ProcessTime::now();
    let end = Instant::now() + Duration::from_millis(length.parse().unwrap());
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let subject = Arc::clone(&subject);
        tasks.spawn(async move {
            let (mut decisions, mut granted) = (0_u64, 0_u64);
            while Instant::now() < end {
                for _ in 0..CALLS_IN_TURN {
                    granted += u64::from(subject.try_acquire().await);
                    decisions += 1;
                }
                yield_now().await;
            }
            (decisions, granted)
        });
    }
    let (mut decisions, mut granted) = (0, 0);
    while let Some(task) = tasks.join_next().await {
        let (more_decisions, more_granted) = task.unwrap();
        decisions += more_decisions;
        granted += more_granted;
    }
    let requests = match &*subject {
        Subject::Plain(_) => decisions,
        Subject::Leased(limiter) => {
            let requests = limiter.counts().requests;
            limiter.shutdown().await;
            requests
        }
    };
    println!("{decisions} {granted} {requests} {}", cpu.elapsed().as_micros());
}
