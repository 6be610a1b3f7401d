//! A service that is asked for minutes: its memory stays flat, and no limit is ever exceeded.
//!
//! ```text
//! cargo run --release -p sluicegate-serve-benches --bin soak -- [MINUTES [CHECKS_A_SECOND]]
//! ```
//!
//! Every second check is one of a limit for all, of 100 a second, and every other one has a key that was never there
//! before. Fails if more is granted than the limit allows in the time that it took; if a new key is denied; or if the
//! memory grows by more than a tenth, and more than 2 MB, after the first fifth of the time.

use std::error::Error;
use std::time::{Duration, Instant};

use sluicegate_serve_benches::client::HttpClient;
use sluicegate_serve_benches::process::{self, Process};
use sluicegate_serve_benches::server::Subject;
use tokio::runtime;
use tokio::time::{MissedTickBehavior, interval};

/// The burst of the limit for all, and its permits a second.
const LIMIT: f64 = 100.0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if process::serve_if_asked(&arguments)? {
        return Ok(());
    }
    let number = |place: usize, default: f64| {
        arguments.get(place).map_or(Ok(default), |text| text.parse::<f64>())
    };
    let (minutes, per_second) = (number(0, 10.0)?, number(1, 2_000.0)?);
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(soak(Duration::from_secs_f64(minutes * 60.0), per_second))
}

#[expect(clippy::cast_precision_loss, reason = "no count is near 2^52")]
async fn soak(time: Duration, per_second: f64) -> Result<(), Box<dyn Error>> {
    let server = Process::start(Subject::Service)?;
    let path = "/v1/check";
    let mut all = HttpClient::connect(server.address, path, r#"{"limiter":"few"}"#).await?;
    let mut visitors = HttpClient::connect(server.address, path, "").await?;
    // Twenty times a second, as many as are due.
    let mut tick = interval(Duration::from_millis(50));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let each_tick = (per_second / 40.0).max(1.0) as u64;
    let (mut asked, mut granted) = (0_u64, 0_u64);
    let (mut early_kb, mut most_kb) = (0, 0);
    let start = Instant::now();
    let mut next_line = Duration::ZERO;
    while start.elapsed() < time {
        tick.tick().await;
        for _ in 0..each_tick {
            granted += u64::from(all.ask().await?);
            visitors.set_body(&format!(r#"{{"limiter":"visitors","key":"visitor-{asked}"}}"#));
            if !visitors.ask().await? {
                return Err("a new key was denied".into());
            }
            asked += 1;
        }
        let kb = server.resident_kb()?;
        let elapsed = start.elapsed();
        let most = if elapsed < time / 5 { &mut early_kb } else { &mut most_kb };
        *most = kb.max(*most);
        if elapsed >= next_line {
            println!(
                "{:>6.0} s  {asked:>9} keys  {granted:>7} granted  {kb:>7} kB",
                elapsed.as_secs_f64()
            );
            next_line += time / 10;
        }
    }
    let allowed = LIMIT + LIMIT * start.elapsed().as_secs_f64();
    let excess = (granted as f64 - allowed).max(0.0).ceil();
    println!(
        "granted {granted} of {asked}; allowed {allowed:.0}; excess {excess:.0}; memory {early_kb} kB in the first fifth, {most_kb} kB after"
    );
    if excess > 0.0 {
        return Err("more was granted than the limit".into());
    }
    if most_kb > early_kb + (early_kb / 10).max(2_048) {
        return Err("the memory has grown".into());
    }
    Ok(())
}
