//! The problem: somebody else's API allows 20 requests a second, and our own callers would rather
//! be refused at once than wait for more than 200 ms. A `TokenBucket` takes the permit of a request
//! on credit (`force`) and says how long to wait before sending it (`ready_after`), so requests
//! leave in turn. The deepest debt is the longest wait: 4 permits at 20 a second are 200 ms.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{Clock, Denied, TokenBucket, quota};
use tokio::time::{Instant, sleep};

/// The clock that `sleep` uses. In tests it can be paused, as it is here: then no sleep takes any
/// time. (Where time is never paused, `TokenBucket::new` has a faster clock.)
struct TokioClock {
    start: Instant,
}

impl Clock for TokioClock {
    fn now_nanos(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

struct Client {
    limiter: TokenBucket<TokioClock>,
}

impl Client {
    fn new() -> Client {
        let quota = quota!(20 / second, burst 2, max_debt 4);
        Client { limiter: TokenBucket::with_clock(quota, TokioClock { start: Instant::now() }) }
    }

    /// Sends a request when it is due. Returns how long it had to wait.
    async fn send(&self) -> Result<Duration, Denied> {
        let wait = self.limiter.force(1)?.ready_after();
        sleep(wait).await;
        // The request is sent here.
        Ok(wait)
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
            Err(denied) => println!("request {number}: given up ({denied})"),
        }
    }

    // A second later the debt is repaid, and the burst is there again.
    sleep(Duration::from_secs(1)).await;
    println!("a second later: sent after {:?}", client.send().await?);
    Ok(())
}
