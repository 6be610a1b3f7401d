//! The limiters that tasks can wait for.

use std::future::Future;
use std::num::NonZero;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use governor::DefaultDirectRateLimiter;
use sluicegate::wait::{ThreadTimer, TokioTimer};
use sluicegate::{Quota, Rate, TokenBucket, Wait as _};
use tokio::sync::Semaphore;
use tokio::task::{self, AbortHandle};
use tokio::time::{self, MissedTickBehavior};

/// Permits that a limiter is full with.
pub const BURST: u32 = 10;

/// A limiter that tasks can wait for. It is made inside the runtime that they run in.
pub trait Paced: Sync + Sized + 'static {
    /// Its name.
    const NAME: &'static str;

    /// Creates one that starts with [`BURST`] permits, and earns one more every `interval`.
    fn new(interval: Duration) -> Self;

    /// Takes one permit when it is there.
    fn take(&'static self) -> impl Future<Output = ()>;
}

/// A look at the type of each limiter.
pub trait PacedVisitor {
    /// Looks at `S`.
    fn visit<S: Paced>(&mut self);
}

/// Shows all limiters to `visitor`, ours first, after the floor of all of them.
pub fn visit_all(visitor: &mut impl PacedVisitor) {
    visitor.visit::<Floor>();
    visitor.visit::<Ours>();
    visitor.visit::<OursByTokio>();
    visitor.visit::<Governor>();
    visitor.visit::<LeakyBucket>();
    visitor.visit::<Refilled>();
    visitor.visit::<SpeedLimit>();
}

fn token_bucket(interval: Duration) -> TokenBucket {
    let rate = Rate::every(interval).expect("the interval is in range");
    TokenBucket::new(Quota::new(rate).with_burst(BURST.into()).expect("the burst is in range"))
}

/// No limiter: the thread itself sleeps until the instant of each permit, as punctually as the system
/// lets it, and wakes nobody. A task that is woken by a timer can hardly be less late on this machine.
struct Floor {
    interval: Duration,
    taken: AtomicU32,
    began: OnceLock<Instant>,
}

impl Paced for Floor {
    const NAME: &'static str = "none, a thread sleeps";

    fn new(interval: Duration) -> Floor {
        be_punctual();
        Floor { interval, taken: AtomicU32::new(0), began: OnceLock::new() }
    }

    async fn take(&'static self) {
        // As one that waits: the others ask first.
        task::yield_now().await;
        let intervals = (self.taken.fetch_add(1, Relaxed) + 1).saturating_sub(BURST);
        let began = self.began.get_or_init(Instant::now);
        thread::sleep(
            (*began + self.interval * intervals).saturating_duration_since(Instant::now()),
        );
    }
}

/// Asks the system to wake this thread at its time, and not to wait for other wake-ups.
fn be_punctual() {
    #[cfg(target_os = "linux")]
    rustix::thread::set_current_timer_slack(NonZero::new(1))
        .expect("it is a thread of this process");
}

/// Ours, with the timer that works everywhere.
struct Ours(TokenBucket);

impl Paced for Ours {
    const NAME: &'static str = "sluicegate";

    fn new(interval: Duration) -> Ours {
        Ours(token_bucket(interval))
    }

    async fn take(&'static self) {
        self.0.acquire(1).timer(ThreadTimer).await.expect("the line is not bounded");
    }
}

/// Ours, with tokio's timer, which counts in milliseconds.
struct OursByTokio(TokenBucket);

impl Paced for OursByTokio {
    const NAME: &'static str = "sluicegate, tokio's timer";

    fn new(interval: Duration) -> OursByTokio {
        OursByTokio(token_bucket(interval))
    }

    async fn take(&'static self) {
        self.0.acquire(1).timer(TokioTimer).await.expect("the line is not bounded");
    }
}

/// governor's `until_ready`.
struct Governor(DefaultDirectRateLimiter);

impl Paced for Governor {
    const NAME: &'static str = "governor";

    fn new(interval: Duration) -> Governor {
        let quota = governor::Quota::with_period(interval).expect("the interval is not 0");
        let burst = NonZero::new(BURST).expect("it is not 0");
        Governor(governor::RateLimiter::direct(quota.allow_burst(burst)))
    }

    async fn take(&'static self) {
        self.0.until_ready().await;
    }
}

/// leaky-bucket, which is fair unless it is told not to be.
struct LeakyBucket(leaky_bucket::RateLimiter);

impl Paced for LeakyBucket {
    const NAME: &'static str = "leaky-bucket";

    fn new(interval: Duration) -> LeakyBucket {
        let burst = BURST as usize;
        let mut builder = leaky_bucket::RateLimiter::builder();
        LeakyBucket(builder.initial(burst).max(burst).refill(1).interval(interval).build())
    }

    async fn take(&'static self) {
        self.0.acquire_one().await;
    }
}

/// tokio's `Semaphore`, to which a task adds permits, as it is often written by hand.
struct Refilled {
    semaphore: Arc<Semaphore>,
    refill: AbortHandle,
}

impl Paced for Refilled {
    const NAME: &'static str = "tokio Semaphore, refilled";

    fn new(interval: Duration) -> Refilled {
        let semaphore = Arc::new(Semaphore::new(BURST as usize));
        let theirs = Arc::clone(&semaphore);
        let refill = tokio::spawn(async move {
            let mut ticks = time::interval(interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            ticks.tick().await;
            loop {
                ticks.tick().await;
                if theirs.available_permits() < BURST as usize {
                    theirs.add_permits(1);
                }
            }
        });
        Refilled { semaphore, refill: refill.abort_handle() }
    }

    async fn take(&'static self) {
        self.semaphore.acquire().await.expect("it is never closed").forget();
    }
}

impl Drop for Refilled {
    fn drop(&mut self) {
        self.refill.abort();
    }
}

/// async-speed-limit, with one byte for a permit.
struct SpeedLimit(async_speed_limit::Limiter);

impl Paced for SpeedLimit {
    const NAME: &'static str = "async-speed-limit";

    fn new(interval: Duration) -> SpeedLimit {
        // It fills up by what it earns in its refill period, which is as many permits as the burst.
        let mut builder = async_speed_limit::Limiter::builder(1.0 / interval.as_secs_f64());
        SpeedLimit(builder.refill(interval * BURST).min_wait(Duration::ZERO).build())
    }

    async fn take(&'static self) {
        self.0.consume(1).await;
    }
}
