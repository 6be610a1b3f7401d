//! The problem: somebody else's API allows 20 requests a second, and our own callers would rather
//! be refused at once than wait for more than 200 ms. Callers stand in the line of a `TokenBucket`
//! (`acquire`), so requests leave in turn. A caller whose turn would come after its `timeout`
//! does not wait at all.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::clock::TokioClock;
use sluicegate::wait::{AcquireError, TokioTimer};
use sluicegate::{TokenBucket, Wait, quota};
use tokio::time::{Instant, sleep};

/// On tokio's clock, which is paused here, as in tests: then no wait takes any time. (Where time is never paused,
/// `TokenBucket::new` has a faster clock, and the timer need not be chosen.)
struct Client {
    limiter: TokenBucket<TokioClock>,
}

impl Client {
    fn new() -> Client {
        let quota = quota!(20 / second, burst 2);
        Client { limiter: TokenBucket::with_clock(quota, TokioClock::new()) }
    }

    /// Sends a request when it is its turn. Returns how long it had to wait.
    async fn send(&self) -> Result<Duration, AcquireError> {
        let came = Instant::now();
        let longest = Duration::from_millis(200);
        self.limiter.acquire(1).timeout(longest).timer(TokioTimer).await?;
        // The request is sent here.
        Ok(came.elapsed())
    }
}

// With the feature `test-util`, tokio's time can start paused.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Arc::new(Client::new());

    // Eight callers at the same moment.
    let mut callers = Vec::new();
    for _ in 0..8 {
        let client = Arc::clone(&client);
        callers.push(tokio::spawn(async move { client.send().await }));
    }
    for (number, caller) in (1..).zip(callers) {
        match caller.await? {
            Ok(Duration::ZERO) => println!("request {number}: sent at once"),
            Ok(wait) => println!("request {number}: sent after {wait:?}"),
            Err(refused) => println!("request {number}: given up ({refused})"),
        }
    }

    // A second later the burst is there again.
    sleep(Duration::from_secs(1)).await;
    println!("a second later: sent after {:?}", client.send().await?);
    Ok(())
}
