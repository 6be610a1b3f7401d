//! Decisions a second and the time until they are answered, of the service and of a server of the same stack that
//! decides nothing, over loopback.
//!
//! ```text
//! cargo run --release -p sluicegate-serve-benches --bin load -- [ROUNDS [SECONDS]]
//! ```
//!
//! Each server is a process with a thread for each core, and the clients are one thread of another. All
//! are asked in each round, in turns, and ratios are those within a round.

use std::error::Error;
use std::time::Duration;

use sluicegate_serve_benches::client::Question;
use sluicegate_serve_benches::process::{self, Process};
use sluicegate_serve_benches::server::Subject;
use sluicegate_serve_benches::turn::{Turn, turn};
use tokio::runtime;

const CONNECTIONS: [usize; 3] = [1, 16, 256];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if process::serve_if_asked(&arguments)? {
        return Ok(());
    }
    let number = |place: usize, default: f64| {
        arguments.get(place).map_or(Ok(default), |text| text.parse::<f64>())
    };
    let (rounds, seconds) = (number(0, 7.0)?, Duration::from_secs_f64(number(1, 2.0)?));
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    println!(
        "{rounds} rounds of {seconds:?}; medians; the ratio to `hello` in the same round, with its quartiles"
    );
    println!(
        "| | connections | | decisions a second | of hello | p50 us | p99 | p99.9 | server's CPU, us a decision |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut one_by_one = Vec::new();
    for question in [Question::Check, Question::Envoy] {
        for connections in CONNECTIONS {
            let mut turns = Subject::ALL.map(|_| Vec::new());
            for round in 0..rounds as usize {
                for place in 0..Subject::ALL.len() {
                    let which = (round + place) % Subject::ALL.len();
                    let server = Process::start(Subject::ALL[which])?;
                    let measured = turn(&server, question, connections, seconds);
                    turns[which].push(runtime.block_on(measured)?);
                }
            }
            if question == Question::Check && connections == 16 {
                one_by_one.clone_from(&turns[0]);
            }
            for (subject, own) in Subject::ALL.into_iter().zip(&turns) {
                line(&question.name(), connections, subject.name(), own, &turns[1]);
            }
        }
    }
    let mut batches = Vec::new();
    for _ in 0..rounds as usize {
        let server = Process::start(Subject::Service)?;
        batches.push(runtime.block_on(turn(&server, Question::Batch(100), 16, seconds))?);
    }
    line(&Question::Batch(100).name(), 16, "of single checks", &batches, &one_by_one);
    Ok(())
}

fn line(question: &str, connections: usize, name: &str, own: &[Turn], hello: &[Turn]) {
    let ratios = own.iter().zip(hello).map(|(own, hello)| own.decisions / hello.decisions);
    let ratio = quartiles(ratios);
    let median = |figure: &dyn Fn(&Turn) -> f64| quartiles(own.iter().map(figure))[1];
    #[expect(clippy::cast_precision_loss, reason = "no time is near 2^52 microseconds")]
    let micros = |which: usize| median(&|turn| turn.micros[which] as f64);
    println!(
        "| {question} | {connections} | {name} | {:.0} | {:.2} ({:.2} to {:.2}) | {:.0} | {:.0} | {:.0} | {:.2} |",
        median(&|turn| turn.decisions),
        ratio[1],
        ratio[0],
        ratio[2],
        micros(0),
        micros(1),
        micros(2),
        median(&|turn| turn.cpu),
    );
}

fn quartiles(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    [1, 2, 3].map(|quarter| values[last * quarter / 4])
}
